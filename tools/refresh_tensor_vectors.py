#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Asks the CUDA driver and the GPU of this machine about tensor maps, and writes the answers to tests/vectors.

    tools/refresh_tensor_vectors.py [--out DIR] [--full DIR]

Needs the CUDA driver, numpy, and a GPU of compute capability 9.0. Three files come out of it (docs/machine.md,
"Tensor maps"): tensor_map.vec holds what the driver encodes or refuses, and what `tensormap.replace` leaves;
tensor_copy.vec holds copies by random maps, each with a hash of the memory that it leaves; tensor_fault.vec holds what
the card refuses to execute. --full also keeps whole images of memory, for looking into a difference.
"""

import argparse
import concurrent.futures
import ctypes
import pathlib
import random
import subprocess
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from refresh_vectors import Gpu  # noqa: E402

SIZES = [1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4]  # by CUtensorMapDataType
FLOATS = {6: "f16", 7: "f32", 8: "f64", 9: "bf16", 10: "f32", 11: "f32", 12: "f32"}
SPAN = [0, 32, 64, 128]
HEADER = ".version 9.0\n.target sm_90a\n.address_size 64\n"
TILE = 32768  # bytes of shared memory that a case sees, and of global memory that a store sees
SLOT = TILE + 128  # with the mbarrier behind it
MEMORY = 1 << 20  # bytes of global memory that loads read


# -- Maps ---------------------------------------------------------------------------------------------------------
class Map:
    """The arguments of cuTensorMapEncodeTiled or, with `im2col` = (lower, upper, channels, pixels), of ...Im2col."""

    def __init__(self, dtype, dims, strides, box=None, estr=None, addr=0x7F0000000000, il=0, sw=0, l2=0, oob=0,
                 im2col=None, rank=None):
        self.dtype, self.dims, self.strides, self.box = dtype, list(dims), list(strides), list(box or [])
        self.rank = len(self.dims) if rank is None else rank
        self.estr = list(estr or [1] * max(len(self.dims), self.rank))
        self.addr, self.il, self.sw, self.l2, self.oob, self.im2col = addr, il, sw, l2, oob, im2col

    def encode(self, gpu, base=0):
        out = (ctypes.c_uint64 * 32)()
        at = ctypes.addressof(out) + 63 & ~63
        dims = (ctypes.c_uint64 * 8)(*self.dims)
        strides = (ctypes.c_uint64 * 8)(*self.strides)
        estr = (ctypes.c_uint32 * 8)(*self.estr)
        head = [ctypes.c_void_p(at), self.dtype, ctypes.c_uint32(self.rank), ctypes.c_void_p(self.addr + base), dims,
                strides]
        tail = [estr, self.il, self.sw, self.l2, self.oob]
        if self.im2col is None:
            box = (ctypes.c_uint32 * 8)(*self.box)
            code = gpu.cuda.cuTensorMapEncodeTiled(*head, box, *tail)
        else:
            lower, upper, channels, pixels = self.im2col
            low, up = (ctypes.c_int * 4)(*lower), (ctypes.c_int * 4)(*upper)
            code = gpu.cuda.cuTensorMapEncodeIm2col(*head, low, up, ctypes.c_uint32(channels), ctypes.c_uint32(pixels),
                                                    *tail)
        return code, ctypes.string_at(at, 128)

    def words(self):
        """One line: what was asked for, all in decimal but the address."""
        def row(values):
            return ",".join(str(v) for v in values) or "-"
        text = f"{self.dtype} {self.rank} {self.addr:x} {row(self.dims)} {row(self.strides)} {row(self.estr)} "
        text += f"{self.il} {self.sw} {self.l2} {self.oob} "
        if self.im2col is None:
            return text + f"tiled {row(self.box)}"
        lower, upper, channels, pixels = self.im2col
        return text + f"im2col {row(lower)} {row(upper)} {channels} {pixels}"


def dense(es, dims, pad=0, step=16):
    strides, size = [], dims[0] * es
    for dim in dims[1:]:
        size = (size + step - 1) // step * step + pad
        strides.append(size)
        size *= dim
    return strides


def plain_map(dtype, n, **changes):
    es = SIZES[dtype] if dtype < len(SIZES) else 1
    dims = [64, 32, 16, 8, 4][:n] + [4] * (n - 5)
    args = dict(dims=dims, strides=dense(es, dims) if dims else [], box=[max(1, 32 // es), 4, 2, 2, 2, 1][:n])
    args.update(changes)
    return Map(dtype, **args)


def conv_map(dtype, n, **changes):
    es = SIZES[dtype] if dtype < len(SIZES) else 1
    dims = [64, 20, 12, 8, 4][:n]
    spatial = max(0, n - 2)
    args = dict(dims=dims, strides=dense(es, dims), im2col=([-1] * spatial, [-1] * spatial, max(1, 32 // es), 16))
    args.update(changes)
    return Map(dtype, **args)


def one_factor():
    """Single departures from plain maps."""
    for dtype in range(17):
        yield plain_map(dtype, 3)
        yield plain_map(dtype, 3, oob=1)
        yield conv_map(dtype, 4)
        yield conv_map(dtype, 4, oob=1)
    for rank in range(0, 7):
        yield plain_map(7, rank, rank=rank)
        for il in (1, 2):
            yield plain_map(6, rank, rank=rank, il=il, sw=1 if il == 2 else 0)
    for rank in range(2, 6):
        yield conv_map(6, rank)
        for il in (1, 2):
            yield conv_map(6, rank, il=il, sw=1 if il == 2 else 0)
    for make in (plain_map, conv_map):
        for addr in (0, 8, 16, 32, 48, 64, 128, (1 << 40) + 16, (1 << 47), (1 << 48) - 16, 1 << 48, 1 << 49, 1 << 56,
                     1 << 57, 1 << 63, (1 << 64) - 16):
            yield make(6, 3, addr=addr)
            yield make(6, 3, addr=addr, il=2, sw=1)
        for dim in (0, 1, 2, 1 << 31, (1 << 32) - 1, 1 << 32, (1 << 32) + 1, 1 << 40):
            for axis in range(3):
                dims = [64, 32, 16]
                dims[axis] = dim
                yield make(6, 3, dims=dims, strides=[128, 4096])
        for stride in (0, 1, 8, 16, 32, 48, 64, 128, 4096, (1 << 36), (1 << 40) - 32, (1 << 40) - 16, 1 << 40,
                       (1 << 40) + 16, 1 << 44):
            for axis in range(2):
                strides = [128, 4096]
                strides[axis] = stride
                yield make(6, 3, strides=strides)
                yield make(6, 3, strides=strides, il=1)
                yield make(6, 3, strides=strides, il=2, sw=1)
        for axis in range(3):
            for step in (0, 1, 2, 3, 7, 8, 9, 16):
                estr = [1, 1, 1]
                estr[axis] = step
                yield make(6, 3, estr=estr)
                yield make(6, 3, estr=estr, il=1)
        for il in range(4):
            for sw in range(9):
                yield make(6, 3, il=il, sw=sw)
                yield make(6, 5, il=il, sw=sw)
        for l2 in range(6):
            yield make(6, 2 if make is plain_map else 3, l2=l2)
        for oob in range(4):
            yield make(6, 3, oob=oob)
    for axis in range(3):
        for box in (0, 1, 2, 255, 256, 257, 512, 1 << 16):
            boxes = [16, 4, 2]
            boxes[axis] = box
            yield plain_map(6, 3, box=boxes)
            yield plain_map(0, 3, box=boxes)
            yield plain_map(6, 3, box=boxes, il=1)
            yield plain_map(6, 3, box=boxes, il=2, sw=1)
    for es_type in (0, 1, 2, 4):
        es = SIZES[es_type]
        for inner in (1, 2, 4, 6, 8, 12, 16, 20, 24, 32, 48, 64, 96, 128, 160, 256):
            for sw in range(4):
                for il in range(3):
                    yield plain_map(es_type, 3, box=[max(1, inner // es), 4, 2], il=il, sw=sw)
                    yield conv_map(es_type, 3, im2col=([-1], [-1], max(1, inner // es), 16), il=il, sw=sw)
    yield plain_map(6, 5, box=[256, 256, 256, 256, 256])
    yield plain_map(8, 5, box=[256, 256, 256, 256, 256])
    yield plain_map(6, 3, box=[256, 256, 1])
    yield plain_map(6, 3, box=[256, 256, 2])
    yield plain_map(0, 1, dims=[1 << 32], strides=[])
    yield plain_map(8, 2, dims=[1 << 32, 1 << 32], strides=[(1 << 40) - 16])
    for b1, b2 in ((64, 227), (64, 228), (57, 256), (113, 129), (117, 125), (229, 64)):
        yield plain_map(0, 3, box=[16, b1, b2])
        yield plain_map(0, 3, box=[16, b1, b2], estr=[1, 2, 3])
    for channels, pixels in ((240, 972), (240, 973), (256, 912), (256, 913)):
        yield conv_map(0, 4, im2col=([-1, -1], [-1, -1], channels, pixels))
        yield conv_map(6, 4, im2col=([-1, -1], [-1, -1], channels // 2, pixels))
    for channels in (0, 1, 4, 8, 16, 64, 255, 256, 257):
        yield conv_map(6, 4, im2col=([-1, -1], [-1, -1], channels, 16))
        yield conv_map(6, 4, im2col=([-1, -1], [-1, -1], channels, 16), il=1)
        yield conv_map(6, 4, im2col=([-1, -1], [-1, -1], channels, 16), il=2, sw=1)
    for pixels in (0, 1, 2, 512, 1023, 1024, 1025, 4096):
        yield conv_map(6, 4, im2col=([-1, -1], [-1, -1], 16, pixels))
        yield conv_map(0, 4, im2col=([-1, -1], [-1, -1], 16, pixels))
    for rank, edges in ((3, (-32769, -32768, -1, 0, 1, 32767, 32768)), (4, (-129, -128, -1, 0, 1, 127, 128)),
                        (5, (-17, -16, -15, 0, 1, 15, 16))):
        for corner in edges:
            for axis in range(rank - 2):
                low, up = [-1] * (rank - 2), [-1] * (rank - 2)
                low[axis] = corner
                yield conv_map(6, rank, im2col=(low, [-1] * (rank - 2), 16, 16))
                up[axis] = corner
                yield conv_map(6, rank, im2col=([-1] * (rank - 2), up, 16, 16))
                yield conv_map(6, rank, im2col=(low, up, 16, 16))
                # A box of many pixels is not empty whatever the corners.
                yield conv_map(6, rank, im2col=(low, up, 16, 16), dims=[64] + [40000] * (rank - 2) + [4],
                               strides=[128 << (4 * i) for i in range(rank - 1)])


def random_maps(rng, count):
    for _ in range(count):
        dtype = rng.randrange(13)
        es = SIZES[dtype]
        rank = rng.choice([1, 2, 2, 3, 3, 4, 5])
        il = rng.choice([0, 0, 0, 0, 1, 2])
        sw = rng.choice([0, 1, 2, 3]) if il != 2 else rng.choice([1, 1, 1, 0])
        dims = [rng.choice([1, 7, 64, 100, 4096, 1 << 20, rng.randrange(1, 1 << 32)]) for _ in range(rank)]
        strides = [16 * rng.choice([0, 1, 2, 8, 64, rng.randrange(1 << 20), rng.randrange(1 << 36)])
                   for _ in range(rank - 1)]
        args = dict(dims=dims, strides=strides, addr=rng.randrange(1 << 43) * 16, il=il, sw=sw,
                    l2=rng.randrange(4), oob=rng.choice([0, 0, 1]),
                    estr=[rng.choice([1, 1, 1, 2, 3, 8]) for _ in range(rank)])
        if rank >= 3 and rng.random() < 0.4:
            reach = {3: 32768, 4: 128, 5: 16}[rank]
            low = [rng.randrange(-reach, reach) if rng.random() < 0.3 else rng.randrange(-3, 3) for _ in range(rank - 2)]
            up = [rng.randrange(-reach, reach) if rng.random() < 0.3 else rng.randrange(-3, 3) for _ in range(rank - 2)]
            args["im2col"] = (low, up, rng.choice([8, 16, 32, 64, rng.randrange(1, 260)]), rng.choice([1, 64, 1024, 7]))
            yield Map(dtype, **args)
        else:
            inner = rng.choice([16, 32, 64, 128, 256]) // es
            yield Map(dtype, box=[max(1, inner)] + [rng.choice([1, 2, 8, 64, 255, 256]) for _ in range(rank - 1)], **args)


def encode_section(gpu, full):
    lines, seen = [], set()
    rng = random.Random("tensor maps")
    for case in list(one_factor()) + list(random_maps(rng, 4000 if full else 300)):
        words = case.words()
        if words in seen:
            continue
        seen.add(words)
        code, image = case.encode(gpu)
        lines.append(f"{words} = {short(image) if code == 0 else f'refused {code}'}")
    return lines


def short(image):
    """16 words of 8 bytes, each without leading zeros; those at the end that are zero are left out."""
    words = [f"{w:x}" for w in np.frombuffer(image, "<u8")]
    while len(words) > 1 and words[-1] == "0":
        words.pop()
    return ",".join(words)


# -- tensormap.replace --------------------------------------------------------------------------------------------
def replace_cases():
    edges64 = [0, 16, 0x123456789AB0, (1 << 64) - 1, 0xFEDCBA9876543210]
    yield from (("global_address", None, v) for v in edges64)
    yield from (("rank", None, v) for v in range(0, 9))
    for axis in range(5):
        yield from (("box_dim", axis, v) for v in (0, 1, 2, 64, 128, 255, 256, 257, 0xFFFFFFFF))
        yield from (("global_dim", axis, v) for v in (0, 1, 2, 1000, 0x80000000, 0xFFFFFFFF))
        yield from (("element_stride", axis, v) for v in (0, 1, 2, 3, 7, 8, 9, 0xFFFFFFFF))
        if axis < 4:
            yield from (("global_stride", axis, v) for v in
                        (0, 16, 32, 8, 24, 0x1230, (1 << 35), (1 << 36), (1 << 40) - 16, 1 << 40, (1 << 64) - 1))
    yield from (("elemtype", "imm", v) for v in range(13))
    yield from (("interleave_layout", "imm", v) for v in range(3))
    yield from (("swizzle_mode", "imm", v) for v in range(4))
    yield from (("fill_mode", "imm", v) for v in range(2))


def replace_section(gpu):
    wide = ("global_address", "global_stride")
    entries, cases = [], list(replace_cases())
    for i, (field, ordinal, value) in enumerate(cases):
        bits = "b64" if field in wide else "b32"
        middle = f"{ordinal}, " if isinstance(ordinal, int) else ""
        operand = f"{value}" if ordinal == "imm" else ("%v" if bits == "b64" else "%w")
        entries.append(f"""
