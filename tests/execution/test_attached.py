"""Programs that stay connected: both directions, back-pressure, and how they end."""

from __future__ import annotations

import asyncio
import fcntl
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from bench.trust.attached import endings
from bench.trust.children import living, new_token, words

from toolwire.errors import ProgramError
from toolwire.execution import attached, pipe_ends
from toolwire.execution.attached import Attached
from toolwire.execution.environment import CALL_MARK, child_environment
from toolwire.execution.process_group import ProcessGroup
from toolwire.execution.supervisor import descendants
from waiting import sleeping, until

linux = pytest.mark.skipif(sys.platform != "linux", reason="needs the supervisor")


@pytest.fixture(params=["supervised", "group"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Linux's own way, and that of Windows, where threads wait at the pipes of a group: it works here too."""
    if request.param == "group":
        monkeypatch.setattr(attached, "Supervised", ProcessGroup)
        monkeypatch.setattr(pipe_ends, "_THREADS", True)
    return str(request.param)


@pytest.fixture(autouse=True)
def nothing_is_left(monkeypatch: pytest.MonkeyPatch) -> object:
    monkeypatch.setattr(attached, "GRACE_SECONDS", 0.15)
    before = set(os.listdir("/proc/self/fd"))
    yield
    until = time.monotonic() + 5
    while (more := set(os.listdir("/proc/self/fd")) - before) and time.monotonic() < until:
        time.sleep(0.01)  # threads on their way out
    assert not more
    assert not descendants(os.getpid())


class Heard:
    def __init__(self) -> None:
        self.errors = ""
        self.begun = asyncio.Event()

    def take(self, text: str) -> None:
        self.errors += text
        self.begun.set()


@asynccontextmanager
async def running(
    *argv: str, cwd: str | Path = "/", heard: Heard | None = None, leave: float = 2.0
) -> AsyncIterator[Attached]:
    child = Attached(argv, cwd=cwd, environment=child_environment(os.environ), on_error_output=(heard or Heard()).take)
    try:
        yield child
    finally:
        await child.close(leave)


async def all_of(child: Attached) -> bytes:
    made = b""
    while data := await child.read():
        made += data
    return made


async def test_both_directions(way: str) -> None:
    data = bytes(range(256)) * 12_000
    async with running("cat") as child:
        writing = asyncio.create_task(child.write(data))
        made = b""
        while len(made) < len(data):
            made += await child.read()
        await writing
        assert made == data
        assert child.ending == ""
    assert child.ending == "exit code 0"


async def test_error_output_comes_apart_and_never_blocks(way: str) -> None:
    heard = Heard()
    async with running(
        "bash", "-c", "head -c 3000000 /dev/zero | tr '\\0' x >&2; echo out; read", heard=heard
    ) as child:
        assert await child.read() == b"out\n"
    assert heard.errors == "x" * 3_000_000


async def test_nothing_is_read_ahead(way: str) -> None:
    script = "import os\nfor _ in range(100): os.write(1, bytes(65536)); os.write(2, b'.')"
    heard = Heard()
    async with running(sys.executable, "-I", "-S", "-c", script, heard=heard) as child:
        await asyncio.sleep(0.2)
        assert len(heard.errors) <= 2
        assert len(await all_of(child)) == 6_553_600
    assert len(heard.errors) == 100


@linux
async def test_others_have_their_turn_whatever_comes() -> None:
    """Of a pipe that always holds more than one read takes."""
    taken, given = os.pipe()
    fcntl.fcntl(given, fcntl.F_SETPIPE_SZ, 1 << 20)
    os.write(given, bytes(1 << 20))
    end = pipe_ends.ReadEnd(taken)
    seen: list[str] = []

    async def turns() -> None:
        for _ in range(16):
            seen.append("turn")
            await asyncio.sleep(0)

    async def reads() -> None:
        for _ in range(16):
            await end.read()
            seen.append("read")

    await asyncio.gather(turns(), reads())
    assert all("turn" in seen[place - 1 : place + 1] for place in range(1, 16))
    end.close()
    os.close(given)


async def test_a_write_waits_until_it_is_taken(way: str) -> None:
    async with running("sleep", "60", leave=0.1) as child:
        writing = asyncio.create_task(child.write(bytes(1_000_000)))
        await asyncio.wait((writing,), timeout=0.2)
        assert not writing.done()
        started = time.monotonic()
    assert time.monotonic() - started < 30
    with pytest.raises(OSError, match=r"closed|Broken pipe"):
        await writing
    with pytest.raises(BrokenPipeError):
        await child.write(b"more")
    assert await child.read() == b""


ENDS = [
    ("exits when its input ends", "read; exit 5", "exit code 5"),
    ("exits on SIGTERM", "trap 'exit 6' TERM; read; for ((;;)); do :; done", "exit code 6"),
    ("does not", "trap '' TERM; read; for ((;;)); do :; done", "SIGKILL"),
    ("has ended before", "exit 7", "exit code 7"),
    ("still writes while it ends", "read; head -c 1000000 /dev/zero; exit 8", "exit code 8"),
]


async def closed(line: str) -> tuple[str, int]:
    heard = Heard()
    leave = 10.0 if "exit 5" in line or "exit 8" in line else 0.2
    async with running("bash", "-c", f"echo begun >&2; {line}", heard=heard, leave=leave) as child:
        await heard.begun.wait()
    assert child.gone.done()
    await child.close()
    return child.ending, child.left


async def test_how_it_is_closed(way: str) -> None:
    ended = await asyncio.gather(*(closed(line) for _, line, _ in ENDS))
    assert dict(zip([name for name, *_ in ENDS], ended, strict=True)) == {name: (how, 0) for name, _, how in ENDS}


async def test_what_it_wrote_before_it_ended_is_read(way: str) -> None:
    async with running("bash", "-c", "printf last; kill -9 $$") as child:
        await child.gone
        assert await all_of(child) == b"last"
        assert child.ending == "SIGKILL"


async def test_a_stranger_who_holds_the_pipe_holds_nobody_up(way: str) -> None:
    """A process out of the tree's reach keeps the output open: here this one, which opens it by its number."""
    async with running("bash", "-c", "echo $$; read -t 0.1") as child:
        number = (await child.read()).decode().strip()
        held = os.open(f"/proc/{number}/fd/1", os.O_WRONLY)
        try:
            assert await asyncio.wait_for(all_of(child), 5) == b""
        finally:
            os.close(held)


async def test_cancelled_while_it_closes(way: str) -> None:
    child = Attached(
        ["bash", "-c", "trap '' TERM; read; for ((;;)); do :; done"],
        cwd="/",
        environment=child_environment(os.environ),
        on_error_output=print,
    )
    closing = asyncio.create_task(child.close(0.2))
    for _ in range(5):
        await asyncio.sleep(0.05)
        closing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await closing
    assert child.gone.done()


async def test_a_cancelled_read_loses_nothing() -> None:
    async with running("bash", "-c", "read; echo late; read") as child:
        reading = asyncio.create_task(child.read())
        await asyncio.sleep(0.05)
        reading.cancel()
        await asyncio.wait((reading,))
        await child.write(b"\n")
        assert await child.read() == b"late\n"


@pytest.mark.parametrize(
    ("argv", "cwd", "words"),
    [
        (["no-such-program-at-all"], "/", "there is no program 'no-such-program-at-all'"),
        (["true"], "/no/such/folder", "cannot run in the folder"),
        (["/etc/passwd"], "/", "could not be started: Permission denied"),
    ],
)
async def test_what_cannot_be_started(way: str, argv: list[str], cwd: str, words: str) -> None:
    try:
        async with running(*argv, cwd=cwd) as child:
            assert await all_of(child) == b""
            await child.gone
            refused = child.refused
    except ProgramError as error:
        refused = error
    assert refused is not None
    assert words in refused.message


async def test_what_cannot_be_words(way: str) -> None:
    with pytest.raises(ProgramError, match="cannot be given"):
        Attached(["cat", "a\0b"], cwd="/", environment={}, on_error_output=print)


async def test_it_sees_its_environment_folder_and_three_descriptors_alone(way: str, tmp_path: Path) -> None:
    script = "import os, sys; print(sorted(os.environ), os.getcwd(), sorted(os.listdir('/proc/self/fd'))[:-1])"
    child = Attached(
        [sys.executable, "-I", "-S", "-c", script],
        cwd=tmp_path,
        environment={"ONE": "1", "LC_CTYPE": "C"},
        on_error_output=print,
    )
    made = (await all_of(child)).decode()
    await child.close()
    assert made == f"{['LC_CTYPE', 'ONE', CALL_MARK]} {tmp_path} {['0', '1', '2']}\n"


@linux
async def test_nothing_of_its_tree_is_left() -> None:
    async def left(case: str) -> dict[int, str]:
        token = new_token()
        async with running(*words(case, token), leave=0.05):
            await asyncio.sleep(0.2)
        return living(token)

    cases = ("double fork", "daemon", "ignores SIGTERM", "kills its supervisor", "forks fifty")
    assert await asyncio.gather(*map(left, cases)) == [{}] * len(cases)


@linux
async def test_killed_from_outside_takes_its_tree_along() -> None:
    token = new_token()
    async with running("bash", "-c", f"setsid sleep 60.{token} & echo $$; wait") as child:
        os.kill(int(await child.read()), signal.SIGKILL)
        assert await asyncio.wait_for(all_of(child), 5) == b""
        await asyncio.wait_for(asyncio.shield(child.gone), 5)
        assert not living(token)
    assert child.ending == "SIGKILL"


@linux
def test_endings_at_random_moments() -> None:
    found = endings(5, 2)
    assert (found.runs, found.faults) == (5, [])


BUSY = """
import asyncio, os, sys, time
from toolwire.execution.attached import Attached
async def main():
    child = Attached(sys.argv[1:], cwd="/", environment=dict(os.environ), on_error_output=print)
    print("started", flush=True)
    time.sleep(20)
asyncio.run(main())
"""


@linux
def test_toolwire_is_killed_before_it_heard_of_the_start() -> None:
    token = new_token()
    argv = [sys.executable, "-c", BUSY, "bash", "-c", f"trap 'exit' TERM; sleep 60.{token} & wait"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as toolwire:
        assert until(lambda: sleeping(token) == 1)
        toolwire.kill()
    assert until(lambda: not living(token), 5)
