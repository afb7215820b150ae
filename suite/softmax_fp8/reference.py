import numpy as np


def reference(out_ptr, in_ptr, n_cols, **_):
    columns = int(n_cols)
    x = in_ptr[:, :columns]
    e = np.exp(x - np.max(x, axis=1, keepdims=True))
    out = out_ptr.copy()
    out[:, :columns] = e / np.sum(e, axis=1, keepdims=True)
    return {"out_ptr": out}
