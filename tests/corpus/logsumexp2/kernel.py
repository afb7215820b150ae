import triton
import triton.language as tl


@triton.jit
def logsumexp2(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    top = -float("inf")
    total = 0.0
    for start in range(0, n, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n + cols, mask=cols < n, other=-float("inf"))
        new_top = tl.maximum(top, tl.max(x, 0))
        total = total * tl.exp2(top - new_top) + tl.sum(tl.exp2(x - new_top), 0)
        top = new_top
    tl.store(out_ptr + row, top + tl.log2(total))
