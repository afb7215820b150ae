import triton
import triton.language as tl


@triton.jit
def sparse(a_ptr, b_ptr, code_ptr, d_ptr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """D = A * B^T, where of four elements of A's rows two are stored; a code from 0 to 5 says which."""
    m = tl.arange(0, M)
    n = tl.arange(0, N)
    s = tl.arange(0, K // 2)
    code = tl.load(code_ptr + m[:, None] * (K // 4) + (s // 2)[None, :])
    late = (code >= 3).to(tl.int32)
    last = (code >= 5).to(tl.int32)
    item = tl.where((s % 2)[None, :] == 0, late + last, code + 1 - 2 * late - last)
    k = (s // 2 * 4)[None, :] + item
    a = tl.load(a_ptr + m[:, None] * (K // 2) + s[None, :]).to(tl.float32)
    b = tl.load(b_ptr + n[None, None, :] * K + k[:, :, None]).to(tl.float32)
    tl.store(d_ptr + m[:, None] * N + n[None, :], tl.sum(a[:, :, None] * b, axis=1))
