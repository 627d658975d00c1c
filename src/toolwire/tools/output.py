"""`ToolOutput`: what a tool gives where words alone do not do."""

from __future__ import annotations

import msgspec

from ..messages import MediaPart


class ToolOutput(msgspec.Struct, frozen=True):
    """A result of words, and of pictures, sound or files beside them; or one that says that the tool failed.

    A provider that takes no media in results is sent them beside the results, or a mention of them.
    """

    text: str
    media: tuple[MediaPart, ...] = ()
    is_error: bool = False
