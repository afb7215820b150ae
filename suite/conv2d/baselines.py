import triton
import triton.language as tl


@triton.jit
def whole_tiles(x_ptr, w_ptr, out_ptr, NB: tl.constexpr, C: tl.constexpr, H: tl.constexpr, W: tl.constexpr, KO: tl.constexpr,
                R: tl.constexpr, S: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """The source where all of its tiles are whole, as they are at the sizes that are timed: no mask, and no test in the loop."""
    P: tl.constexpr = H - R + 1
    Q: tl.constexpr = W - S + 1
    tl.static_assert(NB * P * Q % BM == 0 and KO % BN == 0 and C * R * S % BK == 0)
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    n = rm // (P * Q)
    p = rm // Q % P
    q = rm % Q
    window = n * (C * H * W) + p * W + q
    acc = tl.zeros((BN, BM), tl.float32)
    for k in range(0, C * R * S, BK):
        rk = k + tl.arange(0, BK)
        tap = rk // (R * S) * (H * W) + rk // S % R * W + rk % S
        w = tl.load(w_ptr + rn[:, None] * (C * R * S) + rk[None, :])
        x = tl.load(x_ptr + tap[:, None] + window[None, :])
        acc = tl.dot(w, x, acc)
    at = n * (KO * P * Q) + p * Q + q
    tl.store(out_ptr + rn[:, None] * (P * Q) + at[None, :], acc.to(tl.float16))


@triton.jit
def tap_by_tap(x_ptr, w_ptr, out_ptr, NB: tl.constexpr, C: tl.constexpr, H: tl.constexpr, W: tl.constexpr, KO: tl.constexpr,
               R: tl.constexpr, S: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Whole tiles, with the channels of one tap after the other: no division in the loop, one address and a step."""
    P: tl.constexpr = H - R + 1
    Q: tl.constexpr = W - S + 1
    tl.static_assert(NB * P * Q % BM == 0 and KO % BN == 0 and C % BK == 0)
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rc = tl.arange(0, BK)
    n = rm // (P * Q)
    p = rm // Q % P
    q = rm % Q
    x_at = x_ptr + (n * (C * H * W) + p * W + q)[None, :] + rc[:, None] * (H * W)
    w_at = w_ptr + rn[:, None] * (C * R * S) + rc[None, :] * (R * S)
    acc = tl.zeros((BN, BM), tl.float32)
    for i in range(0, R * S * (C // BK)):
        tap = i // (C // BK)
        c = i % (C // BK) * BK
        x = tl.load(x_at + (c * (H * W) + tap // S * W + tap % S))
        w = tl.load(w_at + (c * (R * S) + tap))
        acc = tl.dot(w, x, acc)
    at = n * (KO * P * Q) + p * Q + q
    tl.store(out_ptr + rn[:, None] * (P * Q) + at[None, :], acc.to(tl.float16))


@triton.jit
def rows_of_image(x, w_ptr, out_ptr, NB: tl.constexpr, C: tl.constexpr, H: tl.constexpr, W: tl.constexpr, KO: tl.constexpr,
                  R: tl.constexpr, S: tl.constexpr, ROWS: tl.constexpr, BW: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """ROWS rows of an image by a descriptor, BW >= W elements wide: the loads of x are aligned. Taps along a row have sums of
    their own, which are moved into place after the last product. Three taps along a row, and nothing to mask but columns."""
    P: tl.constexpr = H - R + 1
    Q: tl.constexpr = W - S + 1
    tl.static_assert(P % ROWS == 0 and KO % BN == 0 and C % BK == 0 and S == 3 and BW >= W)
    n = tl.program_id(0) // (P // ROWS)
    p = tl.program_id(0) % (P // ROWS) * ROWS
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rc = tl.arange(0, BK)
    w_at = w_ptr + rn[:, None] * (C * R * S) + rc[None, :] * (R * S)
    sum0 = tl.zeros((BN, ROWS * BW), tl.float32)
    sum1 = tl.zeros((BN, ROWS * BW), tl.float32)
    sum2 = tl.zeros((BN, ROWS * BW), tl.float32)
    for i in range(0, R * (C // BK)):
        r = i // (C // BK)
        c = i % (C // BK) * BK
        rows = x.load([n, c, p + r, 0]).reshape(BK, ROWS * BW)
        tap = w_at + (c * (R * S) + r * S)
        sum0 = tl.dot(tl.load(tap), rows, sum0)
        sum1 = tl.dot(tl.load(tap + 1), rows, sum1)
        sum2 = tl.dot(tl.load(tap + 2), rows, sum2)
    place = tl.arange(0, ROWS * BW)
    there = tl.broadcast_to(place[None, :], (BN, ROWS * BW))
    acc = sum0 + tl.gather(sum1, tl.minimum(there + 1, ROWS * BW - 1), axis=1)
    acc += tl.gather(sum2, tl.minimum(there + 2, ROWS * BW - 1), axis=1)
    at = n * (KO * P * Q) + (p + place // BW) * Q + place % BW
    tl.store(out_ptr + rn[:, None] * (P * Q) + at[None, :], acc.to(tl.float16), mask=(place % BW < Q)[None, :])
