#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Verifies what the entries of knowledge/ rest on: each lowering that they name is proved and shows the idiom, each
mutant that they name is found with the code that they say, and each figure stands in a result that tells card, driver,
date and command. A time in an entry's text that is no such figure is a failure.

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


def figure_of(evidence):
    """The number that the result has, in the unit of the entry, and what the result lacks."""
    path = ROOT / "results" / evidence["figure"]
    if not path.is_file():
        return None, f"there is no results/{evidence['figure']}"
    result = value = json.loads(path.read_text())
    above = [result]
    try:
        for key in evidence["at"].split("/")[1:]:
            value = value[int(key) if isinstance(value, list) else key]
            above.append(value)
    except (KeyError, IndexError, ValueError, TypeError):
        return None, f"results/{evidence['figure']} has nothing at {evidence['at']}"

    def tells(key):
        cards = [each.get("card") for each in above if isinstance(each, dict)]
        return any(isinstance(each, dict) and each.get(key) for each in above + cards)

    lacking = [key for key in ("card", "driver", "date", "command") if not tells(key)]
    if lacking:
        return None, f"results/{evidence['figure']} does not tell {', '.join(lacking)}"
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None, f"{evidence['at']} of results/{evidence['figure']} is no number"
    return (value * 1e-3 if "_ns" in evidence["at"] else value), None


def verify_figure(text, evidence):
    value, fault = figure_of(evidence)
    if fault:
        return fault
    quoted = repr(evidence["value"]).removesuffix(".0")
    decimals = len(quoted.partition(".")[2])
    if round(value, decimals) != evidence["value"]:
        return f"the entry says {quoted}, {evidence['figure']} has {value:g} at {evidence['at']}"
    if not re.search(rf"(?<![\d.]){re.escape(quoted)}0*(?![\d.]*\d)", text):
        return f"the entry does not quote {quoted}"
    return None


def unfounded(text, evidence):
    """Times that the text quotes and no figure has."""
    known = {each["value"] for each in evidence if "figure" in each}
    return [time for time in re.findall(r"(\d+(?:\.\d+)?) us\b", text) if float(time) not in known]


def main():
    names = sorted(entry["name"] for entry in ask("knowledge")["entries"])
    assert names == sorted(path.stem for path in (ROOT / "knowledge").glob("*.md") if path.stem != "README"), names
    shows, known, failed, ran = heads(), {}, 0, 0
    for name in ONLY or names:
        entry = ask("knowledge", name=name)["entries"][0]
        for time in unfounded(entry["text"], entry["evidence"]):
            failed += 1
            print(f"FAIL  {name}: {time} us stands in its text and in none of its figures")
        for evidence in entry["evidence"]:
            key = json.dumps([evidence.get("proof"), shows.get((name, evidence.get("proof"))), evidence.get("mutant"),
                              evidence.get("broken"), evidence.get("finding"), evidence.get("figure"), evidence.get("at"),
                              evidence.get("value"), name if "figure" in evidence else None])
            if key not in known:
                known[key] = verify_mutant(evidence) if "mutant" in evidence else \
                    verify_figure(entry["text"], evidence) if "figure" in evidence else verify_proof(name, evidence, shows)
                ran += 1
            if known[key]:
                failed += 1
                print(f"FAIL  {name}: {evidence['claim']}: {known[key]}")
    print(f"{ran} pieces of evidence of {len(ONLY or names)} entries, {failed} that do not hold")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
