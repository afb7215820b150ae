import triton
import triton.language as tl


@triton.jit
def center_rows(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + cols, mask=cols < n, other=0.0).to(tl.float32)
    mean = tl.sum(x, axis=0) / n
    tl.store(out_ptr + row * n + cols, (x - mean).to(tl.bfloat16), mask=cols < n)
