import triton
import triton.language as tl


@triton.jit
def gated_delta_decode(q_ptr, k_ptr, v_ptr, g_ptr, beta_ptr, s_ptr, o_ptr, scale, K: tl.constexpr, V: tl.constexpr,
                       BV: tl.constexpr):
    """One step of the gated delta rule per (batch, head). q, k: (BH, K); v, o: (BH, V); s: (BH, K, V), in place."""
    bh = tl.program_id(0).to(tl.int64)
    rv = tl.program_id(1) * BV + tl.arange(0, BV)
    rk = tl.arange(0, K)
    in_v = rv < V
    q = tl.load(q_ptr + bh * K + rk).to(tl.float32)
    k = tl.load(k_ptr + bh * K + rk).to(tl.float32)
    v = tl.load(v_ptr + bh * V + rv, mask=in_v, other=0.0).to(tl.float32)
    at = (bh * K + rk[:, None]) * V + rv[None, :]
    s = tl.load(s_ptr + at, mask=in_v[None, :], other=0.0) * tl.exp(tl.load(g_ptr + bh))
    u = tl.load(beta_ptr + bh) * (v - tl.sum(s * k[:, None], axis=0))
    s += k[:, None] * u[None, :]
    tl.store(s_ptr + at, s, mask=in_v[None, :])
    o = scale * tl.sum(s * q[:, None], axis=0)
    tl.store(o_ptr + bh * V + rv, o.to(tl.bfloat16), mask=in_v)
