import numpy as np


def reference(q_ptr, k_ptr, v_ptr, f_ptr, scale, **_):
    s = q_ptr @ k_ptr.transpose(0, 2, 1) * scale + f_ptr[:, :, None] - f_ptr[:, None, :]
    top = s.max(axis=2, keepdims=True)
    p = np.exp(s - top)
    total = p.sum(axis=2, keepdims=True)
    return {"o_ptr": p / total @ v_ptr, "l_ptr": (top + np.log(total))[:, :, 0]}
