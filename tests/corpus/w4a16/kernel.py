import triton
import triton.language as tl


@triton.jit
def w4a16(x_ptr, packed_ptr, scale_ptr, out_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
          G: tl.constexpr):
    """out = x @ ((nibble - 8) * scale). packed: (K // 8, N) int32; scale: (K // G, N)."""
    pm = tl.program_id(0)
    pn = tl.program_id(1)
    rm = pm * BM + tl.arange(0, BM)
    rn = pn * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        x = tl.load(x_ptr + rm[:, None] * K + (k + rk)[None, :], mask=rm[:, None] < M, other=0.0)
        w = tl.load(packed_ptr + ((k + rk) // 8)[:, None] * N + rn[None, :])
        q = ((w >> ((rk % 8) * 4)[:, None]) & 0xF) - 8
        s = tl.load(scale_ptr + ((k + rk) // G)[:, None] * N + rn[None, :])
        acc = tl.dot(x, (q.to(s.dtype) * s).to(x.dtype), acc)
    c = out_ptr + rm[:, None] * N + rn[None, :]
    tl.store(c, acc.to(out_ptr.dtype.element_ty), mask=rm[:, None] < M)
