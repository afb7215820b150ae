import numpy as np


def reference(x_ptr, w_ptr, b_ptr, eps, **_):
    d = x_ptr - np.mean(x_ptr, axis=1, keepdims=True)
    return {"out_ptr": d / np.sqrt(np.mean(d**2, axis=1, keepdims=True) + eps) * w_ptr + b_ptr}
