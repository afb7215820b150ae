# SPDX-License-Identifier: Apache-2.0
"""Peers that are not ours, where they are installed: the official SDKs read what our peer serves and type-check what
plumb asks, and llama.cpp's server answers plumb. What is not here is skipped, with the reason."""
import json
import os
import subprocess
import sys
import time
import urllib.request

from common import GOOD, TASK, environment, events, lower
from harness import plumb, run_tests, same
from peer import Peer, call, thinking

STEPS = [[thinking("Hm.", "c2ln"), "Look.", call("task")], [call("write_candidate", {"text": GOOD}), call("assemble")],
         [call("prove")]]


def skipped(what):
    print(f"skip  {what} is not installed")


def test_the_official_anthropic_sdk():
    try:
        import anthropic
        from anthropic.types.message_create_params import MessageCreateParamsStreaming
        import pydantic
    except ImportError:
        return skipped("the Python package `anthropic`")
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
    try:
        import openai
        import pydantic
        from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming
    except ImportError:
        return skipped("the Python package `openai`")
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


def tiny_model(path):
    """A random model of a few hundred kilobytes, so that a real server has something to answer from."""
    import gguf
    import numpy as np

    generator = np.random.default_rng(1)
    size, inner, heads, words = 64, 128, 4, 259
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(32768)
    writer.add_embedding_length(size)
    writer.add_block_count(1)
    writer.add_feed_forward_length(inner)
    writer.add_head_count(heads)
    writer.add_head_count_kv(heads)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(size // heads)
    writer.add_tokenizer_model("llama")
    writer.add_token_list([b"<unk>", b"<s>", b"</s>"] + [f"<0x{byte:02X}>".encode() for byte in range(256)])
    writer.add_token_scores([0.0] * words)
    writer.add_token_types([2, 3, 3] + [6] * 256)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_chat_template("{% for message in messages %}{{ message['role'] }}: {{ message['content'] }}\n{% endfor %}")

    def add(name, *shape):
        writer.add_tensor(name, generator.normal(0, 0.05, shape).astype(np.float32))

    add("token_embd.weight", words, size)
    add("output.weight", words, size)
    for name, shape in (("attn_q", (size, size)), ("attn_k", (size, size)), ("attn_v", (size, size)), ("attn_output", (size, size)),
                        ("ffn_gate", (inner, size)), ("ffn_up", (inner, size)), ("ffn_down", (size, inner))):
        add(f"blk.0.{name}.weight", *shape)
    for name in ("output_norm", "blk.0.attn_norm", "blk.0.ffn_norm"):
        writer.add_tensor(f"{name}.weight", np.ones(size, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def test_llama_cpp_s_server():
    try:
        import gguf  # noqa: F401
        import llama_cpp.server  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError:
        return skipped("llama-cpp-python with its server, and gguf,")
    tiny_model("tiny.gguf")
    port = 18000 + os.getpid() % 10000
    server = subprocess.Popen([sys.executable, "-m", "llama_cpp.server", "--model", "tiny.gguf", "--n_ctx", "32768",
                               "--host", "127.0.0.1", "--port", str(port)], stdout=open("server.log", "wb"),
                              stderr=subprocess.STDOUT)
    try:
        for _ in range(300):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/v1/models", timeout=2)
                break
            except OSError:
                time.sleep(0.2)
        result = plumb("lower", TASK, "--target", "sm_89", "--provider", "openai", "--model", "tiny", "--base-url",
                       f"http://127.0.0.1:{port}/v1", "--max-output", "256", "--budget", "turns=2", "--tries", "2",
                       env=environment("openai", ""), timeout=600)
        same(result.code, 1, "a random model lowers nothing")
        turns = events("lowered/vector_add/sm_89", "turn")
        with open("server.log", "rb") as log:
            said = log.read()[-2000:]
        same(len(turns), 2, (events("lowered/vector_add/sm_89", "retry"), said))
        assert turns[0]["usage"]["output"] > 0, turns[0]
        # What a server refuses is one of its messages, not a crash.
        result = plumb("lower", TASK, "--target", "sm_89", "--provider", "openai", "--model", "tiny", "--base-url",
                       f"http://127.0.0.1:{port}/v1/nothing", "--budget", "turns=1", "--tries", "2", "--out", "b",
                       env=environment("openai", ""), timeout=600)
        same(result.code, 1)
        assert "status 404" in result.out, result.out
    finally:
        server.kill()
        server.wait()


if __name__ == "__main__":
    run_tests(globals())
