"""Histories move: a conversation begun on one provider goes on at another.

Every provider holds a history to rules of its own, and an answer holds things that only its own provider can read.
`move_history` is what stands between: it leaves a history as it is where the target wrote it, and makes of any other
one that the target takes. What it does depends only on what stands before, so that the beginning of a conversation is
the same in every request, as the providers' caches want it.

- Calls get ids that the target takes, none twice; a result goes with the nearest earlier call of its id that waits.
- Every call is answered once, right after the answer that made it; results that did not stand there all together are
  put in the order of the calls.
- What only another provider can read stays behind: signatures, encrypted reasoning, ids of items, what its own tools
  did. Reasoning never becomes text, which the next model would imitate.
- Media that the target does not take become a mention. The message that the user has just sent is left as it is: the
  encoder says what is wrong with it. One that was refused so does not stand in the way of the next.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Any

import msgspec

from ..messages import MediaPart, Message, OpaquePart, Part, TextPart, ThinkingPart, ToolCallPart, ToolResultPart
from .dialects import ChatDialect
from .ids import CallIds
from .media import Place, media_rule, mention
from .wires import wire_format

FAMILIES = (
    frozenset(("anthropic", "bedrock-anthropic", "vertex-anthropic")),
    frozenset(("vertex", "vertex-express")),
)
"""Providers of one wire that read one another's signatures, because the same models stand behind them. Gemini's own
service and Vertex do not: each calls the other's signatures corrupted.
"""

OPENING = "(The beginning of this conversation is not shown.)"
"""What the user is taken to have said before an answer that nothing led to."""

NOT_RUN = "Error: not run, as far as is known: the conversation went on without a result of this call."

PLAIN_REASONING = ("openai-chat", "ollama")
"""Wires that have a member for reasoning in plain words; elsewhere it goes with a signature or not at all."""

_ALWAYS_MARKED = ("openai-responses", "anthropic", "bedrock", "cohere")
"""Wires whose own reasoning comes with data to go back with: what has none was written elsewhere."""

_PAIRED_BY_PLACE = ("gemini", "ollama")
"""Wires where calls may have no id, and results are known by their place."""

_ONE_BY_ONE = ("openai-chat", "ollama", "cohere")
"""Wires where results must follow the very message that holds their calls; elsewhere the encoders join answers."""

_USER_FIRST = ("anthropic", "gemini", "bedrock")
"""Wires that refuse a conversation which an answer begins, on some platform at least."""


def is_at_home(origin: str, provider: str) -> bool:
    """Whether the provider may have written an answer of this origin itself, as far as is known."""
    if not origin or not provider or origin == provider:
        return True
    return any(origin in family and provider in family for family in FAMILIES)


class Moved(msgspec.Struct):
    """A history as another provider takes it, and what was lost or changed on the way, in sentences."""

    messages: list[Message]
    notes: list[str] = []


def move_history(
    messages: Iterable[Message], *, wire: str, provider: str = "", dialect: ChatDialect | None = None
) -> Moved:
    """The history as this wire (and provider, where it is known) takes it. Nothing given is changed.

    `dialect` is how the provider departs from its wire: which call ids it takes, and whether it reads other models'
    reasoning. A history that the target itself wrote comes back as it was, without notes. Parts in the wrong message
    are left for the encoder to refuse.
    """
    losses = _Losses()
    ids, in_words = wire_format(wire).ids, wire in PLAIN_REASONING
    if dialect is not None:
        ids, in_words = dialect.ids, dialect.reads_foreign_reasoning
    carried = _Carrier(wire, provider, losses, in_words=in_words).carry(list(messages))
    paired = _Pairing(CallIds(ids), losses, wire, provider).pair(carried)
    if wire in _USER_FIRST:
        _open(paired, losses)
    return Moved(paired, losses.notes())


class _Losses:
    """What was lost or changed, for the notes."""

    def __init__(self) -> None:
        self.reasoning = 0
        self.plain_reasoning = 0
        self.server_tools: dict[str, None] = {}
        self.media: list[str] = []
        self.not_run: list[str] = []
        self.stray = 0
        self.opened = False

    def notes(self) -> list[str]:
        told = []
        if self.reasoning:
            told.append(f"{_counted(self.reasoning, 'part')} of reasoning left out: only who wrote it can read it")
        if self.plain_reasoning:
            told.append(f"{_counted(self.plain_reasoning, 'part')} of another model's reasoning kept as words alone")
        if self.server_tools:
            told.append(f"left out what another provider's own tools did: {', '.join(self.server_tools)}")
        if self.media:
            told.append(f"media that this provider does not take there, mentioned in words: {' '.join(self.media)}")
        if self.not_run:
            told.append(f"answered as not run, since no result was there: {', '.join(self.not_run)}")
        if self.stray:
            told.append(f"{_counted(self.stray, 'result')} left out, for which no call waits")
        if self.opened:
            told.append("a word of the user was put before the first answer, which this provider asks for")
        return told


def _counted(count: int, thing: str) -> str:
    return f"{count} {thing}" if count == 1 else f"{count} {thing}s"


class _Carrier:
    """Leaves behind what the target cannot read or take."""

    def __init__(self, wire: str, provider: str, losses: _Losses, *, in_words: bool) -> None:
        self._in_words = in_words
        self._wire = wire
        self._provider = provider
        self._media = media_rule(wire, provider)
        self._losses = losses

    def carry(self, messages: list[Message]) -> list[Message]:
        said = [number for number, message in enumerate(messages) if message.role in ("assistant", "user")]
        last = said[-1] if said else -1
        carried = []
        for number, message in enumerate(messages):
            if message.role == "assistant":
                left = self._answer(message)
                if _is_empty(left) and not (left is message and self._is_at_home(message.origin)):
                    continue
                message = left
            elif message.role == "tool":
                message = _with_parts(message, [self._result(part) for part in message.parts])
            elif message.role == "user" and number < last:
                message = _with_parts(message, [self._shown(part, "user") for part in message.parts])
            carried.append(message)
        return carried

    def _answer(self, message: Message) -> Message:
        at_home = self._is_at_home(message.origin)
        parts: list[Part] = []
        for part in message.parts:
            if isinstance(part, ToolResultPart):
                parts.append(part)
                continue
            kept = self._kept(part.provider_data, at_home)
            foreign = not at_home or kept is not part.provider_data
            if isinstance(part, OpaquePart):
                if foreign:
                    self._losses.server_tools[part.name or "(unnamed)"] = None
                else:
                    parts.append(part)
            elif isinstance(part, ThinkingPart) and (foreign or self._is_unmarked(part, message)):
                parts += self._reasoning(part)
            elif isinstance(part, MediaPart) and foreign and (part.provider_data or {}).get("thought"):
                self._losses.reasoning += 1
            else:
                if part.provider_data is not kept:
                    part = msgspec.structs.replace(part, provider_data=None)
                if isinstance(part, MediaPart) and kept is None:
                    parts.append(self._shown(part, "answer"))
                elif not (foreign and isinstance(part, TextPart) and not part.text):
                    parts.append(part)
        message = _with_parts(message, parts)
        blocks = [block for block in message.provider_data if self._kept(block, at_home)]
        if len(blocks) < len(message.provider_data):
            message = msgspec.structs.replace(message, provider_data=blocks)
        return message

    def _is_at_home(self, origin: str) -> bool:
        return is_at_home(origin, self._provider)

    def _kept(self, data: dict[str, Any] | None, at_home: bool) -> dict[str, Any] | None:
        return data if at_home and data is not None and data.get("wire") == self._wire else None

    def _is_unmarked(self, part: ThinkingPart, message: Message) -> bool:
        """Whether nothing says who wrote this reasoning, and the target's own would say it."""
        return part.provider_data is None and not message.origin and self._wire in _ALWAYS_MARKED

    def _reasoning(self, part: ThinkingPart) -> list[Part]:
        if part.text and self._in_words:
            self._losses.plain_reasoning += 1
            return [ThinkingPart(part.text)]
        self._losses.reasoning += 1
        return []

    def _result(self, part: Part) -> Part:
        if not isinstance(part, ToolResultPart) or isinstance(part.content, str):
            return part
        content = [item if isinstance(item, TextPart) else self._shown(item, "result") for item in part.content]
        if all(new is old for new, old in zip(content, part.content, strict=True)):
            return part
        return msgspec.structs.replace(part, content=content)

    def _shown(self, part: Any, place: Place) -> Any:
        """Media that the target takes there, and all that is no media, as it is; else the mention of it."""
        if not isinstance(part, MediaPart) or self._media.takes(part, place):
            return part
        words = mention(part)
        self._losses.media.append(words)
        return TextPart(words)


