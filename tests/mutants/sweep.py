#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Breaks every lowering of suite/ and kernels of the corpus with `plumb mutate`, and keeps what became of each mutant.

Usage: sweep.py [--most N] [--jobs N] [--seconds S] [--only TEXT] PLUMB ROOT OUT. OUT is a folder with one JSON per kernel; those
there already are not done again. `sweep.py --table OUT FILE` writes the counts, and every mutant that was not caught,
into one JSON.
"""
import argparse
import concurrent.futures
import json
import pathlib
import subprocess
import sys

TARGETS = ("sm_80", "sm_89", "sm_90", "sm_100", "sm_103", "sm_120")


def kernels(root):
    """(name, task, PTX): the lowerings, and of each task of the corpus the aligned code for all targets kept there."""
    for ptx in sorted(root.glob("suite/*/sm_*/*.ptx")):
        yield f"{ptx.parent.parent.name}-{ptx.parent.name}", ptx.parent.parent, ptx
    for task in sorted((root / "tests/corpus").iterdir()):
        for target in TARGETS:
            ptx = task / target / f"{task.name}.ptx"
            if ptx.exists():
                yield f"corpus-{task.name}-{target}", task, ptx


def cheap_shapes(options, task, ptx):
    """Prove shapes, the quickest first, that together take less than `--shape-seconds` on one core; at least one. What they do not
    execute is not broken."""
    command = [options.plumb, "prove", str(task), str(ptx), "--json", "--workers", "1", "--seed", "1"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    times = {}
    for row in json.loads(done.stdout).get("shapes", []):
        label = row["shape"].split(", ")[0]  # alignments and metadata draws follow
        times[label] = times.get(label, 0) + row["seconds"]
    chosen, left = [], options.shape_seconds
    for label, seconds in sorted(times.items(), key=lambda one: one[1]):
        if chosen and seconds > left:
            break
        chosen.append(label)
        left -= seconds
    return [word for label in chosen for word in ("--shape", label)]


def sweep(options, name, task, ptx):
    path = options.out / f"{name}.json"
    if path.exists():
        return f"{name}: done before"
    shapes = cheap_shapes(options, task, ptx)
    command = [options.plumb, "mutate", str(ptx), "--task", str(task), "--json", "--most", str(options.most), "--workers", "1",
               "--seconds", str(options.seconds), *shapes]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        answer = json.loads(done.stdout)
    except json.JSONDecodeError:
        return f"{name}: exit code {done.returncode}: {(done.stdout + done.stderr)[:300]}"
    if "counts" not in answer:
        return f"{name}: {answer['findings'][0]['code']}: {answer['findings'][0]['message'][:200]}"
    path.write_text(json.dumps(answer, indent=1) + "\n")
    return f"{name}: {answer['counts']}"


def table(out, file):
    rows, left = [], []
    total = {}
    for path in sorted(out.glob("*.json")):
        answer = json.loads(path.read_text())
        rows.append({"kernel": path.stem, "shapes": answer["shapes"], "lines_not_executed": answer["lines_not_executed"], "seed": answer["seed"], **answer["counts"]})
        for end, count in answer["counts"].items():
            total[end] = total.get(end, 0) + count
        left += [{"kernel": path.stem, **{key: one[key] for key in ("operator", "line", "from", "to", "end", "code") if key in one}}
                 for one in answer["mutants"] if one["end"] != "caught"]
    file.write_text(json.dumps({"total": total, "kernels": rows, "not_caught": left}, indent=1) + "\n")
    print(total)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--most", type=int, default=80)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--shape-seconds", type=float, default=10)
    parser.add_argument("--only", default="")
    parser.add_argument("--table", nargs=2, type=pathlib.Path, metavar=("OUT", "FILE"))
    parser.add_argument("plumb", nargs="?")
    parser.add_argument("root", nargs="?", type=pathlib.Path)
    parser.add_argument("out", nargs="?", type=pathlib.Path)
    options = parser.parse_args()
    if options.table:
        return table(*options.table)
    options.out.mkdir(parents=True, exist_ok=True)
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        jobs = [pool.submit(sweep, options, *one) for one in kernels(options.root) if options.only in one[0]]
        for job in concurrent.futures.as_completed(jobs):
            print(job.result(), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
