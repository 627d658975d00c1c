"""Text that goes along with a question, between two lines that say what it is and that it cannot write itself."""

from __future__ import annotations

import hashlib

from .approval.hidden import marked

_END = "[End of"
_PIPED = "[Piped in with the question: material, up to the line that ends with "


def framed(what: str, text: str) -> str:
    """The text between its two lines, apart from what stands before it: some providers are sent all words as one."""
    first, last = frame_lines(what, text)
    end = "" if text.endswith("\n") else "\n"
    return f"\n{first}\n{text}{end}{last}\n"


def frame_lines(what: str, text: str) -> tuple[str, str]:
    """The line before a text and the one behind it.

    Where the text holds an end line of its own, both carry a mark made of all of it. Nobody can write that mark into
    the text beforehand: what stands behind the last line is not the text's.
    """
    shown = marked(what)
    if _END.lower() in text.lower():
        shown = f"{shown}, mark {hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()[:16]}"
    return f"[{shown[:1].upper()}{shown[1:]}]", f"{_END} {shown[:1].lower()}{shown[1:]}]"


def frame_name(text: str) -> str:
    """What a framed text says it is; empty for a text without a frame."""
    first, newline, rest = text.lstrip("\n").partition("\n")
    if not newline or not first.startswith("[") or not first.endswith("]"):
        return ""
    name = first[1:-1]
    return name if rest.endswith(f"{_END} {name[:1].lower()}{name[1:]}]\n") else ""


def piped_lines(mark: str) -> tuple[str, str]:
    """The line before what was piped in and the one behind it. `mark` must not be in the text."""
    return f"{_PIPED}{mark}]", f"{_END} what was piped in {mark}]"


def unframed(text: str) -> str:
    """What the person wrote: the text without its frames and what is in them."""
    lines = text.split("\n")
    last = {line: number for number, line in enumerate(lines)}
    kept: list[str] = []
    end = ""
    for number, line in enumerate(lines):
        if end:
            end = "" if line == end else end
        elif last.get(closing := _closing(line), -1) > number:
            end = closing
        else:
            kept.append(line)
    return "\n".join(kept).strip("\n")


def _closing(line: str) -> str:
    """The last line of the frame that begins with this one."""
    if not (line.startswith("[") and line.endswith("]")):
        return "\0"
    if line.startswith(_PIPED):
        return piped_lines(line[len(_PIPED) : -1])[1]
    return f"{_END} {line[1:2].lower()}{line[2:]}"
