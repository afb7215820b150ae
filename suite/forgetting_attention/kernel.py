import triton
import triton.language as tl


@triton.jit
def forgetting_attention(q_ptr, k_ptr, v_ptr, f_ptr, o_ptr, l_ptr, T, scale, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    """Attention with a forget gate (arXiv 2503.02130): f, running sums of log gates, biases a logit by f_i - f_j.

    q, k, v, o: (BH, T, D); f, l: (BH, T); l is the log-sum-exp of a row's logits.
    """
    bh = tl.program_id(1).to(tl.int64)
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rd = tl.arange(0, D)
    in_m = rm < T
    q = tl.load(q_ptr + (bh * T + rm[:, None]) * D + rd[None, :], mask=in_m[:, None], other=0.0)
    gate = tl.load(f_ptr + bh * T + rm, mask=in_m, other=0.0)
    top = tl.full((BM,), -float("inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    for start in range(0, T, BN):
        rn = start + tl.arange(0, BN)
        in_n = rn < T
        k = tl.load(k_ptr + (bh * T + rn[None, :]) * D + rd[:, None], mask=in_n[None, :], other=0.0)
        other = tl.load(f_ptr + bh * T + rn, mask=in_n, other=0.0)
        s = (tl.dot(q, k) * scale + gate[:, None] - other[None, :]) * 1.4426950408889634
        s = tl.where(in_n[None, :], s, -float("inf"))
        higher = tl.maximum(top, tl.max(s, axis=1))
        p = tl.exp2(s - higher[:, None])
        shrink = tl.exp2(top - higher)
        total = total * shrink + tl.sum(p, axis=1)
        v = tl.load(v_ptr + (bh * T + rn[:, None]) * D + rd[None, :], mask=in_n[:, None], other=0.0)
        acc = tl.dot(p.to(tl.float16), v, acc * shrink[:, None])
        top = higher
    tl.store(o_ptr + (bh * T + rm[:, None]) * D + rd[None, :], (acc / total[:, None]).to(tl.float16), mask=in_m[:, None])
    tl.store(l_ptr + bh * T + rm, top * 0.6931471805599453 + tl.log(total), mask=in_m)
