import triton
import triton.language as tl


@triton.jit
def bitnet(x_ptr, w_ptr, sx_ptr, y_ptr, sw, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Y = sx sw X (C - 1)^T with ternary weights: code k of row n is bits 2 (k % 4) of the byte (n, k // 4)
    (BitNet b1.58, arXiv 2402.17764). x: (M, K) int8; w: (N, K / 4) uint8; sx: (M) fp32; y: (M, N) bf16.
    """
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.int32)
    for k in range(0, K, BK):
        at = k + rk
        x = tl.load(x_ptr + rm[:, None] * K + at[None, :], mask=(rm[:, None] < M) & (at[None, :] < K), other=0)
        packed = tl.load(w_ptr + rn[None, :].to(tl.int64) * (K // 4) + at[:, None] // 4,
                         mask=(at[:, None] < K) & (rn[None, :] < N), other=0)
        code = (packed.to(tl.int32) >> (2 * (at[:, None] % 4))) & 3
        acc = tl.dot(x, (code - 1).to(tl.int8), acc, out_dtype=tl.int32)
    y = acc.to(tl.float32) * (tl.load(sx_ptr + rm, mask=rm < M, other=0.0) * sw)[:, None]
    m = (rm[:, None] < M) & (rn[None, :] < N)
    tl.store(y_ptr + rm[:, None] * N + rn[None, :], y.to(tl.bfloat16), mask=m)
