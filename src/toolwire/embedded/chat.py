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
from itertools import groupby
from typing import Any, NamedTuple

import msgspec

from ..errors import ConfigError
from ..messages import MediaPart, Message, OpaquePart, TextPart, ThinkingPart, ToolCallPart, ToolResultPart
from ..providers.encoding import misplaced, result_media, result_text
from ..providers.request import as_message
from ..tools.registry import ToolRegistry
from .choosing import named_format
from .family import harmless
from .format import CallToWrite, Chat, Format, write_calls
from .models import has_other_turns
from .prose import opens_reasoning as ends_with_opening
from .registry import AUTO

_BETWEEN = "\n\n"


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
    - Words, results and arguments hold none of the family's marks: whatever a user or a tool says, or a model quotes,
      it ends no turn and makes no call. The system's words are taken as they are.

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
        laid_out = "".join(
            (chat.begin, *chat.system, *chat.user, *chat.assistant, *chat.results, chat.answer, *chat.stop)
        )
        call = write_calls(format, [CallToWrite("f", {})])
        self._turn_marks = [mark for mark in format.marks if mark in laid_out and mark not in call]
        """What begins and ends turns, and stands in no call."""
        self._calls = 0
        self._ids: dict[str, str] = {}
        """The ids that the calls of the last answer have in the prompt, by their own, in order."""
        self._lead = ""
        """What the first words of the user begin with."""
        self._turn = ""
        """Whether an answer's turn is still to be ended: "open" after the answer, "goes on" after results inside it."""
        self._ends_with_calls = False
        """Whether the last thing in that answer is a call."""

    def prompt(self, messages: list[Message], reasoning: bool | None) -> Prompt:
        chat = self._chat
        first = next((at for at, message in enumerate(messages) if message.role != "system"), len(messages))
        asked = max((at for at, message in enumerate(messages) if message.role == "user"), default=first)
        pieces = [chat.begin, self._opening(_BETWEEN.join(map(self._words, messages[:first])))]
        for role, group in groupby(range(first, len(messages)), key=lambda at: messages[at].role):
            places = list(group)
            if role == "tool":
                pieces.append(self._results([messages[at] for at in places]))
                continue
            for at in places:
                if role == "assistant":
                    pieces.append(self._answer(messages[at], keep_thought=at > asked))
                    continue
                pieces.append(self._end_turn())
                if at == asked and chat.tools_at == "last_user" and len(self._tools):
                    pieces.append(chat.tools(list(self._tools)))
                pieces.append(self._said(messages[at]))
        end = self._end(reasoning)
        pieces.append(end)
        return Prompt("".join(pieces), chat.stop, ends_with_opening(self._format.thinking, end))

    def _end(self, reasoning: bool | None) -> str:
        """What asks for an answer, after the turn before it has ended."""
        chat = self._chat
        suffix = "" if reasoning is None else chat.reasoning if reasoning else chat.no_reasoning
        if self._turn == "goes on":
            return suffix if chat.reasons_again else ""
        alone = _within(chat.user, self._lead.removesuffix(_BETWEEN)) if self._lead else ""
        return self._end_turn() + alone + chat.answer + suffix

    def _end_turn(self) -> str:
        """The end of an answer's turn, if it is still open: results may have come into it."""
        turn, self._turn = self._turn, ""
        if turn == "open" and self._ends_with_calls and self._chat.after_calls:
            return self._chat.after_calls
        return self._chat.assistant[1] if turn else ""

    def _opening(self, system: str) -> str:
        """What stands before the first turn: the system's words and, unless they come later, the tools."""
        chat = self._chat
        words = system or chat.default_system
        told = chat.tools(list(self._tools)) if len(self._tools) and chat.tools_at != "last_user" else ""
        before = told if chat.tools_at == "before_system" else ""
        after = told if chat.tools_at == "after_system" else ""
        if chat.tools_at == "system":
            words = f"{words}{told}" if words else told.lstrip("\n")
        elif chat.tools_at == "system_first":
            words = _BETWEEN.join(filter(None, (told, words)))
        if not words:
            return before + after
        if chat.system_in_user:
            self._lead = words + _BETWEEN
            return before + after
        return before + _within(chat.system, words) + after

    def _said(self, message: Message) -> str:
        if message.role == "system":
            return _within(self._chat.system, self._words(message))
        lead, self._lead = self._lead, ""
        return _within(self._chat.user, lead + self._harmless(self._words(message)))

    def _words(self, message: Message) -> str:
        """The text of a message that holds nothing else."""
        for part in message.parts:
            if isinstance(part, MediaPart):
                raise _no_media(part)
            if not isinstance(part, TextPart):
                raise misplaced(part, message.role)
        return message.text

    def _answer(self, message: Message, *, keep_thought: bool) -> str:
        chat = self._chat
        pieces = [] if self._turn == "goes on" else [self._end_turn(), chat.assistant[0]]
        self._turn = "open"
        self._ids = {}
        thought = "".join(part.text for part in message.parts if isinstance(part, ThinkingPart)).strip()
        if keep_thought and chat.thought is not None and thought:
            pieces.append(_within(chat.thought, self._harmless(thought)))
        else:
            pieces.append(chat.no_thought)
        before = ""
        for kind, parts in groupby(message.parts, self._kind):
            if kind == "text":
                text = self._harmless("".join(part.text for part in parts if isinstance(part, TextPart)))
                if before == "call" and text.strip() and not text.startswith("\n"):
                    pieces.append("\n")
                pieces.append(_within(chat.words, text) if text.strip() else text)
                before = "text" if text.strip() and not text.endswith(chat.before_calls) else ""
            elif kind:
                # What the model wrote stands as it stood, but for marks: those are nobody's words.
                if (before == "text" and (kind == "call" or chat.words[1])) or (
                    not before and kind == "call" and chat.calls_apart
                ):
                    pieces.append(chat.before_calls)
                pieces.append(self._call_texts([part for part in parts if isinstance(part, ToolCallPart)], kind))
                before = kind
        self._ends_with_calls = before in ("call", "written")
        return "".join(pieces)

    def _kind(self, part: Any) -> str:
        """What a part of an answer is here: text, a call that was written in this format, another call, nothing."""
        if isinstance(part, TextPart):
            return "text"
        if isinstance(part, ToolCallPart):
            is_own = part.written is not None and part.written.format == self._format.name
            return "written" if is_own and self._clean(part.arguments) == part.arguments else "call"
        if isinstance(part, MediaPart):
            raise _no_media(part)
        if isinstance(part, ThinkingPart | OpaquePart):
            return ""
        raise misplaced(part, "assistant")

    def _call_texts(self, calls: Sequence[ToolCallPart], kind: str) -> str:
        """Calls of one kind in a row; their ids in the prompt are noted."""
        texts: list[str] = []
        to_write: list[CallToWrite] = []
        for part in calls:
            call = CallToWrite(
                self._harmless(part.name), self._clean(part.arguments), self._tools.get(part.name), part.id
            )
            call = call._replace(number=self._calls)
            self._calls += 1
            if part.written is not None and kind == "written":
                texts.append(harmless(part.written.text, self._turn_marks))
                self._ids[part.id] = part.written.call_id or part.id
                continue
            call = with_own_id(self._format, call)
            self._ids[part.id] = call.call_id
            to_write.append(call)
        return "".join(texts) if kind == "written" else write_calls(self._format, to_write)

    def _results(self, messages: Sequence[Message]) -> str:
        """The results that follow an answer, in the order of its calls."""
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
        write = self._chat.result or self._format.write_result
        texts = [
            write(
                msgspec.structs.replace(part, id=self._ids.get(part.id, part.id)),
                self._harmless(result_text(part, mark_errors=True)),
            )
            for part in parts
        ]
        before = "" if self._chat.results_inside and self._turn else self._end_turn()
        if self._turn:
            self._turn = "goes on"
        return before + _within(self._chat.results, self._chat.between_results.join(texts))

    def _harmless(self, text: str) -> str:
        return harmless(text, self._format.marks)

    def _clean(self, value: Any) -> Any:
        """The value with no mark in any string of it: arguments may quote what a page said."""
        if isinstance(value, str):
            return self._harmless(value)
        if isinstance(value, dict):
            return {self._harmless(key): self._clean(item) for key, item in value.items()}
        return [self._clean(item) for item in value] if isinstance(value, list) else value


def _within(pair: tuple[str, str], text: str) -> str:
    return f"{pair[0]}{text}{pair[1]}"


def _no_media(part: MediaPart) -> ConfigError:
    return ConfigError(
        f"a prompt is text and cannot hold {part.media_type or 'media'}",
        hint="Leave it out, or send messages to an endpoint that takes media.",
    )
