# SPDX-License-Identifier: Apache-2.0
"""`plumb mcp` against the client of the official Python SDK, over both transports and in both eras. Skipped with a
reason where the SDK is neither installed nor to be had."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))

if "--inside" not in sys.argv:
    from sdk_python import python_with
    own = python_with(["mcp.client"], ["mcp>=2,<3"], sys.argv[3], "PLUMB_MCP_SDK_PYTHON")
    sys.exit(subprocess.run([own, __file__, *sys.argv[1:3], "--inside"]).returncode)

import asyncio  # noqa: E402

from mcp.client import Client  # noqa: E402
from mcp.client.stdio import StdioServerParameters  # noqa: E402

from peer import CANDIDATE, PLUMB, TASK, Http, environment, same  # noqa: E402
from harness import run_tests  # noqa: E402


async def drive(client):
    tools = (await client.list_tools()).tools
    names = [tool.name for tool in tools]
    assert {"task", "write_candidate", "prove", "finish"} <= set(names), names
    told = []

    async def progress(value, total, message):
        told.append(value)

    task = await client.call_tool("task", {})
    same(task.structured_content["name"], "vector_add")
    await client.call_tool("write_candidate", {"text": CANDIDATE})
    proof = await client.call_tool("prove", {"shapes": [{"n": 200_000}]}, progress_callback=progress)
    same((proof.is_error, proof.structured_content["verdict"]), (False, "proved"))
    assert told and told == sorted(set(told)), told
    refused = await client.call_tool("write_candidate", {"file": "../x.ptx", "text": ""})
    same(refused.is_error, True)
    uris = [str(each.uri) for each in (await client.list_resources()).resources]
    assert "plumb://run/candidate.ptx" in uris, uris
    assert (await client.list_resource_templates()).resource_templates
    candidate = await client.read_resource("plumb://run/candidate.ptx")
    same(candidate.contents[0].text, CANDIDATE)
    end = await client.call_tool("finish", {})
    same(end.structured_content["holds"], True)


def over_stdio(mode):
    async def run():
        server = StdioServerParameters(command=PLUMB, args=["mcp", TASK, "--target", "sm_89", "--out", "run", "-j", "1"],
                                       env=environment())
        async with Client(server, mode=mode) as client:
            await drive(client)

    asyncio.run(run())
    assert os.path.exists("run/vector_add.proof.json")


def over_http(mode):
    async def run(port):
        async with Client(f"http://127.0.0.1:{port}/mcp", mode=mode) as client:
            await drive(client)

    with Http() as server:
        asyncio.run(run(server.port))


def test_stdio_with_the_handshake():
    over_stdio("legacy")


def test_stdio_as_the_client_finds_out():
    over_stdio("auto")


def test_http_with_the_handshake():
    over_http("legacy")


def test_http_as_the_client_finds_out():
    over_http("auto")


run_tests(globals())
