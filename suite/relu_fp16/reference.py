import numpy as np


def reference(x_ptr, **_):
    x = x_ptr
    return {"out_ptr": np.maximum(x, 0)}
