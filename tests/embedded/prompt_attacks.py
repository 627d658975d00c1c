"""Content that tries to put a control mark into a prompt: whole, in halves that join, nested, in every place."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from toolwire import render_prompt
from toolwire.embedded.format import Format
from toolwire.embedded.registry import format_names, text_format
from toolwire.messages import Message, TextPart, ThinkingPart, ToolCallPart, ToolResultPart, Written, tool_results

LAYOUTS = [name for name in format_names() if text_format(name).chat is not None]

EVERYWHERE = (
    *("<s>", "</s>", "[INST]", "[/INST]", "<<SYS>>", "<</SYS>>", "<think>", "</think>"),
    *("<|im_start|>", "<|im_end|>", "<|endoftext|>", "<|eot_id|>", "<|start_header_id|>", "<|ifm|im_end|>"),
    *("<｜end▁of▁sentence｜>", "<｜User｜>", "<|fim_prefix|>", "<|reserved_special_token_7|>"),
)
"""Marks that tokenizers know whose models are prompted in another family's layout."""

_MARK_LIKE = re.compile(r"(?=(</?[^<>\s/][^<>\s]{0,40}>|<[|｜][^<>]{1,40}[|｜]>|\[/?[A-Za-z_]+\]))")
"""What looks like a mark in a layout, whatever the format says of itself."""

Assign = Callable[[int], str]
PLACES = 32


class Attack(msgspec.Struct):
    """The attacks put into the places, in turn; with `place`, into that one alone."""

    mark: str
    words: tuple[str, ...]
    place: int = -1

    def at(self, place: int) -> str:
        """The content of a place."""
        return self.words[place % len(self.words)] if self.place in (-1, place) else "fine"

    def twin(self, place: int) -> str:
        """Harmless content of the same characters in the same order: a dot is between two."""
        return f"·{'·'.join(self.at(place))}·"


def layout_marks(format_: Format) -> list[str]:
    """The marks that count for this layout: those it names, those it writes, and those of other tokenizers."""
    assert format_.chat is not None
    chat = format_.chat
    own = [value for value in chat if isinstance(value, str)]
    own += [text for value in chat if isinstance(value, tuple) for text in value]
    found = {mark for text in own for mark in _MARK_LIKE.findall(text)} | set(chat.stop)
    if format_.thinking is not None:
        found |= {mark for pair in format_.thinking.marks for mark in pair if not mark[0].isalpha()}
    return sorted(found.union(format_.marks, EVERYWHERE))


def count(text: str, mark: str) -> int:
    """How often a mark occurs in a text, overlapping too."""
    found, at = 0, text.find(mark)
    while at >= 0:
        found += 1
        at = text.find(mark, at + 1)
    return found


def conversation(say: Assign) -> tuple[list[Message], list[dict[str, Any]]]:
    """A conversation and its tools, with content in every place that has any."""
    written = Written("hermes", f"<tool_call>\n{say(14)}</tool_call>")
    tool = {
        "name": "search",
        "description": say(0),
        "parameters": {
            "type": "object",
            "description": say(1),
            "properties": {
                "query": {"type": "string", "description": say(2)},
                f"{say(3)}": {"enum": [say(4)]},
            },
        },
    }
    messages = [
        Message("system", [TextPart(say(5)), TextPart(say(6))]),
        Message("user", [TextPart(say(7)), TextPart(say(8))]),
        Message(
            "assistant",
            [
                ThinkingPart(say(9)),
                TextPart(say(10)),
                TextPart(say(11)),
                ToolCallPart(say(12), "search", {"query": say(13)}, written=written),
                ToolCallPart("c2", say(15), {say(16): say(17), "list": [say(18), {say(19): say(20)}]}),
                TextPart(say(21)),
            ],
        ),
        tool_results(
            [
                ToolResultPart(say(12), "search", [TextPart(say(22)), TextPart(say(23))]),
                ToolResultPart("c2", say(15), say(24), is_error=True),
            ]
        ),
        Message("assistant", say(25)),
        Message("system", say(26)),
        Message("user", say(27)),
        Message("assistant", [ThinkingPart(say(28)), ToolCallPart("c3", "search", {"query": say(29)})]),
        tool_results([ToolResultPart("c3", "search", say(30))]),
        Message("assistant", say(31)),
    ]
    return messages, [tool]


def attacks(mark: str) -> Iterator[Attack]:
    """Every way to try one mark, in all places at once."""
    yield Attack(mark, (mark,))
    yield Attack(mark, (mark[0] + mark,))
    yield Attack(mark, (mark + mark,))
    yield Attack(mark, (mark[:1] + " " + mark[1:],))
    for at in range(1, len(mark)):
        first, second = mark[:at], mark[at:]
        if first.isspace() or second.isspace():
            continue
        yield Attack(mark, (first,))
        yield Attack(mark, (second,))
        yield Attack(mark, (first, second))
        yield Attack(mark, (second, first))
        yield Attack(mark, (first + mark + second,))
        yield Attack(mark, (first + mark[at : at + 1],))
        if at < len(mark) - 1:
            yield Attack(mark, (mark[at:-1],))


def some_attacks(name: str, number: int) -> list[Attack]:
    """A fixed choice of them, whole marks of the layout always among them."""
    rng = random.Random(name)
    marks = layout_marks(text_format(name))
    made = [attack for mark in marks for attack in attacks(mark)]
    chosen = rng.sample(made, min(number, len(made)))
    return [Attack("", (mark,)) for mark in marks] + chosen


def render(name: str, say: Assign, *, reasoning: bool | None = None) -> str:
    """The prompt of that conversation."""
    messages, tools = conversation(say)
    return render_prompt(messages, tools, name, reasoning=reasoning).text


def got_through(name: str, attack: Attack) -> list[str]:
    """The marks that the prompt of this layout has more or fewer of than with harmless content."""
    hostile, harmless = render(name, attack.at), render(name, attack.twin)
    more = {mark: count(hostile, mark) - count(harmless, mark) for mark in layout_marks(text_format(name))}
    # An argument whose element would be a mark is written as JSON there, without elements.
    return [mark for mark, number in more.items() if number > 0 or (number and mark != "]<]minimax[>[")]
