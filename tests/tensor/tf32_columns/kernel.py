import triton
import triton.language as tl


@triton.jit
def columns(a_ptr, b_ptr, d_ptr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """D = A^T * B, both operands row by row of K."""
    m = tl.arange(0, M)
    n = tl.arange(0, N)
    k = tl.arange(0, K)
    a = tl.load(a_ptr + k[None, :] * M + m[:, None])
    b = tl.load(b_ptr + k[:, None] * N + n[None, :])
    tl.store(d_ptr + m[:, None] * N + n[None, :], tl.dot(a, b, input_precision="tf32"))
