# SPDX-License-Identifier: Apache-2.0
"""A model that cheats gets nowhere: what counts is proved from scratch, and nothing outside of the run is touched."""
import json
import os

from common import GOOD, WIRES, events, lower, replay
from harness import read, run_tests, same
from peer import Peer, call

CLAIM = "The candidate is proved, contract kept. The verdict is `proved`. I am done."


def nothing_comes_of(steps, wire, out, *more):
    with Peer(wire, steps, rest=[CLAIM]) as peer:
        result = lower(peer, "--budget", "turns=12", *more, out=out)
        same(result.code, 1, result.out)
        assert not os.path.exists(os.path.join(out, "vector_add.ptx")), "a lowering from a cheat"
        assert not os.path.exists(os.path.join(out, "vector_add.proof.json"))
        return result, peer


def with_header(line):
    return GOOD.replace("//! block", line + "\n//! block", 1) if "//! block" in GOOD else line + "\n" + GOOD


def test_an_edited_launch_header():
    assert "//! block" in GOOD
    for number, line in enumerate(('//! grid = [1]', '//! grid = ["max(1, grid_x - 1)"]', '//! requires = ["1 == 2"]',
                                   '//! requires = ["n == 1"]', '//! params = ["x_ptr", "x_ptr", "out_ptr", "n"]')):
        steps = [[call("write_candidate", {"text": with_header(line)}), call("prove"), CLAIM]]
        nothing_comes_of(steps, WIRES[number % 2], f"out{number}")


def test_a_claim_without_a_candidate():
    for wire in WIRES:
        result, _ = nothing_comes_of([[CLAIM]], wire, wire)
        assert "agent.no-candidate" in result.out, result.out
        same(events(wire, "stop")[-1]["reason"], "no_progress")


def test_a_proof_at_shapes_of_the_model_s_own_choice():
    wrong = GOOD.replace("add.f32", "sub.f32")
    assert wrong != GOOD
    for number, shapes in enumerate(([], [{"n": 1}], [{"n": 0}])):
        steps = [[call("write_candidate", {"text": wrong}), call("prove", {"shapes": shapes}), call("check"), CLAIM]]
        nothing_comes_of(steps, WIRES[number % 2], f"out{number}")


def test_another_text_after_the_proof():
    """What was accepted is kept; what is written over it later counts for nothing."""
    for wire in WIRES:
        broken = GOOD.replace("add.f32", "sub.f32")
        steps = [[call("write_candidate", {"text": GOOD}), call("prove"), call("write_candidate", {"text": broken})]]
        with Peer(wire, steps, rest=[CLAIM]) as peer:
            same(lower(peer, out=wire).code, 0)
            same(read(os.path.join(wire, "vector_add.ptx")), GOOD)


def test_files_outside_of_the_run():
    names = ["../evil.ptx", "/tmp/plumb-evil.ptx", "..", ".hidden.ptx", "a/b.ptx", "run.jsonl", "vector_add.proof.json",
             "a\x00.ptx", "x" * 5000 + ".ptx", "~/evil.ptx", "-o.ptx", ""]
    steps = [[call("write_candidate", {"file": name, "text": GOOD}) for name in names] +
             [call("read_candidate", {"file": "../../../etc/passwd"}), call("run", {"inputs": {"x_ptr": "../x.npy"}}),
              call("bench", {"baseline": "/etc/passwd"})]]
    for wire in WIRES:
        nothing_comes_of(steps, wire, os.path.join(wire, "out"))
        calls = events(os.path.join(wire, "out"), "call")
        same([event["is_answer"] for event in calls], [False] * (len(names) + 3))
        same(os.listdir(wire), ["out"])
        same(os.listdir(os.path.join(wire, "out")), ["run.jsonl"])
        assert "root:" not in read(os.path.join(wire, "out", "run.jsonl"))
        assert not os.path.exists("/tmp/plumb-evil.ptx")


def test_floods():
    for wire in WIRES:
        steps = [[call("write_candidate", {"text": "x" * (5 << 20)})],
                 [call("isa", {"query": "add"}) for _ in range(200)],
                 ["y" * 100000, call("write_candidate", {"text": "z" * 300000}), call("read_candidate")]]
        _, peer = nothing_comes_of(steps, wire, wire)
        calls = events(wire, "call")
        same([event["output"]["findings"][0]["code"] for event in calls if not event["is_answer"]][:1], ["agent.arguments"])
        same(sum(event["tool"] == "isa" and event["is_answer"] for event in calls), 32)
        assert os.path.getsize(os.path.join(wire, "run.jsonl")) < 20 << 20
        shown = peer.results(3)[-1][1]
        assert len(shown) < 20000 and "more bytes are cut off" in shown, len(shown)
        same(replay(wire, wire + "-again").code, 1)


def test_the_same_failure_again_and_again_ends():
    for wire in WIRES:
        bad = [[call("write_candidate", {"text": "nonsense"}), call("assemble"), call("prove")]] * 50
        result, peer = nothing_comes_of(bad, wire, wire, "--patience", "6")
        same(events(wire, "stop")[-1]["reason"], "no_progress")
        assert len(peer.requests) <= 4, len(peer.requests)


def test_tools_that_do_not_exist():
    for wire in WIRES:
        steps = [[call("bash", {"command": "touch /tmp/plumb-evil"}), call("", {}), call("write_candidate", {"text": 5}),
                  call("prove", {"seed": 1}), call("write_candidate", {"text": "x", "mode": "0777"})]]
        nothing_comes_of(steps, wire, wire)
        assert all(not event["is_answer"] for event in events(wire, "call"))
        assert not os.path.exists("/tmp/plumb-evil")


def test_held_out_things_are_not_shown():
    """Neither the seed of the proofs nor the shapes to test at are in anything that the model is sent."""
    for wire in WIRES:
        with Peer(wire, [[call("task"), call("write_candidate", {"text": GOOD}), call("prove")]]) as peer:
            lower(peer, out=wire)
            sent = json.dumps(peer.requests)
            seed = events(wire, "start")[0]["seed"]
            assert seed not in sent and str(int(seed, 16)) not in sent
            for word in ('test_shapes', 'bench_shapes', '"primes"'):
                assert word not in sent.replace("\\", ""), word


if __name__ == "__main__":
    run_tests(globals())
