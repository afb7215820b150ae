import numpy as np


def reference(q_ptr, k_ptr, v_ptr, g_ptr, beta_ptr, s_ptr, scale, **_):
    s = s_ptr * np.exp(g_ptr)[:, None, None]
    u = beta_ptr[:, None] * (v_ptr - np.einsum("bkv,bk->bv", s, k_ptr))
    s = s + k_ptr[:, :, None] * u[:, None, :]
    return {"s_ptr": s, "o_ptr": scale * np.einsum("bkv,bk->bv", s, q_ptr)}
