import triton
import triton.language as tl


@triton.jit
def bitdelta(x_ptr, w_ptr, alpha_ptr, y_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Y = alpha X S, S of signs: bit k % 32 of the word (k // 32, n) set means +1, clear -1 (BitDelta, arXiv 2402.10193).

    x, y: (B, M, K), (B, M, N) fp16; w: (B, K / 32, N) int32; alpha: (B) fp32. K is a multiple of 32.
    """
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    batch = tl.program_id(2).to(tl.int64)
    rk = tl.arange(0, BK)
    x_ptr += batch * M * K
    w_ptr += batch * (K // 32) * N
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        at = k + rk
        x = tl.load(x_ptr + rm[:, None] * K + at[None, :], mask=(rm[:, None] < M) & (at[None, :] < K), other=0.0)
        word = tl.load(w_ptr + (at[:, None] // 32) * N + rn[None, :], mask=(at[:, None] < K) & (rn[None, :] < N), other=0)
        sign = 2 * ((word >> (at[:, None] % 32)) & 1) - 1
        acc = tl.dot(x, sign.to(tl.float16), acc)
    y = acc * tl.load(alpha_ptr + batch)
    m = (rm[:, None] < M) & (rn[None, :] < N)
    tl.store(y_ptr + batch * M * N + rm[:, None] * N + rn[None, :], y.to(tl.float16), mask=m)
