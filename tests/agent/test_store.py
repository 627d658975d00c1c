"""Sessions in their file: written, found again, locked, without secrets, and what happens when they cannot be."""

from __future__ import annotations

import dataclasses
import os
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import aclosing, closing
from pathlib import Path
from typing import Any

import msgspec
import pytest
from bench.trust import sessions
from bench.trust.secrets import WRITTEN, canaries
from bench.trust.session_runs import Model, watched

import toolwire
from toolwire.agent.events import (
    AgentEvent,
    ApprovalAnswered,
    HistoryCompacted,
    NestedEvent,
    RunFinished,
    RunInterrupted,
    RunStarted,
    ToolProgress,
    ToolStarted,
    TurnStarted,
)
from toolwire.agent.sessions.entries import Noted
from toolwire.agent.sessions.store import Session, SessionStore, sessions_path
from toolwire.chunks import StopReason, TokenUsage
from toolwire.errors import ConfigError, SessionFailed
from toolwire.execution.executor import ToolResult
from toolwire.messages import MediaPart, Message, TextPart, ThinkingPart, ToolCallPart, system, tool_results, user
from toolwire.redaction import Redactor
from toolwire.stream.invocation import ToolInvocation
from toolwire.tools.function import as_definition

KEY = "sk-proj-Zx81kQpLm20vTt93yRwA"
USAGE = TokenUsage(3, 4)
END = RunFinished("ok", StopReason.STOP, 1, USAGE)


@toolwire.tool(risk="write")
def save(text: str) -> str:
    """Saves."""
    return text


SAVE = as_definition(save)
CALL = ToolCallPart("c1", "save", {"text": "x", "big": 2**70}, '{"text": "x"}')


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "sessions.db"


@pytest.fixture
def store(path: Path) -> Iterator[SessionStore]:
    with SessionStore(path) as store:
        yield store


def begun(store: SessionStore, question: str = "Save it", cwd: str = "/w") -> Session:
    session = store.create(model="openai:m", cwd=cwd)
    session.said(user(question))
    return session


def test_it_lies_in_the_state_folder() -> None:
    assert sessions_path({"HOME": "/h"}) == Path("/h/.local/state/toolwire/sessions.db")


def test_a_conversation_comes_back_as_it_was(store: SessionStore) -> None:
    messages = [
        system("Be brief. \x00 \u2028 ü"),
        Message("user", [TextPart("Look"), MediaPart("image/png", data="aGk=")]),
        Message(
            "assistant",
            [ThinkingPart("hm", {"signature": "s" * 400}), TextPart("So"), CALL],
            [{"id": "rs_1"}],
            "anthropic",
        ),
        tool_results([ToolResult("c1", "save", "x").part()]),
        Message("assistant", [TextPart("Done.")]),
    ]
    session = store.create(model="anthropic:m", cwd="/w", base_url="http://h/v1")
    session.said(messages[0])
    session.said(messages[1])
    session.answered(1, messages[2])
    session.starting(1, ToolInvocation("c1", "save", {"text": "x"}), SAVE)
    session.finished(1, ToolResult("c1", "save", "x"))
    session.settled(1, messages[3])
    session.answered(2, messages[4])
    session.noted(END)
    session.close()
    again = store.open(session.id)
    assert (again.messages, again.turn, again.unknown) == (messages, 2, [])
    assert again.info.base_url == "http://h/v1"
    record = store.read(session.id)
    assert record.messages == messages
    assert (record.info.state, record.info.turns, record.info.entries, record.damage) == ("finished", 2, 9, "")


def test_nothing_is_kept_before_the_first_question(store: SessionStore) -> None:
    session = store.create(model="m", cwd="/")
    session.said(system("Be brief."))
    session.noted(RunStarted("openai", "m", "api_tool_call", session.id))
    assert store.list() == []
    assert session.info.title == ""
    session.said(user("Hi"))
    [info] = store.list()
    assert (info.id, info.title, info.state, info.entries) == (session.id, "Hi", "running", 4)


def test_cut_off_while_a_call_ran(store: SessionStore) -> None:
    session = begun(store)
    session.answered(1, Message("assistant", [CALL]))
    session.starting(1, ToolInvocation("c1", "save", {"text": "edited"}), SAVE)
    session.close()
    first = store.open(session.id)
    assert [(call.id, call.arguments) for call in first.unknown] == [("c1", {"text": "edited"})]
    assert "unknown" in str(first.messages[-1].parts[0])
    assert first.info.state == "cut off"
    count = first.info.entries
    first.close()
    second = store.open(session.id)
    assert (second.messages, second.unknown, second.info.entries) == (first.messages, [], count)


