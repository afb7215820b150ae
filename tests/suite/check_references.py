#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every task of the suite that has a reference.py computes what NumPy computes in float64, at every prove and test shape.

Usage: check_references.py PLUMB ROOT [TASK ...]. `plumb run TASK` evaluates the Triton source on drawn inputs; the
reference gets the same inputs as float64 (integers as int64), and the scalars by name. Elements have to lie within the
task's own tolerance, so that it is shown to be wide enough for an honest kernel. And it has to be narrow enough: zeros
and the inputs handed back in place of the answer are found wrong, and so is the answer scaled by 1.05.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError:
    print("skipped: this Python has no NumPy")
    sys.exit(77)
if sys.version_info < (3, 11):
    print("skipped: this Python has no tomllib (3.11)")
    sys.exit(77)
import tomllib

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from suite_numpy import as_float64, load_reference  # noqa: E402

SEED = 3


def outside(got, want, tolerance):
    """How many elements are wrong, and where the first one is."""
    with np.errstate(all="ignore"):
        is_close = np.abs(got - want) <= tolerance["relative"] * np.maximum(np.abs(got), np.abs(want)) + tolerance["absolute"]
    wrong = np.argwhere(~(is_close | (got == want) | (np.isnan(got) & np.isnan(want))))
    return len(wrong), wrong[0] if len(wrong) else None


def evaluate(plumb, folder, task, shape, out):
    sizes = ",".join(f"{name}={size}" for name, size in shape.items())
    done = subprocess.run(
        [plumb, "run", str(folder), "--shape", sizes, "--out", str(out), "--save-inputs", "--seed", str(SEED), "--json"],
        capture_output=True, text=True, check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    given = dict(json.loads(done.stdout)["scalars"])
    before, after = {}, {}
    for arg in task["args"]:
        if not arg["type"].startswith("*"):
            continue
        element = arg["type"][1:]
        role = arg.get("role", "in")
        if role != "out":
            before[arg["name"]] = as_float64(np.load(out / f"{arg['name']}.in.npy"), element)
        if role != "in":
            after[arg["name"]] = as_float64(np.load(out / f"{arg['name']}.npy"), element)
    return given, before, after


def check_trivial(name, want, before, tolerance):
    """Answers that compute nothing do not pass."""
    if want.size < 16 or not np.any(want):
        return
    trivial = {"zeros": np.zeros_like(want), "the answer scaled by 1.05": want * 1.05}
    for source, array in before.items():
        if array.size >= want.size:
            trivial[f"`{source}`"] = array.reshape(-1)[: want.size].reshape(want.shape).astype(np.float64)
    for what, array in trivial.items():
        if what == f"`{name}`" and np.array_equal(array, want):
            continue  # every element of this shape stays as it was
        assert outside(array, want, tolerance)[0] != 0, f"`{name}`: {what} would pass"


def check_shape(plumb, folder, task, reference, shape):
    with tempfile.TemporaryDirectory() as out:
        given, before, after = evaluate(plumb, folder, task, shape, pathlib.Path(out))
    with np.errstate(all="ignore"):
        expected = reference(**{name: array.copy() for name, array in before.items()}, **given)
    assert set(expected) == set(after), f"the reference gives {sorted(expected)}, the task writes {sorted(after)}"
    for name, want in expected.items():
        got = after[name]
        assert want.shape == got.shape, f"`{name}`: extents {want.shape}, the task has {got.shape}"
        count, first = outside(got, want, task["tolerance"])
        if count:
            place = tuple(first)
            raise AssertionError(f"`{name}`{list(map(int, place))}: {got[place]!r}, NumPy gives {want[place]!r} ({count} elements)")
        check_trivial(name, want, before, task["tolerance"])


def main():
    plumb, root, *names = sys.argv[1:]
    passed = failed = 0
    for path in sorted(pathlib.Path(root, "suite").glob("*/reference.py")):
        if names and path.parent.name not in names:
            continue
        task = tomllib.loads((path.parent / "task.toml").read_text())
        reference = load_reference(path.parent)
        for shape in task["shapes"]["prove"] + task["shapes"]["test"]:
            try:
                check_shape(plumb, path.parent, task, reference, shape)
                passed += 1
            except AssertionError as error:
                failed += 1
                print(f"FAIL  {path.parent.name} at {shape}: {error}")
    print(json.dumps({"passed": passed, "failed": failed}))
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
