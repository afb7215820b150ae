import triton
import triton.language as tl


@triton.jit
def persistent(x_ptr, w_ptr, b_ptr, out_ptr, rows, n_cols, eps, BLOCK: tl.constexpr, CTAS: tl.constexpr, STAGES: tl.constexpr):
    """CTAS programs go round over the rows; the next row's load may run ahead."""
    cols = tl.arange(0, BLOCK)
    m = cols < n_cols
    for row in tl.range(tl.program_id(0), rows, CTAS, num_stages=STAGES):
        at = tl.cast(row, tl.int64) * n_cols + cols
        x = tl.load(x_ptr + at, mask=m, other=0.0).to(tl.float32)
        d = tl.where(m, x - tl.sum(x, axis=0) / n_cols, 0.0)
        rstd = 1.0 / tl.sqrt(tl.sum(d * d, axis=0) / n_cols + eps)
        w = tl.load(w_ptr + cols, mask=m, other=0.0).to(tl.float32)
        b = tl.load(b_ptr + cols, mask=m, other=0.0).to(tl.float32)
        tl.store(out_ptr + at, (d * rstd * w + b).to(tl.bfloat16), mask=m)


@triton.jit
def rows_together(x_ptr, w_ptr, b_ptr, out_ptr, rows, n_cols, eps, BLOCK: tl.constexpr, ROWS: tl.constexpr):
    """ROWS rows per program: their weights are loaded once."""
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    cols = tl.arange(0, BLOCK)[None, :]
    m = (row[:, None] < rows) & (cols < n_cols)
    at = row[:, None].to(tl.int64) * n_cols + cols
    x = tl.load(x_ptr + at, mask=m, other=0.0).to(tl.float32)
    d = tl.where(m, x - tl.sum(x, axis=1, keep_dims=True) / n_cols, 0.0)
    rstd = 1.0 / tl.sqrt(tl.sum(d * d, axis=1, keep_dims=True) / n_cols + eps)
    w = tl.load(w_ptr + cols, mask=cols < n_cols, other=0.0).to(tl.float32)
    b = tl.load(b_ptr + cols, mask=cols < n_cols, other=0.0).to(tl.float32)
    tl.store(out_ptr + at, (d * rstd * w + b).to(tl.bfloat16), mask=m)


@triton.jit
def three_passes(x_ptr, w_ptr, b_ptr, out_ptr, n_cols, eps, CHUNK: tl.constexpr):
    """Chunks of the row: mean, squares of the distances, output. All but the first pass find the row in the cache."""
    row = tl.program_id(0).to(tl.int64) * n_cols
    cols = tl.arange(0, CHUNK)
    total = tl.zeros((CHUNK,), tl.float32)
    for first in range(0, n_cols, CHUNK):
        total += tl.load(x_ptr + row + first + cols, mask=first + cols < n_cols, other=0.0, eviction_policy="evict_last").to(tl.float32)
    mean = tl.sum(total, axis=0) / n_cols
    squares = tl.zeros((CHUNK,), tl.float32)
    for first in range(0, n_cols, CHUNK):
        m = first + cols < n_cols
        x = tl.load(x_ptr + row + first + cols, mask=m, other=0.0, eviction_policy="evict_last").to(tl.float32)
        d = tl.where(m, x - mean, 0.0)
        squares += d * d
    rstd = 1.0 / tl.sqrt(tl.sum(squares, axis=0) / n_cols + eps)
    for first in range(0, n_cols, CHUNK):
        m = first + cols < n_cols
        x = tl.load(x_ptr + row + first + cols, mask=m, other=0.0, eviction_policy="evict_first").to(tl.float32)
        w = tl.load(w_ptr + first + cols, mask=m, other=0.0).to(tl.float32)
        b = tl.load(b_ptr + first + cols, mask=m, other=0.0).to(tl.float32)
        tl.store(out_ptr + row + first + cols, ((x - mean) * rstd * w + b).to(tl.bfloat16), mask=m)
