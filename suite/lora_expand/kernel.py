import triton
import triton.language as tl


@triton.jit
def lora_expand(h_ptr, b_ptr, idx_ptr, y_ptr, scale, N, R: tl.constexpr, BN: tl.constexpr):
    """y[t, :] += scale * B[idx[t]] h[t] for tokens that have an adapter (idx >= 0)."""
    t = tl.program_id(0).to(tl.int64)
    adapter = tl.load(idx_ptr + t).to(tl.int64)
    if adapter < 0:
        return
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rr = tl.arange(0, R)
    h = tl.load(h_ptr + t * R + rr)
    b = tl.load(b_ptr + (adapter * N + rn[:, None]) * R + rr[None, :], mask=rn[:, None] < N, other=0.0)
    y = tl.load(y_ptr + t * N + rn, mask=rn < N, other=0.0).to(tl.float32)
    y += scale * tl.sum(b.to(tl.float32) * h[None, :], axis=1)
    tl.store(y_ptr + t * N + rn, y.to(tl.bfloat16), mask=rn < N)
