# SPDX-License-Identifier: Apache-2.0
"""`plumb mcp` over standard input and output: handshakes of both eras, tools, resources, progress, cancellation, and
clients that do everything wrong."""
import json
import os
import random
import time

from peer import CANDIDATE, META, TASK, WRONG, Stdio, log_of, read, same
from harness import plumb, refused, run_tests, write

# Large enough that the proof is still under way when it is taken back.
LONG = {"shapes": [{"n": 3_000_000}]}


def code_of(reply):
    return reply["error"]["code"]


def test_the_handshake_agrees_on_a_revision():
    for asked, agreed in (("2025-11-25", "2025-11-25"), ("2025-06-18", "2025-06-18"), ("2024-11-05", "2024-11-05"),
                          ("1999-01-01", "2025-11-25")):
        with Stdio() as server:
            result = server.initialize(asked)
            same(result["protocolVersion"], agreed)
            same(result["serverInfo"]["name"], "plumb")
            assert {"tools", "resources", "logging"} <= set(result["capabilities"]), result
            assert "resultType" not in result
            same(server.ask("ping")["result"], {})


def test_nothing_is_answered_before_the_handshake():
    with Stdio() as server:
        same(code_of(server.ask("tools/list")), -32600)
        same(server.ask("ping")["result"], {}, "but for a ping")
        same(code_of(server.ask("server/discover")), -32602, "which asks for its revision")
        same(code_of(server.ask("initialize", {"protocolVersion": 5})), -32602)


def test_a_modern_request_stands_by_itself():
    with Stdio(modern=True) as server:
        result = server.ask("server/discover")["result"]
        same(result["supportedVersions"], ["2026-07-28"])
        same((result["resultType"], result["cacheScope"]), ("complete", "private"))
        assert result["ttlMs"] >= 0 and "logging" not in result["capabilities"], result
        same(result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "plumb")
        for method in ("tools/list", "resources/list", "resources/templates/list"):
            got = server.ask(method)["result"]
            assert got["resultType"] == "complete" and got["ttlMs"] >= 0, got
        same(server.call("task")["resultType"], "complete")
        for method in ("initialize", "ping", "logging/setLevel", "prompts/list", "subscriptions/listen"):
            assert code_of(server.ask(method)) in (-32601, -32602), method


def test_a_revision_that_is_not_served_is_named():
    with Stdio() as server:
        meta = dict(META, **{"io.modelcontextprotocol/protocolVersion": "2031-01-01"})
        error = server.ask("tools/list", {"_meta": meta})["error"]
        same((error["code"], error["data"]), (-32022, {"supported": ["2026-07-28"], "requested": "2031-01-01"}))
        meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}
        same(code_of(server.ask("tools/list", {"_meta": meta})), -32602, "the capabilities are missing")


def test_the_tools_are_those_of_the_table():
    table = json.loads(plumb("tool", "--list", "--json").out)["tools"]
    with Stdio() as server:
        server.initialize()
        tools = server.ask("tools/list")["result"]["tools"]
    same([tool["name"] for tool in tools], [tool["name"] for tool in table] + ["note", "finish"])
    for tool, row in zip(tools, table):
        same((tool["description"], tool["inputSchema"]), (row["help"], row["schema"]), tool["name"])


def test_a_run_ends_in_a_lowering_that_replays():
    with Stdio() as server:
        server.initialize()
        same(server.call("task")["structuredContent"]["name"], "vector_add")
        same(server.call("note", {"text": "A subtraction first."})["structuredContent"], {"is_noted": True})
        server.call("write_candidate", {"text": WRONG})
        result = server.call("prove")
        same((result["isError"], result["structuredContent"]["verdict"]), (False, "different"), "an answer, no error")
        same(json.loads(result["content"][0]["text"]), result["structuredContent"])
        server.call("write_candidate", {"text": CANDIDATE})
        assert not os.path.exists("run/vector_add.ptx"), "nothing is a lowering before the end"
        same(server.call("prove", progress="p")["structuredContent"]["verdict"], "proved")
        end = server.call("finish")["structuredContent"]
        same((end["holds"], end["files"]), (True, ["vector_add.ptx", "vector_add.proof.json"]))
        for hidden in ("seed", "primes"):
            assert hidden not in end, hidden
        code, error = server.close()
        same(code, 0, error)
    same(read("run/vector_add.ptx"), CANDIDATE)
    same([event["event"] for event in log_of()].count("end"), 1, "what was judged is not judged again")
    assert "A subtraction first." in [event.get("text") for event in log_of()]
    moments = [event["at"] for event in log_of() if event["event"] in ("call", "message")]
    assert moments == sorted(moments) and moments[-1] > 0, moments
    same(plumb("prove", TASK, "run/vector_add.ptx", "--recheck", "run/vector_add.proof.json").code, 0)
    replay = plumb("lower", TASK, "--target", "sm_89", "--provider", "replay", "--log", "run/run.jsonl", "--out", "again")
    same(replay.code, 0, replay.err)
    same(read("again/vector_add.ptx"), CANDIDATE)


