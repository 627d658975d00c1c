"""What a command changes in the shell that runs it: the folder, variables, and the meaning of what follows.

The shell's own commands are looked at for what they do to later ones. What would give later words another meaning is
not understood at all.
"""

from __future__ import annotations

from collections.abc import Sequence

from .command_line import Assignment, Word, WordKind
from .shell_words import DIGITS, NotUnderstood, Piece, name_at

_RESERVED = frozenset(
    [
        "!",
        "case",
        "coproc",
        "do",
        "done",
        "elif",
        "else",
        "esac",
        "fi",
        "for",
        "function",
        "if",
        "in",
        "select",
        "then",
        "until",
        "while",
        "{",
        "}",
        "[[",
        "]]",
    ]
)
_CHANGING = frozenset(
    [
        ".",
        "alias",
        "bind",
        "builtin",
        "compgen",
        "complete",
        "compopt",
        "declare",
        "enable",
        "eval",
        "fc",
        "getopts",
        "hash",
        "history",
        "let",
        "local",
        "logout",
        "mapfile",
        "readarray",
        "readonly",
        "shopt",
        "source",
        "suspend",
        "trap",
        "typeset",
        "unalias",
    ]
)
"""Commands of the shell that change what later words mean, set variables by a computed name, or run text."""
_SETTABLE = frozenset(
    [
        "-e",
        "-u",
        "-x",
        "+e",
        "+x",
        "-eu",
        "-ue",
        "-ex",
        "-ux",
        "-eux",
        "-o",
        "-eo",
        "-uo",
        "-euo",
        "-euxo",
        "-exuo",
        "-xeuo",
        "-xeo",
        "pipefail",
    ]
)
_LOCALE = ("LANG", "LC_")
_MEANING = frozenset(["CDPATH", "ENV", "GLOBIGNORE", "HOME", "IFS", "OLDPWD", "PATH", "PWD", "EXECIGNORE", "TMPDIR"])
"""Variables that later words depend on."""
_COMPUTED = frozenset(
    [
        "DIRSTACK",
        "EPOCHREALTIME",
        "EPOCHSECONDS",
        "EUID",
        "FUNCNAME",
        "FUNCNEST",
        "GROUPS",
        "HISTCMD",
        "LINENO",
        "OPTIND",
        "POSIXLY_CORRECT",
        "PPID",
        "PROMPT_COMMAND",
        "PS0",
        "PS1",
        "PS2",
        "PS3",
        "PS4",
        "RANDOM",
        "SECONDS",
        "SHELLOPTS",
        "SRANDOM",
        "UID",
    ]
)
"""Variables whose values are evaluated, or that change how the shell reads."""
_SIZES = DIGITS + "#- +'.*$hlLjzt"
"""What may stand between `%` and the letter of a format."""
_SPECIAL = frozenset([":", "break", "continue", "exec", "exit", "export", "return", "set", "shift", "times", "unset"])
"""Commands of the shell for which, in some modes, a variable set before them stays set."""


class ShellState:
    """The folders that commands may run in and the variables that are set so far."""

    __slots__ = ("assigned", "folders")

    def __init__(self) -> None:
        self.folders: list[Word] = []
        self.assigned: list[Assignment] = []

    def run(self, assigned: Sequence[Assignment], words: Sequence[Piece]) -> None:
        """Takes in what one command does to the shell: the assignments before it, and its words."""
        words = _started(words)
        name = words[0].word.text if words and words[0].word.is_literal else ""
        for assignment in assigned:
            _refuse_computed(assignment.name)
        if not words or name in _SPECIAL:
            self._set(assigned)
        if name in _CHANGING:
            raise NotUnderstood(f"{name!r} changes what the rest of the line means")
        if name in ("cd", "pushd", "popd", "dirs") or (words and not name):
            # A command that is not known may be one of these.
            self.folders.append(_folder(name, assigned, words))
        elif name == "set" and not _SETTABLE.issuperset(piece.raw for piece in words[1:]):
            raise NotUnderstood("'set' changes how the shell reads")
        elif name == "export":
            self._set([_exported(piece) for piece in words[1:]])
        elif name == "unset":
            self._set([Assignment(_variable(piece), "") for piece in words[1:]])
        elif name == "read":
            self._set([Assignment(name) for name in _read(words[1:])])
        elif name in ("[", "test"):
            _refuse_named_tests(words)
        elif name == "printf" and _may_set(words[1:]):
            raise NotUnderstood("'printf' may set a variable")
        elif name in ("wait", "jobs") and any(piece.raw != "$!" and not _is_plain(piece) for piece in words[1:]):
            raise NotUnderstood(f"{name!r} may do more than tell of processes")

    def assign(self, assignment: Assignment) -> None:
        """A variable of the shell that is set other than by a command, as that of a loop."""
        self._set([assignment])

    def repeat(self, folders: int) -> None:
        """A loop ends that began with this many folders: `cd` in it may have run any number of times."""
        if len(self.folders) > folders:
            self.folders.append(Word("cd", WordKind.DYNAMIC))

    def _set(self, assigned: Sequence[Assignment]) -> None:
        for assignment in assigned:
            name = assignment.name
            _refuse_computed(name)
            if name in _MEANING or name.startswith(("LD_", *_LOCALE)):
                raise NotUnderstood(f"what later words mean depends on {name}, which is set")
            if assignment not in self.assigned:
                self.assigned.append(assignment)


