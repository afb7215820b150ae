#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs matrix products of whole warps and warpgroups on the GPU of this machine: tests/vectors/products.vec.

    tools/refresh_matrix_vectors.py [--out DIR] [--print]

One section per program: how its input is made (a generator that the test has, too: see `words`), how it is launched,
the PTX that ran, and the words that it left. --print shows the programs and needs no GPU.
"""

import argparse
import itertools
import pathlib
import struct

import refresh_vectors

MASK = (1 << 64) - 1


# -- Inputs -------------------------------------------------------------------------------------------------------
def mix(x):
    x = (x + 0x9E3779B97F4A7C15) & MASK
    x = ((x ^ x >> 30) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ x >> 27) * 0x94D049BB133111EB) & MASK
    return x ^ x >> 31


def seed_of(name):
    seed = 0xCBF29CE484222325
    for byte in name.encode():
        seed = ((seed ^ byte) * 0x100000001B3) & MASK
    return seed


#          width, fraction, bias
FORMATS = {"f16": (16, 10, 15), "bf16": (16, 7, 127), "tf32": (32, 23, 127), "f32": (32, 23, 127),
           "e4m3": (8, 3, 7), "e5m2": (8, 2, 15), "f64": (64, 52, 1023)}
ORDERED = (0b0100, 0b1000, 0b1001, 0b1100, 0b1101, 0b1110)


def number(form, has_specials, seed, index):
    """Near one, over some octaves, any exponent, zeros and subnormals: by groups of eight; seldom an extreme."""
    width, fraction, bias = FORMATS[form]
    r, mode = mix((seed + 2 * index) & MASK), mix((seed + 2 * (index // 8) + 1) & MASK) & 3
    top = (1 << (width - 1 - fraction)) - 1
    sign = (r >> 63) << (width - 1)
    mantissa = r >> 8 & (1 << min(fraction, 32)) - 1
    if fraction > 32:
        mantissa = mantissa << (fraction - 32) | mantissa >> 4 & (1 << (fraction - 32)) - 1
    if has_specials and (r >> 40) % 48 == 0:
        kind = r >> 50 & 3
        infinity = 0x7F if form == "e4m3" else top << fraction
        return sign | (infinity if kind == 0 else infinity | 1 if kind == 1 else infinity - 1)
    if mode == 3:
        return sign | (mantissa if r >> 60 & 1 else 0)
    exponent = bias + r % 3 - 1 if mode == 0 else bias + r % 13 - 6 if mode == 1 else r % top
    return sign | max(0, min(top - 1, exponent)) << fraction | mantissa


def words(name, segments):
    out = []
    for i, (kind, count) in enumerate(segments):
        seed = (seed_of(name) + 0x1000003 * i) & MASK
        form, has_specials = kind.rstrip("!"), kind.endswith("!")
        if form == "bytes":  # 0, 1, 2, ...
            out += [sum((4 * j + b & 255) << (8 * b) for b in range(4)) for j in range(count)]
        elif form == "i32":
            out += [mix((seed + j) & MASK) & 0xFFFFFFFF for j in range(count)]
        elif form == "ordered":  # metadata of pairs in rising order
            out += [sum(ORDERED[(mix((seed + j) & MASK) >> (8 * n)) % 6] << (4 * n) for n in range(8))
                    for j in range(count)]
        elif form == "tf32pairs":
            out += [sum((0b0100, 0b1110)[mix((seed + j) & MASK) >> n & 1] << (4 * n) for n in range(8))
                    for j in range(count)]
        elif form == "f64":
            for j in range(count // 2):
                value = number(form, has_specials, seed, j)
                out += [value & 0xFFFFFFFF, value >> 32]
        else:
            per = 32 // FORMATS[form][0]
            out += [sum(number(form, has_specials, seed, j * per + i) << (32 // per * i) for i in range(per))
                    for j in range(count)]
    return out


# -- Programs -----------------------------------------------------------------------------------------------------
class Program:
    def __init__(self, name, segments, block, out_words, body, before=""):
        self.name, self.segments, self.block, self.out_words = name, segments, block, out_words
        self.text = (".version 9.0\n.target sm_90a\n.address_size 64\n" + before +
                     ".visible .entry k(.param .u64 in, .param .u64 out, .param .u32 count) {\n"
                     ".reg .b64 %x<8>; .reg .b32 %n<8>; .reg .pred %p<4>;\n"
                     "ld.param.u64 %x0, [in]; ld.param.u64 %x1, [out]; mov.u32 %n0, %tid.x;\n" + body + "ret;\n}\n")


def group(prefix, count):
    return "{" + ", ".join(f"%{prefix}{i}" for i in range(count)) + "}"


def load(prefix, count, first_word):
    """Registers of each thread, thread after thread, from the input's word `first_word` on."""
    lines = f".reg .b32 %{prefix}<{count}>;\nmad.wide.u32 %x2, %n0, {4 * count}, %x0;\n"
    return lines + "".join(f"ld.global.b32 %{prefix}{i}, [%x2+{4 * (first_word + i)}];\n" for i in range(count))


