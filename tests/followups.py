"""What Toolwire would have sent beside what a recording client sent, and the named rules under which both are equal.

A rule is a difference that no provider minds. It is applied to both sides, it is as narrow as it can be, and the tests
fail when no recording needs it any more.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

import toolwire
from corpus import body, followup, rows, story
from feeding import read, whole
from harmless import Rule
from recorded_requests import CLIENTS, Json, Recorded, Unread
from toolwire.messages import Message, ToolCallPart, ToolResultPart, user
from toolwire.providers import dialects
from toolwire.providers.ids import ANY_ID

KNOWN_DIFFERENT: dict[str, dict[str, str]] = msgspec.json.decode(
    (Path(__file__).parent / "data" / "followup_differences.json").read_bytes()
)
"""The recorded requests that are not ours, with the reason, after we understood each."""


class Pair(msgspec.Struct):
    """One recorded request and ours."""

    wire: str
    case: str
    theirs: Json
    ours: Json

    def verdict(self, rules: Iterable[Rule]) -> str:
        """`equal` without any rule, `ruled` with them, or `different`."""
        if canonical(self.theirs) == canonical(self.ours):
            return "equal"
        return "ruled" if self.agrees(rules) else "different"

    def agrees(self, rules: Iterable[Rule]) -> bool:
        return canonical(self.made_alike(self.theirs, rules)) == canonical(self.made_alike(self.ours, rules))

    def made_alike(self, side: Json, rules: Iterable[Rule]) -> Json:
        side = copy.deepcopy(side)
        for rule in rules:
            if self.wire in rule.wires:
                rule.apply(side)
        return side


def canonical(value: Any) -> bytes:
    """JSON with sorted members: field order is the one difference that needs no rule."""
    return msgspec.json.encode(value, order="sorted")


class Conversation(msgspec.Struct):
    """A recorded answer and what its client sent next."""

    wire: str
    row: Json
    request: Json
    followup: Json
    followup_case: str
    answer: Message
    tail: list[Json]
    """The end of the next request: the answer as the client wrote it, the results, and what else it added."""
    added: list[Message]
    """That tail after the answer, for the calls as they are in ours."""


def conversations(wire: str) -> Iterator[Conversation]:
    """Every recorded answer whose client's next request was recorded too."""
    client = CLIENTS[wire]
    for row in rows(client.shape, core=False):
        try:
            requests = followup(row)
        except FileNotFoundError:
            continue  # the next request exists, but is not among these recordings
        if requests is None:
            continue
        before, after = (request[client.items] for request in requests)
        answer = read(whole(body(row)), wire)[0].message
        tail = after[_tail_start(before, after, answer) :]
        added = client.read_items(tail)
        said = []
        while added and added[0].role == "assistant":
            said += added.pop(0).tool_calls
        yield Conversation(
            wire,
            row,
            *requests,
            story(row)["chain"]["followup"]["case"],
            answer,
            tail,
            [_answering(message, said, answer.tool_calls) for message in added],
        )


def followup_pair(told: Conversation, conversation: list[Message]) -> Pair:
    """The tail of the recorded next request, and what Toolwire writes for this conversation in its place."""
    items = CLIENTS[told.wire].items
    ours = toolwire.encode_request(
        wire=told.wire,
        model=told.row["model"] or "",
        messages=[user("What led to the answer."), *conversation],
        **options(told.wire, told.row, told.tail),
    )
    return Pair(told.wire, told.row["case"], {items: told.tail}, {items: ours[items][1:]})


def _tail_start(before: Any, after: list[Json], answer: Message) -> int:
    """Where the answer begins: after what the first request held, or, where a client wrote that anew, at its calls."""
    length = 1 if isinstance(before, str) else len(before)
    if isinstance(before, str) or _unmarked(before) == _unmarked(after[:length]):
        return length
    ids = {call.id for call in answer.tool_calls}
    for at, item in enumerate(after):
        calls = [call["id"] for call in item.get("tool_calls") or ()] or [item.get("call_id")]
        if ids.intersection(calls):
            return at
    raise AssertionError("the follow-up does not hold the answer")


def _unmarked(value: Any) -> Any:
    """Without the marks for the cache, which move to the end of the conversation with each request."""
    if isinstance(value, list):
        return [_unmarked(item) for item in value]
    if isinstance(value, dict):
        return {name: _unmarked(item) for name, item in value.items() if name != "cache_control"}
    return value


def _answering(message: Message, said: list[ToolCallPart], ours: list[ToolCallPart]) -> Message:
    """A recorded message of results, under our ids: a client makes its own where the provider has none."""
    if message.role != "tool":
        return message
    known = {theirs.id: own for theirs, own in zip(said, ours, strict=False)}
    parts = []
    for part in message.parts:
        assert isinstance(part, ToolResultPart)
        call = known.get(part.id)
        parts.append(part if call is None else ToolResultPart(call.id, call.name, part.content, part.is_error))
    return Message("tool", [*parts])


DIALECTS = {
    "openrouter-chat": dialects.OPENROUTER,
    "deepseek-chat": dialects.DEEPSEEK,
    "mistral-chat": dialects.MISTRAL,
    "groq-chat": dialects.GROQ,
    "databricks-chat": dialects.DATABRICKS,
    "huggingface-chat": dialects.HUGGINGFACE,
    "llamacpp-chat": dialects.LLAMACPP,
    "perplexity-chat": dialects.PERPLEXITY,
    "together-chat": dialects.TOGETHER,
    "xai-chat": dialects.XAI,
    "zai-chat": dialects.ZAI,
}
"""The recorded services that have a dialect, by the index's word; the others are spoken to as OpenAI is."""


def options(wire: str, row: Json, items: Any) -> Json:
    """What a person would set for this client's service; where the client sends no reasoning back, neither do we."""
    if wire != "openai-chat":
        return {}
    dialect = DIALECTS.get(row["api"], dialects.OPENAI)
    if not any("reasoning" in name for item in items for name in item):
        dialect = msgspec.structs.replace(dialect, reasoning_field=None)
    if row["origin"] == "recorded-scrubbed":
        dialect = msgspec.structs.replace(dialect, ids=ANY_ID)  # what stands in the place of ids is not the service's
    return {"dialect": dialect}


def request_pairs(wire: str) -> Iterator[Pair | Unread]:
    """Every recorded request, theirs and what Toolwire writes for the same conversation, tools and choice."""
    client = CLIENTS[wire]
    for row in rows(client.shape, core=False):
        request = story(row).get("request")
        if not isinstance(request, dict) or client.items not in request:
            continue
        try:
            recorded: Recorded = client.read(request)
        except Unread as reason:
            yield Unread(f"{row['case']}: {reason}")
            continue
        ours = toolwire.encode_request(
            wire=wire,
            model=row["model"] or "",
            messages=recorded.messages,
            tools=recorded.tools,
            tool_choice=recorded.tool_choice,
            **options(wire, row, request[client.items]),
        )
        theirs, made = ({name: side[name] for name in client.face if name in side} for side in (request, ours))
        yield Pair(wire, row["case"], theirs, made)
