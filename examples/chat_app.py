"""A small terminal chat: streams the answer, shows tool calls, and remembers the conversation.

    python examples/chat_app.py                               # the embedded model
    python examples/chat_app.py anthropic:claude-sonnet-4-5   # needs ANTHROPIC_API_KEY

Type a prompt and press Enter. Ctrl-D ends the chat.
"""

import asyncio
import os
import sys
from datetime import datetime
from zoneinfo import ZoneInfo

import toolwire
from toolwire.agent.events import RunFailed, ToolFinished, ToolStarted

MODEL = sys.argv[1] if len(sys.argv) > 1 else os.environ.get("TOOLWIRE_MODEL", "local")


@toolwire.tool(risk="read")
def current_time(timezone: str) -> str:
    """Current time in a timezone.

    Args:
        timezone: IANA name, such as Asia/Tokyo.
    """
    return f"{datetime.now(ZoneInfo(timezone)):%A %H:%M}"


async def answer(agent: toolwire.Agent, prompt: str) -> None:
    text: set[str] = set()  # ids of the text segments: the arguments of a call stream as deltas too
    async for event in agent.run(prompt):
        match event:
            case toolwire.SegmentEvent(type="start", segment_type="text"):
                text.add(event.segment_id)
            case toolwire.SegmentEvent(type="content") if event.segment_id in text:
                print(event.delta, end="", flush=True)
            case ToolStarted():
                print(f"\n[{event.invocation.tool_name} {event.invocation.arguments}]", end=" ")
            case ToolFinished():
                print(f"→ {event.result.content}")
            case RunFailed():
                print(f"\nError: {event.error.message}")
    print()


async def main() -> None:
    async with toolwire.Agent(MODEL, [current_time]) as agent:
        while prompt := await asyncio.to_thread(read_prompt):
            await answer(agent, prompt)


def read_prompt() -> str:
    try:
        return input("> ")
    except EOFError:
        return ""


asyncio.run(main())