def test_the_end_of_the_input_judges_what_is_there():
    with Stdio() as server:
        server.initialize()
        server.call("write_candidate", {"text": CANDIDATE})
        code, error = server.close()
        same(code, 0, error)
    same(log_of()[-1]["verdict"], "proved")
    assert os.path.exists("run/vector_add.proof.json")
    with Stdio(out="wrong") as server:
        server.initialize()
        server.call("write_candidate", {"text": WRONG})
        code, error = server.close()
        same(code, 1, error)
    assert "agent.not-proved" in error and not os.path.exists("wrong/vector_add.ptx"), error


def test_a_proof_at_fewer_shapes_gives_up_nothing_that_holds():
    # Right for the one shape that is asked about, and nowhere else.
    narrow = CANDIDATE.replace("add.f32 a6, a6, b6;", "sub.f32 a6, a6, b6;")
    assert narrow != CANDIDATE
    with Stdio() as server:
        server.initialize()
        server.call("write_candidate", {"text": CANDIDATE})
        same(server.call("prove")["structuredContent"]["verdict"], "proved")
        server.call("write_candidate", {"text": narrow})
        same(server.call("prove", {"shapes": [{"n": 1}]})["structuredContent"]["verdict"], "proved")
        same(server.call("finish")["structuredContent"]["holds"], True)
        same(server.close()[0], 0)
    same(read("run/vector_add.ptx"), CANDIDATE)


def test_a_log_from_anywhere_is_read_or_refused():
    with Stdio() as server:
        server.initialize()
        server.call("note", {"text": "A plan."})
        server.call("write_candidate", {"text": WRONG})
        server.call("check")
        server.call("prove")
        server.call("run", {"shape": {"n": 100}})
        server.call("prove", {"file": 3})
        server.close()
    lines = [json.loads(line) for line in read("run/run.jsonl").splitlines()]

    def paths(value, path=()):
        elements = value.items() if isinstance(value, dict) else list(enumerate(value))[:2] if isinstance(value, list) else []
        for key, element in elements:
            yield path + (key,)
            yield from paths(element, path + (key,))

    draw, places, refusals = random.Random(7), list(paths(lines)), 0
    for _ in range(80):
        changed = json.loads(json.dumps(lines))
        *above, last = draw.choice(places)
        part = changed
        for key in above:
            part = part[key]
        if draw.random() < 0.15:
            del part[last]
        else:
            part[last] = draw.choice([3, -1, 1e308, "x", None, True, [], [3], {}, {"a": 1}])
        write("bad/run.jsonl", "".join(json.dumps(line) + "\n" for line in changed))
        for command in (("report", "bad"), ("export", "bad"), ("report", "bad", "--html", "bad/page.html"),
                        ("mcp", TASK, "--target", "sm_89", "--out", "bad"),
                        ("lower", TASK, "--target", "sm_89", "--log", "bad/run.jsonl", "--out", "again", "-j", "1")):
            refusals += plumb(*command).code == 2  # an inner fault is 3, which fails in there
    assert refusals > 30, refusals


def test_progress_grows_and_stops_with_the_answer():
    with Stdio() as server:
        server.initialize()
        server.call("write_candidate", {"text": CANDIDATE})
        server.notifications.clear()
        server.call("prove", {"shapes": [{"n": 200_000}]}, progress=7)
        told = [each["params"] for each in server.notifications if each["method"] == "notifications/progress"]
        assert told, "a proof of a second or more is followed"
        same({each["progressToken"] for each in told}, {7})
        values = [each["progress"] for each in told]
        assert all(a < b for a, b in zip(values, values[1:])), values
        server.notifications.clear()
        server.call("prove", {"shapes": [{"n": 200_000}]})
        same(server.notifications, [], "nobody asked")


