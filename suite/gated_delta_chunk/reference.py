import numpy as np


def reference(q_ptr, k_ptr, v_ptr, g_ptr, beta_ptr, s_ptr, scale, **_):
    """The recurrence itself, a step at a time."""
    s = s_ptr.copy()
    o = np.zeros_like(v_ptr)
    for t in range(q_ptr.shape[1]):
        s *= np.exp(g_ptr[:, t])[:, None, None]
        u = beta_ptr[:, t, None] * (v_ptr[:, t] - np.einsum("bkv,bk->bv", s, k_ptr[:, t]))
        s += k_ptr[:, t, :, None] * u[:, None, :]
        o[:, t] = scale * np.einsum("bkv,bk->bv", s, q_ptr[:, t])
    return {"s_ptr": s, "o_ptr": o}
