# SPDX-License-Identifier: Apache-2.0
"""Compares plumb's evaluation with Triton's own interpreter, on the kernels of the corpus and on `features.py`.

    compare_interpreter.py TRITON_EVALUATE CORPUS_FOLDER

Exits 77 with the reason when Triton 3.6 or NumPy is not installed, 1 when results differ. Elementwise results must be
equal bit for bit but for the functions that NumPy computes in its own way; sums and products may differ by rounding.
"""
import os
import pathlib
import sys
import tempfile

os.environ["TRITON_INTERPRET"] = "1"  # read while Triton is imported

try:
    import numpy as np
    import triton
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

import bridge
import interpreter
import vectors

# The interpreter keeps f32 operands of `dot` whole and rounds to bf16 by truncation: what it differs by. Its `dot`
# multiplies the bit patterns of bf16 as integers, so that kernels with one are compared with f16 tensors instead.
BF16_DOT = {"matmul_bf16", "matmul_bf16_large", "matmul_desc", "matmul_desc_ws", "flash_attention",
            "flash_attention_causal", "bitdelta"}
TOLERANCE = {"bfloat16": 2.0**-6, "float16": 2.0**-9, "float32": 2.0**-16, "int32": 0.0}
ABSOLUTE = {"matmul_f32_tf32": 2.0**-9, "flash_attention": 2.0**-9, "flash_attention_causal": 2.0**-9}


def corpus_calls(corpus):
    facts, arrays = vectors.load(corpus)
    source = corpus / "kernels.py"
    for entry, fact in facts.items():
        function = vectors.FUNCTIONS[entry]
        arguments = {}
        for i, (name, given) in enumerate(zip(bridge.parameters(source.read_text(), function), fact["args"])):
            if isinstance(given, dict):
                arguments[name] = (f"*{vectors.TYPES[given['dtype']]}", arrays[f"{entry}.in{i}"])
            else:
                arguments[name] = ("fp32" if isinstance(given, float) else "i32", given)
        output = list(arguments)[fact["output"]]
        dtype = fact["args"][fact["output"]]["dtype"]
        if entry in BF16_DOT:
            dtype = "float16"
            for name, (kind, value) in arguments.items():
                if kind == "*bf16":
                    arguments[name] = ("*fp16", vectors.to_float(value, "bfloat16").astype(np.float16))
        arguments.update({name: ("constexpr", value) for name, value in fact["constexpr"].items()})
        yield entry, source, function, fact["grid"], arguments, {output: dtype}


def feature_calls():
    source = pathlib.Path(__file__).with_name("features.py")
    random = np.random.default_rng(1)
    count = 16
    import features
    for function in features.ALL:
        for n in (4, 9):
            arguments = {
                "x": ("*fp32", (random.standard_normal(count) * 3).astype(np.float32)),
                "y": ("*fp32", (random.standard_normal(count) * 3).astype(np.float32)),
                "i": ("*i32", random.integers(-2**31, 2**31, count).astype(np.int32)),
                "j": ("*i32", random.integers(-50, 50, count).astype(np.int32)),
                "o": ("*fp32", np.zeros(count, np.float32)), "p": ("*i32", np.zeros(count, np.int32)),
                "n": ("i32", n), "B": ("constexpr", count),
            }
            yield f"{function} n={n}", source, function, [1], arguments, {"o": "float32", "p": "int32"}


def copied(arguments):
    return {name: (kind, value.copy() if isinstance(value, np.ndarray) else value)
            for name, (kind, value) in arguments.items()}


def compare(program, folder, label, source, function, grid, arguments, outputs):
    mine, theirs = copied(arguments), copied(arguments)
    ran, message = bridge.evaluate(program, folder, source, function, grid, mine)
    if ran is None:
        return f"{label}: refused\n{message}"
    interpreter.run(source, function, grid, theirs)
    for name, dtype in outputs.items():
        a, b = vectors.to_float(mine[name][1], dtype), vectors.to_float(theirs[name][1], dtype)
        slack = (ABSOLUTE.get(label, 2.0**-20) * np.abs(b).max()) if dtype != "int32" else 0
        with np.errstate(invalid="ignore"):  # infinities
            near = np.abs(a - b) <= TOLERANCE[dtype] * np.maximum(np.abs(a), np.abs(b)) + slack
        bad = ~near & ~(a == b)
        print(f"{label:28} {name:8} exact {np.mean(a == b):7.2%}")
        if bad.any():
            at = tuple(int(k) for k in np.argwhere(bad)[0])
            return f"{label}: `{name}` differs at {at}: {a[at]} here, {b[at]} in the interpreter"
    return None


def main() -> int:
    if not triton.__version__.startswith("3.6"):
        print(f"skipped: Triton {triton.__version__} is installed, the comparison is with 3.6")
        return 77
    program, corpus = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    calls = list(feature_calls())
    if (corpus / "h200" / "h200.npz").is_file():
        calls += corpus_calls(corpus)
    else:
        print(f"no vectors in `{corpus}`: only features.py is compared")
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        for call in calls:
            failure = compare(program, pathlib.Path(folder), *call)
            if failure:
                failures.append(failure)
    print("\n".join(failures) if failures else "all agree")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
