"""Words of ours as Markdown with anything in them, and the same Markdown as plain words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...cli.visible import one_line

CELL = 200
"""Characters of a cell that are shown."""
_SPECIAL = "\\`*_[]<>|~&"
_AT_START, _BEHIND_DIGITS = "#+-=", ".)"
"""What is special only where a line begins, or behind the digits that it begins with."""


def cells(text: str, most: int = CELL) -> str:
    """A text for a cell, or any place in a line: on one line, harmless, and obeyed by nobody as Markdown."""
    line = one_line(text)
    line = f"{line[:most]}…" if len(line) > most else line
    digits = line[: len(line) - len(line.lstrip("0123456789"))]
    line = line[len(digits) :]
    start = "\\" if line[:1] and line[:1] in (_BEHIND_DIGITS if digits else _AT_START) else ""
    return digits + start + "".join(f"\\{char}" if char in _SPECIAL else char for char in line)


def code(text: str) -> str:
    """A text that is to be typed or is a name, as a span of code that nothing in it can end; not for cells."""
    line = one_line(text)
    fence = "`"
    while fence in line:
        fence += "`"
    space = " " if line.startswith("`") or line.endswith("`") or not line.strip() else ""
    return f"{fence}{space}{line}{space}{fence}"


def code_cell(text: str) -> str:
    """The same for a cell, which a bar would end."""
    return code(text).replace("|", "\\|")


def listed(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of cells that are fit to stand in one."""
    lines = [f"| {' | '.join(headings)} |", f"|{'---|' * len(headings)}"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])


def unmarked(words: str) -> list[str]:
    """Markdown as `listed`, `cells` and `code` make it, as plain lines: each row of a table is a sentence, and what
    stands in a block is indented."""
    lines: list[str] = []
    headings: list[str] | None = None
    fence = ""
    for line in words.split("\n"):
        if line.startswith("```") and fence in ("", line):
            fence = "" if fence else line[: len(line) - len(line.lstrip("`"))]
        elif fence:
            lines.append(f"  {line}")
        elif line.startswith("| ") and headings is None:
            headings = [_plain(each) for each in _split(line)]
        elif line.startswith("| ") and headings is not None:
            lines.append(_sentence(headings, [_plain(each) for each in _split(line)]))
        elif not line.startswith("|---"):
            headings = None
            if line.strip() or (lines and lines[-1]):
                lines.append(_plain(line.rstrip()))
    return lines


def _sentence(headings: Sequence[str], row: Sequence[str]) -> str:
    """`first: second` for two columns; else each with its name."""
    if len(headings) == 2:
        return ": ".join(filter(None, row))
    named = [f"{head}: {cell}" if head else cell for head, cell in zip(headings, row, strict=False) if cell]
    return "; ".join(named)


def _split(row: str) -> list[str]:
    """The cells of a row; a bar behind a backslash is none."""
    found, cell, escaped = list[str](), "", False
    for char in row.strip()[1:]:
        if char == "|" and not escaped:
            found.append(cell.strip())
            cell = ""
        else:
            cell += char
        escaped = char == "\\" and not escaped
    return found


def _plain(line: str) -> str:
    """A line without its marks: what stands behind a backslash, or in code, is what it is."""
    out, at = "", 0
    while at < len(line):
        if line[at] == "`":
            ticks = line[at : len(line) - len(line[at:].lstrip("`"))]
            inside, found, _ = line[at + len(ticks) :].partition(ticks)
            out += _inside(inside)
            at += len(ticks) + len(inside) + len(found)
        elif line.startswith("**", at):
            at += 2
        else:
            at += line[at] == "\\" and line[at + 1 : at + 2] in _SPECIAL + _AT_START + _BEHIND_DIGITS
            out += line[at : at + 1]
            at += 1
    return out


def _inside(code: str) -> str:
    padded = code.startswith(" ") and code.endswith(" ") and code.strip()
    return (code[1:-1] if padded else code).replace("\\|", "|")
