"""What a tool gave, as text for a model: never more than its bound, never a fault of its own.

The objects that come here belong to tools: their `__str__`, `__class__` and the like may do anything. Whatever they do
is told as an error.
"""

from __future__ import annotations

import codecs
import json
from threading import Lock
from typing import Any, NamedTuple

import msgspec

from ..errors import IncompleteCall, ToolwireError
from ..messages import MediaPart
from ..tools.check import cut
from ..tools.output import ToolOutput

RESULT_CHARACTERS = 100_000
"""How much of a result goes to the model: some 25,000 tokens, more than most contexts can spare."""
ERROR_CHARACTERS = 10_000
"""How much of an error's own words: a page or two say what is wrong."""

NO_OUTPUT = "Done; there is no output."

_GROUPED = 5
_EXPECTED_NAMES = 30
_EXPECTED_CHARACTERS = 1_000


class Ending(NamedTuple):
    """How one try of a call ended. `again`: another try may end better."""

    text: str
    outcome: str = "ok"
    again: bool = False
    media: tuple[MediaPart, ...] = ()


def written(value: Any) -> Ending:
    """The ending of a tool that returned this."""
    try:
        if type(value) is ToolOutput:
            text = clean(bounded(value.text or NO_OUTPUT))
            return Ending(text, "error" if value.is_error else "ok", media=_media(value))
        return Ending(clean(bounded(result_text(value))))
    except BaseException as error:
        return Ending(f"it ran, but its result cannot be written as text: {error_words(error)}", "error")


def _media(output: ToolOutput) -> tuple[MediaPart, ...]:
    """Its media, held apart from those that the tool has; raises where they are none, or cannot be sent or kept."""
    text = json.dumps(msgspec.to_builtins(output.media), ensure_ascii=False, allow_nan=False)
    return msgspec.json.decode(clean(text), type=tuple[MediaPart, ...])


def failure(error: BaseException) -> Ending:
    """The ending of a tool that raised this. An argument that it refuses is no better the next time."""
    kind = type(error)
    again = issubclass(kind, Exception) and not issubclass(kind, IncompleteCall)
    return Ending(error_words(error), "error", again)


def result_text(value: Any) -> str:
    """What a tool returned, as text; raises where it cannot be written."""
    if value is None:
        return NO_OUTPUT
    if issubclass(type(value), str):
        return str.__str__(value) or NO_OUTPUT
    if issubclass(type(value), (bytes, bytearray)):
        return bytes(value).decode("utf-8", "replace") or NO_OUTPUT
    return _json(value)


def bounded(text: str, limit: int = RESULT_CHARACTERS) -> str:
    """The text, or its start and end with a line between them that says how much was cut."""
    if len(text) <= limit:
        return text
    head = limit * 3 // 4
    return _cut(text[:head], len(text) - limit, text[head - limit :])


def clean(text: str) -> str:
    """The text without half surrogates, which no wire can carry."""
    return text.encode("utf-8", "replace").decode()


