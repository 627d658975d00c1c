"""Questions for what the embedded model cannot do, and the sentence that says so.

Left alone it pretends: it reads the file that it should delete, and invents the weather. The rule, in full:

- only a tool that is named after it (`delete_file`) may write, change or delete a file;
- a tool that needs text, such as the content of a file or a command, fits only if the question quotes that text;
- if no tool is left, a question for such a job is refused, and so are one for the world outside, such as the weather or
  a web search, and one about text that was piped in or attached.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from .fitting import FIT, fitting_tools
from .question import Question, stem
from .vocabulary import BEFORE_VERBS, COMPOSED_WORDS, FILE_WORDS, word_set


class _Job(msgspec.Struct, frozen=True):
    """What is asked for, in words that follow "cannot", and how a question asks for it."""

    what: str
    verbs: frozenset[str] = frozenset()
    """Where a clause may begin with a verb."""
    words: frozenset[str] = frozenset()
    """Anywhere."""
    local: frozenset[str] = frozenset()
    """Beside a place or a day."""


_FILE_JOBS = (
    _Job("delete files", word_set("delete remove erase rm trash")),
    _Job("rename or move files", word_set("rename move")),
    _Job("copy files", word_set("copy")),
    _Job("write files", word_set("write save append add insert put create make mkdir touch")),
    _Job("change files", word_set("edit change modify update replace fix refactor rewrite")),
)
_MAKING = word_set("create make")
_OUTSIDE = (
    _Job("run commands", word_set("run execute install uninstall compile build deploy git pip npm clone restart")),
    _Job("search", word_set("search google browse")),
    _Job("open web pages", word_set("fetch download visit")),
    _Job("send messages", word_set("send email mail")),
    _Job("arrange that", word_set("remind schedule book order buy")),
    _Job("make pictures", word_set("draw paint sketch")),
    _Job("translate", word_set("translate")),
    _Job(
        "look up the weather",
        words=word_set("weather forecast raining snowing"),
        local=word_set("cloudy cold hot humid rain snow sunny temperature warm windy"),
    ),
    _Job("look up the news", words=word_set("news headlines")),
    _Job("look up prices", words=word_set("stock stocks bitcoin")),
)
_DAYS = word_set("today tonight tomorrow now outside")


def serving_tools(question: Question, tools: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The tools that fit the question best and that the model can call rightly."""
    asked = {stem(verb) for job in _file_jobs(question) for verb in job.verbs}
    able = [tool for tool in tools if _can_fill(tool, question) and (not asked or asked & _name_stems(tool))]
    return fitting_tools(question, able, at_least=1 if asked else FIT)


def unsupported(question: Question, tools: list[dict[str, Any]], *, material: bool) -> str:
    """The sentence for a question that no tool serves and that the model cannot answer; empty for talk.

    With `material`, text was piped in or attached.
    """
    for job in _file_jobs(question):
        return _cannot(job.what)
    if fitting_tools(question, [tool for tool in tools if not _can_fill(tool, question)]):
        return _cannot("write files or commands")
    spoken = {verb for verb, _ in _verbs(question)}
    for job in _OUTSIDE:
        if (job.verbs & spoken) | (job.words & question.lower) | _local_words(job, question):
            names = set(map(stem, job.verbs | job.words | job.local))
            return _cannot(job.what, tool_helps=not any(_name_stems(tool) & names for tool in tools))
    return _cannot("work on text that is piped in or attached") if material else ""


def _cannot(what: str, *, tool_helps: bool = False) -> str:
    more = " without a tool for it; add one, or" if tool_helps else ";"
    larger = "a larger model (--model, or /model in the chat)"
    return f"I am a very small embedded model and cannot {what}{more} use {larger}."


def _verbs(question: Question) -> Iterator[tuple[str, list[str]]]:
    """The words where a clause may begin with a verb, each with those that follow: "please delete", "and fix"."""
    words = [word.lower() for word in question.words]
    for place, word in enumerate(words):
        if place == 0 or words[place - 1] in BEFORE_VERBS:
            yield word, words[place + 1 :]


def _file_jobs(question: Question) -> Iterator[_Job]:
    """What is to be done to files."""
    paths = {path.lower() for path in question.paths}
    objects = FILE_WORDS | paths | (word_set("it them") if paths else frozenset())
    for verb, following in _verbs(question):
        if objects & set(following[:3] if verb in _MAKING else following):
            yield from (job for job in _FILE_JOBS if verb in job.verbs)


def _local_words(job: _Job, question: Question) -> frozenset[str]:
    return job.local & question.lower if question.places or question.lower & _DAYS else frozenset()


def _name_stems(tool: dict[str, Any]) -> set[str]:
    name = str(tool["name"])
    return set(map(stem, "".join(f" {c}" if c.isupper() else c if c.isalnum() else " " for c in name).lower().split()))


def _can_fill(tool: dict[str, Any], question: Question) -> bool:
    """Whether the tool needs no text that a model has to compose, or needs what the question quotes."""
    schema = tool.get("parameters")
    if not isinstance(schema, dict) or not isinstance(schema.get("properties"), dict):
        return True
    required = schema.get("required", ()) if question.quotations else ()
    composed = [name for name in schema["properties"] if COMPOSED_WORDS & set(str(name).lower().split("_"))]
    return all(name in required for name in composed)
