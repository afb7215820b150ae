#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every form of suite/TASK/baselines.toml computes what the task's source computes, under Triton's own interpreter.

Usage: check_forms.py PLUMB ROOT [TASK ...], with a Python that has Triton and NumPy (below 2.4 for Triton 3.6: later ones
refuse what its interpreter does with loop bounds). `plumb baseline` is given a python3 that
keeps its plan, so that configurations are those that would be timed; of each form the first and the last one run at every prove
shape that has any. Inputs and the expected outputs come from `plumb run`, which evaluates the task's source; elements have to
lie within the task's tolerance.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

os.environ["TRITON_INTERPRET"] = "1"  # before Triton's own library is made
try:
    import numpy as np
    import triton
    from triton.tools.tensor_descriptor import TensorDescriptor
except ImportError as error:
    print(f"skipped: this Python has no {error.name}")
    sys.exit(77)
import tomllib

sys.path[:0] = [str(pathlib.Path(__file__).parent), str(pathlib.Path(__file__).parent.parent / "triton")]
import interpreter  # noqa: E402
from check_references import SEED, outside  # noqa: E402
from suite_numpy import as_float64  # noqa: E402

KEEP = """#!/bin/sh
cp "$2" "{}"
"""


# Beside the prove shapes: what forms that lean on whole tiles take.
FURTHER = {"conv2d": [{"batch": 2, "channels": 64, "height": 10, "width": 18, "filters": 64, "taps": 3}]}

# The interpreter multiplies the bit patterns of bf16 in `dot`: their numbers are given as fp16.
BF16_DOT = {"flash_attention", "matmul_bf16"}


def text_of(shape):
    return ",".join(f"{name}={size}" for name, size in shape.items())


def plan_of(plumb, folder, shape, scratch):
    program, kept = scratch / "python3", scratch / "plan.json"
    program.write_text(KEEP.format(kept))
    program.chmod(0o755)
    kept.unlink(missing_ok=True)
    done = subprocess.run([plumb, "baseline", str(folder), "--shape", text_of(shape), "--out", str(scratch)], capture_output=True,
                          text=True, check=False, env={**os.environ, "PATH": f"{scratch}:{os.environ['PATH']}"})
    assert kept.exists(), done.stdout + done.stderr
    return json.loads(kept.read_text())


def evaluate(plumb, folder, task, shape, out):
    done = subprocess.run([plumb, "run", str(folder), "--shape", text_of(shape), "--out", str(out), "--save-inputs", "--seed",
                           str(SEED), "--json"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    before, after = {}, {}
    for arg in task["args"]:
        if arg["type"].startswith("*"):
            role = arg.get("role", "in")
            if role != "in":
                after[arg["name"]] = np.load(out / f"{arg['name']}.npy")
            kept = out / f"{arg['name']}.in.npy"
            before[arg["name"]] = np.load(kept) if role != "out" else np.zeros_like(after[arg["name"]])
    return before, after


def run_form(form, config, plan, before):
    kernel = getattr(interpreter.load_module(pathlib.Path(form["file"])), form["function"])
    tensors, known = {}, {**config["constexprs"], **config["values"]}
    for arg in plan["args"]:
        is_tensor = arg["type"].startswith("*")
        known[arg["name"]] = interpreter.Tensor(before[arg["name"]].copy(), arg["type"]) if is_tensor else arg["value"]
        if is_tensor:
            tensors[arg["name"]] = known[arg["name"]]
    for name, what in config["descriptors"].items():
        known[name] = TensorDescriptor(tensors[what["tensor"]], what["shape"], what["strides"], what["block"])
    with np.errstate(all="ignore"):
        kernel[tuple(config["grid"])](**{name: known[name] for name in kernel.arg_names})
    return {name: tensor.storage.array for name, tensor in tensors.items()}


def in_fp16(plan, arrays):
    for arg in plan["args"]:
        if arg["type"] == "*bf16":
            arg["type"] = "*fp16"
            arrays[arg["name"]] = as_float64(arrays[arg["name"]], "bf16").astype(np.float16)


def check_shape(plumb, folder, task, shape, counts):
    with tempfile.TemporaryDirectory() as place:
        plan = plan_of(plumb, folder, shape, pathlib.Path(place))
        before, after = evaluate(plumb, folder, task, shape, pathlib.Path(place))
    expected = {arg["name"]: as_float64(after[arg["name"]], arg["type"][1:]) for arg in task["args"] if arg["name"] in after}
    if folder.name in BF16_DOT:
        in_fp16(plan, before)
    kinds = {arg["name"]: arg["type"][1:] for arg in plan["args"]}
    source = plan["forms"][0]
    for form in plan["forms"][1:]:
        if (form["file"], form["function"]) == (source["file"], source["function"]):
            continue  # the source itself, in another space
        configs = form["configs"]
        for config in configs[:1] + configs[1:][-1:]:
            what = f"{folder.name}, {form['form']} at {text_of(shape)} with {config['constexprs']}"
            try:
                got = run_form(form, config, plan, before)
            except AssertionError as error:  # a descriptor that this shape's strides do not allow
                if "aligned" not in str(error):
                    raise
                continue
            for name, want in expected.items():
                count, first = outside(as_float64(got[name], kinds[name]), want, task["tolerance"])
                assert count == 0, f"{what}: {count} elements of `{name}` differ, the first at {list(map(int, first))}"
            counts[f"{folder.name} {form['form']}"] += 1


def main():
    plumb, root, *names = sys.argv[1:]
    failed, counts = 0, {}
    for path in sorted(pathlib.Path(root, "suite").glob("*/baselines.toml")):
        folder = path.parent
        if names and folder.name not in names:
            continue
        task = tomllib.loads((folder / "task.toml").read_text())
        others = [form for form in tomllib.loads(path.read_text())["form"]
                  if (form["file"], form["function"]) != (task["kernel"]["file"], task["kernel"]["function"])]
        counts.update({f"{folder.name} {form['name']}": 0 for form in others})
        for shape in task["shapes"]["prove"] + FURTHER.get(folder.name, []):
            try:
                check_shape(plumb, folder, task, shape, counts)
            except AssertionError as error:
                failed += 1
                print(f"FAIL  {error}", flush=True)
    never = [name for name, count in counts.items() if count == 0]
    for name in never:
        print(f"FAIL  {name} runs at no shape")
    print(json.dumps({"triton": triton.__version__, "passed": sum(counts.values()), "failed": failed + len(never)}))
    return 1 if failed or never or not counts else 0


if __name__ == "__main__":
    sys.exit(main())
