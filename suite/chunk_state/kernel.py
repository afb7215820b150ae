import triton
import triton.language as tl


@triton.jit
def chunk_state(x_ptr, b_ptr, dt_ptr, da_ptr, state_ptr, T, H, G, P: tl.constexpr, N: tl.constexpr, CHUNK: tl.constexpr,
                BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """What each chunk adds to the state (Mamba-2, arXiv 2405.21060): sum over its l of x[l, p] * B[l, n] * exp(dA_last - dA_l) * dt_l.

    x: (T, H, P); b: (T, G, N), shared by H // G heads; dt, da: (H, T), da summed up within a chunk; state: (T // CHUNK, H, P, N).
    The scaled B is rounded to float16 before the product.
    """
    head = tl.program_id(2)
    chunk = tl.program_id(1)
    blocks_n: tl.constexpr = N // BN
    rp = tl.program_id(0) // blocks_n * BM + tl.arange(0, BM)
    rn = tl.program_id(0) % blocks_n * BN + tl.arange(0, BN)
    group = head // (H // G)
    first = chunk * CHUNK
    last = tl.load(da_ptr + head * T + first + CHUNK - 1)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, CHUNK, BK):
        t = first + k + tl.arange(0, BK)
        x = tl.load(x_ptr + (t[None, :].to(tl.int64) * H + head) * P + rp[:, None])
        b = tl.load(b_ptr + (t[:, None].to(tl.int64) * G + group) * N + rn[None, :]).to(tl.float32)
        scale = tl.exp(tl.minimum(last - tl.load(da_ptr + head * T + t), 0.0)) * tl.load(dt_ptr + head * T + t)
        acc = tl.dot(x, (b * scale[:, None]).to(tl.float16), acc)
    at = ((chunk.to(tl.int64) * H + head) * P + rp[:, None]) * N + rn[None, :]
    tl.store(state_ptr + at, acc)
