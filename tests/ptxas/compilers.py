# SPDX-License-Identifier: Apache-2.0
"""What nvcc and clang make of sources/, read, printed, re-read, validated, and shown to ptxas.

    compilers.py AGREE_PTXAS [FOLDER]      the PTX stays in FOLDER where one is given

Compilers that are not here are left out; with none, the exit status is 77.
"""
import os
import shutil
import subprocess
import sys
import tempfile

SOURCES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "sources")
NVCC_TARGETS = ("75", "80", "90a", "100a", "120a")
CLANG_TARGETS = (("sm_80", "ptx78"), ("sm_90a", "ptx83"))


def clang():
    """The newest clang from 19 on with the NVPTX back end."""
    for version in range(25, 18, -1):
        path = shutil.which(f"clang-{version}")
        if path and "nvptx64" in subprocess.run([path, "--print-targets"], capture_output=True, text=True).stdout:
            return path
    return None


def commands(folder):
    nvcc = shutil.which("nvcc")
    for source in sorted(os.listdir(SOURCES)):
        name, kind = os.path.splitext(source)
        path = os.path.join(SOURCES, source)
        if kind == ".cu" and nvcc:
            for target in NVCC_TARGETS:
                out = os.path.join(folder, f"{name}-nvcc-{target}.ptx")
                yield [nvcc, "-w", f"-arch=compute_{target}", "-lineinfo", "-ptx", "-o", out, path]
        if kind == ".c" and clang():
            for target, version in CLANG_TARGETS:
                for level in ("-O0", "-O2"):
                    out = os.path.join(folder, f"{name}-clang-{target}{level}.ptx")
                    yield [clang(), "--target=nvptx64-nvidia-cuda", f"-march={target}", "-w", "-g", level, "-Xclang",
                           "-target-feature", "-Xclang", f"+{version}", "-S", "-o", out, path]


def main(agree, folder):
    ran = 0
    for command in commands(folder):
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            print(" ".join(command), done.stderr, sep="\n")
            return 1
        ran += 1
    if ran == 0:
        print("skipped: there is neither nvcc nor clang 19 on the path")
        return 77
    print(f"{ran} files compiled", flush=True)
    return subprocess.run([agree, "--files", folder]).returncode


if __name__ == "__main__":
    if len(sys.argv) > 2:
        os.makedirs(sys.argv[2], exist_ok=True)
        sys.exit(main(sys.argv[1], sys.argv[2]))
    with tempfile.TemporaryDirectory() as scratch:
        sys.exit(main(sys.argv[1], scratch))
