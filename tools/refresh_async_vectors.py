#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs kernels with clusters, mbarriers, bulk copies and atomics on the GPU of this machine and writes what they leave.

    tools/refresh_async_vectors.py [--out DIR]

Needs the CUDA driver and a GPU of compute capability 9.0. In tests/vectors/async.vec there is one section per kernel:
its grid and block, the whole PTX text, the words of `in` (unless they are the default ones), and the words of `out`
after the run, which started from zeros. Cluster dimensions stand in the PTX as `.reqnctapercluster`.
"""

import argparse
import ctypes
import multiprocessing
import pathlib
import random
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from refresh_vectors import Gpu  # noqa: E402

IN_WORDS = 1024
OUT_WORDS = 768
HEADER = ".version 8.7\n.target sm_90a\n.address_size 64\n"
SHARED = """.shared .align 8 .b64 bar[8];
.shared .align 128 .b8 tile[8192];
.shared .align 16 .b32 word;
"""
REGISTERS = """.reg .b64 %rd<32>, %in, %out, %mine;
.reg .b32 %r<40>, %t;
.reg .b16 %h<16>;
.reg .pred %p<8>;
ld.param.u64 %in, [in];
ld.param.u64 %out, [out];
mov.u32 %t, %tid.x;
mad.wide.u32 %mine, %t, 4, %out;
"""
BARRIER = "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;"


class ClearedGpu(Gpu):
    """Runs `k(in, out)` with `out` zero at the start."""

    def run(self, ptx, data, out_size, grid, block):
        module, kernel = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuModuleLoadData", ctypes.byref(module), ptx.encode() + b"\0")
        self.call("cuModuleGetFunction", ctypes.byref(kernel), module, b"k")
        a, b = ctypes.c_uint64(), ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(a), ctypes.c_size_t(len(data)))
        self.call("cuMemAlloc_v2", ctypes.byref(b), ctypes.c_size_t(out_size))
        self.call("cuMemcpyHtoD_v2", a, data, ctypes.c_size_t(len(data)))
        self.call("cuMemsetD8_v2", b, ctypes.c_ubyte(0), ctypes.c_size_t(out_size))
        params = (ctypes.c_void_p * 2)(*[ctypes.cast(ctypes.byref(x), ctypes.c_void_p) for x in (a, b)])
        self.call("cuLaunchKernel", kernel, grid, 1, 1, block, 1, 1, 0, None, params, None)
        out = ctypes.create_string_buffer(out_size)
        self.call("cuMemcpyDtoH_v2", out, b, ctypes.c_size_t(out_size))
        for address in (a, b):
            self.call("cuMemFree_v2", address)
        self.call("cuModuleUnload", module)
        return out.raw


def default_word(i):
    return (i * 2654435761 + 12345) & 0xFFFFFFFF


class Kernel:
    def __init__(self, name, body, grid=1, block=32, cluster=None, words=None, out=OUT_WORDS):
        self.name, self.grid, self.block, self.words, self.out = name, grid, block, words, out
        directive = f".reqnctapercluster {cluster}, 1, 1\n" if cluster else ""
        self.ptx = (HEADER + SHARED + ".visible .entry k(.param .u64 in, .param .u64 out)\n" + directive + "{\n"
                    + REGISTERS + body.strip() + "\nret;\n}\n")
        self.ptx = "\n".join(line.strip() for line in self.ptx.splitlines() if line.strip()) + "\n"

    def inputs(self):
        return self.words or [default_word(i) for i in range(IN_WORDS)]


# -- One thread and one mbarrier -----------------------------------------------------------------------------------
class Model:
    """Enough of an mbarrier to draw operations that the hardware takes."""

    def __init__(self, count):
        self.expected = self.pending = count
        self.tx = self.phase = 0

    def settle(self):
        if self.pending == 0 and self.tx == 0:
            self.phase += 1
            self.pending = self.expected


def mbarrier_sequence(rng, name):
    model = Model(rng.choice([1, 2, 3, 5, 100, 1 << 19, (1 << 20) - 1]))
    lines = ["setp.ne.u32 %p7, %t, 0;", "@%p7 bra DONE;", "mov.u32 %r1, bar;",
             f"mbarrier.init.shared.b64 [%r1], {model.expected};"]
    at, token_phase = 0, None

    def emit(register):
        nonlocal at
        lines.append(f"st.global.b32 [%out+{at}], {register};")
        at += 4

    for _ in range(24):
        op = rng.choice(["arrive", "arrive", "count", "count", "expect", "complete", "both", "drop", "nocomplete",
                         "parity", "token", "pending"])
        count, size = None, rng.choice([0, 1, 16, 4096, 65536])
        if op in ("arrive", "count", "both", "drop", "nocomplete"):
            if model.pending == 0:
                op = "expect"
            else:
                count = 1 if op in ("arrive", "both") else rng.randint(1, min(model.pending, 1 << 19))
                if op == "count" and rng.random() < 0.4:
                    count = model.pending
                if op == "nocomplete" and count == model.pending:
                    op, count = "arrive", 1
                if op == "drop" and model.expected - count < 1:
                    op, count = "arrive", 1
        phase = model.phase
        if op in ("arrive", "count", "drop", "nocomplete", "both"):
            form = {"arrive": "arrive", "count": "arrive", "drop": "arrive_drop", "nocomplete": "arrive.noComplete",
                    "both": "arrive.expect_tx"}[op]
            if op == "both" and abs(model.tx + size) >= 1 << 20:
                size = 0
            operand = f", {size}" if op == "both" else "" if op == "arrive" else f", {count}"
            lines.append(f"mbarrier.{form}.shared.b64 %rd1, [%r1]{operand};")
            lines.append("shr.u64 %rd3, %rd1, 32;")
            lines.append("cvt.u32.u64 %r2, %rd3;")
            # Phase and pending arrivals. ptxas may merge `expect_tx` with an `arrive.expect_tx` that follows, so that
            # the pending bytes of a token are not what the text says; it also makes a few of these kernels fault.
            lines.append("and.b32 %r2, %r2, 0xfffff800;")
            emit("%r2")
            token_phase = phase
            if op == "drop":
                model.expected -= count
            if op == "both":
                model.tx += size
            model.pending -= count
        elif op in ("expect", "complete"):
            sign = 1 if op == "expect" else -1
            if abs(model.tx) >= 16 and rng.random() < 0.7 and abs(model.tx) < 1 << 20:
                op, sign, size = ("complete", -1, model.tx) if model.tx > 0 else ("expect", 1, -model.tx)
            if abs(model.tx + sign * size) >= 1 << 20:
                size = 0
            lines.append(f"mbarrier.{op}_tx.shared.b64 [%r1], {size};")
            model.tx += sign * size
        elif op == "parity":
            for parity in (0, 1):
                lines.append(f"mbarrier.test_wait.parity.shared.b64 %p1, [%r1], {parity};")
                lines.append("selp.u32 %r2, 1, 0, %p1;")
                emit("%r2")
        elif op == "token" and token_phase is not None and model.phase - token_phase <= 1:
            lines.append("mbarrier.test_wait.shared.b64 %p1, [%r1], %rd1;")
            lines.append("selp.u32 %r2, 1, 0, %p1;")
            emit("%r2")
        elif op == "pending" and token_phase is not None:
            lines.append("mbarrier.pending_count.b64 %r2, %rd1;")
            emit("%r2")
        model.settle()
    lines += ["mbarrier.inval.shared.b64 [%r1];", "ld.shared.v2.b32 {%r2, %r3}, [%r1];"]
    emit("%r2")
    emit("%r3")
    lines.append("DONE:")
    return Kernel(name, "\n".join(lines), out=128)


# -- Bulk copies ---------------------------------------------------------------------------------------------------
def pipeline(stages, tiles, wait, bytes_):
    setup = "".join(f"mbarrier.init.shared.b64 [%r1+{8 * s}], 1;\nmbarrier.init.shared.b64 [%r1+{8 * (s + 4)}], 32;\n"
                    for s in range(stages))
    return Kernel(f"pipeline_{stages}_{tiles}_{wait}_{bytes_}", f"""
        mov.u32 %r1, bar;
        mov.u32 %r3, tile;
        setp.eq.u32 %p1, %t, 0;
        @!%p1 bra STARTED;
        {setup}
        fence.mbarrier_init.release.cluster;
      STARTED:
        bar.sync 0;
        mov.u32 %r4, 0;
        mov.u32 %r12, 0;
        setp.ge.u32 %p2, %t, 32;
        @%p2 bra CONSUME;
        @!%p1 bra END;
      PRODUCE:
        rem.u32 %r5, %r4, {stages};
        div.u32 %r6, %r4, {stages};
        and.b32 %r6, %r6, 1;
        xor.b32 %r6, %r6, 1;
        mad.lo.u32 %r8, %r5, 8, %r1;
      W1:
        mbarrier.{wait}.parity.shared.b64 %p5, [%r8+32], %r6;
        @!%p5 bra W1;
        mbarrier.arrive.expect_tx.shared.b64 _, [%r8], {bytes_};
        mad.lo.u32 %r9, %r5, {bytes_}, %r3;
        mad.wide.u32 %rd1, %r4, {bytes_}, %in;
        cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r9], [%rd1], {bytes_}, [%r8];
        add.u32 %r4, %r4, 1;
        setp.lt.u32 %p4, %r4, {tiles};
        @%p4 bra PRODUCE;
        bra END;
      CONSUME:
        rem.u32 %r5, %r4, {stages};
        div.u32 %r6, %r4, {stages};
        and.b32 %r6, %r6, 1;
        mad.lo.u32 %r8, %r5, 8, %r1;
      W2:
        mbarrier.{wait}.parity.shared.b64 %p5, [%r8], %r6;
        @!%p5 bra W2;
        mad.lo.u32 %r9, %r5, {bytes_}, %r3;
        sub.u32 %r10, %t, 32;
        mad.lo.u32 %r9, %r10, 4, %r9;
        ld.shared.b32 %r11, [%r9];
        mad.lo.u32 %r12, %r12, 3, %r11;
        mbarrier.arrive.shared.b64 _, [%r8+32];
        add.u32 %r4, %r4, 1;
        setp.lt.u32 %p4, %r4, {tiles};
        @%p4 bra CONSUME;
        st.global.b32 [%mine], %r12;
      END:
        bar.sync 0;
    """, block=64, out=64)


SPECIAL = {
    "u32": [0, 1, 2, 7, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFE, 0xFFFFFFFF],
    "f32": [0, 0x80000000, 1, 0x80000001, 0x007FFFFF, 0x00800000, 0x3F800000, 0xBF800000, 0x33800000, 0x7F7FFFFF,
            0x7F800000, 0xFF800000, 0x7FC00000, 0x7F800001, 0xFFC12345, 0x40490FDB],
    "f16": [0, 0x8000, 1, 0x8001, 0x03FF, 0x0400, 0x3C00, 0xBC00, 0x1000, 0x7BFF, 0x7C00, 0xFC00, 0x7E00, 0x7C01, 0xFE12,
            0x4248],
    "bf16": [0, 0x8000, 1, 0x8001, 0x007F, 0x0080, 0x3F80, 0xBF80, 0x3380, 0x7F7F, 0x7F80, 0xFF80, 0x7FC0, 0x7F81,
             0xFFC1, 0x4049],
}


def pairs(kind, rng, count):
    """`count` words to start from and `count` to reduce into them, special values against each other first."""
    def word():
        if kind in ("f16", "bf16"):
            return rng.choice(SPECIAL[kind]) | rng.choice(SPECIAL[kind]) << 16
        special = SPECIAL.get(kind, SPECIAL["u32"])
        return rng.choice(special) if rng.random() < 0.6 else rng.getrandbits(32)
    return [word() for _ in range(2 * count)]


BULK_OPS = [(op, t) for t in ("u32", "s32", "u64") for op in ("add", "min", "max")] + [
    ("min", "s64"), ("max", "s64"), ("inc", "u32"), ("dec", "u32"), ("and", "b32"), ("or", "b32"), ("xor", "b32"),
    ("and", "b64"), ("or", "b64"), ("xor", "b64"), ("add", "f32"), ("add.noftz", "f16"), ("add.noftz", "bf16"),
    ("min", "f16"), ("max", "f16"), ("min", "bf16"), ("max", "bf16"), ("add", "f64")]


def bulk_reduce(op, kind, rng):
    words = 64
    data = pairs("f32" if kind == "f32" else kind if kind in ("f16", "bf16") else "u32", rng, words)
    if kind == "f64":
        data = [w for _ in range(words) for w in struct.unpack("<2I", struct.pack("<d", rng.uniform(-4, 4)))][:2 * words]
    return Kernel(f"bulk_reduce_{op}_{kind}", f"""
        mov.u32 %r2, tile;
        mad.lo.u32 %r3, %t, 4, %r2;
        mad.wide.u32 %rd1, %t, 4, %in;
        ld.global.b32 %r4, [%rd1];
        st.global.b32 [%mine], %r4;
        ld.global.b32 %r5, [%rd1+{4 * words}];
        st.shared.b32 [%r3], %r5;
        fence.proxy.async;
        bar.sync 0;
        setp.ne.u32 %p1, %t, 0;
        @%p1 bra DONE;
        cp.reduce.async.bulk.global.shared::cta.bulk_group.{op}.{kind} [%out], [%r2], {4 * words};
        cp.async.bulk.commit_group;
        cp.async.bulk.wait_group 0;
      DONE:
        bar.sync 0;
    """, block=words, words=data, out=words)


# -- Atomics -------------------------------------------------------------------------------------------------------
def atomic(name, form, kind, registers, rng, returns, space="global"):
    """Each thread updates `registers` words of its own."""
    block = 64
    words = block * registers
    data = pairs(kind, rng, words)
    values = [f"%r{10 + i}" for i in range(registers)]
    olds = [f"%r{20 + i}" for i in range(registers)]
    vector = registers > 1
    group = (lambda r: "{" + ", ".join(r) + "}") if vector else (lambda r: r[0])
    suffix = f".v{registers}" if vector else ""
    address = "%rd3" if space == "global" else "%r3"
    place = (f"mad.wide.u32 %rd3, %t, {4 * registers}, %out;" if space == "global"
             else f"mad.lo.u32 %r3, %t, {4 * registers}, %r2;")
    result = group(olds) + ", " if returns else ""
    return Kernel(f"{name}", f"""
        mov.u32 %r2, tile;
        mad.wide.u32 %rd1, %t, {4 * registers}, %in;
        ld.global{suffix}.b32 {group(olds)}, [%rd1];
        ld.global{suffix}.b32 {group(values)}, [%rd1+{4 * words}];
        {place}
        st.{space}{suffix}.b32 [{address}], {group(olds)};
        {form} {result}[{address}], {group(values)};
        mad.wide.u32 %rd4, %t, {4 * registers}, %out;
        ld.{space}{suffix}.b32 {group(values)}, [{address}];
        st.global{suffix}.b32 [%rd4], {group(values)};
        {f"st.global{suffix}.b32 [%rd4+{4 * words}], {group(olds)};" if returns else ""}
    """, block=block, words=data, out=2 * words)


# -- Clusters ------------------------------------------------------------------------------------------------------
def cluster_kernels():
    for size in (1, 2, 4, 8):
        yield Kernel(f"registers_{size}", """
            mov.u32 %r1, %ctaid.x;
            mad.wide.u32 %rd1, %r1, 64, %out;
            mov.u32 %r2, %clusterid.x;
            mov.u32 %r3, %nclusterid.x;
            mov.u32 %r4, %cluster_ctaid.x;
            mov.u32 %r5, %cluster_nctaid.x;
            mov.u32 %r6, %cluster_ctarank;
            mov.u32 %r7, %cluster_nctarank;
            mov.pred %p1, %is_explicit_cluster;
            selp.u32 %r8, 1, 0, %p1;
            st.global.v4.b32 [%rd1], {%r2, %r3, %r4, %r5};
            st.global.v4.b32 [%rd1+16], {%r6, %r7, %r8, %r1};
            mov.u32 %r9, word;
            shr.u32 %r10, %r9, 24;
            sub.u32 %r11, %r7, 1;
            mapa.shared::cluster.u32 %r12, %r9, %r11;
            sub.u32 %r13, %r12, %r9;
            getctarank.shared::cluster.u32 %r14, %r12;
            cvta.shared.u64 %rd2, word;
            mapa.u64 %rd3, %rd2, %r11;
            sub.u64 %rd4, %rd3, %rd2;
            cvt.u32.u64 %r15, %rd4;
            isspacep.shared %p2, %rd3;
            isspacep.shared::cta %p3, %rd3;
            isspacep.shared::cluster %p4, %rd3;
            isspacep.global %p5, %rd3;
            selp.u32 %r16, 1, 0, %p2;
            selp.u32 %r17, 2, 0, %p3;
            selp.u32 %r18, 4, 0, %p4;
            selp.u32 %r19, 8, 0, %p5;
            add.u32 %r16, %r16, %r17;
            add.u32 %r16, %r16, %r18;
            add.u32 %r16, %r16, %r19;
            st.global.v4.b32 [%rd1+32], {%r10, %r13, %r14, %r15};
            st.global.b32 [%rd1+48], %r16;
        """, grid=8, block=1, cluster=size, out=128)
        yield Kernel(f"reduction_{size}", f"""
            mov.u32 %r1, %ctaid.x;
            mad.lo.u32 %r2, %r1, 64, %t;
            mad.wide.u32 %rd1, %r2, 4, %in;
            ld.global.b32 %r3, [%rd1];
            mov.u32 %r4, tile;
            mad.lo.u32 %r5, %t, 4, %r4;
            st.shared.b32 [%r5], %r3;
            {BARRIER}
            mov.u32 %r6, 0;
            mov.u32 %r7, 0;
          LOOP:
            mapa.shared::cluster.u32 %r8, %r5, %r6;
            ld.shared::cluster.b32 %r9, [%r8];
            mad.lo.u32 %r7, %r7, 5, %r9;
            add.u32 %r6, %r6, 1;
            setp.lt.u32 %p1, %r6, {size};
            @%p1 bra LOOP;
            {BARRIER}
            mad.wide.u32 %rd2, %r2, 4, %out;
            st.global.b32 [%rd2], %r7;
        """, grid=8, block=64, cluster=size, out=512)
    for mask in (1, 2, 5, 10, 15):
        yield Kernel(f"multicast_{mask}", f"""
            mov.u32 %r1, %cluster_ctarank;
            mov.u32 %r2, bar;
            mov.u32 %r3, tile;
            mad.lo.u32 %r4, %t, 4, %r3;
            st.shared.b32 [%r4], 77;
            setp.eq.u32 %p1, %t, 0;
            @%p1 mbarrier.init.shared.b64 [%r2], 1;
            @%p1 mbarrier.arrive.expect_tx.shared.b64 _, [%r2], 128;
            fence.mbarrier_init.release.cluster;
            fence.proxy.async;
            {BARRIER}
            setp.eq.u32 %p2, %r1, 3;
            and.pred %p2, %p2, %p1;
            mov.u16 %h1, {mask};
            @%p2 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r3], [%in], 128, [%r2], %h1;
            mov.u32 %r5, 1;
            shl.b32 %r5, %r5, %r1;
            and.b32 %r5, %r5, {mask};
            setp.eq.u32 %p3, %r5, 0;
            @%p3 bra READ;
          W:
            mbarrier.try_wait.parity.shared.b64 %p4, [%r2], 0;
            @!%p4 bra W;
          READ:
            {BARRIER}
            ld.shared.b32 %r6, [%r4];
            mad.lo.u32 %r7, %r1, 64, %t;
            mad.wide.u32 %rd1, %r7, 4, %out;
            st.global.b32 [%rd1], %r6;
        """, grid=4, block=64, cluster=4, out=256)
    sends = [("st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%r4], %r6, [%r5];", 4),
             ("st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 [%r4], {%r6, %r7}, [%r5];", 8),
             ("st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%r4], {%r6, %r7, %r6, %r7}, [%r5];", 16),
             ("st.async.shared::cluster.mbarrier::complete_tx::bytes.b64 [%r4], %rd7, [%r5];", 8)]
    sends += [(f"red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.{op}.{t} [%r4], %r6, [%r5];", 4)
              for op, t in (("add", "u32"), ("add", "s32"), ("min", "s32"), ("max", "u32"), ("inc", "u32"),
                            ("dec", "u32"), ("and", "b32"), ("or", "b32"), ("xor", "b32"))]
    sends += [("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u64 [%r4], %rd7, [%r5];", 8),
              ("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r4], [%r3+64], 64, [%r5];", 64)]
    sends += [(f"cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.{op}.{t} [%r4], [%r3+64], 64, [%r5];", 64)
              for op, t in (("add", "u32"), ("add", "u64"), ("min", "s32"), ("max", "u32"), ("inc", "u32"),
                            ("dec", "u32"), ("and", "b32"), ("or", "b32"), ("xor", "b32"))]
    for number, (instruction, size) in enumerate(sends):
        yield Kernel(f"send_{number}", f"""
            mov.u32 %r1, %cluster_ctarank;
            mov.u32 %r2, bar;
            mov.u32 %r3, tile;
            mad.lo.u32 %r9, %t, 4, %r3;
            mad.lo.u32 %r10, %r1, 64, %t;
            mad.wide.u32 %rd1, %r10, 4, %in;
            ld.global.b32 %r11, [%rd1];
            st.shared.b32 [%r9], %r11;
            setp.eq.u32 %p1, %t, 0;
            @%p1 mbarrier.init.shared.b64 [%r2], 1;
            @%p1 mbarrier.arrive.expect_tx.shared.b64 _, [%r2], {size};
            fence.mbarrier_init.release.cluster;
            fence.proxy.async;
            {BARRIER}
            mapa.shared::cluster.u32 %r4, %r3, 1;
            mapa.shared::cluster.u32 %r5, %r2, 1;
            setp.eq.u32 %p2, %r1, 0;
            and.pred %p2, %p2, %p1;
            mov.u32 %r6, 1234567;
            mov.u32 %r7, 0x89abcdef;
            mov.b64 %rd7, {{%r6, %r7}};
            @%p2 {instruction}
            mov.u32 %r6, 0;
            setp.ne.u32 %p3, %r1, 1;
            @%p3 bra END;
          W:
            mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p4, [%r2], 0;
            @!%p4 bra W;
            ld.shared.b32 %r8, [%r9];
            st.global.b32 [%mine], %r8;
          END:
            {BARRIER}
        """, grid=2, block=64, cluster=2, out=64)
    yield Kernel("remote_atomics", f"""
        mov.u32 %r1, %cluster_ctarank;
        mov.u32 %r2, tile;
        mad.lo.u32 %r3, %t, 4, %r2;
        st.shared.b32 [%r3], %t;
        {BARRIER}
        add.u32 %r4, %r1, 1;
        and.b32 %r4, %r4, 3;
        mapa.shared::cluster.u32 %r5, %r3, %r4;
        atom.shared::cluster.add.u32 %r6, [%r5], 100;
        cvta.shared.u64 %rd1, tile;
        mapa.u64 %rd2, %rd1, %r4;
        mad.wide.u32 %rd2, %t, 4, %rd2;
        atom.max.u32 %r7, [%rd2], 120;
        red.shared::cluster.xor.b32 [%r5], %r4;
        {BARRIER}
        ld.shared.b32 %r8, [%r3];
        mad.lo.u32 %r9, %r1, 64, %t;
        mul.wide.u32 %rd3, %r9, 4;
        add.u64 %rd4, %out, %rd3;
        st.global.b32 [%rd4], %r8;
        st.global.b32 [%rd4+1024], %r6;
        st.global.b32 [%rd4+2048], %r7;
    """, grid=4, block=64, cluster=4)
    yield Kernel("remote_arrivals", f"""
        mov.u32 %r1, %cluster_ctarank;
        mov.u32 %r2, bar;
        mov.u32 %r3, tile;
        setp.eq.u32 %p1, %t, 0;
        @%p1 mbarrier.init.shared.b64 [%r2], 256;
        fence.mbarrier_init.release.cluster;
        {BARRIER}
        mad.lo.u32 %r4, %r1, 64, %t;
        mad.lo.u32 %r5, %r4, 4, %r3;
        mapa.shared::cluster.u32 %r6, %r5, 2;
        mul.lo.u32 %r7, %r4, 17;
        st.shared::cluster.b32 [%r6], %r7;
        mapa.shared::cluster.u32 %r8, %r2, 2;
        mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r8];
        setp.ne.u32 %p2, %r1, 2;
        @%p2 bra END;
      W:
        mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p3, [%r2], 0;
        @!%p3 bra W;
        mad.lo.u32 %r9, %t, 16, %r3;
        ld.shared.v4.b32 {{%r10, %r11, %r12, %r13}}, [%r9];
        mad.wide.u32 %rd1, %t, 16, %out;
        st.global.v4.b32 [%rd1], {{%r10, %r11, %r12, %r13}};
      END:
        {BARRIER}
    """, grid=4, block=64, cluster=4, out=256)


def copy_arrivals():
    for suffix, count in (("", 32), (".noinc", 64)):
        yield Kernel(f"copy_arrive{suffix.replace('.', '_')}", f"""
            mov.u32 %r1, bar;
            mov.u32 %r2, tile;
            mad.lo.u32 %r3, %t, 4, %r2;
            mad.wide.u32 %rd1, %t, 4, %in;
            setp.eq.u32 %p1, %t, 0;
            @%p1 mbarrier.init.shared.b64 [%r1], {count};
            bar.warp.sync 0xffffffff;
            cp.async.ca.shared.global [%r3], [%rd1], 4;
            cp.async.ca.shared.global [%r3+128], [%rd1+256], 4;
            cp.async.mbarrier.arrive{suffix}.shared.b64 [%r1];
            mbarrier.arrive.shared.b64 %rd2, [%r1];
          W:
            mbarrier.try_wait.shared.b64 %p2, [%r1], %rd2;
            @!%p2 bra W;
            xor.b32 %r5, %r3, 4;
            ld.shared.b32 %r6, [%r5];
            ld.shared.b32 %r7, [%r5+128];
            st.global.b32 [%mine], %r6;
            st.global.b32 [%mine+128], %r7;
            @%p1 mbarrier.inval.shared.b64 [%r1];
            @%p1 ld.shared.v2.b32 {{%r8, %r9}}, [%r1];
            @%p1 st.global.v2.b32 [%out+256], {{%r8, %r9}};
        """, out=128)


def kernels():
    rng = random.Random(5)
    for i in range(40):
        yield mbarrier_sequence(rng, f"mbarrier_{i}")
    for stages in (1, 2, 3, 4):
        for wait in ("try_wait", "test_wait"):
            yield pipeline(stages, 11, wait, 128)
    yield pipeline(2, 2, "try_wait", 2048)
    for op, kind in BULK_OPS:
        yield bulk_reduce(op, kind, rng)
    for returns in (False, True):
        verb = "atom" if returns else "red"
        for vec in (2, 4):
            yield atomic(f"{verb}_v{vec}_f32", f"{verb}.global.add.v{vec}.f32", "f32", vec, rng, returns)
            for kind in ("f16", "bf16"):
                for op in ("add", "min", "max"):
                    yield atomic(f"{verb}_v{vec}_{kind}x2_{op}", f"{verb}.global.{op}.noftz.v{vec}.{kind}x2", kind, vec,
                                 rng, returns)
        for space in ("global", "shared"):
            yield atomic(f"{verb}_{space}_f32", f"{verb}.{space}.add.f32", "f32", 1, rng, returns, space)
            for kind in ("f16", "bf16"):
                yield atomic(f"{verb}_{space}_{kind}x2", f"{verb}.{space}.add.noftz.{kind}x2", kind, 1, rng, returns, space)
    yield from cluster_kernels()
    yield from copy_arrivals()


def section(kernel, result):
    lines = [f"kernel {kernel.name} {kernel.grid} {kernel.block}"]
    lines += ["| " + line for line in kernel.ptx.splitlines()]
    if kernel.words:
        lines.append("in " + " ".join(f"{w:x}" for w in kernel.words))
    lines.append("out " + " ".join(f"{w:x}" for w in struct.unpack(f"<{kernel.out}I", result)))
    return lines


def run_from(first, send):
    gpu = ClearedGpu()
    send.send(gpu.stamp)
    for kernel in list(kernels())[first:]:
        data = struct.pack(f"<{len(kernel.inputs())}I", *kernel.inputs())
        send.send(gpu.run(kernel.ptx, data, 4 * kernel.out, kernel.grid, kernel.block))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default=str(pathlib.Path(__file__).parent.parent / "tests" / "vectors"))
    parser.add_argument("--list", action="store_true", help="write the kernels' PTX to --out and run nothing")
    args = parser.parse_args()
    out = pathlib.Path(args.out)
    if args.list:
        for kernel in kernels():
            (out / f"{kernel.name}.ptx").write_text(kernel.ptx)
        return
    everything = list(kernels())
    lines, at = [], 0
    # A fault of one kernel ends its process: the others go on in a fresh one.
    while at < len(everything):
        receive, send = multiprocessing.Pipe(False)
        child = multiprocessing.Process(target=run_from, args=(at, send))
        child.start()
        send.close()
        try:
            while True:
                message = receive.recv()
                if isinstance(message, str):
                    lines = lines or [f"# tools/refresh_async_vectors.py on {message}"]
                    continue
                lines += section(everything[at], message)
                at += 1
        except EOFError:
            child.join()
        if at < len(everything):
            print(f"{everything[at].name} faults")
            at += 1
    (out / "async.vec").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
