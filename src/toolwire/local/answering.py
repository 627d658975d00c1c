"""Answers without a call: from the results of tools, and plain talk.

A model of this size miscopies numbers and makes up who it is. So its answer to a result is held by a grammar to one
sentence that quotes the result letter by letter, and its answer to "Who are you?" to what is true.
"""

from __future__ import annotations

from typing import Any

import msgspec

from ..embedded.format import Format
from ..messages import ToolResultPart
from .question import Question
from .vocabulary import ABOUT_ITSELF, NOT_IN_SUBJECT, STOP_WORDS

QUOTE_CHARACTERS = 240
PROMPT_BYTES = 2400
"""Some 600 tokens of English, read in four seconds; at worst a token a byte, which still fits the context."""

_SYSTEM = "You are a very small language model. You answer in one or two short sentences."
_TALK = (
    ("Hello!", "Hello! What can I do for you?"),
    ("Thank you!", "You are welcome."),
    ("What is the capital of Italy?", "The capital of Italy is Rome."),
    ("Tell me a fact.", "Honey never spoils."),
)
_RESULT_SYSTEM = "Answer the question in one short sentence with the result."
_RESULTS = (
    ("What time is it in Cairo?", "09:15", "The time in Cairo is 09:15."),
    ("How tall is the Eiffel Tower?", "330 m", "The Eiffel Tower is 330 m tall."),
    ("What files are in music?", "a.mp3, b.mp3", "The files in music are: a.mp3, b.mp3."),
)
_VERBS = (" is ", " is equal to ", " are: ")


def text_of(message: dict[str, Any]) -> str:
    """The words of an OpenAI message, with the model's control words made harmless."""
    content = message.get("content")
    if isinstance(content, list):
        content = "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return content.replace("<|", "< |") if isinstance(content, str) else ""


def answer_from_results(
    messages: list[dict[str, Any]], question: Question, format: Format | None = None
) -> dict[str, Any]:
    """Messages and grammar for the sentence that answers `question` with the tool results at the end of `messages`.

    With a `format` the results are shown as that writes them.
    """
    results: list[str] = []
    for message in reversed(messages):
        if message.get("role") != "tool":
            break
        results.append(_one_line(text_of(message)))
    quote = _cut("; ".join(result for result in reversed(results) if result) or "nothing", 2 * QUOTE_CHARACTERS)
    turns = [{"role": "system", "content": _RESULT_SYSTEM}]
    for asked, result, answer in _RESULTS:
        turns += [
            {"role": "user", "content": f"{asked}\n{_shown(result, format)}"},
            {"role": "assistant", "content": answer},
        ]
    turns.append({"role": "user", "content": f"{question.text}\n{_shown(quote, format)}"})
    return {"messages": turns, "grammar": _sentence(question, quote), "temperature": 0}


def plain_answer(text: str, question: Question, tools: list[dict[str, Any]]) -> dict[str, Any]:
    """Messages for talk: a few examples of short answers, then the prompt `text`, as far as it fits.

    Without earlier turns: a model of this size goes on with them instead of answering.
    """
    turns = [{"role": "system", "content": _SYSTEM}]
    for asked, answer in _TALK:
        turns += [{"role": "user", "content": asked}, {"role": "assistant", "content": answer}]
    turns.append({"role": "user", "content": text.encode(errors="replace")[:PROMPT_BYTES].decode(errors="ignore")})
    request: dict[str, Any] = {"messages": turns, "temperature": 0}
    if _is_about_the_model(question):
        return request | {"grammar": _who_it_is(tools)}
    return request | {"repeat_penalty": 1.1}


def refusal(sentence: str, question: Question) -> dict[str, Any]:
    """Messages and grammar for exactly this sentence."""
    turns = [{"role": "system", "content": _SYSTEM}, {"role": "user", "content": question.text}]
    return {"messages": turns, "grammar": f"root ::= {_literal(sentence)}\n", "temperature": 0}


