import triton
import triton.language as tl


@triton.jit
def swiglu(gate_ptr, value_ptr, out_ptr, n, BLOCK: tl.constexpr):
    """gate / (1 + exp(-gate)) * value, in float32."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    g = tl.load(gate_ptr + at, mask=at < n, other=0.0).to(tl.float32)
    v = tl.load(value_ptr + at, mask=at < n, other=0.0).to(tl.float32)
    tl.store(out_ptr + at, (g / (1.0 + tl.exp(-g)) * v).to(tl.float16), mask=at < n)
