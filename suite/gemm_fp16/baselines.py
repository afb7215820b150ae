import triton
import triton.language as tl


@triton.jit
def tile_of(index, M, N, BM: tl.constexpr, BN: tl.constexpr, GROUP: tl.constexpr):
    """The tile that is computed as `index`: bands of GROUP rows of tiles, down before right."""
    tiles_m = tl.cdiv(M, BM)
    band = GROUP * tl.cdiv(N, BN)
    top = index // band * GROUP
    height = tl.minimum(tiles_m - top, GROUP)
    return top + index % band % height, index % band // height


@triton.jit
def descriptors(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr,
                SWAP: tl.constexpr):
    """A tile per program, moved by tensor descriptors. SWAP computes the tile's transpose, from B and A transposed."""
    row, column = tile_of(tl.program_id(0), M, N, BM, BN, GROUP)
    if SWAP:
        across = tl.zeros((BN, BM), tl.float32)
        for k in range(0, K, BK):
            across = tl.dot(b.load([k, column * BN]).T, a.load([row * BM, k]).T, across)
        acc = across.T
    else:
        acc = tl.zeros((BM, BN), tl.float32)
        for k in range(0, K, BK):
            acc = tl.dot(a.load([row * BM, k]), b.load([k, column * BN]), acc)
    c.store([row * BM, column * BN], acc.to(c.dtype))


@triton.jit
def persistent(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr,
               CTAS: tl.constexpr, HALVES: tl.constexpr, WARPS_APART: tl.constexpr):
    """CTAS programs go round over the tiles, so that a tile's first loads overlap the last one's store.

    HALVES stores a tile as two halves of its columns (c's block is half as wide); WARPS_APART gives loads warps of their own.
    """
    tiles = tl.cdiv(M, BM) * tl.cdiv(N, BN)
    for index in tl.range(tl.program_id(0), tiles, CTAS, flatten=True, warp_specialize=WARPS_APART):
        row, column = tile_of(index, M, N, BM, BN, GROUP)
        acc = tl.zeros((BM, BN), tl.float32)
        for k in range(0, tl.cdiv(K, BK)):
            acc = tl.dot(a.load([row * BM, k * BK]), b.load([k * BK, column * BN]), acc)
        if HALVES:
            left, right = acc.reshape(BM, 2, BN // 2).permute(0, 2, 1).split()
            c.store([row * BM, column * BN], left.to(c.dtype))
            c.store([row * BM, column * BN + BN // 2], right.to(c.dtype))
        else:
            c.store([row * BM, column * BN], acc.to(c.dtype))
