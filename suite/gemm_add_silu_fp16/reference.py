import numpy as np


def reference(a_ptr, b_ptr, d_ptr, **_):
    v = a_ptr @ b_ptr + d_ptr
    return {"c_ptr": v / (1 + np.exp(-v))}
