#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs single PTX instructions on the GPU of this machine and writes what they leave to tests/vectors.

    tools/refresh_vectors.py [--out DIR] [--count N]

Needs the CUDA driver and nothing else. One file per chapter; in it, one section per instruction: the lines that are run
(registers as in src/machine/exec/lane_kernel.h), how the result is compared, then inputs and result in hexadecimal. A
matrix section holds whole fragments: the words of each register of a, b and c over 32 lanes, then those of d.
"""

import argparse
import ctypes
import datetime
import functools
import itertools
import pathlib
import random
import struct

RESULT_WIDTH = {"b16": 4, "b32": 8, "b64": 16}


# -- The instructions ---------------------------------------------------------------------------------------------
class Form:
    def __init__(self, line, result, kinds, check="bits"):
        self.line, self.result, self.kinds, self.check = line, result, kinds, check


INTS = {"u16": 16, "s16": 16, "u32": 32, "s32": 32, "u64": 64, "s64": 64}
REG = {16: "%h", 32: "%r", 64: "%x"}
DEST = {16: ("%s", "b16"), 32: ("%e", "b32"), 64: ("%d", "b64")}


def plain(op, type_, bits, sources, kind=None, dest=None, check="bits"):
    d, result = DEST[dest or bits]
    args = ", ".join(REG[bits] + str(i + 1) for i in range(sources))
    return Form(f"{op}.{type_} {d}, {args};", result, [kind or f"i{bits}"] * sources, check)


def int_arith():
    for t, bits in INTS.items():
        for op in ("add", "sub", "mul.lo", "mul.hi", "min", "max", "div", "rem"):
            yield plain(op, t, bits, 2)
        for op in ("mad.lo", "mad.hi", "sad"):
            yield plain(op, t, bits, 3)
        if bits < 64:
            yield plain("mul.wide", t, bits, 2, dest=2 * bits)
        if t[0] == "s":
            yield plain("abs", t, bits, 1)
            yield plain("neg", t, bits, 1)
    for op, n in (("add.sat", 2), ("sub.sat", 2), ("mad.hi.sat", 3), ("max.relu", 2), ("min.relu", 2)):
        yield plain(op, "s32", 32, n)
    for t in ("u16x2", "s16x2"):
        for op in ("add", "min", "max"):
            yield plain(op, t, 32, 2)
    yield plain("max.relu", "s16x2", 32, 2)
    for t in ("u32", "s32"):
        yield Form(f"mad.wide.{t} %d, %r1, %r2, %x3;", "b64", ["i32", "i32", "i64"])
        for part in ("lo", "hi"):
            yield plain(f"mul24.{part}", t, 32, 2)
            yield plain(f"mad24.{part}", t, 32, 3)
        for mode in ("clamp", "wrap"):
            yield Form(f"szext.{mode}.{t} %e, %r1, %r2;", "b32", ["i32", "small"])
    yield plain("mad24.hi.sat", "s32", 32, 3)
    for bits in (32, 64):
        for op in ("popc", "clz"):
            yield plain(op, f"b{bits}", bits, 1, dest=32)
        yield plain("brev", f"b{bits}", bits, 1)
        yield Form(f"shr.u32 %n4, %r3, 8; and.b32 %n5, %r3, 127; and.b32 %n6, %n4, 127; "
                   f"bfi.b{bits} {DEST[bits][0]}, {REG[bits]}1, {REG[bits]}2, %n5, %n6;", DEST[bits][1],
                   [f"i{bits}", f"i{bits}", "i32"])
        for sign in ("u", "s"):
            yield plain("bfind", f"{sign}{bits}", bits, 1, dest=32)
            yield plain("bfind.shiftamt", f"{sign}{bits}", bits, 1, dest=32)
            yield Form(f"and.b32 %n5, %r2, 127; and.b32 %n6, %r3, 127; "
                       f"bfe.{sign}{bits} {DEST[bits][0]}, {REG[bits]}1, %n5, %n6;", DEST[bits][1],
                       [f"i{bits}", "i32", "i32"])
    yield Form("fns.b32 %e, %r1, %r2, %r3;", "b32", ["i32", "base", "signed_small"])
    for mode in ("clamp", "wrap"):
        yield Form(f"bmsk.{mode}.b32 %e, %r1, %r2;", "b32", ["small", "small"])
    for a, b in itertools.product(("u32", "s32"), repeat=2):
        yield Form(f"dp4a.{a}.{b} %e, %r1, %r2, %r3;", "b32", ["i32"] * 3)
        for part in ("lo", "hi"):
            yield Form(f"dp2a.{part}.{a}.{b} %e, %r1, %r2, %r3;", "b32", ["i32"] * 3)
    for bits in (32, 64):
        r, d, res = REG[bits], DEST[bits][0], DEST[bits][1]
        t = f"u{bits}"
        tmp = "%n5" if bits == 32 else "%wide0"
        kinds = [f"i{bits}"] * 3
        yield Form(f"add.cc.{t} {tmp}, {r}1, {r}2; addc.{t} {d}, {r}3, {r}1;", res, kinds)
        yield Form(f"sub.cc.{t} {tmp}, {r}1, {r}2; subc.{t} {d}, {r}3, {r}1;", res, kinds)
        yield Form(f"add.cc.{t} {tmp}, {r}1, {r}2; addc.cc.{t} {tmp}, {r}3, {r}1; addc.{t} {d}, {r}2, {tmp};", res, kinds)
        yield Form(f"mad.lo.cc.{t} {tmp}, {r}1, {r}2, {r}3; madc.hi.{t} {d}, {r}1, {r}2, {r}3;", res, kinds)
        yield Form(f"mad.hi.cc.{t} {tmp}, {r}1, {r}2, {r}3; addc.{t} {d}, {tmp}, {r}3;", res, kinds)
        yield Form(f"sub.cc.{t} {tmp}, {r}1, {r}2; addc.{t} {d}, {r}3, 0;", res, kinds)


def logic():
    for bits in (16, 32, 64):
        for op in ("and", "or", "xor"):
            yield plain(op, f"b{bits}", bits, 2)
        for op in ("not", "cnot"):
            yield plain(op, f"b{bits}", bits, 1)
        for op, sign in (("shl", "b"), ("shr", "u"), ("shr", "s")):
            yield Form(f"{op}.{sign}{bits} {DEST[bits][0]}, {REG[bits]}1, %r2;", DEST[bits][1], [f"i{bits}", "shift"])
    for lut in (0xEA, 0x96, 0x1B, 0xCA, 0x40):
        yield Form(f"lop3.b32 %e, %r1, %r2, %r3, {lut};", "b32", ["i32"] * 3)
    for d, mode in itertools.product("lr", ("clamp", "wrap")):
        yield Form(f"shf.{d}.{mode}.b32 %e, %r1, %r2, %r3;", "b32", ["i32", "i32", "shift"])
    yield Form("prmt.b32 %e, %r1, %r2, %r3;", "b32", ["i32"] * 3)
    for mode in ("f4e", "b4e", "rc8", "ecl", "ecr", "rc16"):
        yield Form(f"prmt.b32.{mode} %e, %r1, %r2, %r3;", "b32", ["i32"] * 3)


FCMP = ("eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan")


def compare():
    pick = "selp.u32 %e, 1, 0, %p1;"
    for t, bits in INTS.items():
        for c in ("eq", "ne", "lt", "le", "gt", "ge"):
            yield Form(f"setp.{c}.{t} %p1, {REG[bits]}1, {REG[bits]}2; {pick}", "b32", [f"i{bits}"] * 2)
    for c in FCMP:
        yield Form(f"setp.{c}.f32 %p1, %r1, %r2; {pick}", "b32", ["f32"] * 2)
        yield Form(f"setp.{c}.ftz.f32 %p1, %r1, %r2; {pick}", "b32", ["f32"] * 2)
        yield Form(f"setp.{c}.f64 %p1, %x1, %x2; {pick}", "b32", ["f64"] * 2)
        yield Form(f"setp.{c}.f16 %p1, %h1, %h2; {pick}", "b32", ["f16"] * 2)
        yield Form(f"setp.{c}.bf16 %p1, %h1, %h2; {pick}", "b32", ["bf16"] * 2)
        yield Form(f"setp.{c}.f16x2 %p1|%p2, %r1, %r2; selp.u32 %n4, 2, 0, %p2; selp.u32 %n5, 1, 0, %p1; "
                   "add.u32 %e, %n4, %n5;", "b32", ["f16x2"] * 2)
    for op in ("and", "or", "xor"):
        yield Form(f"setp.gt.s32 %p0, %r3, 0; setp.lt.{op}.f32 %p1|%p2, %r1, %r2, %p0; selp.u32 %n4, 2, 0, %p2; "
                   "selp.u32 %n5, 1, 0, %p1; add.u32 %e, %n4, %n5;", "b32", ["f32", "f32", "i32"])
    for dt in ("u32", "s32", "f32"):
        yield Form(f"set.lt.{dt}.f32 %e, %r1, %r2;", "b32", ["f32"] * 2)
        yield Form(f"set.le.{dt}.s32 %e, %r1, %r2;", "b32", ["i32"] * 2)
    yield Form("set.gt.f16.f16 %s, %h1, %h2;", "b16", ["f16"] * 2)
    yield Form("set.gt.f16x2.f16x2 %e, %r1, %r2;", "b32", ["f16x2"] * 2)
    yield Form("set.geu.u32.f16x2 %e, %r1, %r2;", "b32", ["f16x2"] * 2)
    yield Form("set.ltu.bf16x2.bf16x2 %e, %r1, %r2;", "b32", ["bf16x2"] * 2)
    yield Form("slct.b32.s32 %e, %r1, %r2, %r3;", "b32", ["i32"] * 3)
    yield Form("slct.b32.f32 %e, %r1, %r2, %r3;", "b32", ["i32", "i32", "f32"])
    yield Form("slct.ftz.b32.f32 %e, %r1, %r2, %r3;", "b32", ["i32", "i32", "f32"])


def float_arith():
    for rnd in ("rn", "rz", "rm", "rp"):
        for ftz in ("", ".ftz"):
            for op in ("add", "sub", "mul"):
                yield plain(f"{op}.{rnd}{ftz}", "f32", 32, 2, "f32")
                if ftz == "" or rnd == "rn":
                    yield plain(f"{op}.{rnd}{ftz}.sat", "f32", 32, 2, "f32")
            yield plain(f"fma.{rnd}{ftz}", "f32", 32, 3, "f32")
            yield plain(f"fma.{rnd}{ftz}.sat", "f32", 32, 3, "f32")
            yield plain(f"div.{rnd}{ftz}", "f32", 32, 2, "f32")
            yield plain(f"rcp.{rnd}{ftz}", "f32", 32, 1, "f32")
            yield plain(f"sqrt.{rnd}{ftz}", "f32", 32, 1, "f32")
        for op, n in (("add", 2), ("sub", 2), ("mul", 2), ("fma", 3), ("div", 2), ("rcp", 1), ("sqrt", 1)):
            yield plain(f"{op}.{rnd}", "f64", 64, n, "f64")
    for op, ulp in (("rcp", 1), ("rsqrt", 2), ("sqrt", 1), ("ex2", 3)):
        for ftz in ("", ".ftz"):
            yield plain(f"{op}.approx{ftz}", "f32", 32, 1, "f32", check=f"ulp {ulp}")
    for ftz in ("", ".ftz"):
        yield plain(f"lg2.approx{ftz}", "f32", 32, 1, "f32", check="absolute 2^-22 or ulp 2")
        yield plain(f"sin.approx{ftz}", "f32", 32, 1, "angle", check="absolute 2^-20")
        yield plain(f"cos.approx{ftz}", "f32", 32, 1, "angle", check="absolute 2^-20")
        yield plain(f"div.full{ftz}", "f32", 32, 2, "f32", check="ulp 3")
        yield plain(f"div.approx{ftz}", "f32", 32, 2, "f32", check="ulp 3")
        yield plain(f"abs{ftz}", "f32", 32, 1, "f32")
        yield plain(f"neg{ftz}", "f32", 32, 1, "f32")
        for op in ("min", "max"):
            yield plain(f"{op}{ftz}", "f32", 32, 2, "f32")
            yield plain(f"{op}{ftz}.NaN", "f32", 32, 2, "f32")
            yield plain(f"{op}{ftz}.xorsign.abs", "f32", 32, 2, "f32")
            yield plain(f"{op}{ftz}.NaN.xorsign.abs", "f32", 32, 2, "f32")
    yield plain("tanh.approx", "f32", 32, 1, "f32", check="ulp 135")
    for op in ("abs", "neg"):
        yield plain(op, "f64", 64, 1, "f64")
    for op in ("min", "max"):
        yield plain(op, "f64", 64, 2, "f64")
    yield plain("rcp.approx.ftz", "f64", 64, 1, "f64", check="upper 2^-20")
    yield plain("rsqrt.approx.ftz", "f64", 64, 1, "f64", check="upper 2^-20")
    yield plain("copysign", "f32", 32, 2, "f32")
    yield plain("copysign", "f64", 64, 2, "f64")
    for c in ("finite", "infinite", "number", "notanumber", "normal", "subnormal"):
        yield Form(f"testp.{c}.f32 %p1, %r1; selp.u32 %e, 1, 0, %p1;", "b32", ["f32"])
        yield Form(f"testp.{c}.f64 %p1, %x1; selp.u32 %e, 1, 0, %p1;", "b32", ["f64"])


def half_arith():
    for t, bits in (("f16", 16), ("f16x2", 32), ("bf16", 16), ("bf16x2", 32)):
        for op in ("add", "sub", "mul"):
            yield plain(f"{op}.rn", t, bits, 2, t)
        yield plain("fma.rn", t, bits, 3, t)
        yield plain("fma.rn.relu", t, bits, 3, t)
        yield plain("fma.rn.oob", t, bits, 3, t)
        for op in ("neg", "abs"):
            yield plain(op, t, bits, 1, t)
        for op in ("min", "max"):
            for mods in ("", ".NaN", ".xorsign.abs", ".NaN.xorsign.abs"):
                yield plain(op + mods, t, bits, 2, t)
        yield plain("tanh.approx", t, bits, 1, t, check=f"ulp 2 {t}")
        if t[0] == "f":
            for mods in (".ftz", ".sat", ".ftz.sat"):
                for op in ("add", "sub", "mul"):
                    yield plain(op + mods, t, bits, 2, t)
                yield plain("fma.rn" + mods, t, bits, 3, t)
            yield plain("fma.rn.ftz.relu", t, bits, 3, t)
            yield plain("min.ftz", t, bits, 2, t)
            yield plain("max.ftz.NaN", t, bits, 2, t)
            yield plain("neg.ftz", t, bits, 1, t)
            yield plain("abs.ftz", t, bits, 1, t)
            yield plain("ex2.approx", t, bits, 1, t, check=f"ulp 1 {t}")
        else:
            yield plain("ex2.approx.ftz", t, bits, 1, t, check=f"ulp 1 {t}")


FLOATS = {"f16": 16, "bf16": 16, "f32": 32, "f64": 64}
INT8 = {"u8": 8, "s8": 8, **INTS}


def storage(bits):
    return 16 if bits < 16 else bits


def convert():
    for to, tb in INT8.items():
        for frm, fb in INT8.items():
            d, res = DEST[storage(tb)]
            a = REG[storage(fb)] + "1"
            yield Form(f"cvt.{to}.{frm} {d}, {a};", res, [f"i{storage(fb)}"])
            shrinks = tb < fb or (tb == fb and to[0] != frm[0]) or (frm[0] == "s" and to[0] == "u")
            if shrinks:
                yield Form(f"cvt.sat.{to}.{frm} {d}, {a};", res, [f"i{storage(fb)}"])
        for frm, fb in FLOATS.items():
            if frm == "bf16" and tb == 8:
                continue  # not legal
            for rnd in ("rni", "rzi", "rmi", "rpi"):
                d, res = DEST[storage(tb)]
                yield Form(f"cvt.{rnd}.{to}.{frm} {d}, {REG[fb]}1;", res, [frm])
    yield Form("cvt.rpi.ftz.s32.f32 %e, %r1;", "b32", ["f32"])
    for to, tb in FLOATS.items():
        for frm, fb in INT8.items():
            if to == "bf16" and fb == 8:
                continue  # not legal
            for rnd in ("rn", "rz", "rm", "rp"):
                d, res = DEST[tb]
                yield Form(f"cvt.{rnd}.{to}.{frm} {d}, {REG[storage(fb)]}1;", res, [f"i{storage(fb)}"])
    for ftz, sat in itertools.product(("", ".ftz"), ("", ".sat")):
        yield plain(f"cvt{ftz}{sat}.f32", "f32", 32, 1, "f32")
        for rnd in ("rni", "rzi", "rmi", "rpi"):
            yield plain(f"cvt.{rnd}{ftz}{sat}.f32", "f32", 32, 1, "f32")
        yield Form(f"cvt{ftz}{sat}.f64.f32 %d, %r1;", "b64", ["f32"])
        yield Form(f"cvt{ftz}{sat}.f32.f16 %e, %h1;", "b32", ["f16"])
        if sat == "":
            yield Form(f"cvt{ftz}.f32.bf16 %e, %h1;", "b32", ["bf16"])
        for rnd in ("rn", "rz", "rm", "rp"):
            yield Form(f"cvt.{rnd}{ftz}{sat}.f32.f64 %e, %x1;", "b32", ["f64"])
            yield Form(f"cvt.{rnd}{ftz}{sat}.f16.f32 %s, %r1;", "b16", ["f32"])
            if sat == "":
                yield Form(f"cvt.{rnd}{ftz}.bf16.f32 %s, %r1;", "b16", ["f32"])
    for sat in ("", ".sat"):
        yield plain(f"cvt{sat}.f64", "f64", 64, 1, "f64")
        yield plain(f"cvt{sat}.f16", "f16", 16, 1, "f16")
        for t in ("f64", "f16", "bf16"):
            for rnd in ("rni", "rzi", "rmi", "rpi"):
                if sat == "" or t != "bf16":
                    yield plain(f"cvt.{rnd}{sat}.{t}", t, FLOATS[t], 1, t)
        yield Form(f"cvt{sat}.f64.f16 %d, %h1;", "b64", ["f16"])
        if sat == "":
            yield Form("cvt.f64.bf16 %d, %h1;", "b64", ["bf16"])
        for rnd in ("rn", "rz", "rm", "rp"):
            for to, frm in (("f16", "f64"), ("bf16", "f64"), ("f16", "bf16"), ("bf16", "f16")):
                if sat == "" or (to, frm) == ("f16", "f64"):
                    yield Form(f"cvt.{rnd}{sat}.{to}.{frm} %s, {REG[FLOATS[frm]]}1;", "b16", [frm])
    for rnd, relu, satf in itertools.product(("rn", "rz"), ("", ".relu"), ("", ".satfinite")):
        for t in ("f16", "bf16"):
            yield Form(f"cvt.{rnd}{relu}{satf}.{t}.f32 %s, %r1;", "b16", ["f32"])
            yield Form(f"cvt.{rnd}{relu}{satf}.{t}x2.f32 %e, %r1, %r2;", "b32", ["f32"] * 2)
    yield Form("cvt.rna.tf32.f32 %e, %r1;", "b32", ["f32"])
    yield Form("cvt.rna.satfinite.tf32.f32 %e, %r1;", "b32", ["f32"])
    for rnd, relu in itertools.product(("rn", "rz"), ("", ".relu")):
        yield Form(f"cvt.{rnd}{relu}.tf32.f32 %e, %r1;", "b32", ["f32"])
    for t, relu in itertools.product(("e4m3x2", "e5m2x2"), ("", ".relu")):
        yield Form(f"cvt.rn.satfinite{relu}.{t}.f32 %s, %r1, %r2;", "b16", ["f32"] * 2)
        yield Form(f"cvt.rn.satfinite{relu}.{t}.f16x2 %s, %r1;", "b16", ["f16x2"])
        yield Form(f"cvt.rn{relu}.f16x2.{t} %e, %h1;", "b32", ["i16"])
    for t in ("u16", "s16"):
        yield Form(f"cvt.pack.sat.{t}.s32 %e, %r1, %r2;", "b32", ["i32"] * 2)
    for t in ("u8", "s8", "u4", "s4", "u2", "s2"):
        yield Form(f"cvt.pack.sat.{t}.s32.b32 %e, %r1, %r2, %r3;", "b32", ["i32"] * 3)


def elements(rng, count):
    """A selector of elements, or none, of an operand of a video instruction with two or four of them."""
    if rng.random() < 0.3:
        return ""
    return (".h" if count == 2 else ".b") + "".join(str(rng.randrange(2 * count)) for _ in range(count))


def video():
    """Every operation with all signs, parts of registers drawn at random. Not the scalar forms that merge into a part, the second
    operations min and max, saturated shifts and scaled products: there the card does not do what the text says."""
    rng = random.Random("video")
    parts = ["", ".b0", ".b1", ".b2", ".b3", ".h0", ".h1"]
    types = [".".join(t) for t in itertools.product(("u32", "s32"), repeat=3)]

    def form(text):
        return Form(text, "b32", ["bytes", "bytes", "i32"])
    for op in ("vadd", "vsub", "vabsdiff", "vmin", "vmax", "vshl", "vshr"):
        for t in types:
            if op in ("vshl", "vshr"):
                if not t.endswith("u32"):
                    continue
                b = "%n4"
                before, mode = "and.b32 %n4, %r2, 63; ", rng.choice([".clamp", ".wrap"])
            else:
                b, before, mode = "%r2", "", ""
            for tail in ("plain", "sat", "second"):
                sat = ".sat" if op != "vshl" and (tail == "sat" or rng.random() < 0.5) else ""
                a_part, b_part = rng.choice(parts), "" if mode else rng.choice(parts)
                if tail == "second":
                    yield form(f"{before}{op}.{t}{sat}{mode}.add %e, %r1{a_part}, {b}{b_part}, %r3;")
                else:
                    yield form(f"{before}{op}.{t}{sat}{mode} %e, %r1{a_part}, {b}{b_part};")
    for t in types:
        for _ in range(3):
            yield form(f"vmad.{t} %e, %r1{rng.choice(parts)}, %r2{rng.choice(parts)}, %r3;")
    for t in ("u32.u32", "u32.s32", "s32.u32", "s32.s32"):
        for cmp in ("eq", "ne", "lt", "le", "gt", "ge"):
            sources = f"%r1{rng.choice(parts)}, %r2{rng.choice(parts)}"
            yield form(f"vset.{t}.{cmp} %e, {sources};")
            yield form(f"vset.{t}.{cmp}.add %e, {sources}, %r3;")
    masks = {2: [".h0", ".h1", ".h10"], 4: [".b0", ".b2", ".b31", ".b210", ".b3210"]}
    for count in (2, 4):
        pick = functools.partial(elements, rng, count)
        for op in ("vadd", "vsub", "vavrg", "vabsdiff", "vmin", "vmax"):
            for t in types:
                mask = rng.choice(["", *masks[count]])
                yield form(f"{op}{count}.{t}{rng.choice(['', '.sat'])} %e{mask}, %r1{pick()}, %r2{pick()}, %r3;")
                yield form(f"{op}{count}.{t}.add %e, %r1{pick()}, %r2{pick()}, %r3;")
        for t in ("u32.u32", "u32.s32", "s32.u32", "s32.s32"):
            for cmp in ("eq", "ne", "lt", "le", "gt", "ge"):
                mask = rng.choice(["", *masks[count]])
                yield form(f"vset{count}.{t}.{cmp} %e{mask}, %r1{pick()}, %r2{pick()}, %r3;")
                yield form(f"vset{count}.{t}.{cmp}.add %e, %r1{pick()}, %r2{pick()}, %r3;")


CHAPTERS = {"int_arith": int_arith, "logic": logic, "compare": compare, "float_arith": float_arith,
            "half_arith": half_arith, "convert": convert, "video": video}


# -- Matrix products: (types, shape, registers of a, b, c, kinds of the elements) -------------------------------------
def matrices():
    for acc in ("f32", "f16"):
        c = 4 if acc == "f32" else 2
        ck = acc if acc == "f32" else "f16x2"
        yield f"m16n8k8.row.col.{acc}.f16.f16.{acc}", (2, 1, c), ("f16x2", "f16x2", ck)
        yield f"m16n8k16.row.col.{acc}.f16.f16.{acc}", (4, 2, c), ("f16x2", "f16x2", ck)
        for a, b in itertools.product(("e4m3", "e5m2"), repeat=2):
            yield f"m16n8k16.row.col.{acc}.{a}.{b}.{acc}", (2, 1, c), (a + "x4", b + "x4", ck)
            yield f"m16n8k32.row.col.{acc}.{a}.{b}.{acc}", (4, 2, c), (a + "x4", b + "x4", ck)
    yield "m16n8k8.row.col.f32.bf16.bf16.f32", (2, 1, 4), ("bf16x2", "bf16x2", "f32")
    yield "m16n8k16.row.col.f32.bf16.bf16.f32", (4, 2, 4), ("bf16x2", "bf16x2", "f32")
    yield "m16n8k4.row.col.f32.tf32.tf32.f32", (2, 1, 4), ("f32", "f32", "f32")
    yield "m16n8k8.row.col.f32.tf32.tf32.f32", (4, 2, 4), ("f32", "f32", "f32")
    for a, b, sat in itertools.product(("u8", "s8"), ("u8", "s8"), ("", ".satfinite")):
        yield f"m8n8k16.row.col{sat}.s32.{a}.{b}.s32", (1, 1, 2), ("i32", "i32", "i32")
        yield f"m16n8k16.row.col{sat}.s32.{a}.{b}.s32", (2, 1, 4), ("i32", "i32", "i32")
        yield f"m16n8k32.row.col{sat}.s32.{a}.{b}.s32", (4, 2, 4), ("i32", "i32", "i32")
    for a, b in (("u4", "s4"), ("s4", "s4")):
        yield f"m16n8k64.row.col.s32.{a}.{b}.s32", (4, 2, 4), ("i32", "i32", "i32")
    for op in ("xor", "and"):
        yield f"m16n8k256.row.col.s32.b1.b1.s32.{op}.popc", (4, 2, 4), ("i32", "i32", "i32")
    yield "m8n8k4.row.col.f64.f64.f64.f64", (1, 1, 2), ("f64", "f64", "f64")


# -- Inputs -------------------------------------------------------------------------------------------------------
EDGES = {
    "i16": [0, 1, 2, 0x7F, 0x80, 0xFF, 0x100, 0x7FFF, 0x8000, 0x8001, 0xFFFF],
    "i32": [0, 1, 2, 31, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0x80000001, 0xFFFFFFFF],
    "i64": [0, 1, 2, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 1 << 32, (1 << 63) - 1, 1 << 63, (1 << 64) - 1],
    "f32": [0, 1, 0x7FFFFF, 0x800000, 0x800001, 0x3F800000, 0x3F800001, 0x3F7FFFFF, 0x3F000000, 0x40000000, 0x33800000,
            0x477FF000, 0x477FEFFF, 0x4B000001, 0x4EFFFFFF, 0x4F000000, 0x5F000000, 0x7E800001, 0x7F000001, 0x7F7FFFFF,
            0x7F800000, 0x7FC00000, 0x7F800001, 0x7FC12345, 0x387FE000, 0x00400000, 0x34000000],
    "f64": [0, 1, 1 << 52, 0x3FF << 52, (0x3FF << 52) + 1, 0x3FE << 52, 0x47EFFFFFF0000000, 0x47EFFFFFE0000000,
            0x36A0000000000000, 0x3690000000000000, 0x380FFFFFF0000000, 0x43E0000000000000, 0x40EFFE0000000000,
            0x7FEFFFFFFFFFFFFF, 0x7FF << 52, (0x7FF << 52) | 1, 0x7FF8000000000000, 0x7FF4123456789ABC],
    "f16": [0, 1, 0x3FF, 0x400, 0x3C00, 0x3C01, 0x3BFF, 0x3800, 0x7BFF, 0x7C00, 0x7C01, 0x7E00, 0x7FF7, 0x5BFF],
    "bf16": [0, 1, 0x7F, 0x80, 0x3F80, 0x3F81, 0x3F7F, 0x3F00, 0x7F7F, 0x7F80, 0x7F81, 0x7FC0, 0x7FF7, 0x4F00],
}
WIDTH = {"i16": 16, "i32": 32, "i64": 64, "f32": 32, "f64": 64, "f16": 16, "bf16": 16}
LAYOUT = {"f32": (23, 127, 24), "f64": (52, 1023, 40), "f16": (10, 15, 12), "bf16": (7, 127, 10)}


def draw(rng, kind, index):
    if kind == "bytes":  # bytes at their ends, half of the time
        edges = [0, 1, 0x7F, 0x80, 0xFF]
        return sum((rng.choice(edges) if rng.random() < 0.5 else rng.randrange(256)) << at for at in (0, 8, 16, 24))
    if kind == "small":
        return rng.choice([rng.randrange(40), rng.randrange(40), rng.getrandbits(32)])
    if kind == "base":
        return rng.choice([rng.randrange(32), rng.randrange(40)])
    if kind == "signed_small":
        return rng.randrange(-6, 7) & 0xFFFFFFFF
    if kind == "shift":
        return rng.choice([rng.randrange(70), rng.randrange(34), rng.getrandbits(32)])
    if kind == "angle":
        return struct.unpack("<I", struct.pack("<f", rng.uniform(-3.14, 3.14)))[0]
    if kind in ("f16x2", "bf16x2"):
        return draw(rng, kind[:-2], index) | draw(rng, kind[:-2], index) << 16
    if kind in ("e4m3x4", "e5m2x4"):
        return sum(rng.getrandbits(8) << (8 * i) for i in range(4))
    width = WIDTH[kind]
    if index % 2 == 0:
        edge = rng.choice(EDGES[kind])
        return edge | rng.getrandbits(1) << (width - 1) if kind[0] != "i" else edge
    if kind[0] == "i":
        return rng.getrandbits(width) >> rng.randrange(width)
    if index % 8 == 7:
        return rng.getrandbits(width)
    fraction, bias, spread = LAYOUT[kind]
    exponent = max(0, min(2 * bias, bias + rng.randrange(-spread, spread + 1)))
    bits = rng.getrandbits(fraction)
    if index % 4 == 1:  # few significant bits: ties and exact results
        bits &= ~((1 << rng.randrange(fraction)) - 1)
    return rng.getrandbits(1) << (width - 1) | exponent << fraction | bits


def fragment(rng, kind, style):
    """A word of a matrix operand: numbers near one, over some octaves, any bits, zeros and subnormals."""
    if kind == "i32" or style == 2 or kind[0] == "e":
        if kind == "i32" or style != 3:
            word = draw(rng, kind, 1) if kind != "i32" else rng.getrandbits(32)
            if kind[0] == "e" and style != 2:  # no NaNs
                word = sum(min(word >> (8 * i) & 0x7F, 0x7B) << (8 * i) | (word & 0x80 << (8 * i)) for i in range(4))
            return word
        return 0
    if kind in ("f16x2", "bf16x2"):
        return fragment(rng, kind[:-2], style) | fragment(rng, kind[:-2], style) << 16
    fraction, bias, _ = LAYOUT[kind]
    width = WIDTH[kind]
    spread = {0: 1, 1: 6, 3: 0, 4: 15 if kind == "f16" else 60}[style]
    exponent = max(0, min(2 * bias - 1, bias + rng.randrange(-spread, spread + 1)))
    if style == 3:
        exponent = 0
    return rng.getrandbits(1) << (width - 1) | exponent << fraction | rng.getrandbits(fraction)


# -- Kernels ------------------------------------------------------------------------------------------------------
def lane_kernel(form):
    widen = {"b64": "", "b32": "cvt.u64.u32 %d, %e;", "b16": "cvt.u64.u16 %d, %s;"}[form.result]
    return f""".version 9.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out, .param .u32 count) {{
.reg .b64 %x<4>, %d, %at<8>, %wide<4>;
.reg .b32 %r<8>, %e, %n<8>;
.reg .b16 %h<8>, %s;
.reg .pred %out_of_range, %p<4>;
mov.u32 %n0, %ctaid.x; mov.u32 %n1, %ntid.x; mov.u32 %n2, %tid.x; mad.lo.u32 %n3, %n0, %n1, %n2;
ld.param.u32 %n4, [count]; setp.ge.u32 %out_of_range, %n3, %n4; @%out_of_range bra DONE;
ld.param.u64 %at0, [in]; mad.wide.u32 %at1, %n3, 24, %at0;
ld.global.u64 %x1, [%at1]; ld.global.u64 %x2, [%at1+8]; ld.global.u64 %x3, [%at1+16];
cvt.u32.u64 %r1, %x1; cvt.u32.u64 %r2, %x2; cvt.u32.u64 %r3, %x3;
cvt.u16.u64 %h1, %x1; cvt.u16.u64 %h2, %x2; cvt.u16.u64 %h3, %x3;
{form.line}
{widen}
ld.param.u64 %at2, [out]; mad.wide.u32 %at3, %n3, 8, %at2; st.global.u64 [%at3], %d;
DONE: ret;
}}
"""


def matrix_kernel(types, counts):
    is_double = ".f64" in types
    size, reg, mov = (8, "b64", "u64") if is_double else (4, "b32", "u32")
    a, b, c = counts
    names = [f"%v{i}" for i in range(a + b + c)]
    loads = "\n".join(f"ld.global.{mov} {name}, [%at2+{i * 32 * size}];" for i, name in enumerate(names))

    def group(items):
        return "{" + ", ".join(items) + "}"

    d = [f"%w{i}" for i in range(c)]
    stores = "\n".join(f"st.global.{mov} [%at3+{i * 32 * size}], {name};" for i, name in enumerate(d))
    return f""".version 9.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out, .param .u32 count) {{
.reg .b64 %at<8>; .reg .b32 %n<8>; .reg .{reg} %v<24>, %w<8>;
mov.u32 %n0, %ctaid.x; mov.u32 %n1, %tid.x;
ld.param.u64 %at0, [in]; ld.param.u64 %at1, [out];
mad.wide.u32 %at2, %n0, {(a + b + c) * 32 * size}, %at0; mad.wide.u32 %at2, %n1, {size}, %at2;
mad.wide.u32 %at3, %n0, {c * 32 * size}, %at1; mad.wide.u32 %at3, %n1, {size}, %at3;
{loads}
mma.sync.aligned.{types} {group(d)}, {group(names[:a])}, {group(names[a:a + b])}, {group(names[a + b:])};
{stores}
ret;
}}
"""


# -- The driver ---------------------------------------------------------------------------------------------------
class Gpu:
    def __init__(self):
        self.cuda = ctypes.CDLL("libcuda.so.1")
        self.call("cuInit", 0)
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        self.call("cuCtxCreate_v2", ctypes.byref(context), 0, device)
        name = ctypes.create_string_buffer(128)
        self.call("cuDeviceGetName", name, 128, device)
        version = ctypes.c_int()
        self.call("cuDriverGetVersion", ctypes.byref(version))
        major, minor = ctypes.c_int(), ctypes.c_int()
        self.call("cuDeviceGetAttribute", ctypes.byref(major), 75, device)
        self.call("cuDeviceGetAttribute", ctypes.byref(minor), 76, device)
        try:
            driver = pathlib.Path("/sys/module/nvidia/version").read_text().strip()
        except OSError:
            driver = "unknown"
        self.stamp = (f"sm_{major.value}{minor.value}, {name.value.decode()}, driver {driver}, "
                      f"CUDA {version.value // 1000}.{version.value % 1000 // 10}, {datetime.date.today()}")

    def call(self, function, *args):
        code = getattr(self.cuda, function)(*args)
        if code != 0:
            raise RuntimeError(f"{function}: error {code}")

    def run(self, ptx, data, out_size, grid, block, count):
        module, kernel = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuModuleLoadData", ctypes.byref(module), ptx.encode() + b"\0")
        self.call("cuModuleGetFunction", ctypes.byref(kernel), module, b"k")
        a, b = ctypes.c_uint64(), ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(a), ctypes.c_size_t(len(data)))
        self.call("cuMemAlloc_v2", ctypes.byref(b), ctypes.c_size_t(out_size))
        self.call("cuMemcpyHtoD_v2", a, data, ctypes.c_size_t(len(data)))
        n = ctypes.c_uint32(count)
        params = (ctypes.c_void_p * 3)(*[ctypes.cast(ctypes.byref(x), ctypes.c_void_p) for x in (a, b, n)])
        self.call("cuLaunchKernel", kernel, grid, 1, 1, block, 1, 1, 0, None, params, None)
        out = ctypes.create_string_buffer(out_size)
        self.call("cuMemcpyDtoH_v2", out, b, ctypes.c_size_t(out_size))
        self.call("cuMemFree_v2", a)
        self.call("cuMemFree_v2", b)
        self.call("cuModuleUnload", module)
        return out.raw


def lane_section(gpu, form, rng, count):
    rows = []
    for _ in range(count):
        row = [draw(rng, kind, rng.randrange(64)) for kind in form.kinds]
        rows.append(row + [0] * (3 - len(row)))
    data = b"".join(struct.pack("<3Q", *row) for row in rows)
    raw = gpu.run(lane_kernel(form), data, 8 * count, (count + 63) // 64, 64, count)
    results = struct.unpack(f"<{count}Q", raw)
    lines = [f"form {form.line}", f"result {form.result}", f"check {form.check}"]
    for row, result in zip(rows, results):
        inputs = " ".join(f"{x:x}" for x in row[:len(form.kinds)])
        lines.append(f"{inputs} = {result:0{RESULT_WIDTH[form.result]}x}")
    return lines


def matrix_section(gpu, types, counts, kinds, rng, count):
    is_double = ".f64" in types
    code, size = ("Q", 8) if is_double else ("I", 4)
    words_in, words_out = sum(counts) * 32, counts[2] * 32
    tiles = []
    for tile in range(count):
        style = tile % 5
        words = []
        for registers, kind in zip(counts, kinds):
            words += [fragment(rng, kind, style) for _ in range(registers * 32)]
        tiles.append(words)
    data = b"".join(struct.pack(f"<{words_in}{code}", *tile) for tile in tiles)
    raw = gpu.run(matrix_kernel(types, counts), data, count * words_out * size, count, 32, count)
    results = struct.unpack(f"<{count * words_out}{code}", raw)
    lines = [f"form mma.sync.aligned.{types}", f"registers {counts[0]} {counts[1]} {counts[2]}"]
    for i, tile in enumerate(tiles):
        for words in (tile, results[i * words_out:(i + 1) * words_out]):
            for first in range(0, len(words), 32):
                lines.append(" ".join(f"{word:x}" for word in words[first:first + 32]))
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path(__file__).parent.parent / "tests" / "vectors")
    parser.add_argument("--count", type=int, default=20, help="inputs per instruction")
    parser.add_argument("--tiles", type=int, default=5, help="tiles per matrix instruction")
    parser.add_argument("--only", help="one chapter")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    gpu = Gpu()
    refused = []
    for chapter, forms in CHAPTERS.items():
        if args.only not in (None, chapter):
            continue
        lines = ["# What the instructions of this chapter leave. tools/refresh_vectors.py made it.", f"stamp {gpu.stamp}"]
        for form in forms():
            try:
                lines += lane_section(gpu, form, random.Random(form.line), args.count)
            except RuntimeError as error:
                refused.append(f"{form.line}: {error}")
        (args.out / f"{chapter}.vec").write_text("\n".join(lines) + "\n")
    lines = ["# Matrix products. tools/refresh_vectors.py made it.", f"stamp {gpu.stamp}"]
    for types, counts, kinds in matrices() if args.only in (None, "matrix") else ():
        try:
            lines += matrix_section(gpu, types, counts, kinds, random.Random(types), args.tiles)
        except RuntimeError as error:
            refused.append(f"mma {types}: {error}")
    if args.only in (None, "matrix"):
        (args.out / "matrix.vec").write_text("\n".join(lines) + "\n")
    for line in refused:
        print("refused:", line)
    print("stamp:", gpu.stamp)


if __name__ == "__main__":
    main()
