"""Ollama's own chat: one JSON object a line."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from typing import Any

from ..payloads import READ, argument_values, lines, some_words
from .subject import BOUNDS, CALL_IDS, CALL_NAMES, MARK, ODD_COUNTS, Subject, near_names, without

Line = dict[str, Any]

_REASONS = ["stop", "stop", "length", "load", "unload", "new_word", "", None, ...]
_PARIS = {"city": "Paris"}


def _line(message: Any, **more: Any) -> Line:
    return {
        "model": "qwen3:4b",
        "created_at": "2026-08-05T08:10:56.372032Z",
        **without({"message": message, "done": False, **more}),
    }


def _words(text: Any, **more: Any) -> Line:
    return _line({"role": "assistant", "content": text, **more})


def _call(arguments: Any = None, **more: Any) -> Line:
    function = {"index": more.pop("index", 0), "name": more.pop("name", "get_weather")}
    function["arguments"] = _PARIS if arguments is None else arguments
    return without({"id": "call_1", **more, "function": without(function)})


def _calls(*calls: Any, text: str = "") -> Line:
    return _words(text, tool_calls=list(calls))


def _end(reason: Any = "stop", **more: Any) -> Line:
    counts = {"total_duration": 4883583458, "load_duration": 1334875, "prompt_eval_count": 26}
    counts |= {"prompt_eval_duration": 342546000, "eval_count": 282, "eval_duration": 4535599000}
    message = more.pop("message", {"role": "assistant", "content": ""})
    return _line(message, **without({"done": True, "done_reason": reason, **counts, **more}))


def _answer(*made: Line, **more: Any) -> bytes:
    return lines([*made, _end(**more)])


# speed and growth


def _text(words: Sequence[str]) -> bytes:
    return _answer(*map(_words, words))


def _calls_body(size: int) -> bytes:
    return _answer(_calls(_call(argument_values(size), name="write_file")))


def _calls_after_thinking(size: int = 1500, piece: int = 15, calls: int = 3) -> bytes:
    """As models that call do: they think for a while, then make a few calls at once."""
    thinking = (_words("", thinking=word) for word in some_words(calls * size // piece))
    made = [
        _calls(_call(argument_values(size), name="write_file", id=f"call_{number}", index=number))
        for number in range(calls)
    ]
    return _answer(*thinking, *made)


def _thinking(words: Sequence[str]) -> bytes:
    return _answer(*(_words("", thinking=word) for word in words), _words("Done."))


# oddities


def _quirks() -> list[bytes]:
    text = (_words("Hello"), _words(" world 🦊"))
    plain = _answer(*text)
    error = {"error": "model requires more system memory"}
    return [
        plain,
        plain.replace(b"\n", b"\r\n"),
        plain.replace(b"\n", b"\n\n"),
        plain.rstrip(),
        plain.replace(b'"done":false', b'"done": false').replace(b'","', b'" , "'),
        _answer(_calls(_call())),
        _answer(_calls(_call(id=..., index=...))),
        _answer(_calls(_call(id=...)), _calls(_call(id=...))),
        _answer(_calls(_call()), _calls(_call({}, id="call_2", name="get_time"))),
        _answer(_calls(_call(), _call({}, id="call_2", name="get_time", index=1))),
        _answer(_calls(_call(), _call())),
        _answer(*text, _calls(_call(), text="calling"), *text),
        _answer(_calls(_call("{}"))),
        _answer(_calls(_call('{"city": "Paris"}'))),
        _answer(_calls(_call('{"city": '))),
        _answer(_calls(_call([1]))),
        _answer(_calls(_call(...))),
        _answer(_calls(_call(name=...))),
        _answer(_calls(_call({"a": 10**400, "b": 1.5e300, "c": -0.0, "d": "é\n🦊"}))),
        _answer(_calls(_call()), reason="length"),
        _answer(_calls(_call()), reason="new_word"),
        _answer(_calls(_call()), reason=...),
        _answer(*text, reason="load"),
        lines([_line({"role": "assistant", "content": "all at once", "tool_calls": [_call()]}, done=True)]),
        lines([_end(message={"role": "assistant", "content": "last words", "tool_calls": [_call()]})]),
        _answer(_words("", thinking="so"), _words("", thinking=" then"), _calls(_call())),
        _answer(_words("", tool_calls=None, thinking=None, images=None)),
        _answer(_words("", images=["QUJD"])),
        lines([*text]),
        lines([*text, _end(), *text]),
        lines([*text, _end(), _end()]),
        lines([*text, error]),
        lines([error]),
        lines([*text, {"error": {"message": "nested", "code": 500}}]),
        lines([*text, _line(...), _line(None), {}, _end()]),
        lines([*text, _end(prompt_eval_count=None, eval_count="x")]),
        plain.replace(b"Hello", b'"' + b"\\u00e9\\ud83d\\ude00"),
        plain + b"\n\n   \n",
        b"\xef\xbb\xbf" + plain,
        b"data: " + plain,
        json.dumps(json.loads(plain.splitlines()[0]), indent=2).encode(),
        b"<html>\n<p>502 Bad Gateway</p>\n</html>\n",
        b"404 page not found",
        b"",
        _text(some_words(20)),
        _calls_body(240),
        _thinking(some_words(20)),
    ]


def _costly() -> list[bytes]:
    unknown = [_call({}, index=number, id=f"c{number}", name=name) for number, name in enumerate(near_names())]
    return [
        _answer(_calls(*unknown)),
        _answer(_calls(_call({"items": [1] * 6000}, name="sort_items"))),
        _answer(_calls(*[{}] * 4000)),
        _answer(_words("", images=["a"] * 2000)),
        lines([{"error": [{}] * 4000}]),
        b"{}\n" * 5000,
        b"x\n" * 8000,
        b"\n" * 15000,
    ]


def _deep() -> list[Any]:
    return [
        {"error": MARK},
        {"error": {"message": MARK}},
        {"error": "x", "status": MARK},
        _calls(_call({"a": MARK})),
        _calls(_call(MARK)),
        _calls(_call(id=MARK)),
        _calls(_call(index=MARK)),
        _calls(_call(more=MARK)),
        _calls(MARK),
        _words(MARK),
        _words("", thinking=MARK),
        _words("", images=MARK),
        _words("", more=MARK),
        _line(MARK),
        _end(MARK),
        _end(eval_count=MARK),
        {"done": MARK},
    ]


# answers put together from odd lines

_OBJECTS: list[Any] = [
    _PARIS,
    {},
    None,
    "{}",
    '{"city": "Paris"}',
    '{"ci',
    [1],
    1,
    {"city": 1},
    {"a": {"b": [None]}},
    "",
]


def _random_answer(rng: random.Random) -> bytes:
    made = [_random_line(rng) for _ in range(rng.randint(1, 12))]
    if rng.random() < 0.8:
        made.append(
            _end(rng.choice(_REASONS), eval_count=rng.choice(ODD_COUNTS), done=rng.choice((True, True, 1, "x")))
        )
    return lines(made)


def _random_line(rng: random.Random) -> Line:
    message: dict[str, Any] = {"role": "assistant"}
    if rng.random() < 0.8:
        message["content"] = rng.choice(("Hello", "", None, " world", "é🦊", "\n"))
    if rng.random() < 0.15:
        message["thinking"] = rng.choice(("so", "", None, "then"))
    if rng.random() < 0.5:
        message["tool_calls"] = [
            without(
                {
                    "id": rng.choice((*CALL_IDS, ...)),
                    "function": without(
                        {
                            "index": rng.choice((0, 0, 1, None, "0", -1, ...)),
                            "name": rng.choice((*CALL_NAMES, ...)),
                            "arguments": rng.choice((*_OBJECTS, ...)),
                        }
                    ),
                }
            )
            for _ in range(rng.choice((1, 1, 1, 2)))
        ]
    if rng.random() < 0.03:
        return _end(rng.choice(_REASONS), message=message)
    return _line(rng.choice((message, message, message, message, message, None, ...)))


# ends, and input without one


def _is_end(payload: bytes) -> bool:
    try:
        return bool(json.loads(payload)["done"])
    except (ValueError, LookupError, TypeError):
        return False


def _endless_line() -> Iterator[bytes]:
    yield b'{"message":{"tool_calls":[{"function":{"name":"f","arguments":{"a":"'
    while True:
        yield b"x" * READ


def _large_arguments() -> Iterator[bytes]:
    yield lines([_calls(_call({"a": "x" * (BOUNDS.arguments + 1)}))])


def _endless_calls() -> Iterator[bytes]:
    for number in range(10**6):
        yield lines([_calls(_call(id=f"call_{number}"))])


def _long_id() -> Iterator[bytes]:
    yield lines([_calls(_call(id="i" * READ))])


def _long_name() -> Iterator[bytes]:
    yield lines([_calls(_call(name="i" * READ))])


def _blank_lines() -> Iterator[bytes]:
    while True:
        yield b"\n" * READ


def _images() -> Iterator[bytes]:
    while True:
        yield lines([_words("", images=["a"] * 100)])


SUBJECT = Subject(
    name="ollama",
    shape="ollama",
    suffix="ndjson",
    samples={
        "text": lambda: _text(some_words(1000)),
        "tool calls": _calls_after_thinking,
        "reasoning": lambda: _thinking(some_words(1000)),
    },
    growths={
        "arguments in one line": _calls_body,
        "text, 16-character pieces": lambda size: _text([f"{number:15} " for number in range(size // 16)]),
    },
    long_text=lambda size: _text(["x" * size]),
    text_answer=lambda deltas: _text(some_words(deltas)),
    calls_answer=_calls_after_thinking,
    whole_calls=True,
    quirks=_quirks,
    costly=_costly,
    deep=_deep,
    frame=lambda payloads: "".join(f"{payload}\n" for payload in payloads).encode(),
    random_answer=_random_answer,
    names=[
        *("message", "content", "thinking", "tool_calls", "function", "arguments", "name", "id", "index", "done"),
        *("done_reason", "error", "images", "role", "eval_count", "prompt_eval_count", "model"),
    ],
    values=[
        *('"stop"', '"length"', '{"city":"Paris"}', '[{"function":{"name":"get_weather","arguments":{}}}]'),
        *('{"content":"x"}', '{"message":"no","code":500}', '"QUJD"'),
    ],
    tokens=[b'{"done":true}\n', b'{"error":"x"}\n', b"{}\n", b"[]\n", b"data: {}\n"],
    is_end=_is_end,
    endless={
        "a line": (_endless_line, BOUNDS.line),
        "blank lines": (_blank_lines, BOUNDS.stream),
        "arguments": (_large_arguments, BOUNDS.arguments + 1000),
        "calls": (_endless_calls, 300 * BOUNDS.calls),
        "images": (_images, 100 * BOUNDS.segments),
        "a name": (_long_name, 2 * READ),
        "an id": (_long_id, 2 * READ),
    },
)
