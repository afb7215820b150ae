import triton
import triton.language as tl


@triton.jit
def monarch(x_ptr, w1_ptr, w2_ptr, y_ptr, NX, B1: tl.constexpr, B2: tl.constexpr, RHO: tl.constexpr, P: tl.constexpr,
            Q: tl.constexpr, BM: tl.constexpr, BP: tl.constexpr, BQ: tl.constexpr):
    """A block low-rank layer in one kernel (Monarch; arXiv 2512.20861): x in B1 blocks of P, y in B2 blocks of Q,
    z[n, k, l, r] = sum_p x[n, k, p] w1[k, l, r, p], rounded to bf16, and y[n, l, s] = sum_kr z[n, k, l, r] w2[l, s, k, r].

    x: (NX, B1, P); w1: (B1, B2, RHO, P); w2: (B2, Q, B1, RHO); y: (NX, B2, Q).
    """
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    out_block = tl.program_id(1)
    rs = tl.program_id(2) * BQ + tl.arange(0, BQ)
    rr = tl.arange(0, RHO)
    rp = tl.arange(0, BP)
    y = tl.zeros((BM, BQ), tl.float32)
    for k in range(B1):
        z = tl.zeros((BM, RHO), tl.float32)
        for start in range(0, P, BP):
            at = start + rp
            x = tl.load(x_ptr + (rm[:, None] * B1 + k) * P + at[None, :],
                        mask=(rm[:, None] < NX) & (at[None, :] < P), other=0.0)
            w1 = tl.load(w1_ptr + ((k * B2 + out_block) * RHO + rr[None, :]) * P + at[:, None],
                         mask=at[:, None] < P, other=0.0)
            z = tl.dot(x, w1, z)
        w2 = tl.load(w2_ptr + ((out_block * Q + rs[None, :]) * B1 + k) * RHO + rr[:, None], mask=rs[None, :] < Q,
                     other=0.0)
        y = tl.dot(z.to(tl.bfloat16), w2, y)
    at = (rm[:, None] * B2 + out_block) * Q + rs[None, :]
    tl.store(y_ptr + at, y.to(tl.bfloat16), mask=(rm[:, None] < NX) & (rs[None, :] < Q))
