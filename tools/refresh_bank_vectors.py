#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times shared-memory accesses on the GPU of this machine, and writes what they cost to tests/vectors/banks.vec.

    tools/refresh_bank_vectors.py [--out DIR]

Needs the CUDA driver and a GPU of compute capability 9.0 or later. A multiprocessor passes over its banks once a cycle:
where sixteen warps do nothing but one access of one pattern, cycles an instruction are the wavefronts of that pattern.
A line of the file: instruction, bytes of a lane or matrices, cycles in hundredths, and the 32 offsets, counted in
accesses of this size (`-`: the lane does not take part).
"""

import argparse
import array
import ctypes
import pathlib
import random
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from refresh_vectors import Gpu  # noqa: E402

UNROLL, REPEATS, WARPS = 8, 64, 16
AREA = 8192  # bytes that a pattern may touch; each unrolled access has an area of its own
SHARED = 131072  # more than half of a multiprocessor's, so that no two blocks share one
SHARED_ATTRIBUTE = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
NOT_ACTIVE = 0xFFFFFFFF
SIZES = (1, 2, 4, 8, 16)
MATRICES = (1, 2, 4)
KINDS = [("ld", n) for n in SIZES] + [("st", n) for n in SIZES] + \
    [("ldmatrix", n) for n in MATRICES] + [("stmatrix", n) for n in MATRICES]
TYPES = {1: "u8", 2: "u16", 4: "u32", 8: "v2.u32", 16: "v4.u32"}


def unit(kind, n):
    return 16 if kind.endswith("matrix") else n


def body(kind, n):
    out, used = [], []
    # A zero that `ptxas` does not know: ldmatrix would leave the loop otherwise.
    out.append("add.u32 %at, %at, %z;")
    for step in range(UNROLL):
        at = f"[%at+{step * AREA}]"
        if kind == "ld":
            names = [f"%v{step * 4 + i}" for i in range(max(1, n // 4))]
            to = "{" + ", ".join(names) + "}" if n > 4 else names[0]
            out.append(f"@%act ld.volatile.shared.{TYPES[n]} {to}, {at};")
            used += names
        elif kind == "ldmatrix":
            names = [f"%v{step * 4 + i}" for i in range(n)]
            out.append(f"ldmatrix.sync.aligned.m8n8.x{n}.shared.b16 {{{', '.join(names)}}}, {at};")
            used += names
        elif kind == "st":
            value = "{" + ", ".join(["%acc"] * (n // 4)) + "}" if n > 4 else "%acc"
            out.append(f"@%act st.volatile.shared.{TYPES[n]} {at}, {value};")
        else:
            out.append(f"stmatrix.sync.aligned.m8n8.x{n}.shared.b16 {at}, {{{', '.join(['%acc'] * n)}}};")
    return "\n".join(out + [f"xor.b32 %acc, %acc, {name};" for name in used])


def kernel(kind, n):
    clear = "\n".join(f"mov.u32 %v{i}, 0;" for i in range(4 * UNROLL))
    return f""".version 8.0
