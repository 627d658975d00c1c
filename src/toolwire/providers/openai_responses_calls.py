"""The calls of a Responses answer: named once, arguments piece by piece, ended only when they were clearly said.

A function's arguments are JSON as the model writes it. A custom tool takes free text, which becomes the one argument
`input`, so that a call is a call whichever kind of tool it is for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from ..chunks import ChunkResponse, ToolCallDelta
from ..errors import LimitExceeded, ProtocolError
from ..limits import Limits
from .decoder import shown
from .openai_responses_events import ARGUMENTS, Event
from .openai_responses_items import CUSTOM_CALL, Item, Items, Part, words_of
from .tracker import ToolCallTracker


class Calls:
    """The calls among the items of one answer."""

    def __init__(
        self,
        items: Items,
        limits: Limits,
        provider: str,
        *,
        count: Callable[[str], None],
        fault: Callable[[str], ProtocolError],
    ) -> None:
        self._items = items
        self._limits = limits
        self._count = count
        self._fault = fault
        self._tracker = ToolCallTracker(limits, provider=provider)

    def __len__(self) -> int:
        return len(self._tracker)

    def name(self, item: Item, sent: dict[str, Any], made: list[ChunkResponse]) -> None:
        """Name and id of a call, each of which is said once; another one later leaves the call in doubt."""
        name, call_id = words_of(sent.get("name")), words_of(sent.get("call_id"))
        if (item.name and name and name != item.name) or (item.call_id and call_id and call_id != item.call_id):
            self._doubt(item)
            return
        fresh_name = name if not item.name else ""
        fresh_id = call_id if not item.call_id else ""
        if fresh_id:
            self._items.called(item, fresh_id)
        if fresh_name or fresh_id:
            self._piece(self._tracker.delta(item.key, fresh_id or None, fresh_name or None, ""), made)
        if fresh_name:
            item.name = name
            self.release(item, made)

    def release(self, item: Item, made: list[ChunkResponse]) -> None:
        """Arguments that came before the name of their call."""
        if item.held:
            text, item.held, item.held_size = "".join(item.held), [], 0
            self._piece(self._tracker.delta(item.key, None, None, text), made)

    def argue(self, item: Item, part: Part, text: str, made: list[ChunkResponse]) -> None:
        """More arguments of a call; free text becomes the one argument `input`, escaped as it comes."""
        opening = "" if part.pieces else '{"input":"'
        part.pieces.append(text)
        part.size += len(text)
        if item.family is CUSTOM_CALL:
            text = opening + msgspec.json.encode(text).decode()[1:-1]
        if item.name:
            known = self._tracker.more(item.key, text) or self._tracker.delta(item.key, None, None, text)
            self._piece(known, made)
            return
        item.held.append(text)
        item.held_size += len(text)
        if item.held_size > self._limits.arguments:
            raise LimitExceeded("the arguments of one call", self._limits.arguments)

    def arguments_done(self, item: Item, event: Event, made: list[ChunkResponse]) -> None:
        """The provider says that the arguments are whole; whether the call is, its item says."""
        if not item.name and event.name:
            self.name(item, {"name": event.name}, made)
        self.settle(item, event.input if item.family is CUSTOM_CALL else event.arguments, made)
        item.arguments_over = True

    def settle(self, item: Item, final: Any, made: list[ChunkResponse]) -> None:
        """All the arguments of a call: says what was not said yet; anything else than that leaves it in doubt."""
        if final is None or final == "" or item.doubt:
            return
        if not isinstance(final, str):
            final = shown(final)
        part = self._items.part(item, ARGUMENTS, None)
        said = part.said() if part.pieces else ""
        if final == said:
            part.pieces = [final]  # which the item holds too: a long text once in memory
            return
        if final.startswith(said) and not item.arguments_over:
            self.argue(item, part, final[len(said) :], made)
        elif item.family is CUSTOM_CALL or not _same_json(final, said):
            self._doubt(item)

    def _doubt(self, item: Item) -> None:
        """A call that the provider gives in two ways: unfinished, or if it has ended, a fault of the answer."""
        item.doubt = True
        if item.ended:
            raise self._fault(f"the call {item.call_id[:64]!r} ended, and then it was another one")
        self._count("final-call-differs")

    def end(self, item: Item, made: list[ChunkResponse]) -> None:
        """The end of a call that was clearly said; one in doubt stays unfinished."""
        if item.doubt:
            return
        part = self._items.part(item, ARGUMENTS, None)
        if not part.pieces:
            self.settle(item, item.item.get("input" if item.family is CUSTOM_CALL else "arguments"), made)
        if not item.call_id:
            self.name(item, {"call_id": item.item.get("id")}, made)
        self.release(item, made)
        if item.family is CUSTOM_CALL:
            closing = '"}' if part.pieces else '{"input":""}'
            self._piece(self._tracker.delta(item.key, None, None, closing), made)
        end = self._tracker.done(item.key)
        if end is not None:
            item.ended = True
            end.provider_data = item.data("arguments", "input", "name", "call_id")
            self._piece(end, made)

    def _piece(self, piece: ToolCallDelta | None, made: list[ChunkResponse]) -> None:
        if piece is not None:
            made.append(ChunkResponse("", "", (piece,)))


def _same_json(one: str, other: str) -> bool:
    """Whether two texts are the same JSON value, written differently."""
    try:
        return bool(msgspec.json.decode(one) == msgspec.json.decode(other))
    except (msgspec.MsgspecError, RecursionError):
        return False
