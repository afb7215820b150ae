def reference(a_ptr, x_ptr, **_):
    return {"y_ptr": a_ptr @ x_ptr}
