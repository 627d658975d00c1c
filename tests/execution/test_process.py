"""Running one program: how it ended, what it wrote, what it was given, and what is said when it cannot run."""

from __future__ import annotations

import asyncio
import os
import resource
import signal
import threading
import time
from pathlib import Path

import pytest
from bench.trust.children import flood

from toolwire.errors import ProgramError
from toolwire.execution import process, supervised, supervisor
from toolwire.execution.environment import CALL_MARK, child_environment
from toolwire.execution.process import ProcessResult, run_process
from toolwire.execution.process_group import ProcessGroup
from toolwire.execution.program import Program
from waiting import leap

ENVIRONMENT = child_environment(os.environ)


async def bash(line: str, timeout: float | None = 30, input: bytes = b"") -> ProcessResult:  # noqa: ASYNC109
    return await run_process(["bash", "-c", line], cwd="/", environment=ENVIRONMENT, timeout=timeout, input=input)


@pytest.fixture(params=["supervised", "group"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both ways of starting programs: Linux's own, and the one for elsewhere, which works here too."""
    if request.param == "group":
        monkeypatch.setattr(process, "Supervised", ProcessGroup)
    return str(request.param)


ENDS = [
    ("exit 0", 0, None, ""),
    ("exit 3", 3, None, ""),
    ("exit 255", 255, None, ""),
    ("kill -9 $$", None, "SIGKILL", ""),
    ("kill -TERM $$", None, "SIGTERM", ""),
    ("kill -SEGV $$", None, "SIGSEGV", ""),
    ("kill -40 $$", None, "signal 40", ""),
    ("echo out; echo err >&2; echo out", 0, None, "out\nerr\nout\n"),
    ("printf 'no newline'", 0, None, "no newline"),
    (
        r"printf '\303'; sleep 0.05; printf '\251'; sleep 0.05; printf '\342\202'; sleep 0.05; printf '\254'",
        0,
        None,
        "é€",
    ),
    (r"printf 'a\377b\303'", 0, None, "a\ufffdb\ufffd"),
    ('read line; echo "[$line]$?"', 0, None, "[]1\n"),
    # A plain file there would be searched by rg, and read by others that take nothing from the null device.
    ("[ /dev/stdin -ef /dev/null ]", 0, None, ""),
    ("echo late >&2 & wait", 0, None, "late\n"),
    ("(sleep 0.1; echo last) &", 0, None, "last\n"),
    ("tee >(tr a-z A-Z) <<< word >/dev/null", 0, None, "WORD\n"),
]


@pytest.mark.parametrize(("line", "code", "name", "output"), ENDS, ids=[line for line, *_ in ENDS])
async def test_how_a_program_ended_and_what_it_wrote(
    way: str, line: str, code: int | None, name: str | None, output: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # However busy the machine is, what it left in the background comes to its end.
    monkeypatch.setattr(process, "DRAIN_SECONDS", 20.0)
    result = await bash(line)
    assert (result.code, result.signal, result.output) == (code, name, output)
    assert (result.cut, result.timed_out, result.left) == (0, False, 0)
    assert 0 < result.seconds < 30


async def test_time_is_up(way: str) -> None:
    ends_well = "trap 'echo bye; exit 7' TERM; echo begun; for ((i = 0; i < 5000000; i++)); do :; done"
    heard: list[str] = []

    def hear(text: str) -> None:
        heard.append(text)
        if len(heard) == 2:
            leap(30)

    lines = [["bash", "-c", line] for line in ("echo begun; sleep 60; echo never", ends_well)]
    runs = [run_process(line, cwd="/", environment=ENVIRONMENT, timeout=30, on_output=hear) for line in lines]
    result, well = await asyncio.gather(*runs)
    assert (result.timed_out, result.code, result.signal, result.output) == (True, None, "SIGTERM", "begun\n")
    assert result.seconds < 10
    assert (well.timed_out, well.code, well.output) == (True, 7, "begun\nbye\n")


async def test_no_time_at_all_starts_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("Supervised", "ProcessGroup"):
        monkeypatch.delattr(process, name)
    result = await bash(f"touch {tmp_path}/made", timeout=0)
    assert result.timed_out
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("size", [1, 100_000, 3_000_000])
async def test_input_of_any_size_comes_whole(way: str, size: int) -> None:
    assert (await bash("wc -c", input=b"\xffx"[:size] + b"y" * (size - 2))).output.strip() == str(size)
    assert (await bash("exec true", input=b"y" * size)).code == 0


async def test_a_program_sees_its_folder_its_environment_and_three_descriptors(way: str, tmp_path: Path) -> None:
    read, written = os.pipe()
    os.set_inheritable(written, True)
    try:
        line = ["bash", "-c", "pwd; umask; echo /proc/$$/fd/*; env"]
        result = await run_process(line, cwd=tmp_path, environment={**ENVIRONMENT, "A": "é b"}, timeout=30)
    finally:
        os.close(read)
        os.close(written)
    mask = os.umask(0)
    os.umask(mask)
    where, shown, descriptors, *variables = result.output.splitlines()
    assert (where, int(shown, 8)) == (str(tmp_path), mask)
    # Bash keeps its script at 255 while it expands names.
    assert {name.rpartition("/")[2] for name in descriptors.split()} <= {"0", "1", "2", "3", "255"}
    assert "A=é b" in variables
    assert {line.partition("=")[0] for line in variables} == {*ENVIRONMENT, "A", CALL_MARK, "PWD", "SHLVL", "_"}


async def test_signals_are_as_programs_expect_them() -> None:
    """Python ignores SIGPIPE; a program that inherited that would go on writing to nobody."""
    before = signal.signal(signal.SIGUSR2, signal.SIG_IGN)
    try:
        result = await bash("grep -E 'Sig(Blk|Ign)' /proc/self/status; yes | head -1; echo ${PIPESTATUS[0]}")
    finally:
        signal.signal(signal.SIGUSR2, before)
    *words, ignored, y, status = result.output.split()
    assert (words, y, status) == (["SigBlk:", "0" * 16, "SigIgn:"], "y", "141")
    # The C library keeps signals 32 and 33 for itself: what they were set to before cannot be changed.
    assert int(ignored, 16) & ~(0b11 << 31) == 0


async def test_output_comes_while_the_program_runs(way: str, tmp_path: Path) -> None:
    pieces: list[str] = []

    def hear(text: str) -> None:
        pieces.append(text)
        (tmp_path / "heard").touch()

    line = ["bash", "-c", r"printf 'é\n'; until [ -e heard ]; do sleep 0.02; done; printf 'é\né\n'"]
    result = await run_process(line, cwd=tmp_path, environment=ENVIRONMENT, timeout=30, on_output=hear)
    assert len(pieces) > 1
    assert "".join(pieces) == result.output == "é\n" * 3


async def test_a_loop_that_is_busy_loses_no_output(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "DRAIN_SECONDS", 0.05)
    run = asyncio.create_task(bash("for i in {1..30}; do echo $i; sleep 0.001; done"))
    await asyncio.sleep(0.01)
    time.sleep(0.4)  # noqa: ASYNC251 - the program ends meanwhile
    assert (await run).output.split() == [str(number) for number in range(1, 31)]


async def test_what_watches_the_output_may_end_the_program(way: str) -> None:
    def refuse(text: str) -> None:
        raise LookupError(text)

    started = time.monotonic()
    line = ["bash", "-c", "echo first; sleep 60"]
    with pytest.raises(LookupError, match="first"):
        await run_process(line, cwd="/", environment=ENVIRONMENT, timeout=None, on_output=refuse)
    assert time.monotonic() - started < 30


def test_a_flood_is_cut_and_memory_stays() -> None:
    assert flood(100_000_000, 1).faults == []


async def test_a_flood_is_cut_the_other_way_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "Supervised", ProcessGroup)
    result = await bash("head -c 20000000 /dev/zero")
    assert result.cut == 20_000_000 - process.OUTPUT_CHARACTERS


def script(folder: Path, name: str, text: str, mode: int = 0o755) -> str:
    path = folder / name
    path.write_text(text)
    path.chmod(mode)
    return str(path)


async def test_a_program_that_cannot_run_is_an_error_that_says_why(way: str, tmp_path: Path) -> None:
    cases = [
        ([], "/", "no program to run", "name"),
        ([""], "/", "no program to run", "name"),
        (
            ["nonexistent-program"],
            "/",
            "there is no program 'nonexistent-program'",
            "looked for in",
        ),
        ([str(tmp_path / "none")], "/", "there is no program", "Check the path"),
        ([script(tmp_path, "plain", "#!/bin/sh\n", 0o644)], "/", "Permission denied", "chmod"),
        ([str(tmp_path)], "/", "Permission denied", "executable"),
        ([script(tmp_path, "bare", "echo hello\n")], "/", "Exec format error", "#!"),
        ([script(tmp_path, "lost", "#!/no/such/interpreter\n")], "/", "there is no program", "interpreter"),
        (["true"], str(tmp_path / "none"), "cannot run in the folder", "Create"),
        (["true", "a" * 200_000], "/", "Argument list too long", "too long"),
        (["true", "a\0b"], "/", r"cannot be given 'a\x00b'", "NUL"),
        (["true", "\ud800"], "/", r"cannot be given '\ud800'", "surrogate"),
        (["true"], "/\0", "cannot be given", "NUL"),
        (["\x1b[31m" * 100], "/", "…", "install"),
    ]
    for argv, cwd, words, hint in cases:
        with pytest.raises(ProgramError) as raised:
            await run_process(argv, cwd=cwd, environment=ENVIRONMENT, timeout=30)
        assert words in raised.value.message
        assert hint in raised.value.hint
        assert raised.value.message.isprintable()


async def test_a_folder_that_cannot_be_searched_does_not_make_a_missing_program_a_forbidden_one(
    way: str, tmp_path: Path
) -> None:
    (tmp_path / "loop").symlink_to("loop")  # refused to root too, unlike a folder without permissions
    environment = {"PATH": f"{tmp_path}/loop:/usr/bin:/bin"}
    with pytest.raises(ProgramError, match="there is no program 'nonexistent-program'"):
        await run_process(["nonexistent-program"], cwd="/", environment=environment, timeout=30)


async def test_a_program_is_looked_for_in_the_path_it_is_given(tmp_path: Path) -> None:
    script(tmp_path, "tool", "#!/bin/sh\necho here\n")
    script(tmp_path, "ls", "#!/bin/sh\necho mine\n", 0o644)
    environment = {"PATH": f"relative:{tmp_path}:/usr/bin:/bin"}
    for argv, output in ((["tool"], "here\n"), (["ls", "-d", "/"], "/\n")):
        assert (await run_process(argv, cwd="/", environment=environment, timeout=30)).output == output
    with pytest.raises(ProgramError):
        await run_process(["tool"], cwd=tmp_path, environment={"PATH": "."}, timeout=30)


async def test_a_supervisor_that_cannot_start_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervised, "_PYTHON", "/no/such/python")
    with pytest.raises(ProgramError, match="could not be started"):
        await bash("true")
    monkeypatch.setattr(supervised, "_PYTHON", "/bin/false")
    with pytest.raises(ProgramError, match="supervisor"):
        await bash("true")


def test_a_loop_in_another_thread_runs_programs() -> None:
    results: list[ProcessResult] = []
    thread = threading.Thread(target=lambda: results.append(asyncio.run(bash("echo there; exit 4"))))
    thread.start()
    thread.join(30)
    assert [(result.code, result.output) for result in results] == [(4, "there\n")]


async def test_forty_at_once_and_nothing_is_left() -> None:
    await bash("true")
    before = set(os.listdir("/proc/self/fd"))
    results = await asyncio.gather(*(bash(f"echo {number}; exit {number}") for number in range(40)))
    assert [(result.code, result.output) for result in results] == [(n, f"{n}\n") for n in range(40)]
    assert set(os.listdir("/proc/self/fd")) <= before
    # No zombie either: they are descendants too, until they are reaped.
    assert supervisor.descendants(os.getpid()) == []


async def test_failed_starts_leave_no_descriptor(monkeypatch: pytest.MonkeyPatch) -> None:
    before = set(os.listdir("/proc/self/fd"))
    for _ in range(2):
        with pytest.raises(ProgramError):
            await run_process(["nonexistent-program"], cwd="/", environment=ENVIRONMENT, timeout=30)
    monkeypatch.setattr(supervised, "_PYTHON", "/no/such/python")
    for _ in range(2):
        with pytest.raises(ProgramError):
            await bash("true")
    assert set(os.listdir("/proc/self/fd")) <= before


async def test_a_start_with_too_few_descriptors_is_an_error_and_keeps_none(way: str) -> None:
    await bash("true", input=b"y")
    before = set(os.listdir("/proc/self/fd"))
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    refused = 0
    for limit in range(3, soft):
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
        try:
            await bash("true", input=b"y")
            break
        except ProgramError as error:
            refused += "Too many open files" in error.message
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        assert set(os.listdir("/proc/self/fd")) <= before
    # Each descriptor that it needs was the missing one at some limit, and with all of them it ran.
    assert 4 < refused == limit - 3


@pytest.mark.parametrize("name", ["", "A=B", "=A"])
async def test_a_variable_without_a_proper_name_is_an_error(way: str, name: str) -> None:
    with pytest.raises(ProgramError, match="cannot be given a variable named"):
        await run_process(["true"], cwd="/", environment={**ENVIRONMENT, name: "x"}, timeout=30)


def test_each_call_has_a_mark_of_its_own() -> None:
    marks = {Program.checked(["true"], "/", {}, b"").call for _ in range(100)}
    assert len(marks) == 100


async def test_no_timer_outlives_a_program_whose_output_ends_last(monkeypatch: pytest.MonkeyPatch) -> None:
    """A timer in the loop would keep the tool that ran it alive, and with it its temporary folder."""
    read = supervised.Supervised._read

    def read_late(tree: supervised.Supervised) -> None:
        if tree._control.fileno() < 0:
            read(tree)

    monkeypatch.setattr(supervised, "LATE_OUTPUT_SECONDS", 3_600.0)
    monkeypatch.setattr(supervised.Supervised, "_read", read_late)
    assert (await bash("echo words")).output == "words\n"
    scheduled = asyncio.get_running_loop()._scheduled  # type: ignore[attr-defined]
    assert [timer for timer in scheduled if "_close_output" in repr(timer) and not timer.cancelled()] == []
