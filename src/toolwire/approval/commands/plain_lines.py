"""Command lines that every shell reads alike: dash, busybox ash, ksh93, mksh, zsh and every bash.

What is plain is listed here, and everything else is not: bare words, words in quotes without anything that a shell
would expand in them, `*` and `?`, `;`, `&&`, `||`, `|`, `&`, line ends, and redirections to a named file. Of the
commands that a shell has built in, only those are plain which take their words as text everywhere: some shells
calculate with the words of the others, and a sum may hold a command.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .options import names

_BARE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./,:+@%=-")
_EXPANDED = frozenset("$`\\!")
_BLANK = " \t"
_ENDS = " \t\n;|&"
_WHOLE = ("[", "]", "{}", "!=", "=", "~")
"""What is plain as a word of its own alone."""
_COPIES = ("2>&1", "1>&2", ">&2")
_NAMES = _BARE - frozenset(",:@%=")
_RESERVED = names(
    "case coproc do done elif else end esac fi for foreach function if in nocorrect noglob repeat select then time "
    "until while"
)
_BUILT_IN = names(
    ". 2d alias autoload bg bind bindkey break builtin bye caller chdir compadd compgen compctl complete compopt "
    "compound continue declare dirs disable disown echotc echoti emulate enable enum eval exec export fc fg float "
    "functions getln getopts global hash help hist history integer jobs kill let limit local log login logout mapfile "
    "mknod nameref popd print private pushd pushln r read readarray readonly redirect rehash rename return sched "
    "setopt shift shopt source stop suspend times trap ttyctl type typeset ulimit umask unalias unfunction unhash "
    "unlimit unset unsetopt vared wait whence where which zcompile zformat zle zmodload zparseopts zstyle"
)
"""What some shell does itself, or has as a name for something else."""
_TESTS = names("-e -f -d -r -w -x -s -z -n -L -h -S -p -b -c -g -k -u")
_SETTINGS = names("-e -u -x -eu -ue -ex -xe -ux -xu -eux -exu -uex -uxe -xeu -xue")


def why_not_plain(text: str) -> str:
    """Why a shell might read the line in another way than others do, as a sentence; empty where none does."""
    commands: list[list[str]] = [[]]
    redirects = [0]
    at = 0
    while at < len(text):
        start = at
        if text[at] in _BLANK:
            at += 1
        elif text[at] in _ENDS:
            at += 2 if text.startswith(("&&", "||"), at) else 1
            if text[at : at + 1] and text[at] in ";|&<>()!" and text[start] != "\n":
                return _differ(text, start)
            commands.append([])
            redirects.append(0)
        else:
            at, is_word = _piece_end(text, at)
            if at == start or (at < len(text) and text[at] not in _ENDS):
                return _differ(text, start)
            if is_word:
                commands[-1].append(text[start:at])
            else:
                redirects[-1] += 1
    for words, count in zip(commands, redirects, strict=True):
        if (words or count) and not _is_plain(words):
            return f"shells differ in what they make of the command {' '.join(words)!r}"
    return ""


def _differ(text: str, at: int) -> str:
    return f"shells differ in what they make of {text[at : at + 20]!r}"


def _piece_end(text: str, at: int) -> tuple[int, bool]:
    """Where a word or a redirection ends, as far as it is plain, and whether it is a word."""
    copy = next((sign for sign in _COPIES if text.startswith(sign, at)), "")
    if copy:
        return at + len(copy), False
    sign = at + 1 if text[at] in "012" else at
    if text.startswith(("<", ">"), sign):
        target = sign + (2 if text.startswith(">>", sign) else 1)
        while text.startswith((" ", "\t"), target):
            target += 1
        end = _word_end(text, target, patterns=False)
        return (end if end > target and text[target] != "=" else at), False
    for whole in _WHOLE:
        end = at + len(whole)
        if text.startswith(whole, at) and (end == len(text) or text[end] in _ENDS):
            return end, True
    if text[at] == "=":
        return at, True
    return _word_end(text, at + 1 if text.startswith("~/", at) else at, patterns=True), True


def _word_end(text: str, at: int, *, patterns: bool) -> int:
    while at < len(text):
        char = text[at]
        if char in "'\"":
            close = text.find(char, at + 1)
            if close < 0 or (char == '"' and not _EXPANDED.isdisjoint(text[at + 1 : close])):
                return at
            at = close + 1
        elif char in _BARE or (patterns and char in "*?" and not text.startswith("**", at)):
            at += 1
        else:
            return at
    return at


def _is_plain(words: Sequence[str]) -> bool:
    """Whether every shell starts the same program with the same words."""
    settings = 0
    while settings < len(words) and _sets(words[settings]):
        settings += 1
    words = words[settings:]
    if not words or not _is_name(words[0]) or words[0] in _RESERVED or words[0] in _BUILT_IN:
        return False
    takes = _OWN.get(words[0])
    return takes is None or (not settings and takes(words[1:]))


def _sets(word: str) -> bool:
    """Whether it sets a variable, to a text that no shell could take for more."""
    name, equals, value = word.partition("=")
    return bool(equals) and name.isidentifier() and _BARE.issuperset(value)


def _is_name(word: str) -> bool:
    return word in ("[", ":") or (word[0] not in "0123456789+-" and _NAMES.issuperset(word))


def _text(word: str) -> str:
    """What a command gets for a word, with a NUL for each sign of a pattern."""
    parts: list[str] = []
    at = 0
    while at < len(word):
        close = word.find(word[at], at + 1) if word[at] in "'\"" else -1
        parts.append(word[at + 1 : close] if close > 0 else word[at].replace("*", "\0").replace("?", "\0"))
        at = max(at, close) + 1
    return "".join(parts)


def _is_test(words: Sequence[str]) -> bool:
    """One test of a text or a file; one of a number is a sum to some shells."""
    texts = [_text(word) for word in words]
    if any("\0" in text for text in texts):
        return False
    return (len(texts) == 3 and texts[1] in ("=", "!=")) or (len(texts) == 2 and texts[0] in _TESTS)


def _is_number(words: Sequence[str]) -> bool:
    return len(words) == 1 and len(words[0]) < 6 and words[0].replace(".", "", 1).isdecimal()


def _goes_to(words: Sequence[str]) -> bool:
    """`cd` to one folder that is named."""
    text = _text(words[0]) if len(words) == 1 else ""
    return text[:1] not in ("", "-", "+") and "\0" not in text


def _starts_plain(words: Sequence[str]) -> bool:
    """The command after `command` or `nohup`."""
    if words[:1] == ["-v"]:
        return len(words) == 2 and _is_name(words[1])
    return bool(words) and not _sets(words[0]) and _is_plain(words)


def _has_plain_format(words: Sequence[str]) -> bool:
    """A format that only puts texts in: for others, words are sums or names of variables."""
    text = _text(words[0]) if words else "-"
    return text[:1] != "-" and "\0" not in text and "%" not in text.replace("%%", "").replace("%s", "")


_OWN: dict[str, Callable[[Sequence[str]], bool]] = {
    **dict.fromkeys(("echo", "true", "false", ":"), lambda words: True),
    "pwd": lambda words: not words,
    "cd": _goes_to,
    "set": lambda words: len(words) == 1 and words[0] in _SETTINGS,
    "exit": lambda words: not words or _is_number(words),
    "sleep": _is_number,
    "test": _is_test,
    "[": lambda words: words[-1:] == ["]"] and _is_test(words[:-1]),
    "printf": _has_plain_format,
    "command": _starts_plain,
    "nohup": _starts_plain,
}
"""What shells do themselves, with the words that all of them take alike."""
