import triton
import triton.language as tl


@triton.jit
def cross_entropy(x_ptr, label_ptr, loss_ptr, V, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    m = -float("inf")
    s = 0.0
    for v in range(0, V, BLOCK):
        cols = v + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * V + cols, mask=cols < V, other=-float("inf")).to(tl.float32)
        m_new = tl.maximum(m, tl.max(x, 0))
        s = s * tl.exp(m - m_new) + tl.sum(tl.exp(x - m_new), 0)
        m = m_new
    y = tl.load(label_ptr + row)
    t = tl.load(x_ptr + row * V + y).to(tl.float32)
    tl.store(loss_ptr + row, tl.log(s) + m - t)
