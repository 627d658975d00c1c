"""`toolwire audit`: the trail as a person or a program reads it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cli.command import assert_sentence, toolwire_command
from cli.terminal import Terminal
from toolwire.approval.audit import AuditRecord, AuditTrail
from toolwire.redaction import Redactor

HOSTILE = "\x1b[2J\x1b]52;c;x\x07\u202e\u200b\r\n\t"


def write(path: Path, *records: dict[str, Any]) -> Path:
    trail = AuditTrail(path, Redactor())
    for record in records:
        trail(AuditRecord(**{"call": "t1-c1", "tool": "shell", "risk": "execute", **record}))
    return path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    command = {"command": "ls  -l"}
    return write(
        tmp_path / "toolwire" / "audit.jsonl",
        {"event": "asked", "arguments": command, "why": "the mode asks", "source": "mode", "digest": "12345678abcd"},
        {"event": "approved", "arguments": command, "who": "person", "why": "once", "digest": "12345678abcd"},
        {"event": "started", "digest": "12345678abcd"},
        {"event": "finished", "outcome": "ok", "digest": "12345678abcd"},
        {"event": "denied", "call": "t2-c1", "tool": "save", "risk": "write", "source": "policy.toml, rule 3"},
        {"event": "denied", "call": "t2-c2", "arguments": {"text": "y" * 50_000}},
    )


def test_a_person_reads_what_happened(path: Path) -> None:
    ran = toolwire_command("audit", str(path))
    assert (ran.code, ran.err) == (0, "")
    lines = ran.out.splitlines()
    assert [line[21:] for line in lines[:8] if not line.startswith(" ")] == [
        "asked     shell (execute)  t1-c1  (mode): the mode asks  12345678",
        "approved  shell (execute)  t1-c1  by person: once  12345678",
        "started   shell (execute)  t1-c1  12345678",
        "finished  shell (execute)  t1-c1  ok  12345678",
        "denied    save (write)  t2-c1  (policy.toml, rule 3)",
        "denied    shell (execute)  t2-c2",
    ]
    assert lines[1] == '    {"command":"ls  -l"}'
    assert lines[-1].endswith("yyy… (50,011 bytes)")
    assert max(map(len, lines)) < 200


@pytest.mark.parametrize(
    ("options", "calls"),
    [
        (["--last", "1"], ["t2-c2"]),
        (["--last", "0"], ["t1-c1"] * 4 + ["t2-c1", "t2-c2"]),
        (["--event", "denied"], ["t2-c1", "t2-c2"]),
        (["--tool", "save"], ["t2-c1"]),
        (["--call", "t1-c1", "--last", "2"], ["t1-c1"] * 2),
        (["--call", "t1-c1", "--tool", "save"], []),
        (["--since", "1h"], ["t1-c1"] * 4 + ["t2-c1", "t2-c2"]),
        (["--since", "0s"], []),
        (["--since", "2999-01-01"], []),
        (["--since", "2020-01-01T00:00+02:00", "--last", "1"], ["t2-c2"]),
    ],
)
def test_what_is_wanted_is_shown(path: Path, options: list[str], calls: list[str]) -> None:
    ran = toolwire_command("audit", "--json", *options, str(path))
    assert (ran.code, ran.err) == (0, "")
    assert [line["call"] for line in ran.lines] == calls


def test_data_is_what_the_file_holds(path: Path) -> None:
    ran = toolwire_command("audit", "--json", str(path))
    assert ran.lines == [json.loads(line) for line in path.read_text().splitlines()]


def test_the_own_trail_is_found(path: Path, tmp_path: Path) -> None:
    ran = toolwire_command("audit", "--last", "1", "--json", env={"XDG_STATE_HOME": str(tmp_path)})
    assert [line["call"] for line in ran.lines] == ["t2-c2"]


def test_where_there_is_none_yet(tmp_path: Path) -> None:
    env = {"XDG_STATE_HOME": str(tmp_path)}
    for options in ([], ["--json"], ["--verify"]):
        ran = toolwire_command("audit", *options, env=env)
        assert (ran.code, ran.out) == (0, "")
        assert str(tmp_path / "toolwire" / "audit.jsonl") in ran.err


def test_a_whole_trail_is_said_to_be_whole(path: Path) -> None:
    ran = toolwire_command("audit", "--verify", str(path))
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.endswith(": 6 records; no line before the last was changed or taken out\n")
    with path.open("ab") as file:
        file.write(b'{"event":"den')
    assert ": 6 records, 1 unfinished line; no line" in toolwire_command("audit", "--verify", str(path)).out


def test_a_changed_trail_is_told(path: Path) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:1], *lines[2:]]))
    ran = toolwire_command("audit", "--verify", str(path))
    assert_sentence(ran, 1, "is not as it was written: 5 records, 1 broken")
    assert ran.out == "line 2: the line before it was changed or taken out\n"
    shown = toolwire_command("audit", str(path))
    assert shown.code == 0
    assert "the trail is broken at line 2" in shown.err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--since", "yesterday"], "--since yesterday is no time"),
        (["--since", "9999999999999w"], "is no time"),
        (["--last", "-1"], "--last -1"),
        (["--event", "dneied"], "denied"),
        (["no-such-file"], "there is no file no-such-file"),
        (["/"], "is a directory"),
    ],
)
def test_what_was_asked_for_wrongly(options: list[str], words: str, tmp_path: Path) -> None:
    assert_sentence(toolwire_command("audit", *options, cwd=tmp_path), 2, words)


def test_nothing_in_it_is_obeyed_by_a_terminal(tmp_path: Path) -> None:
    path = write(
        tmp_path / "a.jsonl",
        {"event": "denied", "why": HOSTILE, "tool": HOSTILE, "source": HOSTILE, "arguments": {HOSTILE: HOSTILE}},
        {"event": "denied", "why": "fine", "arguments": {"x": f"{HOSTILE}{'y' * 20_000}"}},
    )
    for options in ([], ["--json"]):
        with Terminal("audit", str(path), *options) as terminal:
            assert terminal.end() == 0
            screen = terminal.screen.replace("\r\n", "\n")
        assert "fine" in screen
        assert [char for char in screen if not char.isprintable() and char != "\n"] == []
        assert len(screen.splitlines()) == (2 if options else 4)


def test_a_file_that_is_no_trail_shows_nothing(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(bytes(range(256)) * 5000 + b"\n{}\n[1]\n" + b'{"event":1}\n')
    ran = toolwire_command("audit", str(tmp_path / "x"))
    assert ran.out == ""
    assert_sentence(ran, 0, "x holds no record")


def test_that_nothing_is_shown_is_said(path: Path, tmp_path: Path) -> None:
    ran = toolwire_command("audit", "--tool", "nope", str(path))
    assert ran.out == ""
    assert_sentence(ran, 0, "none of 6 records fits")
    other = tmp_path / "notes.txt"
    other.write_text("something else\n")
    ran = toolwire_command("audit", "--verify", str(other))
    assert ran.out == ""
    assert_sentence(ran, 1, "notes.txt holds no record")
