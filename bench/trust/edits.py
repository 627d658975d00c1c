"""Edits are exact: patches give what `git apply` gives or nothing, replacements what `str.replace` gives or nothing."""

from __future__ import annotations

import difflib
import os
import random
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from toolwire.builtin.file_text import FileText
from toolwire.builtin.patching import apply_patch
from toolwire.builtin.replacement import replaced
from toolwire.errors import FileRefused

from . import Found

_OPEN = "\\ No newline at end of file\n"
_WORDS = (
    "a",
    "b",
    "  a",
    "",
    "}",
    "-- x",
    "++ y",
    "@@ z",
    "é ü",
    "\tend",
    "a ",
    "diff --git",
    "\\ c",
    "\u2028",
    "\x0c",
)
_BATCH = 200


class _Part(NamedTuple):
    """A hunk before it is written: the line that it names, and its lines with their signs and ends."""

    start: int
    lines: list[tuple[str, str]]

    def old(self) -> list[str]:
        return [text for sign, text in self.lines if sign != "+"]

    def new(self) -> list[str]:
        return [text for sign, text in self.lines if sign != "-"]


def _lines(chance: random.Random, most: int) -> list[str]:
    """Lines with their ends; few different ones, so that the same stand at several places."""
    few = chance.sample(_WORDS, chance.randint(2, len(_WORDS)))
    lines = [chance.choice(few) + (str(chance.randint(0, 9)) if chance.random() < 0.4 else "") for _ in range(most)]
    ended = [line + "\n" for line in lines]
    if ended and lines[-1] and chance.random() < 0.3:
        ended[-1] = lines[-1]
    return ended


def _changed(lines: list[str], chance: random.Random) -> list[str]:
    text = [line.removesuffix("\n") for line in lines]
    for _ in range(chance.randint(1, 4)):
        place = chance.randint(0, len(text))
        text[place : place + chance.randint(0, 3)] = [chance.choice(_WORDS) for _ in range(chance.randint(0, 3))]
    ended = [line + "\n" for line in text]
    if ended and text[-1] and chance.random() < 0.3:
        ended[-1] = text[-1]
    return ended


def _parts(before: list[str], after: list[str], context: int) -> list[_Part]:
    parts = []
    for group in difflib.SequenceMatcher(None, before, after, autojunk=False).get_grouped_opcodes(context):
        lines: list[tuple[str, str]] = []
        for kind, old, old_end, new, new_end in group:
            if kind == "equal":
                lines += ((" ", line) for line in before[old:old_end])
            else:
                lines += (("-", line) for line in before[old:old_end])
                lines += (("+", line) for line in after[new:new_end])
        parts.append(_Part(group[0][1], lines))
    return parts


def _written(parts: list[_Part], name: str, end: str = "\n") -> str:
    patch = [f"--- a/{name}\n+++ b/{name}\n"]
    shift = 0
    for part in parts:
        old, new = len(part.old()), len(part.new())
        first, new_first = part.start + (old > 0), max(0, part.start + shift) + (new > 0)
        patch.append(f"@@ -{first},{old} +{new_first},{new} @@\n")
        for sign, line in part.lines:
            text = line.removesuffix("\n")
            patch.append(f"{sign}{text}{end}" if text != line else f"{sign}{text}\n{_OPEN}")
        shift += new - old
    return "".join(patch)


def _ours(before: bytes, patch: str, name: str) -> bytes | None:
    text = FileText(before)
    try:
        return text.changed(apply_patch(text, patch, (name,)).spans)
    except FileRefused:
        return None


def _git(folder: Path, patch: str) -> bool:
    """Whether git applied it, in a folder that is no repository. One file's failure is the failure of all."""
    environment = {"PATH": os.environ["PATH"], "GIT_CEILING_DIRECTORIES": str(folder.parent), "HOME": str(folder)}
    done = subprocess.run(
        ["git", "apply", "--whitespace=nowarn", "-"],
        input=patch.encode(),
        cwd=folder,
        env=environment,
        capture_output=True,
    )
    return done.returncode == 0


