"""llama.cpp's own grammar engine, without a model: what a grammar lets through."""

from __future__ import annotations

import ctypes
import functools
import math
import random
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from programs import LACKS_ENGINE

_POINTER, _TEXT, _SIZE = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t


class _Vector(ctypes.Structure):
    """A C++ vector of vectors, as far as it must be known to see which are empty."""

    _fields_ = (("begin", _POINTER), ("end", _POINTER), ("room", _POINTER))


class _Engine(NamedTuple):
    init: Callable[..., Any]
    accept: Callable[..., Any]
    stacks: Callable[..., Any]
    free: Callable[..., Any]


@functools.cache
def _engine() -> _Engine:
    spec = find_spec("xllamacpp")
    if spec is None or spec.origin is None:
        pytest.skip("needs xllamacpp")
    if LACKS_ENGINE:
        pytest.skip(LACKS_ENGINE)
    library = ctypes.CDLL(str(next(Path(spec.origin).parent.glob("xllamacpp*.so"))))

    def function(name: str, gives: Any, *takes: Any) -> Callable[..., Any]:
        # The name holds the types that are taken: one that has changed is not found.
        try:
            found: Any = getattr(library, name)
        except AttributeError:
            pytest.skip("this llama.cpp has another grammar engine, or hides it")
        found.argtypes, found.restype = takes, gives
        return found  # type: ignore[no-any-return]

    return _Engine(
        function(
            "_Z23llama_grammar_init_implPK11llama_vocabPKcS3_bPS3_mPKim",
            *(_POINTER, _POINTER, _TEXT, _TEXT, ctypes.c_bool, _POINTER, _SIZE, _POINTER, _SIZE),
        ),
        function("_Z20llama_grammar_acceptP13llama_grammarj", None, _POINTER, ctypes.c_uint32),
        function("_Z24llama_grammar_get_stacksP13llama_grammar", ctypes.POINTER(_Vector), _POINTER),
        function("_Z23llama_grammar_free_implP13llama_grammar", None, _POINTER),
    )


class HeldBy:
    """A grammar that llama.cpp takes."""

    def __init__(self, grammar: str) -> None:
        self._grammar = grammar.encode()
        self._engine = _engine()

    def _open(self) -> int:
        none = (_POINTER * 1)()  # llama.cpp asks for a place even where it looks at nothing in it
        made = self._engine.init(None, self._grammar, b"root", False, none, 0, none, 0)
        assert made, "llama.cpp does not take the grammar"
        return int(made)

    def refuses_at(self, text: str) -> int | None:
        """None if this text is let through as a whole, else the first character that is not, or its length."""
        grammar = self._open()
        try:
            for index, char in enumerate(text):
                self._engine.accept(grammar, ord(char))
                if not self._ways(grammar):
                    return index
            return None if any(begin == end for begin, end in self._ways(grammar)) else len(text)
        finally:
            self._engine.free(grammar)

    def allows(self, text: str) -> bool:
        """Whether this text is let through as a whole."""
        return self.refuses_at(text) is None

    def _ways(self, grammar: int) -> list[tuple[int, int]]:
        """Where each of the ways on begins and ends; one that is empty may stop here."""
        ways = self._engine.stacks(grammar).contents
        if not ways.begin:
            return []
        count = (ways.end - ways.begin) // ctypes.sizeof(_Vector)
        return [(way.begin or 0, way.end or 0) for way in (_Vector * count).from_address(ways.begin)]


