"""A conversation as a model without native tools is told it: calls and results in text, in one format.

The history itself stays as it is, calls as calls and results as results: so that it can go to another provider, or be
told in another format, at any time. What is made here depends only on what stands before, so that the beginning of a
conversation is the same in every request, as the providers' caches want it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from ..messages import MediaPart, Message, Part, TextPart, ToolCallPart, ToolResultPart
from ..providers.encoding import misplaced, result_media, result_text
from ..providers.media import mention
from ..tools.registry import ToolRegistry
from .format import CallToWrite, Format, write_calls
from .manifest import manifest
from .registry import text_format

_BETWEEN = "\n\n"


def as_text_conversation(
    messages: Iterable[Message],
    tools: Iterable[Any] | ToolRegistry,
    format: str | Format,
    *,
    tool_choice: str = "auto",
    takes: Callable[[MediaPart], bool] = lambda _: True,
) -> list[Message]:
    """The messages for a request that offers no tools. Nothing given is changed.

    - The manifest stands at the end of the system message that comes first, or is one.
    - A call stands in its place as text: as the model wrote it, where it did so in this format.
    - Results are what a user says, quoted (`Format.write_result`), so that nothing in them can be taken for a call.
      Their pictures follow them; those that whoever is asked does not take (`takes`) become a mention.
    - What the user says in a row is one message: models that call in text often want turns by turns.
    """
    if isinstance(format, str):
        format = text_format(format)
    registry = tools if isinstance(tools, ToolRegistry) else ToolRegistry(tools)
    told: list[Message] = []
    said: list[Message] = []
    for message in messages:
        if message.role == "tool":
            message = _results(message, format, takes)
        if message.role == "user":
            said.append(message)
            continue
        told += _as_one(said)
        said.clear()
        told.append(_answer(message, registry, format) if message.role == "assistant" else message)
    told += _as_one(said)
    section = manifest(registry, format, tool_choice=tool_choice)
    if not section:
        return told
    if told and told[0].role == "system":
        return [_as_one([told[0], Message("system", section)])[0], *told[1:]]
    return [Message("system", section), *told]


def _answer(message: Message, tools: ToolRegistry, format: Format) -> Message:
    """An answer with its calls as text. What its provider said of the words alone no longer fits them and is left."""
    if not message.tool_calls:
        return message
    made = _Words()
    others: list[CallToWrite] = []
    """Calls in a row that the model did not write in this format: some families have a frame around them all."""
    for part in message.parts:
        if isinstance(part, ToolCallPart) and (part.written is None or part.written.format != format.name):
            others.append(CallToWrite(part.name, part.arguments, tools.get(part.name), part.id, len(others)))
            continue
        if others:
            made.add_call(write_calls(format, others), as_it_stood=False)
            others.clear()
        if isinstance(part, ToolCallPart):
            made.add_call("" if part.written is None else part.written.text, as_it_stood=True)
        elif isinstance(part, TextPart) and not part.refusal:
            made.add_text(part.text)
        else:
            made.add_other(part)
    if others:
        made.add_call(write_calls(format, others), as_it_stood=False)
    return msgspec.structs.replace(message, content=made.parts())


class _Words:
    """Text and calls as they become one text, between parts of other kinds.

    What the model wrote so stands as it stood; a call that it did not is on lines of its own.
    """

    def __init__(self) -> None:
        self._parts: list[Part] = []
        self._pieces: list[str] = []
        self._apart = False

    def add_call(self, text: str, *, as_it_stood: bool) -> None:
        if self._apart or not as_it_stood:
            self._break_line()
        self._pieces.append(text)
        self._apart = not as_it_stood

    def add_text(self, text: str) -> None:
        if not text:
            return
        if self._apart and not text.startswith(("\n", "\r")):
            self._break_line()
        self._pieces.append(text)
        self._apart = False

    def add_other(self, part: Part) -> None:
        self._end()
        self._parts.append(part)

    def parts(self) -> list[Part]:
        self._end()
        return self._parts

    def _break_line(self) -> None:
        if self._pieces and not self._pieces[-1].endswith("\n"):
            self._pieces.append("\n")

    def _end(self) -> None:
        if self._pieces:
            self._parts.append(TextPart("".join(self._pieces)))
        self._pieces = []
        self._apart = False


def _results(message: Message, format: Format, takes: Callable[[MediaPart], bool]) -> Message:
    """Results as a user's words, in the order in which they came."""
    parts: list[Part] = []
    texts: list[str] = []
    for part in message.parts:
        if not isinstance(part, ToolResultPart):
            raise misplaced(part, "tool")
        texts.append(format.write_result(part, result_text(part, mark_errors=False)))
        media = [each if takes(each) else TextPart(mention(each)) for each in result_media(part)]
        if media:
            parts += [TextPart(_BETWEEN.join(texts)), *media]
            texts = []
    if texts:
        parts.append(TextPart(_BETWEEN.join(texts)))
    return Message("user", parts)


def _as_one(messages: list[Message]) -> list[Message]:
    """Messages of one side in a row as one; itself, where there is one."""
    if len(messages) < 2:
        return list(messages)
    parts: list[Part] = []
    texts: list[str] = []
    for message in messages:
        begins = True
        for part in message.parts:
            if isinstance(part, TextPart):
                texts.append(_BETWEEN + part.text if begins and texts else part.text)
                begins = False
            else:
                if texts:
                    parts.append(TextPart("".join(texts)))
                    texts = []
                parts.append(part)
    if texts:
        parts.append(TextPart("".join(texts)))
    return [Message(messages[0].role, parts)]