.visible .entry k{i}(.param .u64 maps) {{
.reg .b64 %a, %v; .reg .b32 %w;
ld.param.u64 %a, [maps]; mov.b64 %v, {value}; cvt.u32.u64 %w, %v;
tensormap.replace.tile.{field}.global.b1024.{bits} [%a], {middle}{operand};
tensormap.replace.tile.{field}.global.b1024.{bits} [%a+128], {middle}{operand};
tensormap.replace.tile.{field}.global.b1024.{bits} [%a+256], {middle}{operand};
ret; }}""")
    module = gpu.load(HEADER + "".join(entries))
    code, real = plain_map(9, 5, estr=[1, 2, 3, 4, 5], sw=1, l2=2).encode(gpu)
    assert code == 0
    start = bytes(128) + b"\xff" * 128 + real
    lines = [f"start {short(start[256:])}"]
    for i, (field, ordinal, value) in enumerate(cases):
        image = gpu.launch(module, f"k{i}", [start], len(start), 1, 1, inout=True)
        out = " ".join(short(image[at:at + 128]) for at in (0, 128, 256))
        lines.append(f"{field} {ordinal if isinstance(ordinal, int) else '-'} {value:x} = {out}")
    return lines


# -- Copies -------------------------------------------------------------------------------------------------------
# Every word of memory is a number made from its index; `style` says what kind of numbers its elements are.
def pattern(style, count, first=0):
    x = (np.arange(first, first + count, dtype=np.uint64) * 0x9E3779B1).astype(np.uint32)
    x ^= x >> 15
    x = (x.astype(np.uint64) * 0x85EBCA77).astype(np.uint32)
    x ^= x >> 13
    if style == "f16":
        h = x.view(np.uint16)
        return ((h & 0x83FF) | (0x3800 + ((h >> 10 & 7) << 10))).astype(np.uint16).view(np.uint32)
    if style == "bf16":
        h = x.view(np.uint16)
        return ((h & 0x807F) | ((0x7C + (h >> 8 & 7)) << 7)).astype(np.uint16).view(np.uint32)
    if style == "f32":
        return (x & 0x807FFFFF) | ((0x7C + (x >> 24 & 7)) << 23)
    if style == "f64":
        high = (x & 0x800FFFFF) | ((0x3FC + (x >> 24 & 7)) << 20)
        return np.where(np.arange(count) % 2 == 1, high, x).astype(np.uint32)
    return x


STYLES = ["raw", "f16", "bf16", "f32", "f64"]


def fnv(image):
    value = 0xCBF29CE484222325
    for word in np.frombuffer(image, "<u8").tolist():
        value = (value ^ word) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return value


# A case: 16 words: c0..c4, o0..o2, shared offset, bytes, style of the stored tile, 0...
def kernel(name, instruction, is_load):
    setup = f"""
