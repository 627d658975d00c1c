from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from bisect import bisect_left
from collections.abc import AsyncGenerator, Iterator
from random import Random

import pytest
import sqlalchemy as sa

from toolwire.durable.database import Database
from toolwire.durable.database import rates as table
from toolwire.durable.rates import LimitedTransport, Rate, RateLimits, account_of
from toolwire.errors import ConfigError
from toolwire.transport import HttpRequest

FAST = Rate(1000, 1.0)
SLOW = Rate(1, 3600.0)


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    made = Database(database_url)
    made.prepare()
    yield made
    made.close()


def accounts(database: Database) -> list[str]:
    return database.do(lambda connection: sorted(connection.execute(sa.select(table.c.key)).scalars()))


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        ("50/60s", Rate(50, 60.0)),
        ("10/s", Rate(10, 1.0)),
        ("1000/1h", Rate(1000, 3600.0)),
        ("5/2m", Rate(5, 120.0)),
        ("1/d", Rate(1, 86400.0)),
        (" 50 / 60 s ", Rate(50, 60.0)),
    ],
)
def test_rates_are_written_as_people_write_them(text: str, rate: Rate) -> None:
    assert Rate.parse(text) == rate


@pytest.mark.parametrize(
    "text",
    ["", "/", "50", "50/", "/s", "0/s", "5/0s", "-1/s", "5/-1s", "5/60", "5/60x", "1.5/s", "٣/s", "9" * 30 + "/s"],
)
def test_what_is_no_rate_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="is no rate") as caught:
        Rate.parse(text)
    assert "50/60s" in caught.value.hint


@pytest.mark.parametrize("requests", [1, 2, 9, 10, 19, 20, 50, 99, 100, 101, 500])
def test_no_window_holds_more_than_the_rate_allows(requests: int) -> None:
    rate = Rate(requests, 60.0)
    # As they go when all are wanted at once after a rest, each as late as it may be.
    late = Random(requests)
    places = [max(0, number - rate.burst + 1) * rate.pace for number in range(3 * requests + rate.burst)]
    sent = sorted(place + late.choice([0, rate.slack * 0.99]) for place in places)
    for first in range(requests + rate.burst):
        assert bisect_left(sent, sent[first] + rate.seconds) - first <= requests
    assert rate.pace <= rate.seconds / requests * 1.12 + rate.slack


_CROWD = """
import asyncio, json, os, sys, time
from toolwire.durable.database import Database
from toolwire.durable.rates import Rate, RateLimits

async def work(url, rate, number):
    database = Database(url)
    limits = RateLimits(database, {"openai": rate})
    begun = time.monotonic()
    async def one():
        await limits.wait("openai", "m", "key")
        return time.monotonic()
    ended = await asyncio.gather(*(one() for _ in range(number)))
    database.close()
    return begun, ended

url, requests, seconds, number, processes = json.loads(sys.argv[1])
for _ in range(processes):
    if not os.fork():
        told = json.dumps(asyncio.run(work(url, Rate(requests, seconds), number))) + chr(10)
        os.write(1, told.encode())
        os._exit(0)
for _ in range(processes):
    os.wait()
"""


@pytest.mark.thorough
def test_four_processes_together_keep_the_pace(database: Database, database_url: str) -> None:
    rate, number, processes = Rate(40, 1.0), 10, 4
    given = json.dumps([database_url, *rate, number, processes])
    done = subprocess.run([sys.executable, "-c", _CROWD, given], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    told = [json.loads(line) for line in done.stdout.splitlines()]
    first = min(begun for begun, _ in told)
    ends = sorted(end for _, times in told for end in times)
    assert len(ends) == number * processes
    for position, end in enumerate(ends, 1):
        # However late each of them came: never more than this by then.
        assert end >= first + (position - rate.burst) * rate.pace - 0.002, position
    assert all(times == sorted(times) for _, times in told), "requests of one process go in their order"


async def test_a_burst_goes_at_once_and_the_next_one_waits(database: Database) -> None:
    limits = RateLimits(database, {"openai": Rate(30, 3000.0)})
    async with asyncio.timeout(30):
        for _ in range(3):
            await limits.wait("openai", "m", "key")
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.2):
            await limits.wait("openai", "m", "key")


async def test_the_seconds_that_it_took_are_told(database: Database) -> None:
    limits = RateLimits(database, {"openai": Rate(5, 0.5)})
    await limits.wait("openai", "m", "key")
    began = time.monotonic()
    waited = await limits.wait("openai", "m", "key")
    assert 0 < waited <= time.monotonic() - began + 0.002


