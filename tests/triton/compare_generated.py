# SPDX-License-Identifier: Apache-2.0
"""Compares plumb's evaluation with Triton's own interpreter on generated kernels (cases.py), thousands of calls.

    compare_generated.py TRITON_EVALUATE [MODULES] [SEED] [--keep FILE] [-v]

Exits 77 with the reason when Triton or NumPy is missing, 1 when results differ. What plumb stops at with a finding about
undefined results is counted and not compared; other stops must be stops of the interpreter too. -v prints what only the
interpreter refuses. --keep writes digests of plumb's results where both agree, which check_generated.py compares with
on machines without Triton.
"""
import collections
import os
import pathlib
import sys
import tempfile
import warnings

os.environ["TRITON_INTERPRET"] = "1"  # read while Triton is imported

try:
    import numpy as np
    import triton
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

import cases
import check_generated
import interpreter

NUMPY = {"float16": np.float16, "float32": np.float32, "float64": np.float64, **{t: getattr(np, t) for t in cases.INTS}}
UNDEFINED = {"triton.undefined", "triton.arithmetic"}


MODULES = {}


def interpret(case):
    if case.module not in MODULES:
        MODULES[case.module] = interpreter.load_module(pathlib.Path(case.module))
    arrays, given = {}, {}
    for name, (kind, value) in case.arguments.items():
        if isinstance(value, bytes):
            dtype = next(t for t, s in cases.SIGNATURE.items() if "*" + s == kind)
            arrays[name] = np.frombuffer(value, dtype=NUMPY.get(dtype, np.bool_)).copy()
            given[name] = interpreter.Tensor(arrays[name], kind)
        else:
            given[name] = value
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        getattr(MODULES[case.module], case.function)[tuple(case.grid)](**given)
    return arrays


def difference(case, mine, theirs):
    for name, dtype in case.outputs.items():
        a = np.frombuffer(bytes.fromhex(mine[name]), dtype=NUMPY[dtype])
        b = theirs[name]
        if a.tobytes() == b.tobytes():
            continue
        x, y = a.astype(np.float64), b.astype(np.float64)
        with np.errstate(invalid="ignore"):
            near = np.abs(x - y) <= case.tolerance * np.maximum(np.maximum(np.abs(x), np.abs(y)), 1.0) if case.tolerance else x == y
        bad = ~(near | (x == y) | (np.isnan(x) & np.isnan(y)))
        if dtype in ("int64", "uint64"):
            bad = a != b
        if bad.any():
            at = int(np.argmax(bad))
            return f"`{name}`[{at}]: {a[at]} here, {b[at]} in the interpreter"
    return None


def source_of(case):
    text = pathlib.Path(case.module).read_text()
    return text[text.index(f"def {case.function}("):].split("\n\n\n")[0]


def main() -> int:
    program = sys.argv[1]
    numbers = [int(each) for each in sys.argv[2:] if each.isdigit()]
    modules, seed = (numbers + [12, 1][len(numbers):])[:2]
    keep = sys.argv[sys.argv.index("--keep") + 1] if "--keep" in sys.argv else None
    counts, failures, kept = collections.Counter(), {}, []
    with tempfile.TemporaryDirectory() as name:
        server = check_generated.serve(program, str(pathlib.Path(name) / "trees"))
        for case in cases.generate(seed, modules, pathlib.Path(name)):
            answer = check_generated.ask(server, case)
            try:
                theirs, error = interpret(case), None
            except Exception as raised:  # whatever the interpreter raises
                theirs, error = None, str(raised).strip().splitlines()[-1:] or [type(raised).__name__]
            kept.append("-")
            if "code" in answer and answer["code"] in UNDEFINED:
                counts["undefined"] += 1
            elif "code" in answer and error:
                counts["refused by both"] += 1
            elif "code" in answer:
                failures.setdefault(f"{case.name.split(' n=')[0]}", f"stops here: {answer['message']}\n{source_of(case)}")
            elif error:
                counts["interpreter fails"] += 1
                if "-v" in sys.argv:
                    print(f"the interpreter fails at {case.name}: {error[0][:100]}")
            else:
                wrong = difference(case, answer["outputs"], theirs)
                if wrong:
                    failures.setdefault(f"{case.name}", f"{wrong}\n{source_of(case)}")
                else:
                    counts["agree"] += 1
                    kept[-1] = check_generated.digest(case, answer["outputs"])
        server.stdin.close()
    for label, text in failures.items():
        print(f"--- {label}\n{text}\n")
    print(f"Triton {triton.__version__}, seed {seed}: {dict(counts)}, {len(failures)} differ")
    if keep:
        pathlib.Path(keep).write_text(f"{seed} {modules}\n" + "\n".join(kept) + "\n")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
