import numpy as np


def reference(x_ptr, w_ptr, bias_ptr, STRIDE, PAD, P, Q, **_):
    stride, pad, rows, columns = int(STRIDE), int(PAD), int(P), int(Q)
    padded = np.pad(x_ptr, ((0, 0), (pad, pad), (pad, pad), (0, 0)))
    y = np.zeros((x_ptr.shape[0], rows, columns, w_ptr.shape[0])) + bias_ptr
    for r in range(w_ptr.shape[1]):
        for s in range(w_ptr.shape[2]):
            window = padded[:, r : r + stride * (rows - 1) + 1 : stride, s : s + stride * (columns - 1) + 1 : stride]
            y += window @ w_ptr[:, r, s].T
    return {"y_ptr": y}
