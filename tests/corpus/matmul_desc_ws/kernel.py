import triton
import triton.language as tl


@triton.jit
def matmul_desc_ws(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """One tile per program over tensor descriptors, producer and consumer warps split; b is stored (N, K) row-major."""
    pm = tl.program_id(0)
    pn = tl.program_id(1)
    ad = tl.make_tensor_descriptor(a_ptr, shape=[M, K], strides=[K, 1], block_shape=[BM, BK])
    bd = tl.make_tensor_descriptor(b_ptr, shape=[N, K], strides=[K, 1], block_shape=[BN, BK])
    cd = tl.make_tensor_descriptor(c_ptr, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in tl.range(0, tl.cdiv(K, BK), warp_specialize=True):
        acc = tl.dot(ad.load([pm * BM, k * BK]), bd.load([pn * BN, k * BK]).T, acc)
    cd.store([pm * BM, pn * BN], acc.to(c_ptr.dtype.element_ty))
