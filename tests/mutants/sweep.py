#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Breaks every lowering of suite/ and tests/corpus and a sample of Triton's own code with `plumb mutate`, and keeps what became of
each mutant.

Usage: sweep.py [--most N] [--slice N] [--jobs N] [--seconds S] [--until S] [--only TEXT] PLUMB ROOT OUT. OUT is a folder with one JSON
per kernel and slice of its mutants; those there already are not done again, so that a sweep may be stopped at any time, and with
--until stops by itself. `sweep.py --table OUT FILE` writes the counts, and every mutant that was not caught, into one JSON.
"""
import argparse
import concurrent.futures
import json
import pathlib
import subprocess
import sys
import time

TARGETS = ("sm_80", "sm_89", "sm_90", "sm_100", "sm_103", "sm_120")


def kernels(root):
    """(name, task, PTX): the lowerings, and of each task of the corpus the aligned code for all targets kept there."""
    for ptx in sorted(root.glob("suite/*/sm_*/*.ptx")):
        yield f"{ptx.parent.parent.name}-{ptx.parent.name}", ptx.parent.parent, ptx
    for ptx in sorted(root.glob("tests/corpus/*/lowerings/sm_*/*.ptx")):
        task = ptx.parent.parent.parent
        yield f"lowered-{task.name}-{ptx.parent.name}", task, ptx
    for task in sorted((root / "tests/corpus").iterdir()):
        for target in TARGETS:
            ptx = task / target / f"{task.name}.ptx"
            if ptx.exists():
                yield f"corpus-{task.name}-{target}", task, ptx


def is_lowering(name):
    return not name.startswith("corpus-")


class Late(Exception):
    """The time of --until is up."""


def ask(options, command):
    """The JSON of a plumb command."""
    left = options.end - time.monotonic()
    if left < 1:
        raise Late
    try:
        done = subprocess.run([options.plumb, *command, "--json"], capture_output=True, text=True, check=False, timeout=left)
    except subprocess.TimeoutExpired as error:
        raise Late from error
    return json.loads(done.stdout) if done.stdout.startswith("{") else {"findings": [{"code": "none", "message": (done.stdout + done.stderr)[:300]}]}


def seconds_of_shapes(options, task, ptx, shapes):
    """By label: how long a proof takes on one core. Alignments and metadata draws follow the label."""
    words = [word for label in shapes for word in ("--shape", label)]
    answer = ask(options, ["prove", str(task), str(ptx), "--workers", "1", "--seed", "1", *words])
    times = {}
    for row in answer.get("shapes", []):
        label = row["shape"].split(", ")[0]
        times[label] = times.get(label, 0) + row["seconds"]
    return times


def quickest(times, limit):
    """Those that together take less than the limit; at least one. What they do not execute is not broken."""
    chosen = []
    for label, seconds in sorted(times.items(), key=lambda one: one[1]):
        if chosen and seconds > limit:
            break
        chosen.append(label)
        limit -= seconds
    return chosen


def shapes_of(options, name, task, ptx):
    """The quickest prove shapes, and the quickest of those that only the certificate has: a ring may go round at these alone. Chosen
    once, for all slices."""
    path = options.out / f"{name}.shapes"
    if path.exists():
        return path.read_text().splitlines()
    times = seconds_of_shapes(options, task, ptx, [])
    chosen = quickest(times, options.shape_seconds)
    certificate = ptx.with_suffix(".proof.json")
    if certificate.exists():
        named = {row["shape"].split(", ")[0] for row in json.loads(certificate.read_text())["outcome"]["shapes"]}
        further = sorted(named - set(times))
        if further:
            chosen += quickest(seconds_of_shapes(options, task, ptx, further), options.shape_seconds)
    if chosen:
        path.write_text("\n".join(chosen) + "\n")
    return chosen


def operators_of(options, number):
    """The kinds of faults of a slice: the slices take turns, and begin again with another seed."""
    rounds = -(-len(options.operators) // options.slice)
    return options.operators[number % rounds :: rounds], 1 + number // rounds


def sweep(options, name, task, ptx, number):
    path = options.out / f"{name}.{number:03}.json"
    if path.exists():
        return None
    try:
        shapes = shapes_of(options, name, task, ptx)
        operators, seed = operators_of(options, number)
        command = ["mutate", str(ptx), "--task", str(task), "--seed", str(seed), "--most", str(options.slice), "--workers", "1",
                   "--seconds", str(options.seconds)]
        command += [word for operator in operators for word in ("--operator", operator)]
        answer = ask(options, command + [word for label in shapes for word in ("--shape", label)])
    except Late:
        return None
    if "counts" not in answer:
        return f"{name}: {answer['findings'][0]['code']}: {answer['findings'][0]['message'][:200]}"
    path.write_text(json.dumps(answer, indent=1) + "\n")
    return f"{path.stem}: {answer['counts']}"


def table(out, file):
    """One row for each kernel, of all its slices; a mutant that two slices drew counts once."""
    rows, left = {}, []
    total, seen = {}, set()
    for path in sorted(out.glob("*.json")):
        answer = json.loads(path.read_text())
        kernel = path.stem.split(".")[0]
        row = rows.setdefault(kernel, {"kernel": kernel, "shapes": answer["shapes"], "lines_not_executed": answer["lines_not_executed"]})
        for one in answer["mutants"]:
            name = (kernel, one["operator"], one["line"], one["column"], one["to"])
            if name in seen:
                continue
            seen.add(name)
            for counts in (row, total):
                counts[one["end"]] = counts.get(one["end"], 0) + 1
            if one["end"] != "caught":
                left.append({"kernel": kernel, **{key: one[key] for key in ("operator", "line", "from", "to", "end", "code", "same_bits")
                                                  if key in one}})
    file.write_text(json.dumps({"total": total, "kernels": list(rows.values()), "not_caught": left}, indent=1) + "\n")
    print(total)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--most", type=int, default=128, help="mutants of a lowering; of Triton's code a quarter")
    parser.add_argument("--slice", type=int, default=8)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--shape-seconds", type=float, default=10)
    parser.add_argument("--until", type=float, default=1e9, help="seconds after which the sweep stops")
    parser.add_argument("--only", default="")
    parser.add_argument("--table", nargs=2, type=pathlib.Path, metavar=("OUT", "FILE"))
    parser.add_argument("plumb", nargs="?")
    parser.add_argument("root", nargs="?", type=pathlib.Path)
    parser.add_argument("out", nargs="?", type=pathlib.Path)
    options = parser.parse_args()
    if options.table:
        return table(*options.table)
    options.end = time.monotonic() + options.until
    options.out.mkdir(parents=True, exist_ok=True)
    chosen = [one for one in kernels(options.root) if options.only in one[0]]
    options.operators = [row["name"] for row in ask(options, ["mutate", "--operators"])["operators"]]
    # All kernels' first slices come before any second one, so that whatever is done is spread over them.
    slices = [(*one, number) for number in range(options.most // options.slice) for one in chosen
              if number * options.slice < (options.most if is_lowering(one[0]) else options.most // 4)]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for line in pool.map(lambda one: sweep(options, *one), slices):
            if line:
                print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
