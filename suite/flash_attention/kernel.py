import triton
import triton.language as tl


@triton.jit
def flash_attention(q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, scale, Sq, Sk, HEADS: tl.constexpr, SHARED: tl.constexpr,
                    D: tl.constexpr, CAUSAL: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    """Attention forward. q, o: (B, HEADS, Sq, D); k, v: (B, HEADS / SHARED, Sk, D); lse: (B, HEADS, Sq).

    SHARED query heads use one key/value head. CAUSAL: query i sees the keys up to i + Sk - Sq.
    """
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    bh = tl.program_id(1).to(tl.int64)
    kv = bh // HEADS * (HEADS // SHARED) + bh % HEADS // SHARED
    rd = tl.arange(0, D)
    q = tl.load(q_ptr + (bh * Sq + rm[:, None]) * D + rd[None, :], mask=rm[:, None] < Sq, other=0.0)
    top = tl.full((BM,), -float("inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    # Exponentials to base 2.
    to_base2 = scale * 1.4426950408889634
    end = Sk
    if CAUSAL:
        end = tl.minimum(Sk, (tl.program_id(0) + 1) * BM + Sk - Sq)
    for start in range(0, end, BN):
        rn = start + tl.arange(0, BN)
        k = tl.load(k_ptr + (kv * Sk + rn[None, :]) * D + rd[:, None], mask=rn[None, :] < Sk, other=0.0)
        s = tl.dot(q, k) * to_base2
        seen = rn[None, :] < Sk
        if CAUSAL:
            seen = seen & (rn[None, :] <= rm[:, None] + (Sk - Sq))
        s = tl.where(seen, s, -float("inf"))
        new_top = tl.maximum(top, tl.max(s, axis=1))
        p = tl.exp2(s - new_top[:, None])
        shrink = tl.exp2(top - new_top)
        total = total * shrink + tl.sum(p, axis=1)
        v = tl.load(v_ptr + (kv * Sk + rn[:, None]) * D + rd[None, :], mask=rn[:, None] < Sk, other=0.0)
        acc = tl.dot(p.to(tl.bfloat16), v, acc * shrink[:, None])
        top = new_top
    o = acc / total[:, None]
    tl.store(o_ptr + (bh * Sq + rm[:, None]) * D + rd[None, :], o.to(tl.bfloat16), mask=rm[:, None] < Sq)
    tl.store(lse_ptr + bh * Sq + rm, (top + tl.log2(total)) * 0.6931471805599453, mask=rm < Sq)
