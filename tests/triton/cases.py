# SPDX-License-Identifier: Apache-2.0
"""Generates small kernels over Triton's functions and calls of them on ragged sizes and special values.

`generate(seed, count)` yields `Case`s, the same for the same seed. The kernels are written in modules of a few dozen
functions. A case's tensors are little-endian bytes, so that they need no package to be kept.
"""
import dataclasses
import random
import struct

HEADER = '''# SPDX-License-Identifier: Apache-2.0
import triton
import triton.language as tl


@triton.jit
def affine(a0, b0, a1, b1):
    return a0 * a1, b0 * a1 + b1


@triton.jit
def larger_first(v0, i0, v1, i1):
    keep = (v0 > v1) | ((v0 == v1) & (i0 < i1))
    return tl.where(keep, v0, v1), tl.where(keep, i0, i1)


@triton.jit
def bits_or(a, b):
    return a | b


@triton.jit
def early(a, n):
    if n > 4:
        return a + 1
    else:
        return a - 1


@triton.jit
def clamp_pair(a, b):
    if a > b:
        return a, b
    return b, a
'''

INTS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float16", "float32", "float64"]
SIGNATURE = {"int1": "i1", "float16": "fp16", "float32": "fp32", "float64": "fp64", "bfloat16": "bf16",
             "float8e4nv": "fp8e4nv", "float8e5": "fp8e5", **{t: t.replace("uint", "u").replace("int", "i") for t in INTS}}
PACK = {"int1": "b", "int8": "b", "int16": "h", "int32": "i", "int64": "q", "uint8": "B", "uint16": "H", "uint32": "I",
        "uint64": "Q", "float16": "e", "float32": "f", "float64": "d"}
INF, NAN = float("inf"), float("nan")
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, INF, -INF, NAN, 3.0e38, 1.0e-40, 65504.0, 6.0e-8, 255.5, -128.5]


@dataclasses.dataclass
class Case:
    name: str
    module: str
    function: str
    grid: list
    arguments: dict      # name -> ("*fp32", bytes) | ("i32", number) | ("constexpr", value)
    outputs: dict        # name -> dtype
    tolerance: float = 0.0


def pack(dtype, values):
    out = b""
    for v in values:
        if dtype == "float16":
            v = max(min(v, 65504.0), -65504.0) if v == v and abs(v) != INF else v
        if dtype == "float32" and v == v and abs(v) != INF:
            v = struct.unpack("f", struct.pack("f", v))[0] if abs(v) < 3.4e38 else v
        out += struct.pack("<" + PACK[dtype], v)
    return out


def numbers(dice, dtype, count, small=False, special=True):
    if dtype.startswith("float"):
        out = [dice.gauss(0, 3) for _ in range(count)]
        if special:
            for i in range(count):
                if dice.random() < 0.3:
                    out[i] = dice.choice(SPECIAL)
        return out
    if dtype == "int1":
        return [dice.randrange(2) for _ in range(count)]
    width = int(dtype.lstrip("uint"))
    low, high = (0, 2**width - 1) if dtype[0] == "u" else (-2**(width - 1), 2**(width - 1) - 1)
    if small:
        low, high = max(low, -20), min(high, 20)
    out = [dice.randint(low, high) for _ in range(count)]
    if not small:
        for i in range(count):
            if dice.random() < 0.25:
                out[i] = dice.choice([low, high, 0, 1, high - 1])
    return out


# One template: inputs a, b (and c) of chosen types on lanes r < n, a result z that is stored as it is, and its type.
def elementwise(dice, expression, a, b, out, c="int32"):
    return f'''
@triton.jit
def NAME(ap, bp, cp, op, tp, n, B: tl.constexpr):
    r = tl.arange(0, B)
    m = r < n
    a = tl.load(ap + r, mask=m, other=1)
    b = tl.load(bp + r, mask=m, other=1)
    c = tl.load(cp + r, mask=m, other=1)
    z = {expression}
    tl.store(op + r, z, mask=m)
    tl.store(tp, z.dtype.primitive_bitwidth + 1000 * z.dtype.is_floating() + 2000 * z.dtype.is_int_signed())
'''


