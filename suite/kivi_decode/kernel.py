import triton
import triton.language as tl


@triton.jit
def kivi_decode(q_ptr, k_ptr, ks_ptr, km_ptr, v_ptr, vs_ptr, vm_ptr, o_ptr, lse_ptr, scale, T, SPLIT, HEADS,
                G: tl.constexpr, D: tl.constexpr, BT: tl.constexpr):
    """One part of decode attention over a 2-bit cache (KIVI, arXiv 2402.02750): a program takes the tokens
    [split SPLIT, (split + 1) SPLIT) of a key head and its G query heads, and leaves its mean and logsumexp.

    q: (B, HEADS G, D) bf16. Keys by channel: k (B, HEADS, T / 16, D) int32, token t at bits 2 (t % 16); ks, km
    (B, HEADS, T / 32, D) fp16. Values by token: v (B, HEADS, T, D / 16) int32; vs, vm (B, HEADS, T, D / 32) fp16.
    o: (B, HEADS G, splits, D) fp32; lse: (B, HEADS G, splits) fp32. T is a multiple of 32, no part is empty.
    """
    split = tl.program_id(0)
    bh = tl.program_id(1).to(tl.int64)
    rg = bh * G + tl.arange(0, G)
    rd = tl.arange(0, D)
    q = tl.load(q_ptr + rg[:, None] * D + rd[None, :])
    top = tl.full((G,), -float("inf"), tl.float32)
    total = tl.zeros((G,), tl.float32)
    acc = tl.zeros((G, D), tl.float32)
    end = tl.minimum(T, (split + 1) * SPLIT)
    for start in range(split * SPLIT, end, BT):
        rt = start + tl.arange(0, BT)
        seen = rt < end
        words = tl.load(k_ptr + (bh * (T // 16) + rt[None, :] // 16) * D + rd[:, None], mask=seen[None, :], other=0)
        code = (words >> (2 * (rt[None, :] % 16))) & 3
        group = (bh * (T // 32) + rt[None, :] // 32) * D + rd[:, None]
        ks = tl.load(ks_ptr + group, mask=seen[None, :], other=0.0).to(tl.float32)
        km = tl.load(km_ptr + group, mask=seen[None, :], other=0.0).to(tl.float32)
        k = code.to(tl.float32) * ks + km
        s = tl.dot(q, k.to(tl.bfloat16)) * (scale * 1.4426950408889634)
        s = tl.where(seen[None, :], s, -float("inf"))
        new_top = tl.maximum(top, tl.max(s, axis=1))
        p = tl.exp2(s - new_top[:, None])
        shrink = tl.exp2(top - new_top)
        total = total * shrink + tl.sum(p, axis=1)
        words = tl.load(v_ptr + (bh * T + rt[:, None]) * (D // 16) + rd[None, :] // 16, mask=seen[:, None], other=0)
        code = (words >> (2 * (rd[None, :] % 16))) & 3
        group = (bh * T + rt[:, None]) * (D // 32) + rd[None, :] // 32
        vs = tl.load(vs_ptr + group, mask=seen[:, None], other=0.0).to(tl.float32)
        vm = tl.load(vm_ptr + group, mask=seen[:, None], other=0.0).to(tl.float32)
        v = code.to(tl.float32) * vs + vm
        acc = tl.dot(p.to(tl.bfloat16), v.to(tl.bfloat16), acc * shrink[:, None])
        top = new_top
    splits = tl.cdiv(T, SPLIT)
    tl.store(o_ptr + (rg[:, None] * splits + split) * D + rd[None, :], acc / total[:, None])
    tl.store(lse_ptr + rg * splits + split, (top + tl.log2(total)) * 0.6931471805599453)