@pytest.mark.parametrize("idempotent", [True, False])
def test_the_model_is_told_what_it_may_call_again(store: SessionStore, idempotent: bool) -> None:
    session = begun(store)
    session.answered(1, Message("assistant", [CALL]))
    tool = dataclasses.replace(SAVE, idempotent=idempotent)
    session.starting(1, ToolInvocation("c1", "save", {"text": "x"}), tool)
    session.close()
    assert ("It is safe to call it again" in str(store.open(session.id).messages[-1].parts)) is idempotent


def test_reading_mends_nothing(store: SessionStore) -> None:
    session = begun(store)
    session.answered(1, Message("assistant", [CALL]))
    record = store.read(session.id)
    assert len(record.messages) == 3
    assert len(store.read(session.id).entries) == len(record.entries) == 3
    session.starting(1, ToolInvocation("c1", "save", {}), SAVE)


def test_a_compacted_conversation_goes_on_compacted(store: SessionStore) -> None:
    session = begun(store)
    session.answered(1, Message("assistant", [TextPart("Long")]))
    session.compacted([user("In short")])
    session.close()
    assert store.open(session.id).messages == [user("In short")]
    assert [type(entry.what).__name__ for entry in store.read(session.id).entries] == [
        "Began",
        "Said",
        "Answered",
        "Replaced",
    ]


def test_events_that_matter_are_kept(store: SessionStore) -> None:
    answered = ApprovalAnswered(1, "c1", True, "person", reason="fine")
    started = ToolStarted(1, "c1", ToolInvocation("c1", "save", {"text": "x"}))
    kept: list[AgentEvent] = [
        RunStarted("openai", "m", "api_tool_call"),
        answered,
        NestedEvent(1, "c1", NestedEvent(1, "c2", answered)),
        NestedEvent(1, "c1", started),
        HistoryCompacted(1, ["gone"], 10, 5, 20),
        RunInterrupted(1, USAGE),
    ]
    not_kept: list[AgentEvent] = [
        TurnStarted(1),
        started,
        ToolProgress(1, "c1", "half"),
        NestedEvent(1, "c1", TurnStarted(1)),
    ]
    session = begun(store)
    for event in [*kept, *not_kept]:
        session.noted(event)
    noted = [entry.what.event for entry in store.read(session.id).entries if isinstance(entry.what, Noted)]
    assert noted == [msgspec.json.decode(msgspec.json.encode(event)) for event in kept]


def test_what_has_no_form_in_json_is_told(store: SessionStore) -> None:
    session = begun(store)
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(SessionFailed, match="no form in JSON"):
        session.answered(1, Message("assistant", [ToolCallPart("c", "save", {"x": deep})]))
    while deep:
        deep = deep[0]  # or it is taken apart so deep that it takes the stack


def test_text_that_is_no_unicode_is_written(store: SessionStore) -> None:
    begun(store, "a \ud800 b")
    assert store.list()[0].title == "a \\ud800 b"


# ---- finding them


