import numpy as np


def reference(x_ptr, cos_ptr, sin_ptr, **_):
    low, high = np.split(x_ptr, 2, axis=2)
    return {"out_ptr": x_ptr * cos_ptr + np.concatenate([-high, low], axis=2) * sin_ptr}
