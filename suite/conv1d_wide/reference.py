import numpy as np


def reference(x_ptr, w_ptr, **_):
    width, times = w_ptr.shape[0], x_ptr.shape[1]
    padded = np.pad(x_ptr, ((0, 0), (width - 1, 0), (0, 0)))
    return {"out_ptr": sum(padded[:, i : i + times] * w_ptr[i] for i in range(width))}
