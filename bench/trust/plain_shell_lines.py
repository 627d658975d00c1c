"""Command lines on both sides of what is plain: such that all shells read alike, and such that they read apart."""

from __future__ import annotations

from random import Random

from .shell_lines import SINGLE, changed, command_line

_PROGRAMS = ("aa", "bb", "cc", "fa", "x-y", "a.b", "cat", "nohup")
_SET = (
    "v0=",
    "v1=",
    "v0+=",
    "LC_ALL=",
    "LANG+=",
    "COLUMNS=",
    "LINES=",
    "SECONDS=",
    "OPTIND=",
    "TMOUT=",
    "TZ=",
    "path=",
)
NAMES = (*_PROGRAMS, *(f"{name}{program}" for name in _SET for program in _PROGRAMS), "x", "a", "b", "C")
"""Programs that exist, also by what an assignment would be to a shell that knows no such one."""

_PLAIN = (
    "a",
    "b1",
    "-x",
    "--long=v",
    "a=b",
    "a:b",
    "%",
    "@",
    "+",
    ",",
    "x.y",
    "-",
    "--",
    "=",
    "{}",
    "1",
    "C",
    "%1",
    "+1",
)
_QUOTED = (*SINGLE, '"a b"', '"it\'s"', "'日本'")
_QUOTED_MORE = (
    '"a;b"',
    '"(a)"',
    '"*"',
    "'!'",
    "'\\x7c'",
    "a'b'",
    "'a'\"b\"c",
    '"a\nb"',
    "'x[$(bb)]'",
    "'v0[`bb`]'",
    '"\'"',
)
_PATTERNS = ("*", "?x", "d*", "*.q", "a*b", "~", "~/x", "[", "]", "!=")
_APART = (
    *("$'a\\x7cbb'", "$'a\\'", "$x", "${x}", '"$x"', "`bb`", "$(bb)", '"$(bb)"', "<(bb)", "{a,b}", "{1..3}", "[ab]"),
    *("~+", "~x", "=aa", "a=~", "@(a)", "*(a)", "!(a)", "a\\ b", "\\;", '$"a"', "**", "!x", "!", "#c", "^", "^bb", "é"),
    *('"\\$"', '"!x"', "a~", "==", "$((1+x))", "((1))", "x[1]", "(", ")", "{", "}", "a#b", "?(a)", "2>&1", "'", '"'),
    *("\\", "a\\", "%bb", "x=(bb)", "<->"),
)
_SUMS = ("'x[$(bb)]'", "'x[`bb`]'", "1", "a", "v0", "'1+x[$(bb)]'", "RANDOM", "''", '"x[1]"')
_FORMATS = ("%d", "'%*s'", "%n", "-v", "'-v'", "%q", "'%(%H)T'", "*", "'%%%d'")
_CALCULATING = ("exit", "return", "break", "continue", "shift", "sleep", "wait", "let", "times")
_DECLARING = ("export", "unset", "typeset", "readonly", "local", "integer", "float", "nameref")
_NAMING = ("type", "whence", "which", "where", "hash", "alias", "unalias", "command", "builtin")
_BEFORE = ("time", "!", "nocorrect", "noglob", "-", "coproc", "then", "do", "function", "r", "source", "2d")
_JOINS = ("; ", ";", " && ", " || ", " | ", " & ", "\n", "|", "&&", "||", "&", "\n\n", " ;\n", " &&\n", " |\n ")
_JOINS_APART = (" |& ", ";;", " &| ", " &! ", ";&", "|&", " # c\n", "&&&", " ; ; ", "\\\n")
_REDIRECTS = (
    ">r1",
    "> r2",
    ">>r3",
    "2>r4",
    "2>&1",
    ">&2",
    "<r7",
    "1>&2",
    "2>/dev/null",
    ">'r 9'",
    "1>r5",
    "> d/r0",
    "0<r7",
)
_REDIRECTS_APART = (
    "&>r5",
    ">|r6",
    ">&-",
    "<<<x",
    "&>>r1",
    "> r\\ 2",
    ">&r8",
    "12>r6",
    ">r{1,2}",
    '>"r$x"',
    "<>r1",
    "> *",
    ">=aa",
    "3>r3",
    ">!r1",
    "{v0}>r1",
    "<&0",
    ">~/r1",
)


