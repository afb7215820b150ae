import numpy as np


def reference(x_ptr, **_):
    e = np.exp(x_ptr - np.max(x_ptr, axis=1, keepdims=True))
    return {"out_ptr": e / np.sum(e, axis=1, keepdims=True)}
