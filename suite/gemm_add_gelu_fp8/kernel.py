import triton
import triton.language as tl


@triton.jit
def gemm_add_gelu(a_ptr, b_ptr, d_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr):
    """C = gelu(A B + D) in float32, rounded once. A: (M, K), B: (K, N), C and D: (M, N). Tiles in bands of GROUP rows of them."""
    tiles_m = tl.cdiv(M, BM)
    band = GROUP * tl.cdiv(N, BN)
    top = tl.program_id(0) // band * GROUP
    height = tl.minimum(tiles_m - top, GROUP)
    rm = (top + tl.program_id(0) % band % height) * BM + tl.arange(0, BM)
    rn = tl.program_id(0) % band // height * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    in_m = rm[:, None] < M
    in_n = rn[None, :] < N
    a_at = a_ptr + rm[:, None].to(tl.int64) * K + rk[None, :]
    b_at = b_ptr + rk[:, None].to(tl.int64) * N + rn[None, :]
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        left = rk < K - k
        a = tl.load(a_at, mask=in_m & left[None, :], other=0.0)
        b = tl.load(b_at, mask=left[:, None] & in_n, other=0.0)
        acc = tl.dot(a, b, acc)
        a_at += BK
        b_at += BK * N
    at = rm[:, None].to(tl.int64) * N + rn[None, :]
    v = acc + tl.load(d_ptr + at, mask=in_m & in_n, other=0.0).to(tl.float32)
    tl.store(c_ptr + at, (0.5 * v * (1.0 + tl.erf(v * 0.7071067811865476))).to(tl.float16), mask=in_m & in_n)
