"""The official SDKs driven over bytes in memory, without a network: what they cost for the same answers.

The SDKs of OpenAI and Anthropic are given the reads as a response; the others hide that step, so they get a transport
that answers with them, or what comes nearest to one.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import version
from typing import Any

import anthropic
import boto3
import cohere
import httpx
import httpx2
import msgspec
import ollama
import openai
from anthropic.lib.streaming import MessageStream
from anthropic.types import RawMessageStreamEvent
from botocore.awsrequest import AWSResponse
from google import genai
from openai.lib.streaming.chat import ChatCompletionStreamState
from openai.lib.streaming.responses._responses import ResponseStreamState
from openai.types.chat import ChatCompletionChunk
from openai.types.responses import ResponseStreamEvent

warnings.filterwarnings("ignore", message="Pydantic serializer warnings")  # the SDKs' own, for unusual content
logging.disable()  # Cohere's tells of each end mark

_URL = "http://127.0.0.1/v1"
_REQUEST = httpx2.Request("POST", _URL)
_OPENAI = openai.OpenAI(api_key="none", base_url=_URL)
_ANTHROPIC = anthropic.Anthropic(api_key="none", base_url=_URL)

Reads = Sequence[bytes]


class Peer(msgspec.Struct, frozen=True):
    """An SDK: how it is called, and its ways to read an answer to the end."""

    name: str
    chunks: Callable[[Reads], object]
    """Every chunk as the SDK gives it to its user."""
    whole: Callable[[Reads], object] | None = None
    """The same with its own accumulation, where it has one."""


class _Pieces(httpx2.SyncByteStream):
    def __init__(self, pieces: Reads) -> None:
        self._pieces = pieces

    def __iter__(self) -> Iterator[bytes]:
        yield from self._pieces


class _OldPieces(httpx.SyncByteStream):
    def __init__(self, pieces: Reads) -> None:
        self._pieces = pieces

    def __iter__(self) -> Iterator[bytes]:
        yield from self._pieces


class _Answering(httpx.BaseTransport):
    """Answers every request with the reads it holds."""

    def __init__(self) -> None:
        self.reads: Reads = ()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        headers = {"content-type": "text/event-stream"}  # only Cohere's looks
        return httpx.Response(200, headers=headers, stream=_OldPieces(self.reads), request=request)


def _response(reads: Reads) -> httpx2.Response:
    return httpx2.Response(200, stream=_Pieces(reads), request=_REQUEST)


def _drain(items: Any) -> int:
    return sum(1 for _ in items)


def _chat(reads: Reads) -> Any:
    return openai.Stream(cast_to=ChatCompletionChunk, response=_response(reads), client=_OPENAI)


def _chat_whole(reads: Reads) -> object:
    state: ChatCompletionStreamState[None] = ChatCompletionStreamState()
    for chunk in _chat(reads):
        state.handle_chunk(chunk)
    return state.current_completion_snapshot.choices[0]


def _responses(reads: Reads) -> Any:
    kind: Any = ResponseStreamEvent
    return openai.Stream(cast_to=kind, response=_response(reads), client=_OPENAI)


def _responses_whole(reads: Reads) -> object:
    state: Any = ResponseStreamState(input_tools=openai.omit, text_format=openai.omit)
    events: list[Any] = []
    for event in _responses(reads):
        events = state.handle_event(event)
    return events[-1].response


def _messages(reads: Reads) -> Any:
    kind: Any = RawMessageStreamEvent
    return anthropic.Stream(cast_to=kind, response=_response(reads), client=_ANTHROPIC)


def _messages_whole(reads: Reads) -> object:
    stream: Any = MessageStream(_messages(reads), output_format=anthropic.not_given)
    return stream.get_final_message()


_GEMINI_ANSWERS = _Answering()
_GEMINI = genai.Client(
    api_key="none",
    vertexai=False,
    http_options=genai.types.HttpOptions(base_url=_URL, client_args={"transport": _GEMINI_ANSWERS}),
)
_OLLAMA_ANSWERS = _Answering()
_OLLAMA = ollama.Client(host=_URL, transport=_OLLAMA_ANSWERS)


def _gemini(reads: Reads) -> int:
    _GEMINI_ANSWERS.reads = reads
    return _drain(_GEMINI.models.generate_content_stream(model="m", contents="x"))


def _ollama(reads: Reads) -> int:
    _OLLAMA_ANSWERS.reads = reads
    return _drain(_OLLAMA.chat(model="m", messages=[{"role": "user", "content": "x"}], stream=True))


_COHERE_ANSWERS = _Answering()
_COHERE = cohere.ClientV2(
    api_key="none", base_url=_URL, httpx_client=httpx.Client(transport=_COHERE_ANSWERS, base_url=_URL)
)


def _cohere(reads: Reads) -> int:
    _COHERE_ANSWERS.reads = reads
    messages: Any = [{"role": "user", "content": "x"}]
    return _drain(_COHERE.chat_stream(model="command-a-03-2025", messages=messages))


class _AwsAnswers:
    """Stands where urllib3's response would, and answers every request with the reads it holds."""

    def __init__(self) -> None:
        self.reads: Reads = ()

    def stream(self) -> Iterator[bytes]:
        return iter(self.reads)

    def close(self) -> None:
        pass

    def answer(self, **_: Any) -> AWSResponse:
        return AWSResponse(_URL, 200, {"content-type": "application/vnd.amazon.eventstream"}, self)


_AWS_ANSWERS = _AwsAnswers()
_AWS = boto3.client(
    "bedrock-runtime",
    region_name="us-east-1",
    endpoint_url=_URL,
    aws_access_key_id="none",
    aws_secret_access_key="none",
)
_AWS.meta.events.register("before-send.bedrock-runtime.ConverseStream", _AWS_ANSWERS.answer)


def _bedrock(reads: Reads) -> int:
    _AWS_ANSWERS.reads = reads
    messages = [{"role": "user", "content": [{"text": "x"}]}]
    return _drain(_AWS.converse_stream(modelId="amazon.nova-lite-v1:0", messages=messages)["stream"])


_OPENAI_NAME = f"openai {openai.__version__}"

PEERS: dict[str, Peer] = {
    "openai-chat": Peer(_OPENAI_NAME, lambda reads: _drain(_chat(reads)), _chat_whole),
    "openai-responses": Peer(_OPENAI_NAME, lambda reads: _drain(_responses(reads)), _responses_whole),
    "anthropic": Peer(f"anthropic {anthropic.__version__}", lambda reads: _drain(_messages(reads)), _messages_whole),
    "gemini": Peer(f"google-genai {genai.__version__}", _gemini),
    "ollama": Peer(f"ollama {version('ollama')}", _ollama),
    "bedrock": Peer(f"boto3 {boto3.__version__}", _bedrock),
    "cohere": Peer(f"cohere {version('cohere')}", _cohere),
}
"""By wire format."""
