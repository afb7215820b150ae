import triton
import triton.language as tl


@triton.jit
def fours_96(a_ptr, b_ptr, sa_ptr, sb_ptr, d_ptr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """D = A * B^T of elements of 4 bits, where 32 elements of a row share a power of two."""
    m = tl.arange(0, M)
    n = tl.arange(0, N)
    acc = tl.zeros((M, N), dtype=tl.float32)
    for step in range(0, K // 128):
        k = step * 64 + tl.arange(0, 64)
        s = step * 4 + tl.arange(0, 4)
        a = tl.load(a_ptr + m[:, None] * (K // 2) + k[None, :])
        b = tl.load(b_ptr + n[None, :] * (K // 2) + k[:, None])
        sa = tl.load(sa_ptr + m[:, None] * (K // 32) + s[None, :])
        sb = tl.load(sb_ptr + n[:, None] * (K // 32) + s[None, :])
        acc = tl.dot_scaled(a, sa, "e2m1", b, sb, "e2m1", acc)
    tl.store(d_ptr + m[:, None] * N + n[None, :], acc)
