import triton
import triton.language as tl


@triton.jit
def cross_entropy(x_ptr, label_ptr, loss_ptr, grad_scale, V, IGNORE: tl.constexpr, BLOCK: tl.constexpr):
    """loss = logsumexp(x) - x[label]; x becomes the gradient. A row whose label is IGNORE has neither."""
    row = tl.program_id(0).to(tl.int64)
    x_ptr += row * V
    label = tl.load(label_ptr + row)
    if label == IGNORE:
        tl.store(loss_ptr + row, 0.0)
        for start in range(0, V, BLOCK):
            cols = start + tl.arange(0, BLOCK)
            tl.store(x_ptr + cols, tl.zeros((BLOCK,), tl.bfloat16), mask=cols < V)
        return
    top = -float("inf")
    total = 0.0
    for start in range(0, V, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + cols, mask=cols < V, other=-float("inf")).to(tl.float32)
        new_top = tl.maximum(top, tl.max(x, axis=0))
        total = total * tl.exp(top - new_top) + tl.sum(tl.exp(x - new_top), axis=0)
        top = new_top
    lse = top + tl.log(total)
    tl.store(loss_ptr + row, lse - tl.load(x_ptr + label).to(tl.float32))
    # The label's logit is read before the row is overwritten.
    tl.debug_barrier()
    for start in range(0, V, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + cols, mask=cols < V, other=-float("inf")).to(tl.float32)
        p = tl.exp(x - lse) - tl.where(cols == label, 1.0, 0.0)
        tl.store(x_ptr + cols, (p * grad_scale).to(tl.bfloat16), mask=cols < V)
