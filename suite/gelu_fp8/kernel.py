import triton
import triton.language as tl


@triton.jit
def gelu(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    """x times the normal distribution's mass below x, in float32."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0).to(tl.float32)
    tl.store(out_ptr + at, (0.5 * x * (1.0 + tl.erf(x * 0.7071067811865476))).to(tl.float16), mask=at < n)
