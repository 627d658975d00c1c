"""Sessions against what comes from outside: forks, tools, folders, secrets that are words, other builds of SQLite."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import toolwire
from toolwire.agent.events import RunFailed
from toolwire.agent.sessions.store import SessionStore
from toolwire.builtin.tools import builtin_tools
from toolwire.errors import ConfigError, SessionFailed
from toolwire.messages import Message, Part, TextPart, ThinkingPart, ToolCallPart, ToolResultPart, user
from toolwire.redaction import Redactor
from toolwire.testing import ScriptedModel, call, events_of, say


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "sessions.db"


@pytest.fixture
def store(path: Path) -> Iterator[SessionStore]:
    with SessionStore(path) as store:
        yield store


def bytes_of(path: Path) -> bytes:
    return path.read_bytes()


def test_a_fork_that_closes_leaves_the_lock_with_who_made_it(store: SessionStore, path: Path) -> None:
    session = store.create(model="openai:m", cwd="/w")
    session.said(user("Hi"))
    child = os.fork()
    if not child:
        store.close()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    with SessionStore(path) as other, pytest.raises(ConfigError, match=f"is open in process {os.getpid()}"):
        other.open(session.id)
    session.said(user("Still there?"))
    session.close()
    assert len(store.open(session.id).messages) == 2


@pytest.mark.parametrize("word", ["assistant", "thinking", "answered", "tool_call", "arguments", "messages"])
def test_a_secret_that_is_a_word_of_the_format_spoils_nothing(word: str, path: Path) -> None:
    parts: list[Part] = [ThinkingPart("Hm"), TextPart(f"It is {word}!"), ToolCallPart("c1", "save", {"a": 1})]
    with SessionStore(path, redactor=Redactor([word])) as store:
        session = store.create(model="openai:m", cwd="/w")
        session.said(user("Hi"))
        session.answered(1, Message("assistant", parts))
        session.close()
        _, answer, _ = store.open(session.id).messages
    assert answer.role == "assistant"
    assert answer.text == "It is ***!"
    assert [type(part) for part in answer.parts] == [type(part) for part in parts]


def test_a_folder_whose_name_is_no_unicode_is_found_again(store: SessionStore) -> None:
    folder = os.fsdecode(b"/w/caf\xe9")
    session = store.create(model="openai:m", cwd=folder)
    session.said(user("Hi"))
    assert store.latest(folder) == session.id
    assert store.list()[0].is_in(folder)
    assert store.latest("/w/caf") is None


def test_what_is_deleted_is_gone_also_where_sqlite_overwrites_nothing_by_itself(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some builds overwrite always, and those that most people have do not."""
    connect = sqlite3.connect

    def plain(*args: Any, **options: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(*args, **options)
        connection.execute("PRAGMA secure_delete = OFF")
        return connection

    monkeypatch.setattr(sqlite3, "connect", plain)
    with SessionStore(path) as store:
        session = store.create(model="openai:m", cwd="/w")
        session.said(user("CANARY in the title"))
        for number in range(30):
            other = store.create(model="openai:m", cwd="/w")
            other.said(user(f"Question {number}"))
            session.answered(number, Message("assistant", "CANARY " * (17 * number % 90 + 1)))
            session.said(user("CANARY " * 9))
            other.answered(1, Message("assistant", "z" * (number * 97 % 2900)))
        session.close()
        store.delete(session.id)
    found = {each.name: each.read_bytes().count(b"CANARY") for each in path.parent.rglob("*") if each.is_file()}
    assert found == {"sessions.db": 0}


@pytest.mark.parametrize("end", ["", "-wal", "-locks/x", "-journal"])
async def test_no_tool_changes_the_file_that_says_what_tools_did(end: str, tmp_path: Path) -> None:
    with SessionStore(tmp_path / "kept.db") as store:
        session = store.create(model="openai:m", cwd=str(tmp_path))
        model = ScriptedModel(
            [
                [call("write_file", path=f"kept.db{end}", content="x"), call("write_file", path="a.txt", content="x")],
                "Done.",
            ]
        )
        agent = toolwire.Agent(
            "openai:m",
            builtin_tools(),
            transport=model,
            api_key="none",
            policy="full",
            workspace=tmp_path,
            session=session,
        )
        await events_of(agent, "Write")
        await agent.close()
        closed, plain = (part for part in agent.messages[2].parts if isinstance(part, ToolResultPart))
        assert closed.content == "Error: not run: it is denied: it would change what is written down about calls"
        assert not plain.is_error
        session.close()
        assert len(store.open(session.id).messages) == 4


def test_a_run_that_a_full_disk_ended_says_so(store: SessionStore) -> None:
    """Also where the run fails first, and that it failed cannot be written either."""
    session = store.create(model="openai:m", cwd="/w")
    with store._file.reading() as connection:
        connection.execute("PRAGMA max_page_count = 12")
    model = ScriptedModel([say("x" * 100_000)])
    agent = toolwire.Agent("openai:m", transport=model, api_key="none", session=session)
    with pytest.raises(SessionFailed, match="could not be written: the disk is full"):
        agent.run_sync("Hi")
    session.close()
    assert store.list()[0].state == "cut off"
    assert store.open(session.id).messages == [user("Hi")]


async def test_the_password_in_the_address_is_not_written(path: Path) -> None:
    password = "Vt92kQpLm20xZr93"
    with SessionStore(path) as store:
        url = f"http://me:{password}@127.0.0.1:1/v1"
        session = store.create(model="openai:m", cwd="/w", base_url=url)
        model = ScriptedModel([f"The password is {password}."])
        agent = toolwire.Agent("openai:m", transport=model, api_key="none", base_url=url, session=session)
        events = await events_of(agent, f"Is it {password}?")
        assert not isinstance(events[-1], RunFailed)
    kept = bytes_of(path)
    assert b"The password is ***." in kept
    assert password.encode() not in kept
