def reference(a_ptr, b_ptr, sa_ptr, sb_ptr, **_):
    return {"c_ptr": (a_ptr @ b_ptr.T) * sa_ptr[:, None] * sb_ptr[None, :]}
