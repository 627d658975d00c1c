"""`Format`: a syntax for calls in text, its two halves in one place so that they cannot drift apart.

The prompt half says what a model is told (`rules`, `declare`) and writes calls and results as that model would see them
(`write_call`, `write_result`); the parser half (`read`) reads what it writes. `grammar` holds a server that takes one
(llama.cpp) to the same syntax.

The syntaxes that models were trained on have more: which models, how they mark reasoning, and how a prompt is laid out
for them where no chat template does it (`Chat`). `family` makes such a format.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

from ..messages import ToolResultPart
from ..tools.definition import ToolDefinition
from ..tools.registry import ToolRegistry
from .prose import Thinking
from .scanner import Scanner, Wait

Read = Callable[[Scanner, ToolRegistry | None], Wait[None]]


class CallToWrite(NamedTuple):
    """A call that is to be written."""

    name: str
    arguments: dict[str, Any]
    tool: ToolDefinition | None = None
    call_id: str = ""
    number: int = 0
    """How many calls of the conversation came before it."""


class Chat(NamedTuple):
    """How a prompt is laid out for a family, for endpoints that take a prompt and not messages.

    Pairs are what stands before and after: the words of one side, or all results that follow one answer.
    """

    system: tuple[str, str]
    user: tuple[str, str]
    assistant: tuple[str, str]
    results: tuple[str, str]
    """Around the results that follow one answer; each is written by `result`."""
    answer: str
    """The end of the prompt: what asks for an answer."""
    tools: Callable[[Sequence[ToolDefinition]], str]
    """What the model is told of the tools, in the words that it was trained on."""
    begin: str = ""
    """The first thing of all."""
    between_results: str = ""
    tools_at: Literal["system", "system_first", "before_system", "after_system", "last_user"] = "system"
    """Where the tools are told: at the end of the system's words, at their beginning, before or after that turn, or
    before the last words of the user, as text that stands for itself."""
    system_in_user: bool = False
    """The system's words, and the tools with them, stand at the beginning of the user's first words."""
    default_system: str = ""
    """What the system says where the conversation has nothing."""
    reasoning: str = ""
    """What follows `answer` to make the model reason; where it is an opening mark, the answer begins within it."""
    no_reasoning: str = ""
    """What follows `answer` to make it answer at once."""
    stop: tuple[str, ...] = ()
    """What ends an answer: for the endpoint's `stop`, since such marks may come as text."""
    words: tuple[str, str] = ("", "")
    """Around the words of an answer, where they have marks of their own."""
    before_calls: str = ""
    """Between the words of an answer and calls after them."""
    calls_apart: bool = False
    """`before_calls` stands before calls without words too."""
    after_calls: str = ""
    """What ends the turn of an answer that ends with calls, where that is not the end of `assistant`."""
    thought: tuple[str, str] | None = None
    """Around the reasoning of an answer whose calls are being answered; None: it is left out as all other reasoning."""
    no_thought: str = ""
    """What stands in the place of reasoning that is left out, or that there was none of."""
    results_inside: bool = False
    """Results stand in the turn of the answer, directly after its calls, and that turn goes on after them."""
    reasons_again: bool = False
    """After such results, too, `reasoning` or `no_reasoning` says whether the model is to reason."""
    result: Callable[[ToolResultPart, str], str] | None = None
    """One result as it stands in its turn; None: as `Format.write_result` writes it."""
    call_id: Callable[[CallToWrite], str] | None = None
    """The id that a call which this model did not write has in the prompt, and its result too; None: its own."""


class Format(NamedTuple):
    """One syntax. All functions are pure; none raises for arguments that are JSON."""

    name: str
    """Lower-case with hyphens."""
    title: str
    """For lists: a few words."""
    rules: Callable[[Sequence[ToolDefinition]], str]
    """What holds for every tool: how a call is written, arrays, nesting, quoting. Told once."""
    declare: Callable[[ToolDefinition], str]
    """One tool: its name, description and arguments."""
    write_call: Callable[[str, dict[str, Any], ToolDefinition | None], str]
    """A call as a model should write it. `read` gives back exactly this name and these arguments."""
    write_result: Callable[[ToolResultPart, str], str]
    """A result, with its content as text: nothing in it can be taken for a call or for the end of the result."""
    read: Read
    """The reader. Without tools (None) every name is a tool's."""
    grammar: Callable[[Sequence[ToolDefinition]], str] | None = None
    """GBNF for an answer that is one call of one of these tools and nothing else."""
    write_calls: Callable[[Sequence[CallToWrite]], str] | None = None
    """The calls of one answer, where there is more around them than each has by itself."""
    models: tuple[str, ...] = ()
    """The models that were trained on it, in words for a list. Which name means which format: `models.py`."""
    thinking: Thinking | None = None
    """How reasoning is marked in the text; None: it is not."""
    chat: Chat | None = None
    """How a prompt is laid out; None: only a chat template knows."""
    marks: tuple[str, ...] = ()
    """What means something to such a model wherever it stands, so that nobody else's words may hold it."""


def write_calls(format: Format, calls: Sequence[CallToWrite]) -> str:
    """Calls in a row as one answer of this format has them."""
    if format.write_calls is not None:
        return format.write_calls(calls)
    return "\n".join(format.write_call(call.name, call.arguments, call.tool) for call in calls)