def test_the_list_has_the_last_used_first(store: SessionStore, monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter(range(10, 60))
    monkeypatch.setattr("toolwire.agent.sessions.store.now", lambda: f"2026-01-01T00:00:{next(times)}.000Z")
    first, second = begun(store, "one " * 50, "/a"), begun(store, "two", "/b")
    first.answered(1, Message("assistant", [TextPart("1")]))
    assert [info.id for info in store.list()] == [first.id, second.id]
    assert store.list()[0].title == ("one " * 50)[:80]
    assert store.latest() == store.latest("/a") == first.id
    assert store.latest("/b") == second.id
    assert store.latest("/c") is None


def test_by_beginning_and_end(store: SessionStore) -> None:
    one, two = begun(store).id, begun(store).id
    assert store.find(one) == one
    assert store.find(two[-5:]) == two
    for wrong, words in ((one[:6], "2 sessions begin"), ("nothing", "no session"), ("", "no session")):
        with pytest.raises(ConfigError, match=words):
            store.find(wrong)


def test_ids_are_short_and_sorted_by_time(store: SessionStore) -> None:
    ids = [store.create(model="m", cwd="/").id for _ in range(50)]
    assert len(set(ids)) == 50
    assert all(len(id) == 13 and id[6] == "-" for id in ids)
    assert [id[:11] for id in ids] == sorted(id[:11] for id in ids)


def test_an_id_that_is_there_is_not_given_again(store: SessionStore, monkeypatch: pytest.MonkeyPatch) -> None:
    first = begun(store)
    first.close()
    ids = iter([first.id, "261116-aaaaaa"])
    monkeypatch.setattr("toolwire.agent.sessions.store._new_id", lambda: next(ids))
    assert begun(store).id == "261116-aaaaaa"
    assert len(store.read(first.id).messages) == 1


def test_an_id_that_another_has_is_not_waited_for(store: SessionStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many that begin at a time draw the same one now and then; to wait for it would hold up all that run."""
    ids = iter(["261116-a3fk7q", "261116-a3fk7q", "261116-a3fk7r"])
    monkeypatch.setattr("toolwire.agent.sessions.store._new_id", lambda: next(ids))
    monkeypatch.setattr("toolwire.files.locks.time.sleep", lambda _: pytest.fail("it waited"))
    assert [store.create(model="m", cwd="/").id for _ in range(2)] == ["261116-a3fk7q", "261116-a3fk7r"]


def test_sessions_that_were_closed_are_let_go_of(store: SessionStore) -> None:
    kept = [store.create(model="m", cwd="/") for _ in range(5)]
    for _ in range(60):
        store.create(model="m", cwd="/").close()
    assert len(store._open) <= 12
    store.close()
    assert not any(session.is_open for session in kept)


def test_a_store_that_is_not_there_is_empty_and_is_not_made(path: Path) -> None:
    with SessionStore(path) as store:
        assert store.list() == []
        assert store.latest() is None
        with pytest.raises(ConfigError):
            store.read("x")
    assert not path.parent.exists()


def test_what_is_deleted_is_gone_from_the_file(store: SessionStore, path: Path) -> None:
    kept, gone = begun(store, "stay"), begun(store, "vanishing-words")
    for turn in range(1, 40):
        gone.answered(turn, Message("assistant", [TextPart("vanishing-words " * 200)]))
    with pytest.raises(ConfigError, match=f"open in process {os.getpid()}"):
        store.delete(gone.id)
    gone.close()
    assert any(b"vanishing-words" in file.read_bytes() for file in path.parent.iterdir() if file.is_file())
    store.delete(gone.id)
    assert [info.id for info in store.list()] == [kept.id]
    assert not [file for file in path.parent.iterdir() if file.is_file() and b"vanishing-words" in file.read_bytes()]
    with pytest.raises(ConfigError):
        store.open(gone.id)


# ---- who may write


def test_a_session_is_open_once(store: SessionStore, path: Path) -> None:
    session = begun(store)
    with SessionStore(path) as other:
        with pytest.raises(ConfigError, match="is open in process") as caught:
            other.open(session.id)
        assert caught.value.hint
        assert other.read(session.id).messages
        session.close()
        other.open(session.id).said(user("more"))
    assert not list(path.with_name("sessions.db-locks").iterdir())


def test_a_closed_session_takes_nothing_more(store: SessionStore) -> None:
    session = begun(store)
    session.close()
    session.close()
    with pytest.raises(SessionFailed, match="it was closed"):
        session.said(user("more"))


def test_many_processes_and_threads_write_at_once(path: Path) -> None:
    code = (
        "import sys; from toolwire.agent.sessions.store import SessionStore; from toolwire.messages import user\n"
        "store = SessionStore(sys.argv[1]); s = store.create(model='m', cwd='/')\n"
        "for n in range(50): s.said(user(str(n)))"
    )
    children = [subprocess.Popen([sys.executable, "-c", code, str(path)]) for _ in range(3)]
    with SessionStore(path) as store:

        def write() -> None:
            session = store.create(model="m", cwd="/")
            for number in range(50):
                session.said(user(str(number)))

        threads = [threading.Thread(target=write) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [child.wait(30) for child in children] == [0, 0, 0]
        assert [len(store.read(info.id).messages) for info in store.list()] == [50] * 6


def test_two_that_make_the_file_at_once(path: Path) -> None:
    others: list[str] = []

    def first(sql: str) -> None:
        if sql == "BEGIN IMMEDIATE" and not others:
            others.append("")
            with SessionStore(path) as other:
                others.append(begun(other).id)

    with watched(first), SessionStore(path) as store:
        ids = [begun(store).id, others[1]]
        assert {info.id for info in store.list()} == set(ids)


# ---- secrets and rights


def test_only_its_user_may_read_it(store: SessionStore, path: Path) -> None:
    begun(store)
    modes = {each.name: stat.S_IMODE(each.stat().st_mode) for each in [path.parent, *path.parent.iterdir()]}
    assert modes.pop("state") == modes.pop("sessions.db-locks") == 0o700
    assert set(modes.values()) == {0o600}
    path.chmod(0o644)
    with SessionStore(path) as other:
        other.list()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("given", [False, True])
def test_no_secret_is_written(path: Path, monkeypatch: pytest.MonkeyPatch, given: bool) -> None:
    env_key = "qM7w0Lk2PzX93bVnT5cD8s"
    monkeypatch.setenv("SOME_API_KEY", env_key)
    with SessionStore(path, redactor=Redactor(environment=os.environ) if given else None) as store:
        session = store.create(model="m", cwd="/", base_url="http://user:pass7word@h/v1")
        session.hide(Redactor([KEY]) if given else Redactor([KEY], os.environ))  # what was given holds beside it
        secret = f"{KEY} and {env_key}"
        session.said(user(f"{' ' * 70}{secret}"))
        session.answered(1, Message("assistant", [ToolCallPart("c1", "save", {secret: [secret]}, f'{{"{secret}":1}}')]))
        session.starting(1, ToolInvocation("c1", "save", {"text": secret}), SAVE)
        session.finished(1, ToolResult("c1", "save", secret))
        session.settled(1, tool_results([ToolResult("c1", "save", secret).part()]))
        session.noted(ApprovalAnswered(1, "c1", False, "person", reason=secret))
        session.compacted([user(secret)])
        data = b"".join(file.read_bytes() for file in path.parent.iterdir() if file.is_file())
        assert b"*** and ***" in data
        for word in (KEY, env_key, "pass7word", KEY[8:], env_key[:-4], *(KEY[at : at + 16] for at in range(8))):
            assert word.encode() not in data
        # A key that nobody told of may be what the conversation is about.
        session.said(user("sk-proj-other0123456789abcdef"))
        assert store.read(session.id).messages[-1].text == "sk-proj-other0123456789abcdef"


def test_no_canary_is_written(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secrets = canaries(200, seed=5)
    for number, secret in enumerate(secrets):
        monkeypatch.setenv(f"CANARY{number}_TOKEN", secret)
    ways = list(WRITTEN.values())
    texts = [ways[number % len(ways)](secret) for number, secret in enumerate(secrets)]
    with SessionStore(path) as store:
        session = store.create(model="m", cwd="/")
        session.said(user(" ".join(texts)))
        session.answered(
            1, Message("assistant", [ToolCallPart("c1", "save", {"text": texts}, msgspec.json.encode(texts).decode())])
        )
        session.settled(1, tool_results([ToolResult("c1", "save", msgspec.json.encode(texts).decode()).part()]))
        data = b"".join(file.read_bytes() for file in path.parent.iterdir() if file.is_file()).decode(errors="replace")
    assert not [secret for secret in secrets if any(secret[at : at + 16] in data for at in range(len(secret) - 15))]
    assert not [text for text in texts if len(text) >= 16 and text in data]
    assert data.count("***") > 400


async def test_the_key_of_an_agent_is_not_written(store: SessionStore, path: Path) -> None:
    session = store.create(model="m", cwd="/")
    model = Model()
    it = toolwire.Agent(
        "openai-compatible:m", base_url="http://127.0.0.1:1/v1", api_key=KEY, transport=model, session=session
    )
    async for _ in it.run(f"My key is {KEY}."):
        pass
    assert store.read(session.id).messages[0].text == "My key is ***."
    assert not [file for file in path.parent.iterdir() if file.is_file() and KEY.encode() in file.read_bytes()]


async def test_a_run_that_was_left_is_interrupted_in_its_session_too(store: SessionStore) -> None:
    session = store.create(model="m", cwd="/")
    it = toolwire.Agent("openai:m", api_key=KEY, transport=Model(), session=session)
    async with aclosing(it.run("Hello")) as events:
        async for event in events:
            if isinstance(event, TurnStarted):
                break
    assert session.info.state == store.list()[0].state == "interrupted"


# ---- what cannot be written


def test_what_runs_is_on_the_disk_before_it_does(store: SessionStore) -> None:
    """A tool that only reads may be forgotten with the power."""

    @toolwire.tool(risk="read")
    def look() -> str:
        """Looks."""
        return ""

    @toolwire.tool
    def unknown() -> str:
        """Nobody said what it does."""
        return ""

    statements: list[str] = []
    with watched(statements.append):
        session = begun(store)
        for tool, level in ((SAVE, "FULL"), (as_definition(look), "NORMAL"), (as_definition(unknown), "FULL")):
            statements.clear()
            session.starting(1, ToolInvocation("c1", tool.name, {}), tool)
            assert statements[0] == f"PRAGMA synchronous = {level}"
            assert statements[-1] == "COMMIT"
        session.finished(1, ToolResult("c1", "save", "x"))
        with store._file.reading() as connection:
            assert connection.execute("PRAGMA synchronous").fetchone() == (1,)
            assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_a_full_disk(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with SessionStore(path) as store:
        session = begun(store)
        with store._file.reading() as connection:
            (pages,) = connection.execute("PRAGMA page_count").fetchone()
            connection.execute(f"PRAGMA max_page_count = {pages}")
            with pytest.raises(SessionFailed, match="the disk is full") as caught:
                session.answered(1, Message("assistant", [TextPart("x" * 100_000)]))
            assert caught.value.path == str(path)
            assert caught.value.hint
            connection.execute("PRAGMA max_page_count = 100000")
        with pytest.raises(SessionFailed, match="something before this could not be written"):
            session.said(user("There is room again, and yet this would stand behind a gap."))
        session.close()
        assert store.open(session.id).messages == [user("Save it")]


def test_another_writer_is_waited_for_and_then_it_is_an_error(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolwire.agent.sessions.file._BUSY_SECONDS", 0.05)
    with SessionStore(path) as store, SessionStore(path) as same:
        session = begun(store)
        with same._file.writing(), pytest.raises(SessionFailed, match="another process holds it"):
            session.said(user("more"))


def _no_database(path: Path) -> None:
    path.write_bytes(b"This is something else altogether. " * 100)


def _foreign(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE t (x)")


def _newer(path: Path) -> None:
    with SessionStore(path) as store:
        begun(store)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 7")


def _folder(path: Path) -> None:
    path.mkdir()


def _link(path: Path) -> None:
    with SessionStore(path.with_name("real.db")) as store:
        begun(store)
    path.symlink_to(path.with_name("real.db"))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (_no_database, "it is no database"),
        (_foreign, "another program's database"),
        (_newer, "a newer Toolwire made it"),
        (_folder, "it is no plain file"),
        (_link, "it is no plain file"),
    ],
)
def test_a_file_that_is_none_of_ours(path: Path, make: Any, words: str) -> None:
    path.parent.mkdir()
    make(path)
    before = path.read_bytes() if path.is_file() else b""
    with SessionStore(path) as store:
        for use in (store.list, lambda: store.create(model="m", cwd="/"), lambda: store.open("x")):
            with pytest.raises(SessionFailed, match=words) as caught:
                use()
            assert caught.value.hint
            assert caught.value.path == str(path)
    assert before == (path.read_bytes() if path.is_file() else b"")


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with (
        SessionStore(tmp_path / "file" / "sessions.db") as store,
        pytest.raises(SessionFailed, match="File exists"),
    ):
        store.create(model="m", cwd="/")


@pytest.mark.parametrize("replaced", [False, True])
def test_a_file_that_was_removed_meanwhile(store: SessionStore, path: Path, replaced: bool) -> None:
    session = begun(store)
    path.unlink()
    if replaced:
        with SessionStore(path.with_name("other.db")) as other:
            begun(other)
        path.with_name("other.db").rename(path)
    with pytest.raises(SessionFailed, match="removed or replaced"):
        session.said(user("more"))


def test_a_fork_may_not_use_it(store: SessionStore) -> None:
    session = begun(store)
    child = os.fork()
    if not child:
        status = 1
        try:
            session.said(user("from the fork"))
        except SessionFailed:
            status = 0
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    session.said(user("from here"))


# ---- the proofs, in small


@pytest.mark.thorough
def test_killed_before_and_after_commits() -> None:
    found = sessions.killed(10, seed=1)
    assert found.faults == []
    assert found.runs > 5


@pytest.mark.thorough
def test_killed_at_any_moment() -> None:
    found = sessions.killed_anywhere(5, seed=1)
    assert found.faults == []
    assert found.runs == 5


def test_writes_that_fail() -> None:
    found = sessions.failing_writes(15, seed=1)
    assert found.faults == []
    assert found.runs > 5


def test_a_long_session() -> None:
    assert sessions.long_sessions(400, seed=1).faults == []
