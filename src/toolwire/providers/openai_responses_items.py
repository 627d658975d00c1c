"""The items of a Responses answer: how an event finds its item, and what each kind of item shows and sends back.

An answer is a list of items: messages, reasoning, calls, and whatever the provider's own tools did. Events name their
item by `item_id`, by `output_index` or by both, and services break either: some send a new id with every event, some
number every item 0, some leave one of the two out. An item is therefore looked for by its id first, then by its index,
and always among its own family, so that a message and a call that share a number stay apart.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..chunks import Citation
from ..errors import LimitExceeded
from ..limits import Limits
from .decoder import shown
from .openai_responses_request import WIRE

MESSAGE, REASONING, CALL, CUSTOM_CALL = "message", "reasoning", "function_call", "custom_tool_call"
FAMILIES = frozenset({MESSAGE, REASONING, CALL, CUSTOM_CALL})
"""The types of items that are understood; every other is a tool on the provider's side, or opaque."""
SERVER = "server"

Ref = int | float | str | None
"""What an event may name an item or a part by."""

_QUIET = frozenset({"compaction"})
"""Items that are no tool's work: they go back in their place, and nothing is shown."""

_ASKED = {
    "web_search_call": "action",
    "file_search_call": "queries",
    "code_interpreter_call": "code",
    "image_generation_call": "revised_prompt",
    "mcp_call": "arguments",
    "mcp_approval_request": "arguments",
    "tool_search_call": "arguments",
    "computer_call": "action",
    "local_shell_call": "action",
    "shell_call": "action",
    "apply_patch_call": "operation",
    "program": "code",
}
"""Where an item holds what the tool was asked."""

_GIVEN = {
    "file_search_call": "results",
    "code_interpreter_call": "outputs",
    "mcp_call": "output",
    "mcp_list_tools": "tools",
}
"""Where it holds what the tool gave, in the same item."""

_OUTPUTS = {"tool_search_output": "tools", "program_output": "result"}
"""Where an item that is nothing but a result holds it; elsewhere it is `output`."""


class Part:
    """One stretch of words of an item, as far as it was streamed: a content part, a summary part, a call's arguments.

    `delta_type`, `item_id`, `index`, `content` and `summary` are what the next delta for it will say again.
    """

    __slots__ = (
        "annotations",
        "content",
        "delta_type",
        "index",
        "item",
        "item_id",
        "kind",
        "number",
        "pieces",
        "place",
        "size",
        "summary",
    )

    def __init__(self, item: Item, kind: str, place: Ref, number: int) -> None:
        self.item = item
        self.kind = kind
        self.place = place
        self.number = number
        self.pieces: list[str] = []
        self.size = 0
        self.annotations: list[Any] = []
        self.delta_type = ""
        self.item_id: Ref = None
        self.index: Ref = None
        self.content: Ref = None
        self.summary: Ref = None

    def said(self) -> str:
        """All that was streamed."""
        said = "".join(self.pieces)
        self.pieces = [said]
        return said


class Item:
    """What is known of one item."""

    __slots__ = (
        "added",
        "arguments_over",
        "call_id",
        "doubt",
        "ended",
        "family",
        "held",
        "held_size",
        "item",
        "item_id",
        "key",
        "matched",
        "name",
        "number",
        "order",
        "over",
        "parts",
        "shown",
        "streamed",
    )

    def __init__(self, family: str, number: int, item_id: Ref, order: Ref, key: int | str) -> None:
        self.family = family
        self.number = number
        self.item_id = item_id
        self.order = order
        self.key = key
        self.item: dict[str, Any] = {}
        self.parts: dict[tuple[str, Ref], Part] = {}
        self.added = False
        self.over = False
        self.matched = False
        self.name = ""
        self.call_id = ""
        self.shown = ""
        self.streamed = False
        self.arguments_over = False
        self.doubt = False
        self.ended = False
        self.held: list[str] = []
        self.held_size = 0

    def data(self, *without: str, **more: Any) -> dict[str, Any]:
        """What must go back with it: the item itself, without what the part of the message holds."""
        kept = {name: value for name, value in self.item.items() if name not in without}
        return {"wire": WIRE, "index": self.number if self.order is None else self.order, "item": kept, **more}


