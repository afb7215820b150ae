# SPDX-License-Identifier: Apache-2.0
"""The fast stage against a driver without a card, whose kernels take the time that their text says: a model that benches,
profiles and changes one thing at a time; what is kept, and why it stops.

Usage: fast.py PLUMB SOURCE FAKE_DRIVER
"""
import os
import re
import shutil
import sys

from common import GOOD, TASK, environment, events
from harness import plumb, read, run_tests, same, write
from peer import Peer, call

FAKE = sys.argv[3]
# The fake card copies 16.8 GB/s, and the bench shape has 786 kB: 46.9 us are what it can do.
SHAPE = "bench = [{ n = 65536 }]"


def timed(microseconds, text=GOOD):
    return text + f"// fake-us: {microseconds}\n"


def write_call(microseconds, text=GOOD):
    return call("write_candidate", {"text": timed(microseconds, text)})


def judged(microseconds, text=GOOD):
    """A candidate of that speed: written, proved, timed."""
    return [write_call(microseconds, text), call("prove"), call("bench")]


def task():
    """The task with a bench shape that a card without a card can time."""
    shutil.copytree(TASK, "task/vector_add", dirs_exist_ok=True)
    text = read("task/vector_add/task.toml")
    shapes = re.sub(r"^bench = \[.*?\]$", SHAPE, text, flags=re.M | re.S)
    assert SHAPE in shapes, text
    write("task/vector_add/task.toml", shapes)
    return os.path.abspath("task/vector_add")


def with_card(wire="openai"):
    os.makedirs("driver", exist_ok=True)
    if not os.path.exists("driver/libcuda.so.1"):
        os.symlink(FAKE, "driver/libcuda.so.1")
    return {**environment(wire), "LD_LIBRARY_PATH": os.path.abspath("driver")}


def lower(peer, *more, out="out"):
    return plumb("lower", task(), "--target", "sm_89", "--provider", peer.wire, "--model", "m", "--base-url", peer.url, "--out",
                 out, *more, env=with_card(peer.wire), timeout=300)


def speeds(out="out"):
    """Of each bench: microseconds, or nothing where it did not hold."""
    found = []
    for event in events(out, "call"):
        if event["tool"] == "bench":
            shapes = event["output"].get("shapes", [])
            found.append(round(shapes[0]["cold"]["candidate_ns"]["value"] * 1e-3, 1) if event["output"]["holds"] else None)
    return found


def kept(out="out"):
    return float(re.search(r"fake-us: (\S+)", read(f"{out}/vector_add.ptx")).group(1))


def stopped(out="out"):
    return events(out, "stop")[-1]["reason"]


def test_the_best_is_kept_and_not_the_last():
    with Peer("openai", [judged(120), [call("profile")], judged(80), judged(100), ["No faster way comes to mind."]]) as peer:
        result = lower(peer, "--progress", "always")
        same(result.code, 0, result.out + result.err)
        same(speeds(), [120, 80, 100])
        told = re.findall(r"turns (\d)/60, .*; (.*)\n", result.err)
        same([turn for turn, _ in told], ["1", "2", "3", "4", "5"], "and what is left of the budget")
        same(told[0][1], "nothing accepted yet")
        same([best.split(" us")[0] for _, best in told[1:]], ["best 120.00", "best 120.00", "best 80.00", "best 80.00"])
        assert re.fullmatch(r"best 80.00 us, \d\d% of the card", told[-1][1]), told
        same((kept(), stopped()), (80, "done"))
        same([event["stage"] for event in events(kind="stage")], ["understand", "fast"])
        assert "fake card" in str([event["output"] for event in events(kind="call") if event["tool"] == "bench"][0]["card"])
        profile = [event for event in events(kind="call") if event["tool"] == "profile"][0]
        same(profile["output"]["code"]["registers"], 32)
        assert "Stage: fast" in peer.said(1), "the model is told what counts now"
    # Where there is no card, the log's times decide as they did.
    again = plumb("lower", task(), "--target", "sm_89", "--provider", "replay", "--log", "out/run.jsonl", "--out", "again",
                  timeout=300)
    same((again.code, kept("again")), (0, 80), again.out + again.err)
    same(speeds("again"), speeds())


def test_speed_of_light_ends_the_run():
    with Peer("anthropic", [judged(90), judged(50), judged(49)]) as peer:
        same(lower(peer).code, 0)
        same((speeds(), kept(), stopped()), ([90, 50], 50, "speed_of_light"))
        same(len(peer.requests), 2, "nothing is asked once it is reached")


def test_what_is_faster_than_the_card_can_be_is_not_believed():
    with Peer("openai", [judged(90), judged(5), ["Done."]]) as peer:
        same(lower(peer).code, 0)
        same((speeds(), kept(), stopped()), ([90, None], 90, "done"))
        found = [event["output"]["findings"] for event in events(kind="call") if event["tool"] == "bench"][-1]
        same([finding["code"] for finding in found], ["gpu.too-fast"])


def test_what_is_fast_and_not_proved_is_not_kept():
    wrong = GOOD.replace("add.f32 a6, a6, b6;", "sub.f32 a6, a6, b6;")
    assert wrong != GOOD
    with Peer("openai", [judged(90), judged(60, wrong), [write_call(70), call("bench")], ["Done."]]) as peer:
        same(lower(peer).code, 0)
        # The fake card adds whatever the text says: only the proof tells. The third was timed and never proved.
        same((speeds(), kept(), stopped()), ([90, 60, 70], 90, "done"))


def test_no_progress_ends_the_run():
    with Peer("openai", [judged(90), judged(91), judged(92), judged(93), judged(94), judged(95), judged(96)]) as peer:
        same(lower(peer, "--patience", "5").code, 0)
        same((kept(), stopped()), (90, "no_progress"))
        assert len(peer.requests) < 7, len(peer.requests)


def test_the_budget_ends_the_run_with_the_best_so_far():
    with Peer("anthropic", [judged(90), judged(70), judged(80), judged(60)]) as peer:
        same(lower(peer, "--budget", "turns=3").code, 0)
        same((speeds(), kept(), stopped()), ([90, 70, 80], 70, "budget"))
    # More of it, and the run goes on from there: what was timed before the interruption still counts.
    with Peer("anthropic", [judged(85), ["Done."]]) as peer:
        same(lower(peer, "--budget", "turns=9", "--resume").code, 0)
        same((speeds(), kept(), stopped()), ([90, 70, 80, 85], 70, "done"))


def test_the_report_shows_speed_over_turns():
    with Peer("openai", [judged(120), judged(80), ["Done."]]) as peer:
        same(lower(peer).code, 0)
    text = plumb("report", "out").out
    assert "80.00" in text and "120.00" in text, text
    html = plumb("report", "out", "--html", "run.html")
    same(html.code, 0)
    assert "80.0" in read("run.html")


if __name__ == "__main__":
    run_tests(globals())
