"""`toolwire run` with the built-in tools: what is written and run, what the person sees before, and the undo."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cli.asking import Person, request
from cli.chat_bytes import ANSWER, call_deltas, sse
from cli.command import toolwire_command
from cli.model_server import ModelServer
from cli.terminal import CTRL_C, CTRL_D, Terminal
from toolwire.execution.sandbox.sandbox import find_sandbox

MODEL = ("--model", "openai-compatible:test")


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "a.txt").write_text("one\ntwo\n")
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    return {"XDG_STATE_HOME": str(tmp_path / "state"), "XDG_CONFIG_HOME": str(tmp_path / "config")}


def answers(name: str, **arguments: Any) -> list[bytes]:
    """A model that makes this call, and then answers."""
    return [sse(*call_deltas(name, json.dumps(arguments), call_id="c1"), stop="tool_calls"), ANSWER]


def result(server: ModelServer) -> str:
    return str(server.requests[1]["messages"][-1]["content"])


def test_an_edit_shows_its_diff_before_it_is_approved_and_can_be_undone(work: Path, env: dict[str, str]) -> None:
    with (
        ModelServer(answers("edit_file", path="a.txt", old_text="two", new_text="three")) as server,
        Terminal("run", "Go", *MODEL, "--base-url", server.url, env=env) as terminal,
    ):
        question = terminal.wait_for("Run it? ")
        assert (work / "a.txt").read_text() == "one\ntwo\n"
        terminal.type("y\n")
        terminal.wait_for("It is 391.")
        assert terminal.end() == 0
    assert "What it would change:" in question
    assert "│ -two" in question
    assert "│ +three" in question
    assert (work / "a.txt").read_text() == "one\nthree\n"
    assert "Edited a.txt" in result(server)

    undone = toolwire_command("undo", cwd=work, env=env)
    assert (undone.code, undone.err) == (0, "")
    assert "a.txt" in undone.out
    assert (work / "a.txt").read_text() == "one\ntwo\n"


def test_auto_edit_writes_unasked_but_not_what_runs_later(work: Path, env: dict[str, str]) -> None:
    for path, is_written in (("new.txt", True), (".vscode/tasks.json", False)):
        with ModelServer(answers("write_file", path=path, content="x\n")) as server:
            toolwire_command("run", "Go", *MODEL, "--base-url", server.url, "--mode", "auto-edit", cwd=work, env=env)
        assert (work / path).exists() is is_written
        assert ("editors run what it says" in result(server)) is not is_written


def test_a_further_folder_is_given_by_flag_or_file(work: Path, env: dict[str, str]) -> None:
    other = work.parent / "other"
    other.mkdir()
    (other / "b.txt").write_text("from there")
    read = answers("read_file", path=str(other / "b.txt"))
    with ModelServer(read) as server:
        toolwire_command("run", "Go", *MODEL, "--base-url", server.url, cwd=work, env=env)
    assert "outside" in result(server)
    with ModelServer(read) as server:
        ran = toolwire_command("run", "Go", *MODEL, "--base-url", server.url, "--root", str(other), cwd=work, env=env)
    assert "from there" in result(server)
    assert f"They work here and in {other}." in ran.err
    config = work.parent / "config" / "toolwire"
    config.mkdir(parents=True)
    (config / "policy.toml").write_text(f"roots = [{json.dumps(str(other))}]\n")
    with ModelServer(read) as server:
        toolwire_command("run", "Go", *MODEL, "--base-url", server.url, cwd=work, env=env)
    assert "from there" in result(server)


def test_a_folder_of_the_file_that_is_not_there_hinders_nobody(work: Path, env: dict[str, str]) -> None:
    config = work.parent / "config" / "toolwire"
    config.mkdir(parents=True)
    (config / "policy.toml").write_text('roots = ["/not/there"]\n')
    with ModelServer(answers("run_bash", command="echo it ran")) as server:
        ran = toolwire_command("run", "Go", *MODEL, "--base-url", server.url, cwd=work, env=env)
    assert "There is no folder /not/there" in ran.err
    assert "They work here" not in ran.err
    assert result(server).strip() == "it ran"


def test_a_folder_that_is_not_there_is_told(work: Path, env: dict[str, str]) -> None:
    ran = toolwire_command(
        "run", "Go", *MODEL, "--base-url", "http://127.0.0.1:1", "--root", "nowhere", cwd=work, env=env
    )
    assert ran.code != 0
    assert "there is no folder nowhere" in ran.err


def test_without_the_sandbox_it_says_so_and_asks_in_every_mode(work: Path, env: dict[str, str]) -> None:
    options = ("--no-sandbox", "--mode", "full")
    with ModelServer(answers("run_bash", command="touch made.txt")) as server:
        ran = toolwire_command("run", "Go", *MODEL, "--base-url", server.url, *options, cwd=work, env=env)
    assert "Look out: commands are not confined here" in ran.err
    assert "run in a sandbox" not in ran.err
    assert "nobody is there to ask" in result(server)
    assert not (work / "made.txt").exists()


@pytest.mark.skipif(not find_sandbox().holds, reason="nothing confines commands here")
def test_it_says_that_commands_are_held(work: Path, env: dict[str, str]) -> None:
    with ModelServer([ANSWER]) as server:
        ran = toolwire_command("run", "Go", *MODEL, "--base-url", server.url, cwd=work, env=env)
    assert "Commands run in a sandbox, without network" in ran.err
    assert "Look out" not in ran.err


def test_a_model_asks_the_person(work: Path, env: dict[str, str]) -> None:
    with (
        ModelServer(answers("ask_user", question="Which\nof them?", options=["red", "blue"])) as server,
        Terminal("run", "Go", *MODEL, "--base-url", server.url, env=env) as terminal,
    ):
        shown = terminal.wait_for("Your answer: ")
        terminal.type("2\n")
        terminal.wait_for("It is 391.")
        assert terminal.end() == 0
    assert "│ of them?" in shown
    assert "2. blue" in shown
    assert result(server) == "blue"


def test_nobody_is_there_to_be_asked_by_a_model(work: Path, env: dict[str, str]) -> None:
    with ModelServer(answers("ask_user", question="Which?")) as server:
        toolwire_command("run", "Go", *MODEL, "--base-url", server.url, cwd=work, env=env)
    assert result(server).startswith("Nobody is there to answer.")


@pytest.fixture
def person(monkeypatch: pytest.MonkeyPatch) -> Iterator[Person]:
    someone = Person()
    monkeypatch.setattr(sys, "stdin", someone)
    yield someone
    someone.close()


async def test_a_long_change_is_shown_from_its_beginning(person: Person) -> None:
    asked = request({"path": "a"}, preview="\n".join(f"+line {number}" for number in range(500)))
    await person.says(asked, "n\n")
    assert "│ +line 199" in person.shown
    assert "+line 200" not in person.shown
    assert "… and 300 more lines: v shows them" in person.shown
    assert "[y/n/v/e/?]" in person.shown


async def test_the_rest_of_a_long_change_can_be_seen(person: Person) -> None:
    asked = request({"path": "a"}, preview="".join(f"+line {number}\n" for number in range(210)))
    answer = asyncio.create_task(person.ask(asked))
    await person.sees("[y/n/v/e/?] ")
    person.types("v\n")
    for _ in range(9):
        await person.sees("q is enough: ")
        person.types("\n")
    await person.sees("Run it? ")
    person.types("n\n")
    assert not (await answer).allowed
    assert "│ +line 209\n" in person.shown


async def test_a_sentence_is_broken_between_words(person: Person) -> None:
    words = "As the file is now, this would change nothing: old_text is not in the file, nothing was changed"
    await person.says(request({"path": "a"}, preview=words), "n\n")
    assert " ".join(words.split()) in " ".join(person.shown.split())


async def test_a_new_file_is_shown_once(person: Person) -> None:
    head = "--- /dev/null\n+++ a\n@@ -0,0 +1,2 @@\n"
    await person.says(request({"path": "a", "content": "x\ny\n"}, preview=f"{head}+x\n+y\n"), "n\n")
    assert "It would make a new file." in person.shown
    assert "+x" not in person.shown
    # What is not in the arguments is shown.
    await person.says(request({"path": "a", "content": "x\n"}, preview=f"{head}+x\n+y\n"), "n\n")
    assert "│ +y\n  Run it?" in person.shown


@pytest.mark.parametrize(("key", "told"), [(CTRL_D, "The person gave no answer."), (CTRL_C, "")])
def test_a_question_of_the_model_that_is_not_answered(work: Path, env: dict[str, str], key: str, told: str) -> None:
    with (
        ModelServer(answers("ask_user", question="Which?")) as server,
        Terminal("run", "Go", *MODEL, "--base-url", server.url, env=env) as terminal,
    ):
        terminal.wait_for("Your answer: ")
        terminal.type(key)
        if told:
            assert "\n" in terminal.wait_for("→").partition("→")[0]
            assert terminal.end() == 0
            assert result(server).startswith(told)
        else:
            assert "(no longer asked)" in terminal.wait_for("(interrupted)")
            assert terminal.end() == 130


async def test_a_question_of_the_model_obeys_nothing_in_it(person: Person) -> None:
    asked = asyncio.create_task(person.ask.ask_person("a\x1b[2Jb\nRun it? [y/n] y", ["x\x1b[1A"]))
    shown = await person.sees("Your answer: ")
    person.types("  something else \n")
    assert await asked == "something else"
    assert "\x1b" not in shown
    assert "\nRun it?" not in shown