def patches(count: int, seed: int) -> Found:
    """Patches of `count` random files, a third with CRLF: our result is the one of `git apply`, and the right one.

    The plan: 20,000, some 30 seconds.
    """
    found = Found()
    chance = random.Random(seed)
    while found.runs < count:
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            whole = []
            expected: dict[str, tuple[bytes, bytes, str]] = {}
            for number in range(min(_BATCH, count - found.runs)):
                before = _lines(chance, chance.randint(1, 60))
                after = _changed(before, chance)
                parts = _parts(before, after, chance.randint(1, 4))
                if not parts or not after:
                    after = [*before[:-1], before[-1].removesuffix("\n") + " more\n"]
                    parts = _parts(before, after, 3)
                end = chance.choice(["\n", "\n", "\r\n"]) if before[0].endswith("\n") else "\n"
                name = f"f{number}.txt"
                old, new = (("".join(lines).replace("\n", end)).encode() for lines in (before, after))
                (folder / name).write_bytes(old)
                patch = _written(parts, name, end)
                whole.append(patch)
                expected[name] = (old, new, patch if chance.random() < 0.5 else _written(parts, name))
            if not _git(folder, "".join(whole)):
                found.fault("git refuses a patch that is right")
            for name, (old, new, patch) in expected.items():
                found.runs += 1
                ours, theirs = _ours(old, patch, name), (folder / name).read_bytes()
                if ours != new or theirs != new:
                    found.fault(f"{old!r} with {patch!r}: {ours!r}, git {theirs!r}, right is {new!r}")
    return found


def damaged_patches(count: int, seed: int) -> Found:
    """Patches with something wrong: a result only where every kept and removed line is there, and only one is meant.

    Where git gives a result, ours is the same unless the patch fits at several places. The plan: 3,000, 40 seconds.
    """
    found = Found()
    chance = random.Random(seed)
    refused = moved = 0
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for _ in range(count):
            before = _lines(chance, chance.randint(1, 24))
            parts = _parts(before, _changed(before, chance), chance.randint(0, 3))
            parts = [part for part in parts if part.lines]
            if not parts:
                continue
            parts = [_damaged(part, chance) for part in parts]
            counted = _written(parts, "f.txt")
            patch = _miscounted(counted, chance)
            found.runs += 1
            content = "".join(before).encode()
            ours = _ours(content, patch, "f.txt")
            possible = {result for result, _ in _placements(before, parts)}
            if ours is None:
                refused += 1
                alone = all(len(list(_placements(before, [part]))) == 1 for part in parts)
                if alone and possible and possible != {content}:
                    found.fault(f"refused, though each hunk fits once: {content!r} with {patch!r}")
                continue
            if ours not in possible:
                found.fault(f"{content!r} with {patch!r}: {ours!r} is none of {possible!r}")
            exact = {result for result, is_exact in _placements(before, parts) if is_exact}
            moved += not exact
            if len(possible) > 1 and exact and ours not in exact:
                found.fault(f"{content!r} with {patch!r}: {ours!r}, though it fits where it says")
            (folder / "f.txt").write_bytes(content)
            # By counts that are too small git leaves lines of the patch out.
            if _git(folder, counted) and (folder / "f.txt").read_bytes() != ours and len(possible) == 1:
                found.fault(f"{content!r} with {patch!r}: {ours!r}, git another")
    found.words = f"{refused:,} refused, {moved:,} placed at another line than named"
    return found


def _damaged(part: _Part, chance: random.Random) -> _Part:
    start, lines = part.start, list(part.lines)
    for _ in range(chance.randint(0, 2)):
        at = chance.randrange(len(lines))
        sign, text = lines[at]
        match chance.randrange(5):
            case 0:
                start = max(0, start + chance.randint(-6, 6))
            case 1 if text.endswith("\n"):
                lines[at] = (sign, chance.choice(["a", "b", text.strip(), text[:-1] + " "]) + "\n")
            case 2 if len(lines) > 1:
                del lines[at]
            case 3 if text.endswith("\n"):
                lines.insert(at, (chance.choice(" -"), chance.choice(_WORDS) + "\n"))
            case _:
                pass
    return _Part(start, lines)


def _miscounted(patch: str, chance: random.Random) -> str:
    """The patch with wrong counts in some headers. Not where a count is what tells two readings apart."""
    if chance.random() < 0.6 or "\n--- x" in patch or "\n \n" in patch:
        return patch
    lines = patch.split("\n")
    for at, line in enumerate(lines):
        if line.startswith("@@ -"):
            first, second = line.split()[1:3]
            lines[at] = (
                f"@@ {first.split(',')[0]},{chance.randint(0, 9)} {second.split(',')[0]},{chance.randint(0, 9)} @@"
            )
    return "\n".join(lines)


