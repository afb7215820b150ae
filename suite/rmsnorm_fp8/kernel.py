import triton
import triton.language as tl


@triton.jit
def rmsnorm(x_ptr, w_ptr, out_ptr, n_cols, eps, BLOCK: tl.constexpr):
    """A row over the root of its mean square, times weights of its own: w has a row for each row of x."""
    cols = tl.arange(0, BLOCK)
    m = cols < n_cols
    at = tl.program_id(0).to(tl.int64) * n_cols + cols
    x = tl.load(x_ptr + at, mask=m, other=0.0).to(tl.float32)
    w = tl.load(w_ptr + at, mask=m, other=0.0).to(tl.float32)
    inverse = 1.0 / tl.sqrt(tl.sum(x * x, axis=0) / n_cols + eps)
    tl.store(out_ptr + at, (x * inverse * w).to(tl.float16), mask=m)
