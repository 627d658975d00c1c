"""The text of an approval question: what would run, exactly, in lines that fit the terminal.

No line of it is left to the terminal to break: what came from a model never stands at the start of a line, where it
could pass for a line of the question.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

from rich.cells import cell_len

from ..approval.hidden import marked
from ..approval.misreading import warnings
from ..approval.request import ApprovalRequest
from ..approval.shown import show_arguments

SHOWN_PARTS = 20
PREVIEW_LINES = 200
"""How much of a change is shown with the question; `v` shows the rest."""
_DIFF_STYLES = (("+++", "bold"), ("---", "bold"), ("+", "green"), ("-", "red"), ("@@", "cyan"))
SENTENCE_CHARACTERS = 500
"""How much of a sentence, a name or a part is shown. The arguments below it are exact."""
NO_RULE = frozenset(
    ("mode", "not understood", "the tool", "runs later", "the call", "hidden", "hard links", "the repository")
)
"""Sources that say no more than the reason itself."""
_LINE, _GO_ON = "    │ ", "    ┊ "
_BESIDE = len(_LINE) + 1
"""Cells of a line that are not for its text: the bar, and the last one, where some terminals break already."""


class Line(NamedTuple):
    """One line for the screen."""

    text: str
    style: str = ""


def question_lines(request: ApprovalRequest, width: int, kept_in: str) -> Iterator[Line]:
    """Everything there is to know before the answer. `kept_in`: the file for what holds always, if there is."""
    call = request.invocation
    name, cwd = marked(call.tool_name), marked(request.cwd)
    yield from sentence(f"{name} wants to run (risk: {request.risk}) in {cwd}", width, "bold yellow")
    by = "" if request.source in NO_RULE else f" ({marked(request.source)})"
    yield from sentence(f"Asked because {marked(request.why)}{by}", width)
    yield from argument_lines(request.shown, width)
    yield from _preview_lines(request, width)
    if request.parts != ("the call",):
        for part in request.parts[:SHOWN_PARTS]:
            yield from sentence(f"- {marked(part)}", width)
        if len(request.parts) > SHOWN_PARTS:
            yield from sentence(f"- and {len(request.parts) - SHOWN_PARTS} more", width)
    yield from _warnings(request.warnings, width)
    for repair in call.repairs:
        yield from sentence(f"The call was malformed and is a guess: {marked(repair)}", width, "yellow")
    if not request.fully_shown:
        yield from sentence("Not all of it is shown: v shows everything. It can only be allowed once.", width, "yellow")
    yield from _lasting_lines(request, width, kept_in)


def model_question_lines(question: str, options: Sequence[str], width: int) -> Iterator[Line]:
    """What the model wants to know, behind a bar, and the answers that it proposes."""
    yield from sentence("The model asks:", width, "bold yellow")
    yield from argument_lines("\n".join(map(marked, question.split("\n"))), width)
    for number, option in enumerate(options, 1):
        yield from sentence(f"{number}. {marked(option)}", width)
    if options:
        yield from sentence("Type a number, or other words.", width)


def changed_lines(arguments: dict[str, Any], width: int) -> Iterator[Line]:
    """The same for arguments that the person changed."""
    shown = show_arguments(arguments)
    yield from sentence("It would run with these arguments instead:", width, "bold yellow")
    yield from argument_lines(shown.text, width)
    yield from _warnings(warnings(arguments), width)
    if not shown.complete:
        yield from sentence("Not all of it is shown: v shows everything.", width, "yellow")


def argument_lines(shown: str, width: int) -> Iterator[Line]:
    """Arguments as they were shown, each line behind a bar; a bar of dots says that the line before goes on."""
    for line in shown.split("\n"):
        bar = _LINE
        for piece in fitting_pieces(line, width - _BESIDE):
            yield Line(bar + piece)
            bar = _GO_ON


def _preview_lines(request: ApprovalRequest, width: int) -> Iterator[Line]:
    """What it would change; of a new file only that it is one, where all that it would hold stands in the arguments."""
    if not request.preview:
        return
    if is_known_content(request):
        yield from sentence("It would make a new file.", width)
        return
    if "\n" not in request.preview and len(request.preview) <= SENTENCE_CHARACTERS:
        yield from sentence(request.preview, width, "yellow")
        return
    words, below = headed(request.preview)
    yield from sentence(words, width)
    lines = list(difference_lines(below, width))
    yield from lines[:PREVIEW_LINES]
    if is_long_preview(request, width):
        yield from sentence(f"… and {len(lines) - PREVIEW_LINES:,} more lines: v shows them", width, "yellow")


def headed(preview: str) -> tuple[str, str]:
    """The sentence above a preview, and what stands behind bars: of what is no diff, the first line is the sentence."""
    if preview.startswith(("-", "+", "@", " ")):
        return "What it would change:", preview
    words, _, below = preview.partition("\n")
    return words, below


def is_long_preview(request: ApprovalRequest, width: int) -> bool:
    """Whether some of the change is not shown with the question."""
    lines = difference_lines(headed(request.preview)[1], width)
    return not is_known_content(request) and next(islice(lines, PREVIEW_LINES, None), None) is not None


def is_known_content(request: ApprovalRequest) -> bool:
    """Whether the change is a new file, and each line of it stands in the arguments."""
    head, *lines = request.preview.split("\n")
    texts = [value for value in request.invocation.arguments.values() if isinstance(value, str)]
    known = {marked(line) for text in texts for line in text.split("\n")}
    return head == "--- /dev/null" and known.issuperset(line[1:] for line in lines[2:] if line.startswith("+"))


def difference_lines(difference: str, width: int) -> Iterator[Line]:
    """A change, each line behind a bar as the arguments are, in the colours of a diff."""
    for line in difference.removesuffix("\n").split("\n"):
        yield from (shown._replace(style=difference_style(line)) for shown in argument_lines(line, width))


def difference_style(line: str) -> str:
    """The colour of a line of a unified diff."""
    return next((style for start, style in _DIFF_STYLES if line.startswith(start)), "")


def sentence(text: str, width: int, style: str = "") -> Iterator[Line]:
    """A sentence with marks, over as many lines as it needs."""
    if len(text) > SENTENCE_CHARACTERS:
        text = f"{text[:SENTENCE_CHARACTERS]}… {len(text) - SENTENCE_CHARACTERS:,} more characters"
    indent = "  "
    for piece in fitting_pieces(text, width - _BESIDE, words=True):
        yield Line(indent + piece.rstrip(), style)
        indent = " " * len(_LINE)


def _lasting_lines(request: ApprovalRequest, width: int, kept_in: str) -> Iterator[Line]:
    """What the answer can hold for, if for longer than once."""
    always, never, kept = (", a always", ", na always", f" (kept in {marked(kept_in)})") if kept_in else ("", "", "")
    yes = [offer.words for offer in request.offers] if request.fully_shown else []
    no = [offer.words for offer in request.refusals]
    if yes and yes == no:
        keys = f"s for this session{always}, or denied, ns for this session{never}{kept}"
        yield from _numbered(f"It can be allowed for longer, {keys}:", yes, width)
        return
    if yes:
        yield from _numbered(f"It can be allowed for longer, s for this session{always}{kept}:", yes, width)
    if no:
        yield from _numbered(f"It can be denied for longer, ns for this session{never}{kept}:", no, width)


def _numbered(heading: str, choices: list[str], width: int) -> Iterator[Line]:
    yield from sentence(heading, width)
    for number, words in enumerate(choices, 1):
        yield from sentence(f"{number}. {marked(words)}", width)


def _warnings(found: Iterable[str], width: int) -> Iterator[Line]:
    for warning in found:
        yield from sentence(f"Look out: {warning}", width, "bold red")


def fitting_pieces(text: str, width: int, *, words: bool = False) -> Iterator[str]:
    """The text in pieces of at most `width` cells, broken between `words` where there are any."""
    width = max(width, 8)
    start = end = cells = 0
    while end < len(text):
        size = max(cell_len(text[end]), 1)
        if cells + size > width:
            blank = text.rfind(" ", start, end) + 1 if words else 0
            end = blank if blank > start else end
            yield text[start:end]
            start, cells, size = end, 0, 0
        else:
            end += 1
        cells += size
    yield text[start:]
