"""Bedrock Converse: the decoding half."""

from __future__ import annotations

from typing import Any

from ..chunks import ChunkResponse
from .bedrock_request import WIRE
from .decoder import FrameDecoder


class BedrockDecoder(FrameDecoder[Any]):
    """Frames in, `ChunkResponse`s out."""

    wire = WIRE
    _kind = "Bedrock Converse"

    def _take(self, event: Any, made: list[ChunkResponse]) -> None:
        raise NotImplementedError