def _with_parts(message: Message, parts: list[Part]) -> Message:
    """The message with these parts; itself where they are its own."""
    own = message.content
    if isinstance(own, str):
        same = parts == message.parts
    else:
        same = len(parts) == len(own) and all(new is old for new, old in zip(parts, own, strict=True))
    return message if same else msgspec.structs.replace(message, content=parts)


def _is_empty(message: Message) -> bool:
    """Whether an answer holds nothing, which several providers refuse."""
    return not message.provider_data and all(
        isinstance(part, TextPart) and not part.text and part.provider_data is None for part in message.parts
    )


def _open(messages: list[Message], losses: _Losses) -> None:
    for number, message in enumerate(messages):
        if message.role == "assistant":
            messages.insert(number, Message("user", OPENING))
            losses.opened = True
        if message.role == "assistant" or (message.role == "user" and _says_something(message)):
            return


def _says_something(message: Message) -> bool:
    return any(not isinstance(part, TextPart) or part.text.strip() for part in message.parts)


class _Turn:
    """The calls of an answer, and the results that have come for them: by call, and as they came right after it."""

    def __init__(self) -> None:
        self.calls: list[ToolCallPart] = []
        self.results: list[ToolResultPart | None] = []
        self.direct: list[Part] = []
        self.open = True
        """Nothing but answers has come since: a further one belongs to it."""
        self.joined: Message | None = None


