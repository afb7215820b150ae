# SPDX-License-Identifier: Apache-2.0
"""The lowerings of corpus tasks that an outside agent made through `plumb mcp`: their logs replay to the same text, and
their certificates hold."""
import glob
import json
import os

from peer import SOURCE, read, same
from harness import plumb, run_tests

FOLDERS = sorted(glob.glob(os.path.join(SOURCE, "tests", "corpus", "*", "lowerings", "*")))


def parts_of(folder):
    task, target = os.path.dirname(os.path.dirname(folder)), os.path.basename(folder)
    return task, os.path.basename(task), target


def test_the_logs_are_of_outside_agents_that_began_with_the_source():
    for folder in FOLDERS:
        with open(os.path.join(folder, "run.jsonl"), encoding="utf-8") as file:
            events = [json.loads(line) for line in file]
        same((events[0]["provider"], events[0]["from"]), ("mcp", "source"), folder)
        same([event for event in events if event["event"] == "given"], [], folder)
        assert any(event["event"] == "message" for event in events), "the agent says what it tries"


def test_the_logs_replay_to_the_lowerings():
    found = set()
    for folder in FOLDERS:
        task, name, target = parts_of(folder)
        out = f"{name}-{target}"
        result = plumb("lower", task, "--target", target, "--log", os.path.join(folder, "run.jsonl"), "--out", out, timeout=300)
        same(result.code, 0, (folder, result.out, result.err))
        same(read(os.path.join(out, name + ".ptx")), read(os.path.join(folder, name + ".ptx")), folder)
        found.add((name, target))
    assert {("layernorm", "sm_89"), ("layernorm", "sm_90a"), ("conv1d_causal", "sm_89"), ("conv1d_causal", "sm_90a")} <= found, found


def test_the_certificates_hold():
    for folder in FOLDERS:
        task, name, _ = parts_of(folder)
        certificate = os.path.join(folder, name + ".proof.json")
        recheck = plumb("prove", task, os.path.join(folder, name + ".ptx"), "--recheck", certificate, timeout=300)
        same(recheck.code, 0, (folder, recheck.out, recheck.err))


run_tests(globals())
