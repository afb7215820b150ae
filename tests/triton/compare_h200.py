# SPDX-License-Identifier: Apache-2.0
"""Compares plumb's evaluation of the corpus' kernels with what an H200 computed from the same inputs.

    compare_h200.py TRITON_EVALUATE CORPUS_FOLDER

Exits 77 with the reason when NumPy or the corpus is missing, 1 when an output differs by more than rounding: results in 16 bits by one unit in the last place of the larger
value, f32 by 2^-17 of it, matrix products also by what the sum of their terms' rounding errors allows, integers not at
all.
"""
import pathlib
import sys
import tempfile

try:
    import numpy as np
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

import bridge
import vectors

RELATIVE = {"bfloat16": 2.0**-7, "float16": 2.0**-9, "float32": 2.0**-17, "int32": 0.0}
# Relative to the largest output: rounding of partial sums, of tf32 operands (cut on the card, kept whole here where the
# product is exact) and of the probabilities that flash attention stores as bf16.
ABSOLUTE = {"matmul_f32_tf32": 2.0**-10, "matmul_fp8": 2.0**-7, "flash_attention": 2.0**-7,
            "flash_attention_causal": 2.0**-7, "matmul_i8": 0.0}


def compare(program, corpus, facts, arrays, entry, folder):
    function = vectors.FUNCTIONS[entry]
    source = corpus / "kernels.py"
    names = bridge.parameters(source.read_text(), function)
    fact = facts[entry]
    arguments = {}
    for i, (name, given) in enumerate(zip(names, fact["args"])):
        if isinstance(given, dict):
            arguments[name] = (f"*{vectors.TYPES[given['dtype']]}", arrays[f"{entry}.in{i}"].copy())
        elif isinstance(given, float):
            arguments[name] = ("fp32", given)
        else:
            arguments[name] = ("i32", given)
    for name, value in fact["constexpr"].items():
        arguments[name] = ("constexpr", value)
    output = fact["output"]
    dtype = fact["args"][output]["dtype"]
    ran, message = bridge.evaluate(program, folder, source, function, fact["grid"], arguments)
    if ran is None:
        return f"{entry}: refused\n{message}"
    mine = vectors.to_float(arguments[names[output]][1], dtype)
    card = vectors.to_float(arrays[f"{entry}.out{output}"], dtype)
    allowed = RELATIVE[dtype] * np.maximum(np.abs(mine), np.abs(card)) + ABSOLUTE.get(entry, 2.0**-20) * np.abs(card).max()
    wrong = ~(np.abs(mine - card) <= allowed)
    print(f"{entry:24} {ran['seconds'] * 1e3:9.2f} ms  exact {np.mean(mine == card):7.2%}  "
          f"largest difference {np.abs(mine - card).max():.3g}")
    if wrong.any():
        at = tuple(int(i) for i in np.argwhere(wrong)[0])
        return f"{entry}: {wrong.sum()} of {wrong.size} differ; first {at}: {mine[at]} here, {card[at]} on the card"
    return None


def main() -> int:
    program, corpus = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    if not (corpus / "h200" / "h200.npz").is_file():
        print(f"skipped: no vectors in `{corpus}`")
        return 77
    facts, arrays = vectors.load(corpus)
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        for entry in facts:
            failure = compare(program, corpus, facts, arrays, entry, pathlib.Path(folder))
            if failure:
                failures.append(failure)
    print("\n".join(failures) if failures else f"all {len(facts)} agree")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
