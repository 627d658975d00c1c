"""`hy-v3`: GLM's pairs of tags in a wrapper, as Hunyuan 3 writes them. Every tag may carry the checkpoint's suffix.

    <tool_calls:opensource>
    <tool_call:opensource>search<tool_sep:opensource>
    <arg_key:opensource>query</arg_key:opensource>
    <arg_value:opensource>a < b</arg_value:opensource>
    </tool_call:opensource>
    </tool_calls:opensource>

Any suffix is read, none too; within a call it must be the same. The wrapper and `<tool_sep>` may be missing. Reasoning
is known by the suffixes of the checkpoints that there are.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...messages import ToolResultPart
from ...tools.definition import ToolDefinition
from ...tools.registry import ToolRegistry
from ..argument_pairs import PairTags, read_pairs, read_wrapped, write_pairs
from ..family import declare, family
from ..format import CallToWrite, Chat, Format
from ..prose import Thinking, marked
from ..scanner import Scanner, Wait

CALLS, CALL = "<tool_calls", "<tool_call"
SUFFIX = ":opensource"
SUFFIXES = (SUFFIX, "", ":6124c78e")
_SUFFIX = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-")
_LONGEST_SUFFIX = 40

THINKING = Thinking(tuple((f"<think{suffix}>", f"</think{suffix}>") for suffix in SUFFIXES))


def tags(suffix: str) -> PairTags:
    """The tags of a checkpoint."""
    return PairTags(
        opening=f"{CALL}{suffix}>",
        closing=f"</tool_call{suffix}>",
        key=f"<arg_key{suffix}>",
        key_end=f"</arg_key{suffix}>",
        value=f"<arg_value{suffix}>",
        value_end=f"</arg_value{suffix}>",
        after_name=f"<tool_sep{suffix}>",
    )


def _wrapper(suffix: str) -> tuple[str, str]:
    return f"{CALLS}{suffix}>", f"</tool_calls{suffix}>"


def read(scanner: Scanner, tools: ToolRegistry | None) -> Wait[None]:
    """Reads an answer."""

    def begin_wrapper() -> Wait[bool]:
        suffix = yield from _read_suffix(scanner)
        if suffix is None:
            return False
        of, wrapper = tags(suffix), _wrapper(suffix)
        return (
            yield from read_wrapped(scanner, of.opening, wrapper[1], lambda: read_pairs(scanner, tools, of, wrapper))
        )

    def begin() -> Wait[bool]:
        suffix = yield from _read_suffix(scanner)
        return suffix is not None and (yield from read_pairs(scanner, tools, tags(suffix), _wrapper(suffix)))

    return marked(scanner, {CALLS: begin_wrapper, CALL: begin}, THINKING)


def _read_suffix(scanner: Scanner) -> Wait[str | None]:
    """Reads the rest of a tag: its suffix, which may be empty; None if this is no such tag."""
    if (yield from scanner.read_literal(">")):
        return ""
    if not (yield from scanner.read_literal(":")):
        return None
    suffix = yield from scanner.read_word(_SUFFIX, _LONGEST_SUFFIX)
    return f":{suffix}" if suffix and (yield from scanner.read_literal(">")) else None


def write_calls(calls: Sequence[CallToWrite]) -> str:
    """All in one wrapper, in the tags of the released checkpoint."""
    written = [write_pairs(call, tags(SUFFIX), "\n") for call in calls]
    return "\n".join((f"{CALLS}{SUFFIX}>", *written, f"</tool_calls{SUFFIX}>"))


def write_result(_: ToolResultPart, content: str) -> str:
    """A result between tags."""
    return f"<tool_response{SUFFIX}>\n{content}\n</tool_response{SUFFIX}>\n"


def tell_tools(tools: Sequence[ToolDefinition]) -> str:
    """The tools in the words of the model's own chat template."""
    told = "\n".join(declare(tool) for tool in tools)
    of = tags(SUFFIX)
    pairs = "".join(
        f"{of.key}{{arg-key-{number}}}{of.key_end}\n{of.value}{{arg-value-{number}}}{of.value_end}\n"
        for number in (1, 2)
    )
    return (
        "\n\n# Tools\n\nYou may call one or more functions to assist with the user query.\n\n"
        f"You are provided with function signatures within <tools></tools> XML tags:\n<tools>\n{told}\n</tools>\n\n"
        f"For function call returns, you should first print {CALLS}{SUFFIX}>\n"
        "For each function call, you should return object like:\n"
        f"{of.opening}{{function-name}}{of.after_name}\n{pairs}...\n{of.closing}\n"
        f"At the end of function call returns, you should print </tool_calls{SUFFIX}>"
    )


def _marks(suffix: str) -> tuple[str, ...]:
    words = ("tool_calls", "tool_responses", "tool_response", "think")
    return (*tags(suffix).all, *(f"<{slash}{word}{suffix}>" for word in words for slash in ("", "/")))


_TURNS = tuple(f"<｜{word}{SUFFIX}｜>" for word in ("hy_begin_of_sentence", "hy_User", "hy_Assistant", "hy_eos"))
_EFFORT = f"<｜reasoning_mode{SUFFIX}｜>"

HY_V3: Format = family(
    "hy-v3",
    "<tool_calls> with <arg_key> and <arg_value> tags",
    models=("Hunyuan 3 (Hy3)",),
    read=read,
    write_calls=write_calls,
    write_result=write_result,
    marks=(*(mark for suffix in SUFFIXES for mark in _marks(suffix)), *_TURNS, _EFFORT),
    thinking=THINKING,
    chat=Chat(
        begin=_TURNS[0],
        system=("", f"{_EFFORT}reasoning_effort:high"),
        user=(_TURNS[1], ""),
        assistant=(_TURNS[2], _TURNS[3]),
        results=(f"<tool_responses{SUFFIX}>\n", f"</tool_responses{SUFFIX}>"),
        answer=_TURNS[2],
        tools=tell_tools,
        reasoning=f"<think{SUFFIX}>",
        no_reasoning=f"<think{SUFFIX}></think{SUFFIX}>",
        thought=(f"<think{SUFFIX}>", f"</think{SUFFIX}>"),
        no_thought=f"<think{SUFFIX}></think{SUFFIX}>",
        stop=(_TURNS[3],),
    ),
)
