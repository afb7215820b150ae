import triton
import triton.language as tl


@triton.jit
def conv1d_causal(x_ptr, w_ptr, out_ptr, T, C, WIDTH: tl.constexpr, BT: tl.constexpr, BC: tl.constexpr):
    """Depthwise causal convolution. x, out: (B, T, C); w: (WIDTH, C)."""
    rt = tl.program_id(0) * BT + tl.arange(0, BT)
    rc = tl.program_id(1) * BC + tl.arange(0, BC)
    base = tl.program_id(2).to(tl.int64) * T * C
    acc = tl.zeros((BT, BC), tl.float32)
    for i in tl.static_range(WIDTH):
        t = rt - (WIDTH - 1) + i
        m = (t[:, None] >= 0) & (t[:, None] < T) & (rc[None, :] < C)
        x = tl.load(x_ptr + base + t[:, None] * C + rc[None, :], mask=m, other=0.0).to(tl.float32)
        w = tl.load(w_ptr + i * C + rc, mask=rc < C, other=0.0).to(tl.float32)
        acc += x * w[None, :]
    m = (rt[:, None] < T) & (rc[None, :] < C)
    tl.store(out_ptr + base + rt[:, None] * C + rc[None, :], acc.to(tl.bfloat16), mask=m)
