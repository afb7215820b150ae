def reference(a, b, c, N, K, **_):
    out = c.copy()
    out[:, : int(N)] = a[:, : int(K)] @ b.T
    return {"c": out}
