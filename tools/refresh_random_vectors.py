#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs random programs on the GPU of this machine and writes to tests/vectors/random.vec, for each, its seed, the
checksum of its text and that of what it leaves.

    tools/refresh_random_vectors.py --programs build/tests/gpu/random_programs [--first N] [--count N] [--out FILE]

Needs the CUDA driver, a GPU of compute capability 9.0 and ptxas. `random_programs emit FIRST COUNT` gives a module of
programs (tests/gpu/random_program.h), `random_programs inputs` the words that all of them read. Each module is
assembled at -O3 and at -O0: a program whose results differ is reported and left out, because either PTX does not fix
what it does or ptxas is wrong. So is one that faults; the GPU is used from a process of its own, which such a program
ends. With --columns every line also has the checksum of each word of the threads' results, to find what differs.
"""

import argparse
import concurrent.futures
import ctypes
import multiprocessing
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zlib

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from refresh_vectors import Gpu  # noqa: E402

ENTRY = re.compile(r"\.entry (k(\d+))\(.*?\.reqntid (\d+)")
PROGRAM = re.compile(r"^// program (\d+) ([0-9a-f]{8})$", re.MULTILINE)
SHAPE = re.compile(r"^// (\d+) blocks, (\d+) words a thread$", re.MULTILINE)
STACK_LIMIT, STACK_BYTES = 0, 16384


def find_ptxas():
    found = shutil.which("ptxas")
    if found:
        return found
    try:
        import triton
        return str(next(pathlib.Path(triton.__file__).parent.rglob("bin/ptxas")))
    except (ImportError, StopIteration):
        sys.exit("no ptxas here")


class RandomGpu(Gpu):
    def __init__(self, data):
        super().__init__()
        self.call("cuCtxSetLimit", STACK_LIMIT, ctypes.c_size_t(STACK_BYTES))
        self.data = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(self.data), ctypes.c_size_t(len(data)))
        self.call("cuMemcpyHtoD_v2", self.data, data, ctypes.c_size_t(len(data)))

    def run_all(self, image, entries, blocks, words):
        """What each entry leaves, by seed."""
        module = ctypes.c_void_p()
        self.call("cuModuleLoadData", ctypes.byref(module), image)
        left = {}
        for name, seed, threads in entries:
            kernel, out, size = ctypes.c_void_p(), ctypes.c_uint64(), blocks * threads * words * 4
            self.call("cuModuleGetFunction", ctypes.byref(kernel), module, name.encode())
            self.call("cuMemAlloc_v2", ctypes.byref(out), ctypes.c_size_t(size))
            self.call("cuMemsetD8_v2", out, ctypes.c_ubyte(0), ctypes.c_size_t(size))
            params = (ctypes.c_void_p * 2)(*[ctypes.cast(ctypes.byref(x), ctypes.c_void_p) for x in (self.data, out)])
            self.call("cuLaunchKernel", kernel, blocks, 1, 1, threads, 1, 1, 0, None, params, None)
            raw = ctypes.create_string_buffer(size)
            self.call("cuMemcpyDtoH_v2", raw, out, ctypes.c_size_t(size))
            self.call("cuMemFree_v2", out)
            left[seed] = raw.raw
        self.call("cuModuleUnload", module)
        return left


def serve(pipe, data):
    """Runs what comes in until one faults; says what they leave."""
    gpu = RandomGpu(data)
    pipe.send(gpu.stamp)
    while True:
        work = pipe.recv()
        try:
            pipe.send(gpu.run_all(*work))
        except RuntimeError:
            return


class Server:
    def __init__(self, data):
        self.data, self.process = data, None
        self.start()

    def start(self):
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=serve, args=(theirs, self.data), daemon=True)
        self.process.start()
        theirs.close()
        self.stamp = self.pipe.recv()

    def ask(self, image, entries, blocks, words):
        """None after a fault."""
        try:
            self.pipe.send((image, entries, blocks, words))
            return self.pipe.recv()
        except (EOFError, OSError):
            self.process.join()
            self.start()
            return None

    def run_all(self, image, entries, blocks, words):
        """By seed; without those that fault."""
        left = self.ask(image, entries, blocks, words)
        if left is not None or len(entries) == 1:
            return left or {}
        half = len(entries) // 2
        return {**self.run_all(image, entries[:half], blocks, words), **self.run_all(image, entries[half:], blocks, words)}


def assemble(ptxas, text, level, folder):
    source = folder / f"{time.monotonic_ns()}.ptx"
    source.write_text(text)
    image = source.with_suffix(".cubin")
    done = subprocess.run([ptxas, f"-O{level}", "-arch", "sm_90a", "-w", str(source), "-o", str(image)],
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        print(done.stdout + done.stderr, flush=True)
        return None
    return image.read_bytes()


def columns(raw, words):
    step = 4 * words
    return [zlib.crc32(b"".join(raw[at + 4 * i:at + 4 * i + 4] for at in range(0, len(raw), step))) for i in range(words)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", required=True)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--out", default=str(pathlib.Path(__file__).parent.parent / "tests/vectors/random.vec"))
    parser.add_argument("--columns", action="store_true")
    parser.add_argument("--raw", help="a folder for the words of programs that differ between -O0 and -O3")
    parser.add_argument("--seconds", type=float, default=1e9, help="begin no further module after this time")
    parser.add_argument("--per-module", type=int, default=25)
    options = parser.parse_args()
    begin = time.monotonic()
    ptxas = find_ptxas()
    inputs = subprocess.run([options.programs, "inputs"], capture_output=True, check=True).stdout
    gpu = Server(inputs)
    lines, differ, faults = [f"# tools/refresh_random_vectors.py on {gpu.stamp}"], [], []
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        def build(first):
            if time.monotonic() - begin > options.seconds:
                return None
            count = min(options.per_module, options.first + options.count - first)
            text = subprocess.run([options.programs, "emit", str(first), str(count)], capture_output=True, text=True,
                                  check=True).stdout
            return text, [assemble(ptxas, text, level, pathlib.Path(folder)) for level in (3, 0)]
        jobs = [pool.submit(build, first) for first in range(options.first, options.first + options.count, options.per_module)]
        for job in jobs:
            built = job.result()
            if built is None or None in built[1]:
                continue
            text, images = built
            blocks, words = map(int, SHAPE.search(text).groups())
            texts = {int(seed): crc for seed, crc in PROGRAM.findall(text)}
            entries = [(name, int(seed), int(threads)) for name, seed, threads in ENTRY.findall(text)]
            fast, plain = [gpu.run_all(image, entries, blocks, words) for image in images]
            for _, seed, _ in entries:
                if seed not in fast or seed not in plain:
                    faults.append((seed, "O3" * (seed not in fast), "O0" * (seed not in plain)))
                    print("fault:", faults[-1], flush=True)
                    continue
                if fast[seed] != plain[seed]:
                    differ.append(seed)
                    if options.raw and len(differ) <= 20:
                        for level, left in ((3, fast), (0, plain)):
                            (pathlib.Path(options.raw) / f"{seed}.O{level}").write_bytes(left[seed])
                    continue
                row = f"{seed} {texts[seed]} {zlib.crc32(fast[seed]):08x}"
                if options.columns:
                    row += " " + " ".join(f"{crc:x}" for crc in columns(fast[seed], words))
                lines.append(row)
    pathlib.Path(options.out).write_text("\n".join(lines) + "\n")
    print(f"{len(lines) - 1} programs, {len(differ)} that -O0 and -O3 run differently: {differ}, "
          f"{len(faults)} that fault: {faults}")


if __name__ == "__main__":
    main()
