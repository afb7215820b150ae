# SPDX-License-Identifier: Apache-2.0
"""A small client of the Model Context Protocol in Python's standard library, for both eras and both transports. It is
written from the protocol and not from the server."""
import http.client
import json
import os
import queue
import re
import subprocess
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
from harness import PLUMB, SOURCE, read, same  # noqa: E402

TASK = os.path.join(SOURCE, "suite", "vector_add")
CANDIDATE = read(os.path.join(TASK, "sm_89", "vector_add.ptx"))
WRONG = CANDIDATE.replace("add.f32", "sub.f32")
META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "peer", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {}}


def environment(**more):
    return dict(os.environ, XDG_CACHE_HOME=os.path.join(os.getcwd(), "cache"), **more)


def start(*arguments, out="run", task=TASK, target="sm_89", **more):
    return subprocess.Popen([PLUMB, "mcp", task, "--target", target, "--out", out, "-j", "1", *map(str, arguments)],
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(**more))


class Stdio:
    """One server process and its three streams. With `modern`, every request says its revision."""

    def __init__(self, *arguments, modern=False, **more):
        self.process = start(*arguments, **more)
        self.modern = modern
        self.lines = queue.Queue()
        self.last_id = 0
        self.notifications = []
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            self.lines.put(json.loads(line))
        self.lines.put(None)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            try:
                stream.close()
            except OSError:
                pass

    def send_bytes(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, message):
        self.send_bytes(json.dumps(message).encode() + b"\n")

    def next(self, timeout=120):
        """The next message; fails where none comes in time."""
        return self.lines.get(timeout=timeout)

    def open(self, method, params=None, progress=None):
        self.last_id += 1
        params = dict(params or {})
        if self.modern:
            params["_meta"] = dict(META)
        if progress is not None:
            params.setdefault("_meta", {})["progressToken"] = progress
        self.send({"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params})
        return self.last_id

    def answer(self, wanted, timeout=120):
        """The answer to one request; notifications on the way are kept."""
        while True:
            message = self.next(timeout)
            assert message is not None, "the server has closed its output"
            if "method" in message:
                self.notifications.append(message)
                continue
            same(message["id"], wanted, "id of the answer")
            return message

    def ask(self, method, params=None, progress=None, timeout=120):
        return self.answer(self.open(method, params, progress), timeout)

    def initialize(self, version="2025-11-25"):
        reply = self.ask("initialize", {"protocolVersion": version, "capabilities": {},
                                        "clientInfo": {"name": "peer", "version": "1"}})
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return reply["result"]

    def call(self, tool, arguments=None, progress=None, timeout=120):
        reply = self.ask("tools/call", {"name": tool, "arguments": arguments or {}}, progress, timeout)
        assert "result" in reply, reply
        return reply["result"]

    def close(self, timeout=120):
        """Ends the input; the exit code and what was said on standard error."""
        self.process.stdin.close()
        error = self.process.stderr.read().decode()
        return self.process.wait(timeout), error


class Http:
    def __init__(self, *arguments, address="127.0.0.1", **more):
        self.process = start("--http", f"{address}:0", *arguments, **more)
        line = self.process.stderr.readline().decode()
        found = re.search(r"http://.*:(\d+)/mcp", line)
        assert found, line + self.process.stderr.read().decode()
        self.port = int(found[1])
        self.address = "127.0.0.1" if address == "0.0.0.0" else address
        self.session = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            stream.close()

    def connect(self, timeout=120):
        return http.client.HTTPConnection(self.address, self.port, timeout=timeout)

    def post(self, body, headers=None, method="POST", path="/mcp"):
        """(status, headers, body) of one exchange on a connection of its own."""
        connection = self.connect()
        try:
            data = body if isinstance(body, bytes) else json.dumps(body).encode()
            own = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
            if self.session:
                own["Mcp-Session-Id"] = self.session
            own.update(headers or {})
            connection.request(method, path, data, {key: value for key, value in own.items() if value is not None})
            reply = connection.getresponse()
            return reply.status, dict(reply.getheaders()), reply.read()
        finally:
            connection.close()

    def initialize(self, headers=None):
        status, got, body = self.post(
            {"jsonrpc": "2.0", "id": 0, "method": "initialize",
             "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "p", "version": "1"}}},
            headers)
        same(status, 200, body)
        self.session = got["Mcp-Session-Id"]
        return json.loads(body)["result"]


def events(body):
    """The messages of a stream of server-sent events."""
    out = []
    for block in body.decode().replace("\r\n", "\n").split("\n\n"):
        data = [line[5:].strip() for line in block.split("\n") if line.startswith("data:")]
        if data:
            out.append(json.loads("\n".join(data)))
    return out


def modern(identity, method, subject=None, /, **params):
    """(body, headers) of a request that stands by itself."""
    params["_meta"] = dict(META)
    headers = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method, "Mcp-Session-Id": None}
    if subject is not None:
        headers["Mcp-Name"] = subject
    return {"jsonrpc": "2.0", "id": identity, "method": method, "params": params}, headers


def log_of(folder="run"):
    return [json.loads(line) for line in read(os.path.join(folder, "run.jsonl")).splitlines()]
