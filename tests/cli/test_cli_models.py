"""Finding a model, choosing one, installing the weights, the table of providers."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pytest

from cli.chat_bytes import ANSWER
from cli.command import assert_sentence, toolwire_command
from cli.model_server import ModelServer
from toolwire.cli import choose, discover, install
from toolwire.cli.app import run_command
from toolwire.cli.console import PlainConsole
from toolwire.cli.discover import Found, find_models, is_loopback, running_servers
from toolwire.cli.screen import Screen
from toolwire.local import weights

KEY = "sk-do-not-show-me-123456"


@pytest.mark.parametrize(
    ("url", "stays"),
    [
        ("http://127.0.0.1:11434/v1", True),
        ("http://localhost:1/v1", True),
        ("http://[::1]:8000/v1", True),
        ("http://127.9.9.9/v1", True),
        ("http://192.168.1.7:11434/v1", False),
        ("http://localhost.example.org/v1", False),
        ("http://127.0.0.1.example.org/v1", False),
        ("http://127.0.0.1@example.org/v1", False),
        ("http://[::1/v1", False),
        ("", False),
    ],
)
def test_only_loopback_is_looked_at(url: str, stays: bool) -> None:
    assert is_loopback(url) is stays


@pytest.fixture
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine must not make a test fail."""
    monkeypatch.setattr(discover, "WAIT", 10.0)


@pytest.mark.usefixtures("_patient")
async def test_a_running_server_is_found_without_any_key() -> None:
    with ModelServer([ANSWER], models=["llama3.2:3b", "text-embedding-3", "evil\x1b[2J", "a", "b", "c"]) as server:
        env = {
            "OLLAMA_BASE_URL": server.url.removesuffix("/v1"),
            "OPENAI_API_KEY": KEY,
            "TOGETHER_API_KEY": KEY,
        }
        found = await find_models(env)
    assert Found("ollama:llama3.2:3b", "running here") in found
    assert [each.model for each in found if each.model.startswith("ollama")][1:] == ["ollama:a", "ollama:b"]
    assert Found("openai:gpt-4.1-mini", "OPENAI_API_KEY is set") in found
    assert len([each for each in found if "OPENAI_API_KEY" in each.why]) == 1
    assert KEY not in repr(found)
    assert server.paths == ["/v1/models"]
    assert "Authorization" not in server.headers[0]


async def test_looking_can_be_turned_off() -> None:
    with ModelServer([ANSWER], models=["llama3.2"]) as server:
        assert await running_servers({"OLLAMA_BASE_URL": server.url, "TOOLWIRE_DISCOVER": "0"}) == {}
    assert server.paths == []


async def test_a_server_elsewhere_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    async def models(_transport: object, base_url: str) -> list[str]:
        asked.append(base_url)
        return []

    monkeypatch.setattr(discover, "_models", models)
    assert "ollama" not in await running_servers({"OLLAMA_BASE_URL": "http://192.0.2.1:11434/v1"})
    assert len(asked) == 3
    assert all(is_loopback(url) for url in asked)


FOUND = [Found("ollama:llama3.2", "Ollama, running here"), Found("openai:gpt-4.1-mini", "OPENAI_API_KEY is set")]


@pytest.fixture
def _found(monkeypatch: pytest.MonkeyPatch) -> None:
    async def find(_env: object) -> list[Found]:
        return FOUND

    monkeypatch.setattr(choose, "find_models", find)


def test_a_named_model_is_not_looked_for() -> None:
    assert choose.choose_model({"TOOLWIRE_MODEL": "groq:x"}, PlainConsole(), ask=True) == "groq:x"


def test_nothing_found_is_the_embedded_model() -> None:
    assert choose.choose_model({"TOOLWIRE_DISCOVER": "0"}, PlainConsole(), ask=True) == "local"


@pytest.mark.usefixtures("_found")
def test_nobody_there_is_the_embedded_model_and_a_line_about_the_others(capsys: pytest.CaptureFixture[str]) -> None:
    assert choose.choose_model({}, PlainConsole(), ask=True) == "local"
    said = capsys.readouterr()
    assert "also found: ollama:llama3.2" in said.err
    assert "--model ollama:llama3.2" in said.err
    assert said.out == ""


