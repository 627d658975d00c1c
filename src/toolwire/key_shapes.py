"""What looks like a key, whoever it belongs to: the forms in which services give them out, and what stands behind a
name such as `password=`.

A guess, made for files and errors: it must find keys that nobody told us of, and may take a word for one. Every
function takes time in proportion to the text, whatever it holds: each search goes on behind what it found.
"""

from __future__ import annotations

from collections.abc import Iterator

Span = tuple[int, int]
"""Where it begins and where it ends."""

_LETTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
_DIGITS = frozenset("0123456789")
_TOKEN = _LETTERS | _DIGITS | frozenset("_-")
_SENT = _TOKEN | frozenset(".~+/=")
"""What a token in a header is made of."""

_NO_WORD = _DIGITS | frozenset("=ABCDEFGHIJKLMNOPQRSTUVWXYZ")
"""What a word in a sentence holds nowhere but at its beginning."""

_PREFIXES = (
    *("sk-", "sk_live_", "sk_test_", "rk_live_", "gsk_", "xai-", "pplx-", "nvapi-", "hf_", "r8_", "fw_", "csk-"),
    *("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "npm_", "pypi-", "dop_v1_"),
    *("AKIA", "ASIA", "ABSK", "AIza", "ya29.", "xoxb-", "xoxp-", "xoxa-", "xoxs-", "xapp-", "SG."),
)
"""How keys begin: model providers, GitHub, GitLab, registries, AWS, Google, Slack and others."""
_SHORTEST = 20
"""Characters of the shortest of them, an AWS key's id."""

_SURE = ("password", "passwd", "passphrase", "secret")
_LIKELY = ("token", "key", "authorization")
_NAMES = tuple(form for name in (*_SURE, *_LIKELY) for form in (name, name.capitalize(), name.upper()))
_VARIABLES = ("KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL", "AUTH", "COOKIE", "_PWD")
_QUOTES = "\"'`"
_ENDS = frozenset(" \t\r\n,;&|<>(){}[]\"'`\\")
"""What ends a value that has no quotes."""
_VALUE = 4096
"""How far the closing quote of a value is looked for."""


def key_spans(text: str) -> Iterator[Span]:
    """Where something stands that looks like a key; in no order, and some may overlap."""
    yield from _prefixed(text)
    yield from _web_tokens(text)
    yield from _sent(text)
    yield from _private_keys(text)
    yield from _passwords_in_urls(text)
    for name in _NAMES:
        yield from _named(text, name)


def is_secret_variable(name: str, value: str) -> bool:
    """Whether a variable of the environment is a secret, as far as its name tells.

    The path of a file that holds one is none, and its folders are part of every other path.
    """
    upper = name.upper().replace("AUTHOR", "")
    if value.startswith(("/", "~/")) and ("SECRET" not in upper or upper.endswith(("FILE", "PATH", "DIR"))):
        return False
    return any(part in upper for part in _VARIABLES)


def is_secret_member(name: str, value: str) -> bool:
    """Whether an argument of this name with this value is a secret, as far as the two tell."""
    lower = name.lower()
    return any(part in lower for part in _SURE) or (
        lower.endswith((*_LIKELY, "auth", "cookie", "credential", "credentials")) and _is_random(value)
    )


def _is_random(value: str) -> bool:
    """Whether a value behind a name that has other uses ("key", "token") is one that nobody would choose."""
    if len(value) < 8 or value.isdigit() or " " in value:
        return False
    return len(value) >= 32 or not _DIGITS.isdisjoint(value)


def _end(text: str, start: int, among: frozenset[str]) -> int:
    """Where the characters end which are among these."""
    while start < len(text) and text[start] in among:
        start += 1
    return start


def _value_end(text: str, start: int) -> int:
    """Where a value ends that begins here: at its closing quote, or else where no value goes on."""
    quote = text[start - 1]
    if quote in _QUOTES:
        # Inside of another text in quotes, the quotes of this one have a backslash each.
        escaped = text[start - 2 : start - 1] == "\\"
        end = text.find(f"\\{quote}" if escaped else quote, start, start + _VALUE)
        while end > start and not escaped and text[end - 1] == "\\":
            end = text.find(quote, end + 1, start + _VALUE)
        if end >= 0:
            return end
    while start < len(text) and text[start] not in _ENDS:
        start += 1
    return start


def _words(text: str, mark: str) -> Iterator[Span]:
    """The runs of a token's characters that begin with the mark."""
    start = text.find(mark)
    while start >= 0:
        end = start + 1
        if start == 0 or text[start - 1] not in _TOKEN:
            end = _end(text, start + len(mark), _TOKEN)
            yield start, end
        start = text.find(mark, end)


def _prefixed(text: str) -> Iterator[Span]:
    for prefix in _PREFIXES:
        for start, end in _words(text, prefix):
            if prefix == "SG." and text[end : end + 1] == ".":
                end = _end(text, end + 1, _TOKEN)
            if end - start >= _SHORTEST and _holds_chance(text[start:end]):
                yield start, end


def _holds_chance(token: str) -> bool:
    """Whether there is more to it than words with something between them."""
    parts = token.replace("_", "-").replace(".", "-").split("-")
    return any(len(part) >= 10 and not _DIGITS.isdisjoint(part) for part in parts)


def _web_tokens(text: str) -> Iterator[Span]:
    """JSON web tokens: two or three parts in Base64, of which the first two begin as an object in JSON does."""
    for start, end in _words(text, "eyJ"):
        if text.startswith(".eyJ", end):
            end = _end(text, end + 1, _TOKEN)
            if text[end : end + 1] == ".":
                end = _end(text, end + 1, _TOKEN)
            yield start, end


def _sent(text: str) -> Iterator[Span]:
    """What stands behind `Bearer` and `Basic`."""
    for mark in ("Bearer ", "bearer ", "BEARER ", "Basic ", "basic "):
        start = text.find(mark)
        while start >= 0:
            start += len(mark)
            end = _end(text, start, _SENT)
            if end - start >= 12 and not _NO_WORD.isdisjoint(text[start + 1 : end]):
                yield start, end
            start = text.find(mark, end)


def _private_keys(text: str) -> Iterator[Span]:
    """Whole blocks; one that does not end goes to the end of the text."""
    start = text.find("-----BEGIN ")
    while start >= 0:
        head = text.find("PRIVATE KEY", start, start + 64)
        if head < 0:
            start = text.find("-----BEGIN ", start + 1)
            continue
        mark = text.find("-----END ", head)
        if mark < 0:
            yield start, len(text)
            return
        end = text.find("KEY-----", mark, mark + 64)
        end = mark if end < 0 else end + len("KEY-----")
        yield start, end
        start = text.find("-----BEGIN ", end)


def _passwords_in_urls(text: str) -> Iterator[Span]:
    """The password in `://user:password@host`, and a long user without one, which is a key then."""
    start = text.find("://")
    while start >= 0:
        start += 3
        end = start
        while end < len(text) and text[end] not in _ENDS and text[end] not in "/?#":
            end += 1
        at = text.rfind("@", start, end)
        colon = text.find(":", start, max(at, start))
        if 0 <= colon < at - 1:
            yield colon + 1, at
        elif colon < 0 and at - start >= _SHORTEST:
            yield start, at
        start = text.find("://", end)


def _named(text: str, name: str) -> Iterator[Span]:
    """The values behind a name: `password=…`, `"api_key": "…"`, `--token …`."""
    place = text.find(name)
    while place >= 0:
        end = place + len(name)
        start = _value_start(text, place, end)
        if start:
            end = _value_end(text, start)
            value = text[start:end]
            if len(value) >= 4 and (name.lower() in _SURE or _is_random(value)):
                yield start, end
        place = text.find(name, end)


def _value_start(text: str, place: int, end: int) -> int:
    """Where the value of a name begins that ends here; 0 where none follows."""
    if text[end : end + 1] in ("s", "S"):
        end += 1
    if text[end : end + 1] == "\\":
        end += 1
    if text[end : end + 1] in tuple(_QUOTES):
        end += 1
    after = _blanks_end(text, end)
    if text[after : after + 1] in ("=", ":"):
        after = _blanks_end(text, after + 1)
    elif after == end or not _is_option(text, place):
        return 0
    if text[after : after + 1] == "\\":
        after += 1
    return after + 1 if text[after : after + 1] in tuple(_QUOTES) else after


def _blanks_end(text: str, start: int) -> int:
    end = start
    while end < start + 8 and text[end : end + 1] in (" ", "\t"):
        end += 1
    return end


def _is_option(text: str, place: int) -> bool:
    """Whether the name is one of an option on a command line, such as `--api-token`."""
    begin = place
    while begin > max(0, place - 32) and text[begin - 1] in _TOKEN:
        begin -= 1
    return text.startswith("--", begin)