def shaped(expression, count):
    return f'''
@triton.jit
def NAME(ap, bp, cp, op, tp, n, B: tl.constexpr):
    r = tl.arange(0, B)
    m = r < n
    a = tl.load(ap + r, mask=m, other=1)
    b = tl.load(bp + r, mask=m, other=1)
    c = tl.load(cp + r, mask=m, other=1)
    x = tl.reshape(a, (4, B // 4))
    y = tl.reshape(b, (4, B // 4))
    w = tl.reshape(c, (4, B // 4))
    z = {expression}
    tl.store(op + tl.arange(0, {count}), tl.reshape(z, ({count},)))
    tl.store(tp, z.dtype.primitive_bitwidth + 1000 * z.dtype.is_floating() + 2000 * z.dtype.is_int_signed())
'''


BINARY = ["a + b", "a - b", "a * b", "a & b", "a | b", "a ^ b", "tl.maximum(a, b)", "tl.minimum(a, b)",
          "tl.where(a > b, a, b)", "tl.where(c > 0, a, b)", "a < b", "a <= b", "a > b", "a >= b", "a == b", "a != b",
          "a + 3", "3 - a", "a * 2", "min(n, 5) + r", "max(n, 12) - r", "(a < b) & (c > 0)", "a + n", "tl.where(c > 2, a, 0)",
          "tl.add(a, b)", "tl.sub(a, b)", "tl.mul(a, b)", "-a + b", "a * 1.5", "tl.where(a < b, a, 1.5)"]
DIVISION = ["a // b", "a % b", "a // 3", "a % 5", "(a + 1) // n", "tl.cdiv(a, b)", "a / b"]
SHIFTS = ["a << (b & 7)", "a >> (b & 7)", "~a", "a ^ -1", "a >> 1", "(a << 2) | b"]
UNARY_INT = ["tl.abs(a)", "-a", "~a", "+a", "a == 0", "a.to(tl.int1)", "tl.where(a > 3, a, -a)"]
UNARY_FLOAT = ["tl.abs(a)", "-a", "a / 3", "a / b", "a * b + c", "a > 0.5", "a * 0.1", "tl.where(a != a, b, a)",
               "tl.maximum(a, b, propagate_nan=tl.PropagateNan.ALL)", "tl.minimum(a, b, propagate_nan=tl.PropagateNan.ALL)",
               "tl.clamp(a, -1.5, 1.5)", "tl.where(a > b, a, b) - 1"]
FUNCTIONS = [("tl.exp(a)", 2e-6), ("tl.exp2(a)", 2e-6), ("tl.log(tl.abs(a) + 0.5)", 2e-6), ("tl.log2(tl.abs(a) + 0.5)", 2e-6),
             ("tl.sqrt(tl.abs(a))", 2e-7), ("tl.rsqrt(tl.abs(a) + 0.25)", 5e-7), ("tl.sin(a)", 2e-6), ("tl.cos(a)", 2e-6),
             ("tl.erf(a)", 2e-6), ("tl.floor(a)", 0), ("tl.ceil(a)", 0), ("tl.sigmoid(a)", 2e-6), ("tl.fma(a, b, c)", 2e-6),
             ("tl.fdiv(a, b)", 5e-7), ("tl.div_rn(a, b)", 0), ("tl.sqrt_rn(tl.abs(a))", 0),
             ("tl.softmax(a)", 4e-6), ("tl.math.exp(a * 0.5)", 2e-6)]
REDUCTIONS = [("tl.sum(x, {axis})", 0), ("tl.max(x, {axis})", 0), ("tl.min(x, {axis})", 0), ("tl.argmax(x, {axis})", 0),
              ("tl.argmin(x, {axis})", 0), ("tl.max(x, {axis}, return_indices=True)[1]", 0),
              ("tl.min(x, {axis}, return_indices=True)[0]", 0), ("tl.sum(x, {axis}, keep_dims=True)", 0),
              ("tl.cumsum(x, {axis})", 0), ("tl.cumsum(x, {axis}, reverse=True)", 0), ("tl.cumprod(x, {axis})", 0),
              ("tl.reduce((x, w), {axis}, larger_first)[0]", 0), ("tl.reduce((x, w), {axis}, larger_first)[1]", 0),
              ("tl.sum(x > y, {axis})", 0)]
