import triton
import triton.language as tl


@triton.jit
def mla_decode(q_ptr, cache_ptr, table_ptr, length_ptr, o_ptr, lse_ptr, scale, PAGES, SPLIT, H, PAGE: tl.constexpr,
               DV: tl.constexpr, DR: tl.constexpr, BH: tl.constexpr, BT: tl.constexpr):
    """One part of latent attention over a paged cache (DeepSeek-V2, arXiv 2405.04434): keys are DV + DR numbers, the
    first DV of them are the values too. A program takes the tokens [split SPLIT, (split + 1) SPLIT) of a request.

    q: (B, H, DV + DR); cache: (pages, PAGE, DV + DR) bf16; table: (B, PAGES) int32; length: (B) int32;
    o: (B, H, splits, DV), lse: (B, H, splits) fp32. A part without tokens leaves zeros and -inf.
    """
    split = tl.program_id(0)
    b = tl.program_id(1).to(tl.int64)
    rh = tl.program_id(2) * BH + tl.arange(0, BH)
    rv = tl.arange(0, DV)
    rr = DV + tl.arange(0, DR)
    in_h = rh[:, None] < H
    row = (b * H + rh[:, None]) * (DV + DR)
    q_v = tl.load(q_ptr + row + rv[None, :], mask=in_h, other=0.0)
    q_r = tl.load(q_ptr + row + rr[None, :], mask=in_h, other=0.0)
    end = tl.minimum(tl.load(length_ptr + b), (split + 1) * SPLIT)
    top = tl.full((BH,), -float("inf"), tl.float32)
    total = tl.zeros((BH,), tl.float32)
    acc = tl.zeros((BH, DV), tl.float32)
    for start in range(split * SPLIT, end, BT):
        rt = start + tl.arange(0, BT)
        seen = rt < end
        page = tl.load(table_ptr + b * PAGES + rt // PAGE, mask=seen, other=0).to(tl.int64)
        token = (page * PAGE + rt % PAGE) * (DV + DR)
        kv = tl.load(cache_ptr + token[:, None] + rv[None, :], mask=seen[:, None], other=0.0)
        k_r = tl.load(cache_ptr + token[None, :] + rr[:, None], mask=seen[None, :], other=0.0)
        s = tl.dot(q_r, k_r, tl.dot(q_v, tl.trans(kv))) * (scale * 1.4426950408889634)
        s = tl.where(seen[None, :], s, -float("inf"))
        new_top = tl.maximum(top, tl.max(s, axis=1))
        p = tl.exp2(s - new_top[:, None])
        shrink = tl.exp2(top - new_top)
        total = total * shrink + tl.sum(p, axis=1)
        acc = tl.dot(p.to(tl.bfloat16), kv, acc * shrink[:, None])
        top = new_top
    splits = tl.num_programs(0)
    is_empty = total == 0.0
    divisor = tl.where(is_empty, 1.0, total)
    at = (b * H + rh) * splits + split
    tl.store(o_ptr + at[:, None] * DV + rv[None, :], acc / divisor[:, None], mask=in_h)
    lse = tl.where(is_empty, -float("inf"), (top + tl.log2(divisor)) * 0.6931471805599453)
    tl.store(lse_ptr + at, lse, mask=rh < H)
