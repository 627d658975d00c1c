"""Gemini generateContent, of the Gemini API and of Vertex: events with CRLF, or one JSON array."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from typing import Any

from ..payloads import READ, argument_values, dump, json_array, some_words, split, sse
from .subject import BOUNDS, CALL_IDS, CALL_NAMES, MARK, ODD_COUNTS, Subject, near_names, without

Chunk = dict[str, Any]

_REASONS = ["STOP", "STOP", "MAX_TOKENS", "SAFETY", "MALFORMED_FUNCTION_CALL", "OTHER", "NEW_WORD", 1, 2, 99, "", None]
_USAGE = {
    "promptTokenCount": 1125,
    "candidatesTokenCount": 181,
    "totalTokenCount": 1372,
    "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 1125}],
    "thoughtsTokenCount": 66,
}
_PARIS = {"city": "Paris"}
_SIGNATURE = "CiMBjz1rX25KieIB4d4AwFn8" * 8


def _chunk(*parts: Any, finish: Any = ..., **more: Any) -> Chunk:
    content = {"parts": list(parts), "role": "model"} if parts else ...
    candidate = without({"content": content, "finishReason": finish, "index": 0})
    made = {"candidates": [candidate], "usageMetadata": _USAGE, "modelVersion": "gemini-2.5-flash"}
    return without({**made, "responseId": "wrFVaf70IfCm_uMPxYvX0AI", **more})


def _words(text: Any, **more: Any) -> Chunk:
    return {"text": text, **more}


def _call(args: Any = None, **more: Any) -> Chunk:
    signature = more.pop("signature", ...)
    made = without({"name": "get_weather", "args": _PARIS if args is None else args, **more})
    return without({"functionCall": made, "thoughtSignature": signature})


def _partial(*pieces: Any, **more: Any) -> Chunk:
    return {"functionCall": without({"partialArgs": list(pieces), "willContinue": True, **more})}


def _piece(path: str, value: Any = ..., **more: Any) -> Chunk:
    return without({"jsonPath": path, "stringValue": value, **more})


def _end(*parts: Any, finish: Any = "STOP", **more: Any) -> Chunk:
    return _chunk(*parts, finish=finish, **more)


def _body(*chunks: Any, end: str = "\r\n\r\n") -> bytes:
    return sse(map(dump, chunks), done=False, end=end)


# speed and growth


def _text_chunks(words: Sequence[str]) -> list[Chunk]:
    return [*(_chunk(_words(word)) for word in words), _end(_words("."))]


def _calls_after_thinking() -> list[Chunk]:
    """As models that call do: they think aloud, then make a few calls at once."""
    thoughts = [_chunk(_words(words, thought=True)) for words in some_words(60, 40)]
    calls = [_call(argument_values(1500), name="write_file", id=f"call_{number}") for number in range(3)]
    calls[0]["thoughtSignature"] = _SIGNATURE
    return [*thoughts, _chunk(*calls), _end(_words(""))]


def _partial_chunks(size: int, piece: int = 16, calls: int = 1) -> Iterator[Chunk]:
    values = argument_values(size)
    for _ in range(calls):
        yield _chunk({"functionCall": {"name": "write_file", "willContinue": True}, "thoughtSignature": _SIGNATURE})
        yield _chunk(_partial(_piece("$.path", values["path"])))
        yield _chunk(_partial({"jsonPath": "$.overwrite", "boolValue": True}))
        for text in split(values["content"], piece):
            yield _chunk(_partial(_piece("$.content", text, willContinue=True)))
        yield _chunk(_partial(_piece("$.content", "")))
        yield _chunk({"functionCall": {}})
    yield _end()


def _many_values(size: int) -> bytes:
    parts = [_partial({"jsonPath": f"$.items[{number}].a", "numberValue": number}) for number in range(size // 16)]
    first = {"functionCall": {"name": "sort_items", "willContinue": True}}
    return _body(_chunk(first), *map(_chunk, parts), _chunk({"functionCall": {}}), _end())


def _whole_call(size: int) -> list[Chunk]:
    return [_chunk(_call(argument_values(size), name="write_file")), _end()]


# oddities


def _quirks() -> list[bytes]:
    text = (_chunk(_words("Hello")), _chunk(_words(" world 🦊")))
    thought = _chunk(_words("so", thought=True))
    image = {"inlineData": {"mimeType": "image/png", "data": "QUJD"}}
    code = {"executableCode": {"language": "PYTHON", "code": "1+1"}}
    result = {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "2"}}
    tool = {"toolCall": {"toolType": "GOOGLE_SEARCH_WEB", "args": {"queries": ["x"]}, "id": "t1"}}
    answered = {"toolResponse": {"toolType": "GOOGLE_SEARCH_WEB", "id": "t1", "response": {"a": 1}}}
    error = {"error": {"code": 503, "message": "overloaded", "status": "UNAVAILABLE"}}
    streamed = [
        {"functionCall": {"name": "get_weather", "willContinue": True}, "thoughtSignature": _SIGNATURE},
        _partial(_piece("$.city", "Par", willContinue=True)),
        _partial(_piece("$.city", "is\n🦊", willContinue=True)),
        _partial(_piece("$.city", "")),
    ]
    last: Chunk = {"functionCall": {}}
    nested = [
        _piece("$.recipe.name", "x"),
        _piece("$.recipe.items[0].amount", numberValue=1.5),
        _piece("$.recipe.items[1]['a.b']", boolValue=True),
        _piece("$.recipe.last", nullValue=None),
    ]
    grounded = {"groundingChunks": [{"web": {"uri": "https://example.org", "title": "T"}}]}
    cited = {"citationSources": [{"uri": "https://example.org", "startIndex": 0}]}
    with_more = _end(_words("Hi"))
    with_more["candidates"][0] |= {"groundingMetadata": grounded, "citationMetadata": cited, "finishMessage": "x"}
    two = _end(_words("Hi"))
    two["candidates"].append({"index": 1, "content": {"parts": [_words("other"), _call()]}, "finishReason": "STOP"})
    blocked = {"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": _USAGE}
    snake = {"candidates": [{"content": {"parts": [{"function_call": {"name": "get_time"}}]}, "finish_reason": 1}]}
    chunks: list[list[Chunk]] = [
        [*text, _end()],
        [*text, _end(_words("!"))],
        [_end(_words("2"))],
        [*(_chunk(_words("a"), finish="STOP") for _ in range(3))],
        [_chunk(_call()), _end()],
        [_end(_call())],
        [_end(_call(id="call_1", signature=_SIGNATURE), _call({}, id="call_2", name="get_time"))],
        [_chunk(_call(signature=_SIGNATURE)), _chunk(_call()), _end(_words(""))],
        [_end(_call(...), _call({}, name="get_time"))],
        [_end(_call(), _call())],
        [_end(_call(id="a"), _call(id="a"))],
        [*text, _chunk(_call()), *text, _end()],
        [*(_end(_call(), finish=reason) for reason in ("MAX_TOKENS",))],
        [_end(_call(), finish="MALFORMED_FUNCTION_CALL")],
        [_end(finish="UNEXPECTED_TOOL_CALL", finishMessage="x")],
        [_end(_call(), finish=1)],
        [_end(_words("x"), finish=2)],
        [_end(_words("x"), finish="SAFETY")],
        [thought, *text, _end(_words("", thoughtSignature=_SIGNATURE))],
        [thought, _chunk(_words("Hi", thoughtSignature=_SIGNATURE)), *text, _end()],
        [_chunk(_words("so", thought=True, thoughtSignature=_SIGNATURE)), _end(_call())],
        [*map(_chunk, streamed), _chunk(last), _end()],
        [*map(_chunk, streamed), _chunk(last), *map(_chunk, streamed), _end(last)],
        [*map(_chunk, streamed), _end()],
        [*map(_chunk, streamed[:2]), _end(finish="MAX_TOKENS")],
        [_chunk(streamed[0]), _chunk(_partial(*nested)), _chunk(last), _end()],
        [
            _chunk(streamed[0]),
            _chunk(_partial()),
            _chunk({"functionCall": {"willContinue": True}}),
            _chunk(last),
            _end(),
        ],
        [_chunk(streamed[0]), _chunk(_partial(*nested, *nested)), _chunk(last), _end()],
        [_chunk(streamed[0]), _chunk(_partial(_piece("$.a[7]", "x"), _piece("$.a.b", "x"))), _chunk(last), _end()],
        [_chunk(streamed[0]), _chunk(_call()), _chunk(last), _end()],
        [_chunk(*streamed, last), _end()],
        [_chunk(last), _end()],
        [_end(image, _words("Hi"))],
        [_end({"fileData": {"mimeType": "image/png", "fileUri": "https://example.org/a.png"}})],
        [_end(code, result, _words("2"))],
        [_end(tool, answered, _words("x"))],
        [_end({"newPart": {"a": 1}}, {})],
        [_end({"videoMetadata": {}, "text": "x"})],
        [with_more],
        [two],
        [blocked],
        [{"candidates": [{"finishReason": "STOP"}]}],
        [{"candidates": [{"content": {"role": "model"}, "finishReason": "STOP"}]}],
        [{"candidates": []}, {"usageMetadata": _USAGE}],
        [snake],
        [{"response": text[0]}, {"response": _end()}],
        [*text],
        [*text, error],
        [error],
        [*text, _end(), *text],
        [*text, _end(), error],
        [_chunk(_words("x"), usageMetadata=None), _end(usageMetadata={"promptTokenCount": "x"})],
    ]
    plain = _body(*chunks[0])
    return [
        *(_body(*one) for one in chunks),
        *(json_array(one) for one in chunks[::2]),
        _body(*chunks[0], end="\n\n"),
        _body(*chunks[0], end="\r\r"),
        b"[" + b",".join(dump(one).encode() for one in chunks[5] * 3) + b"]",
        json_array(chunks[0]) + b"\r\n",
        json_array(chunks[0])[:-1],
        json_array(chunks[0]) + b"x",
        b"\xef\xbb\xbf " + json_array(chunks[0]),
        json_array(chunks[1], end="") + json_array(chunks[0]),
        b"[]",
        b"[",
        b"[{}",
        b"[null,1,[],{}]",
        b"[" + dump(error).encode() + b"]",
        json.dumps(error, indent=2).encode(),
        json.dumps([error], indent=2).encode(),
        plain + b"data: [DONE]\r\n\r\n",
        b": keepalive\r\n\r\n" + plain,
        b"\xef\xbb\xbf" + plain,
        plain.rstrip(),
        plain.replace(b"\r\n\r\n", b"\r\n"),
        plain.replace(b"data: ", b"data:"),
        dump(chunks[1][-1]).encode(),
        b"<html>\n<p>502 Bad Gateway</p>\n</html>\n",
        b"",
        _body(*_text_chunks(some_words(20))),
        _body(*_partial_chunks(240)),
    ]


def _costly() -> list[bytes]:
    deep_path = "$" + ".a" * 3000
    streamed = {"functionCall": {"name": "sort_items", "willContinue": True}}
    numbers = [{"jsonPath": f"$.items[{number}]", "numberValue": number} for number in range(300)]
    return [
        _body(_end(*(_call({}, id=f"c{number}", name=name) for number, name in enumerate(near_names())))),
        _body(_end(_call({"items": [1] * 6000}, name="sort_items"))),
        _body(_end(*[{}] * 4000)),
        _body(_end(*[_words("", thoughtSignature="a")] * 500)),
        _body(_end(*[_words("a", thought=bool(number % 2)) for number in range(500)])),
        _body(_end(*[{"inlineData": {"mimeType": "image/png", "data": "a"}}] * 300)),
        _body(_chunk(streamed), _chunk(_partial(_piece(deep_path, "x"))), _end({"functionCall": {}})),
        _body(_chunk(streamed), _chunk(_partial(_piece("$" + "[0]" * 3000, "x"))), _end({"functionCall": {}})),
        _body(_chunk(streamed), _chunk(_partial(_piece("$['" + "a" * 9000, "x"))), _end({"functionCall": {}})),
        _body(_chunk(streamed), _chunk(_partial(*numbers)), _end({"functionCall": {}})),
        _body({"error": {"message": "x", "code": [{}] * 4000}}),
        b"[" + b"{}," * 5000 + b"{}]",
        b"[" * 15000,
        b'["' + b"\\" * 15000,
        b"x\n" * 8000,
        b"data\n" * 3000,
    ]


def _deep() -> list[Any]:
    candidate: list[Any] = [
        {"content": MARK},
        {"content": {"parts": MARK}},
        {"content": {"parts": [MARK]}},
        {"finishReason": MARK},
        {"groundingMetadata": MARK},
        {"groundingMetadata": {"groundingChunks": [MARK]}},
        {"citationMetadata": {"citationSources": MARK}},
        {"index": MARK},
        MARK,
    ]
    parts: list[Any] = [
        *(_call({"a": MARK}), _call(MARK), _call(id=MARK), _call(more=MARK), _call(signature=MARK)),
        *({"functionCall": MARK}, _words(MARK), _words("x", thought=MARK), _words("x", more=MARK)),
        *({"toolCall": {"args": MARK}}, {"toolResponse": {"response": MARK}}, {"newPart": MARK}),
        *({"executableCode": MARK}, {"codeExecutionResult": {"output": MARK}}, {"inlineData": {"data": MARK}}),
        *({"functionCall": {"partialArgs": MARK}}, _partial(MARK), _partial(_piece(MARK, "x"), name="a")),
        *(_partial(_piece("$.a", MARK), name="a"), _partial({"jsonPath": "$.a", "numberValue": MARK}, name="a")),
    ]
    return [
        {"error": MARK},
        {"error": {"message": MARK}},
        {"error": {"message": "x", "status": MARK}},
        {"error": {"message": "x", "details": MARK}},
        {"promptFeedback": {"blockReason": MARK}},
        {"usageMetadata": {"promptTokenCount": MARK}},
        {"candidates": MARK},
        {"response": MARK},
        *({"candidates": [one]} for one in candidate),
        *map(_chunk, parts),
    ]


# answers put together from odd parts

_PATHS = [
    "$.city",
    "$.city",
    "$.a.b",
    "$.a[0]",
    "$.a[1].b",
    "$['city']",
    "$",
    "",
    None,
    "city",
    "$.a[",
    "$..a",
    "$.a[-1]",
]
_VALUES: list[Chunk] = [
    *({"stringValue": "Par"}, {"stringValue": "is"}, {"stringValue": ""}, {"numberValue": 1}, {"numberValue": "NaN"}),
    *({"boolValue": True}, {"nullValue": None}, {"nullValue": "NULL_VALUE"}, {}, {"stringValue": None}, {"x": 1}),
    *({"stringValue": "a", "numberValue": 1}, {"numberValue": 1e400}, {"stringValue": '"\\\n🦊'}, {"boolValue": "x"}),
]


def _random_answer(rng: random.Random) -> bytes:
    made: list[Any] = []
    for _ in range(rng.randint(1, 12)):
        made.append(_chunk(*(_random_part(rng) for _ in range(rng.choice((0, 1, 1, 1, 2, 3))))))
        if rng.random() < 0.07:
            made[-1]["candidates"][0] |= {"finishReason": rng.choice(_REASONS), "index": rng.choice((0, 0, 1, None))}
    if rng.random() < 0.75:
        made.append(_end(finish=rng.choice(_REASONS), usageMetadata={"promptTokenCount": rng.choice(ODD_COUNTS)}))
    return _body(*made) if rng.random() < 0.75 else json_array(made)


def _random_part(rng: random.Random) -> Any:
    kind = rng.random()
    if kind < 0.3:
        name, call_id = rng.choice((*CALL_NAMES, ...)), rng.choice((*CALL_IDS, ..., ..., ...))
        args = rng.choice((_PARIS, {}, None, ..., [1], "x", {"city": 1}))
        return _call(args, name=name, id=call_id, signature=rng.choice(("abc", ..., ..., None, "", 1)))
    if kind < 0.7:
        pieces = [
            without(
                {"jsonPath": rng.choice(_PATHS), **rng.choice(_VALUES), "willContinue": rng.choice((True, False, ...))}
            )
            for _ in range(rng.choice((0, 1, 1, 1, 2)))
        ]
        name = rng.choice(("get_weather", ..., ..., ..., None, ""))
        return _partial(*pieces, name=name, willContinue=rng.choice((True, True, True, False, None, ...)))
    if kind < 0.78:
        return {"functionCall": rng.choice(({}, {"willContinue": True}, {"willContinue": False}, None))}
    if kind < 0.92:
        text, thought = rng.choice(("Hello", "", None, "é🦊")), rng.choice((True, False, ..., ..., None))
        return without(_words(text, thought=thought, thoughtSignature=rng.choice(("abc", ..., ..., ""))))
    return rng.choice(({}, {"newPart": 1}, {"inlineData": {"data": "QUJD"}}, {"executableCode": {"code": "1"}}, None))


# ends, and input without one


def _is_end(payload: bytes) -> bool:
    try:
        value = json.loads(payload)
        if isinstance(value.get("response"), dict):
            value = value["response"]
        if (value.get("promptFeedback") or {}).get("blockReason"):
            return True
        found = [one for one in value["candidates"] if not one.get("index")]
        return any(one.get("finishReason") or one.get("finish_reason") for one in found)
    except (ValueError, LookupError, TypeError, AttributeError):
        return False


def _endless_partial() -> Iterator[bytes]:
    yield _body(_chunk({"functionCall": {"name": "f", "willContinue": True}}))
    while True:
        yield _body(_chunk(_partial(_piece("$.a", "x" * READ, willContinue=True))))


def _endless_calls() -> Iterator[bytes]:
    for number in range(10**6):
        yield _body(_chunk(_call(id=f"call_{number}")))


def _endless_signatures() -> Iterator[bytes]:
    while True:
        yield _body(_chunk(*[_words("", thoughtSignature="x")] * 64))


def _endless_element() -> Iterator[bytes]:
    yield b'[{"a":"'
    while True:
        yield b"x" * READ


def _endless_elements() -> Iterator[bytes]:
    yield b"[{}"
    while True:
        yield b",{}" * 5_000


def _endless_blanks() -> Iterator[bytes]:
    yield b"["
    while True:
        yield b" " * READ


def _large_arguments() -> Iterator[bytes]:
    yield _body(_chunk(_call({"a": "x" * (BOUNDS.arguments + 1)})))


def _long_id() -> Iterator[bytes]:
    yield _body(_chunk(_call(id="i" * READ)))


SUBJECT = Subject(
    name="gemini",
    shape="generatecontent",
    suffix="sse",
    samples={
        "text": lambda: _body(*_text_chunks(some_words(500, 12))),
        "tool calls": lambda: _body(*_calls_after_thinking()),
        "streamed arguments": lambda: _body(*_partial_chunks(12_000, 24)),
        "text in a JSON array": lambda: json_array(_text_chunks(some_words(500, 12))),
    },
    growths={
        "arguments in one chunk": lambda size: _body(*_whole_call(size)),
        "streamed arguments, 16-character pieces": lambda size: _body(*_partial_chunks(size)),
        "streamed arguments, a number each": _many_values,
        "text, 16-character pieces": lambda size: _body(*_text_chunks([f"{n:15} " for n in range(size // 16)])),
        "text in a JSON array": lambda size: json_array(_text_chunks([f"{n:15} " for n in range(size // 16)])),
    },
    long_text=lambda size: _body(*_text_chunks(["x" * size])),
    text_answer=lambda deltas: _body(*_text_chunks(some_words(deltas, 12))),
    calls_answer=lambda size, piece, calls: _body(*_partial_chunks(size, piece, calls)),
    quirks=_quirks,
    costly=_costly,
    deep=_deep,
    frame=lambda payloads: sse(payloads, done=False, end="\r\n\r\n"),
    random_answer=_random_answer,
    names=[
        *(
            "candidates",
            "content",
            "parts",
            "text",
            "thought",
            "thoughtSignature",
            "functionCall",
            "name",
            "args",
            "id",
        ),
        *("partialArgs", "jsonPath", "stringValue", "numberValue", "willContinue", "finishReason", "usageMetadata"),
        *("promptFeedback", "blockReason", "index", "error", "inlineData", "mimeType", "data", "groundingMetadata"),
        *("function_call", "finish_reason", "response", "executableCode", "toolCall"),
    ],
    values=[
        *('"STOP"', '"MAX_TOKENS"', '"SAFETY"', '{"functionCall":{}}', '{"name":"get_weather","args":{}}', '"$.city"'),
        *('[{"text":"hi"}]', '[{"jsonPath":"$.a","stringValue":"x"}]', '{"message":"no","code":503}', '"image/png"'),
        *('"$.a[0].b"', '{"willContinue":true}', '"$.a[9999999999]"', "\"$['a']\""),
    ],
    tokens=[
        *(b'data: {"candidates":[{"finishReason":"STOP"}]}\r\n\r\n', b",", b",\r\n", b"]", b"[", b"[{", b"}]", b"]\n["),
        b'data: {"candidates":[{"content":{"parts":[{"functionCall":{}}]}}]}\r\n\r\n',
    ],
    is_end=_is_end,
    endless={
        "streamed arguments": (_endless_partial, 2 * BOUNDS.arguments),
        "arguments": (_large_arguments, BOUNDS.arguments + 1000),
        "calls": (_endless_calls, 500 * BOUNDS.calls),
        "signatures": (_endless_signatures, 100 * BOUNDS.blocks),
        "an element of an array": (_endless_element, BOUNDS.line),
        "elements of an array": (_endless_elements, BOUNDS.stream),
        "blanks in an array": (_endless_blanks, BOUNDS.stream),
        "an id": (_long_id, 2 * READ),
    },
)
