# SPDX-License-Identifier: Apache-2.0
"""A server that speaks a chat protocol and says what a test wants: a list of steps, one a request.

A step is a list of blocks (a good answer), or a function of the handler (anything else). Blocks are texts, `call(...)`,
and `thinking(...)`. What was asked is kept in `requests`, parsed.
"""
import http.server
import json
import threading


def call(tool, arguments=None, **more):
    return {"tool": tool, "arguments": arguments if arguments is not None else {}, **more}


def thinking(text, signature):
    return {"thinking": text, "signature": signature}


def anthropic_events(blocks, stop=None, usage=(100, 20)):
    yield "message_start", {"type": "message_start", "message": {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [], "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": usage[0], "cache_read_input_tokens": 7, "cache_creation_input_tokens": 3,
                  "output_tokens": 1}}}
    yield "ping", {"type": "ping"}
    for index, block in enumerate(blocks):
        if isinstance(block, str):
            start, deltas = {"type": "text", "text": ""}, [{"type": "text_delta", "text": part} for part in thirds(block)]
        elif "thinking" in block:
            start = {"type": "thinking", "thinking": "", "signature": ""}
            deltas = [{"type": "thinking_delta", "thinking": part} for part in thirds(block["thinking"])]
            deltas.append({"type": "signature_delta", "signature": block["signature"]})
        else:
            start = {"type": "tool_use", "id": f"toolu_{index}", "name": block["tool"], "input": {}}
            deltas = [{"type": "input_json_delta", "partial_json": part} for part in thirds(arguments_text(block))]
        yield "content_block_start", {"type": "content_block_start", "index": index, "content_block": start}
        for delta in deltas:
            yield "content_block_delta", {"type": "content_block_delta", "index": index, "delta": delta}
        yield "content_block_stop", {"type": "content_block_stop", "index": index}
    stop = stop or ("tool_use" if any(is_call(block) for block in blocks) else "end_turn")
    yield "message_delta", {"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None},
                            "usage": {"output_tokens": usage[1]}}
    yield "message_stop", {"type": "message_stop"}


def openai_events(blocks, stop=None, usage=(100, 20)):
    def chunk(delta, reason=None):
        return None, {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m",
                      "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}

    yield chunk({"role": "assistant", "content": ""})
    number = 0
    for block in blocks:
        if isinstance(block, str):
            for part in thirds(block):
                yield chunk({"content": part})
        elif "thinking" in block:
            yield chunk({"reasoning_content": block["thinking"]})
        else:
            yield chunk({"tool_calls": [{"index": number, "id": f"call_{number}", "type": "function",
                                         "function": {"name": block["tool"], "arguments": ""}}]})
            for part in thirds(arguments_text(block)):
                yield chunk({"tool_calls": [{"index": number, "function": {"arguments": part}}]})
            number += 1
    stop = {"max_tokens": "length"}.get(stop, stop)
    yield chunk({}, stop or ("tool_calls" if number else "stop"))
    yield None, {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [],
                 "usage": {"prompt_tokens": usage[0], "completion_tokens": usage[1], "total_tokens": sum(usage),
                           "prompt_tokens_details": {"cached_tokens": 7}}}
    yield None, "[DONE]"


def is_call(block):
    return isinstance(block, dict) and "tool" in block


def arguments_text(block):
    return block["arguments"] if isinstance(block["arguments"], str) else json.dumps(block["arguments"])


def thirds(text):
    size = max(1, (len(text) + 2) // 3)
    return [text[at:at + size] for at in range(0, len(text), size)]


def stream_text(wire, blocks, end="\n", **more):
    """The whole body of a streamed answer."""
    events = anthropic_events(blocks, **more) if wire == "anthropic" else openai_events(blocks, **more)
    out = []
    for name, data in events:
        head = f"event: {name}{end}" if name else ""
        body = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
        out.append(f"{head}data: {body}{end}{end}")
    return "".join(out)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments):
        pass

    def begin_stream(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def piece(self, data):
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def end_stream(self):
        self.wfile.write(b"0\r\n\r\n")
        self.wfile.flush()

    def stream(self, text, size=None):
        data = text.encode()
        size = size or max(1, len(data))
        self.begin_stream()
        for at in range(0, len(data), size):
            self.piece(data[at:at + size])
        self.end_stream()

    def cut(self, text):
        """Sends a part of a stream and drops the connection."""
        self.begin_stream()
        self.piece(text.encode())
        self.close_connection = True

    def refuse(self, status, body, **headers):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), str(value))
        self.end_headers()
        self.wfile.write(data)

    def do_POST(self):
        peer = self.server.peer
        body = self.rfile.read(int(self.headers["Content-Length"]))
        with peer.lock:
            self.asked = json.loads(body)
            peer.requests.append(self.asked)
            peer.paths.append(self.path)
            peer.heads.append(dict(self.headers.items()))
            step = peer.steps.pop(0) if peer.steps else peer.rest
        try:
            if callable(step):
                step(self)
            else:
                self.stream(stream_text(peer.wire, step))
        except (BrokenPipeError, ConnectionResetError):
            pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        pass


class Peer:
    """`rest` is the step of every request after the last."""

    def __init__(self, wire, steps, rest=("I am done.",)):
        self.wire, self.steps, self.rest = wire, list(steps), rest if callable(rest) else list(rest)
        self.requests, self.paths, self.heads = [], [], []
        self.lock = threading.Lock()

    def __enter__(self):
        self.server = Server(("127.0.0.1", 0), Handler)
        self.server.peer = self
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    @property
    def url(self):
        base = f"http://127.0.0.1:{self.server.server_address[1]}"
        return base if self.wire == "anthropic" else base + "/v1"

    def results(self, number):
        """The answers to calls that request `number` brings, newest message last: (id, text)."""
        out = []
        for message in self.requests[number]["messages"]:
            if message["role"] == "tool":
                out.append((message["tool_call_id"], message["content"]))
            elif isinstance(message["content"], list):
                out += [(block["tool_use_id"], block["content"]) for block in message["content"]
                        if block["type"] == "tool_result"]
        return out

    def said(self, number):
        """Everything that request `number` tells the model as a user."""
        out = []
        for message in self.requests[number]["messages"]:
            if message["role"] == "user" and isinstance(message["content"], str):
                out.append(message["content"])
            elif message["role"] == "user":
                out += [block["text"] for block in message["content"] if block["type"] == "text"]
        return "\n".join(out)
