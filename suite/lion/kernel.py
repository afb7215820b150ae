import triton
import triton.language as tl


@triton.jit
def lion(p_ptr, grad_ptr, m_ptr, n, rate, decay, beta1: tl.constexpr, beta2: tl.constexpr, BLOCK: tl.constexpr):
    """One step of Lion (arXiv 2302.06675), in place on parameters and momentum: the sign of a mean of both decides."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    p = tl.load(p_ptr + at, mask=inside, other=0.0) * (1.0 - rate * decay)
    g = tl.load(grad_ptr + at, mask=inside, other=0.0)
    m = tl.load(m_ptr + at, mask=inside, other=0.0)
    apart = m - g
    update = apart * beta1 + g
    step = tl.where(update > 0, -rate, rate)
    tl.store(p_ptr + at, p + tl.where(update != 0, step, 0.0), mask=inside)
    tl.store(m_ptr + at, apart * beta2 + g, mask=inside)
