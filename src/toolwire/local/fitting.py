"""Which tool a question is for, by plain word matching.

A model of 135 million parameters cannot decide between a tool and talk, so this decides. The rule, in full:

- a tool's score is 6 if the question writes its exact name, plus 3 for each topic (`TOPICS`) that both share, plus 3
  for each word of the tool's name or of an enum value that is in the question (1 for a word such as "get" or "list"
  that says little), plus 1 for each further word of its descriptions, plus 2 if it takes a path and the question has
  one; words are compared by stem, common words left out;
- a tool that requires a number or a path does not fit a question without one;
- a question that asks for a joke or a poem, or "why", "how does", "what is a", is talk unless it names a file or the
  tool;
- a tool fits from 3 points up. The best one is taken, or the best two if they have the same score.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from .narrowing import plain_type
from .question import Question, is_path_name, stem
from .vocabulary import ARITHMETIC_WORDS, STOP_WORDS, TALK_WORDS, WEAK_NAME_WORDS, word_set

FIT = 3
_WEAK_STEMS = frozenset(map(stem, WEAK_NAME_WORDS))
_TALK_OPENINGS = (("how", "does"), ("how", "do"), ("how", "are"), ("what", "is", "a"), ("what", "is", "an"))


class Topic(msgspec.Struct, frozen=True):
    """A subject: the words of a question that show it (or a sign), and the words of a tool that serve it."""

    asked: frozenset[str]
    served: frozenset[str]
    sign: Callable[[Question], bool] = lambda question: False


def _asks_day(question: Question) -> bool:
    return bool({"day", "hour"} & question.lower) and bool({"what", "which", "what's"} & question.lower)


def _asks_arithmetic(question: Question) -> bool:
    in_words = "%" in question.tokens or bool(question.lower & ARITHMETIC_WORDS)
    return bool(question.arithmetic) or question.asks_root or (in_words and len(question.numbers) > 1)


def _asks_conversion(question: Question) -> bool:
    measured, others = question.units
    return bool(measured) and bool(others)


TOPICS = (
    Topic(word_set("time clock o'clock date"), word_set("time clock date datetime"), _asks_day),
    Topic(
        word_set("calculate compute evaluate"),
        word_set("calculate calculator compute arithmetic math maths evaluate eval expression"),
        _asks_arithmetic,
    ),
    Topic(word_set("convert"), word_set("convert converter conversion unit units"), _asks_conversion),
    Topic(
        word_set("files folder folders directory directories dir ls"),
        word_set("list ls folder directory dir"),
        lambda question: len(question.paths) > len(question.files),
    ),
    Topic(
        word_set("read open contents content cat print file"),
        word_set("read open cat"),
        lambda question: bool(question.files),
    ),
    Topic(word_set("weather rain raining sunny temperature forecast snow snowing wind"), word_set("weather forecast")),
    Topic(word_set("search find google lookup"), word_set("search find lookup")),
)


def _name_words(name: str) -> set[str]:
    spaced = "".join(f" {c}" if c.isupper() else c if c.isalnum() else " " for c in name)
    return {word for word in spaced.lower().split() if word not in STOP_WORDS}


def _text_words(text: object) -> set[str]:
    if not isinstance(text, str):
        return set()
    words = (word.strip(".,;:()'\"`") for word in text[:1000].lower().split())
    return {word for word in words if word and word not in STOP_WORDS}


def _stems(words: set[str]) -> set[str]:
    return {stem(word) for word in words}


def score(question: Question, tool: dict[str, Any]) -> int:
    """Points of one tool (an OpenAI `function` object) for one question."""
    name = str(tool["name"])
    named = name.lower() in question.lower
    schema = tool.get("parameters")
    properties = schema.get("properties", {}) if isinstance(schema, dict) else {}
    required = schema.get("required", []) if isinstance(schema, dict) else []
    if _lacks(question, properties, required) or (_is_talk(question) and not named):
        return 0

    own_words = _name_words(name) | _text_words(tool.get("description"))
    strong = _stems(_name_words(name))
    weak = _stems(own_words)
    for key, value in properties.items():
        weak |= _stems(_name_words(str(key)))
        if isinstance(value, dict):
            weak |= _stems(_text_words(value.get("description")))
            for choice in value.get("enum", ()):
                strong |= _stems(_text_words(choice))

    points = 6 if named else 0
    for topic in TOPICS:
        if (question.lower & topic.asked or topic.sign(question)) and own_words & topic.served:
            points += 3
    if question.paths and any(is_path_name(key) for key in properties):
        points += 2
    points += sum(1 if word in _WEAK_STEMS else 3 for word in question.stems & strong)
    return points + len(question.stems & (weak - strong))


def _lacks(question: Question, properties: dict[str, Any], required: list[str]) -> bool:
    """Whether a number or a path is required that the question does not have."""
    for key in required:
        if plain_type(properties.get(key)) in {"number", "integer"} and not question.numbers:
            return True
        if is_path_name(key) and not question.paths:
            return True
    return False


def _is_talk(question: Question) -> bool:
    if question.paths:
        return False
    words = tuple(word.lower() for word in question.words[:3])
    return bool(question.lower & TALK_WORDS) or any(words[: len(opening)] == opening for opening in _TALK_OPENINGS)


def fitting_tools(question: Question, tools: list[dict[str, Any]], *, at_least: int = FIT) -> list[dict[str, Any]]:
    """The best tool or, when two are level, both; nothing when none reaches `at_least`."""
    scored = [(score(question, tool), tool) for tool in tools]
    best = max((points for points, _ in scored), default=-1)
    if best < at_least:
        return []
    return [tool for points, tool in scored if points == best][:2]
