import triton
import triton.language as tl


@triton.jit
def matmul_fp8(a_ptr, b_ptr, sa_ptr, sb_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """C = diag(sa) (A B^T) diag(sb) in bf16. A: (M, K), B: (N, K) in e4m3; sa: (M), sb: (N)."""
    pid = tl.program_id(0)
    pid_m = pid // tl.cdiv(N, BN)
    pid_n = pid % tl.cdiv(N, BN)
    rm = pid_m * BM + tl.arange(0, BM)
    rn = pid_n * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    a_ptrs = a_ptr + rm[:, None].to(tl.int64) * K + rk[None, :]
    b_ptrs = b_ptr + rn[None, :].to(tl.int64) * K + rk[:, None]
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        in_k = rk < K - k
        a = tl.load(a_ptrs, mask=(rm[:, None] < M) & in_k[None, :], other=0.0)
        b = tl.load(b_ptrs, mask=in_k[:, None] & (rn[None, :] < N), other=0.0)
        acc = tl.dot(a, b, acc)
        a_ptrs += BK
        b_ptrs += BK
    sa = tl.load(sa_ptr + rm, mask=rm < M, other=0.0)
    sb = tl.load(sb_ptr + rn, mask=rn < N, other=0.0)
    m = (rm[:, None] < M) & (rn[None, :] < N)
    c = acc * sa[:, None] * sb[None, :]
    tl.store(c_ptr + rm[:, None].to(tl.int64) * N + rn[None, :], c.to(tl.bfloat16), mask=m)
