import triton
import triton.language as tl


@triton.jit
def power(code):
    """2 to the code less 127."""
    return (code.to(tl.int32) << 23).to(tl.float32, bitcast=True)


@triton.jit
def scaled(a_ptr, b_ptr, sa_ptr, sb_ptr, d_ptr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """D = A * B^T, where 32 elements of a row share a scale."""
    m = tl.arange(0, M)
    n = tl.arange(0, N)
    acc = tl.zeros((M, N), dtype=tl.float32)
    for block in range(0, K // 32):
        k = block * 32 + tl.arange(0, 32)
        a = tl.load(a_ptr + m[:, None] * K + k[None, :])
        b = tl.load(b_ptr + n[None, :] * K + k[:, None])
        sa = power(tl.load(sa_ptr + m * (K // 32) + block))
        sb = power(tl.load(sb_ptr + n * (K // 32) + block))
        acc += tl.dot(a, b) * sa[:, None] * sb[None, :]
    tl.store(d_ptr + m[:, None] * N + n[None, :], acc)
