# SPDX-License-Identifier: Apache-2.0
"""Runs a kernel of a source file in plumb's IEEE domain, through the `triton_evaluate` program of this folder."""
import json
import pathlib
import re
import subprocess

import numpy as np


def float_bits(value: float) -> int:
    return int(np.float32(value).view(np.uint32))


def parameters(source: str, function: str) -> list:
    """Names of a kernel's parameters in order; enough for the sources that are compared here."""
    text = re.search(rf"^def {function}\((.*?)\):", source, re.S | re.M).group(1)
    return [part.split(":")[0].split("=")[0].strip() for part in text.split(",")]


def evaluate(program, folder: pathlib.Path, source: pathlib.Path, function: str, grid, arguments: dict, workers=0,
             repeat=1):
    """`arguments`: name -> (type, numpy array) | (type, number) | ("constexpr", value). Arrays are updated in place.

    Returns (facts, message): facts is None when plumb refused, and the message says why.
    """
    manifest = {"source": str(source), "function": function, "grid": list(grid), "arguments": {}, "workers": workers,
                "repeat": repeat}
    for name, (kind, value) in arguments.items():
        entry = {"type": kind}
        if isinstance(value, np.ndarray):
            entry["file"] = str(folder / name)
            value.tofile(entry["file"])
        elif kind == "constexpr":
            entry["value"] = value
        elif kind == "fp32":
            entry["bits"] = float_bits(value)
        else:
            entry["bits"] = int(value) & (2**64 - 1)
        manifest["arguments"][name] = entry
    path = folder / "manifest.json"
    path.write_text(json.dumps(manifest))
    run = subprocess.run([str(program), str(path)], capture_output=True, text=True, check=False)
    if run.returncode != 0:
        return None, run.stderr
    for name, (_, value) in arguments.items():
        if isinstance(value, np.ndarray):
            value[...] = np.fromfile(folder / name, dtype=value.dtype).reshape(value.shape)
    return json.loads(run.stdout.splitlines()[-1]), run.stderr