INT_REDUCTIONS = [("tl.xor_sum(x, {axis})", 0), ("tl.reduce(x, {axis}, bits_or)", 0),
                  ("tl.associative_scan((x, y), {axis}, affine)[1]", 0),
                  ("tl.associative_scan((x, y), {axis}, affine, reverse=True)[0]", 0),
                  ("tl.associative_scan(x, {axis}, bits_or)", 0)]
SHAPES = [("tl.trans(x)", 1), ("x.T", 1), ("tl.permute(x, (1, 0))", 1), ("tl.reshape(x, (B // 2, 2))", 1), ("x + tl.sum(y, 1)[:, None]", 1),
          ("tl.join(x, y)", 2), ("tl.interleave(a, b)", 2), ("tl.interleave(x, y)", 2), ("tl.ravel(x)", 1),
          ("tl.split(tl.reshape(a, (B // 2, 2)))[0]", 0.5), ("tl.split(tl.reshape(a, (B // 2, 2)))[1]", 0.5),
          ("tl.flip(a)", 1), ("tl.flip(x, 0)", 1), ("tl.flip(x, 1)", 1), ("tl.expand_dims(a, 0) + b", 1),
          ("tl.broadcast_to(a[None, :], (2, B))", 2), ("tl.broadcast_to(tl.max(x, 1)[:, None], (4, B // 4))", 1),
          ("x[:, None, :] + y[None, :, :]", 4), ("tl.sort(a)", 1), ("tl.sort(x, descending=True)", 1), ("tl.sort(x, dim=1)", 1),
          ("tl.topk(a, 4)", "4"), ("tl.topk(x, 2)", "8"), ("tl.zeros_like(x) + y", 1), ("tl.full((B,), 3, tl.int16) + a", 1),
          ("tl.where((tl.arange(0, B) % 2 == 0), a, b)", 1), ("[a, b][1] - (a, b)[0]", 1), ("(a, b, c)[1:][0] + (a, b)[-2]", 1)]
CASTS = [*INTS, *FLOATS, "int1"]
RANDOM = ["tl.randint(n, r)", "tl.rand(n, r)", "tl.rand(n, r.to(tl.int64) * 4000000011)", "tl.rand4x(n, r)[2]",
          "tl.randint4x(n, r, 7)[3]", "tl.philox(n, a, b, c, c)[1]", "tl.randn(n, r)", "tl.randn4x(n, r)[3]",
          "tl.umulhi(a, b)", "tl.swizzle2d(r // 4, r % 4, B // 4, 4, 2)[0]", "tl.swizzle2d(r // 4, r % 4, B // 4, 4, 2)[1]",
          "tl.gather(a, b & (B - 1), 0)", "tl.gather(x, w & 3, 0)", "tl.histogram(b & 15, 16)"]

