import numpy as np


def half_step(x, y, f, g, log, eps):
    s = (2 * x @ y.T + g) / eps + log
    top = s.max(axis=1, keepdims=True)
    return 0.5 * f - 0.5 * eps * (top[:, 0] + np.log(np.exp(s - top).sum(axis=1)))


def reference(x_ptr, y_ptr, f_ptr, g_ptr, log_a_ptr, log_b_ptr, eps, **_):
    return {"f_out_ptr": half_step(x_ptr, y_ptr, f_ptr, g_ptr, log_b_ptr, eps),
            "g_out_ptr": half_step(y_ptr, x_ptr, g_ptr, f_ptr, log_a_ptr, eps)}
