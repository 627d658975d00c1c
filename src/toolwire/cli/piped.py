"""What is piped into `toolwire run`: read without waiting for those who never send, framed so that it cannot pretend.

Whoever has an open standard input and says nothing into it, as many systems that run scripts do, must not make a run
wait for ever: what has not begun in a few seconds is left out, and that is told. `--attach -` waits for as long as it
takes, and so does a run without a question, for which it is one.
"""

from __future__ import annotations

import os
import secrets
import sys
import threading
from contextlib import suppress

from ..attachments import MAX_TEXT
from ..errors import ConfigError
from ..files.contents import HEAD, Contents, recognise
from ..framed import piped_lines
from ..messages import TextPart
from .faults import say
from .inputs import READ

FIRST = 3.0
"""Seconds for the first bytes to come, where nobody has said that there are some."""


def is_piped() -> bool:
    """Whether standard input is something else than a person."""
    with suppress(OSError, ValueError, AttributeError):
        return not sys.stdin.isatty()
    return False


def read_piped(*, wait: float | None = FIRST) -> str:
    """The text on standard input; empty where nothing begins to come within `wait` seconds (None: however long).

    A `ConfigError` for what is no text, and for more than a message may hold: nothing is ever cut off in silence.
    """
    data = _data(wait)
    if data is None:
        # Also where a run is quiet: the answer is to something else than was meant, if it was slow to begin.
        say(
            f"nothing came on standard input within {FIRST:g} s, so that the question goes without it",
            "To wait for it: --attach -; to say that there is none: < /dev/null",
        )
        return ""
    contents = check_piped(data)
    return data[contents.mark :].decode(contents.encoding, "replace") if data else ""


def check_piped(data: bytes) -> Contents:
    """What kind of text it is. A `ConfigError` for what is none, and for more than a message may hold."""
    if len(data) > MAX_TEXT:
        raise ConfigError(
            f"more than {MAX_TEXT:,} bytes are piped in, which is more than a message may hold",
            hint="Pipe in the part that matters, or put it into a file and let the model read it (read_file).",
        )
    contents = recognise(data[:HEAD], is_whole=len(data) <= HEAD)
    if data and not contents.encoding:
        raise ConfigError(
            f"what is piped in is no text, it is {contents.name}", hint="Put it into a file, and use --attach FILE."
        )
    return contents


def framed(text: str) -> TextPart:
    """What was piped in as material beside a question. Its end is marked by a word that is not in it."""
    mark = secrets.token_hex(4)
    while mark in text:
        mark = secrets.token_hex(8)
    first, last = piped_lines(mark)
    # Some providers are sent all text of a question in one piece.
    return TextPart(f"\n\n{first}\n{text}\n{last}\n")


def _data(wait: float | None) -> bytes | None:
    """All bytes; None where none began to come in time."""
    pieces: list[bytes] = []
    problems: list[OSError | ValueError] = []
    begun, ended = threading.Event(), threading.Event()

    def read() -> None:
        size = 0
        try:
            descriptor = sys.stdin.fileno()
            while size <= MAX_TEXT and (data := os.read(descriptor, READ)):
                pieces.append(data)
                size += len(data)
                begun.set()
        except (OSError, ValueError) as error:
            problems.append(error)
        finally:
            ended.set()
            begun.set()

    # A thread, since not every system can wait for a pipe with a time limit. One that waits for ever ends with us.
    threading.Thread(target=read, name="toolwire-standard-input", daemon=True).start()
    if not begun.wait(wait):
        return None
    ended.wait()
    if problems:
        return b""  # closed, or a folder: there is nothing to read
    return b"".join(pieces)
