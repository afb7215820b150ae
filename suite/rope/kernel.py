import triton
import triton.language as tl


@triton.jit
def rope(x_ptr, cos_ptr, sin_ptr, out_ptr, S, H, D: tl.constexpr):
    """x, out: (S, H, D); cos, sin: (S, D // 2)."""
    s = tl.program_id(0)
    h = tl.program_id(1)
    half: tl.constexpr = D // 2
    r = tl.arange(0, half)
    c = tl.load(cos_ptr + s * half + r).to(tl.float32)
    n = tl.load(sin_ptr + s * half + r).to(tl.float32)
    base = (s.to(tl.int64) * H + h) * D
    a = tl.load(x_ptr + base + r).to(tl.float32)
    b = tl.load(x_ptr + base + half + r).to(tl.float32)
    tl.store(out_ptr + base + r, (a * c - b * n).to(tl.bfloat16))
    tl.store(out_ptr + base + half + r, (b * c + a * n).to(tl.bfloat16))
