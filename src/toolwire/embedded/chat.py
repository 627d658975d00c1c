"""A conversation as one prompt, laid out as a family of models was trained on it (`Format.chat`).

For endpoints that take a prompt and give back raw text, as llama.cpp's `/completion` and the `/v1/completions` of vLLM
and SGLang do: the prompt goes out, the text that comes is for `TextStream` with the same format.

    prompt = render_prompt(messages, tools, "hermes")
    # send prompt.text with stop=prompt.stop, and feed what comes to:
    stream = TextStream("hermes", tools, reasoning=prompt.reasoning)

The same conversation gives the same prompt, and one that has gone on begins as it did before, except where a model's
own layout wants it otherwise: reasoning of earlier answers goes, and some are told the tools late.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from itertools import groupby
from typing import Any, NamedTuple

import msgspec

from ..errors import ConfigError
from ..messages import MediaPart, Message, OpaquePart, TextPart, ThinkingPart, ToolCallPart, ToolResultPart
from ..providers.encoding import misplaced, result_media, result_text
from ..providers.request import as_message
from ..tools.definition import ToolDefinition
from ..tools.registry import ToolRegistry
from .choosing import named_format
from .control_marks import control_marks, tags
from .format import CallToWrite, Chat, Format, write_calls
from .models import has_other_turns
from .prose import opens_reasoning as ends_with_opening
from .registry import AUTO

_BETWEEN = "\n\n"
_ANY_TOOL = ToolDefinition("f", "F.", {"type": "object", "properties": {"p": {"type": "string"}}})

Pieces = list[tuple[str, bool]]
"""What a prompt is made of: text, and whether it is the layout's own (`ControlMarks.join`)."""


class Prompt(NamedTuple):
    """A prompt, and what the one who sends it and reads the answer must know."""

    text: str
    stop: tuple[str, ...]
    """Where an answer ends: what a server should stop at, if it does not by itself."""
    reasoning: bool
    """Whether the answer begins within reasoning, since the prompt opened it (`TextStream(reasoning=…)`)."""


def render_prompt(
    messages: Iterable[Message | dict[str, Any]],
    tools: Iterable[Any] | ToolRegistry = (),
    format: str | Format = "auto",
    *,
    model: str = "",
    reasoning: bool | None = None,
) -> Prompt:
    """The prompt that asks for the next answer of a conversation. Pure, and in linear time.

    - `format` is a name or a `Format`; `auto` is the one that `model` was trained on.
    - `reasoning` asks the model to reason, or not to, where its layout has a way to say so; None leaves it to it.
    - Calls stand as the model wrote them where it did so in this format, else as it would have, under ids of the
      family's kind. Results follow in the order of the calls, each under the id that its call has here.
    - Reasoning is left out, but for that of answers whose calls are being answered, where the family keeps it.
    - Nobody's words hold a mark of the family or join one with the text beside them, the system's and the tools'
      own neither: whatever a user or a tool says, or a model quotes, it ends no turn and makes no call.

    A `ConfigError` says what a prompt cannot hold (pictures, sounds), and which format has no layout.
    """
    if isinstance(format, str):
        if format == AUTO and has_other_turns(model):
            raise ConfigError(
                f"no layout of prompts is known for {model[:80]!r}: it writes calls as its family does, in other turns",
                hint="Use a chat endpoint, whose template knows them; or name a format to use its layout.",
            )
        format = named_format(format, model=model)
    registry = tools if isinstance(tools, ToolRegistry) else ToolRegistry(tools)
    if format.name == AUTO:
        raise ConfigError(
            "a prompt needs a format" + (f", and the name {model[:80]!r} says none" if model else ""),
            hint="Name one, such as hermes, or a model of a known family. All formats: toolwire formats",
        )
    if format.chat is None:
        raise ConfigError(
            f"no layout of prompts is known for the text format {format.name}",
            hint=f"Send messages to a chat endpoint instead: stream parser {format.name}, or as_text_conversation.",
        )
    return _Layout(format, format.chat, registry).prompt(list(map(as_message, messages)), reasoning)


def opens_reasoning(prompt: str, format: str | Format, *, model: str = "") -> bool:
    """Whether the answer to a prompt that something else made begins within reasoning: `TextStream(reasoning=…)`."""
    if isinstance(format, str):
        format = named_format(format, model=model)
    return ends_with_opening(format.thinking, prompt)


def with_own_id(format: Format, call: CallToWrite) -> CallToWrite:
    """The call under the id that it has in this family's prompts, where the model did not write it itself."""
    if format.chat is None or format.chat.call_id is None:
        return call
    return call._replace(call_id=format.chat.call_id(call))


