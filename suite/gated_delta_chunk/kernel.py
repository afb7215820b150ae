import triton
import triton.language as tl


@triton.jit
def gated_delta_chunk(q_ptr, k_ptr, v_ptr, g_ptr, beta_ptr, s_ptr, o_ptr, scale, T, C: tl.constexpr, K: tl.constexpr,
                      V: tl.constexpr, BV: tl.constexpr):
    """The gated delta rule over a sequence in chunks of C (Gated DeltaNet, arXiv 2412.06464).

    q, k: (BH, T, K); v, o: (BH, T, V) bf16; g (the log of the decay), beta: (BH, T) fp32; s: (BH, K, V) fp32, in place.
    """
    bh = tl.program_id(0).to(tl.int64)
    rv = tl.program_id(1) * BV + tl.arange(0, BV)
    rk = tl.arange(0, K)
    rc = tl.arange(0, C)
    in_v = rv[None, :] < V
    s_at = (bh * K + rk[:, None]) * V + rv[None, :]
    s = tl.load(s_ptr + s_at, mask=in_v, other=0.0)
    for start in range(0, T, C):
        rt = start + rc
        in_t = rt < T
        q = tl.load(q_ptr + (bh * T + rt[:, None]) * K + rk[None, :], mask=in_t[:, None], other=0.0)
        k = tl.load(k_ptr + (bh * T + rt[:, None]) * K + rk[None, :], mask=in_t[:, None], other=0.0)
        v = tl.load(v_ptr + (bh * T + rt[:, None]) * V + rv[None, :], mask=in_t[:, None] & in_v, other=0.0)
        beta = tl.load(beta_ptr + bh * T + rt, mask=in_t, other=0.0)
        g = tl.load(g_ptr + bh * T + rt, mask=in_t, other=0.0)
        gam = tl.cumsum(g, axis=0)
        last = tl.sum(g, axis=0)
        is_past = rc[None, :] < rc[:, None]
        is_seen = rc[None, :] <= rc[:, None]
        decay = tl.exp(tl.where(is_seen, gam[:, None] - gam[None, :], -float("inf")))
        a = tl.where(is_past, beta[:, None] * decay * tl.dot(k, tl.trans(k)), 0.0)
        # The inverse of I + a, row by row.
        inverse = tl.where(rc[:, None] == rc[None, :], 1.0, 0.0)
        for i in range(1, C):
            row = tl.sum(tl.where(rc[:, None] == i, a, 0.0), axis=0)
            row = tl.where(rc == i, 1.0, 0.0) - tl.sum(row[:, None] * inverse, axis=0)
            inverse = tl.where(rc[:, None] == i, row[None, :], inverse)
        inverse = inverse.to(tl.bfloat16)
        kf = k.to(tl.float32)
        u = tl.dot(inverse, (beta[:, None] * v.to(tl.float32)).to(tl.bfloat16))
        w = tl.dot(inverse, (beta[:, None] * tl.exp(gam)[:, None] * kf).to(tl.bfloat16))
        s_half = s.to(tl.bfloat16)
        new_v = (u - tl.dot(w.to(tl.bfloat16), s_half)).to(tl.bfloat16)
        weight = tl.where(is_seen, tl.dot(q, tl.trans(k)) * decay, 0.0).to(tl.bfloat16)
        from_state = tl.dot((q.to(tl.float32) * tl.exp(gam)[:, None]).to(tl.bfloat16), s_half)
        o = scale * tl.dot(weight, new_v, from_state)
        tl.store(o_ptr + (bh * T + rt[:, None]) * V + rv[None, :], o.to(tl.bfloat16), mask=in_t[:, None] & in_v)
        aged = (kf * tl.exp(last - gam)[:, None]).to(tl.bfloat16)
        s = tl.dot(tl.trans(aged), new_v, s * tl.exp(last))
    tl.store(s_ptr + s_at, s, mask=in_v)
