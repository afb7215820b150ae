import triton
import triton.language as tl


@triton.jit
def conv2d(x_ptr, w_ptr, out_ptr, NB: tl.constexpr, C: tl.constexpr, H: tl.constexpr, W: tl.constexpr, KO: tl.constexpr,
           R: tl.constexpr, S: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Convolution without padding, as an implicit matrix product. x: (NB, C, H, W); w: (KO, C, R, S); out: (NB, KO, P, Q)."""
    P: tl.constexpr = H - R + 1
    Q: tl.constexpr = W - S + 1
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    n = rm // (P * Q)
    p = rm // Q % P
    q = rm % Q
    window = n * (C * H * W) + p * W + q
    in_m = rm < NB * P * Q
    in_n = rn < KO
    acc = tl.zeros((BN, BM), tl.float32)
    for k in range(0, C * R * S, BK):
        rk = k + tl.arange(0, BK)
        in_k = rk < C * R * S
        tap = rk // (R * S) * (H * W) + rk // S % R * W + rk % S
        w = tl.load(w_ptr + rn[:, None] * (C * R * S) + rk[None, :], mask=in_n[:, None] & in_k[None, :], other=0.0)
        x = tl.load(x_ptr + tap[:, None] + window[None, :], mask=in_k[:, None] & in_m[None, :], other=0.0,
                    eviction_policy="evict_last")
        acc = tl.dot(w, x, acc)
    at = n * (KO * P * Q) + p * Q + q
    tl.store(out_ptr + rn[:, None] * (P * Q) + at[None, :], acc.to(tl.float16), mask=in_n[:, None] & in_m[None, :])
