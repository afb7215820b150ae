import triton
import triton.language as tl


@triton.jit
def rope(x_ptr, cos_ptr, sin_ptr, out_ptr, T, D: tl.constexpr):
    """Rotates the halves of a row into each other. x, out: (rows, D), rows of one position T apart; cos, sin: (T, D)."""
    row = tl.program_id(0).to(tl.int64)
    d = tl.arange(0, D)
    turn = (tl.program_id(0) % T) * D + d
    x = tl.load(x_ptr + row * D + d).to(tl.float32)
    partner = tl.load(x_ptr + row * D + (d + D // 2) % D).to(tl.float32)
    partner = tl.where(d < D // 2, -partner, partner)
    y = x * tl.load(cos_ptr + turn).to(tl.float32) + partner * tl.load(sin_ptr + turn).to(tl.float32)
    tl.store(out_ptr + row * D + d, y.to(tl.float16))
