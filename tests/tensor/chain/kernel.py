import triton
import triton.language as tl


@triton.jit
def chain(a_ptr, b_ptr, v_ptr, d_ptr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """D = bf16(A * B^T) * V: the first product is an operand of the second."""
    m = tl.arange(0, M)
    n = tl.arange(0, N)
    k = tl.arange(0, K)
    a = tl.load(a_ptr + m[:, None] * K + k[None, :])
    b = tl.load(b_ptr + n[None, :] * K + k[:, None])
    p = tl.dot(a, b).to(tl.bfloat16)
    v = tl.load(v_ptr + n[:, None] * K + k[None, :])
    tl.store(d_ptr + m[:, None] * K + k[None, :], tl.dot(p, v))
