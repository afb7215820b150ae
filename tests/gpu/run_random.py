#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs random programs (tests/gpu/random_program.h) on the machine and on the GPU and compares what they leave bit by bit. Where there
is no GPU of compute capability 9.0, ptxas assembles some of them; exits with 77, the skip code of ctest, when it took them, and
where there is no ptxas."""
import argparse
import ctypes
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SKIPPED = 77
ASSEMBLED, PER_MODULE = 240, 30  # without a GPU


def has_gpu():
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    device, major = ctypes.c_int(), ctypes.c_int()
    return (cuda.cuInit(0) == 0 and cuda.cuDeviceGet(ctypes.byref(device), 0) == 0
            and cuda.cuDeviceGetAttribute(ctypes.byref(major), 75, device) == 0 and major.value == 9)


def is_assembled(ptxas, programs, first):
    text = subprocess.run([programs, "emit", str(first), str(PER_MODULE)], capture_output=True, text=True, check=True).stdout
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "programs.ptx"
        source.write_text(text)
        done = subprocess.run([ptxas, "-O0", "-arch", "sm_90a", "-w", str(source), "-o", str(source.with_suffix(".cubin"))],
                              capture_output=True, text=True)
    print(done.stderr, end="")
    return done.returncode == 0


def rows(lines):
    """By seed: the checksums of the text, of what it leaves, and of each word of the threads' results."""
    return {int(line.split()[0]): line.split()[1:] for line in lines if line[:1].isdigit()}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", default=str(ROOT / "build/tests/gpu/random_programs"))
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--count", type=int, default=2000)
    options = parser.parse_args()
    ptxas = shutil.which("ptxas")
    if not ptxas:
        print("skipped: no ptxas")
        return SKIPPED
    if not has_gpu():
        refused = [first for first in range(options.first, options.first + ASSEMBLED, PER_MODULE)
                   if not is_assembled(ptxas, options.programs, first)]
        print(f"skipped: no GPU; {len(refused)} of {ASSEMBLED // PER_MODULE} modules refused by ptxas, from programs {refused} on")
        return 1 if refused else SKIPPED
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "card"
        subprocess.run([sys.executable, str(ROOT / "tools/refresh_random_vectors.py"), "--programs", options.programs, "--first",
                        str(options.first), "--count", str(options.count), "--columns", "--out", str(out)], check=True)
        card = rows(out.read_text().splitlines())
    here = subprocess.run([options.programs, "run", str(options.first), str(options.count)], capture_output=True, text=True,
                          check=True).stdout.splitlines()
    machine = rows(here)
    wrong = [seed for seed in card if card[seed] != machine[seed]]
    for seed in wrong[:20]:
        words = [i for i, pair in enumerate(zip(card[seed][2:], machine[seed][2:])) if pair[0] != pair[1]]
        print(f"seed {seed}: words {words} of the threads' results differ")
    print(f"{len(card)} programs, {len(wrong)} that differ")
    return 1 if wrong or len(card) < options.count // 2 else 0


if __name__ == "__main__":
    sys.exit(main())
