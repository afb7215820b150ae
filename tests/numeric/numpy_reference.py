#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`plumb run` of the lowerings and of Triton's code agrees with NumPy in float64, within the output type's rounding.

Usage: numpy_reference.py PLUMB ROOT. Inputs are random, and again with NaN, infinities, zeros of both signs and
subnormals among them. bf16 arrays are uint16 bits.
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

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "suite"))
from suite_numpy import as_float64, bf16_bits, load_reference  # noqa: E402

SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0, 2.0**-133, -(2.0**-130), 2.0**-126, 3.0e38, -1.0]


def draw(random, shape, is_special):
    values = random.standard_normal(shape)
    if is_special:
        flat = values.reshape(-1)
        for index, special in enumerate(SPECIAL):
            flat[index * 7 % flat.size] = special
    return values


# task, PTX, sizes, arrays (those that are written in place as well), dtype; the reference is that of the suite
CASES = [
    ("tests/corpus/vector_add", "tests/corpus/vector_add/sm_89/vector_add_unaligned.ptx", {"n": 1001},
     {"x_ptr": (1001,), "y_ptr": (1001,)}, "f4"),
    ("suite/swiglu", "suite/swiglu/sm_89/swiglu.ptx", {"n": 3001}, {"gate_ptr": (3001,), "up_ptr": (3001,)}, "bf16"),
    ("suite/softmax", "suite/softmax/sm_89/softmax.ptx", {"rows": 5, "stride": 777, "n_cols": 777},
     {"x_ptr": (5, 777), "out_ptr": (5, 777)}, "bf16"),
    ("suite/rmsnorm", "suite/rmsnorm/sm_89/rmsnorm.ptx", {"rows": 5, "n_cols": 777},
     {"x_ptr": (5, 777), "w_ptr": (777,)}, "bf16"),
    ("suite/vector_add", "suite/vector_add/sm_89/vector_add.ptx", {"n": 5000}, {"x_ptr": (5000,), "y_ptr": (5000,)},
     "f4"),
    ("suite/softmax", "suite/softmax/sm_89/softmax.ptx", {"rows": 3, "stride": 5001, "n_cols": 5001},
     {"x_ptr": (3, 5001), "out_ptr": (3, 5001)}, "bf16"),
    ("suite/layernorm", "suite/layernorm/sm_89/layernorm.ptx", {"rows": 3, "n_cols": 2501},
     {"x_ptr": (3, 2501), "w_ptr": (2501,), "b_ptr": (2501,)}, "bf16"),
    ("suite/conv1d_causal", "suite/conv1d_causal/sm_89/conv1d_causal.ptx", {"batch": 2, "T": 37, "C": 72},
     {"x_ptr": (2, 37, 72), "w_ptr": (4, 72)}, "bf16"),
    ("suite/matmul_bf16", "suite/matmul_bf16/sm_89/matmul_bf16.ptx",
     {"M": 129, "N": 131, "K": 67, "sam": 67, "sbk": 131, "scm": 131},
     {"a_ptr": (129, 67), "b_ptr": (67, 131), "c_ptr": (129, 131)},
     "bf16"),
]


def run_case(plumb, root, case, is_special, random, folder):
    task, ptx, sizes, shapes, dtype = case
    arguments = [plumb, "run", str(root / task), str(root / ptx), "--out", str(folder)]
    arguments += ["--shape", ",".join(f"{name}={size}" for name, size in sizes.items())]
    exact = {}
    for name, shape in shapes.items():
        values = draw(random, shape, is_special)
        stored = bf16_bits(values) if dtype == "bf16" else values.astype(np.float32)
        exact[name] = as_float64(stored, "bf16") if dtype == "bf16" else stored.astype(np.float64)
        np.save(folder / f"{name}.in.npy", stored)
        arguments += ["--input", f"{name}={folder / name}.in.npy"]
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    with np.errstate(all="ignore"):
        expected = load_reference(root / "suite" / pathlib.Path(task).name)(**exact, **sizes, eps=1e-6)
    for name, want in expected.items():
        got = np.load(folder / f"{name}.npy").reshape(want.shape)
        got = as_float64(got, "bf16") if dtype == "bf16" else got.astype(np.float64)
        rounding = 2.0**-8 if dtype == "bf16" else 2.0**-24
        largest = 3.3895e38 if dtype == "bf16" else 3.4028e38
        sums = 2.0**-16 * np.nanmax(np.abs(np.where(np.isfinite(want), want, 0))) if dtype == "bf16" else 0.0
        with np.errstate(all="ignore"):
            close = np.abs(got - want) <= rounding * 1.01 * np.abs(want) + sums + 2.0**-126
        same = close | (np.isnan(got) & np.isnan(want)) | (got == want) | (np.isinf(got) & (np.abs(want) > largest))
        wrong = np.argwhere(~same)
        assert wrong.size == 0, f"{name}{wrong[0].tolist()}: {got[tuple(wrong[0])]!r}, NumPy {want[tuple(wrong[0])]!r}"


def main():
    plumb, root = sys.argv[1], pathlib.Path(sys.argv[2])
    passed = failed = 0
    for case in CASES:
        for is_special in (False, True):
            random = np.random.default_rng(5)
            with tempfile.TemporaryDirectory() as folder:
                try:
                    run_case(plumb, root, case, is_special, random, pathlib.Path(folder))
                    passed += 1
                except AssertionError as error:
                    failed += 1
                    print(f"FAIL  {case[1]}, {'special values' if is_special else 'random'}: {error}")
    print(json.dumps({"passed": passed, "failed": failed}))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
