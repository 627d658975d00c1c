"""The official SDK driven over bytes in memory, without a network: for comparing speed and results."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import httpx2
import msgspec
import openai
from openai.lib.streaming.chat import ChatCompletionStreamState
from openai.types.chat import ChatCompletionChunk

warnings.filterwarnings("ignore", message="Pydantic serializer warnings")  # the SDK's own, for unusual content

SDK = f"openai {openai.__version__}"

_REQUEST = httpx2.Request("POST", "http://127.0.0.1/v1/chat/completions")
_CLIENT = openai.OpenAI(api_key="none", base_url="http://127.0.0.1/v1")


class _Pieces(httpx2.SyncByteStream):
    def __init__(self, pieces: Sequence[bytes]) -> None:
        self._pieces = pieces

    def __iter__(self) -> Iterator[bytes]:
        yield from self._pieces


class SdkAnswer(msgspec.Struct):
    """The first choice of an answer, as the SDK put it together."""

    text: str
    calls: list[tuple[str, str, str]]
    """Id, name and argument text of each call."""
    finish: str | None


def sdk_chunks(pieces: Sequence[bytes]) -> Iterator[ChatCompletionChunk]:
    """The chunks that the SDK gives to its user for these reads."""
    response = httpx2.Response(200, stream=_Pieces(pieces), request=_REQUEST)
    yield from openai.Stream(cast_to=ChatCompletionChunk, response=response, client=_CLIENT)


def sdk_read(pieces: Sequence[bytes]) -> int:
    """Read a stream to its end; returns the number of chunks."""
    return sum(1 for _ in sdk_chunks(pieces))


def sdk_accumulate(pieces: Sequence[bytes]) -> SdkAnswer:
    """Read a stream to its end with the SDK's own accumulation; raises whatever the SDK raises."""
    state: ChatCompletionStreamState[None] = ChatCompletionStreamState()
    for chunk in sdk_chunks(pieces):
        state.handle_chunk(chunk)
    choice = state.current_completion_snapshot.choices[0]
    message: Any = choice.message
    calls = [(call.id or "", call.function.name, call.function.arguments or "") for call in message.tool_calls or ()]
    if message.function_call is not None:
        calls.append(("", message.function_call.name, message.function_call.arguments or ""))
    return SdkAnswer(message.content or "", calls, choice.finish_reason)
