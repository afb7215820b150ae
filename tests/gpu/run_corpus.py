#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests code that is known to be right on the GPU: the lowerings of suite/ and the PTX of tests/corpus/. None of it may be
rejected. Exits with 77, the skip code of ctest, where there is no GPU."""
import argparse
import concurrent.futures
import json
import pathlib
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
NO_GPU, SKIPPED = 4, 77


def pairs(extra):
    for ptx in sorted(ROOT.glob("tests/corpus/*/lowerings/sm_*/*.ptx")):
        yield ptx.parents[2], ptx
    for ptx in sorted(ROOT.glob("suite/*/sm_*/*.ptx")) + sorted(ROOT.glob("tests/corpus/*/sm_*/*.ptx")):
        if not ptx.parent.name.startswith("sm_10"):  # code for Blackwell runs on no card that this is used with
            yield ptx.parent.parent, ptx
    # More PTX for the corpus' tasks, from a folder with one level of targets: NAME.ptx and NAME_unaligned.ptx.
    for ptx in sorted(pathlib.Path(extra).glob("*.ptx")) if extra else []:
        task = ROOT / "tests/corpus" / ptx.stem.removesuffix("_unaligned")
        if task.is_dir():
            yield task, ptx


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plumb", default=str(ROOT / "build/plumb"))
    parser.add_argument("--out", help="write all verdicts to this JSON file")
    parser.add_argument("--only", default="", help="paths that contain this")
    parser.add_argument("--extra", default="", help="a folder of further PTX for the corpus' tasks")
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1, help="tests at a time")
    parser.add_argument("arguments", nargs="*", help="further arguments of `plumb test`")
    options = parser.parse_args()

    def judge(job):
        task, ptx = job
        begin = time.monotonic()
        result = subprocess.run([options.plumb, "test", str(task), str(ptx), "--json", *options.arguments],
                                capture_output=True, text=True, timeout=600)
        seconds = time.monotonic() - begin
        try:
            answer = json.loads(result.stdout)
        except json.JSONDecodeError:
            answer = {"findings": [{"code": "no answer", "message": (result.stdout + result.stderr)[:400]}]}
        shapes = answer.get("shapes", [])
        row = {"task": task.name, "ptx": str(ptx.relative_to(ROOT) if ptx.is_relative_to(ROOT) else ptx.name),
               "code": result.returncode, "seconds": seconds, "elements": answer.get("elements_compared", 0),
               "launches": answer.get("launches", 0), "shapes": len(shapes),
               "worst_part": max((o["worst_part_of_tolerance"] for s in shapes for o in s["outputs"]
                                  if not isinstance(o["worst_part_of_tolerance"], str)), default=0),
               "findings": [f"{each['code']}: {each['message']}" for each in answer.get("findings", [])],
               "remarks": [f"{each['code']}: {each['message']}" for each in answer.get("remarks", [])]}
        print(f"{'ok  ' if row['code'] == 0 else 'FAIL'} {row['ptx']:60} {row['shapes']} shapes, worst "
              f"{row['worst_part']:.2g}, {seconds:.1f} s", *row["findings"][:2], flush=True)
        return row

    jobs = [pair for pair in pairs(options.extra) if options.only in str(pair[1]) for _ in range(options.runs)]
    if jobs and judge(jobs[0])["code"] == NO_GPU:
        print("skipped: there is no GPU here")
        return SKIPPED
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        rows = list(pool.map(judge, jobs))
    if options.out:
        pathlib.Path(options.out).write_text(json.dumps(rows, indent=1) + "\n")
    failures = sum(row["code"] != 0 for row in rows)
    print(f"{len(rows) - failures} of {len(rows)} hold")
    return 1 if failures or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
