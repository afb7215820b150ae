import triton
import triton.language as tl


@triton.jit
def dion2(x_ptr, u_ptr, map_ptr, M, N, R, keep, step, BM: tl.constexpr, BN: tl.constexpr):
    """x = keep * x - step * u, where u has some of x's columns: column n of x is column map[n] of u, or none where that is -1.

    x: (B, M, N); u: (B, M, R); map: (B, N).
    """
    b = tl.program_id(2).to(tl.int64)
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    inside = (rm[:, None] < M) & (rn[None, :] < N)
    column = tl.load(map_ptr + b * N + rn, mask=rn < N, other=-1)
    x_at = x_ptr + b * M * N + rm[:, None] * N + rn[None, :]
    u_at = u_ptr + b * M * R + rm[:, None] * R + tl.maximum(column, 0)[None, :]
    u = tl.load(u_at, mask=inside & (column[None, :] >= 0), other=0.0)
    tl.store(x_at, keep * tl.load(x_at, mask=inside, other=0.0) - step * u, mask=inside)
