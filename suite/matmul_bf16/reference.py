def reference(a_ptr, b_ptr, c_ptr, N, K, **_):
    c = c_ptr.copy()
    c[:, : int(N)] = a_ptr[:, : int(K)] @ b_ptr[:, : int(N)]
    return {"c_ptr": c}
