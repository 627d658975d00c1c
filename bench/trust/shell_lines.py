"""Command lines for the proof of the shell reader: made from a grammar, and made from odd ones by small changes.

Their programs have invented names, so that none of them exists; one whose name begins with `f` is meant to fail.
"""

from __future__ import annotations

from pathlib import Path
from random import Random

import msgspec

_PROGRAMS = ("aa", "bb", "cc", "fa", "fb", "x-y", "a.b", "é1")
_PLAIN = (
    "a",
    "b1",
    "-x",
    "--long=v",
    "a=b",
    "a:b",
    "x#y",
    "%",
    "@",
    "+",
    ",",
    "^",
    "]",
    "}",
    "{}",
    "!",
    "héé",
    "日本",
    "=",
    "a]b",
)
SINGLE = ("''", "'a b'", "'$(bb)'", "'\"'", "'\\'", "'a\nb'", "'#'", "'`bb`'", "'*'", "'~'", "'é'")
_ESCAPED = (
    "\\ ",
    "\\;",
    "\\$",
    "\\`",
    "\\\\",
    "\\'",
    '\\"',
    "\\a",
    "\\(",
    "\\#",
    "\\*",
    "\\~",
    "\\&",
    "\\é",
    "\\{",
    "\\n",
)
_ANSI = (
    "$'a'",
    "$'\\n'",
    "$'\\t\\x41'",
    "$'a b'",
    "$'\\101'",
    "$'\"'",
    "$'\\q'",
    "$'\\u0041'",
    "$'$(bb)'",
    "$'\\e'",
    "$'\\''",
)
_GLOBS = (
    "*",
    "?x",
    "[ab]",
    "d/*",
    "*.q",
    "{a,b}",
    "{1..3}",
    "a{b",
    "[",
    "[a",
    "~",
    "~/x",
    "~+",
    "a~",
    "x=~",
    "x:~",
    "~é",
)
_VARIABLES = (
    "$x",
    "${x}",
    "$1",
    "$?",
    "$",
    "$%",
    "${x:-y}",
    "${#x}",
    "${x%y}",
    "$@",
    "$#",
    "${x+y}",
    "$x$y",
    "$é",
    "${x/a/b}",
)
_FILES = (
    ">r1",
    "> r2",
    ">>r3",
    "2>r4",
    "&>r5",
    ">|r6",
    "2>&1",
    ">&2",
    ">&-",
    "<r7",
    "</dev/null",
    ">/dev/null",
    ">&r8",
)
_REDIRECTS = (
    *_FILES,
    "2> 'r 9'",
    ">d/r0",
    "<<<x",
    '<<<"$x"',
    "&>>r1",
    "> r\\ 2",
    ">$'r\\t3'",
    "> ~/r4",
    "1>r5",
    "12>r6",
    ">r{1,2}",
    '>"r$x"',
)
_JOINS = (
    "; ",
    ";",
    " && ",
    " || ",
    " | ",
    " |& ",
    " & ",
    "&",
    "\n",
    "|",
    "&&",
    "||",
    "\n\n",
    " ;\n",
    " &&\n",
    " |\n ",
    " # c\n",
    ";#c\n",
)

_FILE = Path(__file__).parents[2] / "tests" / "data" / "approval" / "odd_lines.jsonl"
ODD = tuple(msgspec.json.decode(line, type=str) for line in _FILE.read_bytes().splitlines())
"""Written by hand: what shells read in ways that are easy to get wrong."""


def command_line(chance: Random) -> str:
    """One line that may be anything a shell could meet."""
    kind = chance.random()
    if kind < 0.45:
        return _list(chance, 2)
    if kind < 0.7:
        return changed(chance, _list(chance, 1))
    line = chance.choice(ODD)
    if chance.random() < 0.5:
        line = chance.choice((line + chance.choice(_JOINS) + chance.choice(ODD), _wrapped(chance, line)))
    return changed(chance, line) if chance.random() < 0.7 else line


def is_harmless(line: str) -> bool:
    """Whether every path in it stays where it runs: a change may have made another of one."""
    for known in ("/dev/null", "d/", "~/", "x/a/b", "x/$(bb)/c", "]/c", "\\/x", '"/x'):
        line = line.replace(known, "")
    return "/" not in line and "exec" not in line and "kill" not in line


