import triton
import triton.language as tl


@triton.jit
def add_rmsnorm(x_ptr, res_ptr, w_ptr, out_ptr, n_cols, eps, BLOCK: tl.constexpr):
    """res += x, rounded to bf16; out = rmsnorm(res) * w, of the rounded sum."""
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    m = cols < n_cols
    x = tl.load(x_ptr + row * n_cols + cols, mask=m, other=0.0).to(tl.float32)
    r = tl.load(res_ptr + row * n_cols + cols, mask=m, other=0.0).to(tl.float32)
    s = (x + r).to(tl.bfloat16)
    tl.store(res_ptr + row * n_cols + cols, s, mask=m)
    s = s.to(tl.float32)
    w = tl.load(w_ptr + cols, mask=m, other=0.0).to(tl.float32)
    scale = tl.rsqrt(tl.sum(s * s, axis=0) / n_cols + eps)
    tl.store(out_ptr + row * n_cols + cols, (s * scale * w).to(tl.bfloat16), mask=m)