class _Layout:
    """One prompt while it is made."""

    def __init__(self, format: Format, chat: Chat, tools: ToolRegistry) -> None:
        self._format = format
        self._chat = chat
        self._tools = tools
        self._marks = control_marks(format.marks)
        self._pieces: Pieces = []
        self._calls = 0
        self._ids: dict[str, str] = {}
        """The ids that the calls of the last answer have in the prompt, by their own, in order."""
        self._lead: Pieces = []
        """What the first words of the user begin with."""
        self._turn = ""
        """Whether an answer's turn is still to be ended: "open" after the answer, "goes on" after results inside it."""
        self._ends_with_calls = False
        """Whether the last thing in that answer is a call."""

    def prompt(self, messages: list[Message], reasoning: bool | None) -> Prompt:
        chat = self._chat
        first = next((at for at, message in enumerate(messages) if message.role != "system"), len(messages))
        asked = max((at for at, message in enumerate(messages) if message.role == "user"), default=first)
        self._lay(chat.begin)
        self._open(_BETWEEN.join(map(self._words, messages[:first])))
        for role, group in groupby(range(first, len(messages)), key=lambda at: messages[at].role):
            places = list(group)
            if role == "tool":
                self._results([messages[at] for at in places])
                continue
            for at in places:
                if role == "assistant":
                    self._answer(messages[at], keep_thought=at > asked)
                    continue
                self._end_turn()
                if at == asked and chat.tools_at == "last_user":
                    self._say(self._told())
                self._said(messages[at])
        end = self._end(reasoning)
        self._lay(end)
        return Prompt(self._marks.join(self._pieces), chat.stop, ends_with_opening(self._format.thinking, end))

    def _lay(self, text: str) -> None:
        """Adds what the layout itself writes."""
        self._pieces.append((text, True))

    def _say(self, text: str) -> None:
        """Adds what others said, or what may begin or end with it."""
        self._pieces.append((text, False))

    def _within(self, pair: tuple[str, str], *pieces: tuple[str, bool]) -> None:
        self._pieces += [(pair[0], True), *pieces, (pair[1], True)]

    def _end(self, reasoning: bool | None) -> str:
        """What asks for an answer, after the turn before it has ended."""
        chat = self._chat
        suffix = "" if reasoning is None else chat.reasoning if reasoning else chat.no_reasoning
        if self._turn == "goes on":
            return suffix if chat.reasons_again else ""
        self._end_turn()
        if self._lead:
            self._within(chat.user, *self._lead[:-1])
        return chat.answer + suffix

    def _end_turn(self) -> None:
        """Ends an answer's turn, if it is still open: results may have come into it."""
        turn, self._turn = self._turn, ""
        if turn == "open" and self._ends_with_calls and self._chat.after_calls:
            self._lay(self._chat.after_calls)
        elif turn:
            self._lay(self._chat.assistant[1])

    def _open(self, system: str) -> None:
        """Adds the part before the first turn: the system prompt and, unless they come later, the tools."""
        chat = self._chat
        told = "" if chat.tools_at == "last_user" else self._told()
        words: Pieces = [(self._marks.harmless(system), False)] if system else [(chat.default_system, True)]
        words = [piece for piece in words if piece[0]]
        after = ""
        if chat.tools_at == "system" and told:
            words.append((told if words else told.lstrip("\n"), False))
        elif chat.tools_at == "system_first" and told:
            words = [(told, False), *([(_BETWEEN, True), *words] if words else [])]
        elif chat.tools_at == "before_system":
            self._say(told)
        elif chat.tools_at == "after_system":
            after = told
        if words and chat.system_in_user:
            self._lead = [*words, (_BETWEEN, True)]
        elif words:
            self._within(chat.system, *words)
        self._say(after)

    def _told(self) -> str:
        """The tool list in the prompt; nothing in a tool's own description ends it."""
        chat, tools = self._chat, list(self._tools)
        if not tools:
            return ""

        def write(told: list[list[Any]]) -> str:
            return chat.tools([ToolDefinition(tool.name, *each) for tool, each in zip(tools, told, strict=True)])

        about = [[tool.description, tool.parameters] for tool in tools]
        return control_marks(self._format.marks + _tags(chat)).write(about, write)

    def _said(self, message: Message) -> None:
        words = (self._marks.harmless(self._words(message)), False)
        if message.role == "system":
            self._within(self._chat.system, words)
            return
        lead, self._lead = self._lead, []
        self._within(self._chat.user, *lead, words)

    def _words(self, message: Message) -> str:
        """The text of a message that holds nothing else."""
        for part in message.parts:
            if isinstance(part, MediaPart):
                raise _no_media(part)
            if not isinstance(part, TextPart):
                raise misplaced(part, message.role)
        return message.text

    def _answer(self, message: Message, *, keep_thought: bool) -> None:
        chat = self._chat
        if self._turn != "goes on":
            self._end_turn()
            self._lay(chat.assistant[0])
        self._turn = "open"
        self._ids = {}
        thought = "".join(part.text for part in message.parts if isinstance(part, ThinkingPart)).strip()
        if keep_thought and chat.thought is not None and thought:
            self._within(chat.thought, (self._marks.harmless(thought), False))
        else:
            self._lay(chat.no_thought)
        before = ""
        for kind, parts in groupby(message.parts, self._kind):
            if kind == "text":
                text = self._marks.harmless("".join(part.text for part in parts if isinstance(part, TextPart)))
                if before == "call" and text.strip() and not text.startswith("\n"):
                    self._lay("\n")
                if text.strip():
                    self._within(chat.words, (text, False))
                else:
                    self._say(text)
                before = "text" if text.strip() and not text.endswith(chat.before_calls) else ""
            elif kind:
                # The model's own text stays as it was.
                if (before == "text" and (kind == "call" or chat.words[1])) or (
                    not before and kind == "call" and chat.calls_apart
                ):
                    self._lay(chat.before_calls)
                self._say(self._call_texts([part for part in parts if isinstance(part, ToolCallPart)], kind))
                before = kind
        self._ends_with_calls = before in ("call", "written")

    def _kind(self, part: Any) -> str:
        """What a part of an answer is here: text, a call that was written in this format, another call, nothing."""
        if isinstance(part, TextPart):
            return "text"
        if isinstance(part, ToolCallPart):
            return "written" if self._stands_as_written(part) else "call"
        if isinstance(part, MediaPart):
            raise _no_media(part)
        if isinstance(part, ThinkingPart | OpaquePart):
            return ""
        raise misplaced(part, "assistant")

    def _stands_as_written(self, part: ToolCallPart) -> bool:
        """Whether the model wrote the call in this format, with no more marks than such a call has."""
        if part.written is None or part.written.format != self._format.name:
            return False
        values = [part.name, part.arguments, part.written.call_id]
        if self._marks.clean(values) != values:
            return False
        call = CallToWrite(part.name, part.arguments, self._tools.get(part.name), part.id, self._calls)
        own = write_calls(self._format, [with_own_id(self._format, call)])
        return not self._marks.count(part.written.text) - self._marks.count(own)

    def _call_texts(self, calls: Sequence[ToolCallPart], kind: str) -> str:
        """Calls of one kind in a row; their ids in the prompt are noted."""
        texts: list[str] = []
        to_write: list[CallToWrite] = []
        for part in calls:
            number, self._calls = self._calls, self._calls + 1
            if part.written is not None and kind == "written":
                texts.append(part.written.text)
                self._ids[part.id] = part.written.call_id or part.id
                continue
            name, arguments, call_id = self._marks.clean([part.name, part.arguments, part.id])
            call = with_own_id(self._format, CallToWrite(name, arguments, self._tools.get(part.name), call_id, number))
            self._ids[part.id] = call.call_id
            to_write.append(call)
        if kind == "written":
            return "".join(texts)

        def write(values: list[list[Any]]) -> str:
            made = (
                call._replace(name=name, arguments=arguments, call_id=call_id)
                for call, (name, arguments, call_id) in zip(to_write, values, strict=True)
            )
            return write_calls(self._format, list(made))

        return self._marks.write([[call.name, call.arguments, call.call_id] for call in to_write], write)

    def _results(self, messages: Sequence[Message]) -> None:
        """Adds the results that follow an answer, in the order of its calls."""
        parts: list[ToolResultPart] = []
        for message in messages:
            for part in message.parts:
                if not isinstance(part, ToolResultPart):
                    raise misplaced(part, "tool")
                for media in result_media(part):
                    raise _no_media(media)
                parts.append(part)
        order = {call_id: place for place, call_id in enumerate(self._ids)}
        parts.sort(key=lambda part: order.get(part.id, len(order)))
        if not (self._chat.results_inside and self._turn):
            self._end_turn()
        if self._turn:
            self._turn = "goes on"
        pieces: Pieces = []
        for part in parts:
            pieces += [(self._chat.between_results, True), (self._result(part), False)]
        self._within(self._chat.results, *pieces[1:])

    def _result(self, part: ToolResultPart) -> str:
        """One result, under the id that its call has here."""

        def write(values: list[str]) -> str:
            name, call_id, content = values
            named = msgspec.structs.replace(part, name=name, id=call_id)
            return (self._chat.result or self._format.write_result)(named, content)

        values = [part.name, self._ids.get(part.id, part.id), result_text(part, mark_errors=True)]
        return self._marks.write(values, write)


@cache
def _tags(chat: Chat) -> tuple[str, ...]:
    """The tags around the tool list: plain text to the tokenizer, but the list ends with one."""
    return tags(chat.tools([_ANY_TOOL]))


def _no_media(part: MediaPart) -> ConfigError:
    return ConfigError(
        f"a prompt is text and cannot hold {part.media_type or 'media'}",
        hint="Leave it out, or send messages to an endpoint that takes media.",
    )
