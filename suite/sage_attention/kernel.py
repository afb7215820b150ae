import triton
import triton.language as tl


@triton.jit
def sage_attention(q_ptr, k_ptr, v_ptr, sq_ptr, sk_ptr, o_ptr, S, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    """Attention with int8 queries and keys (SageAttention, arXiv 2410.02367). q, k: (BH, S, D) int8; v, o: (BH, S, D)
    fp16; sq: (BH, cdiv(S, BM)), sk: (BH, cdiv(S, BN)) fp32, a scale per block; sq holds the factor to base 2 as well.
    """
    block = tl.program_id(0)
    bh = tl.program_id(1).to(tl.int64)
    rm = block * BM + tl.arange(0, BM)
    rd = tl.arange(0, D)
    q = tl.load(q_ptr + (bh * S + rm[:, None]) * D + rd[None, :], mask=rm[:, None] < S, other=0)
    sq = tl.load(sq_ptr + bh * tl.cdiv(S, BM) + block)
    top = tl.full((BM,), -float("inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    for start in range(0, S, BN):
        rn = start + tl.arange(0, BN)
        k = tl.load(k_ptr + (bh * S + rn[None, :]) * D + rd[:, None], mask=rn[None, :] < S, other=0)
        sk = tl.load(sk_ptr + bh * tl.cdiv(S, BN) + start // BN)
        s = tl.dot(q, k).to(tl.float32) * (sq * sk)
        s = tl.where(rn[None, :] < S, s, -float("inf"))
        new_top = tl.maximum(top, tl.max(s, axis=1))
        p = tl.exp2(s - new_top[:, None])
        shrink = tl.exp2(top - new_top)
        total = total * shrink + tl.sum(p, axis=1)
        v = tl.load(v_ptr + (bh * S + rn[:, None]) * D + rd[None, :], mask=rn[:, None] < S, other=0.0)
        acc = tl.dot(p.to(tl.float16), v, acc * shrink[:, None])
        top = new_top
    o = acc / total[:, None]
    tl.store(o_ptr + (bh * S + rm[:, None]) * D + rd[None, :], o.to(tl.float16), mask=rm[:, None] < S)
