"""What `toolwire doctor` found: a mark, one sentence, and beneath it what to do. For people, and as JSON for reports.

No secret leaves here: every text goes through a redactor that knows the environment's, and through `one_line`, since
much of it was said by servers. The home folder is written `~`, so that a report can be handed on.
"""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterable, Mapping
from typing import Any, Literal

import msgspec

from .. import __version__
from ..providers.catalog import PROVIDERS
from ..redaction import Redactor
from .console import PlainConsole
from .visible import json_bytes, one_line

State = Literal["well", "unused", "odd", "wrong"]

_MARKS: dict[State, tuple[str, str, str]] = {
    "well": ("✓", "+", "green"),
    "unused": ("–", "-", "dim"),
    "odd": ("!", "!", "yellow"),
    "wrong": ("✗", "x", "bold red"),
}
"""The mark, the same for terminals that have ASCII alone, and its colour."""
_KEY = 12
"""Characters that a key has at least."""
_WORDS = 600
"""Characters of one sentence: a server may say a lot."""


class Finding(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing that was looked at."""

    name: str
    state: State
    """`well`; `unused`: not there, and nothing needs it; `odd`: to be looked at; `wrong`: something will fail."""
    words: str
    todo: str = ""
    facts: dict[str, Any] = {}
    """The same for programs."""


class Found(msgspec.Struct, frozen=True, tag="finding", tag_field="kind", omit_defaults=True):
    """A finding on a line of JSON."""

    group: str
    name: str
    state: State
    words: str
    todo: str = ""
    facts: dict[str, Any] = {}


class Verdict(msgspec.Struct, frozen=True, tag="verdict", tag_field="kind"):
    """What it all came to, on the last line."""

    well: bool
    words: str
    wrong: int
    odd: int
    toolwire: str
    python: str
    platform: str


def well(name: str, words: str, **facts: Any) -> Finding:
    """All is as it should be."""
    return Finding(name=name, state="well", words=words, facts=facts)


def unused(name: str, words: str, todo: str = "", **facts: Any) -> Finding:
    """It is not there, and nothing needs it."""
    return Finding(name=name, state="unused", words=words, todo=todo, facts=facts)


def odd(name: str, words: str, todo: str = "", **facts: Any) -> Finding:
    """Worth a look; nothing fails because of it."""
    return Finding(name=name, state="odd", words=words, todo=todo, facts=facts)


def wrong(name: str, words: str, todo: str = "", **facts: Any) -> Finding:
    """It does not work."""
    return Finding(name=name, state="wrong", words=words, todo=todo, facts=facts)


class Report:
    """Prints groups of findings as they come, and counts them."""

    def __init__(self, env: Mapping[str, str], *, json: bool) -> None:
        self._json = json
        self._console = PlainConsole()
        # Keys by their variables too, whatever these are called; what is shorter is a word that stands in for a key.
        held = {env.get(name, "").strip() for row in PROVIDERS.values() for name in row.keys}
        self._redactor = Redactor([key for key in held if len(key) >= _KEY], env)
        self._home = os.path.realpath(env.get("HOME") or os.path.expanduser("~")).rstrip(os.sep)
        self._homes = [home for home in {self._home, env.get("HOME", "").rstrip(os.sep)} if home]
        self._ascii = not _takes_marks(sys.stdout.encoding)
        self._counts: dict[State, int] = dict.fromkeys(_MARKS, 0)

    @property
    def is_well(self) -> bool:
        """Whether nothing is wrong so far."""
        return not self._counts["wrong"]

    def add(self, group: str, findings: Iterable[Finding]) -> None:
        """Shows a group."""
        for number, each in enumerate(findings):
            self._counts[each.state] += 1
            clean = Finding(
                name=self._clean(each.name),
                state=each.state,
                words=self._clean(each.words),
                todo=self._clean(each.todo),
                facts=self._facts(each.facts),
            )
            if self._json:
                _write(Found(group, clean.name, clean.state, clean.words, clean.todo, clean.facts))
            else:
                if number == 0:
                    self._console.print(f"\n{group}", style="bold")
                self._line(clean)

    def end(self) -> None:
        """Says what it came to."""
        failed, looked = self._counts["wrong"], self._counts["odd"]
        words = [f"{_things(failed)} wrong"] if failed else []
        words += [f"{_things(looked)} to look at"] if looked else []
        sentence = f"{', '.join(words)}." if words else "All is well."
        if not self._json:
            self._console.print(f"\n{sentence[:1].upper()}{sentence[1:]}")
            return
        machine = f"{platform.system()} {platform.release()} {platform.machine()}"
        _write(Verdict(not failed, sentence, failed, looked, __version__, platform.python_version(), machine))

    def _line(self, finding: Finding) -> None:
        from rich.table import Table
        from rich.text import Text

        mark, plain, style = _MARKS[finding.state]
        mark = plain if self._ascii else mark
        dim = "dim" if finding.state == "unused" else ""
        words = Text.assemble((f"{finding.name}: ", dim or "bold"), (finding.words, dim))
        if not self._console.is_terminal:
            todo = f"\n      {finding.todo}" if finding.todo else ""
            self._console.out(f"  {mark} {words.plain}{todo}")
            return
        rows = Table.grid(padding=(0, 1, 0, 0))
        rows.add_column(width=3, justify="right")
        rows.add_column(overflow="fold")
        rows.add_row(Text(mark, style=style), words)
        if finding.todo:
            rows.add_row("", Text(f"→ {finding.todo}" if not self._ascii else f"-> {finding.todo}", style=dim))
        self._console.print(rows)

    def _clean(self, text: str) -> str:
        text = self._redactor.text(text)
        for home in self._homes:
            text = text.replace(f"{home}{os.sep}", f"~{os.sep}")
        text = one_line(text)
        return text if len(text) <= _WORDS else f"{text[:_WORDS]}…"

    def _facts(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._clean(value)
        if isinstance(value, dict):
            return {name: self._facts(each) for name, each in value.items()}
        return [self._facts(each) for each in value] if isinstance(value, (list, tuple)) else value


def _takes_marks(encoding: str | None) -> bool:
    try:
        "".join(mark for mark, _, _ in _MARKS.values()).encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def _things(count: int) -> str:
    return f"{count} thing{'' if count == 1 else 's'}"


def _write(value: object) -> None:
    sys.stdout.buffer.write(json_bytes(value) + b"\n")
    sys.stdout.buffer.flush()
