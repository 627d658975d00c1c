"""Answers in every wire format (`toolwire.testing.bodies`), and which wires have what in common."""

from __future__ import annotations

from toolwire.testing.bodies import body as body
from toolwire.testing.bodies import events as events
from toolwire.testing.frames import BEDROCK_EVENT as BEDROCK_EVENT
from toolwire.testing.frames import payload as payload
from toolwire.testing.pieces import WIRES as WIRES
from toolwire.testing.pieces import Call as Call
from toolwire.testing.pieces import End as End
from toolwire.testing.pieces import Error as Error
from toolwire.testing.pieces import HalfCall as HalfCall
from toolwire.testing.pieces import Piece as Piece
from toolwire.testing.pieces import Raw as Raw
from toolwire.testing.pieces import Text as Text
from toolwire.testing.pieces import Thought as Thought
from toolwire.testing.pieces import good_end as good_end

MARKED_CALLS = ("openai-responses", "anthropic", "gemini", "bedrock", "cohere")
"""The formats that stream a call in pieces and mark its end; of the others, one ends all calls with the answer and one
sends them whole."""

TEXT_WIRES = tuple(wire for wire in WIRES if wire != "bedrock")
"""Those whose bytes are text; every change of a byte breaks a checksum of the other."""

SSE_WIRES = tuple(wire for wire in TEXT_WIRES if wire != "ollama")

PROVIDERS = {
    "openai": "openai-chat",
    "mistral": "openai-chat",
    "openai-responses": "openai-responses",
    "anthropic": "anthropic",
    "gemini": "gemini",
    "ollama": "ollama",
    "bedrock": "bedrock",
    "cohere": "cohere",
}
"""One provider of each wire, and one that is stricter than its wire."""