def _shown(result: str, format: Format | None) -> str:
    return f"Result: {result}" if format is None else format.write_result(ToolResultPart("", "tool"), result)


def _is_about_the_model(question: Question) -> bool:
    """ "Who are you?", "What can you do?": the word "you", and nothing that leads elsewhere."""
    return bool(question.lower & {"you", "your", "yourself"}) and question.lower <= STOP_WORDS | ABOUT_ITSELF


def _who_it_is(tools: list[dict[str, Any]]) -> str:
    names = ", ".join(str(tool["name"]) for tool in tools[:12])
    can = f"I can call these tools: {names}." if names else "I have no tools here."
    said = f"I am SmolLM2, a very small language model with 135 million parameters, running on this computer. {can}"
    return f"root ::= {_literal(said)} ({_literal(' I know little and make mistakes, so check what I say.')})?\n"


def _sentence(question: Question, quote: str) -> str:
    """GBNF for one sentence: words of the question in their order, a verb, the result letter by letter, a full stop.

    For "What time is it in Tokyo?" and "14:05": `The time in Tokyo is 14:05.` The model chooses the words and the verb.
    """
    stop = "" if quote.endswith((".", "!", "?")) else _literal(".")
    if quote.lower().startswith("error"):
        return f"root ::= {_literal(f'That did not work: {quote}')} {stop}\n"
    if not stop:
        return f"root ::= {_literal(quote)}\n"
    if question.files and len(quote) > 60:
        return f"root ::= {_literal(f'{question.files[0]} says: {quote}')} {stop}\n"
    value = _value(quote)
    words = [word.rstrip("?!.,;:") for word in question.text.split()]
    words = [word for word in words if word and word.lower() not in NOT_IN_SUBJECT][:16]
    subjects = ['"The answer"', '"The result"']
    rules: list[str] = []
    following = ""
    for position in range(len(words) - 1, -1, -1):
        # rest7: nothing more, or word 7 and rest8, or rest8 without word 7.
        word = _literal(words[position])
        subjects.append(f"{word} {following}")
        if words[position].isalpha():
            subjects.append(f'"The " {word} {following}')
        options = ['""', f'" " {word} {following}', following]
        rules.append(f"rest{position} ::= {' | '.join(option for option in options if option)}")
        following = f"rest{position}"
    units = [_literal(f" {word}") for word in words if word.isalpha() and word.lower() not in STOP_WORDS]
    bare_number = not any(character.isalpha() for character in value)
    tail = f"({' | '.join(units)})?" if units and bare_number else ""
    verbs = " | ".join(_literal(verb) for verb in (*_VERBS, *([" says: "] if question.files else [])))
    root = f"root ::= ({_literal(quote)} | subject ({verbs}) {_literal(value)} {tail}) {stop}"
    return "\n".join([root, f"subject ::= {' | '.join(subjects)}", *rules, ""])


def _value(quote: str) -> str:
    """The part of a result after its own "12 * 7 =" or "Asia/Tokyo:", where it has one."""
    for sign in (" = ", ": "):
        before, found, after = quote.partition(sign)
        if found and after and len(before) <= 60 and (sign == " = " or " " not in before):
            return after
    return quote


def _literal(text: str) -> str:
    """A GBNF string. Control characters, which it cannot hold, are left out."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(character for character in escaped if character.isprintable()) + '"'


def _one_line(text: str) -> str:
    """A result on one line: the fields of a JSON object, the items of a list, or the lines, and not too much of it."""
    try:
        fields = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        fields = None
    if isinstance(fields, dict):
        pieces = [f"{key} {value}" for key, value in fields.items()]
    elif isinstance(fields, list):
        pieces = [str(value) for value in fields]
    else:
        pieces = text[: 4 * QUOTE_CHARACTERS].splitlines()
    joined = ", ".join(" ".join(piece.split()) for piece in pieces[:100] if piece.strip())
    return _cut(joined, QUOTE_CHARACTERS)


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[:limit].rstrip() + " ..."