async def test_whoever_is_cancelled_leaves_the_line_to_the_next(database: Database) -> None:
    limits = RateLimits(database, {"openai": Rate(1, 0.2), "gemini": SLOW})
    await limits.wait("gemini", "m", "key")
    stuck = asyncio.create_task(limits.wait("gemini", "m", "key"))
    behind = asyncio.create_task(limits.wait("gemini", "m", "key"))
    await limits.wait("openai", "m", "key")
    await asyncio.sleep(0.05)
    behind.cancel()
    stuck.cancel()
    await asyncio.wait([stuck, behind])
    assert stuck.cancelled()
    assert behind.cancelled()
    # The line itself is free: another account's requests, and those after, take their places.
    first = asyncio.create_task(limits.wait("openai", "m", "key"))
    second = asyncio.create_task(limits.wait("openai", "m", "key"))
    await asyncio.sleep(0)
    first.cancel()
    async with asyncio.timeout(30):
        assert await second > 0


async def test_a_clock_that_was_set_back_stops_nobody(database: Database) -> None:
    limits = RateLimits(database, {"openai": Rate(10, 10.0)})
    await limits.wait("openai", "m", "key")

    def set_ahead(connection: sa.Connection) -> None:
        connection.execute(table.update().values(next=table.c.next + 3600, seen=table.c.seen + 3600))

    database.do(set_ahead)
    account = accounts(database)[0]
    wait = database.do(lambda connection: limits._take(connection, account, Rate(10, 10.0)))
    assert 0 < wait < 2.0, "what was due then is due now, and no more"


def test_the_place_is_taken_by_the_clock_when_it_is_its_turn(database: Database) -> None:
    """Whoever stood in line for the row does not take a place that has passed meanwhile."""
    limits = RateLimits(database, {})
    rate = Rate(1, 1000.0)

    def take_late(connection: sa.Connection) -> float:
        connection.execute(sa.text("SELECT 1"))
        time.sleep(0.3)
        return limits._take(connection, "late", rate)

    before = time.time()
    database.do(take_late)
    due = database.do(lambda connection: connection.execute(sa.select(table.c.next)).scalar_one())
    assert due >= before + 0.29 + rate.pace


@pytest.mark.parametrize(
    ("rates", "waits"),
    [
        ({}, False),
        ({"openai": SLOW}, True),
        ({"gemini": SLOW}, False),
        ({"*": SLOW}, True),
        ({"openai:gpt-4.1": SLOW}, True),
        ({"openai:gpt-4.1-mini": SLOW}, False),
        ({"openai:gpt-4.1": FAST, "openai": SLOW, "*": SLOW}, False),
        ({"openai": FAST, "*": SLOW}, False),
        ({"openai:other": FAST, "openai": SLOW, "*": FAST}, True),
    ],
)
async def test_the_nearest_rate_holds_alone(sqlite_url: str, rates: dict[str, Rate], waits: bool) -> None:
    database = Database(sqlite_url)
    database.prepare()
    limits = RateLimits(database, rates)
    await limits.wait("openai", "gpt-4.1", "key")
    task = asyncio.create_task(limits.wait("openai", "gpt-4.1", "key"))
    await asyncio.wait([task], timeout=0.1 if waits else 30)
    assert task.done() is not waits
    task.cancel()
    await asyncio.wait([task])
    if not rates:
        assert accounts(database) == []
    database.close()


async def test_every_key_is_an_account_and_none_is_written_down(database: Database) -> None:
    limits = RateLimits(database, {"claude": FAST, "*": FAST, "ollama:qwen3:4b": FAST})
    for provider, model, key in (
        ("anthropic", "m", "sk-ant-one"),
        ("anthropic", "other", "sk-ant-one"),
        ("anthropic", "m", "sk-ant-two"),
        ("openai", "m", "sk-ant-one"),
        ("ollama", "qwen3:4b", ""),
        ("ollama", "qwen3:8b", ""),
    ):
        await limits.wait(provider, model, key)
    found = accounts(database)
    assert [name.partition(" ")[0] for name in found] == [
        "anthropic",
        "anthropic",
        "ollama",
        "ollama:qwen3:4b",
        "openai",
    ]
    assert len({name.partition(" ")[2] for name in found}) == 3
    assert "sk-ant" not in str(found)
    assert all(len(name.partition(" ")[2]) == 12 for name in found)