class Items:
    """The items of one answer."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._known: dict[tuple[str, str, Ref], Item] = {}
        self._keys: set[int | str] = set()
        self._all: list[Item] = []
        self._size = 0

    def __iter__(self) -> Iterator[Item]:
        return iter(list(self._all))

    def known(self, family: str, item_id: Ref) -> Item | None:
        """The item of this id, if there is one."""
        return self._known.get((family, "id", item_id)) if item_id is not None else None

    def find(self, family: str, item_id: Ref, index: Ref) -> Item:
        """The item that a delta belongs to; a new one where none is known."""
        found = self.known(family, item_id)
        if found is None and index is not None:
            found = self._known.get((family, "index", index))
        return found or self._last(family, item_id, index) or self.make(family, item_id, index)

    def add(self, family: str, item_id: Ref, index: Ref) -> Item:
        """The item that `output_item.added` begins. One index may be used again by another item."""
        found = self.known(family, item_id)
        if found is None:
            found = self._known.get((family, "index", index)) if index is not None else None
            found = found or self._last(family, item_id, index)
            if found is not None and found.added:
                found = None
        return found or self.make(family, item_id, index)

    def end(self, family: str, item_id: Ref, index: Ref, call_id: str) -> Item:
        """The item that `output_item.done` ends: one that is open, or one that comes in this event alone."""
        found = self.known(family, item_id)
        if found is None and call_id:
            found = self._known.get((family, "call", call_id))
        if found is None:
            found = self._known.get((family, "index", index)) if index is not None else None
            found = found or self._last(family, item_id, index)
            if found is not None and (found.over or (call_id and found.call_id)):
                found = None
        return found or self.make(family, item_id, index)

    def _last(self, family: str, item_id: Ref, index: Ref) -> Item | None:
        """The last item of the family, for an event that has no reference in common with it."""
        last = self._known.get((family, "last", None))
        if last is None or (last.over and (item_id is not None or index is not None)):
            return None
        if (item_id is not None and last.item_id is not None) or (index is not None and last.order is not None):
            return None
        return last

    def called(self, item: Item, call_id: str) -> None:
        """Keeps under which id a call can be found."""
        item.call_id = call_id
        self._known.setdefault((item.family, "call", call_id), item)

    def _count(self) -> None:
        """One more item or part: each costs some hundred bytes."""
        self._size += 1
        if self._size > self._limits.segments:
            raise LimitExceeded("the number of items in one answer", self._limits.segments)

    def part(self, item: Item, kind: str, place: Ref) -> Part:
        """The part of this kind in this place; 0 where no place is given."""
        name = (kind, place or 0)
        part = item.parts.get(name)
        if part is None:
            self._count()
            part = item.parts[name] = Part(item, kind, place or 0, len(item.parts))
        return part

    def make(self, family: str, item_id: Ref, index: Ref) -> Item:
        """A new item, found by these references from now on."""
        self._count()
        key: int | str = index if type(index) is int else f"item {len(self._all)}"
        if key in self._keys:
            key = f"item {len(self._all)}"
        self._keys.add(key)
        made = Item(family, len(self._all), item_id, index, key)
        self._all.append(made)
        self._known[family, "last", None] = made
        if item_id is not None:
            self._known[family, "id", item_id] = made
        if index is not None:
            self._known[family, "index", index] = made
        return made


class FinalOutput:
    """Finds the items of the last event's `output` among those that were streamed, each once.

    Ids may be new in the last event, and items may be missing there, so that neither ids nor places can be relied on:
    by id or call id, then by place, then the first of its kind that has not been found yet.
    """

    def __init__(self, items: Items) -> None:
        self._by_id: dict[Any, Item] = {}
        self._by_place: dict[Any, Item] = {}
        self._waiting: dict[str, list[Item]] = {}
        for item in items:
            kind = item_kind(item)
            for name in ("id", "call_id"):
                value = item.item.get(name)
                if isinstance(value, str) and value:
                    self._by_id.setdefault((kind, name, value), item)
            self._by_place.setdefault((kind, item.order), item)
            self._waiting.setdefault(kind, []).append(item)
        for waiting in self._waiting.values():
            waiting.reverse()

    def find(self, sent: dict[str, Any], place: int) -> Item | None:
        """The streamed item that this is, or None when it comes here for the first time."""
        kind = words_of(sent.get("type"))
        found = None
        for name in ("id", "call_id"):
            value = sent.get(name)
            if isinstance(value, str):
                found = found or self._free(self._by_id.get((kind, name, value)), sent)
        found = found or self._free(self._by_place.get((kind, place)), sent)
        waiting = self._waiting.get(kind, [])
        while waiting and waiting[-1].matched:
            waiting.pop()
        if found is None and waiting:
            found = self._free(waiting[-1], sent)
        return found

    def _free(self, item: Item | None, sent: dict[str, Any]) -> Item | None:
        """The item, unless it was found before or is another call."""
        return None if item is None or item.matched or is_other_call(item, sent) else item


def is_other_call(item: Item, sent: dict[str, Any]) -> bool:
    """Whether what was sent is a call, and not this one."""
    call_id = sent.get("call_id")
    return bool(item.call_id) and isinstance(call_id, str) and bool(call_id) and call_id != item.call_id


def item_kind(item: Item) -> str:
    """The type of an item as sent."""
    return item.family if item.family in FAMILIES else words_of(item.item.get("type"))


def is_quiet(item: Item) -> bool:
    """Whether it goes back without being shown."""
    return item_kind(item) in _QUIET


def is_result(kind: str) -> bool:
    """Whether items of this type are what a tool on the provider's side gave."""
    return kind.endswith("_output")