@pytest.mark.usefixtures("_found")
@pytest.mark.parametrize(
    ("typed", "chosen"),
    [([""], "local"), (["1"], "local"), (["2"], "ollama:llama3.2"), (["9", "x", "3"], "openai:gpt-4.1-mini")],
)
def test_a_person_chooses_by_number(
    typed: list[str], chosen: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answers = iter(typed)
    monkeypatch.setattr(choose, "has_person", lambda: True)
    monkeypatch.setattr("builtins.input", lambda _prompt: next(answers))
    assert choose.choose_model({}, PlainConsole(), ask=True) == chosen
    assert "OPENAI_API_KEY is set" in capsys.readouterr().out
    assert next(answers, None) is None


def test_words_on_the_screen_are_no_markup(monkeypatch: pytest.MonkeyPatch) -> None:
    """A spinner's text is markup to the library that draws it, unless it is told otherwise."""
    monkeypatch.setenv("TERM", "xterm")
    console = PlainConsole()
    console.file = screen_file = io.StringIO()
    console._force_terminal = True
    screen = Screen(console)
    screen.wait("running [/nothing]")
    screen.header("a [red]header[/red] :smile:")
    assert "a [red]header[/red] :smile:" in screen_file.getvalue()


def test_progress_without_a_terminal_is_a_line_for_each_tenth(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def download(progress: Callable[[int, int | None], None]) -> Path:
        progress(0, None)
        for done in range(0, 1001, 7):
            progress(done, 1000)
        progress(1000, 1000)
        return Path("weights.gguf")

    monkeypatch.setattr(weights, "install_weights", download)
    assert install.install_with_progress() == Path("weights.gguf")
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.split("\n")[1:-1] == [f"{tenth}0 %" for tenth in range(1, 11)]
    assert "about 93 MB, once" in said.err


def test_local_without_weights(tmp_path: Path) -> None:
    env = {"TOOLWIRE_CACHE": str(tmp_path)}
    assert_sentence(toolwire_command("local", "path", env=env), 1, "not installed", "toolwire local install")
    status = toolwire_command("local", "status", env=env)
    assert status.code == 1
    assert "weights  not installed (toolwire local install)" in status.out


def test_local_with_weights(tmp_path: Path) -> None:
    file = tmp_path / weights.SMOLLM2.file
    with file.open("wb") as made:
        made.truncate(weights.SMOLLM2.size)
    ran = toolwire_command("local", "path", env={"TOOLWIRE_CACHE": str(tmp_path)})
    assert (ran.code, ran.out) == (0, f"{file}\n")
    assert "98 MB" in toolwire_command("local", "status", env={"TOOLWIRE_CACHE": str(tmp_path)}).out


def test_providers_say_what_is_set_up_and_never_show_a_key(tmp_path: Path) -> None:
    ran = toolwire_command("providers", env={"GROQ_API_KEY": KEY, "TOOLWIRE_CACHE": str(tmp_path)})
    assert (ran.code, ran.err) == (0, "")
    rows = {line.split()[0]: line for line in ran.out.split("\n") if line}
    assert rows["groq"].endswith("openai-chat       GROQ_API_KEY is set")
    assert rows["openai"].endswith("needs OPENAI_API_KEY")
    assert all(line == line.rstrip() for line in ran.out.split("\n"))
    assert "not looked for" in rows["ollama"]
    assert "toolwire local install" in rows["local"]
    assert KEY not in ran.out


@pytest.mark.usefixtures("_patient")
def test_providers_see_a_running_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TOOLWIRE_CACHE", str(tmp_path))
    monkeypatch.delenv("TOOLWIRE_DISCOVER", raising=False)
    with ModelServer([ANSWER], models=["llama3.2"]) as server:
        monkeypatch.setenv("OLLAMA_BASE_URL", server.url)
        assert run_command(["providers"]) == 0
    assert "running: llama3.2" in capsys.readouterr().out
