"""Cohere chat: the decoding half."""

from __future__ import annotations

from typing import Any

from ..chunks import ChunkResponse
from .cohere_request import WIRE
from .decoder import FrameDecoder


class CohereDecoder(FrameDecoder[Any]):
    """Frames in, `ChunkResponse`s out."""

    wire = WIRE
    _kind = "Cohere chat"

    def _take(self, event: Any, made: list[ChunkResponse]) -> None:
        raise NotImplementedError