class Writer:
    """Texts that a grammar lets through, by chance: a reader of its own for as much of GBNF as our grammars use."""

    _POOL = "ab z09<>/\"'\\[]{}_SEG!-]\n\té漢😀:,="

    def __init__(self, grammar: str) -> None:
        self._rules: dict[str, Any] = {}
        for line in grammar.splitlines():
            name, _, body = line.partition(" ::= ")
            self._text, self._at = body, 0
            self._rules[name] = self._alternatives()
            assert self._at == len(body), f"{name}: {body[self._at :]}"
        self._heights = self._settle()

    def write(self, rng: random.Random, steps: int = 60) -> str:
        """One text; after so many steps it takes the shortest way to an end."""
        self._rng, self._steps = rng, steps
        return self._write(("rule", "root"))

    def _write(self, node: tuple[str, Any]) -> str:
        kind, value = node
        if kind == "literal":
            return str(value)
        if kind == "class":
            return str(self._rng.choice(value))
        if kind == "sequence":
            return "".join(self._write(part) for part in value)
        if kind == "either":
            self._steps -= 1
            shortest = min(value, key=self._height)
            return self._write(self._rng.choice(value) if self._steps > 0 else shortest)
        if kind == "repeat":
            part, least, most = value
            more = min(3 if most is None else most - least, 3)
            return "".join(
                self._write(part) for _ in range(least + (self._rng.randint(0, more) if self._steps > 0 else 0))
            )
        return self._write(self._rules[value])

    # How far each rule is from an end.

    def _settle(self) -> dict[str, float]:
        self._heights = dict.fromkeys(self._rules, math.inf)
        while True:
            found = {name: 1 + self._height(rule) for name, rule in self._rules.items()}
            if found == self._heights:
                return found
            self._heights = found

    def _height(self, node: tuple[str, Any]) -> float:
        kind, value = node
        if kind == "rule":
            return self._heights[value]
        if kind == "either":
            return min(map(self._height, value))
        if kind == "sequence":
            return max(map(self._height, value), default=0)
        if kind == "repeat":
            return self._height(value[0]) if value[1] else 0
        return 0

    # Reading.

    def _alternatives(self) -> tuple[str, Any]:
        found = [self._sequence()]
        while self._text[self._at : self._at + 1] == "|":
            self._at += 1
            found.append(self._sequence())
        return ("either", found)

    def _sequence(self) -> tuple[str, Any]:
        parts: list[tuple[str, Any]] = []
        while True:
            while self._text[self._at : self._at + 1] == " ":
                self._at += 1
            mark = self._text[self._at : self._at + 1]
            if mark in ("", "|", ")"):
                return ("sequence", parts)
            if mark == "(":
                self._at += 1
                part = self._alternatives()
                assert self._text[self._at] == ")"
                self._at += 1
            elif mark == '"':
                part = ("literal", self._characters('"'))
            elif mark == "[":
                part = ("class", self._class())
            else:
                end = self._at
                while end < len(self._text) and (self._text[end].isalnum() or self._text[end] == "-"):
                    end += 1
                part = ("rule", self._text[self._at : end])
                assert part[1], self._text[self._at :]
                self._at = end
            parts.append(self._repeated(part))

    def _repeated(self, part: tuple[str, Any]) -> tuple[str, Any]:
        mark = self._text[self._at : self._at + 1]
        if mark and mark in "*+?":
            self._at += 1
            return ("repeat", (part, 1 if mark == "+" else 0, 1 if mark == "?" else None))
        if mark == "{":
            end = self._text.index("}", self._at)
            least, comma, most = self._text[self._at + 1 : end].partition(",")
            self._at = end + 1
            return ("repeat", (part, int(least), int(most) if most else None if comma else int(least)))
        return part

    def _characters(self, stop: str) -> str:
        self._at += 1
        found: list[str] = []
        while self._text[self._at] != stop:
            found.append(self._character())
        self._at += 1
        return "".join(found)

    def _character(self) -> str:
        char = self._text[self._at]
        self._at += 1
        if char != "\\":
            return char
        char = self._text[self._at]
        self._at += 1
        size = {"x": 2, "u": 4, "U": 8}.get(char, 0)
        if size:
            self._at += size
            return chr(int(self._text[self._at - size : self._at], 16))
        return {"n": "\n", "r": "\r", "t": "\t"}.get(char, char)

    def _class(self) -> str:
        self._at += 1
        negated = self._text[self._at] == "^"
        self._at += negated
        listed: set[str] = set()
        while self._text[self._at] != "]":
            first = self._character()
            if self._text[self._at] == "-" and self._text[self._at + 1] != "]":
                self._at += 1
                listed.update(map(chr, range(ord(first), ord(self._character()) + 1)))
            else:
                listed.add(first)
        self._at += 1
        return "".join(char for char in self._POOL if char not in listed) if negated else "".join(sorted(listed))
