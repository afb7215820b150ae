# SPDX-License-Identifier: Apache-2.0
"""What the tests of live providers share."""
import json
import os
import sys

sys.path.insert(0, os.path.join(sys.argv[2], "tests", "cli"))
from harness import SOURCE, plumb, read  # noqa: E402

TASK = os.path.join(SOURCE, "suite", "vector_add")
GOOD = read(os.path.join(TASK, "sm_89", "vector_add.ptx"))
KEY = "sk-a-key-that-nobody-may-see-0123456789"
WIRES = ("anthropic", "openai")
KEY_OF = {"anthropic": "ANTHROPIC_API_KEY", "openai": "OPENAI_API_KEY"}


def arguments_of(peer, *more, out="out"):
    return ["lower", TASK, "--target", "sm_89", "--provider", peer.wire, "--model", "m", "--base-url", peer.url,
            "--out", out, *more]


def environment(wire, key=KEY):
    other = {name: "" for name in ("ANTHROPIC_BASE_URL", "OPENAI_BASE_URL", *KEY_OF.values())}
    return {**other, KEY_OF[wire]: key, "no_proxy": "*"}


def lower(peer, *more, out="out", key=KEY):
    """Runs plumb against the peer. Whatever happens, the key shows nowhere."""
    result = plumb(*arguments_of(peer, *more, out=out), env=environment(peer.wire, key), timeout=300)
    written = read(os.path.join(out, "run.jsonl")) if os.path.exists(os.path.join(out, "run.jsonl")) else ""
    assert key == "" or key not in result.out + result.err + written, "the key shows"
    return result


def events(out="out", kind=None):
    with open(os.path.join(out, "run.jsonl"), encoding="utf-8") as file:
        every = [json.loads(line) for line in file]
    return [event for event in every if kind is None or event["event"] == kind]


def replay(out="out", to="again", *more):
    return plumb("lower", TASK, "--target", "sm_89", "--provider", "replay", "--log", os.path.join(out, "run.jsonl"),
                 "--out", to, *more, timeout=300)
