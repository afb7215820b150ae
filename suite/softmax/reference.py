import numpy as np


def reference(x_ptr, out_ptr, n_cols, **_):
    columns = int(n_cols)
    x = x_ptr[:, :columns]
    e = np.exp(x - np.max(x, axis=1, keepdims=True))
    out = out_ptr.copy()
    out[:, :columns] = e / np.sum(e, axis=1, keepdims=True)
    return {"out_ptr": out}
