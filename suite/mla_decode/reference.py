import numpy as np


def reference(q_ptr, cache_ptr, table_ptr, length_ptr, scale, SPLIT, PAGE, DV, most, **_):
    part, page, dv = int(SPLIT), int(PAGE), int(DV)
    batch, heads = q_ptr.shape[:2]
    splits = -(-int(most) // part)
    o = np.zeros((batch, heads, splits, dv))
    lse = np.full((batch, heads, splits), -np.inf)
    for b in range(batch):
        t = np.arange(int(length_ptr[b]))
        keys = cache_ptr[table_ptr[b, t // page].astype(int), t % page]
        s = scale * q_ptr[b] @ keys.T
        for i in range(splits):
            here = slice(i * part, (i + 1) * part)
            if i * part >= t.size:
                continue
            top = np.max(s[:, here], axis=1, keepdims=True)
            p = np.exp(s[:, here] - top)
            total = np.sum(p, axis=1, keepdims=True)
            o[b, :, i] = (p / total) @ keys[here, :dv]
            lse[b, :, i] = (top + np.log(total))[:, 0]
    return {"o_ptr": o, "lse_ptr": lse}
