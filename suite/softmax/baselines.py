import triton
import triton.language as tl


@triton.jit
def persistent(x_ptr, out_ptr, rows, stride, n_cols, BLOCK: tl.constexpr, CTAS: tl.constexpr, STAGES: tl.constexpr):
    """CTAS programs go round over the rows; the next row's load may run ahead."""
    cols = tl.arange(0, BLOCK)
    m = cols < n_cols
    for row in tl.range(tl.program_id(0), rows, CTAS, num_stages=STAGES):
        at = tl.cast(row, tl.int64) * stride + cols
        x = tl.load(x_ptr + at, mask=m, other=-float("inf")).to(tl.float32)
        e = tl.exp(x - tl.max(x, axis=0))
        tl.store(out_ptr + at, (e / tl.sum(e, axis=0)).to(tl.bfloat16), mask=m)


@triton.jit
def rows_together(x_ptr, out_ptr, rows, stride, n_cols, BLOCK: tl.constexpr, ROWS: tl.constexpr):
    """ROWS rows per program, for short rows."""
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    cols = tl.arange(0, BLOCK)
    m = (row[:, None] < rows) & (cols[None, :] < n_cols)
    at = row[:, None].to(tl.int64) * stride + cols[None, :]
    x = tl.load(x_ptr + at, mask=m, other=-float("inf")).to(tl.float32)
    e = tl.exp(x - tl.max(x, axis=1, keep_dims=True))
    tl.store(out_ptr + at, (e / tl.sum(e, axis=1, keep_dims=True)).to(tl.bfloat16), mask=m)


@triton.jit
def two_passes(x_ptr, out_ptr, stride, n_cols, CHUNK: tl.constexpr):
    """A running maximum and sum over chunks of the row, which a second pass finds in the cache."""
    row = tl.program_id(0).to(tl.int64) * stride
    cols = tl.arange(0, CHUNK)
    most = tl.full((CHUNK,), -float("inf"), tl.float32)
    total = tl.zeros((CHUNK,), tl.float32)
    for first in range(0, n_cols, CHUNK):
        x = tl.load(x_ptr + row + first + cols, mask=first + cols < n_cols, other=-1e38, eviction_policy="evict_last").to(tl.float32)
        more = tl.maximum(most, x)
        total = total * tl.exp(most - more) + tl.exp(x - more)
        most = more
    top = tl.max(most, axis=0)
    scale = 1.0 / tl.sum(total * tl.exp(most - top), axis=0)
    for first in range(0, n_cols, CHUNK):
        m = first + cols < n_cols
        x = tl.load(x_ptr + row + first + cols, mask=m, other=0.0, eviction_policy="evict_first").to(tl.float32)
        tl.store(out_ptr + row + first + cols, (tl.exp(x - top) * scale).to(tl.bfloat16), mask=m)