def changed(chance: Random, line: str) -> str:
    """The line with small changes that may make another of it."""
    for _ in range(chance.choice((1, 1, 2, 3))):
        at = chance.randrange(len(line) + 1)
        change = chance.random()
        if change < 0.4:
            line = line[:at] + chance.choice("'\"\\`$(){}[];&|<>#!~=* \n\t\\:-@E0aé\r\u00a0") + line[at:]
        elif change < 0.7:
            line = line[:at] + line[at + 1 :]
        elif change < 0.9:
            tokens = (
                "$(",
                "\\\n",
                "<<E\n",
                "<(",
                "${x:-",
                "$'",
                "$((",
                "))",
                "&&",
                "||",
                ";;",
                " if ",
                " then ",
                " do ",
                "E\n",
                ">r",
                " # ",
                "\n}",
                "{ ",
            )
            line = line[:at] + chance.choice(tokens) + line[at:]
        else:
            other = chance.randrange(len(line) + 1)
            line = line[:at] + line[min(at, other) : max(at, other)] + line[at:]
    return line


def _wrapped(chance: Random, line: str) -> str:
    before, after = chance.choice(
        (
            ("$(", ")"),
            ('aa "$(', ')" b'),
            ("(", ")"),
            ("{ ", "\n}"),
            ("if ", "\nthen bb; fi"),
            ("`", "`"),
            ("aa <(", ")"),
            ("! ", ""),
            ("x=$(", ") aa"),
        )
    )
    return before + line + after


def _list(chance: Random, depth: int) -> str:
    line = _statement(chance, depth)
    while chance.random() < 0.45:
        line += chance.choice(_JOINS) + _statement(chance, depth)
    return line


def _statement(chance: Random, depth: int) -> str:
    kind = chance.random()
    if depth <= 0 or kind < 0.6:
        return _simple(chance, depth)
    inner = _list(chance, depth - 1)
    other = _list(chance, depth - 1)
    word = _word(chance, depth - 1)
    redirect = chance.choice(("", "", " " + chance.choice(_REDIRECTS)))
    return chance.choice(
        (
            f"({inner}){redirect}",
            f"{{ {inner}\n}}{redirect}",
            f"if {inner}\nthen {other}\nfi{redirect}",
            f"if fa; then {inner}\nelse {other}\nfi",
            f"for x in {word} b; do {inner}\ndone{redirect}",
            f"while fa; do {inner}\ndone",
            f"until {inner}; aa; do {other}\ndone",
            f"case {word} in a|b) {inner};; *) {other}\nesac",
            f"! {_simple(chance, depth)}",
            f"time {_simple(chance, depth)}",
            f"[[ {word} == {_word(chance, depth - 1)} ]]",
            f"[ -n {word} ] && {inner}",
            f"cat <<E\n{word} $({inner}\n)\nE\n{other}",
            f"cat <<'E' | {_simple(chance, 0)}\n{word}\nE\n{other}",
            f"cd d{redirect}; {inner}",
            f"{_simple(chance, depth)} # {word}\n{other}",
        )
    )


def _simple(chance: Random, depth: int) -> str:
    words = [chance.choice(_PROGRAMS) if chance.random() < 0.9 else _word(chance, depth)]
    words += [_word(chance, depth) for _ in range(chance.choice((0, 1, 1, 2, 3)))]
    while chance.random() < 0.2:
        words.insert(chance.randrange(len(words) + 1), chance.choice(_REDIRECTS))
    while chance.random() < 0.1:
        words.insert(0, f"v{chance.randrange(3)}={_word(chance, depth)}")
    return chance.choice((" ", " ", " ", "\t", "  ", " \\\n")).join(words)


def _word(chance: Random, depth: int) -> str:
    return "".join(_atom(chance, depth) for _ in range(chance.choice((1, 1, 1, 2, 3))))


def _atom(chance: Random, depth: int) -> str:
    kind = chance.random()
    if kind < 0.3:
        return chance.choice(_PLAIN)
    if kind < 0.65 or depth <= 0:
        return chance.choice(chance.choice((SINGLE, _ESCAPED, _ANSI, _GLOBS, _VARIABLES)))
    if kind < 0.8:
        parts = (*_PLAIN, *_VARIABLES, " ", "\n", "'", "\\$", '\\"', "\\a", "#", "$(" + _list(chance, depth - 1) + ")")
        return '"' + "".join(chance.choice(parts) for _ in range(chance.randrange(4))) + '"'
    inner = _list(chance, depth - 1)
    return chance.choice(
        (f"$({inner})", f"$({inner}\n)", f"`{inner}`", f"<({inner})", f"${{x:-$({inner})}}", f'"$({inner})"')
    )
