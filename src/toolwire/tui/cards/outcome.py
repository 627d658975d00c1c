"""What came of a call: why it waits or did not run, what it tells while it runs, its result."""

from __future__ import annotations

import msgspec
from textual.content import Span

from ...cli.visible import one_line
from ...providers.media import mention
from ...stream.segments import SegmentType
from .call import Call, State
from .code import above, more
from .line import MUTED, Line, fit, quiet, told
from .syntax import coloured, language_of

OUTPUT = 8
"""Last lines of what a running tool tells, and of what a command wrote."""
_RESULT, _RESULT_OPEN = 6, 5_000
_CHARACTERS = 400_000
"""Of a result that can be looked at in a card."""
_JSON = 100_000
"""Characters up to which a result is looked at for being JSON."""
_COLOURED = 200
_INNER, _INNER_OPEN = 6, 200

_WHY = frozenset({State.DENIED, State.INCOMPLETE, State.CANCELLED})
"""The states in which a call did not run, or not to its end."""
_STYLE = "$text-warning"


def notes(call: Call, *, is_open: bool) -> list[Line]:
    """What stands directly under the head: why it waits, why nothing ran, that somebody changed it."""
    lines: list[Line] = []
    if call.state is State.WAITING and call.asked is not None and call.answered is None:
        request = call.asked.request
        source = f" ({one_line(request.source)[:120]})" if request.source else ""
        lines.append(told(f"asks: {one_line(request.why)}{source}", _STYLE))
        lines += [told(one_line(each), f"bold {_STYLE}", "! ") for each in request.warnings]
    if call.state in _WHY:
        lines.append(_why(call))
    if call.edited:
        lines.append(told("edited by you: these arguments, not the model's", _STYLE))
    lines += [quiet(f"mended: {one_line(each)}") for each in call.repairs]
    if is_open and call.answered is not None and call.answered.allowed:
        scope = "" if call.answered.scope == "once" else f" ({call.answered.scope})"
        lines.append(quiet(f"allowed by {one_line(call.answered.who)[:80]}{scope}"))
    return lines


def outcome(call: Call, path: str, *, is_open: bool) -> list[Line]:
    """What it does and gave: calls of an agent in it, its output, its result. `path` is the file that it is about."""
    lines = call.inner.lines(_INNER_OPEN if is_open else _INNER)
    if call.result is None or call.state is State.CANCELLED:
        lines += _output(call, is_open)
    elif call.state in (State.DONE, State.FAILED):
        lines += _result(call, path, is_open)
    return lines


def language(call: Call) -> str:
    """The language of its result, as far as it has one."""
    if call.result is None or call.result.is_error or not call.result.content.startswith(("{", "[")):
        return ""
    return "json"


def exit_code(call: Call) -> str:
    """How a command ended that did not end well, as its result says last; empty for all else."""
    if call.result is None or call.kind is not SegmentType.RUN_BASH:
        return ""
    last = call.result.content[-400:].rstrip().rpartition("\n")[2]
    if not last.startswith("[exit code "):
        return ""
    number = last.removeprefix("[exit code ").partition(" ")[0]
    return f"exit code {number}" if number.isdecimal() and len(number) < 6 else ""


def _why(call: Call) -> Line:
    words = "it was stopped; a part of its work may be done" if call.ran else "nothing ran"
    if call.state is State.DENIED and call.answered is not None:
        words = f"denied by {one_line(call.answered.who)[:80]}, {words}"
    why = one_line(call.why[:2_000])
    if call.state is State.CANCELLED and why.startswith(("cancelled", "not run")):
        return told(why, _STYLE)
    return told(f"{words}: {why}" if why else words, _STYLE)


def _output(call: Call, is_open: bool) -> list[Line]:
    output = call.output
    if not output.count:
        return []
    most = 10 * OUTPUT if is_open else OUTPUT
    texts = output.last(most)
    lines = [Line(text, "", "│ ", rows=1) for text in texts]
    words = [above(output.count - len(texts))] if output.count > len(texts) else []
    if output.missed:
        words.append(f"missed {output.missed:,} reports")
    return [quiet("; ".join(words), "│ "), *lines] if words else lines


