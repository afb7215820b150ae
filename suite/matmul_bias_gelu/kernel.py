import triton
import triton.language as tl


@triton.jit
def matmul_bias_gelu(a_ptr, b_ptr, bias_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
                     GROUP: tl.constexpr):
    """C = gelu(A B + bias), the tanh form. A: (M, K); B: (N, K), K-major; bias: (N); C: (M, N)."""
    pid = tl.program_id(0)
    across = tl.cdiv(N, BN)
    down = tl.cdiv(M, BM)
    per_group = GROUP * across
    first = pid // per_group * GROUP
    size = min(down - first, GROUP)
    pid_m = first + pid % per_group % size
    pid_n = pid % per_group // size
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
    x = acc + tl.load(bias_ptr + rn, mask=rn < N, other=0.0).to(tl.float32)[None, :]
    # tanh(u) = 2 sigmoid(2u) - 1, so that 0.5 (1 + tanh(u)) = sigmoid(2u).
    y = x * tl.sigmoid(1.5957691216057308 * (x + 0.044715 * x * x * x))
    m = (rm[:, None] < M) & (rn[None, :] < N)
    tl.store(c_ptr + rm[:, None].to(tl.int64) * N + rn[None, :], y.to(tl.bfloat16), mask=m)
