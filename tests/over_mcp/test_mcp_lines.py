"""Lines and messages: however they are cut, whatever they hold."""

from __future__ import annotations

import json
import random
import time
from typing import Any

import pytest
from mcp_types import JSONRPCError, JSONRPCResponse, jsonrpc_message_adapter

from toolwire.errors import LimitExceeded
from toolwire.mcp import lines as module
from toolwire.mcp.limits import MESSAGE_BYTES
from toolwire.mcp.lines import Lines, is_heavy, message_of


def test_the_cut_does_not_matter() -> None:
    rng = random.Random(1)
    data = b"".join(rng.choice([b"a", b"\n", b"\r\n", b"\xc3\xa9", b" ", b"{}", b"x" * 50]) for _ in range(3_000))
    whole = Lines().feed(data)
    assert whole == [line.strip() for line in data.split(b"\n")[:-1]]
    for _ in range(20):
        lines, found, rest = Lines(), [], data
        while rest:
            size = rng.randint(1, 200)
            found += lines.feed(rest[:size])
            rest = rest[size:]
        assert found == whole


def test_a_line_in_small_pieces_costs_no_more() -> None:
    lines = Lines()
    started = time.process_time()
    for _ in range(8 << 10):
        assert lines.feed(b"x" * 1023) == []
    assert time.process_time() - started < 1
    with pytest.raises(LimitExceeded):
        lines.feed(b"x" * 9_000)


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b" \n"])
def test_the_bound_is_exact(end: bytes) -> None:
    longest = b"x" * MESSAGE_BYTES
    assert Lines().feed(b"a\n" + longest + end) == [b"a", longest]
    with pytest.raises(LimitExceeded) as raised:
        Lines().feed(b"a\n" + longest + b"x" + end)
    assert raised.value.before == [b"a"]


MESSAGES = [
    '{"jsonrpc": "2.0", "method": "m"}',
    '{"jsonrpc": "2.0", "method": "m", "params": {"a": [1, "x", null]}}',
    '{"jsonrpc": "2.0", "id": 1, "method": "m"}',
    '{"jsonrpc": "2.0", "id": "one", "method": "m", "params": {}, "more": 1}',
    '{"jsonrpc": "2.0", "id": 1, "result": {"é": "\\ud83d\\ude00"}}',
    '{"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": "no", "data": [1]}}',
    '{"jsonrpc": "2.0", "id": null, "error": {"code": 1, "message": "no"}}',
    '{"id": 1, "result": {}, "jsonrpc": "2.0"}',
    '{"jsonrpc": "2.0", "id": 1, "result": {}, "error": null, "method": null}',
    '{"jsonrpc": "2.0", "id": 1, "method": "m", "error": null, "result": null}',
    "{}",
    "[]",
    "null",
    "",
    "{",
    '{"jsonrpc": "2.0"}',
    '{"jsonrpc": "2.0", "id": null, "method": "m"}',
    '{"jsonrpc": "2.0", "id": 1.5, "result": {}}',
    '{"jsonrpc": "2.0", "method": 1}',
    '{"jsonrpc": "2.0", "method": "m", "params": [1]}',
    '{"jsonrpc": 2, "method": "m"}',
    '{"method": "m"}',
    '{"jsonrpc": "2.0", "method": "m"} {}',
    '{"jsonrpc": "2.0", "id": true, "result": {}}',
]


@pytest.mark.parametrize("line", MESSAGES)
def test_a_message_is_what_the_sdk_takes_for_one(line: str) -> None:
    try:
        expected = jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValueError:
        expected = None
    assert message_of(line.encode()) == expected


BROKEN_ANSWERS: list[tuple[bytes, Any]] = [
    (b'{"jsonrpc": "2.0", "id": 1, "result": {"t": "cut \\ud83d"}}', {"t": "cut ?"}),
    (b'{"jsonrpc": "2.0", "id": 1, "result": {"t": NaN, "u": -Infinity}}', {"t": None, "u": None}),
    (b'{"jsonrpc": "2.0", "id": 1, "result": {"t": "\xff"}}', {"t": "\ufffd"}),
    (b'{"jsonrpc": "2.0", "id": 1}', None),
    (b'{"jsonrpc": "2.0", "id": 1, "result": []}', None),
    (b'{"jsonrpc": "2.0", "id": 1, "error": "no"}', None),
    (b'{"jsonrpc": "2.0", "id": 1, "error": null}', None),
]


@pytest.mark.parametrize(("line", "result"), BROKEN_ANSWERS)
def test_a_call_does_not_wait_for_an_answer_that_came_broken(line: bytes, result: Any) -> None:
    message = message_of(line)
    if result is None:
        assert isinstance(message, JSONRPCError)
        assert (message.id, message.error.code) == (1, -32700)
    else:
        assert isinstance(message, JSONRPCResponse)
        assert message.result == result


VALUES = [
    (json.dumps([[]] * 150), True),
    (json.dumps([{"": 1}] * 80), True),
    (json.dumps(["a"] * 150), True),
    (json.dumps({str(number): "" for number in range(150)}), True),
    (json.dumps([1] * 450), True),
    (json.dumps(["a,b"] * 90), False),
    (json.dumps("[{," * 1_000), False),
    (json.dumps('"[{,' * 1_000), False),
    (json.dumps('\\"[{,\\\\' * 1_000), False),
    (json.dumps(json.dumps(json.dumps([{"a": "b"}] * 1_000))), False),
    (json.dumps(["\\"] * 150), True),
    (json.dumps({"text": "x" * 10_000, "list": [1] * 90}), False),
    ("[" * 150 + "]" * 150, True),
    ('"' * 5_000, True),
]


@pytest.mark.parametrize(("text", "heavy"), VALUES, ids=[str(number) for number in range(len(VALUES))])
def test_many_values_are_heavy_and_many_characters_are_not(
    text: str, heavy: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MESSAGE_VALUES", 100)
    assert is_heavy(text.encode()) is heavy
