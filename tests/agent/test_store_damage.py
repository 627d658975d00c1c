"""A damaged store: what can be read of it is what was written, or it says that it is damaged."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from bench.trust import sessions

from toolwire.agent.sessions.store import SessionStore
from toolwire.errors import SessionFailed
from toolwire.messages import Message, TextPart, user


@pytest.mark.thorough
def test_flips_and_cuts() -> None:
    found = sessions.damaged(250, seed=1)
    assert found.faults == []
    assert found.runs == 250


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "sessions.db"
    with SessionStore(path) as store:
        for name in ("one", "two"):
            session = store.create(model=name, cwd="/")
            session.said(user(f"Question {name}"))
            for turn in (1, 2, 3):
                session.answered(turn, Message("assistant", [TextPart(f"{name} {turn}")]))
    return path


def ids(path: Path) -> dict[str, str]:
    with SessionStore(path) as store:
        return {info.model: info.id for info in store.list()}


def changed(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in statements:
            connection.execute(statement)


@pytest.mark.parametrize(
    ("statement", "left"),
    [
        ("UPDATE entries SET body = replace(body, 'one 2', 'one 9') WHERE session = '{one}' AND number = 3", 3),
        ("DELETE FROM entries WHERE session = '{one}' AND number = 2", 2),
        ("DELETE FROM entries WHERE session = '{one}' AND number = 4", 4),
        ("DELETE FROM entries WHERE session = '{one}'", 0),
        ("UPDATE entries SET number = number + 100 WHERE session = '{one}' AND number = 2", 2),
        ("UPDATE entries SET body = CAST(body AS TEXT) WHERE session = '{one}' AND number = 1", 1),
        ("UPDATE entries SET checksum = NULL || x'' WHERE session = '{two}' AND number = 77", 5),
        (
            "UPDATE entries SET (body, checksum) = (SELECT body, checksum FROM entries WHERE session = '{two}' AND"
            " number = 3) WHERE session = '{one}' AND number = 3",
            3,
        ),
        (
            "UPDATE entries SET (body, checksum) = (SELECT body, checksum FROM entries WHERE session = '{one}' AND"
            " number = 2) WHERE session = '{one}' AND number = 3",
            3,
        ),
    ],
)
def test_an_entry_that_is_not_the_one_is_not_believed(path: Path, statement: str, left: int) -> None:
    known = ids(path)
    with SessionStore(path) as store:
        right = store.read(known["one"]).entries
    changed(path, statement.format(**known))
    with SessionStore(path) as store:
        record = store.read(known["one"])
        assert record.entries == right[:left]
        assert bool(record.damage) == (left < 5)
        if record.damage:
            with pytest.raises(SessionFailed, match="is damaged") as caught:
                store.open(known["one"])
            assert caught.value.id == known["one"]
            store.delete(known["one"])
        assert store.open(known["two"]).messages[-1].text == "two 3"


def test_what_is_said_of_the_whole_comes_from_the_entries_where_it_is_damaged(path: Path) -> None:
    known = ids(path)
    changed(path, "UPDATE sessions SET info = replace(info, 'Question', 'Answer')")
    with SessionStore(path) as store:
        assert {info.model: info.title for info in store.list()} == {"one": "Question one", "two": "Question two"}
        store.open(known["one"]).said(user("more"))
    changed(path, "DELETE FROM entries", "UPDATE sessions SET checksum = x'00'")
    with SessionStore(path) as store:
        assert {info.state for info in store.list()} == {"damaged"}


def test_what_was_found_damaged_stays_so(path: Path) -> None:
    """SQLite refuses a page that it reads for the first time, and not the second time."""
    data, known = path.read_bytes(), ids(path)
    damaged = 0
    for page in range(4096, len(data), 4096):
        for at in (page + 3, page + 4):  # how many entries the page has
            path.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
            with SessionStore(path) as store:
                try:
                    first = store.read(known["one"])
                except SessionFailed:
                    with pytest.raises(SessionFailed):
                        store.open(known["one"])
                    continue
                assert store.read(known["one"]) == first
                if first.damage:
                    damaged += 1
                    with pytest.raises(SessionFailed):
                        store.open(known["one"])
    assert damaged


def test_a_file_whose_tables_are_no_text(path: Path) -> None:
    data = path.read_bytes()
    at = data.index(b"CREATE TABLE sessions")
    path.write_bytes(data[:at] + b"\xff\xfe" + data[at + 2 :])
    with SessionStore(path) as store, pytest.raises(SessionFailed, match="damaged"):
        store.list()


@pytest.mark.parametrize("size", [0, 1, 50, 99, 100, 1000, 4096, 8192])
def test_a_file_that_was_cut(path: Path, size: int) -> None:
    data = path.read_bytes()
    known = ids(path)
    path.write_bytes(data[:size])
    with SessionStore(path) as store:
        if size < 2:
            assert store.list() == []
            store.create(model="m", cwd="/").said(user("anew"))
        else:
            with pytest.raises(SessionFailed, match=r"damaged|no database"):
                store.list()
        for id in known.values():
            with pytest.raises(Exception, match=r"damaged|no database|no session"):
                store.open(id)
