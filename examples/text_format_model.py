"""A model without native tool calling: it is told how to write calls in its text, and they are read out as it streams.

    python examples/text_format_model.py ollama:gemma2
    python examples/text_format_model.py local json

The formats are `xml`, `json`, `sentinel` and those of model families; see `toolwire formats`. The events, approvals and
results are the same as for native calls.
"""

import asyncio
import os
import sys

import toolwire
from toolwire.agent.events import RunEnd, RunStarted, ToolFinished

MODEL = sys.argv[1] if len(sys.argv) > 1 else os.environ.get("TOOLWIRE_MODEL", "local")
FORMAT = sys.argv[2] if len(sys.argv) > 2 else "xml"


@toolwire.tool(risk="read")
def convert_temperature(celsius: float) -> str:
    """Convert a temperature from Celsius to Fahrenheit."""
    return f"{celsius} °C = {celsius * 9 / 5 + 32:g} °F"


async def main() -> None:
    async with toolwire.Agent(MODEL, [convert_temperature], stream_parser=FORMAT) as agent:
        async for event in agent.run("Convert a temperature of 20 celsius to fahrenheit."):
            match event:
                case RunStarted():
                    print(f"Calls are read as: {event.parser}")
                case toolwire.SegmentEvent(type="content"):
                    print(event.delta, end="", flush=True)  # with the markup of the call
                case toolwire.SegmentEvent(type="end", metadata={"arguments": arguments}):
                    print(f"\nArguments: {arguments}")
                case ToolFinished():
                    print(f"Result: {event.result.content}")
                case end if isinstance(end, RunEnd):
                    print(f"\nAnswer: {end}")


asyncio.run(main())
