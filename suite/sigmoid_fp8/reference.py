import numpy as np


def reference(x_ptr, **_):
    x = x_ptr
    return {"out_ptr": 1 / (1 + np.exp(-x))}
