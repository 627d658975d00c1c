"""One server over its pipes: its life, its calls, and what others do not notice."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import mcp_types
import msgspec
import pytest

from toolwire.errors import McpFailed
from toolwire.mcp import connection as connections
from toolwire.mcp import stdio
from toolwire.mcp.config import ServerConfig
from toolwire.mcp.connection import Connection
from toolwire.mcp.log import ServerLog
from waiting import leap, until

SERVER = Path(__file__).parent / "line_server.py"


def config(*words: str, name: str = "line", **fields: Any) -> ServerConfig:
    args = ("-I", "-S", str(SERVER), *words)
    return ServerConfig(name=name, command=sys.executable, args=args, **fields)


def unopened(*words: str, **fields: Any) -> Connection:
    return Connection(config(*words, **fields), cwd="/", environment=os.environ, log=ServerLog(None))


@asynccontextmanager
async def opened(*words: str, **fields: Any) -> AsyncIterator[Connection]:
    connection = unopened(*words, **fields)
    try:
        await connection.open()
        yield connection
    finally:
        await connection.close()


def text(result: dict[str, Any]) -> str:
    return str(result["content"][0]["text"])


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "FIRST_PAUSE", 0.02)
    monkeypatch.setattr(stdio, "_TOLD_SECONDS", 20.0)


@pytest.fixture
def still(monkeypatch: pytest.MonkeyPatch) -> None:
    """No time passes for whoever asks how long the next attempt is off."""
    monkeypatch.setattr(connections, "time", SimpleNamespace(monotonic=lambda: 1_000.0))


@contextmanager
def hurried(connection: Connection, seconds: float) -> Iterator[None]:
    """Calls that begin in here have so many seconds; all others as many as before."""
    usual = connection.config
    connection.config = msgspec.structs.replace(usual, timeout=seconds)
    try:
        yield
    finally:
        connection.config = usual


async def failure(asked: Any) -> McpFailed:
    with pytest.raises(McpFailed) as caught:
        await asked
    return caught.value


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


async def test_it_introduces_itself_and_answers() -> None:
    async with opened() as connection:
        assert connection.facts is not None
        assert (connection.facts.name, connection.facts.version) == ("line server", "1")
        assert connection.facts.instructions == "Be kind."
        assert [tool["name"] for tool in await connection.list_tools()][:2] == ["echo", "slow"]
        assert text(await connection.call("echo", {"text": "ö"})) == "ö"
        assert (await connection.call("fail", {}))["isError"] is True
        assert [each["name"] for each in await connection.list_prompts()] == ["greet"]
        assert (await connection.get_prompt("greet", {"who": "Ada"}))["messages"][0]["content"]["text"] == "Hello Ada"
        assert [each["uri"] for each in await connection.list_resources()] == ["note://1"]
        assert [each["uriTemplate"] for each in await connection.list_templates()] == ["note://{id}"]
        assert (await connection.read_resource("note://2"))["contents"][0]["text"] == "at note://2"
    assert connection.state == "closed"


async def test_an_error_of_the_server_is_told_in_its_words() -> None:
    async with opened() as connection:
        error = await failure(connection.call("refuse", {}))
        assert (error.why, error.code) == ("refused", -32602)
        assert "no such thing" in error.message
        assert text(await connection.call("echo", {"text": "still here"})) == "still here"


async def test_progress_is_told_in_words() -> None:
    told: list[str] = []
    async with opened() as connection:
        await connection.call("slow", {"steps": 3, "seconds": 0.05}, told.append)
    assert told == ["1 of 3: step 1", "2 of 3: step 2", "3 of 3: step 3"]


async def test_all_that_open_it_at_once_share_one_start(tmp_path: Path) -> None:
    connection = unopened(f"lives={tmp_path / 'lives'}", "start=0.1")
    opening = [asyncio.create_task(connection.open()) for _ in range(5)]
    await asyncio.sleep(0.02)
    opening[0].cancel()
    done = await asyncio.gather(*opening, return_exceptions=True)
    assert [type(each) for each in done] == [asyncio.CancelledError, *[type(None)] * 4]
    assert len((tmp_path / "lives").read_text().split()) == 1
    await connection.close()


async def test_a_cancelled_call_leaves_at_once_and_the_server_is_told(tmp_path: Path) -> None:
    calls = tmp_path / "calls"
    async with opened(f"calls={calls}") as connection:
        other = asyncio.create_task(connection.call("slow", {"seconds": 0.3}))
        call = asyncio.create_task(connection.call("slow", {"seconds": 60}))
        assert await asyncio.to_thread(until, lambda: calls.exists() and calls.read_text().count("call slow") == 2)
        call.cancel()
        for _ in range(5):
            await asyncio.sleep(0)
        assert call.cancelled()
        assert text(await other) == "waited"
        assert text(await connection.call("echo", {"text": "next"})) == "next"
        assert calls.read_text().count("cancelled") == 1
        assert connection.life == 1


async def test_a_call_over_its_time_leaves_the_others_alone() -> None:
    async with opened() as connection:
        other = asyncio.create_task(connection.call("slow", {"seconds": 0.3}))
        await asyncio.sleep(0)
        with hurried(connection, 0.1):
            error = await failure(connection.call("silent", {}))
        assert error.why == "timeout"
        assert "not known" in error.message
        assert "`timeout`" in error.hint
        assert text(await other) == "waited"
        assert text(await connection.call("echo", {"text": "next"})) == "next"
        assert connection.life == 1


async def test_late_answers_go_nowhere() -> None:
    async with opened() as connection:
        for at in range(3):
            # Told to stop, the server answers all the same: after the call has left.
            with hurried(connection, 0.1):
                assert (await failure(connection.call("slow", {"seconds": 60}))).why == "timeout"
            assert text(await connection.call("echo", {"text": f"{at}"})) == f"{at}"


async def test_a_server_that_dies_wakes_every_call_and_comes_back_at_the_next() -> None:
    async with opened() as connection:
        began = time.monotonic()
        errors = await asyncio.gather(
            *(failure(connection.call("slow", {"seconds": 60})) for _ in range(5)),
            failure(connection.call("crash", {})),
        )
        assert time.monotonic() - began < 20
        for error in errors:
            assert error.why == "lost"
            assert "what the call did is not known" in error.message
            assert "exit code 3" in error.message
        assert connection.state == "failed"
        assert text(await connection.call("echo", {"text": "back"})) == "back"
        assert (connection.life, connection.state) == (2, "ready")


async def test_a_kill_in_the_middle_of_a_call_is_told_once_and_not_tried_again(tmp_path: Path) -> None:
    calls, lives = tmp_path / "calls", tmp_path / "lives"
    async with opened(f"calls={calls}", f"lives={lives}") as connection:
        call = asyncio.create_task(connection.call("slow", {"seconds": 60}))
        assert await asyncio.to_thread(until, lambda: calls.exists() and "slow" in calls.read_text())
        os.kill(int(lives.read_text()), signal.SIGKILL)
        error = await failure(call)
        assert error.why == "lost"
        await connection.call("echo", {"text": "back"})
        assert calls.read_text().count("slow") == 1


@pytest.mark.usefixtures("still")
async def test_attempts_wait_longer_and_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    real = asyncio.sleep

    async def sleep(seconds: float) -> None:
        waits.append(seconds)
        await real(0)

    connection = unopened("die=initialize")
    monkeypatch.setattr(connections, "FIRST_PAUSE", 8.0)
    monkeypatch.setattr(connections, "PATIENT", 60.0)
    monkeypatch.setattr(asyncio, "sleep", sleep)
    for _ in range(4):
        assert (await failure(connection.open())).why == "start"
        assert connection.state == "failed"
    assert [round(wait) for wait in waits if wait > 1] == [8, 16, 30]
    await connection.close()
    await failure(connection.open())
    assert len([wait for wait in waits if wait > 1]) == 3
    await connection.close()


@pytest.mark.usefixtures("still")
async def test_nobody_waits_for_an_attempt_that_is_far_off(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    lives = tmp_path / "lives"
    monkeypatch.setattr(connections, "FIRST_PAUSE", 28.0)
    async with opened(f"lives={lives}") as connection:
        assert "not known" in (await failure(connection.call("crash", {}))).message
        began = time.monotonic()
        error = await failure(connection.call("echo", {"text": "now"}))
        assert time.monotonic() - began < 10
        assert (error.why, error.again) == ("lost", 28)
        assert "exit code 3" in error.message
        assert "nothing was sent to it now: it is tried again in 28 seconds at the earliest" in error.message
        assert "next used" not in error.hint
        assert connection.state == "failed"
        assert len(lives.read_text().split()) == 1
        # A person who closes it and begins anew does not wait.
        await connection.close()
        assert text(await connection.call("echo", {"text": "now"})) == "now"


@pytest.mark.parametrize(
    ("words", "why", "said"),
    [
        (("mute",), "timeout", "did not introduce itself within 50 seconds"),
        (("die=initialize",), "start", "exit code 4"),
    ],
)
async def test_a_start_that_fails(words: tuple[str, ...], why: str, said: str, tmp_path: Path) -> None:
    lives = tmp_path / "lives"
    connection = unopened(*words, f"lives={lives}", start_timeout=50)
    began = time.monotonic()
    opening = asyncio.gather(failure(connection.open()), failure(connection.open()))
    assert await asyncio.to_thread(until, lives.exists)
    if why == "timeout":
        leap(50)
    errors = await opening
    assert time.monotonic() - began < 20
    for error in errors:
        assert (error.why, error.server) == (why, "line")
        assert said in error.message
        assert ("`start_timeout`" in error.hint) == (why == "timeout")
    assert errors[0] is not errors[1]
    assert connection.error is not None
    await connection.close()
    assert not any(is_alive(int(pid)) for pid in lives.read_text().split())


async def test_a_program_that_is_not_there() -> None:
    connection = Connection(
        ServerConfig(name="none", command="no-such-program-anywhere"), cwd="/", environment={}, log=ServerLog(None)
    )
    error = await failure(connection.list_tools())
    assert error.why == "start"
    assert "no-such-program-anywhere" in error.message
    await connection.close()


async def test_the_last_words_of_a_server_are_in_the_hint() -> None:
    assert "dying at initialize" in (await failure(unopened("die=initialize").open())).hint


@pytest.mark.parametrize("words", [(), ("strict",), ("deaf",)])
async def test_servers_that_know_only_the_older_greeting_cost_nothing(words: tuple[str, ...]) -> None:
    began = time.monotonic()
    async with opened(*words) as connection:
        assert time.monotonic() - began < 9
        assert connection.facts is not None
        assert connection.facts.protocol == "2025-11-25"


async def test_a_server_of_the_newest_protocol_alone_is_found_and_followed() -> None:
    changes = asyncio.Queue[int]()
    connection = Connection(
        config("modern"), cwd="/", environment=os.environ, log=ServerLog(None), on_change=lambda: changes.put_nowait(1)
    )
    await connection.open()
    assert connection.facts is not None
    assert connection.facts.protocol == "2026-07-28"
    assert text(await connection.call("echo", {"text": "new"})) == "new"
    listed = await connection.list_tools()
    assert [tool["name"] for tool in listed if tool["name"] in ("echo", "bad_header")] == ["echo"]
    await connection.call("grow", {})
    await asyncio.wait_for(changes.get(), 5)
    assert "more_0" in [tool["name"] for tool in await connection.list_tools()]
    await connection.close()


class Person:
    """Stands for `ServerRequests`: somebody who fills in every form, late. Until they leave, all time is theirs."""

    has_host = has_form = True
    during = 0

    def __init__(self, seconds: float = 0.0) -> None:
        self.seconds = seconds
        self.is_here = True

    @property
    def asked_seconds(self) -> float:
        return time.monotonic() if self.is_here else 0.0

    @contextmanager
    def answering(self) -> Iterator[None]:
        self.during += 1
        yield
        self.during -= 1

    async def sampling(self, context: Any, params: Any) -> Any:
        raise AssertionError("nobody asked for that")

    async def elicitation(self, context: Any, params: Any) -> mcp_types.ElicitResult:
        assert self.during == 1
        assert params.message == "Your name?"
        await asyncio.sleep(self.seconds)
        return mcp_types.ElicitResult(action="accept", content={"name": "Ada"})


@pytest.mark.parametrize("words", [(), ("modern",)])
async def test_what_a_server_asks_for_in_a_call_is_given_and_is_not_its_time(words: tuple[str, ...]) -> None:
    person: Any = Person(0.6)
    settings = config(*words, timeout=0.3)
    connection = Connection(settings, cwd="/", environment=os.environ, log=ServerLog(None), requests=person)
    said = text(await connection.call("ask", {}))
    assert json.loads(said)[0]["who"]["content"] == {"name": "Ada"} if words else '"Ada"' in said
    assert (json.loads(said)[1] if words else "state") == "state"
    person.is_here = False
    assert (await failure(connection.call("silent", {}))).why == "timeout"
    await connection.close()


async def test_what_a_server_needs_before_it_answers_has_bounds() -> None:
    async with opened("modern") as connection:
        error = await failure(connection.call("ask", {}))
        assert "not supported" in error.message  # there is nobody to ask
    async with opened("modern") as connection:
        assert (await failure(connection.call("insist", {}))).why == "limit"


async def test_a_list_has_bounds() -> None:
    async with opened("pages") as connection:
        assert len(await connection.list_tools()) == 11
    async with opened("circle") as connection:
        assert "circles" in (await failure(connection.list_tools())).message
    async with opened("pages", "tools=50") as connection:
        assert (await failure(connection.list_tools())).why == "limit"
    async with opened("tools=1000") as connection:
        assert (await failure(connection.list_tools())).why == "limit"
        assert text(await connection.call("echo", {"text": "still here"})) == "still here"


async def test_all_pages_together_are_no_larger_than_a_message(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "MESSAGE_BYTES", 500)
    async with opened("pages") as connection:
        error = await failure(connection.list_tools())
        assert error.why == "limit"
        assert "lists tools of over 500 bytes" in error.message


async def test_a_list_is_of_one_life(tmp_path: Path) -> None:
    lives = tmp_path / "lives"
    async with opened("pages", f"lives={lives}") as connection:
        pages = connection._pages("tools/list", time.monotonic() + 10)
        assert (await anext(pages))["nextCursor"]
        os.kill(int(lives.read_text()), signal.SIGKILL)
        assert (await failure(connection.call("silent", {}, life=1))).why == "lost"
        assert "was started anew" in (await failure(anext(pages))).message


async def test_a_name_that_is_no_text_harms_no_other_tool() -> None:
    async with opened("modern") as connection:
        assert connection._attempt is not None
        assert connection._attempt.link is not None
        strange: list[dict[str, Any]] = [{"name": ["echo"]}, {"name": {}}, {"name": "echo", "inputSchema": {}}]
        assert connection._attempt.link.listed(strange) == strange


async def test_it_says_that_its_tools_changed() -> None:
    changes: list[int] = []
    connection = Connection(
        config(), cwd="/", environment=os.environ, log=ServerLog(None), on_change=lambda: changes.append(1)
    )
    await connection.call("grow", {})
    assert changes == [1]
    assert "more_0" in [tool["name"] for tool in await connection.list_tools()]
    await connection.close()


async def test_nobody_is_told_of_what_is_not_served() -> None:
    async with opened() as connection:
        answer = json.loads(text(await connection.call("ask", {})))
        assert "not supported" in answer["message"]


async def test_closing_in_the_middle_of_everything(tmp_path: Path) -> None:
    lives = tmp_path / "lives"
    connection = unopened(f"lives={lives}", "mute")
    opening = asyncio.create_task(failure(connection.open()))
    assert await asyncio.to_thread(until, lives.exists)
    await connection.close()
    assert (await opening).why == "lost"
    connection = unopened(f"lives={lives}")
    call = asyncio.create_task(failure(connection.call("slow", {"seconds": 60})))
    await connection.open()
    await asyncio.sleep(0.05)
    await connection.close()
    assert (await call).why == "lost"
    await connection.close()
    assert await asyncio.to_thread(until, lambda: not any(is_alive(int(pid)) for pid in lives.read_text().split()))


async def test_closing_it_before_its_first_step(tmp_path: Path) -> None:
    lives = tmp_path / "lives"
    connection = unopened(f"lives={lives}")
    async with asyncio.timeout(20):
        error, _ = await asyncio.gather(failure(connection.open()), connection.close())
    assert error.why == "lost"
    assert connection.state == "closed"
    assert not lives.exists()
    async with asyncio.timeout(20):
        assert text(await connection.call("echo", {"text": "then"})) == "then"
    await connection.close()


async def test_all_who_close_it_and_who_uses_it_meanwhile_wait_for_the_end(tmp_path: Path) -> None:
    lives = tmp_path / "lives"
    connection = unopened(f"lives={lives}")
    await connection.open()
    first = int(lives.read_text())

    async def close() -> bool:
        await connection.close()
        return is_alive(first)

    async def use() -> bool:
        await asyncio.sleep(0)
        await connection.call("echo", {"text": "again"})
        return is_alive(first)

    assert not any(await asyncio.gather(close(), close(), use()))
    assert (connection.state, connection.life) == ("ready", 2)
    await connection.close()


def test_a_loop_that_was_closed_with_it_is_its_end() -> None:
    connection = unopened()
    loop = asyncio.new_event_loop()
    loop.run_until_complete(connection.open())
    loop.run_until_complete(connection.close())
    loop.run_until_complete(connection.open())
    attempt = connection._attempt
    assert attempt is not None
    attempt.loop = asyncio.new_event_loop()
    attempt.loop.close()
    assert connection.state == "failed"  # and not "ready"
    attempt.loop = loop
    loop.run_until_complete(connection.close())
    loop.close()


def test_it_works_on_one_event_loop_after_the_other_and_leaves_nothing(tmp_path: Path) -> None:
    lives = tmp_path / "lives"
    connection = unopened(f"lives={lives}")

    async def use() -> str:
        return text(await connection.call("echo", {"text": "here"}))

    for _ in range(2):
        # Not closed: the end of the loop ends the server.
        assert asyncio.run(use()) == "here"
        assert connection.state == "closed"
        assert not any(is_alive(int(pid)) for pid in lives.read_text().split())
    assert connection.life == 2
    gc.collect()


async def test_what_another_loop_uses_is_refused() -> None:
    async with opened() as connection:
        error = await asyncio.to_thread(asyncio.run, failure(connection.open()))
        assert "another event loop" in error.message


async def test_a_cancelled_opener_is_cancelled_and_nothing_else() -> None:
    async with opened() as connection:
        task = asyncio.create_task(connection.call("slow", {"seconds": 60}))
        await asyncio.sleep(0.05)
        async with asyncio.timeout(20):
            task.cancel()
            await asyncio.wait({task})
        current = asyncio.current_task()
        assert current is not None
        assert current.cancelling() == 0
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await connection.call("slow", {"seconds": 60})
        assert current.cancelling() == 0
        assert text(await connection.call("echo", {"text": "on"})) == "on"


async def test_a_call_is_sent_in_the_life_that_it_was_meant_for() -> None:
    async with opened() as connection:
        assert text(await connection.call("echo", {"text": "now"}, life=1)) == "now"
        await failure(connection.call("crash", {}))
        error = await failure(connection.call("echo", {"text": "later"}, life=1))
        assert "nothing was done" in error.message


async def test_a_terminal_obeys_nothing_in_an_error() -> None:
    async with opened("refusal=\x1b[2Jno\u202e way at all") as connection:
        error = await failure(connection.call("refuse", {}))
        assert error.message.endswith("answered tools/call with an error: ‹ESC›[2Jno‹U+202E› way at all")