BLOCKS = '''
@triton.jit
def NAME(ap, bp, cp, op, tp, n, B: tl.constexpr):
    source = tl.make_block_ptr(ap, ({rows}, {columns}), ({columns}, 1), ({r0}, {c0}), ({br}, {bc}), (1, 0))
    source = tl.advance(source, ({r1}, {c1}))
    x = tl.load(source, boundary_check=(0, 1), padding_option="{padding}")
    target = tl.make_block_ptr(op, ({rows}, {columns}), ({columns}, 1), ({r2}, {c2}), ({br}, {bc}), (1, 0))
    tl.store(target, x, boundary_check=({checked}))
    tl.store(tp, tl.load(bp))
'''
DESCRIPTORS = '''
@triton.jit
def NAME(ap, bp, cp, op, tp, n, B: tl.constexpr):
    source = tl.make_tensor_descriptor(ap, [{rows}, {columns}], [{columns}, 1], [{br}, {bc}])
    target = tl.make_tensor_descriptor(op, [{rows}, {columns}], [{columns}, 1], [{br}, {bc}])
    x = source.load([{r0}, {c0}])
    target.store([{r2}, {c2}], x + x)
    tl.store(tp, tl.load(bp))
'''
ATOMICS = '''
@triton.jit
def NAME(ap, bp, cp, op, tp, n, B: tl.constexpr):
    r = tl.arange(0, B)
    v = tl.load(ap + r, mask=r < n, other=0)
    s = tl.load(bp + r, mask=r < n, other=0) & 7
    old = tl.{function}(op + s, v, mask=r < n{options})
    tl.store(tp, tl.sum((r < n).to(tl.int32), 0))
'''
CAS = '''
@triton.jit
def NAME(ap, bp, cp, op, tp, n, B: tl.constexpr):
    r = tl.arange(0, B)
    old = tl.atomic_cas(op + r, tl.load(ap + r, mask=r < n, other=0), tl.load(bp + r, mask=r < n, other=0))
    tl.store(tp, tl.sum(old.to(tl.int64), 0).to(tl.int32))
'''
CONTROL = ['''
@triton.jit
def NAME(ap, bp, cp, op, tp, n, B: tl.constexpr):
    r = tl.arange(0, B)
    a = tl.load(ap + r, mask=r < n, other=1)
    total = tl.zeros((B,), tl.int64)
    k = n
    while k > {low}:
        if k % {modulus} == 0:
            total += a * k
        elif k > {middle}:
            total -= a
        else:
            total ^= k
        k -= {step}
    for i in range({start}, {stop}, {stride}):
        total = total * 3 + i
    for j in tl.static_range({static}):
        total += tl.full((B,), j, tl.int64) << j
    tl.store(op + r, early(total, n), mask=r < n)
    tl.store(tp, k + ({low} if n > {middle} else {step}))
''', '''
@triton.jit
def NAME(ap, bp, cp, op, tp, n, B: tl.constexpr):
    r = tl.arange(0, B)
    a = tl.load(ap + r, mask=r < n, other=1)
    if n < {low}:
        tl.store(tp, {middle})
        return
    pair = (a * {step}, a - {modulus})
    first, second = pair
    for i in range({stop}, {start}, -{stride}):
        first, second = second + i, first
    items = [v + {static} for v in (first, second)]
    tl.store(op + r, items[0] - items[1] * len(items), mask=r < n)
    x, y = clamp_pair(n, {middle})
    tl.store(tp, x * 100 + y)
''']
DOTS = '''
@triton.jit
def NAME(ap, bp, cp, op, tp, n, B: tl.constexpr):
    i = tl.arange(0, 16)[:, None]
    k = tl.arange(0, {k})
    j = tl.arange(0, 16)[None, :]
    x = tl.load(ap + (i * {k} + k[None, :]) % B)
    y = tl.load(bp + (k[:, None] * 16 + j) % B)
    z = tl.dot(x, y{options})
    tl.store(op + i * 16 + j, z)
    tl.store(tp, z.dtype.primitive_bitwidth)
'''


class Generator:
    def __init__(self, seed):
        self.dice = random.Random(seed)
        self.text, self.made, self.count = HEADER, [], 0

    def add(self, name, body, a="int32", b="int32", c="int32", out="float64", out_count=64, block=16, sizes=(16, 11), small=(),
            tolerance=0.0, special=True):
        function = f"k{self.count}"
        self.count += 1
        self.text += "\n" + body.replace("NAME", function)
        for n in sizes:
            arguments = {}
            for word, dtype in (("ap", a), ("bp", b), ("cp", c)):
                values = numbers(self.dice, dtype, block, word in small, special)
                arguments[word] = ("*" + SIGNATURE[dtype], pack(dtype, values))
            arguments["op"] = ("*" + SIGNATURE[out], pack(out, [0] * out_count))
            arguments["tp"] = ("*i32", pack("int32", [0]))
            arguments["n"] = ("i32", n)
            arguments["B"] = ("constexpr", block)
            self.made.append((f"{name} [{a}, {b}, {c} -> {out}] n={n}", function, arguments, {"op": out, "tp": "int32"}, tolerance))


