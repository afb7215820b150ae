import triton
import triton.language as tl


@triton.jit
def conv1d_silu(x_ptr, w_ptr, bias_ptr, out_ptr, T, C, WIDTH: tl.constexpr, BT: tl.constexpr, BC: tl.constexpr):
    """Depthwise causal convolution with bias and SiLU. x, out: (B, T, C); w: (C, WIDTH); bias: (C)."""
    rt = tl.program_id(0) * BT + tl.arange(0, BT)
    rc = tl.program_id(1) * BC + tl.arange(0, BC)
    base = tl.program_id(2).to(tl.int64) * T * C
    in_c = rc < C
    acc = tl.zeros((BT, BC), tl.float32) + tl.load(bias_ptr + rc, mask=in_c, other=0.0).to(tl.float32)[None, :]
    for j in tl.static_range(WIDTH):
        t = rt - (WIDTH - 1) + j
        m = (t[:, None] >= 0) & (t[:, None] < T) & in_c[None, :]
        x = tl.load(x_ptr + base + t[:, None] * C + rc[None, :], mask=m, other=0.0).to(tl.float32)
        w = tl.load(w_ptr + rc * WIDTH + j, mask=in_c, other=0.0).to(tl.float32)
        acc += x * w[None, :]
    y = acc * tl.sigmoid(acc)
    m = (rt[:, None] < T) & in_c[None, :]
    tl.store(out_ptr + base + rt[:, None] * C + rc[None, :], y.to(tl.bfloat16), mask=m)
