import triton
import triton.language as tl


@triton.jit
def bitdelta(x_ptr, packed_ptr, out_ptr, alpha, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """out = alpha * x @ sign, sign in {-1, +1} packed 32 per int32 along K. packed: (K // 32, N)."""
    pm = tl.program_id(0)
    pn = tl.program_id(1)
    rm = pm * BM + tl.arange(0, BM)
    rn = pn * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        x = tl.load(x_ptr + rm[:, None] * K + (k + rk)[None, :], mask=rm[:, None] < M, other=0.0)
        w = tl.load(packed_ptr + ((k + rk) // 32)[:, None] * N + rn[None, :])
        bit = (w >> (rk % 32)[:, None]) & 1
        acc = tl.dot(x, (2 * bit - 1).to(x.dtype), acc)
    c = out_ptr + rm[:, None] * N + rn[None, :]
    tl.store(c, (acc * alpha).to(out_ptr.dtype.element_ty), mask=rm[:, None] < M)
