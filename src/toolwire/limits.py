"""Every bound of the core, its default, and the reason for the number.

All are on by default: a peer that never ends a line, an event, a call or a stream costs a bounded amount of memory
and ends in a `LimitExceeded` within the bound plus one read.
"""

from __future__ import annotations

import msgspec

KIB = 1024
MIB = 1024 * KIB


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Bounds for one stream. Bytes unless the name says otherwise."""

    line: int = 16 * MIB
    """One line of SSE or NDJSON. Real lines are below 64 KiB, but an inline image or a whole file argument of 8 MiB
    arrives as one line on some providers."""

    event: int = 16 * MIB
    """One SSE event, all its data lines together: as a line, since almost every event is one line."""

    stream: int = 256 * MIB
    """A whole answer. The longest recorded is under 1 MiB; 256 MiB leaves room for media and still ends."""

    arguments: int = 8 * MIB
    """The arguments of one call, in characters: a large file written in one call, and not much more."""

    calls: int = 128
    """Calls in one answer. Providers allow up to 128 tools; no recorded answer holds more than 20 calls."""

    segments: int = 20_000
    """Stretches of text, reasoning and media in one answer. Answers have a handful; each costs some hundred bytes, so
    that one which changes its kind at every word would otherwise grow tenfold."""

    blocks: int = 100_000
    """Opaque blocks that must go back with one answer. Some services send one for each word of reasoning."""

    fields: int = 10_000
    """Values of one call's arguments that are shown live. Display alone: no screen can show more, and each costs some
    hundred bytes, so that a hostile list of numbers would otherwise grow a hundredfold."""

    held: int = 64 * KIB
    """Characters of an answer's text that are held back while it is open whether a call begins there: an opening tag
    with its attributes, a header. What is longer is text."""

    chunk_depth: int = 600
    """Nesting of one chunk of a stream. Real ones stay under 12; the parser gives up at what is left of some 1,000."""

    depth: int = 64
    """Nesting of arguments. Hand-written schemas stay under 10; recursion below stays far from Python's own bound."""

    name: int = 256
    """Characters of a tool name. Providers allow 64 or 128; pieces that keep coming are a fault."""

    call_id: int = 1024
    """Characters of a call id. Some providers put signed data of some 450 characters there."""

    error_body: int = 64 * KIB
    """How much of an HTTP error answer is read: enough for any provider's words, not for a hostile page."""


DEFAULT_LIMITS = Limits()
