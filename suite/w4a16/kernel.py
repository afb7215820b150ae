import triton
import triton.language as tl


@triton.jit
def w4a16(x_ptr, q_ptr, scale_ptr, zero_ptr, y_ptr, M, N, K, SIZE: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
          BK: tl.constexpr):
    """Y = X W with 4-bit weights W = (q - zero) scale in groups of SIZE rows (GPTQ's packing: nibble k % 8 of the word
    (k // 8, n), zeros nibble n % 8 of the word (group, n // 8)). x, y, scale: fp16; q, zero: int32.
    """
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    in_n = rn < N
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        at = k + rk
        # A group holds whole steps of K.
        group = k // SIZE
        scale = tl.load(scale_ptr + group * N + rn, mask=in_n, other=0.0)
        zeros = tl.load(zero_ptr + group * (N // 8) + rn // 8, mask=in_n, other=0)
        zero = (zeros >> (4 * (rn % 8))) & 15
        x = tl.load(x_ptr + rm[:, None] * K + at[None, :], mask=(rm[:, None] < M) & (at[None, :] < K), other=0.0)
        words = tl.load(q_ptr + (at[:, None] // 8) * N + rn[None, :], mask=(at[:, None] < K) & in_n[None, :], other=0)
        q = (words >> (4 * (at[:, None] % 8))) & 15
        w = (q - zero[None, :]).to(tl.float16) * scale[None, :]
        acc = tl.dot(x, w, acc)
    m = (rm[:, None] < M) & in_n[None, :]
    tl.store(y_ptr + rm[:, None] * N + rn[None, :], acc.to(tl.float16), mask=m)
