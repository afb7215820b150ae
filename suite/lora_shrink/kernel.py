import triton
import triton.language as tl


@triton.jit
def lora_shrink(x_ptr, a_ptr, idx_ptr, h_ptr, K, R: tl.constexpr, BK: tl.constexpr):
    """h[t, :] = A[idx[t]] x[t] for tokens that have an adapter (idx >= 0); h of the others is left as it was."""
    t = tl.program_id(0).to(tl.int64)
    adapter = tl.load(idx_ptr + t).to(tl.int64)
    if adapter < 0:
        return
    rr = tl.arange(0, R)
    acc = tl.zeros((R,), tl.float32)
    for start in range(0, K, BK):
        rk = start + tl.arange(0, BK)
        x = tl.load(x_ptr + t * K + rk, mask=rk < K, other=0.0).to(tl.float32)
        a = tl.load(a_ptr + (adapter * R + rr[:, None]) * K + rk[None, :], mask=rk[None, :] < K, other=0.0)
        acc += tl.sum(a.to(tl.float32) * x[None, :], axis=1)
    tl.store(h_ptr + t * R + rr, acc)