@pytest.mark.parametrize("name", ["antropic", "", ":gpt-4.1", "*:gpt-4.1", "nobody"])
def test_a_limit_that_would_never_hold_is_refused(sqlite_url: str, name: str) -> None:
    with pytest.raises(ConfigError, match="no provider"):
        RateLimits(Database(sqlite_url), {name: FAST})


@pytest.mark.parametrize(
    "rate", [Rate(0, 1.0), Rate(-1, 1.0), Rate(1, 0.0), Rate(1, float("inf")), Rate(1, float("nan"))]
)
def test_a_rate_that_nothing_can_keep_is_refused(sqlite_url: str, rate: Rate) -> None:
    with pytest.raises(ConfigError, match="no rate"):
        RateLimits(Database(sqlite_url), {"*": rate})


def asked(provider: str, url: str = "https://example.test/v1/chat", **headers: str) -> HttpRequest:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return HttpRequest(url=url, headers={"Content-Type": "application/json", **named}, body=b"{}", provider=provider)


VERTEX = "https://aiplatform.googleapis.com/v1/projects/{}/locations/global/publishers/google/models/{}:streamGenerateContent"
BEDROCK = "https://bedrock-runtime.{}.amazonaws.com/model/{}/converse-stream"
SIGNED = "AWS4-HMAC-SHA256 Credential={}/20260101/eu-west-1/bedrock/aws4_request, SignedHeaders=host, Signature={}"


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (asked("openai", Authorization="Bearer one1"), asked("openai", Authorization="Bearer one1"), True),
        (asked("openai", Authorization="Bearer one1"), asked("openai", Authorization="Bearer two2"), False),
        (asked("anthropic", x_api_key="one1"), asked("anthropic", x_api_key="two2"), False),
        (asked("ollama"), asked("ollama"), True),
        (
            asked("vertex-express", "https://example.test/v1?key=one1"),
            asked("vertex-express", "https://example.test/v1?key=two2"),
            False,
        ),
        (
            asked("vertex", VERTEX.format("mine", "a"), Authorization="Bearer hour-one"),
            asked("vertex", VERTEX.format("mine", "b"), Authorization="Bearer hour-two"),
            True,
        ),
        (
            asked("vertex", VERTEX.format("mine", "a"), Authorization="Bearer hour-one"),
            asked("vertex", VERTEX.format("yours", "a"), Authorization="Bearer hour-one"),
            False,
        ),
        (
            asked("bedrock", BEDROCK.format("eu-west-1", "a"), Authorization=SIGNED.format("ASIA1", "00ff")),
            asked("bedrock", BEDROCK.format("eu-west-1", "b"), Authorization=SIGNED.format("ASIA2", "11ff")),
            True,
        ),
        (
            asked("bedrock", BEDROCK.format("eu-west-1", "a"), Authorization="Bearer one1"),
            asked("bedrock", BEDROCK.format("eu-west-1", "a"), Authorization="Bearer two2"),
            False,
        ),
    ],
)
def test_an_account_is_told_by_its_key_or_by_what_it_signs_for(
    one: HttpRequest, other: HttpRequest, same: bool
) -> None:
    assert (account_of(one) == account_of(other)) is same


class Told:
    """A transport that says when it was asked and whether it was let go of."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.closed = 0

    async def stream(self, request: HttpRequest) -> AsyncGenerator[bytes, None]:
        self.asked.append(request.model)
        try:
            yield b"one"
            yield b"two"
        finally:
            self.closed += 1

    async def aclose(self) -> None:
        self.closed += 100


async def test_a_request_goes_when_it_is_its_turn_and_closes_what_it_opened(database: Database) -> None:
    inner = Told()
    limited = LimitedTransport(inner, RateLimits(database, {"openai": SLOW}))
    request = HttpRequest(
        url="https://example.test", headers={"Authorization": "Bearer one1"}, body=b"", provider="openai", model="m"
    )
    assert [data async for data in limited.stream(request)] == [b"one", b"two"]
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.1):
            [data async for data in limited.stream(request)]
    assert inner.asked == ["m"], "the second was never sent"
    other = HttpRequest(url="https://example.test", headers={}, body=b"", provider="gemini", model="n")
    body = limited.stream(other)
    assert await anext(body) == b"one"
    await body.aclose()
    assert inner.asked == ["m", "n"]
    assert inner.closed == 2
    await limited.aclose()
    assert inner.closed == 102
