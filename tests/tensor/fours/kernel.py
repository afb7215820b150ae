import triton
import triton.language as tl


@triton.jit
def fours(a_ptr, b_ptr, sa_ptr, sb_ptr, d_ptr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """D = A * B^T of elements of 4 bits, where 16 elements of a row share a scale of 8 bits."""
    m = tl.arange(0, M)
    n = tl.arange(0, N)
    k = tl.arange(0, K // 2)
    s = tl.arange(0, K // 16)
    a = tl.load(a_ptr + m[:, None] * (K // 2) + k[None, :])
    b = tl.load(b_ptr + n[None, :] * (K // 2) + k[:, None])
    sa = tl.load(sa_ptr + m[:, None] * (K // 16) + s[None, :]).to(tl.float8e4nv, bitcast=True)
    sb = tl.load(sb_ptr + n[:, None] * (K // 16) + s[None, :]).to(tl.float8e4nv, bitcast=True)
    tl.store(d_ptr + m[:, None] * N + n[None, :], tl.dot_scaled(a, sa, "e2m1", b, sb, "e2m1"))