def test_a_call_is_taken_back():
    with Stdio() as server:
        server.initialize()
        server.call("write_candidate", {"text": CANDIDATE})
        running = server.open("tools/call", {"name": "prove", "arguments": LONG}, progress="x")
        waiting = server.open("tools/call", {"name": "check", "arguments": LONG})
        same(server.next()["params"]["progressToken"], "x")
        for request in (waiting, running, 12345):
            server.send({"jsonrpc": "2.0", "method": "notifications/cancelled",
                         "params": {"requestId": request, "reason": "no"}})
        begin = time.monotonic()
        result = server.call("read_candidate")  # no answer to the others comes before it
        same(result["structuredContent"]["lines"], CANDIDATE.count("\n"))
        assert time.monotonic() - begin < 30
        same(server.call("prove")["structuredContent"]["verdict"], "proved")
        same(server.close()[0], 0)
    kinds = [event["event"] for event in log_of()]
    same(kinds.count("cancelled"), 1, "the one that ran; the other one never began")
    replay = plumb("lower", TASK, "--target", "sm_89", "--provider", "replay", "--log", "run/run.jsonl", "--out", "again")
    same(replay.code, 0, replay.err)


def test_pings_are_answered_while_a_proof_runs():
    with Stdio() as server:
        server.initialize()
        server.call("write_candidate", {"text": CANDIDATE})
        running = server.open("tools/call", {"name": "prove", "arguments": LONG})
        same(server.ask("ping")["result"], {})
        end = time.monotonic() + 60
        while True:
            reply = server.ask("resources/read", {"uri": "plumb://run/report.json"})
            report = json.loads(reply["result"]["contents"][0]["text"])
            if report["running"] is not None:
                break
            assert time.monotonic() < end, report
        same(report["running"], "prove")
        server.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": running}})


def test_resources_show_the_run_and_hide_what_is_held_out():
    with Stdio() as server:
        server.initialize()
        uris = [each["uri"] for each in server.ask("resources/list")["result"]["resources"]]
        assert {"plumb://run/task.json", "plumb://run/candidate.ptx", "plumb://run/report.json"} <= set(uris), uris

        def text(uri):
            return server.ask("resources/read", {"uri": uri})["result"]["contents"][0]["text"]

        same(code_of(server.ask("resources/read", {"uri": "plumb://run/candidate.ptx"})), -32002, "before there is one")
        server.call("write_candidate", {"text": CANDIDATE})
        same(text("plumb://run/candidate.ptx"), CANDIDATE)
        everything = "".join(text(uri) for uri in uris)
        assert "1000003" not in everything and "67108864" not in everything, "shapes to test and time at"
        assert log_of()[0]["seed"] not in everything
        assert "cp.async" in text("plumb://isa/cp%2Easync"), "templates"
        same(json.loads(text("plumb://explain/race.shared"))["code"], "race.shared")
        for uri in ("plumb://run/run.jsonl", "plumb://run/../run.jsonl", "file:///etc/passwd", "plumb://knowledge/..", "",
                    "plumb://isa/zzz", "plumb://isa/%zz"):
            same(code_of(server.ask("resources/read", {"uri": uri})), -32002, uri)
    with Stdio(out="modern", modern=True) as server:
        same(code_of(server.ask("resources/read", {"uri": "plumb://run/x"})), -32602)


def test_wrong_messages_are_named_and_survived():
    wrong = [(b"{\n", -32700), (b"\xff\xfe{}\n", -32700), (b"[" * 5000 + b"\n", -32700),
             (b'{"a":' * 100 + b"1" + b"}" * 100 + b"\n", -32700), (b"[]\n", -32600), (b"3\n", -32600), (b"null\n", -32600),
             (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]\n', -32600), (b'{"id":1,"method":"ping"}\n', -32600),
             (b'{"jsonrpc":"2.0","id":null,"method":"ping"}\n', -32600),
             (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}\n', -32600),
             (b'{"jsonrpc":"2.0","id":{},"method":"ping"}\n', -32600), (b'{"jsonrpc":"2.0","id":1}\n', -32600),
             (b'{"jsonrpc":"2.0","id":1,"method":7}\n', -32600),
             (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}\n', -32602),
             (b'{"jsonrpc":"2.0","id":1,"method":"no/such"}\n', -32601)]
    with Stdio() as server:
        server.initialize()
        for text, code in wrong:
            server.send_bytes(text)
            message = server.next()
            same(message["error"]["code"], code, text[:60])
        for text in (b"\n", b"\r\n", b'{"jsonrpc":"2.0","id":9,"result":{}}\n', b'{"jsonrpc":"2.0","method":"no/such"}\n',
                     b'{"jsonrpc":"2.0","method":"notifications/cancelled"}\n'):
            server.send_bytes(text)
        same(server.ask("ping")["result"], {}, "and nothing was said of those")


