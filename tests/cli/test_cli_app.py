from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import toolwire
from cli.chat_bytes import ANSWER
from cli.command import assert_sentence, clean_environment, toolwire_command
from toolwire.cli.faults import guarded
from toolwire.errors import ConfigError, ProviderError, TimedOut


def test_version() -> None:
    ran = toolwire_command("--version")
    assert (ran.code, ran.out.strip(), ran.err) == (0, toolwire.__version__, "")


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"]])
def test_help_names_every_command(arguments: list[str]) -> None:
    ran = toolwire_command(*arguments)
    assert ran.code == 0
    for command in ("run", "decode", "parse", "request", "manifest", "providers", "local", "sessions"):
        assert f" {command} " in ran.out


@pytest.mark.parametrize("command", ["run", "decode", "parse", "request", "manifest", "providers", "local", "sessions"])
def test_every_command_has_help_with_an_example(command: str) -> None:
    ran = toolwire_command(command, "--help")
    assert (ran.code, ran.err) == (0, "")
    assert f"Usage: toolwire {command}" in ran.out
    assert f"Example: toolwire {command}" in ran.out


def test_a_command_that_is_none() -> None:
    assert_sentence(toolwire_command("decod", "x"), 2, 'unknown command "decod"', "decode", "toolwire --help")


@pytest.mark.parametrize("arguments", [["--version"], ["decode", "--summary", "{recording}"], ["parse", "{recording}"]])
def test_light_commands_import_nothing_heavy(tmp_path: Path, arguments: list[str]) -> None:
    recording = tmp_path / "recording.sse"
    recording.write_bytes(ANSWER)
    tokens = [argument.format(recording=recording) for argument in arguments]
    script = (
        "import sys; from toolwire.cli.app import run_command; code = run_command(sys.argv[1:]);"
        "print(code, [name for name in ('aiohttp', 'pydantic', 'jsonschema_rs', 'xllamacpp', 'asyncio')"
        " if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *tokens], capture_output=True, env=clean_environment(), timeout=60
    )
    assert done.stdout.decode().split("\n")[-2] == "0 []"


def _raises(error: BaseException) -> Callable[[], int]:
    def work() -> int:
        raise error

    return work


FAULTS = [
    (ConfigError("no such thing", hint="Use another."), 2, "toolwire: no such thing\n  Use another.\n"),
    (ProviderError("it\x1b[31m failed\nbadly"), 1, "toolwire: it␛[31m failed badly\n  Try again later"),
    (TimedOut("silence", hint="raise Timeouts.idle", which="idle"), 1, "--timeout"),
    (FileNotFoundError(2, "No usable temporary directory found in ['/tmp']"), 1, "Set TMPDIR to a folder"),
    (KeyboardInterrupt(), 130, ""),
    (KeyError("x"), 70, "toolwire: this is a bug in Toolwire: KeyError: 'x'\n  Run it again with TOOLWIRE_DEBUG=1"),
    (RecursionError("deep"), 70, "this is a bug in Toolwire: RecursionError: deep"),
]


@pytest.mark.parametrize(("error", "code", "words"), FAULTS)
def test_faults_become_sentences(
    error: BaseException, code: int, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert guarded(_raises(error)) == code
    said = capsys.readouterr().err
    assert words in said
    assert "Traceback" not in said


def test_a_bug_has_its_traceback_on_demand(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("TOOLWIRE_DEBUG", "1")
    assert guarded(_raises(KeyError("x"))) == 70
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize("closed", [[0], [1], [2], [0, 1, 2]])
def test_closed_standard_streams_break_nothing(tmp_path: Path, closed: list[int]) -> None:
    recording = tmp_path / "recording.sse"
    recording.write_bytes(ANSWER)

    def close() -> None:
        for descriptor in closed:
            os.close(descriptor)

    done = subprocess.run(
        [sys.executable, "-m", "toolwire", "decode", "--summary", str(recording)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        env=clean_environment(),
        preexec_fn=close,
        timeout=60,
    )
    assert done.returncode == 0
    assert b"Traceback" not in done.stderr


def test_an_output_that_takes_ascii_alone() -> None:
    ran = toolwire_command("--help", env={"PYTHONIOENCODING": "ascii"})
    assert ran.code == 0


def test_python_m_and_the_entry_point_are_the_same() -> None:
    script = "import sys; from toolwire.cli import main; sys.argv = ['toolwire', 'decode', 'nope']; sys.exit(main())"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, env=clean_environment(), timeout=60)
    assert done.returncode == toolwire_command("decode", "nope").code == 2


def test_what_lies_in_the_folder_is_not_taken_for_a_part_of_it(tmp_path: Path) -> None:
    """A folder to work in may come from anybody, and nothing in it runs because the command is started there."""
    for name in ("msgspec", "cyclopts", "rich", "asyncio"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('taken')")
    ran = toolwire_command("providers", cwd=tmp_path)
    assert (ran.code, ran.err) == (0, "")
