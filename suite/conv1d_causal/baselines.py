import triton
import triton.language as tl


@triton.jit
def rows_in_registers(x_ptr, w_ptr, out_ptr, T, C, WIDTH: tl.constexpr, BT: tl.constexpr, BC: tl.constexpr):
    """Every row of x is loaded once per program and serves all of its windows: BT outputs of BT + WIDTH - 1 rows."""
    first = tl.program_id(0) * BT
    rc = tl.program_id(1) * BC + tl.arange(0, BC)
    base = tl.program_id(2).to(tl.int64) * T * C
    in_c = rc < C
    rows = ()
    for i in tl.static_range(BT + WIDTH - 1):
        t = first - (WIDTH - 1) + i
        x = tl.load(x_ptr + base + t * C + rc, mask=in_c & (t >= 0) & (t < T), other=0.0)
        rows = rows + (x.to(tl.float32),)
    weights = ()
    for i in tl.static_range(WIDTH):
        weights = weights + (tl.load(w_ptr + i * C + rc, mask=in_c, other=0.0).to(tl.float32),)
    for j in tl.static_range(BT):
        acc = tl.zeros((BC,), tl.float32)
        for i in tl.static_range(WIDTH):
            acc += rows[j + i] * weights[i]
        tl.store(out_ptr + base + (first + j) * C + rc, acc.to(tl.bfloat16), mask=in_c & (first + j < T))
