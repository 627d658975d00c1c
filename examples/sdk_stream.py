"""The stream of the official openai SDK, read by Toolwire: the same events and checked calls as from any provider.

    pip install openai
    python examples/sdk_stream.py gpt-4.1-mini      # needs OPENAI_API_KEY

Keep your client, its retries and its settings. The SDKs of Anthropic, Google, Ollama, Mistral, Cohere and AWS work the
same way.
"""

import os
import sys
from typing import Any

from openai import OpenAI

import toolwire

MODEL = sys.argv[1] if len(sys.argv) > 1 else os.environ.get("OPENAI_MODEL", "gpt-4.1-mini")


@toolwire.tool(risk="read")
def get_weather(city: str) -> str:
    """Weather for a city."""
    return f"18 °C and sunny in {city}"


messages: list[Any] = [{"role": "user", "content": "What is the weather in Paris?"}]
client = OpenAI()

while True:
    request = toolwire.encode_request(wire="openai-chat", model=MODEL, messages=messages, tools=[get_weather])
    stream = toolwire.SdkStream(tools=[get_weather])
    for event in stream.events(client.chat.completions.create(**request)):
        print(event.type, event.delta)
    if stream.error:
        raise stream.error
    if not stream.invocations:
        break
    messages.append(stream.message)
    for call in stream.invocations:  # complete, and accepted by the tool's schema
        result = get_weather(**call.arguments)
        answer = {"type": "tool_result", "id": call.call_id, "name": call.tool_name, "content": result}
        messages.append({"role": "tool", "content": [answer]})

print(stream.message.text)
