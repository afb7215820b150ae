# SPDX-License-Identifier: Apache-2.0
"""Live providers against servers that do well and servers that do not: each fault is survived and recorded."""
import json
import os
import re
import signal
import subprocess
import threading
import time

from common import GOOD, KEY, TASK, WIRES, arguments_of, environment, events, lower, replay
from harness import PLUMB, plumb, read, refused, run_tests, same, write
from peer import Peer, call, stream_text, thinking

WRITE = call("write_candidate", {"text": GOOD})
PROVE = call("prove")


def good_steps():
    return [["I read the task first. \u00e9\u4e2d\U0001f600", call("task")], ["Then I write.", WRITE, call("assemble")],
            [PROVE]]


def accepted(result, out="out"):
    same(result.code, 0, result.out + result.err)
    same(read(os.path.join(out, "vector_add.ptx")), GOOD)
    end = events(out, "end")[-1]
    same((end["verdict"], end["contract"]), ("proved", "kept"))


def test_a_run_from_the_source_to_a_lowering():
    for wire in WIRES:
        with Peer(wire, good_steps()) as peer:
            result = lower(peer, out=wire)
            accepted(result, wire)
            same(result.err, "", "quiet in a pipe")
            same([event["tool"] for event in events(wire, "call")], ["task", "write_candidate", "assemble", "prove"])
            same([event["stage"] for event in events(wire, "stage")], ["understand", "correct", "fast"])
            start = events(wire, "start")[0]
            same((start["from"], start["provider"], start["model"]), ("source", wire, "m"))
            assert events(wire, "stop")[-1]["reason"] == "done", events(wire, "stop")
            turns = events(wire, "turn")
            same(turns[0]["usage"]["output"], 20)
            same(turns[0]["usage"]["cache_read"], 7)
            assert "\u00e9\u4e2d\U0001f600" in events(wire, "message")[2]["text"]
            same(peer.paths[0], {"anthropic": "/v1/messages", "openai": "/v1/chat/completions"}[wire])
            assert "tl.load" in peer.said(0), "the prompt has the source"
            same([identity for identity, _ in peer.results(2)],
                 {"anthropic": ["toolu_1", "toolu_1", "toolu_2"], "openai": ["call_0", "call_0", "call_1"]}[wire])
            same(json.loads(peer.results(2)[-1][1])["accepts"], True)
        again = replay(wire, f"{wire}-again")
        accepted(again, f"{wire}-again")
        same([(e["event"], e.get("tool")) for e in events(f"{wire}-again")],
             [(e["event"], e.get("tool")) for e in events(wire)])


