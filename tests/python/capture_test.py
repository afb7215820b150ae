#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""plumb.capture: what it writes is read by plumb, and means what was launched.

Usage: capture_test.py PLUMB ROOT [--card], with a Python that has Triton and NumPy. A kernel is launched on tensors in host memory
under Triton's interpreter and captured; `plumb run` then evaluates the task on inputs of its own, and the kernel gets the same inputs,
with the launch's own grid: the outputs have to be the same bits. With --card the launches are live ones, of compiled kernels on
PyTorch's tensors on a GPU.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ON_CARD = "--card" in sys.argv[3:]
if not ON_CARD:
    os.environ["TRITON_INTERPRET"] = "1"
try:
    import numpy as np
    import triton
    if ON_CARD:
        import torch
except ImportError as error:
    print(f"skipped: this Python has no {error.name}")
    sys.exit(77)
if ON_CARD and not torch.cuda.is_available():
    print("skipped: PyTorch sees no GPU")
    sys.exit(77)
import tomllib  # noqa: E402

ROOT = pathlib.Path(sys.argv[2])
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "tests/triton"), str(pathlib.Path(__file__).parent)]
import capture_kernels as kernels  # noqa: E402
import interpreter  # noqa: E402
import plumb.capture  # noqa: E402
from triton.tools.tensor_descriptor import TensorDescriptor  # noqa: E402


class Tensor(interpreter.Tensor):
    def min(self):
        return self.storage.array.min()

    def max(self):
        return self.storage.array.max()


def tensor(array, kind="*fp32", columns=None):
    """What a launch gets: of rows, the first columns."""
    if not ON_CARD:
        return Tensor(array[..., :columns], kind)
    return torch.from_numpy(array).cuda()[..., :columns]


def array_of(given):
    return given.cpu().numpy() if ON_CARD else given.storage.array


def floats(*shape, stride=None):
    return tensor(np.ones((shape[0], stride or shape[-1]) if len(shape) == 2 else shape, np.float32), columns=shape[-1])


def described(rows, columns, block):
    return TensorDescriptor(tensor(np.ones((rows, columns), np.float32)), [rows, columns], [columns, 1], block)


def launch_all(folder):
    """Every launch by the kernel's name: how to run it on other arrays of the same extents."""
    again = {}
    with plumb.capture.launches(folder) as found:
        for rows, cols, stride in ((5, 100, 112), (3, 64, 80)):
            kernels.row_scale[lambda meta, r=rows, c=cols: (r, triton.cdiv(c, meta["BLOCK"]))](
                floats(rows, cols, stride=stride), floats(rows), floats(rows, cols, stride=stride + 4), rows, cols, stride, stride + 4,
                0.5, BLOCK=32, MODE="negate")
        again["row_scale"] = lambda a: kernels.row_scale[(3, 2)](a["x_ptr"], a["s_ptr"], a["out_ptr"], 3, 64, 80, 84, 0.5, BLOCK=32,
                                                               MODE="negate")
        index = tensor(np.array([2, 0, 6, 3], np.int32), "*i32")
        kernels.take_rows[(4,)](floats(7, 24), index, floats(4, 24), 24, BLOCK=32)
        again["take_rows"] = lambda a: kernels.take_rows[(4,)](a["table_ptr"], a["index_ptr"], a["out_ptr"], 24, BLOCK=32)
        kernels.add_blocks[(3, 2)](described(40, 32, [16, 16]), described(40, 32, [16, 16]), BM=16, BN=16)
        again["add_blocks"] = lambda a: kernels.add_blocks[(3, 2)](
            *(TensorDescriptor(a[name], [40, 32], [32, 1], [16, 16]) for name in "xy"), BM=16, BN=16)
        kernels.tuned_scale[lambda meta: (triton.cdiv(100, meta["BLOCK"]),)](floats(100), floats(100), 100)
        again["tuned_scale"] = lambda a: kernels.tuned_scale.fn[(4,)](a["x_ptr"], a["out_ptr"], 100, BLOCK=32)
        kernels.fill[(2,)](floats(64), None, BLOCK=32)  # an argument of no type: nothing that a task can say
    return found, again


def check(plumb_tool, folder, again):
    task = tomllib.loads((folder / "task.toml").read_text())
    shape = ",".join(f"{name}={value}" for name, value in task["shapes"]["prove"][0].items())
    with tempfile.TemporaryDirectory() as place:
        out = pathlib.Path(place)
        done = subprocess.run([plumb_tool, "run", str(folder), "--shape", shape, "--out", place, "--save-inputs", "--seed", "5", "--json"],
                              capture_output=True, text=True, check=False)
        assert done.returncode == 0, (folder / "task.toml").read_text() + done.stdout + done.stderr
        given, expected = {}, {}
        for arg in task["args"]:
            if not arg["type"].startswith("*"):
                continue
            role = arg.get("role", "in")
            if role != "in":
                expected[arg["name"]] = np.load(out / f"{arg['name']}.npy")
            start = out / f"{arg['name']}.in.npy"
            given[arg["name"]] = tensor(np.load(start) if role != "out" else np.zeros_like(expected[arg["name"]]), arg["type"])
    again(given)
    for name, want in expected.items():
        got = array_of(given[name])
        is_out = {arg["name"]: arg.get("role") for arg in task["args"]}[name] == "out"
        where = np.ones(want.shape, bool) if not is_out else got != 0  # what an `out` tensor does not write is undefined
        assert np.any(where) and np.array_equal(got[where], want[where]), f"{folder.name}: `{name}` differs"
    return task


def main():
    with tempfile.TemporaryDirectory() as place:
        found, again = launch_all(place)
        assert found.skipped.keys() == {"fill"} and "bias_ptr" in found.skipped["fill"], found.skipped
        tasks = {folder.name: check(sys.argv[1], folder, again[folder.name]) for folder in found.written}
    assert tasks.keys() == again.keys(), tasks.keys()
    args = {name: {arg["name"]: arg for arg in task["args"]} for name, task in tasks.items()}
    scale, take, add = (args[name] for name in ("row_scale", "take_rows", "add_blocks"))
    assert tasks["row_scale"]["grid"] == ["rows", "cdiv(cols, BLOCK)"], tasks["row_scale"]["grid"]
    assert len(tasks["row_scale"]["shapes"]["bench"]) == 2
    assert scale["x_ptr"]["shape"] == ["rows", "x_stride"] and scale["out_ptr"]["role"] == "out", scale
    assert scale["factor"] == {"name": "factor", "type": "fp32", "value": 0.5}
    assert tasks["row_scale"]["constexpr"] == {"BLOCK": 32, "MODE": {"text": "negate"}}
    assert take["index_ptr"]["metadata"] and take["index_ptr"]["init"] == "randint(0, 7)", take
    assert add["x"]["block"] == [16, 16] and add["y"]["role"] == "inout", add
    print(json.dumps({"triton": triton.__version__, "tasks": len(tasks), "card": torch.cuda.get_device_name(0) if ON_CARD else None}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