def wide(dtype):
    return "float64" if dtype.startswith("float") else "int64"


def module(seed):
    """One module: (text, cases without their module)."""
    g = Generator(seed)
    dice = g.dice
    for _ in range(10):
        a, b = dice.choice(INTS), dice.choice(INTS)
        text = dice.choice(BINARY)
        g.add(text, elementwise(dice, text, a, b, "int64"), a, b, out="float64" if "1.5" in text else "int64")
    for _ in range(4):
        a, b = dice.choice(INTS), dice.choice(INTS)
        text = dice.choice(DIVISION)
        g.add(text, elementwise(dice, text, a, b, "int64"), a, b, out="float64" if "/ b" in text and "//" not in text else "int64")
    for _ in range(3):
        a = dice.choice(INTS)
        text = dice.choice(SHIFTS + UNARY_INT)
        g.add(text, elementwise(dice, text, a, a, "int64"), a, a, out="int64")
    for _ in range(6):
        a, b = dice.choice(FLOATS), dice.choice(FLOATS)
        text = dice.choice([t for t in BINARY if not any(o in t for o in "&|^")] + UNARY_FLOAT)
        c = dice.choice(FLOATS) if "c" in text else "int32"
        # The interpreter's clamp, maximum and minimum keep a NaN; the compiled ones give the other operand.
        keeps = not any(word in text for word in ("clamp", "maximum(a, b)", "minimum(a, b)"))
        g.add(text, elementwise(dice, text, a, b, "float64"), a, b, c, out="float64", special=keeps)
    for _ in range(3):
        a, b = dice.choice(INTS), dice.choice(FLOATS)
        text = dice.choice([t for t in BINARY if not any(o in t for o in "&|^")])
        keeps = not any(word in text for word in ("maximum", "minimum"))
        g.add(text, elementwise(dice, text, a, b, "float64"), a, b, out="float64", small="ap", special=keeps)
    for _ in range(3):
        text, tolerance = dice.choice(FUNCTIONS)
        a = dice.choice(["float32", "float64"])
        g.add(text, elementwise(dice, text, a, a, "float64"), a, a, a, out="float64", tolerance=tolerance, special=dice.random() < 0.5)
    for _ in range(5):
        a, to = dice.choice(CASTS), dice.choice(CASTS)
        is_cut = a.startswith("float") and to.startswith("u")  # what is below zero has no meaning there
        text = f"tl.abs(a).to(tl.{to})" if is_cut else f"a.to(tl.{to})"
        fits = not (a.startswith("float") and not to.startswith("float"))
        g.add(text, elementwise(dice, text, a, a, "float64"), a, a, out="float64" if to.startswith("float") else "int64", special=fits, small="ap")
    for _ in range(2):
        width = dice.choice([16, 32, 64])
        kinds = [f"int{width}", f"uint{width}", f"float{width}"]
        a, to = dice.choice(kinds), dice.choice(kinds)
        g.add("bitcast", elementwise(dice, f"a.to(tl.{to}, bitcast=True)", a, a, to), a, a, out=to, special=False)
    for _ in range(6):
        is_int = dice.random() < 0.5
        a = dice.choice(INTS if is_int else FLOATS)
        text, tolerance = dice.choice(REDUCTIONS + (INT_REDUCTIONS if is_int else []))
        axis = dice.choice([0, 1])
        text = text.format(axis=axis)
        scans = "cum" in text or "scan" in text
        count = 16 if scans else (4 if axis == 0 else 4)
        reals = {"float16": 2e-2, "float32": 2e-5, "float64": 1e-12}
        special = is_int or not ("sum" in text or "cum" in text or "arg" in text or "indices" in text or "larger" in text)
        g.add(text, shaped(text, count), a, a, out=wide(a) if "arg" not in text else "int64",
              tolerance=reals.get(a, 0) if "sum" in text or "cum" in text else 0, special=special, sizes=(16, 9))
    for _ in range(5):
        text, factor = dice.choice(SHAPES)
        a = dice.choice(INTS + FLOATS)
        count = int(factor) if isinstance(factor, str) else int(16 * factor)
        sorts = "sort" in text or "topk" in text
        g.add(text, shaped(text, count), a, a, a, out=wide(a), special=not sorts, sizes=(16,),
              tolerance={"float16": 2e-2, "float32": 2e-5}.get(a, 1e-12 if a == "float64" else 0) if "sum" in text else 0)
    for _ in range(2):
        text = dice.choice(RANDOM)
        a = "uint32" if "umulhi" in text else dice.choice(["int32", "uint32"])  # the interpreter's widens with the sign
        count = 16
        body = shaped(text, count) if "x," in text or "b &" in text else elementwise(dice, text, a, a, "float64")
        g.add(text, body, a, a if "umulhi" in text or "philox" in text else "int32", a if "philox" in text else "int32",
              out="float64", tolerance=4e-6 if "randn" in text else 0)
    for _ in range(2):
        rows, columns = dice.randint(2, 7), dice.randint(2, 9)
        words = {"rows": rows, "columns": columns, "br": dice.choice([2, 4]), "bc": dice.choice([2, 4, 8]),
                 "padding": dice.choice(["zero", "zero", "nan"]), "checked": "0, 1"}
        for word in ("r0", "c0", "r1", "c1", "r2", "c2"):
            words[word] = dice.randint(-2, 4)
        a = dice.choice(FLOATS)
        g.add("block pointer", BLOCKS.format(**words), a, out=a, block=64, out_count=64, sizes=(3,))
    rows = dice.randint(2, 6)
    words = {"rows": rows, "columns": 8, "br": dice.choice([2, 4]), "bc": dice.choice([4, 8])}
    for word in ("r0", "c0", "r2", "c2"):
        words[word] = dice.randint(-2, 4)
    g.add("descriptor", DESCRIPTORS.format(**words), "float32", out="float32", block=64, sizes=(3,))
    for _ in range(2):
        function = dice.choice(["atomic_add", "atomic_max", "atomic_min", "atomic_and", "atomic_or", "atomic_xor"])
        a = dice.choice(["int32", "uint32", "int64", "uint64"] if function != "atomic_add" else ["int32", "int64", "float32"])
        options = dice.choice(["", ", sem=\"relaxed\"", ", sem=\"acq_rel\", scope=\"gpu\""])
        g.add(function, ATOMICS.format(function=function, options=options), a, out=a, out_count=8, special=False,
              tolerance=1e-5 if a == "float32" else 0)
    g.add("atomic_cas", CAS, "int32", small="apbp", out="int32", out_count=16)
    for _ in range(2):
        start = dice.randint(-3, 3)
        words = {"low": dice.randint(0, 3), "middle": dice.randint(3, 9), "step": dice.randint(1, 4), "modulus": dice.randint(2, 5),
                 "start": start, "stop": start + dice.randint(0, 9), "stride": dice.randint(1, 3), "static": dice.randint(1, 4)}
        text = dice.choice(CONTROL)
        g.add("control", text.format(**words), "int64", out="int64", sizes=(16, 7, 2), small="ap")
    a = dice.choice(["float16", "float32", "int8"])
    options = {"float16": dice.choice(["", ", out_dtype=tl.float32"]), "float32": ', input_precision="ieee"', "int8": ""}[a]
    g.add("dot", DOTS.format(k=dice.choice([16, 32]), options=options), a, a, out="float32" if a != "int8" else "int32", block=256,
          out_count=256, sizes=(16,), tolerance=3e-5, special=False)
    return g.text, g.made


def generate(seed, modules, folder):
    """Writes `modules` modules into a folder and yields their cases."""
    for i in range(modules):
        text, made = module(seed * 1000 + i)
        path = folder / f"cases_{seed}_{i}.py"
        path.write_text(text)
        for name, function, arguments, outputs, tolerance in made:
            yield Case(name, str(path), function, [1], arguments, outputs, tolerance)
