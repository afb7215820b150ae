# SPDX-License-Identifier: Apache-2.0
"""Small kernels over Triton's operators: each takes eight f32 (x, y), eight int32 (i, j), and writes `o` and `p`."""
import triton
import triton.language as tl

SCALE = tl.constexpr(3)


@triton.jit
def integers(x, y, i, j, o, p, n, B: tl.constexpr):
    r = tl.arange(0, B)
    a, b = tl.load(i + r), tl.load(j + r)
    tl.store(p + r, (a * 1000003 + b) ^ (a >> 3) | (b & 0x55) + tl.where(a > b, a, ~b))
    tl.store(o + r, (tl.minimum(a, b) - tl.maximum(a, n)).to(tl.float32))


@triton.jit
def division(x, y, i, j, o, p, n, B: tl.constexpr):
    r = tl.arange(0, B)
    a, b = tl.load(i + r), tl.load(j + r) | 1
    tl.store(p + r, a // b + (a % b) * SCALE + n // -3 + (-7 // 2))
    tl.store(o + r, a / b)


@triton.jit
def floats(x, y, i, j, o, p, n, B: tl.constexpr):
    r = tl.arange(0, B)
    a, b = tl.load(x + r), tl.load(y + r)
    tl.store(o + r, tl.where(a < b, a * b + 1.5, tl.abs(a) - b) / (b * b + 0.25) + tl.floor(a) - tl.ceil(b))
    tl.store(p + r, a.to(tl.int32) + (a > 0).to(tl.int32))


@triton.jit
def halves(x, y, i, j, o, p, n, B: tl.constexpr):
    r = tl.arange(0, B)
    a, b = tl.load(x + r).to(tl.float16), tl.load(y + r).to(tl.float16)
    tl.store(o + r, (a * b + a * 0.1 - b).to(tl.float32))
    tl.store(p + r, (a < b).to(tl.int32))


@triton.jit
def scale_by(v, factor):
    return v * factor, v + factor


@triton.jit
def control(x, y, i, j, o, p, n, B: tl.constexpr):
    r = tl.arange(0, B)
    a = tl.load(x + r)
    total = tl.zeros((B,), tl.float32)
    count = 0
    for k in range(0, n, 3):
        if k % 2 == 0:
            total += a * k
        else:
            total -= a
        count += k
    while count > 10:
        count = count // 2
    for k in tl.static_range(3):
        total += k
    times, plus = scale_by(total, 0.5)
    tl.store(o + r, times + (plus if n > 5 else total))
    tl.store(p + r, r * 0 + count)


@triton.jit
def shapes(x, y, i, j, o, p, n, B: tl.constexpr):
    r = tl.arange(0, B)
    m = tl.reshape(tl.load(x + r), (2, B // 2))
    t = tl.trans(m)
    tl.store(o + r, tl.reshape(t + tl.sum(m, axis=1)[None, :], (B,)))
    tl.store(p + r, tl.max(tl.load(i + r), axis=0) + tl.sum(tl.load(j + r) > 0, axis=0).to(tl.int32) + r * 0)


@triton.jit
def scans(x, y, i, j, o, p, n, B: tl.constexpr):
    r = tl.arange(0, B)
    tl.store(o + r, tl.cumsum(tl.load(i + r) % 100, 0).to(tl.float32))
    tl.store(p + r, tl.argmax(tl.load(x + r), axis=0) * 10 + tl.argmin(tl.load(y + r), axis=0) + r)


@triton.jit
def masks(x, y, i, j, o, p, n, B: tl.constexpr):
    r = tl.arange(0, B)
    a = tl.load(x + r * 2, mask=r * 2 < B, other=float("inf"))
    tl.store(o + r, a, mask=(r < n) & (r != 1))
    tl.store(p + r, tl.load(i + r, mask=r > 3, other=-9), mask=r >= 0)


@triton.jit
def bits(x, y, i, j, o, p, n, B: tl.constexpr):
    r = tl.arange(0, B)
    a = tl.load(i + r).to(tl.uint32, bitcast=True)
    tl.store(p + r, (a >> 5 ^ a << 7).to(tl.int32, bitcast=True) + a.to(tl.int8).to(tl.int32) + a.to(tl.uint16).to(tl.int32))
    tl.store(o + r, tl.load(x + r).to(tl.int32, bitcast=True).to(tl.float32))


@triton.jit
def products(x, y, i, j, o, p, n, B: tl.constexpr):
    r = tl.arange(0, 16)
    a = (r[:, None] * 3 + r[None, :]) % 7
    d = tl.dot(a.to(tl.float16), tl.trans(a).to(tl.float16), out_dtype=tl.float32)
    q = tl.arange(0, B)
    tl.store(o + q, tl.sum(tl.sum(d, 1), 0) + tl.load(x + q) * 0)
    tl.store(p + q, tl.load(j + q))


ALL = ["integers", "division", "floats", "halves", "control", "shapes", "scans", "masks", "bits", "products"]
