"""What of a message can stay in the history, where not all of it can: what every provider takes back.

An answer may break off anywhere: the connection was cut, the person interrupted. Its words stay, so that the next
answer can go on from them; of its calls, each that has a name stays and gets a result that says why it was not run.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from ..messages import (
    MediaPart,
    Message,
    OpaquePart,
    Part,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolResultPart,
    tool_results,
    user,
)
from ..providers.media import mention
from ..providers.moving import PLAIN_REASONING, is_at_home

_STORED_BY_ANSWER = frozenset({"openai-responses"})
"""Wires where what goes back with a part names something that the server keeps of a finished answer alone."""


def broken_answer(answer: Message, wire: str) -> Message:
    """The answer as far as it may stay: without parts where nothing of it may."""
    keeps_data = wire not in _STORED_BY_ANSWER
    parts: list[Part] = []
    for part in answer.parts:
        if isinstance(part, (OpaquePart, ToolResultPart)):
            continue  # the provider's own tool: half of what it did is refused
        if isinstance(part, ThinkingPart) and not (
            keeps_data and (part.provider_data is not None or wire in PLAIN_REASONING)
        ):
            continue
        if isinstance(part, TextPart) and not part.text:
            continue
        if not keeps_data and part.provider_data is not None:
            part = msgspec.structs.replace(part, provider_data=None)
        parts.append(part)
    if not any(isinstance(part, (TextPart, ToolCallPart)) for part in parts):
        return Message("assistant", [], origin=answer.origin)
    return Message("assistant", parts, list(answer.provider_data) if keeps_data else [], answer.origin)


def all_refused(calls: Iterable[ToolCallPart], why: str) -> Message:
    """A result for each call: it was not run, and why."""
    return tool_results(ToolResultPart(call.id, call.name, f"Error: not run: {why}", is_error=True) for call in calls)


def as_message(prompt: str | Message | Sequence[Part]) -> Message:
    """The person's message."""
    if isinstance(prompt, str):
        return user(prompt)
    return prompt if isinstance(prompt, Message) else Message("user", list(prompt))


ELSEWHERE = "elsewhere"
"""The origin of an answer that no provider is to take for its own."""


def as_foreign(messages: Iterable[Message], provider: str, wire: str) -> list[Message] | None:
    """The conversation as if another had written the answers of this provider, which refuses what it gave to go back
    with them (signatures, encrypted reasoning, ids of items): then it is left out. None where there is nothing of it.
    """
    made: list[Message] = []
    changed = False
    for message in messages:
        if message.role == "assistant" and is_at_home(message.origin, provider):
            data = [*message.provider_data, *(getattr(part, "provider_data", None) or {} for part in message.parts)]
            changed = changed or any(each.get("wire") == wire for each in data)
            message = msgspec.structs.replace(message, origin=ELSEWHERE)
        made.append(message)
    return made if changed else None


REFUSED_MEDIA = frozenset({400, 413, 415, 422})
"""HTTP statuses with which services refuse a picture that is broken, too large or of a kind that they do not know."""


def has_media(message: Message) -> bool:
    """Whether there is a picture, a sound, a film or a file in it, or in a result that it holds."""
    return any(isinstance(part, MediaPart) or _is_result_with_media(part) for part in message.parts)


def without_unread_media(messages: Sequence[Message]) -> list[Message] | None:
    """The conversation with a mention in the place of all media that no answer has followed yet; None where there are
    none: results, and whatever was said after them.
    """
    read = next((at for at in range(len(messages), 0, -1) if messages[at - 1].role == "assistant"), 0)
    if not any(map(has_media, messages[read:])):
        return None
    return [*messages[:read], *(without_media(each) if has_media(each) else each for each in messages[read:])]


def without_media(message: Message) -> Message:
    """The message with a mention in the place of each."""
    return msgspec.structs.replace(message, content=[_mentioned(part) for part in message.parts])


def _is_result_with_media(part: Part) -> bool:
    if not isinstance(part, ToolResultPart) or isinstance(part.content, str):
        return False
    return any(isinstance(each, MediaPart) for each in part.content)


def _mentioned(part: Part) -> Part:
    if isinstance(part, MediaPart):
        return TextPart(mention(part))
    if not isinstance(part, ToolResultPart) or isinstance(part.content, str):
        return part
    words = [mention(each) if isinstance(each, MediaPart) else each.text for each in part.content]
    return msgspec.structs.replace(part, content="\n".join(words))