class Pieces:
    """A result that comes in pieces, in bounded memory: the text that `bounded` would make of all of them.

    Texts are joined as they come, bytes too; any other value is a line of JSON. One thread adds, any may read.
    """

    def __init__(self, limit: int = RESULT_CHARACTERS) -> None:
        self._limit = limit
        self._head_room = limit * 3 // 4
        self._tail_size = limit - self._head_room
        self._head: list[str] = []
        self._tail: list[str] = []
        self._tail_held = 0
        self._characters = 0
        self._line_open = False
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._lock = Lock()

    def add(self, value: Any) -> str:
        """Takes one piece and gives it as text."""
        kind = type(value)
        if value is None:
            return ""
        if issubclass(kind, str):
            text = self._decoder.decode(b"", True) + str.__str__(value)
        elif issubclass(kind, (bytes, bytearray)):
            text = self._decoder.decode(bytes(value))
        else:
            text = self._decoder.decode(b"", True) + ("\n" if self._line_open else "") + _json(value) + "\n"
        if text:
            self._line_open = not text.endswith("\n")
            self._keep(text)
        return text

    def close(self) -> str:
        """No more will come: what is left of a character that was cut in two."""
        return self.add("")

    def _keep(self, text: str) -> None:
        with self._lock:
            self._characters += len(text)
            if self._head_room:
                self._head.append(text[: self._head_room])
                text = text[self._head_room :]
                self._head_room -= len(self._head[-1])
            if text:
                self._tail.append(text[-self._tail_size :])
                self._tail_held += len(self._tail[-1])
            if self._tail_held > 2 * self._tail_size:
                self._tail = ["".join(self._tail)[-self._tail_size :]]
                self._tail_held = len(self._tail[0])

    @property
    def cut(self) -> int:
        """How many characters are left out of `text`."""
        return max(0, self._characters - self._limit)

    def text(self) -> str:
        """All of it, or start and end with a line between them that says how much was cut; empty if nothing came."""
        with self._lock:
            head, tail = "".join(self._head), "".join(self._tail)[-self._tail_size :]
            cut = self.cut
        return clean(_cut(head, cut, tail) if cut else head + tail)


def _cut(head: str, missing: int, tail: str) -> str:
    return f"{head}\n[… {missing:,} characters cut …]\n{tail}"


def _json(value: Any) -> str:
    plain = msgspec.to_builtins(value, enc_hook=_plain, str_keys=True)
    return json.dumps(plain, ensure_ascii=False, separators=(",", ":"))


def _plain(value: Any) -> Any:
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        return dump(mode="json")
    return str.__str__(str(value))


def error_words(error: BaseException) -> str:
    """What an error says, in bounded words, whatever its class does when it is asked."""
    try:
        return clean(bounded(_words(error, _GROUPED), ERROR_CHARACTERS))
    except BaseException:
        return "an error that cannot be put into words"


def _words(error: BaseException, levels: int) -> str:
    kind = type(error)
    words = str.__str__(str(error))
    if issubclass(kind, BaseExceptionGroup) and levels:
        inner = getattr(error, "exceptions", ())[:_GROUPED]
        words = f"{words}: {'; '.join(_words(each, levels - 1) for each in inner)}"
    speaks_for_itself = (ToolwireError, ValueError, IndexError, OSError)
    if words and issubclass(kind, speaks_for_itself) and not issubclass(kind, ExceptionGroup):
        return words
    return f"{kind.__name__}: {words}" if words else kind.__name__


def expected_arguments(parameters: dict[str, Any]) -> str:
    """A schema in one bounded sentence: the names that a call takes, their types, and which it must have."""
    properties = parameters.get("properties", {})
    required = parameters.get("required", [])
    if not properties:
        return "It takes no arguments."
    named = [
        f"{cut(name)} ({_kind(schema)}{', required' if name in required else ''})"
        for name, schema in list(properties.items())[:_EXPECTED_NAMES]
    ]
    more = ", …" if len(properties) > _EXPECTED_NAMES else ""
    return f"It takes {cut(', '.join(named) + more, _EXPECTED_CHARACTERS)}."


def _kind(schema: Any) -> str:
    """What a value may be, in a word or two."""
    if not isinstance(schema, dict):
        return "any"
    if isinstance(schema.get("enum"), list):
        return cut(" | ".join(json.dumps(each, ensure_ascii=False) for each in schema["enum"]), 200)
    kind = schema.get("type")
    if kind is None and isinstance(schema.get("anyOf"), list):
        return " or ".join(dict.fromkeys(_kind(each) for each in schema["anyOf"][:_GROUPED]))
    if isinstance(kind, list):
        return " or ".join(map(str, kind))
    if kind == "array" and isinstance(schema.get("items"), dict) and "type" in schema["items"]:
        return f"array of {schema['items']['type']}"
    return str(kind) if kind else "object" if "$ref" in schema else "any"
