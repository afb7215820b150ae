import numpy as np


def reference(q_ptr, k_ptr, ks_ptr, km_ptr, v_ptr, vs_ptr, vm_ptr, scale, T, SPLIT, G, D, **_):
    times, part, group, d = int(T), int(SPLIT), int(G), np.arange(int(D))
    t = np.arange(times)
    k = (k_ptr[:, :, t // 16] >> (2 * (t % 16))[:, None] & 3) * ks_ptr[:, :, t // 32] + km_ptr[:, :, t // 32]
    v = (v_ptr[..., d // 16] >> (2 * (d % 16)) & 3) * vs_ptr[..., d // 32] + vm_ptr[..., d // 32]
    batch, heads = q_ptr.shape[0], k.shape[1]
    s = scale * np.einsum("bhgd,bhtd->bhgt", q_ptr.reshape(batch, heads, group, -1), k)
    splits = -(-times // part)
    o = np.zeros((batch, heads, group, splits, d.size))
    lse = np.zeros((batch, heads, group, splits))
    for i in range(splits):
        here = slice(i * part, min(times, (i + 1) * part))
        top = np.max(s[..., here], axis=-1, keepdims=True)
        p = np.exp(s[..., here] - top)
        total = np.sum(p, axis=-1, keepdims=True)
        o[..., i, :] = np.einsum("bhgt,bhtd->bhgd", p / total, v[:, :, here])
        lse[..., i] = (top + np.log(total))[..., 0]
    return {"o_ptr": o.reshape(batch, heads * group, splits, -1), "lse_ptr": lse.reshape(batch, heads * group, splits)}