def _result(call: Call, path: str, is_open: bool) -> list[Line]:
    result = call.result
    assert result is not None, "asked for where there is one"
    text = result.content[:_CHARACTERS].rstrip()
    if not text:
        lines = [] if result.media else [quiet("an empty result", "→ ")]
    elif result.is_error:
        lines = _beginning(text.split("\n"), "✗ ", "$text-error", is_open)
    elif call.kind is SegmentType.RUN_BASH:
        lines = _command_output(text.split("\n"), is_open)
    elif call.kind in (SegmentType.WRITE_FILE, SegmentType.EDIT_FILE) and not is_open:
        # What was written is seen above.
        lines = [Line(fit(text.partition("\n")[0][:2_000]), "", "→ ", rows=2, by_words=True)]
    elif _numbered(text[:200].partition("\n")[0]) is not None:
        lines = _file_lines(text.split("\n"), path, is_open)
    else:
        lines = _anything(text, is_open)
    if len(result.content) > _CHARACTERS:
        lines.append(quiet(f"… {len(result.content) - _CHARACTERS:,} more characters are not shown here", "  "))
    lines += [quiet(one_line(mention(part)), "  ") for part in result.media[:20]]
    if result.note:
        lines.append(quiet(f"note: {one_line(result.note)}", "  "))
    return lines


def _beginning(
    texts: list[str], mark: str, style: str, is_open: bool, spans: list[list[Span]] | None = None
) -> list[Line]:
    """The first lines of a result, or all."""
    shown, hidden = _first(texts, is_open)
    rows = 0 if is_open else 3 if len(texts) == 1 else 2
    lines = []
    for number, text in enumerate(shown):
        colours = spans[number] if spans else ()
        gutter = "  " if number else mark
        fitted = fit(text if is_open else text[:2_000])
        lines.append(Line(fitted, style, gutter, style or MUTED, colours, rows, by_words=not spans))
    return [*lines, quiet(more(hidden), "  ")] if hidden else lines


def _command_output(texts: list[str], is_open: bool) -> list[Line]:
    """The last lines of what a command wrote, and how it ended."""
    most = _RESULT_OPEN if is_open else OUTPUT
    shown = texts[-most:] if len(texts) > most + 1 else texts
    lines = []
    for number, text in enumerate(shown):
        ending = number >= len(shown) - 3 and text.startswith("[") and text.endswith("]")
        lines.append(
            Line(fit(text if is_open else text[:2_000]), _STYLE if ending else "", "│ ", rows=0 if is_open else 2)
        )
    hidden = len(texts) - len(shown)
    return [quiet(more(hidden), "│ "), *lines] if hidden else lines


def _file_lines(texts: list[str], path: str, is_open: bool) -> list[Line]:
    """Lines of a file, as tools give them that read one: number, tab, text."""
    shown, hidden = _first(texts, is_open)
    parts = [_numbered(text) or ("", text) for text in shown]
    fitted = [fit(text if is_open else text[:2_000]) for _, text in parts]
    known = coloured(fitted, language_of(path)) if len(fitted) <= _COLOURED else [[] for _ in fitted]
    width = max(len(number) for number, _ in parts)
    lines = [
        Line(
            text,
            "" if number else MUTED,
            f"{number:>{width}}  ",
            spans=spans if number else (),
            rows=0 if is_open else 1,
            by_words=True,
        )
        for (number, _), text, spans in zip(parts, fitted, known, strict=True)
    ]
    return [*lines, quiet(more(hidden))] if hidden else lines


def _numbered(line: str) -> tuple[str, str] | None:
    """The number and the text of a line of a file; None if it is none."""
    number, tab, text = line.partition("\t")
    number = number.strip(" ")
    return (number, text) if tab and number.isdecimal() and len(number) < 9 else None


def _anything(text: str, is_open: bool) -> list[Line]:
    pretty = _pretty(text)
    if not pretty or (not is_open and pretty.count("\n") >= _RESULT):
        return _beginning(text.split("\n"), "→ ", "", is_open)  # JSON too: as one long line more of it is seen
    texts = pretty.split("\n")
    known = coloured([fit(each) for each in texts], "json") if len(texts) <= _COLOURED else [[] for _ in texts]
    return _beginning(texts, "→ ", "", is_open, known)


def _first(texts: list[str], is_open: bool) -> tuple[list[str], int]:
    """The lines to show, and how many are left; a single one more is shown rather than counted."""
    most = _RESULT_OPEN if is_open else _RESULT
    shown = texts[:most] if len(texts) > most + 1 else texts
    return shown, len(texts) - len(shown)


def _pretty(text: str) -> str:
    """JSON with a line for each of its values; empty for what is none, or has several lines already."""
    if not text.startswith(("{", "[")) or len(text) > _JSON or text.count("\n") > 2:
        return ""
    try:
        msgspec.json.decode(text, type=msgspec.Raw)
        return msgspec.json.format(text, indent=2)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return ""
