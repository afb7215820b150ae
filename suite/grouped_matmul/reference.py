def reference(a_ptr, w_ptr, count_ptr, c_ptr, **_):
    c = c_ptr.copy()
    first = 0
    for expert, count in enumerate(count_ptr.astype(int)):
        c[first : first + count] = a_ptr[first : first + count] @ w_ptr[expert].T
        first += count
    return {"c_ptr": c}
