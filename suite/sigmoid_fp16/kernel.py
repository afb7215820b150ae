import triton
import triton.language as tl


@triton.jit
def sigmoid(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    """1 / (1 + exp(-x)), in float32."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0).to(tl.float32)
    tl.store(out_ptr + at, (1.0 / (1.0 + tl.exp(-x))).to(tl.float16), mask=at < n)
