import triton
import triton.language as tl


@triton.jit
def gemv(a_ptr, x_ptr, y_ptr, M, K, BM: tl.constexpr, BK: tl.constexpr):
    """y = A x, summed in float32. A: (M, K)."""
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rk = tl.arange(0, BK)
    acc = tl.zeros((BM, BK), tl.float32)
    for k in range(0, K, BK):
        m = k + rk < K
        a = tl.load(a_ptr + rm[:, None].to(tl.int64) * K + (k + rk)[None, :], mask=(rm[:, None] < M) & m[None, :], other=0.0)
        x = tl.load(x_ptr + k + rk, mask=m, other=0.0)
        acc += a.to(tl.float32) * x.to(tl.float32)[None, :]
    tl.store(y_ptr + rm, tl.sum(acc, axis=1).to(tl.float16), mask=rm < M)
