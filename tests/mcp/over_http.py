# SPDX-License-Identifier: Apache-2.0
"""`plumb mcp --http`: who may come in, sessions, streams, headers that repeat the body, and clients that leave."""
import json
import signal
import time

from peer import CANDIDATE, Http, TASK, events, log_of, modern, read, same
from harness import plumb, refused, run_tests

PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
LONG = {"shapes": [{"n": 3_000_000}]}


def call(identity, tool, arguments, progress=None):
    params = {"name": tool, "arguments": arguments}
    if progress is not None:
        params["_meta"] = {"progressToken": progress}
    return {"jsonrpc": "2.0", "id": identity, "method": "tools/call", "params": params}


def waits_until(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it does not come to that"
        time.sleep(0.05)


def test_a_session_leads_to_a_lowering():
    with Http() as server:
        server.initialize()
        same(server.post({"jsonrpc": "2.0", "method": "notifications/initialized"})[0], 202)
        same(json.loads(server.post(PING)[2])["result"], {})
        status, headers, body = server.post(call(2, "write_candidate", {"text": CANDIDATE}))
        same((status, headers["Content-Type"]), (200, "text/event-stream"))
        same(events(body)[-1]["result"]["isError"], False)
        body = server.post(call(3, "prove", {"shapes": [{"n": 200_000}]}, progress="p"))[2]
        messages = events(body)
        assert len(messages) > 1 and all(each["params"]["progressToken"] == "p" for each in messages[:-1]), messages
        same(messages[-1]["result"]["structuredContent"]["verdict"], "proved")
        same(events(server.post(call(4, "finish", {}))[2])[-1]["result"]["structuredContent"]["holds"], True)
        server.process.send_signal(signal.SIGTERM)
        same(server.process.wait(60), 0)
    same(read("run/vector_add.ptx"), CANDIDATE)


def test_the_end_of_the_server_judges_what_is_there():
    with Http() as server:
        server.initialize()
        server.post(call(2, "write_candidate", {"text": CANDIDATE}))
        server.process.send_signal(signal.SIGINT)
        same(server.process.wait(60), 0)
    same(log_of()[-1]["verdict"], "proved")


def test_other_origins_and_hosts_are_refused():
    with Http("--origin", "https://lab.example") as server:
        server.initialize()
        for origin, status in (("https://evil.example", 403), ("null", 403), ("http://127.0.0.1.evil.example", 403),
                               ("http://localhost@evil.example", 403), ("ftp://localhost", 403),
                               ("http://localhost:6274", 200), ("http://127.0.0.1", 200), ("http://[::1]:1", 200),
                               ("https://lab.example", 200), ("https://lab.example.evil", 403)):
            same(server.post(PING, {"Origin": origin})[0], status, origin)
        for host, status in (("evil.example", 403), (f"evil.example:{server.port}", 403), ("localhost", 200),
                             (f"127.0.0.1:{server.port}", 200)):
            same(server.post(PING, {"Host": host})[0], status, host)


def test_a_token_is_asked_for():
    with Http(PLUMB_MCP_TOKEN="s3cret") as server:
        for value in (None, "", "s3cret", "Bearer", "Bearer ", "Bearer s3cre", "Bearer s3cretx", "Bearer s3cres",
                      "Basic s3cret"):
            status, headers, _ = server.post(PING, {"Authorization": value})
            same((status, headers.get("WWW-Authenticate")), (401, "Bearer"), value)
        server.initialize({"Authorization": "Bearer s3cret"})
        same(server.post(PING, {"Authorization": "Bearer s3cret"})[0], 200)
    assert "s3cret" not in read("run/run.jsonl")


def test_nobody_listens_to_all_without_a_token():
    for address in ("0.0.0.0:0", "[::]:0", "10.1.2.3:0", "localhost.example:0"):
        refused(plumb("mcp", TASK, "--target", "sm_89", "--out", "run", "--http", address), code="agent.mcp-token")
    for address in ("127.0.0.1", "127.0.0.1:", ":80", "127.0.0.1:99999", "127.0.0.1:8x", "x"):
        refused(plumb("mcp", TASK, "--target", "sm_89", "--out", "run", "--http", address), code="agent.mcp-listen")
    with Http(address="0.0.0.0", PLUMB_MCP_TOKEN="t") as server:
        same(server.post(PING, {"Host": "some.host"})[0], 401)
        server.initialize({"Authorization": "Bearer t", "Host": "some.host"})


def test_sessions_begin_and_end():
    with Http() as server:
        same(server.post(PING)[0], 400, "there is none yet")
        server.initialize()
        first = server.session
        same(server.post(PING, {"Mcp-Session-Id": "0" * 32})[0], 404)
        server.session = None
        server.initialize()
        assert server.session != first and len(first) == 32
        same(server.post(b"", method="DELETE")[0], 204)
        same(server.post(PING)[0], 404)
        same(server.post(b"", method="DELETE")[0], 404)
        same(server.post(PING, {"Mcp-Session-Id": first})[0], 200)
        body = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {}}
        status, headers, _ = server.post(body, {"Mcp-Session-Id": None})
        assert status == 200 and "Mcp-Session-Id" not in headers, "a handshake that fails opens nothing"


