import triton
import triton.language as tl


@triton.jit
def reduction_sum(x_ptr, out_ptr, n_cols, BLOCK: tl.constexpr):
    """out[row] += sum of the row, a block of it per program. Blocks are added in any order."""
    row = tl.program_id(1).to(tl.int64)
    cols = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n_cols + cols, mask=cols < n_cols, other=0.0).to(tl.float32)
    tl.atomic_add(out_ptr + row, tl.sum(x, axis=0), sem="relaxed")
