#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the PTX of the CUDA pairs again: make.py [NVCC]. Every kernel of FOLDER/FOLDER.cu becomes FOLDER/NAME.ptx, with the
`//!` lines before the kernel as its launch header. nvcc is 13.0; another one may say other things in the same function."""
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
FOLDERS = ["reduction", "sgemm", "attention", "convolution"]


def headers(source: str) -> dict[str, list[str]]:
    """The launch header of each kernel."""
    found, lines = {}, []
    for line in source.splitlines():
        kernel = re.match(r'extern "C" __global__ void (?:__launch_bounds__\(\d+\) )?(\w+)\(', line)
        if line.startswith("//!"):
            lines.append(line)
        elif kernel:
            found[kernel[1]] = lines
            lines = []
    return found


def split(ptx: str) -> tuple[str, dict[str, str], str]:
    """What stands before the entries, each entry, and the lines that name source files."""
    ptx = re.sub(r"^//.*\n", "", ptx, flags=re.M)
    ptx = re.sub(r"^\s*//.*\n", "", ptx, flags=re.M)
    ptx = re.sub(r"\n{2,}", "\n", ptx)
    ptx = ptx.split("\t.section")[0]
    files = "".join(re.findall(r"^\s*\.file.*\n", ptx, flags=re.M))
    ptx = re.sub(r"^\s*\.file.*\n", "", ptx, flags=re.M)
    parts = re.split(r"^(?=\.visible \.entry )", ptx, flags=re.M)
    return parts[0], {re.match(r"\.visible \.entry (\w+)", part)[1]: part for part in parts[1:]}, files


def make(nvcc: str, folder: str) -> None:
    source = HERE / folder / f"{folder}.cu"
    with tempfile.TemporaryDirectory() as scratch:
        out = pathlib.Path(scratch) / "out.ptx"
        command = [nvcc, "-std=c++17", "-O3", "-lineinfo", "-arch=compute_80", "-ptx", source.name, "-o", str(out)]
        subprocess.run(command, cwd=source.parent, check=True)
        before, entries, files = split(out.read_text())
    # The compiler names files by their whole path.
    files = re.sub(r'"[^"]*/([^"/]+)"', r'"\1"', files)
    wanted = headers(source.read_text())
    if set(wanted) != set(entries):
        raise SystemExit(f"{source}: kernels {sorted(wanted)}, entries {sorted(entries)}")
    for name, entry in entries.items():
        header = [f'//! entry = "{name}"', *wanted[name]]
        (HERE / folder / f"{name}.ptx").write_text("\n".join(header) + "\n" + before.lstrip() + files + entry.rstrip() + "\n")


def main() -> None:
    nvcc = sys.argv[1] if len(sys.argv) > 1 else "nvcc"
    for folder in FOLDERS:
        if (HERE / folder / f"{folder}.cu").exists():
            make(nvcc, folder)


if __name__ == "__main__":
    main()