def store(prefix, count):
    return f"mad.wide.u32 %x3, %n0, {4 * count}, %x1;\n" + "".join(
        f"st.global.b32 [%x3+{4 * i}], %{prefix}{i};\n" for i in range(count))


TILE_BYTES = 16384  # of A, then of B, in shared memory
FILL = (".reg .b32 %c<4>;\nmov.u32 %c0, tile;\nmov.u32 %c1, %n0;\nCOPY:\nmul.wide.u32 %x2, %c1, 4;\n"
        "add.u64 %x2, %x2, %x0;\nld.global.b32 %c2, [%x2];\nmad.lo.u32 %c3, %c1, 4, %c0;\nst.shared.b32 [%c3], %c2;\n"
        f"add.u32 %c1, %c1, 128;\nsetp.lt.u32 %p0, %c1, {TILE_BYTES // 2};\n@%p0 bra COPY;\n"
        "fence.proxy.async;\nbar.sync 0;\n")
SWIZZLE = {16: 0, 128: 1, 64: 2, 32: 3}


def place(register, start, swizzle, leading, stride, base_offset=0):
    """The descriptor of a tile `start` bytes into the shared image."""
    fields = SWIZZLE[swizzle] << 62 | base_offset << 49 | (stride // 16) << 32 | (leading // 16) << 16
    return (f"add.u32 %n1, %c0, {start};\nshr.u32 %n1, %n1, 4;\ncvt.u64.u32 {register}, %n1;\n"
            f"or.b64 {register}, {register}, {fields:#x};\n")


def strides(swizzle, transposed, k_bytes, lines):
    if not transposed:
        return (8 * swizzle * ((lines + 7) // 8) if swizzle == 16 else 16), 8 * swizzle
    k = k_bytes // 2
    return (128, 128 * (k // 8)) if swizzle == 16 else (8 * swizzle * (k // 8), 8 * swizzle)


def wgmma(d, a, b, n, swizzle=128, ra=False, ta=0, tb=0, sa=1, sb=1, adds=1, specials=False, sat=False, sparse=None,
          chain=1, base_offset=0, start=0, far=0):
    size = {"tf32": 4, "f16": 2, "bf16": 2}.get(a, 1)
    k = (256 if a == "b1" else 32 // size) * (1 if sparse is None else 2)
    results = n // 4 if d == "f16" else n // 2
    is_int = d == "s32"
    name = f"wgmma{'' if sparse is None else '.sp'} m64n{n}k{k} {d} {a} {b} swizzle {swizzle}"
    name += "".join(f" {word}" for word, on in (("registers", ra), ("trans-a", ta), ("trans-b", tb), ("negated", sa * sb < 0),
                                                ("from-zero", not adds), ("specials", specials), ("satfinite", sat),
                                                (f"chain-{chain}", chain > 1), (f"base-{base_offset}", base_offset),
                                                (f"start-{start}", start), (f"far-{far}", far), (f"{sparse} metadata", sparse)) if on)
    mark = "!" if specials else ""
    ka, kb, kc = ("i32" if is_int else x + mark for x in (a, b, {"f32": "f32", "f16": "f16"}.get(d, "i32")))
    segments = [(ka, TILE_BYTES // 4), (kb, TILE_BYTES // 4), (ka, 512), (kc, 128 * results)]
    at = TILE_BYTES // 2
    body = FILL + load("a", 4, at) + load("d", results, at + 512)
    if sparse is not None:
        segments.append((sparse, 128))
        body += load("e", 1, at + 512 + 128 * results)
    leading, stride = strides(swizzle, ta, 32, 64)
    body += place("%x4", start, swizzle, leading, stride, base_offset)
    leading, stride = strides(swizzle, tb, 32 if sparse is None else 64, n)
    leading = far or leading
    body += place("%x5", TILE_BYTES + start, swizzle, leading, stride, base_offset)
    scale = f", {sa}, {sb}" if not is_int else ""
    scale += ("" if ra else f", {ta}") + f", {tb}" if size == 2 else ""
    meta = ", %e0, 0" if sparse is not None else ""
    op = f"wgmma.mma_async{'.sp' if sparse is not None else ''}.sync.aligned.m64n{n}k{k}{'.satfinite' if sat else ''}"
    op += f".{d}.{a}.{b}{'.and.popc' if a == 'b1' else ''} {group('d', results)}, {group('a', 4) if ra else '%x4'}, %x5"
    body += f"setp.ne.u32 %p1, {adds}, 0;\nwgmma.fence.sync.aligned;\n"
    body += f"{op}{meta}, %p1{scale};\n" * chain
    body += "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n" + store("d", results)
    return Program(name, segments, 128, 128 * results, body, f".shared .align 1024 .b8 tile[{2 * TILE_BYTES}];\n")


def warpgroup_programs():
    floats = [("f32", "f16", "f16"), ("f16", "f16", "f16"), ("f32", "bf16", "bf16"), ("f32", "tf32", "tf32")]
    floats += [(d, a, b) for d in ("f32", "f16") for a, b in itertools.product(("e4m3", "e5m2"), repeat=2)]
    for d, a, b in floats:
        yield wgmma(d, a, b, 8)
        yield wgmma(d, a, b, 8, ra=True, specials=True)
    for swizzle in (16, 32, 64, 128):
        yield wgmma("f32", "f16", "f16", 24, swizzle)
        yield wgmma("f32", "bf16", "bf16", 16, swizzle, ta=1, tb=1)
        yield wgmma("f32", "tf32", "tf32", 16, swizzle)
        yield wgmma("s32", "s8", "u8", 16, swizzle)
    yield wgmma("f32", "f16", "f16", 64, 64, ta=1, tb=1)
    yield wgmma("f32", "f16", "f16", 16, base_offset=3, start=384)
    yield wgmma("f32", "f16", "f16", 16, start=32)
    yield wgmma("f32", "bf16", "bf16", 128, ra=True)
    yield wgmma("f32", "f16", "f16", 8, sa=-1)
    yield wgmma("f32", "e4m3", "e4m3", 8, sb=-1)
    yield wgmma("f32", "f16", "f16", 8, adds=0)
    yield wgmma("f16", "f16", "f16", 8, adds=0)
    yield wgmma("f32", "f16", "f16", 8, chain=3)
    yield wgmma("f32", "e5m2", "e4m3", 8, chain=3)
    for a, b in itertools.product(("s8", "u8"), repeat=2):
        yield wgmma("s32", a, b, 8, ra=a == "u8")
        yield wgmma("s32", a, b, 8, sat=True, adds=1)
    yield wgmma("s32", "s8", "s8", 8, adds=0)
    yield wgmma("s32", "b1", "b1", 8)
    yield wgmma("s32", "b1", "b1", 16, ra=True)
    for d, a, b in floats:
        if d == "f32" or a == "f16":
            meta = "tf32pairs" if a == "tf32" else "ordered"
            yield wgmma(d, a, b, 8, sparse=meta)
            yield wgmma(d, a, b, 8, ra=True, sparse=meta, specials=True)
    yield wgmma("f32", "f16", "f16", 8, sparse="i32")
    yield wgmma("f32", "tf32", "tf32", 8, sparse="i32")
    yield wgmma("f32", "bf16", "bf16", 16, 64, sparse="ordered", ta=1, tb=1)
    yield wgmma("f32", "f16", "f16", 16, 64, sparse="ordered")
    yield wgmma("f32", "f16", "f16", 16, 32, sparse="ordered")
    yield wgmma("f32", "f16", "f16", 16, 32, sparse="ordered", far=2048)
    yield wgmma("s32", "u8", "u8", 24, 32, sparse="ordered", far=4096)
    yield wgmma("f32", "f16", "f16", 16, 16, sparse="ordered")
    yield wgmma("s32", "u8", "s8", 16, sparse="ordered", sat=True)
    yield wgmma("s32", "s8", "s8", 16, sparse="i32", ra=True)


def mma(form, counts, kinds, sparse=None, selector=0, variant=""):
    """One warp; counts: registers of d, a, b, c."""
    nd, na, nb, nc = counts
    is_double = ".f64" in form
    name = f"mma{'.sp' if sparse else ''} {form}{variant}" + (f" selector {selector} {sparse} metadata" if sparse else "")
    name += " specials" if kinds[0].endswith("!") else ""
    unit = 2 if is_double else 1
    segments = [(kinds[0], 32 * na * unit), (kinds[1], 32 * nb * unit), (kinds[2], 32 * nc * unit)]
    a_at, b_at, c_at = 0, 32 * na * unit, 32 * (na + nb) * unit
    body = load("a", na * unit, a_at) + load("b", nb * unit, b_at) + load("c", nc * unit, c_at)
    tail, names = "", {"a": na, "b": nb, "c": nc}
    if sparse:
        segments.append((sparse, 32))
        body += load("e", 1, 32 * (na + nb + nc))
        tail = f", %e0, {selector}"
    if is_double:
        for prefix, count in names.items():
            body += f".reg .b64 %w{prefix}<{count}>;\n"
            body += "".join(f"mov.b64 %w{prefix}{i}, {{%{prefix}{2 * i}, %{prefix}{2 * i + 1}}};\n" for i in range(count))
        body += f".reg .b64 %wd<{nd}>;\n.reg .b32 %d<{2 * nd}>;\n"
        args = ", ".join(group("w" + p, {"d": nd, **names}[p]) for p in "dabc")
    else:
        body += f".reg .b32 %d<{nd}>;\n"
        args = ", ".join((group("d", nd), group("a", na), group("b", nb), group("c", nc)))
    body += f"mma{'.' + variant.strip() if variant else '.sp' if sparse else ''}.sync.aligned.{form} {args}{tail};\n"
    if is_double:
        body += "".join(f"mov.b64 {{%d{2 * i}, %d{2 * i + 1}}}, %wd{i};\n" for i in range(nd))
    return Program(name, segments, 32, 32 * nd * unit, body + store("d", nd * unit))


def sparse_mma_programs():
    for acc, nc in (("f32", 4), ("f16", 2)):
        for k, na, nb, most in ((16, 2, 2, 4), (32, 4, 4, 2)):
            for selector in range(most):
                yield mma(f"m16n8k{k}.row.col.{acc}.f16.f16.{acc}", (nc, na, nb, nc), ("f16", "f16", acc), "ordered", selector)
    for k, na, nb in ((16, 2, 2), (32, 4, 4)):
        yield mma(f"m16n8k{k}.row.col.f32.bf16.bf16.f32", (4, na, nb, 4), ("bf16", "bf16", "f32"), "i32", 1)
        yield mma(f"m16n8k{k}.row.col.f32.f16.f16.f32", (4, na, nb, 4), ("f16!", "f16!", "f32!"), "ordered", 0,
                  " sp::ordered_metadata")
    for k, na, nb, most in ((8, 2, 2, 4), (16, 4, 4, 2)):
        for selector in range(most):
            yield mma(f"m16n8k{k}.row.col.f32.tf32.tf32.f32", (4, na, nb, 4), ("tf32", "tf32", "f32"), "tf32pairs", selector)
        yield mma(f"m16n8k{k}.row.col.f32.tf32.tf32.f32", (4, na, nb, 4), ("tf32", "tf32", "f32"), "i32", 1)
    for t, k, na, nb, most in (("8", 32, 2, 2, 2), ("8", 64, 4, 4, 1), ("4", 64, 2, 2, 2), ("4", 128, 4, 4, 1)):
        for selector in range(most):
            yield mma(f"m16n8k{k}.row.col.s32.s{t}.u{t}.s32", (4, na, nb, 4), ("i32", "i32", "i32"), "ordered", selector)
        yield mma(f"m16n8k{k}.row.col.satfinite.s32.s{t}.s{t}.s32", (4, na, nb, 4), ("i32", "i32", "i32"), "ordered", 0,
                  " sp::ordered_metadata")
        yield mma(f"m16n8k{k}.row.col.s32.u{t}.s{t}.s32", (4, na, nb, 4), ("i32", "i32", "i32"), "i32", 0)
    for a, b in itertools.product(("e4m3", "e5m2"), repeat=2):
        for mark in ("", "!"):
            yield mma(f"m16n8k64.row.col.f32.{a}.{b}.f32", (4, 4, 4, 4), (a + mark, b + mark, "f32" + mark), "ordered", 0)


def dense_mma_programs():
    for shape, counts in (("m8n8k4", (2, 1, 1, 2)), ("m16n8k4", (4, 2, 1, 4)), ("m16n8k8", (4, 4, 2, 4)),
                          ("m16n8k16", (4, 8, 4, 4))):
        for rnd in ("", ".rz", ".rm", ".rp"):
            yield mma(f"{shape}.row.col{rnd}.f64.f64.f64.f64", counts, ("f64", "f64", "f64"))
        yield mma(f"{shape}.row.col.rn.f64.f64.f64.f64", counts, ("f64!", "f64!", "f64!"))
    for d, c, nd, nc in (("f32", "f32", 8, 8), ("f32", "f16", 8, 4), ("f16", "f16", 4, 4)):
        for la, lb in itertools.product(("row", "col"), repeat=2):
            yield mma(f"m8n8k4.{la}.{lb}.{d}.f16.f16.{c}", (nd, 2, 2, nc), ("f16", "f16", c))
    for a, b in itertools.product(("s4", "u4"), repeat=2):
        yield mma(f"m8n8k32.row.col.s32.{a}.{b}.s32", (2, 1, 1, 2), ("i32",) * 3)
        yield mma(f"m16n8k32.row.col.satfinite.s32.{a}.{b}.s32", (4, 2, 1, 4), ("i32",) * 3)
        yield mma(f"m16n8k64.row.col.satfinite.s32.{a}.{b}.s32", (4, 4, 2, 4), ("i32",) * 3)
    for op in ("xor", "and"):
        yield mma(f"m8n8k128.row.col.s32.b1.b1.s32.{op}.popc", (2, 1, 1, 2), ("i32",) * 3)
        yield mma(f"m16n8k128.row.col.s32.b1.b1.s32.{op}.popc", (4, 2, 1, 4), ("i32",) * 3)
    for mark in ("f16", "bf16", "tf32", "e4m3", "e5m2"):
        k, na, nb = {"f16": (16, 4, 2), "bf16": (16, 4, 2), "tf32": (8, 4, 2)}.get(mark, (32, 4, 2))
        yield mma(f"m16n8k{k}.row.col.f32.{mark}.{mark}.f32", (4, na, nb, 4), (mark + "!", mark + "!", "f32!"))


# -- wmma: each program shows the registers of its loads, then what the product stores ---------------------------------
def wmma(shape, a_type, b_type, c_type, d_type, layouts, counts, kinds, tail="", c_layout="row", rnd=""):
    m, n, k = (int(x) for x in shape[1:].replace("n", " ").replace("k", " ").split())
    na, nb, nc, nd = counts
    la, lb = layouts
    is_double = a_type == "f64"
    reg, unit = ("b64", 2) if is_double else ("b32", 1)
    bits = {"f16": 16, "bf16": 16, "tf32": 32, "f64": 64, "s8": 8, "u8": 8, "s4": 4, "u4": 4, "b1": 1}
    c_bits = {"f16": 16, "f32": 32, "s32": 32, "f64": 64}
    sizes = [m * k * bits[a_type] // 32, k * n * bits[b_type] // 32, m * n * c_bits[c_type] // 32]
    segments = list(zip(kinds, sizes))
    name = f"wmma {shape} {la} {lb} {c_layout}{rnd} {d_type} {a_type} {b_type} {c_type}{tail} {kinds[0]}"
    offsets = [0, 4 * sizes[0], 4 * (sizes[0] + sizes[1])]
    body = f".reg .{reg} %a<{na}>, %b<{nb}>, %c<{nc}>, %d<{nd}>;\n"
    for i, (part, count, type_, layout) in enumerate((("a", na, a_type, la), ("b", nb, b_type, lb), ("c", nc, c_type, c_layout))):
        rows, columns = ((m, k), (k, n), (m, n))[i]
        stride = columns if layout == "row" else rows
        body += f"add.u64 %x4, %x0, {offsets[i]};\n"
        body += f"wmma.load.{part}.sync.aligned.{layout}.{shape}.global.{type_} {group(part, count)}, [%x4], {stride};\n"
    types = f"{d_type}.{c_type}" if a_type == "f16" else f"{d_type}.{a_type}.{b_type}.{c_type}"
    op = "wmma.mma" + (tail if "popc" in tail else "")
    sat = tail if "sat" in tail else ""
    body += f"{op}.sync.aligned.{la}.{lb}.{shape}{rnd}.{types}{sat} {group('d', nd)}, {group('a', na)}, {group('b', nb)}, {group('c', nc)};\n"
    at = 0
    for part, count in (("a", na), ("b", nb), ("c", nc)):
        body += f"mad.wide.u32 %x3, %n0, {4 * unit * count}, %x1;\n"
        body += "".join(f"st.global.{reg} [%x3+{4 * (at + unit * i)}], %{part}{i};\n" for i in range(count))
        at += 32 * unit * count
    d_words = m * n * c_bits[d_type] // 32
    body += f"add.u64 %x4, %x1, {4 * at};\n"
    body += f"wmma.store.d.sync.aligned.{c_layout}.{shape}.global.{d_type} [%x4], {group('d', nd)}, {n if c_layout == 'row' else m};\n"
    return Program(name, segments, 32, at + d_words, body)


def wmma_programs():
    orders = list(itertools.product(("row", "col"), repeat=2))
    for i, shape in enumerate(("m16n16k16", "m32n8k16", "m8n32k16")):
        a8, b8 = ((2, 2), (4, 1), (1, 4))[i]
        a_bf, b_bf = ((4, 4), (8, 2), (2, 8))[i]
        for layouts in orders:
            yield wmma(shape, "f16", "f16", "f32", "f32", layouts, (8, 8, 8, 8), ("f16", "f16", "f32"))
            yield wmma(shape, "bf16", "bf16", "f32", "f32", layouts, (a_bf, b_bf, 8, 8), ("bf16", "bf16", "f32"), "", "col")
            yield wmma(shape, "s8", "s8", "s32", "s32", layouts, (a8, b8, 8, 8), ("bytes", "bytes", "i32"))
        for d, c in (("f16", "f16"), ("f16", "f32"), ("f32", "f16")):
            yield wmma(shape, "f16", "f16", c, d, ("row", "col"), (8, 8, 8 if c == "f32" else 4, 8 if d == "f32" else 4),
                       ("f16", "f16", c), "", "col")
        yield wmma(shape, "f16", "f16", "f32", "f32", ("row", "row"), (8, 8, 8, 8), ("f16!", "f16!", "f32!"))
        yield wmma(shape, "u8", "u8", "s32", "s32", ("row", "col"), (a8, b8, 8, 8), ("i32",) * 3, ".satfinite")
    for layouts in orders:
        yield wmma("m16n16k8", "tf32", "tf32", "f32", "f32", layouts, (4, 4, 8, 8), ("tf32", "tf32", "f32"))
        yield wmma("m8n8k4", "f64", "f64", "f64", "f64", layouts, (1, 1, 2, 2), ("f64", "f64", "f64"))
    yield wmma("m8n8k4", "f64", "f64", "f64", "f64", ("row", "col"), (1, 1, 2, 2), ("f64",) * 3, "", "col", ".rz")
    for t in ("s4", "u4"):
        yield wmma("m8n8k32", t, t, "s32", "s32", ("row", "col"), (1, 1, 2, 2), ("i32",) * 3)
    for op in (".xor.popc", ".and.popc"):
        yield wmma("m8n8k128", "b1", "b1", "s32", "s32", ("row", "col"), (1, 1, 2, 2), ("i32",) * 3, op, "col")


def programs():
    yield from warpgroup_programs()
    yield from sparse_mma_programs()
    yield from dense_mma_programs()
    yield from wmma_programs()


def section(program, results):
    inputs = " ".join(f"{kind} {count}" for kind, count in program.segments)
    lines = [f"program {program.name}", f"input {inputs}", f"launch {program.block} {program.out_words}"]
    lines += ["| " + line for line in program.text.splitlines()]
    for first in range(0, len(results), 64):
        lines.append("".join(f"{word:08x}" for word in results[first:first + 64]))
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path(__file__).parent.parent / "tests" / "vectors")
    parser.add_argument("--print", type=pathlib.Path, help="write the programs to this folder and run nothing")
    args = parser.parse_args()
    if args.print is not None:
        args.print.mkdir(parents=True, exist_ok=True)
        for i, program in enumerate(programs()):
            (args.print / f"{i:03}.ptx").write_text(f"// {program.name}\n" + program.text)
        return
    gpu = refresh_vectors.Gpu()
    lines = ["# Matrix products of warps and warpgroups. tools/refresh_matrix_vectors.py made it.", f"stamp {gpu.stamp}"]
    for program in programs():
        data = words(program.name, program.segments)
        try:
            raw = gpu.run(program.text, struct.pack(f"<{len(data)}I", *data), 4 * program.out_words, 1, program.block, 1)
        except RuntimeError as error:
            print("refused:", program.name, error, flush=True)
            continue
        lines += section(program, struct.unpack(f"<{program.out_words}I", raw))
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / "products.vec").write_text("\n".join(lines) + "\n")
    print("stamp:", gpu.stamp)


if __name__ == "__main__":
    main()
