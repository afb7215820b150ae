import triton
import triton.language as tl


@triton.jit
def rows_together(out_ptr, in_ptr, in_row_stride, out_row_stride, n_rows, n_cols, BLOCK: tl.constexpr, ROWS: tl.constexpr):
    """ROWS rows per program, so that a row need not fill a CTA's warps."""
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    cols = tl.arange(0, BLOCK)
    mask = (rows[:, None] < n_rows) & (cols[None, :] < n_cols)
    at = rows[:, None].to(tl.int64)
    x = tl.load(in_ptr + at * in_row_stride + cols[None, :], mask=mask, other=-float("inf")).to(tl.float32)
    e = tl.exp(x - tl.max(x, axis=1, keep_dims=True))
    y = e / tl.sum(e, axis=1, keep_dims=True)
    tl.store(out_ptr + at * out_row_stride + cols[None, :], y.to(tl.float16), mask=mask)
