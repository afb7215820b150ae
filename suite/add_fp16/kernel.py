import triton
import triton.language as tl


@triton.jit
def add(left_ptr, right_ptr, out_ptr, n, BLOCK: tl.constexpr):
    """Added in float16."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    left = tl.load(left_ptr + at, mask=at < n, other=0.0)
    tl.store(out_ptr + at, left + tl.load(right_ptr + at, mask=at < n, other=0.0), mask=at < n)
