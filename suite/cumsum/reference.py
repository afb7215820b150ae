import numpy as np


def reference(x_ptr, **_):
    return {"out_ptr": np.cumsum(x_ptr, axis=1)}
