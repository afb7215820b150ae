import numpy as np


def reference(q_ptr, k_ptr, v_ptr, block_ptr, scale, G, BS, **_):
    group, size = int(G), int(BS)
    o = np.zeros_like(q_ptr)
    lse = np.full(q_ptr.shape[:2], -np.inf)
    for t in range(q_ptr.shape[0]):
        for head in range(k_ptr.shape[1]):
            # A block that is picked twice counts twice, as in the kernel.
            picks = [b for b in block_ptr[t, head].astype(int) if b >= 0]
            keys = [j for b in picks for j in range(b * size, (b + 1) * size) if j <= t]
            if not keys:
                continue
            rows = slice(head * group, (head + 1) * group)
            s = scale * q_ptr[t, rows] @ k_ptr[keys, head].T
            top = np.max(s, axis=1, keepdims=True)
            p = np.exp(s - top)
            total = np.sum(p, axis=1, keepdims=True)
            o[t, rows] = (p / total) @ v_ptr[keys, head]
            lse[t, rows] = (top + np.log(total))[:, 0]
    return {"o_ptr": o, "lse_ptr": lse}
