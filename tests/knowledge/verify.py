#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Verifies what the entries of knowledge/ rest on: each lowering that they name is proved and shows the idiom, and each
mutant that they name is found with the code that they say.

Usage: verify.py PLUMB ROOT [ENTRY...]. The entries are read from plumb itself, as a model gets them.
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

PLUMB, ROOT, *ONLY = sys.argv[1:]
ROOT = pathlib.Path(ROOT)
sys.path.insert(0, str(ROOT / "tests/mutants"))
from lowerings import edited, fault_of, judge  # noqa: E402

TABLE = json.loads((ROOT / "tests/mutants/lowerings.json").read_text())


def ask(tool, **arguments):
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([PLUMB, "tool", tool, json.dumps(arguments), "--folder", folder], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr + done.stdout
    return json.loads(done.stdout)


def lowering_of(kernel):
    name, target = kernel.split("/")
    return ROOT / "suite" / name, (ROOT / "suite" / name / target / f"{name}.ptx").read_text()


def heads():
    """The heads of the files, for what plumb does not show: which passages of a lowering are the idiom."""
    shows = {}
    for path in (ROOT / "knowledge").glob("*.md"):
        for proof, passages in re.findall(r'^proof = "(.*)"\nshows = \[(.*)\]$', path.read_text(), re.M):
            shows[path.stem, proof] = re.findall(r'"([^"]*)"', passages)
    return shows


def verify_proof(entry, evidence, shows):
    task, text = lowering_of(evidence["proof"])
    missing = [passage for passage in shows[entry, evidence["proof"]] if passage not in text]
    if missing:
        return f"{evidence['proof']} does not show {missing}"
    with tempfile.TemporaryDirectory() as folder:
        answer = judge(PLUMB, task, text, folder, [])
    if (answer["verdict"], answer["contract"]) != ("proved", "kept"):
        return f"{evidence['proof']} is {answer['verdict']}, contract {answer['contract']}"
    return None


def verify_mutant(evidence):
    key = evidence["mutant"].removesuffix("/sm_89")
    rows = [row for row in TABLE.get(key, []) if row["name"] == evidence["broken"]]
    if len(rows) != 1:
        return f"{len(rows)} mutants of {evidence['mutant']} are called `{evidence['broken']}`"
    if rows[0]["code"] != evidence["finding"]:
        return f"`{evidence['broken']}` is {rows[0]['code']}, the entry says {evidence['finding']}"
    task, text = lowering_of(evidence["mutant"])
    with tempfile.TemporaryDirectory() as folder:
        return fault_of(judge(PLUMB, task, edited(text, rows[0]["edits"]), folder, rows[0].get("shapes", [])), rows[0])


def main():
    names = sorted(entry["name"] for entry in ask("knowledge")["entries"])
    assert names == sorted(path.stem for path in (ROOT / "knowledge").glob("*.md") if path.stem != "README"), names
    shows, known, failed, ran = heads(), {}, 0, 0
    for name in ONLY or names:
        entry = ask("knowledge", name=name)["entries"][0]
        for evidence in entry["evidence"]:
            key = json.dumps([evidence.get("proof"), shows.get((name, evidence.get("proof"))), evidence.get("mutant"),
                              evidence.get("broken"), evidence.get("finding")])
            if key not in known:
                known[key] = verify_mutant(evidence) if "mutant" in evidence else verify_proof(name, evidence, shows)
                ran += 1
            if known[key]:
                failed += 1
                print(f"FAIL  {name}: {evidence['claim']}: {known[key]}")
    print(f"{ran} pieces of evidence of {len(ONLY or names)} entries, {failed} that do not hold")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
