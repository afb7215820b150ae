#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Breaks the lowerings of suite/ and of the corpus' tasks in the ways of lowerings.json, and asks `plumb prove` about each.

Usage: lowerings.py [--most N] PLUMB ROOT [KERNEL...]. A KERNEL is NAME (of sm_89), NAME/TARGET or corpus/NAME/TARGET. A mutant with `shapes`
is judged at these instead of the task's. One that is `proved` with its contract `kept` is a failure, and so is one whose
first error has another code, or (where the finding points at an instruction) stands at another line. With --most, N of a
lowering's mutants are judged, spread over its list, so that a test run stays short; that the others' edits fit is seen in any case.
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile


def place_of(root, kernel):
    """The task's folder and the lowering of a KERNEL."""
    if kernel.startswith("corpus/"):
        _, name, target = kernel.split("/")
        task = root / "tests/corpus" / name
        return task, task / "lowerings" / target / f"{name}.ptx"
    name, _, target = kernel.partition("/")
    task = root / "suite" / name
    return task, task / (target or "sm_89") / f"{name}.ptx"


def edited(text, edits):
    for edit in edits:
        pattern = re.compile(r"\s+".join(re.escape(word) for word in edit["find"].split()))
        found = list(pattern.finditer(text))
        assert found, f"`{edit['find']}` is not in the lowering"
        if edit["which"] == "all":
            text = pattern.sub(lambda _, new=edit["replace"]: new, text)
        else:
            at = found[-1 if edit["which"] == "last" else int(edit["which"]) - 1]
            text = text[: at.start()] + edit["replace"] + text[at.end() :]
    return text


# Where a mutant is caught first depends on the alignments drawn: one seed, so that the place can be expected.
SEED = "1"


def judge(plumb, task, text, folder, shapes):
    path = pathlib.Path(folder) / "mutant.ptx"
    path.write_text(text)
    command = [plumb, "prove", str(task), str(path), "--json", "--seed", SEED]
    for shape in shapes:
        command += ["--shape", shape]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), f"exit code {done.returncode}: {done.stderr}"
    return json.loads(done.stdout)


def fault_of(answer, row):
    if answer["verdict"] == "proved" and answer["contract"] == "kept":
        return "it is proved, contract kept"
    errors = [finding for finding in answer["findings"] if finding["severity"] == "error"]
    first = errors[0] if errors else {"code": "none"}
    if first["code"] != row["code"]:
        return f"the first error is {first['code']}, not {row['code']}"
    if "line" in row and first.get("line") != row["line"]:
        return f"{row['code']} stands at line {first.get('line')}, not {row['line']}"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--most", type=int, default=0, help="0: all")
    parser.add_argument("plumb")
    parser.add_argument("root", type=pathlib.Path)
    parser.add_argument("kernels", nargs="*")
    options = parser.parse_args()
    plumb, root = options.plumb, options.root
    table = json.loads((root / "tests/mutants/lowerings.json").read_text())
    failed = ran = 0
    with tempfile.TemporaryDirectory() as folder:
        for kernel in options.kernels or table:
            task, path = place_of(root, kernel)
            lowering = path.read_text()
            rows = table[kernel]
            texts = [edited(lowering, row["edits"]) for row in rows]
            every = 1 if options.most == 0 else max(1, -(-len(rows) // options.most))
            for row, text in list(zip(rows, texts))[::every]:
                ran += 1
                answer = judge(plumb, task, text, folder, row.get("shapes", []))
                fault = fault_of(answer, row)
                if fault:
                    failed += 1
                    print(f"FAIL  {kernel}: {row['name']}: {fault}")
    print(f"{ran - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
