import numpy as np


def reference(x_ptr, w_ptr, eps, **_):
    return {"out_ptr": x_ptr / np.sqrt(np.mean(x_ptr**2, axis=1, keepdims=True) + eps) * w_ptr}
