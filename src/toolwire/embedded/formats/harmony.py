"""`harmony`: messages with a header, as gpt-oss writes them. A call is a message to a function.

    <|channel|>analysis<|message|>The user wants …<|end|>
    <|start|>assistant<|channel|>commentary to=functions.search <|constrain|>json<|message|>{"query": "x"}<|call|>

(without the line break). What stands in the channel `analysis` is reasoning, in `commentary` and `final` it is text.
The prompt ends with `<|start|>assistant`, so that an answer begins with the rest of a header. The receiver may stand
before the channel too, and `<|constrain|>` may be missing.

A message ends with `<|end|>`, `<|return|>` or `<|call|>`: other marks in it are what it says. An answer without any
header is text.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ...messages import ToolResultPart
from ...tools.registry import ToolRegistry
from ..family import family
from ..format import CallToWrite, Chat, Format
from ..headers import break_header, break_spoiled
from ..json_calls import read_arguments
from ..json_source import json_text
from ..marks import give_to, read_any
from ..names import read_run
from ..prose import Begin, Thinking, marked
from ..scanner import PieceKind, Scanner, Wait
from .harmony_tools import tell_tools

START, CHANNEL, CONSTRAIN, MESSAGE = "<|start|>", "<|channel|>", "<|constrain|>", "<|message|>"
END, RETURN, CALL = "<|end|>", "<|return|>", "<|call|>"
ENDS = (CALL, END, RETURN)
ANSWER = f"{START}assistant"
ANALYSIS = f"{CHANNEL}analysis{MESSAGE}"
FUNCTIONS = "functions."

CHANNELS = ("analysis", "commentary", "final")
NOBODY = ("", "assistant", "user", "all")
"""Receivers that are no tools."""
TO = "to="

_HEADER_PARTS = 6
"""Marks in one header: models repeat some."""
_HEADER_WORDS = 3
"""Words in one part of it: channel, receiver and constraint."""
_BESIDE_NAME = 64
"""Characters of a header beside the receiver's name."""

ANALYSIS_CHANNEL = Thinking(((ANALYSIS, END),), ended_by_calls=False)


class _Header(NamedTuple):
    channel: str
    receiver: str
    whole: bool = True


class _Answer:
    """An answer while it is read, message by message."""

    def __init__(self, scanner: Scanner, tools: ToolRegistry | None) -> None:
        self._scanner = scanner
        self._tools = tools
        self._open = False
        """A message has begun, and has not ended."""

    def read(self) -> Wait[None]:
        scanner = self._scanner
        if scanner.plain is PieceKind.REASONING:
            if not (yield from give_to(scanner, (END,), scanner.give_text_to)):
                return
            scanner.give_mark()
        elif (yield from read_any(scanner, (f" {TO}", TO))) and not (yield from self._read_message(TO)):
            scanner.unread()
        openers: dict[str, Begin] = {START: self._begin, CHANNEL: self._begin_channel}
        yield from marked(scanner, openers | dict.fromkeys(ENDS, self._end))

    def _begin(self) -> Wait[bool]:
        if self._open or not (yield from self._scanner.read_literal("assistant")):
            return False
        return (yield from self._read_message(""))

    def _begin_channel(self) -> Wait[bool]:
        if self._open:
            return False
        return (yield from self._read_message(CHANNEL))

    def _end(self) -> Wait[bool]:
        yield from ()
        if not self._open:
            return False
        self._open = False
        self._scanner.give_mark()
        self._scanner.plain = PieceKind.TEXT
        return True

    def _read_message(self, begun: str) -> Wait[bool]:
        """Reads a header to its end, of which this was read, and the whole message if it is a call."""
        scanner = self._scanner
        size = scanner.held_length
        header = yield from _read_header(scanner, begun)
        if header is None:
            return False if self._open else (yield from break_spoiled(scanner, self._tools, size, ENDS, (START,)))
        name = header.receiver.removeprefix(FUNCTIONS)
        if header.receiver in NOBODY and header.channel and header.whole:
            self._open = True
            scanner.give_mark()
            scanner.plain = PieceKind.REASONING if header.channel == CHANNELS[0] else PieceKind.TEXT
            return True
        if header.receiver in NOBODY or not name or len(name) > scanner.limits.name:
            return False
        if not header.whole:
            if not (yield from break_header(scanner, self._tools, name, f"{MESSAGE} is missing", ENDS, (START,))):
                return False
        else:
            yield from read_arguments(scanner, self._tools, name, ends=ENDS, openers=(START,))
        yield from scanner.read_space()
        if (yield from read_any(scanner, ENDS)):
            scanner.give_markup()
        else:
            scanner.give_text()
        return True


