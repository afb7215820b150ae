#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests every candidate of tests/cheats on the GPU: each must be rejected for its own reason, and the honest job after it
must pass.

A candidate's comment `// cheat: TASK REASON` names the task of suite/ and the code that it must be rejected for; several
codes with `|` between them where chance decides which check sees it first, `holds` for the controls. Exits with 77, the
skip code of ctest, where there is no GPU.
"""
import argparse
import concurrent.futures
import json
import pathlib
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
NO_GPU, SKIPPED = 4, 77


def read_claim(path):
    for line in path.read_text().splitlines():
        if line.startswith("// cheat: "):
            task, reasons = line.removeprefix("// cheat: ").split()
            return task, reasons.split("|")
    raise SystemExit(f"{path}: no `// cheat:` line")


def test(plumb, task, ptx, arguments):
    command = [plumb, "test", str(ROOT / "suite" / task), str(ptx), "--json", *arguments]
    begin = time.monotonic()
    result = subprocess.run(command, capture_output=True, text=True, timeout=600)
    seconds = time.monotonic() - begin
    if result.returncode == NO_GPU:
        return {"code": NO_GPU, "seconds": seconds, "codes": []}
    try:
        answer = json.loads(result.stdout)
    except json.JSONDecodeError:
        answer = {"findings": [{"code": "no answer", "message": (result.stdout + result.stderr)[:400]}]}
    findings = answer.get("findings", [])
    return {"code": result.returncode, "seconds": seconds, "codes": [each["code"] for each in findings],
            "messages": [each["message"] for each in findings], "card": answer.get("card"),
            "remarks": [each["message"] for each in answer.get("remarks", [])],
            "elements": answer.get("elements_compared", 0)}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plumb", default=str(ROOT / "build/plumb"))
    parser.add_argument("--out", help="write all verdicts to this JSON file")
    parser.add_argument("--only", default="", help="names that contain this")
    parser.add_argument("--honest-runs", type=int, default=1, help="how often each control is run")
    parser.add_argument("--jobs", type=int, default=1, help="tests at a time")
    parser.add_argument("arguments", nargs="*", help="further arguments of `plumb test`")
    options = parser.parse_args()

    candidates = sorted(path for path in (ROOT / "tests/cheats").glob("*.ptx") if options.only in path.name)
    honest = ROOT / "tests/cheats/honest_add.ptx"
    if candidates and test(options.plumb, "vector_add", honest, ["--shape", "n=7"])["code"] == NO_GPU:
        print("skipped: there is no GPU here")
        return SKIPPED

    def judge(path):
        task, reasons = read_claim(path)
        verdict = test(options.plumb, task, path, options.arguments)
        row = {"name": path.stem, "task": task, "expected": reasons, **verdict}
        if reasons == ["holds"]:
            row["is_right"] = verdict["code"] == 0
        else:
            after = test(options.plumb, "vector_add", honest, ["--shape", "n=1000"])
            row["honest_after"] = after["code"] == 0
            is_rejected = verdict["code"] == 1 and bool(set(verdict["codes"]) & set(reasons))
            row["is_right"] = is_rejected and row["honest_after"]
        print(f"{'ok  ' if row['is_right'] else 'FAIL'} {path.stem:28} {'|'.join(reasons):24} "
              f"{','.join(verdict['codes']) or 'holds':24} {verdict['seconds']:.1f} s", flush=True)
        if not row["is_right"]:
            print(*("     " + message for message in verdict.get("messages", [])[:2]), sep="\n", flush=True)
        return row

    jobs = [path for path in candidates
            for _ in range(options.honest_runs if read_claim(path)[1] == ["holds"] else 1)]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        rows = list(pool.map(judge, jobs))
    if options.out:
        pathlib.Path(options.out).write_text(json.dumps(rows, indent=1) + "\n")
    failures = sum(not row["is_right"] for row in rows)
    print(f"{len(rows) - failures} of {len(rows)} as expected")
    return 1 if failures or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