def test_wrong_calls_are_results_or_errors():
    with Stdio() as server:
        server.initialize()
        for params in ({}, {"name": 3}, {"name": "rm"}, {"name": "task", "arguments": []}, {"name": "task", "arguments": 1},
                       {"name": ""}):
            same(code_of(server.ask("tools/call", params)), -32602, params)
        for tool, arguments in (("write_candidate", {}), ("prove", {"file": 3}), ("prove", {}), ("note", {}),
                                ("write_candidate", {"file": "../x.ptx", "text": ""}),
                                ("write_candidate", {"file": "/etc/x.ptx", "text": ""}),
                                ("patch_candidate", {"base_sha256": "0", "edits": []})):
            result = server.call(tool, arguments)
            same(result["isError"], True, (tool, arguments))
            assert result["structuredContent"]["findings"][0]["code"].startswith("session."), result
        meta = {"name": "task", "_meta": 3}
        same(server.ask("tools/call", meta)["result"]["isError"], False, "`_meta` that is none is passed over")
        identity = server.open("tools/call", {"name": "task"})
        server.answer(identity)
    assert not os.path.exists("x.ptx")


def test_a_message_that_is_too_large_is_refused():
    with Stdio() as server:
        server.initialize()
        block = b"x" * (1 << 20)
        for _ in range(40):
            server.send_bytes(block)
        server.send_bytes(b"\n")
        same(code_of(server.next()), -32600)
        same(server.ask("ping")["result"], {})
        server.call("write_candidate", {"text": "//" + "x" * (1 << 20)})
        same(server.call("read_candidate")["structuredContent"]["bytes"], 2 + (1 << 20))


def test_too_many_waiting_calls_are_refused():
    with Stdio() as server:
        server.initialize()
        server.call("write_candidate", {"text": CANDIDATE})
        identities = [server.open("tools/call", {"name": "prove", "arguments": LONG}) for _ in range(80)]
        refused = [server.next() for _ in range(15)]
        assert all(code_of(each) == -32603 for each in refused), refused
        for identity in identities:
            server.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": identity}})
        # A call that was refused late may be answered before this one.
        last = server.open("tools/call", {"name": "task", "arguments": {}})
        while (reply := server.next()).get("id") != last:
            pass
        same(reply["result"]["isError"], False)


def test_an_input_that_ends_in_the_middle_loses_nothing():
    with Stdio() as server:
        server.initialize()
        server.call("write_candidate", {"text": CANDIDATE})
        server.send_bytes(b'{"jsonrpc":"2.0","id":5,"method":"tools/c')
        same(server.close()[0], 0)
    with Stdio(out="other") as server:
        server.initialize()
        server.open("tools/call", {"name": "write_candidate", "arguments": {"text": CANDIDATE}})
        identity = server.open("tools/call", {"name": "prove", "arguments": {}})
        server.process.stdin.close()
        server.next()
        same(server.next()["id"], identity, "what was asked for is answered")
        same(server.process.wait(120), 0)
    same([event.get("tool") for event in log_of("other") if event["event"] == "call"], ["write_candidate", "prove"])


def test_log_messages_come_when_asked_for():
    with Stdio() as server:
        server.initialize()
        server.call("task")
        same(server.notifications, [])
        same(code_of(server.ask("logging/setLevel", {"level": "loud"})), -32602)
        same(server.ask("logging/setLevel", {"level": "info"})["result"], {})
        server.call("task")
        same([each["method"] for each in server.notifications], ["notifications/message"])
        server.ask("logging/setLevel", {"level": "warning"})
        server.notifications.clear()
        server.call("task")
        same(server.notifications, [])
        server.call("write_candidate", {})
        same(server.notifications[0]["params"]["level"], "warning")


def test_a_run_goes_on_after_a_kill():
    with Stdio() as server:
        server.initialize()
        server.call("write_candidate", {"text": WRONG})
        base = server.call("read_candidate")["structuredContent"]["sha256"]
        old = WRONG[WRONG.index("sub.f32"):][:40]
        server.call("patch_candidate", {"base_sha256": base, "edits": [{"search": "// 1024", "replace": "// Of 1024"}]})
        text = server.call("read_candidate")["structuredContent"]["text"]
        assert old in text
    with Stdio() as server:
        server.initialize()
        killed_at = log_of()[-1]["at"]
        same(server.call("read_candidate")["structuredContent"]["text"], text, "after the kill")
        assert log_of()[-1]["at"] >= killed_at, "the run's time goes on"
        server.call("write_candidate", {"text": CANDIDATE})
        same(server.call("finish")["structuredContent"]["holds"], True)
        server.close()
    replay = plumb("lower", TASK, "--target", "sm_89", "--provider", "replay", "--log", "run/run.jsonl", "--out", "again")
    same(replay.code, 0, replay.err)


