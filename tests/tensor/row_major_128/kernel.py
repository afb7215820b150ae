import triton
import triton.language as tl


@triton.jit
def rows(a_ptr, b_ptr, d_ptr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, BK: tl.constexpr):
    """D = A * B^T, both operands row by row along K."""
    m = tl.arange(0, M)
    n = tl.arange(0, N)
    acc = tl.zeros((M, N), dtype=tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        a = tl.load(a_ptr + m[:, None] * K + k[None, :])
        b = tl.load(b_ptr + n[None, :] * K + k[:, None])
        acc = tl.dot(a, b, acc)
    tl.store(d_ptr + m[:, None] * N + n[None, :], acc)
