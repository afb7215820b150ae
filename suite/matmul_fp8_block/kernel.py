import triton
import triton.language as tl


@triton.jit
def matmul_fp8_block(a_ptr, b_ptr, sa_ptr, sb_ptr, c_ptr, M, N, K, SIZE: tl.constexpr, BM: tl.constexpr,
                     BN: tl.constexpr):
    """C = A B^T in bf16, e4m3 operands with a scale per block of SIZE of K: A has one per row, B one per SIZE rows
    (DeepSeek-V3, arXiv 2412.19437). a: (M, K); b: (N, K); sa: (M, K / SIZE); sb: (N / SIZE, K / SIZE) fp32.
    """
    pid = tl.program_id(0)
    pid_m = pid // tl.cdiv(N, BN)
    pid_n = pid % tl.cdiv(N, BN)
    rm = pid_m * BM + tl.arange(0, BM)
    rn = pid_n * BN + tl.arange(0, BN)
    rk = tl.arange(0, SIZE)
    blocks = tl.cdiv(K, SIZE)
    a_ptrs = a_ptr + rm[:, None].to(tl.int64) * K + rk[None, :]
    b_ptrs = b_ptr + rn[None, :].to(tl.int64) * K + rk[:, None]
    acc = tl.zeros((BM, BN), tl.float32)
    for i in range(blocks):
        in_k = rk < K - i * SIZE
        a = tl.load(a_ptrs, mask=(rm[:, None] < M) & in_k[None, :], other=0.0)
        b = tl.load(b_ptrs, mask=in_k[:, None] & (rn[None, :] < N), other=0.0)
        sa = tl.load(sa_ptr + rm * blocks + i, mask=rm < M, other=0.0)
        sb = tl.load(sb_ptr + rn // SIZE * blocks + i, mask=rn < N, other=0.0)
        acc += tl.dot(a, b) * sa[:, None] * sb[None, :]
        a_ptrs += SIZE
        b_ptrs += SIZE
    m = (rm[:, None] < M) & (rn[None, :] < N)
    tl.store(c_ptr + rm[:, None].to(tl.int64) * N + rn[None, :], acc.to(tl.bfloat16), mask=m)
