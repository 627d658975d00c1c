"""`auto`: the syntax of an answer, found from the answer itself.

Text is text until a mark has come, whole, that belongs to one family alone, together with what must follow it where
several share it. From that mark on the family's own reader reads, to the end of the answer; before it nothing was taken
away. Marks around reasoning that many share (`<think>`) decide nothing.

What has no mark of its own is not found: bare JSON and bare call expressions are themselves the answer to many
questions.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NoReturn

from ..errors import ConfigError
from ..tools.registry import ToolRegistry
from .format import Format
from .prose import THINK, Begin, Thinking, marked
from .registry import text_format
from .scanner import Scanner, Wait

_NAME = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.:/")
_HEADER = 200
"""Characters of a header that may have to be read to tell two families apart."""

ALONE: dict[str, str] = {
    "[[SEG_START ": "sentinel",
    '<tool name="': "xml",
    "<longcat_tool_call>": "longcat",
    "<|python_tag|>": "llama3-json",
    "<|python_start|>": "pythonic",
    "[THINK]": "mistral-v11",
    "<|tool_calls_section_begin|>": "kimi-k2",
    "<|tool_call_begin|>": "kimi-k2",
    "<|channel|>": "harmony",
    "<|tool_call|>": "granite",
    "functools[": "phi4-mini",
    "<TOOLCALL>": "nemotron",
    "<|START_ACTION|>": "cohere3",
    "<|START_THINKING|>": "cohere3",
    "<|START_RESPONSE|>": "cohere3",
    "<|START_TEXT|>": "cohere4",
    "<|tools_prefix|>": "apertus",
    "<|inner_prefix|>": "apertus",
    "<|message_sep|>": "gigachat3",
    "<|function_call|>": "gigachat3",
    "<|tool_calls|>": "solar",
    "<|tool_call:begin|>": "solar",
    "<|begin|>assistant": "solar",
    "<|message_model|>": "inkling",
    "<|content_thinking|>": "inkling",
    "<|content_invoke_tool_json|>": "inkling",
    "<|plamo:": "plamo3",
    "<seed:tool_call>": "seed-oss",
    "<seed:think>": "seed-oss",
    "<｜DSML｜function_calls>": "deepseek-v32",
    "<｜DSML｜tool_calls>": "deepseek-v4",
    "<｜DSML｜ calls>": "deepseek-v4",
    "<minimax:tool_call>": "minimax-m2",
    "]<]minimax[>[": "minimax-m3",
    "<mm:think>": "minimax-m3",
    "<｜tool_calls_begin｜>": "step3",
    "<tool_calls:": "hy-v3",
    "<tool_call:": "hy-v3",
    "<|open|>": "kimi-k3",
    "<atem:function_calls>": "muse-glimmer",
    "<dots_function_call>": "dots",
    '<function name="': "minicpm5",
    "<ifm|": "k2-horizon",
    "<|tool_call_start|>": "lfm2",
    "<start_function_call>": "functiongemma",
    "<|tool_call>": "gemma4",
    "<|channel>": "gemma4",
}
"""Marks that one family alone has."""

FOLLOWED: dict[str, tuple[tuple[str, str], ...]] = {
    "<tool_calls>": (("[", "jamba"), ("{", "minimax-m1"), ("<tool_call>", "hy-v3")),
    "<function_call>": (("{", "granite-20b-fc"),),
}
"""Marks that several have: what comes next, space aside, tells them apart."""


def read(scanner: Scanner, tools: ToolRegistry | None) -> Wait[None]:
    """Reads an answer in the first syntax that shows in it."""

    def settle(decide: Callable[[], Wait[str]]) -> Begin:
        def begin() -> Wait[bool]:
            name = yield from decide()
            if not name:
                return False
            scanner.unread()
            scanner.format = name
            yield from text_format(name).read(scanner, tools)
            return True

        return begin

    look = _Look(scanner)
    openers = {mark: settle(partial(look.certain, name)) for mark, name in ALONE.items()}
    openers |= {mark: settle(partial(look.next_of, ways)) for mark, ways in FOLLOWED.items()}
    openers |= {
        "<tool_call>": settle(look.after_tool_call),
        "[TOOL_CALLS]": settle(look.after_tool_calls),
        "<function=": settle(look.after_function),
        "<function_calls>": settle(look.after_function_calls),
        "<|action_start|>": settle(look.after_action),
        "<|start|>assistant": settle(look.after_start),
        "<｜tool▁call▁begin｜>": settle(look.after_deepseek),
        "<｜tool▁calls▁begin｜>": settle(look.after_deepseek_section),
    }
    return marked(scanner, openers, REASONING)


REASONING = Thinking(
    (
        *THINK.marks,
        *(("<thinking>", "</thinking>"), ("[THINK]", "[/THINK]"), ("<|START_THINKING|>", "<|END_THINKING|>")),
        *(("<seed:think>", "</seed:think>"), ("<mm:think>", "</mm:think>"), ("<|inner_prefix|>", "<|inner_suffix|>")),
    )
)
"""What opens reasoning and decides nothing, and what may close that which the prompt opened."""


class _Look:
    """What follows a mark: the name of the format, empty where it does not tell. All that is read is held."""

    def __init__(self, scanner: Scanner) -> None:
        self._scanner = scanner

    def certain(self, name: str) -> Wait[str]:
        yield from ()
        return name

    def next_of(self, ways: tuple[tuple[str, str], ...]) -> Wait[str]:
        yield from self._scanner.read_space()
        if not (yield from self._scanner.need(1)):
            return ""
        for literal, name in ways:
            if (yield from self._scanner.read_literal(literal)):
                return name
        return ""

    def after_tool_call(self) -> Wait[str]:
        scanner = self._scanner
        found = yield from self.next_of((("{", "hermes"), ("[", "granite"), ("<function=", "qwen3-coder")))
        if found:
            return found
        if not (yield from scanner.read_word(_NAME, scanner.limits.name)):
            return ""
        if (yield from scanner.read_literal("<arg_key>")) or (yield from scanner.read_literal("</tool_call>")):
            return "glm47"
        if (yield from scanner.read_literal("<tool_sep>")):
            return "hy-v3"
        return (yield from self.next_of((("<arg_key>", "glm45"), ("</tool_call>", "glm45"))))

    def after_tool_calls(self) -> Wait[str]:
        scanner = self._scanner
        found = yield from self.next_of((("[", "mistral-v3"), ("{", "mistral-v3")))
        if found or not (yield from scanner.read_word(_NAME, scanner.limits.name)):
            return found
        ways = (("[ARGS]", "mistral-v11"), ("[CALL_ID]", "mistral-v11"), ("{", "mistral-v11"))
        return (yield from self.next_of(ways))

    def after_function(self) -> Wait[str]:
        scanner = self._scanner
        if not (yield from scanner.read_word(_NAME, scanner.limits.name)):
            return ""
        if not (yield from scanner.read_literal(">")):
            return ""
        ways = (("{", "functionary"), ("<parameter=", "qwen3-coder"), ("</function>", "qwen3-coder"))
        return (yield from self.next_of(ways))

    def after_function_calls(self) -> Wait[str]:
        scanner = self._scanner
        yield from scanner.read_space()
        word = yield from scanner.read_word(_NAME, scanner.limits.name)
        return "olmo3" if word and (yield from scanner.read_literal("(")) else ""

    def after_action(self) -> Wait[str]:
        if (yield from self._scanner.read_literal("<|plugin|>")):
            return "internlm2"
        return (yield from self.next_of((("<|plugin|>", "interns1"),)))

    def after_start(self) -> Wait[str]:
        scanner = self._scanner
        read = 0
        while read < _HEADER and (yield from scanner.need(1)) not in ("", "<"):
            scanner.read_to(scanner.at + 1)
            read += 1
        return (yield from self.next_of((("<|channel|>", "harmony"), ("<|message|>", "muse-glimmer"))))

    def after_deepseek_section(self) -> Wait[str]:
        yield from self._scanner.read_space()
        if not (yield from self._scanner.read_literal("<｜tool▁call▁begin｜>")):
            return ""
        return (yield from self.after_deepseek())

    def after_deepseek(self) -> Wait[str]:
        scanner = self._scanner
        word = yield from scanner.read_word(_NAME, scanner.limits.name)
        if not word or not (yield from scanner.read_literal("<｜tool▁sep｜>")):
            return ""
        return "deepseek-v3" if word == "function" else "deepseek-v31"


def _teaches_nothing(*_: Any) -> NoReturn:
    raise ConfigError(
        "auto reads what a model writes and teaches it nothing",
        hint="Name the format that the model is to use: toolwire formats",
    )


AUTO = Format(
    "auto",
    "whatever the answer shows",
    rules=_teaches_nothing,
    declare=_teaches_nothing,
    write_call=_teaches_nothing,
    write_result=_teaches_nothing,
    read=read,
    thinking=REASONING,
)