def test_requests_are_as_the_protocols_want_them():
    with Peer("anthropic", [[thinking("Hm.", "c2ln"), "Look.", call("task")], [thinking("So.", "c2ln2"), WRITE], [PROVE]]) as peer:
        accepted(lower(peer, "--thinking", "2048", "--effort", "high", out="a"), "a")
        first, last = peer.requests[0], peer.requests[-1]
        same(first["tools"], last["tools"], "the cached beginning stays as it is")
        same(first["system"], last["system"])
        same(first["thinking"], {"type": "enabled", "budget_tokens": 2048})
        same(first["output_config"], {"effort": "high"})
        assert all({"name", "description", "input_schema"} <= set(tool) for tool in first["tools"])
        assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,128}", tool["name"]) for tool in first["tools"])
        same(last["messages"][1]["content"][0], {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"})
        same([message["role"] for message in last["messages"]], ["user", "assistant"] * 2 + ["user"])
        for request in peer.requests:
            assert json.dumps(request).count("cache_control") <= 4, "at most four marks"
            for before, message in zip(request["messages"], request["messages"][1:]):
                calls = [block["id"] for block in before["content"] if block["type"] == "tool_use"]
                answers = [block["tool_use_id"] for block in message["content"] if block["type"] == "tool_result"]
                if before["role"] == "assistant":
                    same(answers, calls, "every call is answered, in its order")
                    same([b["type"] for b in message["content"]][: len(calls)], ["tool_result"] * len(calls))
        same(peer.heads[0]["x-api-key"], KEY)
        same(peer.heads[0]["anthropic-version"], "2023-06-01")
    with Peer("openai", good_steps()) as peer:
        accepted(lower(peer, "--effort", "low", out="b"), "b")
        last = peer.requests[-1]
        same(last["reasoning_effort"], "low")
        same(last["stream_options"], {"include_usage": True})
        same(peer.heads[0]["authorization"], f"Bearer {KEY}")
        waiting = []
        for message in last["messages"]:
            if message["role"] == "tool":
                waiting.remove(message["tool_call_id"])
                continue
            same(waiting, [], "every call is answered before anything else is said")
            for made in message.get("tool_calls", []):
                waiting.append(made["id"])
                json.loads(made["function"]["arguments"])


def test_pieces_of_any_size_and_line_ends_of_any_kind():
    for wire in WIRES:
        for number, (size, end) in enumerate(((1, "\n"), (2, "\r\n"), (3, "\r"), (7, "\r\n"), (1021, "\n"))):
            def odd(step):
                def send(handler):
                    text = ": keep-alive" + end + end + stream_text(wire, step, end)
                    handler.stream(text.replace(f"data:{' '}", "data:") if number % 2 else text, size)
                return send
            short = [["\u00e9\u4e2d\U0001f600", call("isa", {"query": "add.f32"})], ["Done."]]
            with Peer(wire, [odd(step) for step in short]) as peer:
                out = f"{wire}{number}"
                same(lower(peer, "--budget", "turns=2", out=out).code, 1)
                made = events(out, "call")
                same([(event["tool"], event["input"]) for event in made], [("isa", {"query": "add.f32"})])
                assert any(event["text"] == "\u00e9\u4e2d\U0001f600" for event in events(out, "message")), out
                same(events(out, "retry"), [])


def test_half_a_call_and_then_a_cut_is_asked_again_and_not_executed():
    for wire in WIRES:
        whole = stream_text(wire, [call("write_candidate", {"text": "// a candidate that is cut off in the middle"})])
        at = whole.index("// a can") + 5
        with Peer(wire, [lambda handler: handler.cut(whole[:at])] + good_steps()) as peer:
            accepted(lower(peer, out=wire), wire)
            retries = events(wire, "retry")
            same(len(retries), 1)
            assert not retries[0]["gives_up"] and retries[0]["reason"], retries
            same(peer.requests[0], peer.requests[1], "the same question again")
        # An end without the terminal event is a cut as well, though the transfer is whole.
        early = stream_text(wire, [call("task")])
        early = early[: early.index("event: message_delta" if wire == "anthropic" else '"finish_reason": "tool_calls"') - 200]
        with Peer(wire, [lambda handler: handler.stream(early)] + good_steps()) as peer:
            accepted(lower(peer, out=wire + "2"), wire + "2")
            same(len(events(wire + "2", "retry")), 1)


def test_arguments_that_are_no_json_go_back_to_the_model():
    for wire in WIRES:
        bad = [call("write_candidate", '{"text": "x'), call("isa", "[1]"), call("isa", '{"query": "add"} and more')]
        with Peer(wire, [bad] + good_steps()) as peer:
            accepted(lower(peer, out=wire), wire)
            first = events(wire, "call")[:3]
            same([event["is_answer"] for event in first], [False] * 3)
            for event in first:
                same(event["output"]["findings"][0]["code"], "agent.arguments")
            same(len(peer.results(1)), 3)
        accepted(replay(wire, wire + "-again"), wire + "-again")


def test_events_that_are_no_json_are_asked_again():
    for wire in WIRES:
        broken = "data: {not json\n\n"
        odd = 'data: [1, 2]\n\n'
        with Peer(wire, [lambda handler: handler.stream(broken), lambda handler: handler.stream(odd)] + good_steps()) as peer:
            accepted(lower(peer, out=wire), wire)
            same(len(events(wire, "retry")), 2)


def test_fields_of_wrong_types_do_no_harm():
    texts = {"anthropic": ['{"type": 3}', '{"type": "message_start", "message": 7}',
                           '{"type": "content_block_start", "index": -1, "content_block": {}}',
                           '{"type": "content_block_start", "index": 99999999999, "content_block": {}}',
                           '{"type": "content_block_delta", "index": 5, "delta": {"type": "text_delta", "text": 3}}',
                           '{"type": "error", "error": "x"}'],
             "openai": ['{"choices": {}}', '{"choices": [3]}', '{"choices": [{"delta": []}]}', '{"error": {"message": 3}}',
                        '{"choices": [{"delta": {"tool_calls": [{"index": 99999, "function": 3}]}}]}',
                        '{"choices": [{"delta": {"tool_calls": {"a": 1}, "content": 5}, "finish_reason": 9}], "usage": 3}']}
    for wire in WIRES:
        steps = [(lambda handler, text=text: handler.stream(f"data: {text}\n\n")) for text in texts[wire]]
        with Peer(wire, steps + [["Done."]]) as peer:
            same(lower(peer, "--tries", "20", "--budget", "turns=1", out=wire).code, 1)
            same(len(events(wire, "retry")), len(steps))
            same(len(events(wire, "turn")), 1)


def test_overload_is_waited_out_as_the_server_asks():
    for wire in WIRES:
        busy = [lambda handler: handler.refuse(429, {"error": {"type": "rate_limit_error", "message": "slowly"}}, retry_after=1),
                lambda handler: handler.refuse(529, {"error": {"type": "overloaded_error", "message": "full"}}, retry_after_ms=30),
                lambda handler: handler.refuse(503, b"<html>no</html>"),
                lambda handler: handler.refuse(400, {"error": {"message": "now"}}, x_should_retry="true", retry_after=0)]
        with Peer(wire, busy + good_steps()) as peer:
            began = time.monotonic()
            accepted(lower(peer, out=wire), wire)
            assert time.monotonic() - began > 1
            retries = events(wire, "retry")
            same([event["status"] for event in retries], [429, 529, 503, 400])
            same([event["wait_seconds"] for event in retries[:2]], [1.0, 0.03])
            assert 0.3 < retries[2]["wait_seconds"] <= 2 and "<html>" in retries[2]["reason"], retries[2]
            assert "slowly" in retries[0]["reason"]
        with Peer(wire, [lambda handler: handler.refuse(429, {"error": {"message": "later"}}, retry_after=86400)]) as peer:
            result = lower(peer, out=wire + "2")
            same(result.code, 1)
            assert "86400 s" in result.out and "agent.provider-failed" in result.out, result.out


def test_an_error_in_a_stream_that_began_well_is_asked_again():
    for wire in WIRES:
        error = {"type": "error", "error": {"type": "overloaded_error", "message": "busy now"}}
        text = stream_text(wire, ["Let me see"])[:600].rsplit("\n\n", 1)[0] + f"\n\ndata: {json.dumps(error)}\n\n"
        with Peer(wire, [lambda handler: handler.stream(text)] + good_steps()) as peer:
            accepted(lower(peer, out=wire), wire)
            assert "busy now" in events(wire, "retry")[0]["reason"]
            assert not any(event["text"] == "Let me see" for event in events(wire, "message"))


def test_an_endless_answer_is_broken_off():
    def flood(handler):
        handler.begin_stream()
        for _ in range(64):
            handler.piece(b": " + b"x" * (1 << 20) + b"\n")
        handler.end_stream()
    for wire in WIRES:
        with Peer(wire, [flood] + good_steps()) as peer:
            accepted(lower(peer, out=wire), wire)
            assert "more than" in events(wire, "retry")[0]["reason"], events(wire, "retry")
        assert os.path.getsize(os.path.join(wire, "run.jsonl")) < 1 << 20


def test_a_server_that_hangs_is_given_up():
    def silent(handler):
        time.sleep(30)

    def half(handler):
        handler.begin_stream()
        handler.piece(b": wait\n\n")
        time.sleep(30)
    for wire in WIRES:
        with Peer(wire, [silent, half], rest=silent) as peer:
            began = time.monotonic()
            result = lower(peer, "--timeout", "1", "--tries", "2", out=wire)
            assert time.monotonic() - began < 20
            same(result.code, 1)
            assert "agent.provider-failed" in result.out, result.out
            same([event["gives_up"] for event in events(wire, "retry")], [False, True])
            same(events(wire, "stop")[-1]["reason"], "provider")


def test_the_time_of_the_budget_ends_a_request_that_hangs():
    with Peer("anthropic", [], rest=lambda handler: time.sleep(30)) as peer:
        began = time.monotonic()
        result = lower(peer, "--budget", "minutes=0.03")
        assert time.monotonic() - began < 15
        same(result.code, 1)
        assert events(kind="stop")[-1]["text"].startswith("minutes"), events(kind="stop")


def test_no_server_at_all():
    with Peer("openai", []) as peer:
        pass
    result = lower(peer, "--tries", "2")
    same((result.code, len(events(kind="retry"))), (1, 2))
    assert "agent.provider-failed" in result.out


def test_a_wrong_key_is_said_once_and_never_shown():
    for wire in WIRES:
        def wrong(handler):
            handler.refuse(401, {"error": {"type": "authentication_error", "message": f"no such key: {KEY}"}})
        with Peer(wire, [wrong]) as peer:
            result = lower(peer, out=wire)
            same((result.code, len(peer.requests)), (1, 1))
            assert "[key]" in result.out and "authentication_error" in result.out, result.out
            assert {"anthropic": "ANTHROPIC_API_KEY", "openai": "OPENAI_API_KEY"}[wire] in result.out
        with Peer(wire, [[f"Your key is {KEY}.", call("isa", {"query": KEY})]]) as peer:  # `lower` looks for it everywhere
            same(lower(peer, "--budget", "turns=1", out=wire + "2").code, 1)
            assert "[key]" in read(os.path.join(wire + "2", "run.jsonl"))


def test_wrong_use_is_refused_before_anything_is_asked():
    base = ["lower", TASK, "--target", "sm_89"]
    none = environment("openai", "")
    refused(plumb(*base, "--provider", "openai", env=none), words=["model"], code="agent.provider-setting")
    refused(plumb(*base, "--provider", "openai", "--model", "m", env=none), code="agent.provider-key")
    refused(plumb(*base, "--provider", "anthropic", "--model", "m", env=none), code="agent.provider-key")
    refused(plumb(*base, "--provider", "openai", "--model", "m", "--base-url", "http://example.org/v1", env=environment("openai")),
            words=["unprotected"], code="agent.provider-key")
    refused(plumb(*base, "--provider", "openai", "--model", "m", "--base-url", "http://localhost:1@example.org/v1",
                  env=environment("openai")), code="agent.provider-key")
    ready = [*base, "--provider", "openai", "--model", "m", "--base-url", "http://127.0.0.1:9"]
    for budget in ("turns", "turns=", "turns=0", "turns=1.5", "turns=-1", "usd=x", "hours=3", "turns=1,,"):
        refused(plumb(*ready, "--budget", budget, env=none), code="agent.budget")
    refused(plumb(*ready, "--budget", "usd=3", env=none), words=["price"], code="agent.budget")
    refused(plumb(*ready, "--prices", write("p.toml", "[m]\ninput = 1\n"), env=none), place=r"p\.toml:1:\d+", code="agent.prices")
    refused(plumb(*ready, "--seed-ptx", "absent.ptx", env=none), code="file.unreadable")
    assert not os.path.exists("lowered")


def test_an_answer_cut_at_its_longest_executes_no_call_that_was_cut():
    for wire in WIRES:
        cut = [call("write_candidate", '{"text": "half of it')]
        steps = [lambda handler: handler.stream(stream_text(wire, cut, stop="max_tokens")),
                 # Whole by chance, and cut nevertheless.
                 lambda handler: handler.stream(stream_text(wire, [call("write_candidate", {"text": "x"})], stop="max_tokens"))]
        with Peer(wire, steps + good_steps()) as peer:
            accepted(lower(peer, out=wire), wire)
            same(events(wire, "call")[0]["tool"], "task")
            assert "cut off" in peer.said(1), peer.said(1)[-300:]


def test_money_counts_where_the_price_is_known_and_limits():
    with Peer("anthropic", good_steps()) as peer:
        result = lower(peer, "--json", out="a")
        answer = json.loads(result.out)
        same((answer["usd"], answer["turns"], answer["from"]), (None, 3, "source"))
        same(answer["usage"], {"input": 300, "output": 60, "cache_read": 21, "cache_write": 9})
    prices = write("prices.toml", '[m]\ninput = 1000.0\noutput = 10000.0\ncache_read = 100.0\ncache_write = 2000.0\n')
    with Peer("anthropic", [["Hm.", call("isa", {"query": "add"})]] * 20) as peer:
        result = lower(peer, "--json", "--prices", prices, "--budget", "usd=0.7", out="b")
        one = (100 * 1000 + 20 * 10000 + 7 * 100 + 3 * 2000) / 1e6
        answer = json.loads(result.out)
        same(answer["turns"], 3)
        assert abs(answer["usd"] - 3 * one) < 1e-9, answer["usd"]
        assert answer["stops"][0].startswith("budget: usd"), answer["stops"]
    with Peer("anthropic", [["Hm.", call("isa", {"query": "add"})]] * 20) as peer:
        same(json.loads(lower(peer, "--json", "--budget", "tokens=300", out="c").out)["turns"], 3)


def test_a_conversation_that_grows_too_long_begins_anew():
    for wire in WIRES:
        words = {"anthropic": {"type": "error", "error": {"type": "invalid_request_error", "message": "prompt is too long: 9 > 8"}},
                 "openai": {"error": {"message": "too long", "type": "invalid_request_error", "code": "context_length_exceeded"}}}
        steps = good_steps()
        steps.insert(2, lambda handler: handler.refuse(400, words[wire]))
        with Peer(wire, steps) as peer:
            accepted(lower(peer, out=wire), wire)
            same(len(peer.requests), 4)
            assert "begins anew" in peer.said(3) and "assemble: accepted" in peer.said(3), peer.said(3)
            same(peer.results(3), [])
        accepted(replay(wire, wire + "-again"), wire + "-again")


def test_lanes_work_side_by_side_and_share_what_is_accepted():
    for wire in WIRES:
        second_has_turned = threading.Event()
        with Peer(wire, [], rest=lambda handler: answer(handler)) as peer:
            def answer(handler):
                request = handler.asked
                is_second = "number 2" in json.dumps(request)
                turns = sum(1 for message in request["messages"] if message["role"] == "assistant")
                steps = [["Hm.", call("isa", {"query": "add"})]] * 40 if is_second else good_steps()
                if not is_second:
                    assert second_has_turned.wait(60)  # lane 0 would be done before lane 1 has said a word
                elif turns:
                    second_has_turned.set()
                    time.sleep(0.2)
                handler.stream(stream_text(wire, steps[min(turns, len(steps) - 1)]))
            result = lower(peer, "--lanes", "2", out=wire)
            accepted(result, wire)
            same(events(wire, "start")[0]["lanes"], 2)
            same({event.get("lane", 0) for event in events(wire, "turn")}, {0, 1})
            same(sorted(event["reason"] for event in events(wire, "stop"))[0], "done")
        accepted(replay(wire, wire + "-again"), wire + "-again")


def test_what_the_server_asks_one_lane_to_wait_all_lanes_wait():
    began, held = {}, []
    with Peer("anthropic", [], rest=lambda handler: answer(handler)) as peer:
        def answer(handler):
            now, lane = time.monotonic(), "number 2" in json.dumps(handler.asked)
            began.setdefault(lane, []).append(now)
            if not lane and not held:
                time.sleep(0.3)  # the other lane has had its first answer by then
                held.append(time.monotonic())
                return handler.refuse(429, {"error": {"message": "slow down"}}, retry_after=2)
            turns = sum(1 for message in handler.asked["messages"] if message["role"] == "assistant")
            if lane and not held:
                time.sleep(0.6)
            handler.stream(stream_text("anthropic", ([["Hm.", call("isa", {"query": "add"})]] * 40 if lane else good_steps())[turns]))
        accepted(lower(peer, "--lanes", "2"))
    later = [moment for moments in began.values() for moment in moments if moment > held[0]]
    assert min(later) - held[0] > 1.9, (held, began)
    assert began[True][1] > held[0], "the other lane was in the middle of its run"


def test_requests_keep_to_the_rate_that_was_asked_for():
    moments = []
    with Peer("openai", [], rest=lambda handler: answer(handler)) as peer:
        def answer(handler):
            moments.append(time.monotonic())
            turns = sum(1 for message in handler.asked["messages"] if message["role"] == "assistant")
            handler.stream(stream_text("openai", good_steps()[turns]))
        accepted(lower(peer, "--rate", "60"))
    gaps = [b - a for a, b in zip(moments, moments[1:])]
    assert len(gaps) >= 2 and min(gaps) > 0.9, gaps


def test_a_run_from_given_ptx_says_so():
    write("seed.ptx", GOOD)
    with Peer("openai", [[call("read_candidate", {"last_line": 3})], [PROVE]]) as peer:
        result = lower(peer, "--seed-ptx", "seed.ptx")
        accepted(result)
        assert "from a seed" in result.out, result.out
        same(events(kind="start")[0]["from"], "seed")
        same(events(kind="given")[0]["text"], GOOD)
        assert "given PTX" in peer.said(0)
        write("other.ptx", GOOD + "// another\n")
        refused(lower(peer, "--seed-ptx", "other.ptx", "--resume"), code="agent.run-other")
    again = replay()
    accepted(again, "again")
    same(events("again", "start")[0]["from"], "seed")
    refused(replay("out", "third", "--seed-ptx", "seed.ptx"), code="agent.run-other")


def test_a_run_from_a_scaffold_says_so():
    with Peer("anthropic", [[call("read_candidate", {"last_line": 3})], [WRITE, PROVE]]) as peer:
        result = lower(peer, "--from-scaffold", "row-reduction", "--progress", "always")
        accepted(result)
        assert "from a scaffold" in result.out, result.out
        assert "the scaffold row-reduction" in result.err, result.err
        same(events(kind="start")[0]["from"], "scaffold")
        given = events(kind="given")[0]
        same((given["from"], given["scaffold"]), ("scaffold", "row-reduction"))
        same(given["text"], plumb("scaffold", "row-reduction", "--target", "sm_89").out)
        assert "a scaffold to start from" in peer.said(0), peer.said(0)[-2000:]
        same(lower(peer, "--from-scaffold", "row-reduction", "--seed-ptx", "out/vector_add.ptx").code, 2)
        refused(lower(peer, "--from-scaffold", "wgmma-loop", out="b"), code="session.scaffold")
    again = replay()
    accepted(again, "again")
    same(events("again", "start")[0]["from"], "scaffold")
    same(json.loads(plumb("report", "again", "--json").out)["from"], "scaffold")


def test_a_run_proposes_entries_that_its_lowering_shows():
    entry = {"name": "whole-vectors", "text": "# Whole vectors\n\nFour at a time, where \"all\" are aligned.", "claim": "vectors",
             "shows": ["ld.global.L1::no_allocate.v4.f32"]}
    assert entry["shows"][0] in GOOD
    elsewhere = {**entry, "name": "elsewhere", "shows": ["wgmma.fence"]}
    calls = [call("propose", entry), call("propose", elsewhere), call("propose", {**entry, "name": "../x"}),
             call("propose", {**entry, "name": "bare", "text": "no title"})]
    with Peer("openai", [[WRITE, *calls, PROVE]]) as peer:
        result = lower(peer)
        accepted(result)
        same([event["is_answer"] for event in events(kind="call") if event["tool"] == "propose"], [True, True, False, False])
        same(os.listdir("out/knowledge"), ["whole-vectors.md"])
        head = read("out/knowledge/whole-vectors.md").split("+++")[1]
        assert 'targets = "sm_89"' in head and 'proof = "vector_add/sm_89"' in head and "ld.global.L1::no_allocate.v4.f32" in head, head
        assert "elsewhere" in result.out and "wgmma.fence" in result.out, result.out
    accepted(replay(), "again")
    same(read("again/knowledge/whole-vectors.md"), read("out/knowledge/whole-vectors.md"))


def test_no_tool_gives_a_run_a_scaffold():
    # Else a run from the source alone could begin with one.
    names = [tool["name"] for tool in json.loads(plumb("tool", "--list", "--json").out)["tools"]]
    assert "knowledge" in names and not [name for name in names if "scaffold" in name], names
    with Peer("openai", [[call("knowledge", {"query": "scaffold ring of slots"})], ["Done."]]) as peer:
        lower(peer, "--budget", "turns=2")
        answer = events(kind="call")[0]["output"]
        assert answer["entries"] and "// To change" not in json.dumps(answer), answer
        assert "cp-async-ring (sm_80 and later)" in json.dumps(peer.requests[0]), "the prompt names the entries"


def test_a_run_goes_on_where_its_budget_ended():
    for wire in WIRES:
        with Peer(wire, good_steps()) as peer:
            same(lower(peer, "--budget", "turns=1", out=wire).code, 1)
            same(events(wire, "stop")[-1]["reason"], "budget")
            result = lower(peer, "--budget", "turns=9", "--resume", out=wire)
            accepted(result, wire)
            same(len(peer.requests), 3, "no turn is paid twice")
            same(len(events(wire, "turn")), 3)
        accepted(replay(wire, wire + "-again"), wire + "-again")
        with Peer(wire, []) as peer:
            refused_run = lower(peer, "--resume", "--seed-ptx", write("x.ptx", GOOD), out=wire)
            refused(refused_run, code="agent.run-other")


def test_a_kill_loses_at_most_the_turn_that_was_under_way():
    for wire in WIRES:
        with Peer(wire, good_steps()[:2], rest=lambda handler: time.sleep(60)) as peer:
            environ = dict(os.environ, **environment(wire), XDG_CACHE_HOME=os.path.join(os.getcwd(), "cache"))
            running = subprocess.Popen([PLUMB, *arguments_of(peer, out=wire)], env=environ, stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL)
            for _ in range(600):
                if len(peer.requests) == 3:
                    break
                time.sleep(0.1)
            same(len(peer.requests), 3)
            running.send_signal(signal.SIGKILL)
            running.wait()
            pending = peer.requests[2]
        with Peer(wire, good_steps()[2:]) as peer:
            accepted(lower(peer, "--resume", out=wire), wire)
            same(peer.requests[0]["messages"], pending["messages"], "the question that the kill left without an answer")
            same(len(events(wire, "turn")), 3)
            same(os.listdir(wire).count(".plumb-run"), 0, "what the kill left behind is gone")
        accepted(replay(wire, wire + "-again"), wire + "-again")


def test_one_process_writes_a_run_at_a_time():
    with Peer("openai", [], rest=lambda handler: time.sleep(60)) as peer:
        environ = dict(os.environ, **environment("openai"), XDG_CACHE_HOME=os.path.join(os.getcwd(), "cache"))
        running = subprocess.Popen([PLUMB, *arguments_of(peer)], env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(600):
            if peer.requests:
                break
            time.sleep(0.1)
        refused(lower(peer), code="agent.run-in-use")
        running.kill()
        running.wait()


def test_what_happens_is_shown_when_asked_for():
    with Peer("anthropic", [lambda handler: handler.refuse(529, {"error": {"message": "full"}}, retry_after=0),
                            ["\x1b[2Jclear", WRITE], [PROVE]]) as peer:
        result = lower(peer, "--progress", "always")
        accepted(result)
        for words in ("stage: understand", "model: ?[2Jclear", "write_candidate", "proved, contract kept", "turns 2/60",
                      "status 529", "stop: done"):
            assert words in result.err, (words, result.err)
    with Peer("anthropic", [[WRITE], [PROVE]]) as peer:
        same(lower(peer, out="quiet").err, "", "nobody watches a pipe")


if __name__ == "__main__":
    run_tests(globals())
