"""`ToolCallTracker`: from a provider's way of naming a call to one canonical call.

Providers name the call that a delta belongs to by an index, an id, an item id, a block index, or not at all; they
repeat ids and names on every delta, send names in pieces, reuse an index for a second call. The tracker turns each
such delta into a `ToolCallDelta` whose `index` is canonical, and refuses nonsense with a `ProtocolError`.

An index is a key, never a list position: whatever number comes, memory stays constant.
"""

from __future__ import annotations

from typing import Any

from ..chunks import StopReason, ToolCallDelta
from ..errors import LimitExceeded, ProtocolError
from ..limits import DEFAULT_LIMITS, Limits
from .nesting import Nesting

Key = int | str
"""What a provider names a call by, apart from its id: an index, a block index, an item id."""


def settled_stop(reason: StopReason, *, has_calls: bool) -> StopReason:
    """What a stop reason means beside the calls that were made: providers say `stop` after calls, and the reverse."""
    if has_calls and reason is StopReason.STOP:
        return StopReason.TOOL_CALLS
    if reason is StopReason.TOOL_CALLS and not has_calls:
        return StopReason.STOP
    return reason


class _Call:
    """What the tracker knows of one call."""

    __slots__ = ("call_id", "done", "index", "name", "name_closed", "nesting", "size", "unread")

    def __init__(self, index: int) -> None:
        self.index = index
        self.call_id = ""
        self.name = ""
        self.name_closed = False
        self.size = 0
        self.done = False
        self.unread: list[str] = []
        self.nesting = Nesting()

    def arguments_closed(self) -> bool:
        """Whether the arguments so far are one closed JSON value.

        Asked only where a provider leaves it open whether a name begins a new call; reads each piece once, so the
        cost stays linear however often it is asked.
        """
        for piece in self.unread:
            self.nesting.read(piece)
        self.unread.clear()
        return self.nesting.closed or self.done

    def end(self) -> ToolCallDelta:
        """No more of it comes, whatever its arguments are: they need not be looked at again."""
        self.done = True
        self.unread.clear()
        return ToolCallDelta(self.index, done=True)


