"""Who is compared, as data: nothing is imported here, so that each client's process loads only what it measures."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import NamedTuple

CHAT, RESPONSES, ANTHROPIC = "openai-chat", "openai-responses", "anthropic"
GEMINI, OLLAMA, BEDROCK, COHERE = "gemini", "ollama", "bedrock", "cohere"


class Contender(NamedTuple):
    """One way to read an answer."""

    name: str
    wire: str
    place: str
    """`module:function` in this package; the function takes the URL and the kind of answer, and gives a reader."""
    package: str = ""
    """Whose version is told."""
    times: float = 0.0
    """How many times less processor time Toolwire needs over HTTP, at least: the target, if there is one."""
    apart: bool = False
    """Whether it lives in the peers' environment."""


FLOOR = "the floor: read the socket, split, `orjson.loads`"
SANS_IO = "toolwire, sans-IO, 16 KiB reads"
SINGLE = "toolwire, sans-IO, one event a read"
OURS = "toolwire over HTTP"

EVENTS, CHUNKS, THIN, LITELLM = 10.0, 5.0, 3.0, 80.0
"""The targets: an SDK's event helper, its raw chunks, Ollama's thin client, litellm."""

_OWN = [
    contender
    for wire in (CHAT, RESPONSES, ANTHROPIC, GEMINI, OLLAMA, BEDROCK, COHERE)
    for contender in (
        Contender(FLOOR, wire, "floor:floor"),
        Contender(SANS_IO, wire, "ours:sans_io"),
        Contender(SINGLE, wire, "ours:one_by_one"),
        Contender(OURS, wire, "ours:over_http"),
    )
]
_SDKS = [
    Contender("openai, chunks", CHAT, "sdks:openai_chunks", "openai", CHUNKS),
    Contender("openai, `.stream()`", CHAT, "sdks:openai_events", "openai", EVENTS),
    Contender("openai, chunks", RESPONSES, "sdks:responses_chunks", "openai", CHUNKS),
    Contender("openai, `.stream()`", RESPONSES, "sdks:responses_events", "openai", EVENTS),
    Contender("anthropic, chunks", ANTHROPIC, "sdks:anthropic_chunks", "anthropic", CHUNKS),
    Contender("anthropic, `.stream()`", ANTHROPIC, "sdks:anthropic_events", "anthropic", EVENTS),
    Contender("google-genai", GEMINI, "sdks:google_genai", "google-genai", EVENTS),
    Contender("ollama", OLLAMA, "sdks:ollama_chunks", "ollama", THIN),
    Contender("boto3", BEDROCK, "sdks:boto3_events", "boto3", CHUNKS),
    Contender("cohere", COHERE, "sdks:cohere_events", "cohere", CHUNKS),
]
_FRAMEWORKS = [
    Contender("litellm", CHAT, "frameworks:litellm_openai", "litellm", LITELLM, apart=True),
    Contender("pydantic-ai", CHAT, "frameworks:pydantic_ai_chat", "pydantic-ai-slim", apart=True),
    Contender("langchain", CHAT, "frameworks:langchain_chat", "langchain-openai", apart=True),
    Contender("pydantic-ai", RESPONSES, "frameworks:pydantic_ai_responses", "pydantic-ai-slim", apart=True),
    Contender("langchain", RESPONSES, "frameworks:langchain_responses", "langchain-openai", apart=True),
    Contender("litellm", ANTHROPIC, "frameworks:litellm_anthropic", "litellm", LITELLM, apart=True),
    Contender("pydantic-ai", ANTHROPIC, "frameworks:pydantic_ai_anthropic", "pydantic-ai-slim", apart=True),
]
CONTENDERS = [*_OWN, *_SDKS, *_FRAMEWORKS]


def installed(package: str) -> str:
    """The version in this environment; empty where there is none."""
    try:
        return version(package) if package else ""
    except PackageNotFoundError:
        return ""
