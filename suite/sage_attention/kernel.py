import triton
import triton.language as tl


@triton.jit
def sage_attention(q_ptr, k_ptr, v_ptr, sq_ptr, sk_ptr, o_ptr, S, T, SHARED, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    """Attention with int8 queries and keys (SageAttention, arXiv 2410.02367). q: (BH, S, D), k: (BH / SHARED, T, D) int8; o as q,
    v as k, fp16; sq: (BH, cdiv(S, BM)), sk: (BH / SHARED, cdiv(T, BN)) fp32, a scale per block; sq holds the factor to base 2 as well.
    """
    block = tl.program_id(0)
    bh = tl.program_id(1).to(tl.int64)
    kv = (tl.program_id(1) // SHARED).to(tl.int64)
    rm = block * BM + tl.arange(0, BM)
    rd = tl.arange(0, D)
    q = tl.load(q_ptr + (bh * S + rm[:, None]) * D + rd[None, :], mask=rm[:, None] < S, other=0)
    sq = tl.load(sq_ptr + bh * tl.cdiv(S, BM) + block)
    top = tl.full((BM,), -float("inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    for start in range(0, T, BN):
        rn = start + tl.arange(0, BN)
        k = tl.load(k_ptr + (kv * T + rn[None, :]) * D + rd[:, None], mask=rn[None, :] < T, other=0)
        sk = tl.load(sk_ptr + kv * tl.cdiv(T, BN) + start // BN)
        s = tl.dot(q, k).to(tl.float32) * (sq * sk)
        s = tl.where(rn[None, :] < T, s, -float("inf"))
        new_top = tl.maximum(top, tl.max(s, axis=1))
        p = tl.exp2(s - new_top[:, None])
        shrink = tl.exp2(top - new_top)
        total = total * shrink + tl.sum(p, axis=1)
        v = tl.load(v_ptr + (kv * T + rn[:, None]) * D + rd[None, :], mask=rn[:, None] < T, other=0.0)
        acc = tl.dot(p.to(tl.float16), v, acc * shrink[:, None])
        top = new_top
    o = acc / total[:, None]
    tl.store(o_ptr + (bh * S + rm[:, None]) * D + rd[None, :], o.to(tl.float16), mask=rm[:, None] < S)