class ToolCallTracker:
    """The calls of one answer. Feed every provider delta to `delta`; `finish` ends all that are still open."""

    def __init__(self, limits: Limits = DEFAULT_LIMITS, *, provider: str = "") -> None:
        self._limits = limits
        self._longest = limits.arguments
        self._provider = provider
        self._calls: list[_Call] = []
        self._taken: set[int] = set()
        self._next_free = 0
        self._by_key: dict[Key, _Call] = {}
        self._by_id: dict[str, _Call] = {}
        self._by_key_and_id: dict[tuple[Key, str], _Call] = {}

    def __len__(self) -> int:
        return len(self._calls)

    def delta(
        self,
        key: Key | None,
        call_id: str | None,
        name: str | None,
        arguments: str,
        provider_data: dict[str, Any] | None = None,
    ) -> ToolCallDelta | None:
        """The canonical form of one provider delta, or None when it says nothing at all.

        `key` is what the provider sent to name the call (None if it sent nothing); `name` may be whole, repeated or
        a piece; the result's `name` holds only what is new.
        """
        call = self._find(key, call_id, name, arguments)
        if call is None:
            if not (call_id or name or arguments):
                return None
            if key is None and not call_id and not name:
                raise self._nonsense("a piece of a tool call came before any call", key)
            call = self._open(key, call_id)
        if call.done and (arguments or name):
            raise self._nonsense("a piece of a tool call came after its end", key)
        fresh_id = self._take_id(call, key, call_id)
        fresh_name = self._take_name(call, key, name)
        if arguments:
            self._take_arguments(call, arguments)
        return ToolCallDelta(call.index, fresh_id, fresh_name, arguments, False, provider_data)

    def more(self, key: Key, arguments: str) -> ToolCallDelta | None:
        """As `delta`, for one that holds nothing but more arguments; None unless `key` names an open call."""
        call = self._by_key.get(key)
        if call is None or call.done:
            return None
        size = call.size + len(arguments)
        if size > self._longest or not call.name_closed:
            return self.delta(key, None, None, arguments)
        call.size = size
        call.unread.append(arguments)
        return ToolCallDelta(call.index, None, None, arguments)

    def room(self, key: Key) -> int:
        """How many more characters of arguments the call that `key` names may get; -1 when it is not open."""
        call = self._by_key.get(key)
        return -1 if call is None or call.done else self._longest - call.size

    def done(self, key: Key) -> ToolCallDelta | None:
        """The end of the call that `key` names, for providers that say so; None when there is no such call."""
        call = self._by_key.get(key)
        if call is None or call.done:
            return None
        return call.end()

    def finish(self) -> list[ToolCallDelta]:
        """Ends every call that is still open, in canonical order: the answer has reached its proper end."""
        return [call.end() for call in sorted(self._calls, key=lambda call: call.index) if not call.done]

    def _find(self, key: Key | None, call_id: str | None, name: str | None, arguments: str) -> _Call | None:
        """The call this delta continues, or None if it begins a new one."""
        if key is None:
            if call_id:
                known = self._by_id.get(call_id)
                if known is not None:
                    return known
            last = self._calls[-1] if self._calls else None
            if last is None or (call_id and (name or last.call_id)):
                return None
            if name and last.name and not (name == last.name and last.size and not last.arguments_closed()):
                return None
            return last
        current = self._by_key.get(key)
        if current is None:
            return None
        if call_id and current.call_id and call_id != current.call_id:
            return self._by_key_and_id.get((key, call_id))
        if name and current.name and not (call_id and call_id == current.call_id) and current.size:
            begins_anew = name != current.name or bool(arguments)
            if begins_anew and current.arguments_closed():
                return None
        return current

    def _open(self, key: Key | None, call_id: str | None) -> _Call:
        if len(self._calls) >= self._limits.calls:
            raise LimitExceeded("the number of calls in one answer", self._limits.calls)
        wanted = key if isinstance(key, int) and key not in self._taken else self._next_free
        call = _Call(wanted)
        self._taken.add(wanted)
        self._next_free = max(self._next_free, wanted + 1)
        self._calls.append(call)
        if key is not None:
            self._by_key[key] = call
        return call

    def _take_arguments(self, call: _Call, arguments: str) -> None:
        call.size += len(arguments)
        if call.size > self._longest:
            raise LimitExceeded("the arguments of one call", self._longest, tool=call.name or None)
        call.unread.append(arguments)
        call.name_closed = bool(call.name)

    def _take_id(self, call: _Call, key: Key | None, call_id: str | None) -> str | None:
        if not call_id or call_id == call.call_id:
            return None
        if len(call_id) > self._limits.call_id:
            raise LimitExceeded("a call id", self._limits.call_id)
        call.call_id = call_id
        self._by_id.setdefault(call_id, call)
        if key is not None:
            self._by_key_and_id[key, call_id] = call
        return call_id

    def _take_name(self, call: _Call, key: Key | None, name: str | None) -> str | None:
        """What `name` adds to the call's name: all, a piece, or nothing when it is repeated."""
        if not name or name == call.name:
            return None
        if call.name_closed:
            raise self._nonsense(f"the name of a call changed from {call.name[:64]!r} to {name[:64]!r}", key)
        added = name[len(call.name) :] if name.startswith(call.name) else name
        if len(call.name) + len(added) > self._limits.name:
            raise LimitExceeded("a tool name", self._limits.name)
        call.name += added
        return added

    def _nonsense(self, message: str, key: Key | None) -> ProtocolError:
        return ProtocolError(
            message,
            hint="Nothing of this answer was run. Check that no proxy changes the stream; if not, report it.",
            provider=self._provider or None,
            key=key,
        )
