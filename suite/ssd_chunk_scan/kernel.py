import triton
import triton.language as tl


@triton.jit
def ssd_chunk_scan(cb_ptr, x_ptr, dt_ptr, da_ptr, c_ptr, state_ptr, skip_ptr, out_ptr, T, HEADS, CHUNK: tl.constexpr,
                   P: tl.constexpr, N: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    """The output of one chunk of a state space model (Mamba-2, arXiv 2405.21060), one group.

    cb: (chunks, CHUNK, CHUNK) = C B^T; x, out: (T, HEADS, P); dt, da (its cumulative sum inside the chunk, times A):
    (HEADS, T) fp32; c: (T, N); state: (chunks, HEADS, P, N), what enters each chunk; skip: (HEADS) fp32. bf16 else.
    """
    chunk = tl.program_id(1)
    head = tl.program_id(2)
    local = tl.program_id(0) * BM + tl.arange(0, BM)
    rt = chunk * CHUNK + local
    in_t = (local < CHUNK) & (rt < T)
    rp = tl.arange(0, P)
    rn = tl.arange(0, N)
    da_i = tl.load(da_ptr + head * T + rt, mask=in_t, other=0.0)
    c = tl.load(c_ptr + rt[:, None] * N + rn[None, :], mask=in_t[:, None], other=0.0)
    state = tl.load(state_ptr + ((chunk * HEADS + head).to(tl.int64) * P + rp[None, :]) * N + rn[:, None])
    acc = tl.dot(c, state) * tl.exp(da_i)[:, None]
    # Sources after a row's own time do not reach it; the last row of the tile bounds the loop.
    for start in range(0, tl.minimum((tl.program_id(0) + 1) * BM, CHUNK), BN):
        source = start + tl.arange(0, BN)
        rs = chunk * CHUNK + source
        in_s = (source < CHUNK) & (rs < T)
        cb = tl.load(cb_ptr + (chunk * CHUNK + local[:, None]).to(tl.int64) * CHUNK + source[None, :],
                     mask=in_t[:, None] & in_s[None, :], other=0.0).to(tl.float32)
        da_j = tl.load(da_ptr + head * T + rs, mask=in_s, other=0.0)
        dt_j = tl.load(dt_ptr + head * T + rs, mask=in_s, other=0.0)
        reaches = source[None, :] <= local[:, None]
        # Masked before the exponential: only differences of the future are positive.
        decay = tl.exp(tl.where(reaches, da_i[:, None] - da_j[None, :], -float("inf")))
        weight = cb * decay * dt_j[None, :]
        x = tl.load(x_ptr + (rs[:, None].to(tl.int64) * HEADS + head) * P + rp[None, :], mask=in_s[:, None], other=0.0)
        acc = tl.dot(weight.to(tl.bfloat16), x, acc)
    at = (rt[:, None].to(tl.int64) * HEADS + head) * P + rp[None, :]
    own = tl.load(x_ptr + at, mask=in_t[:, None], other=0.0).to(tl.float32)
    acc += own * tl.load(skip_ptr + head)
    tl.store(out_ptr + at, acc.to(tl.bfloat16), mask=in_t[:, None])
