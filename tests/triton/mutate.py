# SPDX-License-Identifier: Apache-2.0
"""Breaks the kernels of `features.py` in small random ways and evaluates what is left.

    mutate.py TRITON_EVALUATE COUNT [SEED]

Every mutant must be evaluated or refused with a finding: exits 1 when one crashes or hangs. Needs no package.
"""
import json
import os
import pathlib
import random
import re
import struct
import subprocess
import sys
import tempfile

OPERANDS = ["0", "1", "-1", "n", "r", "B", "a", "b", "None", "i", "x", "p", "SCALE", "tl.int8", "2.5e300", "1 << 62", "'text'",
            "float('nan')", "tl.zeros((4, 4), tl.float16)", "tl.full((1048576,), 1, tl.int32)", "tl.arange(0, 2)", "(1, 2)",
            "a[:, None]", "a[None, :]", "a.T", "a.dtype", "a.shape", "tl.join(a, b)", "tl.load(x)", "(a > b)", "not a",
            "a.to(tl.int1)", "a.to(tl.uint64)", "a.to(tl.float8e4nv)", "tl.atomic_add(p + r, a)", "tl.cdiv(a, b)",
            "tl.sum(a)", "tl.max(a, 0)", "tl.reshape(a, 4, 4)", "scale_by", "scale_by(a, b)", "tl.trans(a)", "x + a",
            "tl.where(a > b, a, b)", "tl.dot(a, a)", "tl.int8", "(lambda: 0)", "min(a, b)", "tl.split(a)", "tl.flip(a)"]
OPERATORS = ["+", "-", "*", "/", "//", "%", "<<", ">>", "&", "|", "^", "**", "<", "==", "and", "or", "is"]


def mutant(text, name, dice):
    lines = text.split("\n")
    first = next(i for i, line in enumerate(lines) if line.startswith(f"def {name}(")) + 1
    body = list(range(first, lines.index("", first)))
    for _ in range(dice.randint(1, 3)):
        at = dice.choice(body)
        parts = re.findall(r"[\w.]+|\s+|//|<<|>>|[^\w\s]", lines[at])
        operands = [i for i, part in enumerate(parts) if re.fullmatch(r"[a-z0-9]\w*", part) and part not in ("for", "in", "if", "else", "while")]
        operators = [i for i, part in enumerate(parts) if part in OPERATORS]
        kind = dice.randrange(5)
        if kind <= 1 and operands:
            parts[dice.choice(operands)] = dice.choice(OPERANDS)
        elif kind <= 3 and operators:
            parts[dice.choice(operators)] = f" {dice.choice(OPERATORS)} "
        lines[at] = "".join(parts)
        if kind == 4:
            other = dice.choice(body)
            lines[at], lines[other] = lines[other], lines[at]
    return "\n".join(lines)


def main() -> int:
    program, count = sys.argv[1], int(sys.argv[2])
    dice = random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else 1)
    text = pathlib.Path(__file__).with_name("features.py").read_text()
    names = re.search(r"ALL = \[(.*)\]", text).group(1).replace('"', "").split(", ")
    outcomes = {}
    # A sanitizer's own report must not look like a finding.
    environment = {**os.environ, "ASAN_OPTIONS": "exitcode=99", "UBSAN_OPTIONS": "exitcode=99"}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for i in range(count):
            function = dice.choice(names)
            source = mutant(text, function, dice)
            (folder / "kernel.py").write_text(source)
            arguments = {"n": {"type": "i32", "bits": 9}, "B": {"type": "constexpr", "value": 16}}
            for tensor, kind in (("x", "*fp32"), ("y", "*fp32"), ("o", "*fp32"), ("i", "*i32"), ("j", "*i32"), ("p", "*i32")):
                (folder / tensor).write_bytes(struct.pack("16f" if kind == "*fp32" else "16i", *range(16)))
                arguments[tensor] = {"type": kind, "file": str(folder / tensor)}
            manifest = {"source": str(folder / "kernel.py"), "function": function, "grid": [2],
                        "arguments": arguments, "budget": 1 << 24}
            (folder / "manifest.json").write_text(json.dumps(manifest))
            try:
                run = subprocess.run([program, str(folder / "manifest.json")], capture_output=True, text=True, check=False,
                                     timeout=60, env=environment)
            except subprocess.TimeoutExpired:
                print(f"mutant {i} hangs:\n{source}")
                return 1
            if run.returncode not in (0, 1) or (run.returncode == 1 and "error:" not in run.stderr):
                print(f"mutant {i} ends with {run.returncode}:\n{run.stderr}\n{source}")
                return 1
            word = re.search(r"\[([\w.-]+)\]$", run.stderr, re.M)
            outcome = word.group(1) if word else "evaluated"
            outcomes[outcome] = outcomes.get(outcome, 0) + 1
    print(outcomes)
    return 0


if __name__ == "__main__":
    sys.exit(main())
