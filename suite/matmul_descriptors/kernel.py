import triton
import triton.language as tl


@triton.jit
def matmul(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr, CTAS: tl.constexpr):
    """C = A B^T, summed in float32 and rounded once. A: (M, K), B: (N, K), C: (M, N), all through descriptors made on the host.

    CTAS programs go round over the tiles, in bands of GROUP rows of tiles.
    """
    tiles_m = tl.cdiv(M, BM)
    tiles_n = tl.cdiv(N, BN)
    band = GROUP * tiles_n
    for index in tl.range(tl.program_id(0), tiles_m * tiles_n, CTAS, flatten=True):
        top = index // band * GROUP
        height = tl.minimum(tiles_m - top, GROUP)
        row = (top + index % band % height) * BM
        column = index % band // height * BN
        acc = tl.zeros((BM, BN), tl.float32)
        for k in range(0, tl.cdiv(K, BK)):
            acc = tl.dot(a.load([row, k * BK]), b.load([column, k * BK]).T, acc)
        c.store([row, column], acc.to(c.dtype))