def _read_header(scanner: Scanner, begun: str) -> Wait[_Header | None]:
    """Reads to the mark that ends a header; None where this is none."""
    channel, receiver = CHANNELS[-1], ""
    mark = begun
    for _ in range(_HEADER_PARTS):
        run = yield from read_run(scanner, "<", scanner.limits.name + _BESIDE_NAME)
        if run is None:
            return None
        words = (f"{TO}{run}" if mark == TO else run).split()
        if mark == CHANNEL:
            channel = next((name for name in CHANNELS if words and words[0].startswith(name)), "")
        elif mark != CONSTRAIN and any(not word.startswith(TO) for word in words):
            return None
        receiver = next((word[len(TO) :] for word in words if word.startswith(TO)), receiver)
        mark = yield from read_any(scanner, (MESSAGE, CHANNEL, CONSTRAIN))
        if not channel and not receiver:
            return None
        if mark == MESSAGE:
            return _Header(channel, receiver)
        if not mark:
            return _Header(channel, receiver, whole=False) if len(words) <= _HEADER_WORDS else None
    return None


def read(scanner: Scanner, tools: ToolRegistry | None) -> Wait[None]:
    """Reads an answer."""
    return _Answer(scanner, tools).read()


def write_calls(calls: Sequence[CallToWrite]) -> str:
    """A message for each."""
    return "".join(
        f"{ANSWER} {TO}{FUNCTIONS}{call.name}{CHANNEL}commentary json{MESSAGE}{json_text(call.arguments)}{CALL}"
        for call in calls
    )


def write_result(part: ToolResultPart, content: str) -> str:
    """A message of the function's own."""
    return f"{START}{FUNCTIONS}{part.name} {TO}assistant{CHANNEL}commentary{MESSAGE}{json_text(content)}{END}"


HARMONY: Format = family(
    "harmony",
    "messages to functions, in channels",
    models=("gpt-oss",),
    read=read,
    write_calls=write_calls,
    write_result=write_result,
    marks=(START, CHANNEL, CONSTRAIN, MESSAGE, END, RETURN, CALL),
    thinking=ANALYSIS_CHANNEL,
    chat=Chat(
        system=(f"{START}developer{MESSAGE}# Instructions\n\n", END),
        user=(f"{START}user{MESSAGE}", END),
        assistant=("", ""),
        results=("", ""),
        answer=ANSWER,
        tools=tell_tools,
        begin=(
            f"{START}system{MESSAGE}You are ChatGPT, a large language model trained by OpenAI.\n"
            "Knowledge cutoff: 2024-06\n\nReasoning: medium\n\n"
            "# Valid channels: analysis, commentary, final. Channel must be included for every message.\n"
            f"Calls to these tools must go to the commentary channel: 'functions'.{END}"
        ),
        default_system="You are a helpful assistant.",
        reasoning=ANALYSIS,
        no_reasoning=f"{ANALYSIS}{END}{ANSWER}",
        stop=(RETURN, CALL),
        words=(f"{ANSWER}{CHANNEL}final{MESSAGE}", END),
        thought=(f"{ANSWER}{ANALYSIS}", END),
    ),
)