def plain_line(chance: Random) -> str:
    """One line. A third of them is plain."""
    kind = chance.random()
    if kind < 0.1:
        return command_line(chance)
    line = _commands(chance, apart=0.0 if kind < 0.4 else 0.03)
    return changed(chance, line) if kind > 0.85 else line


def _commands(chance: Random, apart: float) -> str:
    line = _command(chance, apart)
    while chance.random() < 0.45:
        line += _one_of(chance, _JOINS, _JOINS_APART, apart) + _command(chance, apart)
    return line


def _command(chance: Random, apart: float) -> str:
    words = _own(chance, apart) if chance.random() < 0.4 else _program(chance, apart)
    while chance.random() < 0.2:
        words.insert(chance.randrange(len(words) + 1), _one_of(chance, _REDIRECTS, _REDIRECTS_APART, apart))
    while chance.random() < 0.12:
        words.insert(
            0, chance.choice(_SET) + (chance.choice(_PROGRAMS) if chance.random() < 0.7 else chance.choice(_SUMS))
        )
    return chance.choice((" ", " ", " ", "\t", "  ")).join(words)


def _program(chance: Random, apart: float) -> list[str]:
    name = chance.choice(_PROGRAMS) if chance.random() < 0.95 else _word(chance, apart)
    return [name, *(_word(chance, apart) for _ in range(chance.choice((0, 1, 1, 2, 3))))]


def _own(chance: Random, apart: float) -> list[str]:
    """A command that some shell does itself, or a word of its grammar."""
    word, other = _word(chance, apart), _word(chance, apart)
    number, total = chance.choice(_SUMS), chance.choice(_SUMS)
    if chance.random() < 0.5:
        return chance.choice(
            (
                ["[", "-n", word, "]"],
                ["[", word, "=", other, "]"],
                ["test", word, "!=", other],
                ["test", "-f", word],
                ["printf", "'%s\\n'", word, number],
                ["printf", '"a%%%s"', number],
                ["echo", word, number],
                ["cd", chance.choice(("d", "d", "'d'", word))],
                ["command", *_program(chance, apart)],
                ["command", "-v", "aa"],
                ["set", chance.choice(("-e", "-u", "-eu", "-x"))],
                ["exit", chance.choice(("0", "1", "3"))],
                ["sleep", "0"],
                [":", word, number],
                [chance.choice(("true", "false"))],
                ["pwd"],
            )
        )
    return chance.choice(
        (
            ["[", number, chance.choice(("-eq", "-ne", "-lt", "'-ge'", "-ef")), total, "]"],
            ["[", "!", number, "]"],
            ["test", chance.choice(("-t", "-v", "-o", "'-v'", "-R", "-z")), number],
            ["test", number, chance.choice(("-a", "-o", "==", "=~", "<")), total],
            ["test", number],
            ["printf", chance.choice(_FORMATS), number, total],
            [chance.choice(_CALCULATING), number],
            [chance.choice(_DECLARING), word],
            [chance.choice(_NAMING), number],
            [chance.choice(_BEFORE), *_program(chance, apart)],
            ["cd", chance.choice(("-", "'-'", "+1", "''", "*", "d d", "-P d"))],
            ["set", chance.choice(("-k", "-o", "--", "a", "'-e'", "+e", "-A x"))],
            ["ulimit", "-t", number],
            ["command", chance.choice(("-p", "-V", "--", "export")), *_program(chance, apart)],
            ["nohup", chance.choice(("integer", "let", "aa")), number],
        )
    )


def _word(chance: Random, apart: float) -> str:
    return "".join(_atom(chance, apart) for _ in range(chance.choice((1, 1, 1, 2))))


def _atom(chance: Random, apart: float) -> str:
    return chance.choice(_APART if chance.random() < apart else (*_PLAIN, *_QUOTED, *_QUOTED_MORE, *_PATTERNS))


def _one_of(chance: Random, plain: tuple[str, ...], others: tuple[str, ...], apart: float) -> str:
    return chance.choice(others if chance.random() < apart * 3 else plain)
