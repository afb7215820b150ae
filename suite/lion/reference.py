import numpy as np


def reference(p_ptr, grad_ptr, m_ptr, rate, decay, **_):
    update = 0.9 * m_ptr + 0.1 * grad_ptr
    return {"p_ptr": p_ptr * (1 - rate * decay) - rate * np.sign(update), "m_ptr": 0.99 * m_ptr + 0.01 * grad_ptr}
