import triton
import triton.language as tl


@triton.jit
def softmax_fp8(out_ptr, in_ptr, in_row_stride, out_row_stride, n_rows, n_cols, BLOCK: tl.constexpr, STAGES: tl.constexpr):
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    for row in tl.range(tl.program_id(0), n_rows, tl.num_programs(0), num_stages=STAGES):
        x = tl.load(in_ptr + row.to(tl.int64) * in_row_stride + cols, mask=mask, other=0.0).to(tl.float32)
        x = tl.where(mask, x, -float("inf"))  # e4m3 has no infinity to load instead
        e = tl.exp(x - tl.max(x, axis=0))
        tl.store(out_ptr + row.to(tl.int64) * out_row_stride + cols, (e / tl.sum(e, axis=0)).to(tl.float16), mask=mask)
