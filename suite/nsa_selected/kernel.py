import triton
import triton.language as tl


@triton.jit
def nsa_selected(q_ptr, k_ptr, v_ptr, block_ptr, o_ptr, lse_ptr, scale, T, HEADS, PICKS, G: tl.constexpr,
                 D: tl.constexpr, BS: tl.constexpr):
    """Attention over selected blocks of BS keys (Native Sparse Attention, arXiv 2502.11089), G query heads to a key head.

    q, o: (T, HEADS G, D); k, v: (T, HEADS, D) bf16; block: (T, HEADS, PICKS) int32, -1 for none; lse: (T, HEADS G).
    A query sees the keys of its blocks up to its own time. A row without any key gets zeros and -inf.
    """
    t = tl.program_id(0)
    head = tl.program_id(1)
    rg = head * G + tl.arange(0, G)
    rd = tl.arange(0, D)
    at = (t.to(tl.int64) * HEADS * G + rg[:, None]) * D + rd[None, :]
    q = tl.load(q_ptr + at)
    top = tl.full((G,), -float("inf"), tl.float32)
    total = tl.zeros((G,), tl.float32)
    acc = tl.zeros((G, D), tl.float32)
    for i in range(PICKS):
        start = tl.load(block_ptr + (t * HEADS + head) * PICKS + i) * BS
        if (start >= 0) & (start <= t):
            rs = start + tl.arange(0, BS)
            seen = rs <= t
            kv = (rs.to(tl.int64) * HEADS + head) * D
            k = tl.load(k_ptr + kv[None, :] + rd[:, None], mask=seen[None, :], other=0.0)
            s = tl.where(seen[None, :], tl.dot(q, k) * (scale * 1.4426950408889634), -float("inf"))
            new_top = tl.maximum(top, tl.max(s, axis=1))
            p = tl.exp2(s - new_top[:, None])
            shrink = tl.exp2(top - new_top)
            total = total * shrink + tl.sum(p, axis=1)
            v = tl.load(v_ptr + kv[:, None] + rd[None, :], mask=seen[:, None], other=0.0)
            acc = tl.dot(p.to(tl.bfloat16), v, acc * shrink[:, None])
            top = new_top
    is_empty = total == 0.0
    o = tl.where(is_empty[:, None], 0.0, acc / tl.where(is_empty, 1.0, total)[:, None])
    lse = tl.where(is_empty, -float("inf"), (top + tl.log2(tl.where(is_empty, 1.0, total))) * 0.6931471805599453)
    tl.store(o_ptr + at, o.to(tl.bfloat16))
    tl.store(lse_ptr + t * HEADS * G + rg, lse)
