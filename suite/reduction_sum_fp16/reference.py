def reference(x_ptr, out_ptr, **_):
    return {"out_ptr": out_ptr + x_ptr.sum(axis=1)}
