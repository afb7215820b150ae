# SPDX-License-Identifier: Apache-2.0
"""Peers that are not ours: the official SDKs read what our peer serves and type-check what plumb asks, and llama.cpp's
server answers plumb. Skipped with a reason where their packages are neither installed nor to be had."""
import json
import os
import subprocess
import sys

if "--inside" not in sys.argv:
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
    from sdk_python import python_with
    own = python_with(["anthropic", "openai", "xllamacpp", "gguf"], ["anthropic", "openai", "xllamacpp", "gguf"], sys.argv[3],
                      "PLUMB_PEERS_PYTHON")
    sys.exit(subprocess.run([own, __file__, *sys.argv[1:3], "--inside"]).returncode)

import anthropic  # noqa: E402
import openai  # noqa: E402
import pydantic  # noqa: E402
from anthropic.types.message_create_params import MessageCreateParamsStreaming  # noqa: E402
from common import GOOD, TASK, environment, events, lower  # noqa: E402
from harness import plumb, read, run_tests, same  # noqa: E402
from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming  # noqa: E402
from peer import Peer, call, thinking  # noqa: E402

STEPS = [[thinking("Hm.", "c2ln"), "Look.", call("task")], [call("write_candidate", {"text": GOOD}), call("assemble")],
         [call("prove")]]


def test_the_official_anthropic_sdk():
    with Peer("anthropic", STEPS + [["Hello.", call("isa", {"query": "add"})]]) as peer:
        same(lower(peer).code, 0)
        adapter = pydantic.TypeAdapter(MessageCreateParamsStreaming)
        for request in peer.requests:
            adapter.validate_python(request)
        client = anthropic.Anthropic(api_key="x", base_url=peer.url)
        last = peer.requests[-1]
        with client.messages.stream(**{key: value for key, value in last.items() if key != "stream"}) as stream:
            message = stream.get_final_message()
        same([block.type for block in message.content], ["text", "tool_use"])
        same(message.content[1].input, {"query": "add"})


def test_the_official_openai_sdk():
    with Peer("openai", STEPS + [["Hello.", call("isa", {"query": "add"})]]) as peer:
        same(lower(peer).code, 0)
        adapter = pydantic.TypeAdapter(CompletionCreateParamsStreaming)
        for request in peer.requests:
            adapter.validate_python(request)
        client = openai.OpenAI(api_key="x", base_url=peer.url)
        names, text, parts = [], "", ""
        for chunk in client.chat.completions.create(**peer.requests[-1]):
            for choice in chunk.choices:
                text += choice.delta.content or ""
                for made in choice.delta.tool_calls or []:
                    names += [made.function.name] if made.function.name else []
                    parts += made.function.arguments or ""
        same((text, names, json.loads(parts)), ("Hello.", ["isa"], {"query": "add"}))


# The words of a chat as many open models have them. The server reads off it how a call is written.
TEMPLATE = r"""
{%- if tools %}<|im_start|>system
{%- for tool in tools %}{{ tool | tojson }}{% endfor %}
A call is <tool_call>{"name": NAME, "arguments": OBJECT}</tool_call><|im_end|>
{% endif %}
{%- for message in messages %}
{%- if message.role == "tool" %}{{- '<|im_start|>user\n<tool_response>' + message.content + '</tool_response><|im_end|>\n' }}
{%- else %}{{- '<|im_start|>' + message.role + '\n' + (message.content or '') }}
{%- for call in message.tool_calls %}
{{- '<tool_call>{"name": "' + call.function.name + '", "arguments": ' + (call.function.arguments | tojson) + '}</tool_call>' }}
{%- endfor %}{{- '<|im_end|>\n' }}
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\n' }}{% endif %}"""

SERVER = """
import sys, xllamacpp
params = xllamacpp.CommonParams()
params.model.path, params.n_ctx, params.n_parallel, params.port = sys.argv[1], int(sys.argv[2]), 1, 0
params.sampling.seed = 3
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
sys.stdin.read()
"""


