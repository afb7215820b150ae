import triton
import triton.language as tl


@triton.jit
def matmul_desc(a_ptr, b_ptr, c_ptr, M, N, K, NUM_SMS: tl.constexpr,
                BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr):
    """Persistent matmul over tensor descriptors; b is stored (N, K) row-major."""
    pid0 = tl.program_id(0)
    nm = tl.cdiv(M, BM)
    nn = tl.cdiv(N, BN)
    ad = tl.make_tensor_descriptor(a_ptr, shape=[M, K], strides=[K, 1], block_shape=[BM, BK])
    bd = tl.make_tensor_descriptor(b_ptr, shape=[N, K], strides=[K, 1], block_shape=[BN, BK])
    cd = tl.make_tensor_descriptor(c_ptr, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
    for tile in tl.range(pid0, nm * nn, NUM_SMS, flatten=True):
        per_group = GROUP * nn
        first = (tile // per_group) * GROUP
        gsize = min(nm - first, GROUP)
        pm = first + (tile % per_group) % gsize
        pn = (tile % per_group) // gsize
        acc = tl.zeros((BM, BN), dtype=tl.float32)
        for k in range(0, tl.cdiv(K, BK)):
            ta = ad.load([pm * BM, k * BK])
            tb = bd.load([pn * BN, k * BK])
            acc = tl.dot(ta, tb.T, acc)
        cd.store([pm * BM, pn * BN], acc.to(c_ptr.dtype.element_ty))
