import triton
import triton.language as tl


@triton.jit
def half_step(x_ptr, y_ptr, f_ptr, g_ptr, log_ptr, out_ptr, n, eps, row, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    rm = row * BM + tl.arange(0, BM)
    rd = tl.arange(0, D)
    x = tl.load(x_ptr + rm[:, None] * D + rd[None, :], mask=rm[:, None] < n, other=0.0)
    top = tl.full((BM,), -1e30, tl.float32)
    total = tl.zeros((BM,), tl.float32)
    for start in range(0, n, BN):
        rn = start + tl.arange(0, BN)
        in_n = rn < n
        y = tl.load(y_ptr + rn[None, :] * D + rd[:, None], mask=in_n[None, :], other=0.0)
        g = tl.load(g_ptr + rn, mask=in_n, other=0.0)
        log = tl.load(log_ptr + rn, mask=in_n, other=0.0)
        s = (2.0 * tl.dot(x, y) + g[None, :]) / eps + log[None, :]
        s = tl.where(in_n[None, :], s * 1.4426950408889634, -1e30)
        higher = tl.maximum(top, tl.max(s, axis=1))
        total = total * tl.exp2(top - higher) + tl.sum(tl.exp2(s - higher[:, None]), axis=1)
        top = higher
    f = tl.load(f_ptr + rm, mask=rm < n, other=0.0)
    tl.store(out_ptr + rm, 0.5 * f - 0.5 * eps * (top + tl.log2(total)) * 0.6931471805599453, mask=rm < n)


@triton.jit
def flash_sinkhorn(x_ptr, y_ptr, f_ptr, g_ptr, log_a_ptr, log_b_ptr, f_out_ptr, g_out_ptr, n, eps, D: tl.constexpr,
                   BM: tl.constexpr, BN: tl.constexpr):
    """A symmetric step of Sinkhorn's potentials without the cost matrix: f_i = (f_i - eps LSE_j((2 x_i y_j + g_j) / eps + log b_j)) / 2
    and the same for g, half of the programs each. x, y: (n, D)."""
    row = tl.program_id(0)
    if tl.program_id(1) == 0:
        half_step(x_ptr, y_ptr, f_ptr, g_ptr, log_b_ptr, f_out_ptr, n, eps, row, D, BM, BN)
    else:
        half_step(y_ptr, x_ptr, g_ptr, f_ptr, log_a_ptr, g_out_ptr, n, eps, row, D, BM, BN)