def _placements(before: list[str], parts: list[_Part]) -> Iterator[tuple[bytes, bool]]:
    """Every result that a patch can mean, by trying all lines for all hunks; and whether all stand where they say.

    A last line without an end may be written with one: it is left without.
    """

    def place(number: int, free: int, done: list[str], is_exact: bool) -> Iterator[tuple[bytes, bool]]:
        if number == len(parts):
            yield "".join([*done, *before[free:]]).encode(), is_exact
            return
        part = parts[number]
        old, new = part.old(), part.new()
        if not old and before:
            return
        for at in range(free, len(before) - len(old) + 1):
            there = before[at : at + len(old)]
            made = new
            if there != old:
                is_last = at + len(old) == len(before)
                if not is_last or [*there[:-1], there[-1] + "\n"] != old:
                    continue
                made = [*new[:-1], new[-1].removesuffix("\n")] if new and new[-1] != "\n" else new
            elif new and not new[-1].endswith("\n") and at + len(old) < len(before):
                continue
            yield from place(number + 1, at + len(old), [*done, *before[free:at], *made], is_exact and at == part.start)

    yield from place(0, 0, [], True)


def exact(count: int, seed: int) -> Found:
    """Replacements in `count` random files: as `str.replace` does where the text is there once, or all are meant.

    The plan: 200,000, some 20 seconds.
    """
    found = Found()
    chance = random.Random(seed)
    done = 0
    for _ in range(count):
        letters = chance.choice(["ab", "ab\n", "abc é\n\t", "a\n"])
        text = "".join(chance.choice(letters) for _ in range(chance.randint(0, 40)))
        at = chance.randint(0, len(text))
        old = text[at : at + chance.randint(0, 12)] if chance.random() < 0.7 else "".join(chance.choices(letters, k=3))
        new = "".join(chance.choices(letters, k=chance.randint(0, 6)))
        every = chance.random() < 0.3
        end = chance.choice(["\n", "\r\n"]) if "\n" in text else "\n"
        mark = chance.choice(["", "\ufeff"])
        places = sum(text.startswith(old, at) for at in range(len(text))) if old else 0
        fits = old != new and (places == 1 or (every and places > 0))
        right = (mark + text.replace(old, new).replace("\n", end)).encode() if fits else None
        given = FileText((mark + text.replace("\n", end)).encode())
        wanted = old.replace("\n", end) if chance.random() < 0.2 else old
        found.runs += 1
        try:
            got: bytes | None = given.changed(replaced(given, wanted, new, every))
        except FileRefused:
            got = None
        done += got is not None
        if got != right:
            found.fault(f"{text!r}: {old!r} to {new!r} (all: {every}): {got!r}, right is {right!r}")
    found.words = f"{done:,} edited, {found.runs - done:,} refused"
    return found


def mixed_ends(count: int, seed: int) -> Found:
    """Files with both line ends: what is not replaced keeps its bytes, and what is put in has the ends of its place.

    The plan: 20,000, a second.
    """
    found = Found()
    chance = random.Random(seed)
    for _ in range(count):
        lines = [f"{number:02}{chance.choice('ab')}" for number in range(chance.randint(2, 12))]
        ends = [chance.choice(["\n", "\r\n"]) for _ in lines]
        first = chance.randrange(len(lines))
        last = chance.randint(first + 1, len(lines))
        kept = chance.randint(first, last)
        new = [*lines[first:kept], "new 1", "new 2", *lines[kept:last]]
        content = "".join(line + end for line, end in zip(lines, ends, strict=True)).encode()
        text = FileText(content)
        spans = replaced(text, "".join(f"{line}\n" for line in lines[first:last]), "".join(f"{line}\n" for line in new))
        got = text.changed(spans).decode()
        found.runs += 1
        old_lines = [line + end for line, end in zip(lines, ends, strict=True)]
        got_lines = got.splitlines(keepends=True)
        style = ends[kept] if kept < len(ends) else ends[-1]
        if got_lines != [*old_lines[:kept], f"new 1{style}", f"new 2{style}", *old_lines[kept:]]:
            found.fault(f"{content!r}, new at {kept}: {got!r}")
    return found
