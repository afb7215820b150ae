import triton
import triton.language as tl


@triton.jit
def combine(a1, b1, a2, b2):
    return a1 * a2, a2 * b1 + b2


@triton.jit
def linear_scan(a_ptr, x_ptr, h_ptr, T, D, BT: tl.constexpr, BD: tl.constexpr):
    """h[t] = a[t] * h[t - 1] + x[t] along T, h[-1] = 0. a, x, h: (B, T, D)."""
    rd = tl.program_id(0) * BD + tl.arange(0, BD)
    base = tl.program_id(1).to(tl.int64) * T * D
    carry = tl.zeros((BD,), tl.float32)
    for start in range(0, T, BT):
        rt = start + tl.arange(0, BT)
        m = (rt[:, None] < T) & (rd[None, :] < D)
        at = base + rt[:, None] * D + rd[None, :]
        a = tl.load(a_ptr + at, mask=m, other=1.0)
        x = tl.load(x_ptr + at, mask=m, other=0.0)
        decay, h = tl.associative_scan((a, x), 0, combine)
        h += decay * carry[None, :]
        tl.store(h_ptr + at, h, mask=m)
        # Rows past the end leave the state as it is (a = 1, x = 0), so that the last row holds it.
        carry = tl.sum(tl.where(tl.arange(0, BT)[:, None] == BT - 1, h, 0.0), axis=0)
