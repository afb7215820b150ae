import numpy as np


def reference(cb_ptr, x_ptr, dt_ptr, da_ptr, c_ptr, state_ptr, skip_ptr, T, CHUNK, **_):
    times, size = int(T), int(CHUNK)
    out = np.zeros_like(x_ptr)
    for t in range(times):
        chunk, i = divmod(t, size)
        first = chunk * size
        out[t] = np.exp(da_ptr[:, t])[:, None] * (state_ptr[chunk] @ c_ptr[t]) + skip_ptr[:, None] * x_ptr[t]
        for j in range(i + 1):
            s = first + j
            weight = cb_ptr[chunk, i, j] * np.exp(da_ptr[:, t] - da_ptr[:, s]) * dt_ptr[:, s]
            out[t] += weight[:, None] * x_ptr[s]
    return {"out_ptr": out}
