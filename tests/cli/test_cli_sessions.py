"""`toolwire run --resume` and `toolwire sessions`: what is kept, how it goes on, and how it is read."""

from __future__ import annotations

import json
import os
import signal
import stat
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.chat_bytes import ANSWER, CALCULATE, call_deltas, sse
from cli.command import Ran, assert_sentence, toolwire_command
from cli.model_server import ModelServer
from cli.terminal import CTRL_D, Terminal
from toolwire.agent.events import ApprovalAnswered, RequestRetried, RunFailed, RunFinished, RunInterrupted, RunStarted
from toolwire.agent.sessions.store import SessionStore
from toolwire.approval.request import Scope
from toolwire.chunks import StopReason, TokenUsage
from toolwire.cli.app import run_command, spelled_out
from toolwire.errors import ErrorInfo
from toolwire.execution.executor import ToolResult
from toolwire.messages import MediaPart, Message, TextPart, ThinkingPart, ToolCallPart, load_conversation, tool_results
from toolwire.messages import system as system_message
from toolwire.messages import user as user_message
from toolwire.stream.invocation import ToolInvocation
from toolwire.tools.definition import Risk, ToolDefinition

DEMO = ("--tools", "demo")
"""Few tools, which are loaded in half the time."""
MODEL = ("--model", "openai-compatible:test", *DEMO)
HOSTILE = "\x1b[2J\u202e</details>\n```\n# forged\n````\n<script>"


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    return {"XDG_STATE_HOME": str(tmp_path / "state"), "XDG_CONFIG_HOME": str(tmp_path / "config")}


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


