import triton
import triton.language as tl


@triton.jit
def grouped_matmul(a_ptr, w_ptr, count_ptr, c_ptr, E, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Rows sorted by expert: the count[e] rows of expert e, times W[e]^T. A: (R, K); W: (E, N, K); C: (R, N).

    A program takes the row tile program_id(0), counted over the experts' own tiles; those past the last do nothing.
    Rows past the sum of the counts are left as they were.
    """
    tile = tl.program_id(0)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    first = 0
    for e in range(E):
        count = tl.load(count_ptr + e)
        tiles = tl.cdiv(count, BM)
        if (tile >= 0) & (tile < tiles):
            row = tile * BM + tl.arange(0, BM)
            in_m = row < count
            rm = (first + row).to(tl.int64)
            w = w_ptr + e.to(tl.int64) * N * K
            acc = tl.zeros((BM, BN), tl.float32)
            for k in range(0, K, BK):
                in_k = k + rk < K
                a = tl.load(a_ptr + rm[:, None] * K + (k + rk)[None, :], mask=in_m[:, None] & in_k[None, :], other=0.0)
                b = tl.load(w + rn[None, :].to(tl.int64) * K + (k + rk)[:, None],
                            mask=in_k[:, None] & (rn[None, :] < N), other=0.0)
                acc = tl.dot(a, b, acc)
            tl.store(c_ptr + rm[:, None] * N + rn[None, :], acc.to(tl.bfloat16), mask=in_m[:, None] & (rn[None, :] < N))
        tile -= tiles
        first += count
