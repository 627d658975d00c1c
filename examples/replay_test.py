"""Record a run once, and replay it in a test: no network, no key, no tool runs, and the result is the same every time.

    python examples/replay_test.py openai:gpt-4.1-mini      # records weather.jsonl
    pytest examples/replay_test.py                          # replays it

The bytes that the provider sent go through the decoder and the agent again. `ReplayDiffers` says where your new version
does something else. A recording has no keys in it, but everything that was said: look before you commit one.
"""

import asyncio
import os
import sys
from pathlib import Path

import toolwire
from toolwire.agent.events import AgentEvent, ToolFinished
from toolwire.transport import AiohttpTransport

RECORDING = Path("weather.jsonl")


@toolwire.tool(risk="read")
def get_weather(city: str) -> str:
    """Weather for a city."""
    return f"18 °C and sunny in {city}"


async def record(model: str) -> None:
    recorder = toolwire.Recorder(RECORDING)
    transport = recorder.transport(AiohttpTransport())
    async with toolwire.Agent(model, [get_weather], transport=transport, hooks=[recorder]) as agent:
        async for event in agent.run("What is the weather in Paris?"):
            last = event
    recorder.close()
    print(f"recorded in {RECORDING}: {last}")


async def replayed() -> list[AgentEvent]:
    return [event async for event in toolwire.replay(toolwire.load_recording(RECORDING))]


def test_the_weather_is_looked_up() -> None:
    events = asyncio.run(replayed())
    (finished,) = [event for event in events if isinstance(event, ToolFinished)]
    assert finished.result.content == "18 °C and sunny in Paris"
    assert "18" in str(events[-1])


if __name__ == "__main__":
    RECORDING.unlink(missing_ok=True)  # a recording is never overwritten
    asyncio.run(record(sys.argv[1] if len(sys.argv) > 1 else os.environ.get("TOOLWIRE_MODEL", "local")))
