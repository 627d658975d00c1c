"""Keys that no file, log or error may hold: the type they live in, and what takes them out of a text.

Found are the secrets that a `Redactor` was given, whole or eight characters of one in a row, as they are and as JSON, a
URL, Python or Base64 write them (wherever in the encoded data they begin), and whatever looks like a key
(`key_shapes`). Not found are secrets that were compressed, encrypted, written as hexadecimal digits, backwards or with
something between all their characters. What is taken out becomes `***`, so that a text grows by a third at most.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from hmac import compare_digest
from typing import Any, NoReturn
from weakref import WeakValueDictionary

from .key_shapes import Span, is_secret_member, is_secret_variable, key_spans

STARS = "***"
PIECE = 8
"""A run of this many characters of a secret is taken out: a key that was cut in two must not show its half."""
_SHORT = 4
"""What is shorter than this is no secret; up to `PIECE` it is found as a whole."""
_HELD = 16
"""Characters of a secret in a row that a model is not shown. Fewer may be `sk-ant-api03-`, which is in every manual."""
_STEP = 4
"""Every run of `PIECE` characters holds so many that begin at a multiple of this: one number of four bytes."""
_DEPTH = 100
_PLAIN = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")


class Secret:
    """A key that no repr, log or error shows. `reveal` is called where a request is made, and nowhere else."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """The key itself."""
        return self._value

    def __repr__(self) -> str:
        return "Secret('…')"

    def __bool__(self) -> bool:
        return bool(self._value)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Secret):
            return NotImplemented
        return compare_digest(_bytes(self._value), _bytes(other._value))

    def __hash__(self) -> int:
        return hash(self._value)

    def __copy__(self) -> Secret:
        return self

    def __deepcopy__(self, memo: object) -> Secret:
        return self

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Secret is not written anywhere, so that it cannot be pickled")


NO_SECRET = Secret("")


class Redactor:
    """Takes secrets out of what is written or shown; never raises, and takes time in proportion to the text alone.

    `environment` adds the values of variables whose names say that they are secret.
    """

    __slots__ = ("_known",)

    def __init__(self, secrets: Iterable[Secret | str] = (), environment: Mapping[str, str] | None = None) -> None:
        given = {secret.reveal() if isinstance(secret, Secret) else secret for secret in secrets}
        found = {
            value.strip()
            for name, value in (environment or {}).items()
            if len(value.strip()) >= PIECE and is_secret_variable(name, value)
        }
        own = [_shared(frozenset(given - found))] if given - found else []
        self._known = [*own, _of_environment(frozenset(found))] if found else own

    def text(self, text: str) -> str:
        """The text without the secrets and without what looks like a key."""
        return _starred(text, [*self._spans(text), *key_spans(text)])

    def held(self, text: str) -> str:
        """The text without the secrets that were given, for a model, which may need to see what only looks like one."""
        spans = _merged([*self._spans(text)])
        return _starred(text, [(a, b) for a, b in spans if b - a >= _HELD or self._is_whole(text[a:b])])

    def spans(self, text: str) -> list[Span]:
        """Where the secrets that were given stand; in no order, and some may overlap."""
        return list(self._spans(text))

    def value(self, value: Any) -> Any:
        """The same for what JSON can hold: every text and name in it, and what stands behind a name that says so."""
        return self._value(value, _DEPTH)

    def _value(self, value: Any, depth: int) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if value is None or isinstance(value, (bool, int, float)):
            return value
        if depth == 0:
            return STARS
        if isinstance(value, Mapping):
            return {self.text(str(name)): self._member(str(name), each, depth) for name, each in value.items()}
        if isinstance(value, (list, tuple)):
            return [self._value(each, depth - 1) for each in value]
        return STARS

    def _member(self, name: str, value: Any, depth: int) -> Any:
        if isinstance(value, str) and is_secret_member(name, value):
            return STARS
        return self._value(value, depth - 1)

    def _is_whole(self, text: str) -> bool:
        return any(text in known.wholes for known in self._known)

    def _spans(self, text: str) -> Iterator[Span]:
        for known in self._known:
            yield from known.spans(text)


class _Known:
    """Some secrets and what they are found by, which is a thousand times as long. Never changed: shared by all who know
    the same ones.
    """

    __slots__ = ("__weakref__", "pieces", "probes", "short", "wholes")

    def __init__(self, secrets: Iterable[str]) -> None:
        self.pieces: set[str] = set()
        self.short: list[str] = []
        self.wholes: set[str] = set()
        """Secrets so short that a model is shown parts of them, but never all."""
        for secret in secrets:
            if _SHORT <= len(secret) < PIECE:
                self.short.append(secret)
            for form in _forms(secret):
                if PIECE <= len(form) < _HELD:
                    self.wholes.add(form)
                self.pieces.update(form[i : i + PIECE] for i in range(len(form) - PIECE + 1))
        self.probes = {four for piece in self.pieces for i in range(_STEP) for four in _fours(piece[i : i + _STEP])}

    def spans(self, text: str) -> Iterator[Span]:
        """Where the secrets stand: of all places only those are looked at where a part of one begins."""
        pieces, probes = self.pieces, self.probes
        fours = _fours(text) if pieces and len(text) >= PIECE else ()
        if not probes.isdisjoint(fours):
            for probe in [at * _STEP for at, four in enumerate(fours) if four in probes]:
                for start in range(max(0, probe - _STEP + 1), probe + 1):
                    if text[start : start + PIECE] in pieces:
                        yield start, start + PIECE
        for secret in self.short:
            start = text.find(secret)
            while start >= 0:
                yield start, start + len(secret)
                start = text.find(secret, start + 1)


def _fours(text: str) -> Sequence[int]:
    """Four characters at a time, as a number: quick to look up. Whatever is not ASCII counts as a question mark."""
    data = text.encode("ascii", "replace")
    return memoryview(data)[: len(data) // _STEP * _STEP].cast("I")


_KNOWN: WeakValueDictionary[frozenset[str], _Known] = WeakValueDictionary()


def _shared(secrets: frozenset[str]) -> _Known:
    known = _KNOWN.get(secrets)
    if known is None:
        known = _KNOWN[secrets] = _Known(secrets)
    return known


@lru_cache(maxsize=1)
def _of_environment(secrets: frozenset[str]) -> _Known:
    """Kept when nobody needs it: the secrets are in the process anyway, and the next agent has the same."""
    return _shared(secrets)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _forms(secret: str) -> set[str]:
    """A secret as it is, and as it is written in other places."""
    forms = {secret, repr(secret)[1:-1], ascii(secret)[1:-1]}
    forms |= {json.dumps(secret, ensure_ascii=ascii_only)[1:-1] for ascii_only in (True, False)}
    forms |= {_quoted(secret, digits) for digits in ("%%%02X", "%%%02x")}
    forms |= {form.replace("%20", "+") for form in forms}
    data = _bytes(secret)
    for before in range(3):
        # Some bits of the characters at both ends belong to what stands there.
        whole = b64encode(b"\0" * before + data).decode()
        inside = whole[(before * 8 + 5) // 6 : (before + len(data)) * 8 // 6]
        forms |= {inside, inside.replace("+", "-").replace("/", "_")}
    return forms


def _quoted(secret: str, digits: str) -> str:
    return "".join(char if char in _PLAIN else "".join(digits % byte for byte in _bytes(char)) for char in secret)


def _merged(spans: list[Span]) -> list[Span]:
    """The same places in order, those that touch as one."""
    merged: list[Span] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _starred(text: str, spans: list[Span]) -> str:
    parts: list[str] = []
    done = 0
    for start, end in _merged(spans):
        parts += text[done:start], STARS
        done = end
    return "".join(parts) + text[done:] if parts else text
