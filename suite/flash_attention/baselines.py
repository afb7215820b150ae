import triton
import triton.language as tl


@triton.jit
def keys(q, k, v, kv, rm, first, last, Sk, apart, to_base2, top, total, acc, D: tl.constexpr, CAUSAL: tl.constexpr, BN: tl.constexpr,
         MASKED: tl.constexpr, WARPS_APART: tl.constexpr):
    """The online sums over the keys from `first` to `last`, scaled as they are taken to the exponential: `to_base2` is positive."""
    for start in tl.range(first, last, BN, warp_specialize=WARPS_APART):
        s = tl.dot(q, k.load([kv, start, 0]).reshape(BN, D).T)
        if MASKED:
            rn = start + tl.arange(0, BN)
            seen = rn[None, :] < Sk
            if CAUSAL:
                seen = seen & (rn[None, :] <= rm[:, None] + apart)
            s = tl.where(seen, s, -float("inf"))
        higher = tl.maximum(top, tl.max(s, axis=1) * to_base2)
        p = tl.exp2(s * to_base2 - higher[:, None])
        shrink = tl.exp2(top - higher)
        total = total * shrink + tl.sum(p, axis=1)
        acc = tl.dot(p.to(v.dtype), v.load([kv, start, 0]).reshape(BN, D), acc * shrink[:, None])
        top = higher
    return top, total, acc


@triton.jit
def descriptors(q, k, v, o, lse_ptr, scale, Sq, Sk, HEADS: tl.constexpr, SHARED: tl.constexpr, D: tl.constexpr,
                CAUSAL: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, WARPS_APART: tl.constexpr):
    """Blocks by descriptors of (heads, rows, D); blocks of keys that every row sees whole are not masked. Long rows of a causal
    launch come first."""
    block = tl.program_id(0)
    if CAUSAL:
        block = tl.num_programs(0) - 1 - block
    bh = tl.program_id(1)
    kv = bh // HEADS * (HEADS // SHARED) + bh % HEADS // SHARED
    rm = block * BM + tl.arange(0, BM)
    tile = q.load([bh, block * BM, 0]).reshape(BM, D)
    top = tl.full((BM,), -float("inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    to_base2 = scale * 1.4426950408889634
    apart = Sk - Sq
    whole = Sk // BN * BN
    end = Sk
    if CAUSAL:
        whole = tl.minimum(whole, tl.maximum(block * BM + apart + 1, 0) // BN * BN)
        end = tl.minimum(Sk, (block + 1) * BM + apart)
    top, total, acc = keys(tile, k, v, kv, rm, 0, whole, Sk, apart, to_base2, top, total, acc, D, CAUSAL, BN, False, WARPS_APART)
    top, total, acc = keys(tile, k, v, kv, rm, whole, end, Sk, apart, to_base2, top, total, acc, D, CAUSAL, BN, True, False)
    o.store([bh, block * BM, 0], (acc / total[:, None]).to(o.dtype).reshape(1, BM, D))
    tl.store(lse_ptr + bh * Sq + rm, (top + tl.log2(total)) * 0.6931471805599453, mask=rm < Sq)
