import triton
import triton.language as tl


@triton.jit
def after(m):
    return tl.where(m % 32 == 31, m, m + 1)


@triton.jit
def shifted(a_ptr, b_ptr, d_ptr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """Three taps over the rows of A, in groups of 32 rows of which the last one repeats."""
    m = tl.arange(0, M)
    n = tl.arange(0, N)
    k = tl.arange(0, K)
    b = b_ptr + n[None, :] * K + k[:, None]
    sums = tl.dot(tl.load(a_ptr + m[:, None] * K + k[None, :]), tl.load(b))
    m1 = after(m)
    sums = tl.dot(tl.load(a_ptr + m1[:, None] * K + k[None, :]), tl.load(b + N * K), sums)
    m2 = after(m1)
    sums = tl.dot(tl.load(a_ptr + m2[:, None] * K + k[None, :]), tl.load(b + 2 * N * K), sums)
    tl.store(d_ptr + m[:, None] * N + n[None, :], sums)