@pytest.fixture
def store(env: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Iterator[SessionStore]:
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    with SessionStore(Path(env["XDG_STATE_HOME"], "toolwire", "sessions.db")) as opened:
        yield opened


def in_process(capfd: pytest.CaptureFixture[str], *tokens: str) -> Ran:
    """The command in this process: quicker, for what needs no terminal."""
    code = run_command(tokens)
    out, err = capfd.readouterr()
    return Ran(code, out, err)


# Going on.


def session_of(ran: Ran) -> str:
    return ran.err.rstrip("\n").rpartition("--resume ")[2]


def test_a_session_goes_on_by_its_id_with_its_model_and_server(work: Path, env: dict[str, str]) -> None:
    with ModelServer([CALCULATE, ANSWER]) as server:
        first = toolwire_command("run", "What is 17 * 23?", *MODEL, "--base-url", server.url, cwd=work, env=env)
        id = session_of(first)
        second = toolwire_command("run", "And again?", "--resume", id, "--json", *DEMO, cwd=work.parent, env=env)
        third = toolwire_command("run", "A third time?", "--resume", id[-6:], *DEMO, cwd=work.parent, env=env)
    assert (first.code, second.code, third.code) == (0, 0, 0), second.err + third.err
    roles = [message["role"] for message in server.requests[2]["messages"]]
    assert roles == ["user", "assistant", "tool", "assistant", "user"]
    assert server.requests[2]["messages"][-1]["content"] == "And again?"
    assert second.lines[0]["session"] == id
    assert second.err == ""
    begun = f"It was begun in {work}; tools work here."
    assert f"Session {id}, 6 messages.\n{begun}\nThe last question: And again?\n" in third.err
    assert session_of(third) == id
    assert len(server.requests[3]["messages"]) == 7


NEWEST = "\0newest"
SPELLED = [
    (["run", "Go on", "--resume"], ["run", "Go on", "--resume", NEWEST]),
    (["run", "--resume", "Go on"], ["run", "--resume", NEWEST, "Go on"]),
    (["run", "--resume", "--json", "Hi"], ["run", "--resume", NEWEST, "--json", "Hi"]),
    (["run", "--resume", "\0-"], ["run", "--resume", NEWEST, "\0-"]),
    (["run", "--resume", "a3fk7q", "Hi"], ["run", "--resume", "a3fk7q", "Hi"]),
    (["run", "--", "--resume"], ["run", "--", "--resume"]),
    (["parse", "--resume"], ["parse", "--resume"]),
]


@pytest.mark.parametrize(("tokens", "spelled"), SPELLED)
def test_resume_without_an_id_is_the_newest(tokens: list[str], spelled: list[str]) -> None:
    assert spelled_out(tokens) == spelled


def test_the_newest_is_that_of_this_folder(work: Path, env: dict[str, str], store: SessionStore) -> None:
    with ModelServer([ANSWER]) as server:
        for cwd, said in ((work, "First"), (work, "Second"), (work.parent, "Elsewhere")):
            session = store.create(model="openai-compatible:test", cwd=str(cwd), base_url=server.url)
            session.said(user_message(said))
            time.sleep(0.005)  # the store knows milliseconds
        store.close()
        ran = toolwire_command("run", "--resume", "Go on, please", *DEMO, cwd=work, env=env)
    assert ran.code == 0, ran.err
    assert [each["content"] for each in server.requests[0]["messages"]] == ["Second", "Go on, please"]


def test_a_resumed_conversation_at_a_terminal(env: dict[str, str], store: SessionStore) -> None:
    with ModelServer([ANSWER]) as server:
        session = store.create(model="openai-compatible:test", cwd=os.getcwd(), base_url=server.url)
        session.said(user_message("The first question"))
        store.close()
        with Terminal("run", "--resume", "--tools", "demo", env=env) as terminal:
            terminal.wait_for(f"Session {session.id}, 1 message.")
            terminal.wait_for("The last question: The first question")
            terminal.wait_for("\n> ")
            taken = toolwire_command("run", "Me too", "--resume", session.id, env=env)
            terminal.type("The second\n")
            terminal.wait_for("It is 391.")
            terminal.wait_for("\n> ")
            terminal.type(CTRL_D)
            assert terminal.end() == 0
        assert f"go on with: toolwire run --resume {session.id}" in terminal.screen
    assert_sentence(taken, 2, "is open in process")
    assert len(server.requests) == 1


def test_what_ran_when_the_program_was_killed_is_told_and_not_repeated(
    work: Path, env: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(work)
    call = sse(*call_deltas("run_bash", json.dumps({"command": "touch began; sleep 600"})), stop="tool_calls")
    options = ("--model", "openai-compatible:test", "--mode", "full")
    with ModelServer([call, ANSWER]) as server:
        with Terminal("run", "Go", *options, "--base-url", server.url, env=env) as terminal:
            terminal.wait_for("running run_bash")
            os.kill(terminal.process, signal.SIGKILL)
        listed = toolwire_command("sessions", "list", "--json", cwd=work, env=env)
        ran = toolwire_command("run", "What now?", "--resume", cwd=work, env=env)
    assert listed.lines[0]["state"] == "cut off"
    assert ran.code == 0
    assert "The program ended in the middle of its last run." in ran.err
    assert 'Look out: run_bash {"command":"touch began; sleep 600"} was running when the program ended.' in ran.err
    result = server.requests[1]["messages"][2]
    assert result["role"] == "tool"
    assert "it was not repeated" in result["content"]


def test_no_session_writes_none(env: dict[str, str]) -> None:
    with ModelServer([ANSWER]) as server:
        ran = toolwire_command("run", "Hi", *MODEL, "--base-url", server.url, "--no-session", env=env)
    assert ran.code == 0
    assert "toolwire:" not in ran.err
    assert not list(Path(env["XDG_STATE_HOME"]).rglob("sessions.db*"))


def test_a_store_that_cannot_be_written_is_no_reason_to_go_on_without(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with ModelServer([ANSWER]) as server:
        ran = toolwire_command(
            *("run", "Hi", *MODEL, "--base-url", server.url, "--no-audit"),
            env={"XDG_STATE_HOME": str(tmp_path / "file")},
        )
    assert_sentence(ran, 1, "--no-session")
    assert not server.requests


def test_a_question_that_fails_is_kept_too(env: dict[str, str]) -> None:
    with ModelServer([(400, {"error": {"message": "boom"}})]) as server:
        ran = toolwire_command("run", "Hi", *MODEL, "--base-url", server.url, env=env)
    assert_sentence(ran, 1, "boom", "--resume")


def test_what_could_not_begin_is_not_kept(env: dict[str, str]) -> None:
    wrong = toolwire_command("run", "Hi", *MODEL, "--base-url", "http://127.0.0.1:9", "--stream-parser", "x", env=env)
    listed = toolwire_command("sessions", "list", "--json", env=env)
    assert (wrong.code, listed.code, listed.out) == (2, 0, "")


WRONG = [
    (["run", "Hi", "--resume"], ["no earlier session in this folder", "toolwire sessions list"]),
    (["run", "Hi", "--resume", "nope"], ["no session 'nope'"]),
    (["run", "Hi", "--resume", "--no-session"], ["--no-session"]),
    (["run", "Hi", "--resume", "--system", "Be brief."], ["--system"]),
    (["run", "--resume"], ["nothing to ask"]),
    (["sessions", "show", "nope"], ["no session 'nope'"]),
    (["sessions", "export", "nope"], ["no session 'nope'"]),
    (["sessions", "delete", "nope", "--yes"], ["no session 'nope'"]),
    (["sessions", "delete"], ["no session is named"]),
    (["sessions", "list", "--last", "-1"], ["--last -1"]),
]


@pytest.mark.parametrize(("arguments", "words"), WRONG, ids=[" ".join(each) for each, _ in WRONG])
def test_wrong_usage_of_sessions(
    store: SessionStore, capfd: pytest.CaptureFixture[str], arguments: list[str], words: list[str]
) -> None:
    assert_sentence(in_process(capfd, *arguments), 2, *words)


# Reading.

SAVE = ToolDefinition(name="save", description="Saves.", parameters={"type": "object"}, risk=Risk.WRITE)
USAGE = TokenUsage(input_tokens=1200, output_tokens=34, total_tokens=1234)


def a_full_session(store: SessionStore, cwd: str = "/project") -> str:
    """One of everything that a session can hold, and hostile text wherever text can be."""
    session = store.create(model="openai:gpt-4.1", cwd=cwd)
    session.said(system_message("Be brief."))
    session.noted(RunStarted("openai", "gpt-4.1", "api_tool_call", session.id))
    session.said(Message("user", [TextPart(f"Save it {HOSTILE}"), MediaPart("image/png", data="eA==", name="a.png")]))
    calls = [ToolCallPart("c1", "save", {"text": f"x {HOSTILE}"}), ToolCallPart("c2", "save", {"text": "y"})]
    session.noted(RequestRetried(1, 1, 2.0, ErrorInfo("RateLimited", "openai asks to slow down (429)")))
    session.answered(1, Message("assistant", [ThinkingPart(f"Hm {HOSTILE}"), TextPart("I will."), *calls]))
    session.noted(ApprovalAnswered(1, "c1", True, "person", Scope.SESSION))
    session.noted(ApprovalAnswered(1, "c2", False, "person", Scope.ONCE, f"not this {HOSTILE}"))
    session.starting(1, ToolInvocation("c1", "save", {"text": "changed"}, 1), SAVE)
    first = ToolResult("c1", "save", f"saved {HOSTILE}", seconds=0.31)
    session.finished(1, first)
    second = ToolResult("c2", "save", "Error: not run: not this", is_error=True)
    session.settled(1, tool_results([first.part(), second.part()]))
    session.answered(2, Message("assistant", f"Done {HOSTILE}"))
    session.noted(RunFinished("Done", StopReason.LENGTH, 2, USAGE))
    session.said(user_message("Again"))
    session.noted(RunFailed(ErrorInfo("ProviderError", f"boom {HOSTILE}"), 1))
    session.said(user_message("And again"))
    session.noted(RunInterrupted(1, USAGE))
    store.close()
    return session.id


TOLD = [
    "System",
    "Question 1",
    "[image/png a.png]",
    "openai asks to slow down (429); trying again in 2.0 s",
    "Reasoning",
    "Answer",
    "Call of save",
    "save was allowed by person (session).",
    "save was denied by person:",
    "save ran with changed arguments",
    "save gave (0.3 s)",
    "save failed",
    "Answer",
    "Finished (length) after 2 requests, 1,200 tokens in, 34 out.",
    "Question 2",
    "The run failed after 1 request.",
    "Question 3",
    "The run was interrupted after 1 request, 1,200 tokens in, 34 out.",
]


def check_in_order(text: str, words: list[str]) -> None:
    place = 0
    for each in words:
        found = text.find(each, place)
        assert found >= 0, f"{each!r} is not behind {text[:place][-80:]!r}"
        place = found + len(each)


def check_harmless(text: str) -> None:
    assert "\x1b" not in text
    assert "\u202e" not in text


def test_show_tells_all_in_order(store: SessionStore, capfd: pytest.CaptureFixture[str]) -> None:
    ran = in_process(capfd, "sessions", "show", a_full_session(store)[-6:])
    assert (ran.code, ran.err) == (0, "")
    check_in_order(ran.out, ["Model: openai:gpt-4.1", "Folder: /project", "State: interrupted", *TOLD])
    check_harmless(ran.out)
    assert "\n  # forged\n" in ran.out
    assert "\n# forged" not in ran.out, "what was said never stands where a heading does"


def read_markdown(text: str) -> tuple[str, list[str]]:
    """What a reader of Markdown finds outside of fences, and in each of them, by the rule of CommonMark."""
    outside: list[str] = []
    fences: list[str] = []
    mark = ""
    for line in text.splitlines():
        if mark:
            if line.strip() and not line.strip().strip("`") and len(line.strip()) >= len(mark):
                mark = ""
            else:
                fences[-1] += line + "\n"
        elif line.startswith("```"):
            mark = "`" * (len(line) - len(line.lstrip("`")))
            fences.append("")
        else:
            outside.append(line)
    assert not mark
    return "\n".join(outside), fences


def test_markdown_holds_all_and_nothing_in_it_leaves_its_fence(
    store: SessionStore, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    id = a_full_session(store)
    target = tmp_path / "talk.md"
    ran = in_process(capfd, "sessions", "export", id, "-o", str(target))
    assert (ran.code, ran.out, ran.err) == (0, "", "")
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    text = target.read_text()
    check_harmless(text)
    outside, fences = read_markdown(text)
    check_in_order(text.replace("\\", ""), TOLD)
    title, _, below = outside.partition("\n")
    assert title.startswith("# Save it ␛\\[2J<U\\+202E>".replace("<", "\\<").replace(">", "\\>"))
    assert "forged" not in below
    assert "script" not in below
    assert below.count("<details>") == below.count("</details>") == 1
    assert sum("# forged" in fence for fence in fences) == 7
    assert json.loads(next(fence for fence in fences if fence.startswith("{"))) == {"text": f"x {HOSTILE}"}


def test_json_is_read_back(store: SessionStore, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    id = a_full_session(store)
    ran = in_process(capfd, "sessions", "export", id, "--format", "json")
    check_harmless(ran.out)
    found = json.loads(ran.out)
    assert found["session"]["id"] == id
    messages = load_conversation(json.dumps(found["messages"]))
    with store:
        assert messages == store.read(id).messages
    assert [entry["what"]["type"] for entry in found["entries"]][:2] == ["began", "said"]
    assert in_process(capfd, "sessions", "show", id, "--json").out == ran.out
    assert in_process(capfd, "sessions", "export", id, "-o", str(tmp_path / "talk.JSON")).code == 0
    assert json.loads((tmp_path / "talk.JSON").read_text()) == found


def test_an_exported_session_is_a_conversation(
    store: SessionStore, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """`toolwire request` takes the file as it is."""
    assert in_process(capfd, "sessions", "export", a_full_session(store), "-o", str(tmp_path / "talk.json")).code == 0
    messages = json.loads((tmp_path / "talk.json").read_text())["messages"]
    (tmp_path / "messages.json").write_text(json.dumps(messages))
    whole, alone = (in_process(capfd, "request", str(tmp_path / f"{name}.json")) for name in ("talk", "messages"))
    assert whole.code == 0
    assert whole.out == alone.out


def test_a_file_that_is_there_stays(store: SessionStore, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    id = a_full_session(store)
    target = tmp_path / "talk.md"
    target.write_text("mine")
    target.chmod(0o644)
    assert_sentence(in_process(capfd, "sessions", "export", id, "-o", str(target)), 2, "talk.md", "--force")
    assert target.read_text() == "mine"
    assert in_process(capfd, "sessions", "export", id, "-o", str(target), "--force").code == 0
    assert target.read_text().startswith("# Save it")
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert set(os.listdir(tmp_path)) == {"talk.md", "state"}
    missing = str(tmp_path / "none" / "talk.md")
    assert_sentence(in_process(capfd, "sessions", "export", id, "-o", missing), 2, "cannot write")


def test_the_list_has_the_newest_last(
    store: SessionStore, capfd: pytest.CaptureFixture[str], work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(work)
    assert_sentence(in_process(capfd, "sessions", "list"), 0, "there is no session", "sessions.db")
    first = a_full_session(store)
    second = a_full_session(store, str(work))
    ran = in_process(capfd, "sessions", "list")
    check_harmless(ran.out)
    lines = ran.out.splitlines()
    assert [line.partition(" ")[0] for line in lines[::3]] == [first, second]
    assert lines[0].endswith(" UTC  interrupted, 2 turns")
    assert lines[1].startswith("    Save it ")
    assert lines[2] == "    openai:gpt-4.1 in /project"
    assert [each["id"] for each in in_process(capfd, "sessions", "list", "--here", "--json").lines] == [second]
    cut = in_process(capfd, "sessions", "list", "--last", "1")
    assert cut.out.startswith(second)
    assert "1 older ones are not shown" in cut.err


def test_delete_removes_what_was_named_and_nothing_else(store: SessionStore, capfd: pytest.CaptureFixture[str]) -> None:
    first, second, third = (a_full_session(store) for _ in range(3))
    assert_sentence(in_process(capfd, "sessions", "delete", first), 2, "nobody is there to ask", "--yes")
    with store:
        store.open(second)
        ran = in_process(capfd, "sessions", "delete", first, second, third, "--yes")
    assert ran.code == 2
    assert ran.out == f"Removed {first}.\nRemoved {third}.\n"
    assert f"session {second} is open" in ran.err
    with store:
        assert [info.id for info in store.list()] == [second]


@pytest.mark.parametrize(("typed", "removed"), [("y\n", True), ("\n", False), (CTRL_D, False)])
def test_delete_asks_at_a_terminal(env: dict[str, str], store: SessionStore, typed: str, removed: bool) -> None:
    id = a_full_session(store)
    with Terminal("sessions", "delete", id, env=env) as terminal:
        assert id in terminal.wait_for("Remove this session for good? [y/N] ")
        terminal.type(typed)
        assert (terminal.end() == 0) is removed
    with store:
        assert len(store.list()) == (not removed)


def test_no_title_becomes_a_link_by_itself(store: SessionStore, capfd: pytest.CaptureFixture[str]) -> None:
    session = store.create(model="openai:m", cwd="/w")
    session.said(user_message("See https://evil.example, WWW.evil.example, me@evil.example: 1.5 of them"))
    session.close()
    title = in_process(capfd, "sessions", "export", session.id).out.partition("\n")[0]
    assert title == "# See https\\://evil.example, WWW\\.evil.example, me\\@evil.example\\: 1.5 of them"
