#!/usr/bin/env python3
"""client.py MODE STEPS ROOT -- COMMAND...: drives a server with the Python SDK 2.x, step by step.

MODE is auto, legacy or a revision. STEPS is a JSON list; each step has one of the keys of `perform`. Prints one JSON
object: what was negotiated, and how each step went (ok, tool_error, rpc_error, gave_up).
"""
import asyncio
import json
import sys

import anyio
import mcp_types as types
from mcp import MCPError
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters

MODE, STEPS, ROOT, DASHES, *COMMAND = sys.argv[1:]
ANSWERED = []


async def on_sampling(_context, _params):
    ANSWERED.append("sampling")
    said = types.TextContent(type="text", text="a tap, a drop, a row")
    return types.CreateMessageResult(role="assistant", content=said, model="none", stop_reason="endTurn")


async def on_elicitation(_context, _params):
    ANSWERED.append("elicitation")
    return types.ElicitResult(action="decline")


async def on_roots(_context):
    ANSWERED.append("roots")
    return types.ListRootsResult(roots=[types.Root(uri=f"file://{ROOT}", name="work")])


async def on_progress(_progress, _total, _message):
    ANSWERED.append("progress")


async def tool_names(client):
    return [tool.name for tool in (await client.list_tools(cache_mode="bypass")).tools]


async def perform(client, step):
    if "list" in step:
        lists = {"tools": client.list_tools, "resources": client.list_resources, "prompts": client.list_prompts,
                 "templates": client.list_resource_templates}
        cursor = None
        for _ in range(3):
            page = await lists[step["list"]](cursor=cursor)
            cursor = page.next_cursor
            if not cursor:
                break
    elif "call" in step:
        progress = {"progress_callback": on_progress} if step.get("progress") else {}
        with anyio.move_on_after(step.get("cancel_after_ms", 60_000) / 1000) as limit:
            result = await client.call_tool(step["call"], step.get("with", {}), **progress)
            return "tool_error" if result.is_error else "ok"
        assert limit.cancelled_caught
        return "gave_up"
    elif "read" in step:
        await client.read_resource(step["read"])
    elif "prompt" in step:
        await client.get_prompt(step["prompt"], step.get("with"))
    elif "complete" in step:
        reference = types.PromptReference(type="ref/prompt", name=step["complete"])
        await client.complete(reference, {"name": step["argument"], "value": step["value"]})
    elif "ping" in step:
        await client.send_ping()
    elif "level" in step:
        await client.set_logging_level(step["level"])
    elif "wait_for_tools" in step:
        while not set(step["wait_for_tools"]) <= set(await tool_names(client)):
            await anyio.sleep(0.1)
    else:
        raise ValueError(f"no such step: {step}")
    return "ok"


async def attempt(client, step):
    if "together" in step:
        return list(await asyncio.gather(*[attempt(client, one) for one in step["together"]]))
    try:
        return await perform(client, step)
    except MCPError:
        return "rpc_error"


async def main():
    assert DASHES == "--"
    server = StdioServerParameters(command=COMMAND[0], args=COMMAND[1:])
    info = types.Implementation(name="real-python", version="2.3.0")
    handlers = {"sampling_callback": on_sampling, "elicitation_callback": on_elicitation,
                "list_roots_callback": on_roots}
    async with Client(server, mode=MODE, client_info=info, **handlers) as client:
        server = client.server_info
        report = {"revision": client.protocol_version, "server": server and server.name}
        report["outcomes"] = [await attempt(client, step) for step in json.loads(STEPS)]
    report["answered"] = sorted(set(ANSWERED))
    print(json.dumps(report))


asyncio.run(main())