.target sm_90
.address_size 64
.extern .shared .align 128 .b8 tile[];
.visible .entry k(.param .u64 table, .param .u64 times) {{
.reg .b32 %at, %acc, %t, %w, %l, %b, %m, %i, %z, %v<{4 * UNROLL}>;
.reg .b64 %a, %o, %s, %e, %x;
.reg .pred %act, %p;
mov.u32 %t, %tid.x;
and.b32 %l, %t, 31;
shr.u32 %w, %t, 5;
mov.u32 %b, %ctaid.x;
mov.u32 %z, %ctaid.y;
ld.param.u64 %a, [table];
ld.param.u64 %o, [times];
mad.lo.u32 %m, %b, 32, %l;
mad.wide.u32 %a, %m, 4, %a;
ld.global.u32 %at, [%a];
setp.ne.u32 %act, %at, {NOT_ACTIVE};
mov.u32 %m, tile;
@%act add.u32 %at, %at, %m;
@!%act mov.u32 %at, %m;
mov.u32 %acc, 0;
mov.u32 %i, {REPEATS};
{clear}
bar.sync 0;
mov.u64 %s, %clock64;
LOOP:
{body(kind, n)}
sub.u32 %i, %i, 1;
setp.ne.u32 %p, %i, 0;
@%p bra LOOP;
bar.warp.sync 0xffffffff;
mov.u64 %e, %clock64;
mad.lo.u32 %m, %b, {WARPS}, %w;
mad.wide.u32 %o, %m, 24, %o;
cvt.u64.u32 %x, %acc;
st.global.u64 [%o], %s;
st.global.u64 [%o+8], %e;
st.global.u64 [%o+16], %x;
ret;
}}
"""


def patterns(kind, n, rng):
    """Offsets of the lanes, in accesses: plain ones, random ones, lanes that share, and parts of a warp."""
    most = AREA // unit(kind, n)
    row = 128 // unit(kind, n)  # accesses that fill the banks once
    out = [[lane * stride for lane in range(32)] for stride in (0, 1, 2, 3, 4, 5, 8, 16, 17, 32, 33)]
    out.append([31 - lane for lane in range(32)])
    for k in (2, 4, 8, 16):
        out += [[lane // k for lane in range(32)], [lane % k for lane in range(32)]]
    for k in (1, 2, 4, 8, 16):
        out.append([lane & ~k for lane in range(32)])
    for k in (2, 4, 8):
        out.append([lane // k * (k + 1) + lane % k for lane in range(32)])
    out += [[lane * (row + pad) for lane in range(32)] for pad in (0, 1, 2)]
    out.append([lane * row + lane % row for lane in range(32)])
    # Lanes that share with a neighbour in a part of the warp only, or with different neighbours.
    for part in (4, 8, 16):
        for k in (1, 2):
            out.append([lane & ~k if lane % (2 * part) < part else lane for lane in range(32)])
        out.append([lane & ~1 if lane % (2 * part) < part else lane & ~2 for lane in range(32)])
    for _ in range(14):
        top = min(most, rng.choice([2, 4, 8, 16, 32, 64, 128, most]))
        out.append([rng.randrange(top) for _ in range(32)])
    for _ in range(6):
        out.append(rng.sample(range(32), 32))
    for _ in range(8):
        k, base = rng.choice([1, 2, 4, 8, 16]), [rng.randrange(most) for _ in range(32)]
        out.append([base[lane & ~k] for lane in range(32)])
    for _ in range(6):
        k, base = rng.choice([8, 16]), [rng.randrange(64) for _ in range(32)]
        out.append([base[lane % k] for lane in range(32)])
    out = [[offset % most for offset in offsets] for offsets in out]
    if kind.endswith("matrix"):
        return [offsets[:8 * n] + [None] * (32 - 8 * n) for offsets in out]
    for _ in range(14):
        mask = rng.choice([0x1, 0x3, 0xFF, 0xFF00FF, 0x55555555, 0x0F0F0F0F, 0x33333333, 0xFFFF, 0x80000001,
                           rng.getrandbits(32) | 1])
        offsets = rng.choice(out)
        out.append([offsets[lane] if mask >> lane & 1 else None for lane in range(32)])
    return out


class Timer(Gpu):
    def time(self, kind, n, rows):
        """Cycles an instruction, of each pattern; the least of three launches."""
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuModuleLoadData", ctypes.byref(module), kernel(kind, n).encode() + b"\0")
        self.call("cuModuleGetFunction", ctypes.byref(function), module, b"k")
        self.call("cuFuncSetAttribute", function, SHARED_ATTRIBUTE, SHARED)
        # Lanes without a row of ldmatrix give an address all the same, the first row's.
        idle = 0 if kind.endswith("matrix") else NOT_ACTIVE
        table = array.array("I", [idle if at is None else at * unit(kind, n) for row in rows for at in row]).tobytes()
        size = len(rows) * WARPS * 24
        a, b = ctypes.c_uint64(), ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(a), ctypes.c_size_t(len(table)))
        self.call("cuMemAlloc_v2", ctypes.byref(b), ctypes.c_size_t(size))
        self.call("cuMemcpyHtoD_v2", a, table, ctypes.c_size_t(len(table)))
        params = (ctypes.c_void_p * 2)(*[ctypes.cast(ctypes.byref(x), ctypes.c_void_p) for x in (a, b)])
        best = [float("inf")] * len(rows)
        for _ in range(3):
            self.call("cuLaunchKernel", function, len(rows), 1, 1, 32 * WARPS, 1, 1, SHARED, None, params, None)
            raw = ctypes.create_string_buffer(size)
            self.call("cuMemcpyDtoH_v2", raw, b, ctypes.c_size_t(size))
            times = struct.unpack(f"<{size // 8}Q", raw.raw)
            for i in range(len(rows)):
                mine = times[i * WARPS * 3:(i + 1) * WARPS * 3]
                cycles = max(mine[1::3]) - min(mine[0::3])
                best[i] = min(best[i], cycles / (WARPS * REPEATS * UNROLL))
        for address in (a, b):
            self.call("cuMemFree_v2", address)
        self.call("cuModuleUnload", module)
        return best


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default=str(pathlib.Path(__file__).parent.parent / "tests" / "vectors"))
    arguments = parser.parse_args()
    gpu, rng = Timer(), random.Random(7)
    lines = ["# Cycles of accesses to shared memory. tools/refresh_bank_vectors.py made it.", f"stamp {gpu.stamp}"]
    for kind, n in KINDS:
        rows = patterns(kind, n, rng)
        for row, cycles in zip(rows, gpu.time(kind, n, rows)):
            offsets = " ".join("-" if at is None else str(at) for at in row)
            lines.append(f"{kind} {n} {round(100 * cycles)} {offsets}")
    pathlib.Path(arguments.out, "banks.vec").write_text("\n".join(lines) + "\n")
    print(f"{len(lines) - 2} patterns; stamp {gpu.stamp}")


if __name__ == "__main__":
    main()