class _Pairing:
    """Gives every call an id of its own and exactly one result, right after the answer that made it.

    Answers in a row are one: the results stand after the last of them, and where a wire's encoder writes each answer
    by itself, they are joined.
    """

    def __init__(self, ids: CallIds, losses: _Losses, wire: str, provider: str) -> None:
        self._ids = ids
        self._losses = losses
        self._by_place = wire in _PAIRED_BY_PLACE
        self._joining = wire in _ONE_BY_ONE
        self._provider = provider
        self._placed: list[Message | _Turn] = []
        self._waiting: dict[tuple[str, str], list[tuple[_Turn, deque[int]]]] = {}

    def pair(self, messages: list[Message]) -> list[Message]:
        placed = self._placed
        for message in messages:
            last = placed[-1] if placed and isinstance(placed[-1], _Turn) else None
            if message.role == "assistant":
                self._answer(message, last)
            elif message.role == "tool":
                rest = [part for part in message.parts if not self._take(part, last)]
                if rest:
                    placed.append(_with_parts(message, rest))
            else:
                placed.append(message)
            if last is not None and message.role != "assistant":
                last.open = False
        return [self._answered(item) if isinstance(item, _Turn) else item for item in placed]

    def _answer(self, message: Message, last: _Turn | None) -> None:
        turn = last if last is not None and last.open else None
        calls = message.tool_calls
        if turn is not None:
            self._placed.pop()
        elif calls:
            turn = _Turn()
        if calls and turn is not None:
            message = self._with_calls(message, calls, turn)
        if turn is None:
            self._placed.append(message)
        elif turn is last and self._joining:
            self._join(turn, message)
            self._placed.append(turn)
        else:
            self._placed += (message, turn)

    def _join(self, turn: _Turn, message: Message) -> None:
        """Puts the answer to the one before it, which made calls."""
        if turn.joined is None:
            first = self._placed[-1]
            assert isinstance(first, Message)
            turn.joined = Message("assistant", list(first.parts), list(first.provider_data), first.origin)
            self._placed[-1] = turn.joined
        turn.joined.parts.extend(message.parts)
        turn.joined.provider_data.extend(message.provider_data)
        if message.origin != turn.joined.origin:
            turn.joined.origin = self._provider  # no part of it is more than the target can read

    def _with_calls(self, message: Message, calls: list[ToolCallPart], turn: _Turn) -> Message:
        named = [self._named(call) for call in calls]
        for number, call in enumerate(calls, len(turn.calls)):
            waiting = self._waiting.setdefault(_key(call), [])
            if not waiting or waiting[-1][0] is not turn:
                waiting.append((turn, deque()))
            waiting[-1][1].append(number)
        turn.calls += named
        turn.results += [None] * len(named)
        renamed = iter(named)
        return _with_parts(
            message, [next(renamed) if isinstance(part, ToolCallPart) else part for part in message.parts]
        )

    def _named(self, call: ToolCallPart) -> ToolCallPart:
        call_id = self._ids.unused(call.id)
        if call_id == call.id:
            return call
        data = call.provider_data
        # A server that has kept the answer knows the call by the id that it gave.
        data = None if data is None else {**data, "call_id": call.id}
        return msgspec.structs.replace(call, id=call_id, provider_data=data)

    def _take(self, part: Part, last: _Turn | None) -> bool:
        """Puts a result to its call; False for what is no result."""
        if not isinstance(part, ToolResultPart):
            return False
        waiting = self._waiting.get(_key(part))
        if not waiting:
            self._losses.stray += 1
            return True
        turn, numbers = waiting[-1]
        number = numbers.popleft()
        if not numbers:
            waiting.pop()
        call = turn.calls[number]
        if part.id != call.id or part.name != call.name:
            part = msgspec.structs.replace(part, id=call.id, name=call.name)
        turn.results[number] = part
        if turn is last:
            turn.direct.append(part)
        return True

    def _answered(self, turn: _Turn) -> Message:
        if len(turn.direct) == len(turn.calls) and not self._by_place:
            return Message("tool", turn.direct)
        results: list[Part] = []
        for call, result in zip(turn.calls, turn.results, strict=True):
            if result is None:
                self._losses.not_run.append(call.name)
                result = ToolResultPart(call.id, call.name, NOT_RUN, is_error=True)
            results.append(result)
        return Message("tool", results)


def _key(part: ToolCallPart | ToolResultPart) -> tuple[str, str]:
    """What ties a result to its call: the id, and where there is none the name."""
    return (part.id, "") if part.id else ("", part.name)