.visible .entry {name}(.param .u64 maps, .param .u64 cases, .param .u64 source, .param .u64 out) {{
.reg .b64 %m, %c, %s, %o, %t; .reg .b32 %i, %n, %b, %w, %y, %z, %r<16>; .reg .b16 %h<3>; .reg .pred %p, %q;
.shared .align 1024 .b8 tile[{TILE}];
.shared .align 8 .b8 bar[8];
mov.u32 %b, %ctaid.x; mov.u32 %i, %tid.x; setp.eq.u32 %p, %i, 0;
ld.param.u64 %m, [maps]; mad.wide.u32 %m, %b, 128, %m;
ld.param.u64 %c, [cases]; mad.wide.u32 %c, %b, 64, %c;
ld.param.u64 %s, [source]; ld.param.u64 %o, [out]; mad.wide.u32 %o, %b, {SLOT}, %o;
""" + "".join(f"ld.global.u32 %r{i}, [%c+{4 * i}];\n" for i in range(11)) + """
cvt.u16.u32 %h0, %r5; cvt.u16.u32 %h1, %r6; cvt.u16.u32 %h2, %r7;
mov.u32 %y, tile; add.u32 %r8, %r8, %y; mov.u32 %z, bar;
"""
    if not is_load:
        setup += f"mad.wide.u32 %s, %r10, {TILE}, %s;\n"
    fill = "mov.u32 %w, 0xA5A5A5A5;" if is_load else "mad.wide.u32 %t, %i, 4, %s; ld.global.u32 %w, [%t];"
    setup += f"""
FILL: {fill} mad.lo.u32 %n, %i, 4, %y; st.shared.u32 [%n], %w; add.u32 %i, %i, 128;
setp.lt.u32 %q, %i, {TILE // 4}; @%q bra FILL;
fence.proxy.async; @%p mbarrier.init.shared.b64 [%z], 1; fence.mbarrier_init.release.cluster; bar.sync 0;
@!%p bra DONE;
"""
    if is_load:
        setup += f"""
mbarrier.arrive.expect_tx.shared.b64 _, [%z], %r9;
{instruction}
mov.u32 %w, 0;
WAIT: mbarrier.test_wait.parity.shared.b64 %q, [%z], 0; add.u32 %w, %w, 1; @%q bra READY;
setp.lt.u32 %q, %w, 20000; @%q bra WAIT;
READY: nanosleep.u32 20000;
DONE: bar.sync 0; mov.u32 %i, %tid.x;
DUMP: mad.lo.u32 %n, %i, 4, %y; ld.shared.u32 %w, [%n]; mad.wide.u32 %t, %i, 4, %o; st.global.u32 [%t], %w;
add.u32 %i, %i, 128; setp.lt.u32 %q, %i, {TILE // 4}; @%q bra DUMP;
@%p mbarrier.inval.shared.b64 [%z]; @%p ld.shared.u64 %t, [%z]; @%p st.global.u64 [%o+{TILE}], %t;
ret; }}
"""
    else:
        setup += f"""
{instruction}
cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;
DONE: bar.sync 0; ret; }}
"""
    return setup


def coords(rank):
    return "{" + ", ".join(f"%r{i}" for i in range(rank)) + "}"


def load_text(rank, is_im2col):
    mode, tail = (".tile", "")
    if is_im2col:
        mode, tail = ".im2col", ", {" + ", ".join(f"%h{i}" for i in range(rank - 2)) + "}"
    return (f"cp.async.bulk.tensor.{rank}d.shared::cluster.global{mode}.mbarrier::complete_tx::bytes "
            f"[%r8], [%m, {coords(rank)}], [%z]{tail};")


def store_text(rank, is_im2col, op=None):
    mode = ".im2col_no_offs" if is_im2col else ".tile"
    head = f"cp.reduce.async.bulk.tensor.{rank}d.global.shared::cta.{op}" if op else \
        f"cp.async.bulk.tensor.{rank}d.global.shared::cta"
    return f"{head}{mode}.bulk_group [%m, {coords(rank)}], [%r8];"


REDUCTIONS = {"add": (2, 3, 4, 6, 7, 8, 9, 10, 11, 12), "min": (2, 3, 4, 5, 6, 9), "max": (2, 3, 4, 5, 6, 9),
              "inc": (2,), "dec": (2,), "and": (2, 3, 4), "or": (2, 3, 4), "xor": (2, 3, 4)}


class Copy:
    def __init__(self, kind, map_, c, o=(), dst=0, bytes_=0, style="raw", op=None):
        self.kind, self.map, self.c, self.o, self.dst, self.bytes = kind, map_, list(c), list(o), dst, bytes_
        self.style, self.op = style, op
        self.image = None

    def name(self):
        mode = "im2col" if self.map.im2col is not None else "tile"
        return f"{self.kind}_{len(self.c)}_{mode}" + (f"_{self.op}" if self.op else "")

    def text(self):
        is_im2col = self.map.im2col is not None
        if self.kind == "load":
            return load_text(len(self.c), is_im2col)
        return store_text(len(self.c), is_im2col, self.op)

    def words(self):
        def row(values):
            return ",".join(str(v) for v in values) or "-"
        return f"{self.name()} {self.style} {row(self.c)} {row(self.o)} {self.dst} {self.bytes} {self.map.words()}"


def steps(map_):
    """Elements that a copy takes along each dimension."""
    return [map_.box[0]] + [-(-b // s) for b, s in zip(map_.box[1:], map_.estr[1:])]


def style_of(rng, dtype):
    return FLOATS[dtype] if dtype in FLOATS and rng.random() < 0.7 else "raw"


def random_tiled(rng, dtype, is_load, room):
    es = SIZES[dtype]
    rank = rng.choice([1, 2, 2, 2, 3, 3, 4, 5])
    sw = rng.choice([0, 0, 1, 2, 3, 3])
    inner = rng.choice([x for x in (16, 32, 48, 64, 96, 112, 128, 256, 512) if sw == 0 or x <= SPAN[sw]])
    if inner // es > 256:
        inner = 256 * es
    unit = 16 // es
    dims = [max(1, inner // es + rng.choice([0, unit, -1, 3, 7 * unit, rng.randrange(-unit, 9 * unit)]))]
    box = [inner // es]
    estr = [rng.choice([1, 1, 2, 3])]
    pitch = SPAN[sw] or inner
    for _ in range(rank - 1):
        dims.append(rng.choice([1, 2, 3, 5, 9, 17, 33]))
        step = rng.choice([1, 1, 1, 1, 2, 3, 5, 8])
        most = max(1, min(256, TILE // 4 // pitch * step))
        box.append(rng.randrange(1, min(most, 24) + 1))
        estr.append(step)
        pitch *= -(-box[-1] // step)
    strides = []
    size = -(-dims[0] * es // 16) * 16 + rng.choice([0, 0, 16, 64])
    order = list(range(1, rank))
    if rng.random() < 0.2:
        rng.shuffle(order)
    at = {}
    for axis in order:
        at[axis] = size
        size *= dims[axis]
    strides = [at[axis] for axis in range(1, rank)]
    if is_load and strides and rng.random() < 0.15:
        strides[rng.randrange(len(strides))] = rng.choice([0, 16, 32])
    if size + 4096 > room:
        return None
    oob = 1 if is_load and dtype in FLOATS and rng.random() < 0.4 else 0
    return Map(dtype, dims, strides, box, estr, addr=16 * rng.randrange(0, 64), sw=sw, l2=rng.randrange(4), oob=oob)


def random_coordinate(rng, dim, extent, is_load):
    if not is_load:
        return rng.choice([0, 0, 1, rng.randrange(dim + 1), max(0, dim - extent), dim, dim + 5])
    return rng.choice([0, 0, 1, -1, -2, rng.randrange(-extent, dim + 1), max(0, dim - extent), dim - 1, dim, 1000000,
                       -2000000000])


def tile_copy(rng, dtype, kind, op=None):
    is_load = kind == "load"
    while True:
        map_ = random_tiled(rng, dtype, is_load, MEMORY if is_load else TILE)
        if map_ is not None:
            break
    es, unit = SIZES[dtype], 16 // SIZES[dtype]
    c = [random_coordinate(rng, -(-map_.dims[0] // unit), map_.box[0] // unit, is_load) * unit]
    c += [random_coordinate(rng, d, b, is_load) for d, b in zip(map_.dims[1:], map_.box[1:])]
    c[0] = max(-(1 << 31), min(c[0], (1 << 31) - 16))
    size = es
    for n in steps(map_):
        size *= n
    return Copy(kind, map_, c, (), rng.choice([0, 0, 128, 384, 1024, 2048]), size, style_of(rng, dtype), op)


def conv_copy(rng, dtype):
    es, unit = SIZES[dtype], 16 // SIZES[dtype]
    rank = rng.choice([3, 4, 4, 5])
    sw = rng.choice([0, 1, 2, 3])
    inner = rng.choice([x for x in (16, 32, 64, 128) if sw == 0 or x <= SPAN[sw]])
    while True:
        dims = [max(1, inner // es + rng.choice([0, unit, 3, -1]))]
        dims += [rng.randrange(3, 12) for _ in range(rank - 2)] + [rng.randrange(1, 4)]
        strides = dense(es, dims, rng.choice([0, 0, 16]))
        if strides[-1] * dims[-1] + 4096 < MEMORY:
            break
    low = [rng.randrange(-2, 1) for _ in range(rank - 2)]
    up = [rng.randrange(-2, 1) for _ in range(rank - 2)]
    pixels = rng.choice([1, 2, 5, 8, 16, 33])
    estr = [1] + [rng.choice([1, 1, 2, 3]) for _ in range(rank - 2)] + [1]
    map_ = Map(dtype, dims, strides, estr=estr, addr=16 * rng.randrange(0, 64), sw=sw,
               oob=1 if dtype in FLOATS and rng.random() < 0.3 else 0,
               im2col=(low, up, inner // es, pixels))
    c = [unit * rng.choice([0, 0, 1])]
    for axis in range(rank - 2):
        first, last = low[axis], dims[axis + 1] + up[axis]
        c.append(rng.randrange(first, last))
    c.append(rng.randrange(dims[-1]))
    o = [rng.randrange(3) for _ in range(rank - 2)]
    return Copy("load", map_, c, o, rng.choice([0, 128, 1024]), inner * pixels, style_of(rng, dtype))


def copies(rng, count):
    for dtype in range(13):
        for _ in range(count):
            yield tile_copy(rng, dtype, "load")
        for _ in range(count // 3):
            yield tile_copy(rng, dtype, "store")
            yield conv_copy(rng, dtype)
        for _ in range(count // 6):
            yield interleaved_copy(rng, dtype, "load")
        yield interleaved_copy(rng, dtype, "store")
    for op, types in REDUCTIONS.items():
        for dtype in types:
            for _ in range(max(2, count // 8)):
                yield tile_copy(rng, dtype, "reduce", op)


def run_copies(gpu, cases):
    """Leaves in each case the image of the memory that it writes, and its mbarrier; drops those that are refused."""
    memory = {s: pattern(s, MEMORY // 4).tobytes() for s in STYLES}
    tiles = b"".join(pattern(s, TILE // 4, 1 << 22).tobytes() for s in STYLES)
    at = {s: gpu.alloc(memory[s]) for s in STYLES}
    source = gpu.alloc(tiles)
    by_kernel = {}
    for case in cases:
        by_kernel.setdefault(case.name(), []).append(case)
    kernels = {name: kernel(name, group[0].text(), group[0].kind == "load") for name, group in by_kernel.items()}
    module = gpu.load(HEADER + "".join(kernels.values()))
    for name, group in sorted(by_kernel.items(), key=lambda item: ("im2col" in item[0], item[0])):
        is_load = group[0].kind == "load"
        kept = [case for case in group if case.map.encode(gpu)[0] == 0]
        images = bytes(len(kept) * SLOT) if is_load else \
            b"".join(memory[case.style][:TILE] + bytes(SLOT - TILE) for case in kept)
        if not kept:
            continue
        out = gpu.alloc(images)
        maps, rows = b"", []
        for i, case in enumerate(kept):
            maps += case.map.encode(gpu, at[case.style] if is_load else out + i * SLOT)[1]
            row = case.c + [0] * (5 - len(case.c)) + case.o + [0] * (3 - len(case.o))
            rows.append(row + [case.dst, case.bytes, STYLES.index(case.style)] + [0] * 5)
        table = np.array(rows, dtype=np.int64).astype(np.int32).tobytes()
        places = [gpu.alloc(maps), gpu.alloc(table)]
        try:
            gpu.start(module, name, places + [source, out], len(kept), 128)
        except RuntimeError as error:
            print(f"lost: {error}", file=sys.stderr)
            return
        image = gpu.read(out, len(kept) * SLOT)
        for i, case in enumerate(kept):
            case.image = image[i * SLOT:(i + 1) * SLOT]
        for place in places + [out]:
            gpu.free(place)


def interleaved_copy(rng, dtype, kind):
    """A copy by an interleaved map: dimension 0 counts units of 16 or 32 bytes, the last but one slices of channels, of
    which a copy takes one. The box or the channels of the map must be whole units all the same."""
    is_load = kind == "load"
    il = rng.choice([1, 2])
    unit, es = 16 * il, SIZES[dtype]
    rank = rng.choice([3, 4, 5])
    dims = [rng.choice([3, 7, 9])] + [rng.choice([2, 3, 5]) for _ in range(rank - 1)]
    strides = [-(-dims[0] * unit // 32) * 32 + rng.choice([0, 32])]
    for dim in dims[1:-1]:
        strides.append(strides[-1] * dim + rng.choice([0, 32]))
    sw = 1 if il == 2 else rng.choice([0, 1, 2, 3])
    args = dict(addr=32 * rng.randrange(32), il=il, sw=sw, oob=1 if is_load and dtype in FLOATS and rng.random() < 0.4 else 0)
    c = [rng.randrange(-3 if is_load else 0, d + 2) for d in dims]
    c[rank - 2] = rng.randrange(dims[rank - 2])
    if is_load and rng.random() < 0.4:
        low = [rng.randrange(-1, 1) for _ in range(rank - 2)]
        up = [rng.randrange(-1, 1) for _ in range(rank - 2)]
        pixels = rng.choice([1, 4, 7, 20])
        estr = [rng.choice([1, 1, 2]) for _ in range(rank - 2)] + [1, 1]
        map_ = Map(dtype, dims, strides, estr=estr, im2col=(low, up, rng.choice([16, 32, 64]), pixels), **args)
        c = [rng.randrange(low[i], dims[i] + up[i]) for i in range(rank - 2)] + c[rank - 2:rank - 1] + [rng.randrange(dims[-1])]
        return Copy(kind, map_, c, [rng.randrange(3) for _ in range(rank - 2)], rng.choice([0, 128]), pixels * unit,
                    "raw")
    box = [rng.choice([1, 2, 3]) * 16 // es] + [rng.choice([1, 2, 3]) for _ in range(rank - 1)]
    estr = [rng.choice([1, 1, 2, 3]) for _ in range(rank - 2)] + [1, rng.choice([1, 2])]
    size = unit
    for axis in range(rank):
        size *= -(-box[axis] // estr[axis]) if axis != rank - 2 else 1
    return Copy(kind, Map(dtype, dims, strides, box, estr, **args), c, (), rng.choice([0, 128, 256]), size, "raw")


def pixel_stores():
    """Stores and reductions in im2col mode; not all of them are legal, so each runs in a process of its own."""
    rng = random.Random("pixel stores")
    for i in range(72):
        rank = rng.choice([3, 4, 5])
        dtype = rng.choice([0, 1, 2, 6, 7])
        unit = 16 // SIZES[dtype]
        inner = unit * rng.choice([1, 2, 4])
        dims = [inner + rng.choice([0, 0, unit, 3])] + [rng.randrange(4, 8) for _ in range(rank - 2)] + [2]
        strides = dense(SIZES[dtype], dims, rng.choice([0, 0, 16]))
        if strides[-1] * dims[-1] + 1024 > TILE:
            continue
        low, up = [0] * (rank - 2), [0] * (rank - 2)
        if i % 4 in (1, 3):
            up = [rng.randrange(-2, 1) for _ in up]
        if i % 4 in (2, 3):
            low = [rng.randrange(0, 2) for _ in low]
        if i % 8 == 6:
            low = [-1 for _ in low]
        estr = [1] + [2 if i % 6 == 5 else 1] * (rank - 2) + [1]
        pixels = rng.choice([1, 2, 3, 8, 20])
        map_ = Map(dtype, dims, strides, estr=estr, addr=256, sw=rng.choice([0, 0, 3]) if inner * SIZES[dtype] <= 128 else 0,
                   im2col=(low, up, inner, pixels))
        c = [unit * rng.choice([0, 0, 1])]
        c += [max(0, rng.choice([low[k], rng.randrange(low[k], dims[k + 1] + up[k])])) for k in range(rank - 2)]
        c.append(rng.choice([0, 0, 1]))
        if i % 3 == 2 and dtype in (2, 6, 7):
            yield Copy("reduce", map_, c, (), 128, 0, FLOATS.get(dtype, "raw"), "add")
        else:
            yield Copy("store", map_, c, (), 128, 0, "raw")


def copy_section(gpu, count, full):
    cases = list(copies(random.Random("tensor copies"), count))
    run_copies(gpu, cases)
    singles = list(pixel_stores())
    outcomes = in_processes("--copy", len(singles), *(["--full", str(full)] if full else []))
    lines = []
    for i, case in enumerate(cases):
        if case.image is None:
            continue
        tail = "" if case.kind != "load" else f" {int.from_bytes(case.image[TILE:TILE + 8], 'little'):x}"
        lines.append(f"{case.words()} = {fnv(case.image[:TILE]):016x}{tail}")
        if full is not None and i % 10 == 0:
            (full / f"{len(lines)}.bin").write_bytes(case.image[:TILE])
    for case, outcome in zip(singles, outcomes):
        lines.append(f"{case.words()} = {outcome}")
    return lines


def run_single(index, full):
    case = list(pixel_stores())[index]
    gpu = Tensors()
    if case.map.encode(gpu)[0] != 0:
        print("refused")
        return
    run_copies(gpu, [case])
    if case.image is None:
        print(f"fault {gpu.cuda.cuCtxSynchronize()}")
        return
    print(f"{fnv(case.image[:TILE]):016x}")
    if full is not None:
        (full / f"single{index}.bin").write_bytes(case.image[:TILE])


def in_processes(flag, count, *more):
    """The last line of what this program prints with `flag N`, for each N below `count`."""
    def one(index):
        try:
            done = subprocess.run([sys.executable, __file__, flag, str(index), *more], capture_output=True, text=True,
                                  timeout=60)
            return (done.stdout.strip() or done.stderr.strip() or "nothing").splitlines()[-1]
        except subprocess.TimeoutExpired:
            return "timeout"
    with concurrent.futures.ThreadPoolExecutor(12) as pool:
        return list(pool.map(one, range(count)))


# -- What the card refuses ----------------------------------------------------------------------------------------
def faults():
    """Name and case; each is run in a process of its own."""
    out = []
    def add(name, case):
        out.append((name, case))
    base = dict(dims=[64, 32, 8], strides=[256, 8192], box=[32, 4, 2], addr=0)
    for es_type in (0, 6, 7, 8):
        for c0 in (-1, 1, 3, 16 // SIZES[es_type] // 2):
            if c0 * SIZES[es_type] % 16:
                for kind in ("load", "store"):
                    add(f"{kind} type {es_type} inner coordinate {c0}",
                        Copy(kind, Map(es_type, [64, 32], [512], [32 // SIZES[es_type], 4], addr=0), [c0, 0], bytes_=128))
    for axis in range(3):
        c = [0, 0, 0]
        c[axis] = -1 if axis else -8
        add(f"store coordinate {axis} negative", Copy("store", Map(6, **base), c))
        add(f"reduce coordinate {axis} negative", Copy("reduce", Map(6, **base), c, op="add"))
    add("store fully past the end", Copy("store", Map(6, **base), [0, 1000, 0]))
    for dst in (16, 32, 64):
        add(f"load destination {dst}", Copy("load", Map(6, **base), [0, 0, 0], dst=dst, bytes_=512))
        add(f"store source {dst}", Copy("store", Map(6, **base), [0, 0, 0], dst=dst, bytes_=512))
    for op, types in REDUCTIONS.items():
        for dtype in range(13):
            if dtype not in types:
                add(f"reduce {op} type {dtype}",
                    Copy("reduce", Map(dtype, [64, 8], [512], [16 // SIZES[dtype], 4], addr=0), [0, 0], op=op))
    add("load map of rank 3 by 2d", Copy("load", Map(6, **base), [0, 0], bytes_=512))
    add("load map of rank 3 by 4d", Copy("load", Map(6, **base), [0, 0, 0, 0], bytes_=512))
    conv = Map(6, [64, 20, 12, 4], [128, 2560, 30720], addr=0, im2col=([0, 0], [0, 0], 16, 8))
    far = Map(6, [64, 20, 12, 4], [128, 2560, 1 << 39], addr=0, im2col=([0, 0], [0, 0], 16, 8))
    tile4 = Map(6, [64, 20, 12, 4], [128, 2560, 30720], [16, 4, 2, 1], addr=0)
    for image in (-1, 4):
        add(f"im2col load of image {image}, far away", Copy("load", far, [0, 0, 0, image], [0, 0], bytes_=256))
    add("im2col load of image 3 with offsets outside, far away", Copy("load", far, [0, 15, 0, 3], [15, 0], bytes_=256))
    add("tile load far away, outside", Copy("load", Map(6, [64, 20, 4], [128, 1 << 39], [16, 4, 1], addr=0), [0, 0, -1],
                                            bytes_=128))
    add("im2col store whose box ends past the tensor",
        Copy("store", Map(6, [16, 5, 5, 2], [32, 160, 800], addr=0, im2col=([0, 0], [2, 2], 16, 8)), [0, 3, 0, 0]))
    wrong = Copy("load", conv, [0, 0, 0, 0], [0, 0], bytes_=256)
    wrong.text = lambda: load_text(4, False)
    add("tile load with an im2col map", wrong)
    wrong2 = Copy("load", tile4, [0, 0, 0, 0], [0, 0], bytes_=256)
    wrong2.text = lambda: load_text(4, True)
    add("im2col load with a tiled map", wrong2)
    wrong3 = Copy("store", conv, [0, 0, 0, 0])
    wrong3.text = lambda: store_text(4, False)
    add("tile store with an im2col map", wrong3)
    for axis, c in ((0, -8), (1, -1), (2, -1), (3, -1)):
        at = [0, 0, 0, 0]
        at[axis] = c
        add(f"im2col store coordinate {axis} negative", Copy("store", conv, at))
        add(f"im2col load coordinate {axis} negative", Copy("load", conv, at, [0, 0], bytes_=256))
    outside = [0, 25, 0, 0]
    add("im2col load starts past the box", Copy("load", conv, outside, [0, 0], bytes_=256))
    add("im2col store starts past the box", Copy("store", conv, outside))
    broken = Copy("load", Map(6, **base), [0, 0, 0], bytes_=512)
    broken.damage = lambda image: bytes(128)
    add("load with a map of zeros", broken)
    ones = Copy("load", Map(6, **base), [0, 0, 0], bytes_=512)
    ones.damage = lambda image: b"\xff" * 128
    add("load with a map of ones", ones)
    wild = Copy("load", Map(6, **{**base, "addr": 1 << 44}), [0, 0, 0], bytes_=512)
    wild.damage = lambda image: image
    add("load from an unmapped address", wild)
    lost = Copy("store", Map(6, **{**base, "addr": 1 << 44}), [0, 0, 0])
    lost.damage = lambda image: image
    add("store to an unmapped address", lost)
    past = Copy("load", Map(6, **base), [0, 0, 0], dst=TILE + 256 * 1024, bytes_=512)
    add("load to a shared address outside of the window", past)
    for text, name in (("cp.async.bulk.prefetch.tensor.3d.L2.global.tile [%m, {%r0, %r1, %r2}];", "prefetch"),):
        for c in ([0, 0, 0], [1, 0, 0], [-8, 0, 0], [0, -1, 0], [0, 1000, 0]):
            case = Copy("store", Map(6, **base), c)
            case.text = lambda text=text: text
            add(f"{name} at {c[0]},{c[1]},{c[2]}", case)
    return out


def run_fault(index):
    gpu = Tensors()
    _, case = faults()[index]
    memory = gpu.alloc(pattern(case.style, MEMORY // 4).tobytes())
    code, image = case.map.encode(gpu, memory)
    if code != 0:
        print("encode", code)
        return
    if hasattr(case, "damage"):
        image = case.damage(case.map.encode(gpu, 0)[1])
    row = case.c + [0] * (5 - len(case.c)) + case.o + [0] * (3 - len(case.o)) + [case.dst, case.bytes, 0] + [0] * 5
    places = [gpu.alloc(image), gpu.alloc(np.array(row, dtype=np.int32).tobytes()), gpu.alloc(bytes(6 * TILE)),
              gpu.alloc(bytes(SLOT))]
    try:
        module = gpu.load(HEADER + kernel("k", case.text(), case.kind == "load"))
    except RuntimeError as error:
        print("assemble", error)
        return
    gpu.start(module, "k", places, 1, 128, check=False)
    print("code", gpu.cuda.cuCtxSynchronize())


def fault_section():
    """A line for each ordinary copy; what is wrong in another way than by map, coordinates and place is a comment."""
    lines = []
    for (name, case), outcome in zip(faults(), in_processes("--fault", len(faults()))):
        is_special = hasattr(case, "damage") or "text" in vars(case) or case.dst >= TILE
        lines.append(f"# {name}: {outcome}" if is_special else f"{case.words()} = {outcome.removeprefix('code ')}")
    return lines


# -- The driver ---------------------------------------------------------------------------------------------------
class Tensors(Gpu):
    def load(self, ptx):
        module = ctypes.c_void_p()
        log = ctypes.create_string_buffer(8192)
        options = (ctypes.c_int * 2)(5, 6)  # CU_JIT_ERROR_LOG_BUFFER and its size
        values = (ctypes.c_void_p * 2)(ctypes.cast(log, ctypes.c_void_p), 8192)
        code = self.cuda.cuModuleLoadDataEx(ctypes.byref(module), ptx.encode() + b"\0", 2, options, values)
        if code != 0:
            raise RuntimeError(f"cuModuleLoadDataEx: error {code}: {log.value.decode()[:400]}")
        return module

    def alloc(self, data):
        place = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(place), ctypes.c_size_t(len(data)))
        self.call("cuMemcpyHtoD_v2", place, data, ctypes.c_size_t(len(data)))
        return place.value

    def read(self, place, size):
        out = ctypes.create_string_buffer(size)
        self.call("cuMemcpyDtoH_v2", out, ctypes.c_uint64(place), ctypes.c_size_t(size))
        return out.raw

    def free(self, place):
        self.call("cuMemFree_v2", ctypes.c_uint64(place))

    def start(self, module, name, pointers, grid, block, check=True):
        function = ctypes.c_void_p()
        self.call("cuModuleGetFunction", ctypes.byref(function), module, name.encode())
        values = [ctypes.c_uint64(p) for p in pointers]
        params = (ctypes.c_void_p * len(values))(*[ctypes.cast(ctypes.byref(v), ctypes.c_void_p) for v in values])
        self.call("cuLaunchKernel", function, grid, 1, 1, block, 1, 1, 0, None, params, None)
        if check:
            code = self.cuda.cuCtxSynchronize()
            if code != 0:
                raise RuntimeError(f"{name}: error {code}")

    def launch(self, module, name, inputs, size, grid, block, inout=False):
        places = [self.alloc(data) for data in inputs]
        self.start(module, name, places, grid, block)
        out = self.read(places[-1], size)
        for place in places:
            self.free(place)
        return out


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path(__file__).parent.parent / "tests" / "vectors")
    parser.add_argument("--full", type=pathlib.Path, help="keep more maps, and whole images of some copies, here")
    parser.add_argument("--count", type=int, default=24, help="copies per element type")
    parser.add_argument("--fault", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--copy", type=int, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.fault is not None:
        run_fault(args.fault)
        return
    if args.copy is not None:
        run_single(args.copy, args.full)
        return
    for folder in (args.out, args.full):
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
    gpu = Tensors()
    head = ["# tools/refresh_tensor_vectors.py made it.", f"stamp {gpu.stamp}"]
    def write(name, lines):
        (args.out / name).write_text("\n".join(head + lines) + "\n")
    write("tensor_map.vec", encode_section(gpu, args.full is not None))
    write("tensor_replace.vec", replace_section(gpu))
    write("tensor_fault.vec", fault_section())
    write("tensor_copy.vec", copy_section(gpu, args.count, args.full))
    print("stamp:", gpu.stamp)


if __name__ == "__main__":
    main()
