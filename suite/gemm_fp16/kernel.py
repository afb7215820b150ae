import triton
import triton.language as tl


@triton.jit
def gemm(a_ptr, b_ptr, c_ptr, M, N, K,
         BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr, WHOLE: tl.constexpr):
    """C = A B, summed in float32 and rounded once. A: (M, K), B: (K, N), C: (M, N), rows dense.

    Tiles go down GROUP rows of them before the next column; as many as there are, or more, is down whole columns.
    WHOLE promises that M, N and K are multiples of BM, BN and BK, so that nothing needs a mask.
    """
    pid = tl.program_id(0)
    tiles_m = tl.cdiv(M, BM)
    band = GROUP * tl.cdiv(N, BN)
    top = pid // band * GROUP
    height = tl.minimum(tiles_m - top, GROUP)
    row = top + pid % band % height
    column = pid % band // height
    rm = row * BM + tl.arange(0, BM)
    rn = column * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    a_at = a_ptr + rm[:, None].to(tl.int64) * K + rk[None, :]
    b_at = b_ptr + rk[:, None].to(tl.int64) * N + rn[None, :]
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        if WHOLE:
            a = tl.load(a_at)
            b = tl.load(b_at)
        else:
            left = rk < K - k
            a = tl.load(a_at, mask=(rm[:, None] < M) & left[None, :], other=0.0)
            b = tl.load(b_at, mask=left[:, None] & (rn[None, :] < N), other=0.0)
        acc = tl.dot(a, b, acc)
        a_at += BK
        b_at += BK * N
    c_at = c_ptr + rm[:, None].to(tl.int64) * N + rn[None, :]
    if WHOLE:
        tl.store(c_at, acc.to(tl.float16))
    else:
        tl.store(c_at, acc.to(tl.float16), mask=(rm[:, None] < M) & (rn[None, :] < N))
