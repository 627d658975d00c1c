"""Calls in a page: a file that is written as a file, an edit as a diff, a command as a command, all else by name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..approval.shown import show_arguments
from ..files.differences import unified
from ..limits import KIB
from ..tools.forms import form_of
from .harmless import harmless
from .trace import TracedCall
from .words import seconds_words, shortened

TEXT_SHOWN = 200 * KIB
"""Characters of one argument or result."""
_RESULT_SHOWN = 20 * KIB
_COMPARED = 512 * KIB


def call_parts(call: TracedCall, *, is_open: bool) -> Iterator[str]:
    """One call, foldable."""
    where = f"#{call.first}" if call.first == call.last else f"#{call.first}–#{call.last}"
    state = '<span class="bad">! will not run</span>' if call.problem else "complete"
    if call.is_error and not call.problem:
        state = f'<span class="bad">! {harmless(call.outcome)}</span>'
    yield f'<details class="call"{" open" if is_open else ""}><summary><b>{harmless(call.name) or "(no name)"}</b> '
    yield f'<code>{harmless(call.id)}</code> · <a href="#f{call.first}">{where}</a> · {state}</summary><div>'
    if call.problem:
        yield f'<p class="bad">{harmless(call.problem)}</p>'
    if call.arguments is not None:
        yield from _arguments(call.name, call.kind, call.arguments)
    elif call.written:
        yield f"<h4>as far as it came</h4><pre>{harmless(shortened(''.join(call.written), TEXT_SHOWN))}</pre>"
    for repair in call.repairs:
        yield f'<p class="note">mended: {harmless(repair)}</p>'
    if call.decision:
        yield f"<p>{harmless(call.decision)}</p>"
    if call.result is not None:
        took = "" if call.seconds is None else f" after {seconds_words(call.seconds)}"
        style = ' class="bad"' if call.is_error else ""
        yield f"<h4{style}>{harmless(call.outcome)}{took}</h4>"
        yield f"<pre>{harmless(shortened(call.result, _RESULT_SHOWN))}</pre>"
    yield "</div></details>"


def _arguments(name: str, kind: str, arguments: dict[str, Any]) -> Iterator[str]:
    rest = dict(arguments)
    shown: list[str] = []
    body = next((each for each in form_of(name).body if isinstance(rest.get(each), str)), "")
    old, new = rest.get("old_text"), rest.get("new_text")
    if kind == "edit_file" and isinstance(old, str) and isinstance(new, str):
        del rest["old_text"], rest["new_text"]
        shown.append(f"<h4>change</h4><pre>{_diff(_between(old, new, str(rest.get('path', ''))))}</pre>")
    elif kind == "edit_file" and body == "patch":
        shown.append(f"<h4>patch</h4><pre>{_diff(rest.pop('patch'))}</pre>")
    elif kind == "run_bash" and body:
        shown.append(f"<h4>command</h4><pre>{harmless(shortened(rest.pop(body), TEXT_SHOWN))}</pre>")
    elif body:
        text = rest.pop(body)
        title = rest.pop("path", "") if isinstance(rest.get("path"), str) else body
        shown.append(f"<h4>{harmless(title)}</h4><pre>{harmless(shortened(text, TEXT_SHOWN))}</pre>")
    if rest or not shown:
        yield f"<pre>{harmless(show_arguments(rest).text)}</pre>"
    yield from shown


def _between(old: str, new: str, path: str) -> str:
    """The two texts as a diff; as they are, where comparing them would take long."""
    if len(old) + len(new) > _COMPARED:
        return "".join(f"-{line}\n" for line in old.split("\n")) + "".join(f"+{line}\n" for line in new.split("\n"))
    return unified(old.encode("utf-8", "replace"), new.encode("utf-8", "replace"), path)


def _diff(text: str) -> str:
    made = []
    for line in shortened(text, TEXT_SHOWN).rstrip("\n").split("\n"):
        shown = harmless(line)
        if line.startswith(("+++ ", "--- ")):
            made.append(f'<span class="mute">{shown}</span>\n')
        elif line.startswith("+"):
            made.append(f"<ins>{shown}</ins>")
        elif line.startswith("-"):
            made.append(f"<del>{shown}</del>")
        else:
            made.append(f"{shown}\n")
    return "".join(made)
