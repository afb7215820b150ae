import triton
import triton.language as tl


@triton.jit
def conv2d_nhwc(x_ptr, w_ptr, bias_ptr, y_ptr, NB, H, W, C, KO, P, Q, STRIDE: tl.constexpr, PAD: tl.constexpr,
                R: tl.constexpr, S: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Convolution as an implicit matrix product. x: (NB, H, W, C); w: (KO, R, S, C); y: (NB, P, Q, KO)."""
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    n = rm // (P * Q)
    p = rm // Q % P
    q = rm % Q
    in_m = rm < NB * P * Q
    acc = tl.zeros((BM, BN), tl.float32)
    for r in range(R):
        for s in range(S):
            h = p * STRIDE + r - PAD
            v = q * STRIDE + s - PAD
            inside = in_m & (h >= 0) & (h < H) & (v >= 0) & (v < W)
            x_at = ((n * H + h) * W + v).to(tl.int64) * C
            w_at = ((rn * R + r) * S + s).to(tl.int64) * C
            for c in range(0, C, BK):
                in_c = c + rk < C
                x = tl.load(x_ptr + x_at[:, None] + (c + rk)[None, :], mask=inside[:, None] & in_c[None, :], other=0.0)
                w = tl.load(w_ptr + w_at[None, :] + (c + rk)[:, None], mask=in_c[:, None] & (rn[None, :] < KO), other=0.0)
                acc = tl.dot(x, w, acc)
    y = acc + tl.load(bias_ptr + rn, mask=rn < KO, other=0.0).to(tl.float32)[None, :]
    tl.store(y_ptr + rm[:, None].to(tl.int64) * KO + rn[None, :], y.to(tl.bfloat16), mask=in_m[:, None] & (rn[None, :] < KO))