def test_the_oldest_idle_session_makes_room():
    with Http() as server:
        names = []
        for _ in range(257):
            server.session = None
            server.initialize()
            names.append(server.session)
        same(len(set(names)), 257)
        same(server.post(PING, {"Mcp-Session-Id": names[0]})[0], 404)
        same(server.post(PING, {"Mcp-Session-Id": names[1]})[0], 200)
        same(server.post(PING)[0], 200)


def test_what_is_no_request_of_ours_is_refused():
    with Http() as server:
        server.initialize()
        for method in ("GET", "PUT", "OPTIONS", "PATCH", "HEAD"):
            status, headers, _ = server.post(b"", method=method)
            same((status, headers.get("Allow")), (405, "POST, DELETE"), method)
        same(server.post(PING, path="/")[0], 404)
        same(server.post(PING, path="/mcp/../etc")[0], 404)
        same(server.post(PING, {"Content-Type": "text/plain"})[0], 415)
        same(server.post(PING, {"Accept": "text/html"})[0], 406)
        same(server.post(PING, {"Accept": "application/json"})[0], 200)
        same(server.post(PING, {"Accept": "*/*"})[0], 200)
        for body, code in ((b"", -32700), (b"{", -32700), (b"\xff", -32700), (b"[]", -32600), (b"[" * 9999, -32700)):
            status, _, got = server.post(body)
            same((status, json.loads(got)["error"]["code"]), (400, code), body[:10])
        try:
            same(server.post(b"x" * (17 << 20))[0], 413)
        except (BrokenPipeError, ConnectionResetError):
            pass  # it need not read all of that to refuse it
        same(server.post(PING)[0], 200)


def test_a_modern_request_needs_no_session():
    with Http() as server:
        status, _, body = server.post(*modern(1, "server/discover"))
        same((status, json.loads(body)["result"]["supportedVersions"]), (200, ["2026-07-28"]))
        status, headers, body = server.post(*modern("a", "tools/call", "task", name="task", arguments={}))
        same((status, headers["X-Accel-Buffering"]), (200, "no"))
        same(events(body)[-1]["result"]["structuredContent"]["name"], "vector_add")
        same(server.post(*modern(2, "no/such"))[0], 404)
        same(server.post(*modern(2, "ping"))[0], 404, "gone since 2025-11-25")
        same(server.post(*modern(2, "tools/call", "rm", name="rm"))[0], 400)
        body, headers = modern(3, "resources/read", "=?base64?cGx1bWI6Ly9ydW4vdGFzay5qc29u?=", uri="plumb://run/task.json")
        same(server.post(body, headers)[0], 200, "a header in base64")


def test_headers_say_what_the_body_says():
    with Http() as server:
        for key, value in (("MCP-Protocol-Version", "2025-11-25"), ("MCP-Protocol-Version", None), ("Mcp-Method", "ping"),
                           ("Mcp-Method", None), ("Mcp-Name", "prove"), ("Mcp-Name", None), ("Mcp-Name", "=?base64?!?=")):
            body, headers = modern(1, "tools/call", "task", name="task", arguments={})
            headers[key] = value
            status, _, got = server.post(body, headers)
            same((status, json.loads(got)["error"]["code"]), (400, -32020), (key, value))
        status, _, got = server.post(PING, {"MCP-Protocol-Version": "2026-07-28"})
        same((status, json.loads(got)["error"]["code"]), (400, -32020))


def test_a_modern_client_that_leaves_takes_its_call_back():
    with Http() as server:
        server.post(*modern(1, "tools/call", "write_candidate", name="write_candidate", arguments={"text": CANDIDATE}))
        body, headers = modern(2, "tools/call", "prove", name="prove", arguments=LONG)
        body["params"]["_meta"]["progressToken"] = "p"
        connection = server.connect()
        headers = {key: value for key, value in headers.items() if value is not None}
        connection.request("POST", "/mcp", json.dumps(body),
                           {"Content-Type": "application/json", "Accept": "application/json, text/event-stream", **headers})
        reply = connection.getresponse()
        assert reply.readline().startswith(b"event:"), "the stream has begun"
        reply.close()
        connection.close()
        waits_until(lambda: log_of()[-1]["event"] == "cancelled")
        same(events(server.post(*modern(3, "tools/call", "task", name="task"))[2])[-1]["result"]["isError"], False)


def test_a_session_takes_a_call_back():
    with Http() as server:
        server.initialize()
        server.post(call(2, "write_candidate", {"text": CANDIDATE}))
        connection = server.connect()
        connection.request("POST", "/mcp", json.dumps(call(3, "prove", LONG, progress=1)),
                           {"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
                            "Mcp-Session-Id": server.session})
        reply = connection.getresponse()
        cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 3}}
        same(server.post(cancel)[0], 202)
        rest = events(reply.read())
        assert all("method" in each for each in rest), "no answer after that, and the stream ends"
        connection.close()
        waits_until(lambda: log_of()[-1]["event"] == "cancelled")


def test_a_client_that_speaks_slowly_holds_nobody_up():
    with Http() as server:
        slow = server.connect()
        slow.connect()
        slow.sock.sendall(b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Le")
        server.initialize()
        same(server.post(PING)[0], 200)
        slow.close()


run_tests(globals())
