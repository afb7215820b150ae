#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Proves the CUDA pairs: pairs.py PLUMB [--full] [NAME...]. A pair that has no finding must be proved with its contract kept;
one that has must be `different`, with that finding where the CUDA source says RACE. --full: at the shapes that the figures
in docs/benchmarks.md are of, on one core, with time and peak memory."""
import json
import os
import pathlib
import re
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent


def source_line(ptx: pathlib.Path, line: int) -> int:
    """The line of the CUDA source that a line of PTX was made from."""
    for text in reversed(ptx.read_text().splitlines()[:line]):
        found = re.match(r"\s*\.loc\s+\d+\s+(\d+)\s+\d+(.*inlined_at\s+\d+\s+(\d+))?", text)
        if found:
            return int(found[3] or found[1])
    return 0


def run(plumb: str, pair: dict, shape: str) -> tuple[dict, float, int]:
    command = [plumb, "prove", HERE / pair["task"], HERE / pair["candidate"], "--spec", HERE / pair["spec"], "--shape", shape]
    begin = time.monotonic()
    child = subprocess.Popen([*map(str, command), "--json", "-j", "1"], stdout=subprocess.PIPE)
    answer = child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    outcome = json.loads(answer)
    outcome["exit code"] = child.returncode
    return outcome, time.monotonic() - begin, usage.ru_maxrss


def mistake(pair: dict, outcome: dict) -> str:
    """What is wrong with the answer; empty when it is right."""
    told = json.dumps(outcome["findings"], indent=1)
    wanted = pair.get("finding")
    if wanted is None:
        good = outcome["verdict"] == "proved" and outcome["contract"] == "kept" and outcome["exit code"] == 0
        elements = sum(shape["elements"] for shape in outcome["shapes"])
        return "" if good and elements > 0 else f"{outcome['verdict']}, contract {outcome['contract']}: {told}"
    found = [finding for finding in outcome["findings"] if finding["code"] == wanted]
    if outcome["verdict"] != "different" or not found or outcome["exit code"] != 1:
        return f"{outcome['verdict']}, and not {wanted}: {told}"
    if not wanted.startswith("race."):
        return ""
    # One entry of a module has one PTX file.
    ptx = HERE / pair["candidate"]
    cuda = (ptx.parent / f"{ptx.parent.name}.cu").read_text().splitlines()
    lines = {source_line(ptx, place["line"]) for finding in found for place in [finding, *finding.get("notes", [])]
             if place.get("line")}
    name = re.search(r'entry = "(\w+)"', ptx.read_text())[1]
    first = next(i for i, text in enumerate(cuda) if re.search(rf"\b{name}\(", text))
    racy = next(i + 1 for i in range(first, len(cuda)) if "// RACE" in cuda[i])
    return "" if racy in lines else f"the race is at line {racy} of the CUDA source, and was found at {sorted(lines)}"


def main() -> int:
    plumb, *rest = sys.argv[1:]
    is_full = "--full" in rest
    names = [name for name in rest if name != "--full"]
    bad, seconds, most = 0, 0.0, 0
    for pair in json.loads((HERE / "pairs.json").read_text())["pairs"]:
        name = pathlib.Path(pair["candidate"]).stem
        if names and name not in names:
            continue
        shape = pair.get("shape") if is_full else pair.get("quick", pair.get("shape"))
        if shape is None:
            continue
        outcome, took, memory = run(plumb, pair, shape)
        wrong = mistake(pair, outcome)
        bad += bool(wrong)
        seconds, most = seconds + took, max(most, memory)
        elements = sum(row["elements"] for row in outcome["shapes"])
        print(f"{name:26} {shape:18} {outcome['verdict']:10} {elements:9} elements {took:7.2f} s {memory / 1024:6.0f} MB"
              f"{'   ' + wrong if wrong else ''}", flush=True)
    print(f"all: {seconds:.2f} s, at most {most / 1024:.0f} MB")
    return bad != 0


if __name__ == "__main__":
    sys.exit(main())
