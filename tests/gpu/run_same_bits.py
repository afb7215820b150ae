#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the PTX of suite/ and tests/corpus/ on plumb's machine and on the GPU with the same inputs, and compares the outputs bit by
bit (`plumb run --gpu`). Approximate instructions may give other bits (docs/machine.md): those kernels are listed with the
number of elements, and fail where the machine's numbers are outside of the task's tolerance as well. Exits with 77, the
skip code of ctest, where there is no GPU."""
import argparse
import concurrent.futures
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
NO_GPU, SKIPPED = 4, 77


def pairs(extra):
    for ptx in sorted(ROOT.glob("suite/*/sm_*/*.ptx")) + sorted(ROOT.glob("tests/corpus/*/sm_*/*.ptx")):
        # Code for Blackwell runs on no card that this is used with; matmul_desc_large needs more shared memory than sm_89 has.
        if not ptx.parent.name.startswith(("sm_10", "sm_12")) and ptx.parts[-2:] != ("sm_89", "matmul_desc_large.ptx"):
            yield ptx.parent.parent, ptx
    for ptx in sorted(pathlib.Path(extra).glob("*.ptx")) if extra else []:
        task = ROOT / "tests/corpus" / ptx.stem.removesuffix("_unaligned")
        if task.is_dir():
            yield task, ptx


def one(plumb, task, ptx, shape):
    command = [plumb, "run", str(task), str(ptx), "--gpu", "--compare", "--json", *(["--shape", shape] if shape else [])]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    row = {"task": task.name, "ptx": str(ptx), "exit_code": done.returncode}
    try:
        answer = json.loads(done.stdout)
    except json.JSONDecodeError:
        return {**row, "error": (done.stdout + done.stderr)[:300]}
    row["shape"] = answer.get("shape", shape)
    errors = [finding["message"] for finding in answer["findings"] if finding["severity"] == "error"]
    if errors:
        row["error"] = errors[0][:300]
    for output in answer.get("outputs", []):
        card, spec = output.get("card", {}), output.get("against_triton", {})
        row["elements"] = row.get("elements", 0) + card.get("elements", 0)
        row["other_bits"] = row.get("other_bits", 0) + card.get("other_bits", 0)
        row["outside_tolerance"] = row.get("outside_tolerance", 0) + spec.get("outside_tolerance", 0)
        if "first_other" in card:
            row["first_other"] = card["first_other"]
    return row


def shapes_of(plumb, task, ptx):
    """What the file claims of the task's prove shapes, as `plumb prove` would take them."""
    done = subprocess.run([plumb, "check", str(ptx), "--task", str(task), "--json"], capture_output=True, text=True, check=False)
    labels = [row["shape"].split(", ")[0] for row in json.loads(done.stdout).get("shapes", [])]
    return list(dict.fromkeys(labels))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plumb", default=str(ROOT / "build/plumb"))
    parser.add_argument("--out", help="write all rows to this JSON file")
    parser.add_argument("--only", default="", help="paths that contain this")
    parser.add_argument("--extra", default="", help="a folder of further PTX for the corpus' tasks")
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    probe = [options.plumb, "run", str(ROOT / "suite/vector_add"), str(ROOT / "suite/vector_add/sm_89/vector_add.ptx"), "--gpu"]
    if subprocess.run(probe, capture_output=True, check=False).returncode == NO_GPU:
        print("skipped: no GPU")
        return SKIPPED
    rows, failed = [], 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        def all_shapes(task, ptx):
            return [one(options.plumb, task, ptx, shape) for shape in shapes_of(options.plumb, task, ptx)[:3]]
        jobs = [pool.submit(all_shapes, *pair) for pair in pairs(options.extra) if options.only in str(pair[1])]
        for job in jobs:
            for row in job.result():
                row["ptx"] = row["ptx"].replace(str(ROOT) + "/", "")
                rows.append(row)
                if "error" in row or (row["other_bits"] and row["outside_tolerance"]):
                    failed += 1
                if "error" in row or row["other_bits"]:
                    count = f"{row.get('other_bits')} of {row.get('elements')}"
                    print(f"{row['ptx']} {row.get('shape')}: {row.get('error') or row.get('first_other')} ({count})", flush=True)
    same = sum(1 for row in rows if row.get("other_bits") == 0 and "error" not in row)
    print(f"{same} of {len(rows)} runs have the same bits, {failed} failed")
    if options.out:
        pathlib.Path(options.out).write_text(json.dumps(rows, indent=1) + "\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
