"""Tools from an MCP server, here one that tells the time. You approve each call.

    pip install 'toolwire[mcp]'
    python examples/mcp_tools.py
    python examples/mcp_tools.py gemini:gemini-3.5-flash "What time is it in Lima?"

The server is fetched and started by uvx, which comes with uv.
"""

import asyncio
import os
import sys

import toolwire
from toolwire.agent.events import RunEnd, ToolFinished, ToolsChanged

MODEL = sys.argv[1] if len(sys.argv) > 1 else os.environ.get("TOOLWIRE_MODEL", "local")
PROMPT = sys.argv[2] if len(sys.argv) > 2 else "What time is it in Asia/Tokyo?"

TIME = toolwire.ServerConfig(
    name="time",
    command="uvx",
    args=("mcp-server-time",),
    allow=("get_current_time",),  # of its tools, offer this one only
)


async def ask(request: toolwire.ApprovalRequest) -> bool:
    print(f"{request.invocation.tool_name}\n{request.shown}\n{request.why}")
    return await asyncio.to_thread(input, "Run it? [y/N] ") == "y"


async def main() -> None:
    servers = toolwire.McpServers([TIME], patience=60)  # seconds: uvx may have to fetch it first
    async with toolwire.Agent(MODEL, [servers], approve=ask) as agent:  # its end stops the server too
        async for event in agent.run(PROMPT):
            match event:
                case ToolsChanged():
                    print("Tools:", *(tool.name for tool in event.added), *event.notes)
                case ToolFinished():
                    print(event.result.content)
                case end if isinstance(end, RunEnd):
                    print(end)


asyncio.run(main())