def assignment_in(piece: Piece) -> Assignment | None:
    """The variable that a word sets, before a command or behind `export`; None if it sets none."""
    raw = piece.raw
    end = name_at(raw, 0)
    if end and raw.startswith("[", end):
        raise NotUnderstood("a part of a variable is set")
    if not end or not raw.startswith(("=", "+="), end):
        return None
    known = raw[end] == "=" and piece.word.is_literal
    return Assignment(raw[:end], piece.word.text[end + 1 :] if known else None)


def check_reserved(words: Sequence[Piece]) -> None:
    """Refuses a word of the shell's grammar where a command should begin, behind `time` too."""
    timed = False
    while words and (words[0].raw == "time" or (timed and words[0].raw in ("-p", "--"))):
        timed = True
        words = words[1:]
    if words and (words[0].raw in _RESERVED or (timed and "=" in words[0].raw)):
        raise NotUnderstood(f"{words[0].raw!r} stands where a command should")


def _started(words: Sequence[Piece]) -> Sequence[Piece]:
    """What `command x` or `time x` runs, which may be a command of the shell."""
    while len(words) > 1 and words[0].word.is_literal and words[0].word.text in ("command", "time"):
        if words[1].word.text in ("-v", "-V"):
            return words
        words = words[2:] if words[1].word.text in ("-p", "--") else words[1:]
        if words and (not words[0].word.is_literal or words[0].word.text.startswith("-")):
            raise NotUnderstood("what 'command' or 'time' runs is not known")
    return words


def _folder(name: str, assigned: Sequence[Assignment], words: Sequence[Piece]) -> Word:
    """Where `cd` or its like leads."""
    given = [piece.word for piece in words[1:] if piece.raw not in ("--", "-L")]
    unknown = Word(" ".join(piece.word.text for piece in words), WordKind.DYNAMIC)
    if name not in ("cd", "pushd") or len(given) != 1 or assigned or given[0].text[:1] in ("-", "+"):
        return unknown
    return given[0]


def _refuse_computed(name: str) -> None:
    if name in _COMPUTED or name.startswith("BASH"):
        raise NotUnderstood(f"the shell itself uses the variable {name}, which is set")


def _variable(piece: Piece) -> str:
    """A word that is the name of a variable, and nothing else."""
    text = piece.word.text
    if not piece.word.is_literal or not text or name_at(text, 0) != len(text):
        raise NotUnderstood(f"{text!r} is not the plain name of a variable")
    return text


def _exported(piece: Piece) -> Assignment:
    return assignment_in(piece) or Assignment(_variable(piece))


def _read(words: Sequence[Piece]) -> list[str]:
    names = []
    for piece in words:
        if not piece.word.is_literal:
            raise NotUnderstood("which variables 'read' sets is not known")
        text = piece.word.text
        if text[:1] == "-":
            if not set(text[1:]) <= set("rsdntpuN" + DIGITS):
                raise NotUnderstood("'read' has an option that is not known")
        elif text and name_at(text, 0) == len(text):
            names.append(text)
        elif "[" in text:
            raise NotUnderstood("'read' sets part of a variable")
    return names


def _refuse_named_tests(words: Sequence[Piece]) -> None:
    """`[ -v x[…] ]` evaluates what stands in the brackets, and an unknown word may turn out to be that `-v`."""
    unknown = False
    for piece in words[1:]:
        word = piece.word
        if piece.splits or (word.is_literal and word.text in ("-v", "-R")):
            raise NotUnderstood("a test may be of a variable by its name")
        if unknown and (not word.is_literal or "[" in word.text):
            raise NotUnderstood("a test may be of a variable by its name")
        unknown = word.kind is WordKind.DYNAMIC


def _may_set(words: Sequence[Piece]) -> bool:
    """Whether `printf` may set a variable: with `-v`, or with `%n`, which writes a number into the one it is given."""
    if not words or (len(words) == 1 and words[0].word.is_literal):
        return False
    if _may_be_option(words[0], "-v") or words[0].splits:
        return True
    after_sign = words[0].word.text.replace("%%", "").split("%")[1:]
    return not words[0].word.is_literal or any(text.lstrip(_SIZES)[:1] in ("n", "") for text in after_sign)


def _may_be_option(piece: Piece, option: str) -> bool:
    """Whether a word may begin with an option when it runs."""
    if piece.word.is_literal:
        return piece.word.text.startswith(option)
    return piece.splits or piece.raw.lstrip('"')[:1] in ("$", "`", "-")


def _is_plain(piece: Piece) -> bool:
    return piece.word.is_literal and not piece.word.text.startswith("-")