def test_a_run_that_starts_from_more_than_the_source_says_so():
    write("seed.ptx", CANDIDATE)
    with Stdio("--seed-ptx", "seed.ptx") as server:
        assert "given PTX text in `vector_add.ptx`" in server.initialize()["instructions"]
        same(server.call("read_candidate")["structuredContent"]["text"], CANDIDATE)
        report = json.loads(server.ask("resources/read", {"uri": "plumb://run/report.json"})["result"]["contents"][0]["text"])
        same((report["from"], report["candidate"]["is_proved"]), ("seed", False), "given, and not yet proved")
        same(server.call("prove")["structuredContent"]["verdict"], "proved")
        same(server.call("finish")["structuredContent"]["holds"], True)
        code, error = server.close()
        same(code, 0)
        assert "from a seed" in error, error
    same((log_of()[0]["from"], log_of()[0]["provider"]), ("seed", "mcp"))
    same([event["text"] for event in log_of() if event["event"] == "given"], [CANDIDATE])
    report = json.loads(plumb("report", "run", "--json").out)
    same((report["from"], report["candidates"][0]["is_given"], report["candidates"][0]["reached"]), ("seed", True, "accepted"))
    assert "from seed" in plumb("report", "run").out
    same(json.loads(plumb("export", "run").out)["from"], "seed")
    replay = plumb("lower", TASK, "--target", "sm_89", "--provider", "replay", "--log", "run/run.jsonl", "--out", "again")
    same(replay.code, 0, replay.err)
    same(log_of("again")[0]["from"], "seed")
    # A log that was edited to hide it is none.
    lines = read("run/run.jsonl").replace('"from":"seed","provider"', '"from":"source","provider"')
    write("hidden/run.jsonl", lines)
    hidden = plumb("report", "hidden")
    assert hidden.code == 2 and "agent.run-log" in hidden.err, (hidden.code, hidden.err)


def test_a_run_from_a_scaffold_goes_on_as_such():
    skeleton = plumb("scaffold", "row-reduction", "--target", "sm_89").out
    with Stdio("--from-scaffold", "row-reduction") as server:
        assert "scaffold in `vector_add.ptx`" in server.initialize()["instructions"]
        same(server.call("read_candidate")["structuredContent"]["text"], skeleton)
    given = [event for event in log_of() if event["event"] == "given"]
    same([(event["from"], event["scaffold"]) for event in given], [("scaffold", "row-reduction")])
    with Stdio("--from-scaffold", "row-reduction") as server:
        server.initialize()
        same(server.call("read_candidate")["structuredContent"]["text"], skeleton, "after the kill")
    with Stdio() as server:
        assert "scaffold" in server.initialize()["instructions"], "the log says it, whoever goes on"
    same([event["event"] for event in log_of()].count("given"), 1)
    write("seed.ptx", CANDIDATE)
    for other in (("--seed-ptx", "seed.ptx"), ("--from-scaffold", "mma-loop")):
        refused(plumb("mcp", TASK, "--target", "sm_89", "--out", "run", *other), code="agent.run-other")
    for wrong, code in ((("--from-scaffold", "wgmma-loop"), "session.scaffold"), (("--seed-ptx", "none.ptx"), "file.unreadable")):
        refused(plumb("mcp", TASK, "--target", "sm_89", "--out", "new", *wrong), code=code)
    same(plumb("mcp", TASK, "--target", "sm_89", "--seed-ptx", "seed.ptx", "--from-scaffold", "mma-loop").code, 2)


def test_a_run_killed_before_it_had_its_text_gets_it_when_it_goes_on():
    write("seed.ptx", CANDIDATE)
    with Stdio("--seed-ptx", "seed.ptx") as server:
        server.initialize()
    write("run/run.jsonl", read("run/run.jsonl").splitlines()[0] + "\n")
    refused(plumb("mcp", TASK, "--target", "sm_89", "--out", "run"), code="agent.run-other")
    with Stdio("--seed-ptx", "seed.ptx") as server:
        server.initialize()
        same(server.call("read_candidate")["structuredContent"]["text"], CANDIDATE)


def test_a_folder_serves_one_run():
    with Stdio() as server:
        server.initialize()
        second = plumb("mcp", TASK, "--target", "sm_89", "--out", "run")
        same(second.code, 2)
        assert "agent.run-in-use" in second.err, second.err
    other = plumb("mcp", TASK, "--target", "sm_90a", "--out", "run")
    assert other.code == 2 and "agent.replay-task" in other.err, other.err


run_tests(globals())