def tool_name(sent: dict[str, Any], kind: str) -> str:
    """What a tool on the provider's side is called: its own name, or the type of the item."""
    name = sent.get("name")
    if isinstance(name, str) and name:
        return name
    return kind.removesuffix("_output").removesuffix("_call") or "tool"


def asked(sent: dict[str, Any], kind: str) -> str:
    """What the tool was asked, as text."""
    place = _OUTPUTS.get(kind, "output") if is_result(kind) else _ASKED.get(kind, "")
    value = sent.get(place)
    return shown(value) if value else ""


def given(sent: dict[str, Any], kind: str) -> str:
    """What the tool gave, as text, where the same item holds it."""
    value = sent.get(_GIVEN.get(kind, "")) or (sent.get("error") if kind in _GIVEN else None)
    return shown(value) if value else ""


def citation(sent: Any) -> Citation | None:
    """A source that the text names: a page by its address, a file by its name."""
    if not isinstance(sent, dict):
        return None
    words = [sent.get("url"), sent.get("title") or sent.get("filename") or sent.get("file_id")]
    url, title = (word if isinstance(word, str) else "" for word in words)
    return Citation(url, title) if url or title else None


def picture(item: Item) -> str:
    """The picture of an image generation as a `data:` URL; empty where there is none."""
    result, form = item.item.get("result"), item.item.get("output_format")
    if not isinstance(result, str) or not result:
        return ""
    if result.startswith(("http://", "https://", "data:")):
        return result
    return f"data:image/{form if isinstance(form, str) and form.isalnum() else 'png'};base64,{result}"


def words_of(value: Any) -> str:
    """A name or an id as text; what is neither text nor a number is nothing."""
    if isinstance(value, str):
        return value
    return str(value) if type(value) is int else ""


def family_of(sent: dict[str, Any]) -> str:
    """The family of an item as sent."""
    kind = sent.get("type")
    for family in (MESSAGE, REASONING, CALL, CUSTOM_CALL):
        if kind == family:
            return family
    return SERVER


def ref_of(value: Any) -> Ref:
    """What can name an item; anything else names none."""
    return value if isinstance(value, (str, int)) and value != "" else None
