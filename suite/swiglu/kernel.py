import triton
import triton.language as tl


@triton.jit
def swiglu(gate_ptr, up_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = offs < n
    g = tl.load(gate_ptr + offs, mask=m, other=0.0).to(tl.float32)
    u = tl.load(up_ptr + offs, mask=m, other=0.0).to(tl.float32)
    tl.store(out_ptr + offs, (g * tl.sigmoid(g) * u).to(tl.bfloat16), mask=m)