def tiny_model(path):
    """A random model of some tens of kilobytes: bytes at random, but for quotes, braces, the beginning of a call and the end,
    which are likely, so that its calls are short. The server's grammar sees to it that they are well formed."""
    import gguf
    import numpy as np

    generator = np.random.default_rng(1)
    size, inner = 32, 32
    special = [b"<unk>", b"<s>", b"</s>", b"<tool_call>", b"</tool_call>", "\u2581".encode()]
    words = special + [f"<0x{byte:02X}>".encode() for byte in range(256)]
    likely = {b"<tool_call>": 1.1, b"<0x22>": 1.1, b"<0x7D>": 1.1, b"</s>": 0.9}
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(131072)
    writer.add_embedding_length(size)
    writer.add_block_count(1)
    writer.add_feed_forward_length(inner)
    writer.add_head_count(1)
    writer.add_head_count_kv(1)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(size)
    writer.add_tokenizer_model("llama")
    writer.add_token_list(words)
    writer.add_token_scores([0.0] * len(words))
    writer.add_token_types([2, 3, 3, 4, 4, 1] + [6] * 256)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_add_bos_token(False)
    writer.add_add_space_prefix(False)
    writer.add_chat_template(TEMPLATE)

    def draw(*shape):
        return generator.normal(0, 0.05, shape).astype(np.float32)

    embedding, output = draw(len(words), size), draw(len(words), size)
    embedding[:, 0] = 1  # survives the one layer, so that its weight in the output is a word's likelihood
    for word, weight in likely.items():
        output[words.index(word), 0] = weight
    writer.add_tensor("token_embd.weight", embedding)
    writer.add_tensor("output.weight", output)
    for name, shape in (("attn_q", (size, size)), ("attn_k", (size, size)), ("attn_v", (size, size)), ("attn_output", (size, size)),
                        ("ffn_gate", (inner, size)), ("ffn_up", (inner, size)), ("ffn_down", (size, inner))):
        writer.add_tensor(f"blk.0.{name}.weight", draw(*shape))
    for name in ("output_norm", "blk.0.attn_norm", "blk.0.ffn_norm"):
        writer.add_tensor(f"{name}.weight", np.ones(size, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


class LlamaServer:
    """llama.cpp's own server on a free port of this machine, as the package `xllamacpp` has it built."""

    def __init__(self, context):
        self.context = context

    def __enter__(self):
        self.log = open(f"server-{self.context}.log", "wb")
        self.process = subprocess.Popen([sys.executable, "-c", SERVER, "tiny.gguf", str(self.context)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log)
        self.url = self.process.stdout.readline().decode().strip()
        assert self.url.startswith("http://127.0.0.1:"), read(self.log.name)[-2000:]
        return self

    def __exit__(self, *error):
        self.process.kill()
        self.process.communicate()
        self.log.close()

    def lower(self, *more, path="/v1", out="out"):
        return plumb("lower", TASK, "--target", "sm_89", "--provider", "openai", "--model", "tiny", "--base-url",
                     self.url + path, "--max-output", "2048", "--tries", "2", "--out", out, *more,
                     env=environment("openai", ""), timeout=600)


def test_llama_cpp_s_server():
    tiny_model("tiny.gguf")
    with LlamaServer(131072) as server:
        same(server.lower("--budget", "turns=4").code, 1, "a random model lowers nothing")
        turns, calls = events(kind="turn"), events(kind="call")
        assert turns and all(turn["usage"]["output"] > 0 for turn in turns), (events(kind="retry"), read(server.log.name)[-2000:])
        same(events(kind="retry"), [])
        same(turns[-1]["usage"]["cache_read"] > turns[0]["usage"]["input"] / 2, True, "the beginning stays as it is")
        # Its calls come in many small pieces and are whole again here: names of the table, objects as arguments.
        assert calls, (turns, read(server.log.name)[-2000:])
        names = {tool["name"] for tool in json.loads(plumb("tool", "--list", "--json").out)["tools"]}
        assert all(each["tool"] in names and isinstance(each["input"], dict) for each in calls), calls
        assert events(kind="stop"), "the run says why it ended"
        # What a server refuses is one of its messages, not a crash.
        result = server.lower("--budget", "turns=1", path="/v1/nothing", out="b")
        same(result.code, 1)
        assert "status 404" in result.out, result.out
    with LlamaServer(1024) as server:
        result = server.lower("--budget", "turns=2", out="c")
        same((result.code, events("c", "turn")), (1, []), "a prompt that the server has no room for")
        assert "context" in result.out, result.out


if __name__ == "__main__":
    run_tests(globals())
