#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Candidates that compute nothing are rejected for every task of the suite: by the proof, and by the comparison of numbers.

Usage: check_trivial.py PLUMB ROOT [TASK ...]. For each task three kinds of PTX are written: one that stores nothing (outputs stay
unwritten, tensors that are updated stay as they were), one that stores zeros to every output, one that copies an input to every
output. At the task's smallest prove shape `plumb prove` must call each `different`, and `plumb run --compare` must find wrong
elements within the task's own tolerance.
"""
import json
import math
import pathlib
import subprocess
import sys
import tempfile

if sys.version_info < (3, 11):
    print("skipped: this Python has no tomllib (3.11)")
    sys.exit(77)
import tomllib

NAMES = {"cdiv": lambda a, b: -(-a // b), "min": min, "max": max, "next_power_of_2": lambda a: 1 << max(0, a - 1).bit_length(),
         "__builtins__": {}}
BITS = {"fp16": 16, "bf16": 16, "fp32": 32, "fp64": 64, "fp8e4nv": 8, "fp8e5": 8, "i1": 8, "u1": 8}


def bits_of(arg):
    kind = arg["type"][1:]
    return BITS.get(kind) or int(kind[1:])


def sizes_of(task, shape):
    """What expressions may name, by value."""
    known = dict(shape)
    for arg in task["args"]:
        if arg["type"][0] in "iu":
            known[arg["name"]] = evaluate(arg["value"], known)
    for name, value in task.get("constexpr", {}).items():
        if not isinstance(value, (dict, float)):
            known[name] = evaluate(value, known)
    return known


def evaluate(text, known):
    return eval(text, NAMES, known) if isinstance(text, str) else text


def elements(arg, known):
    return math.prod(evaluate(extent, known) for extent in arg["shape"])


def candidate(entry, tensors, outputs, known, source=None):
    """PTX of one thread per element: `outputs` get zeros, or the elements of `source`; None stores nothing."""
    most = max((elements(out, known) for out in outputs), default=1)
    body = []
    for number, out in enumerate(outputs):
        bits, count = bits_of(out), elements(out, known)
        if source is not None:
            count = min(count, elements(source, known))
        body += [f"setp.ge.u64 p, i, {count};", f"@p bra NEXT{number};", f"mad.lo.u64 a, i, {bits // 8}, q_{out['name']};"]
        if source is None:
            body.append("mov.u64 v, 0;")
        else:
            body += [f"mad.lo.u64 b, i, {bits // 8}, q_{source['name']};", f"ld.global.u{bits} v, [b];"]
        body += [f"st.global.u{bits} [a], v;", f"NEXT{number}:"]
    header = [f'entry = "{entry}"', f"grid = [{-(-most // 128)}]", "block = [128]",
              f"params = {json.dumps([arg['name'] for arg in tensors])}"]
    names = [arg["name"] for arg in tensors]
    loads = [line for name in names for line in (f"ld.param.u64 q_{name}, [p_{name}];", f"cvta.to.global.u64 q_{name}, q_{name};")]
    lines = [*(f"//! {line}" for line in header), ".version 7.8", ".target sm_80", ".address_size 64",
             f".visible .entry {entry}(" + ", ".join(f".param .u64 p_{name}" for name in names) + ")", ".reqntid 128, 1, 1", "{",
             ".reg .pred p;", ".reg .b32 t, c;", ".reg .b64 i, a, b, v" + "".join(f", q_{name}" for name in names) + ";", *loads,
             "mov.u32 t, %tid.x;", "mov.u32 c, %ctaid.x;", "mad.lo.u32 t, c, 128, t;", "cvt.u64.u32 i, t;", *body, "ret;", "}"]
    return "\n".join(lines) + "\n"


def trivial(task, known):
    tensors = [arg for arg in task["args"] if arg["type"].startswith("*")]
    outputs = [arg for arg in tensors if arg.get("role", "in") != "in"]
    yield "nothing", candidate("trivial", tensors, [], known)
    yield "zeros", candidate("trivial", tensors, outputs, known)
    for source in tensors:
        alike = [out for out in outputs if bits_of(out) == bits_of(source) and out is not source]
        if source.get("role", "in") != "out" and not source.get("metadata") and alike:
            yield f"a copy of `{source['name']}`", candidate("trivial", tensors, alike, known, source)
            return


def verdict(plumb, folder, sizes, file):
    done = subprocess.run([plumb, "prove", str(folder), str(file), "--shape", sizes, "--json"], capture_output=True, text=True, check=False)
    return json.loads(done.stdout).get("verdict", done.stdout), done


def check_task(plumb, folder, place):
    task = tomllib.loads((folder / "task.toml").read_text())
    shape = min(task["shapes"]["prove"], key=lambda each: math.prod(max(1, size) for size in each.values()))
    known, sizes = sizes_of(task, shape), ",".join(f"{name}={size}" for name, size in shape.items())
    wrong = []
    for what, text in trivial(task, known):
        file = place / "trivial.ptx"
        file.write_text(text)
        found, done = verdict(plumb, folder, sizes, file)
        if found != "different" or done.returncode != 1:
            wrong.append(f"{what}: the verdict is {found}, exit code {done.returncode}: {(done.stdout + done.stderr)[:400]}")
        done = subprocess.run([plumb, "run", str(folder), str(file), "--shape", sizes, "--compare", "--json"],
                              capture_output=True, text=True, check=False)
        if done.returncode != 1:
            wrong.append(f"{what}: `plumb run --compare` ends with {done.returncode}: {(done.stdout + done.stderr)[:400]}")
    return wrong


def main():
    plumb, root, *names = sys.argv[1:]
    passed = failed = 0
    with tempfile.TemporaryDirectory() as place:
        for path in sorted(pathlib.Path(root, "suite").glob("*/task.toml")):
            if names and path.parent.name not in names:
                continue
            wrong = check_task(plumb, path.parent, pathlib.Path(place))
            passed, failed = passed + (not wrong), failed + bool(wrong)
            for line in wrong:
                print(f"FAIL  {path.parent.name}: {line}", flush=True)
    print(json.dumps({"passed": passed, "failed": failed}))
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
