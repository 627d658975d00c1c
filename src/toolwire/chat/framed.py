"""Text that goes along with a question, between two lines that say what it is and that it cannot write itself."""

from __future__ import annotations

import hashlib

from ..approval.hidden import marked

_END = "[End of"


def framed(what: str, text: str) -> str:
    """The text under its name. Where it holds an end line of its own, both lines carry a mark made of all of it.

    Nobody can write that mark into the text beforehand: what stands behind the last line is not the text's.
    """
    shown = marked(what)
    if _END.lower() in text.lower():
        shown = f"{shown}, mark {hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()[:16]}"
    end = "" if text.endswith("\n") else "\n"
    return f"[{shown[:1].upper()}{shown[1:]}]\n{text}{end}{_END} {shown[:1].lower()}{shown[1:]}]\n"


def frame_name(text: str) -> str:
    """What a framed text says it is; empty for a text without a frame."""
    first, newline, rest = text.partition("\n")
    if not newline or not first.startswith("[") or not first.endswith("]"):
        return ""
    name = first[1:-1]
    return name if rest.endswith(f"{_END} {name[:1].lower()}{name[1:]}]\n") else ""
