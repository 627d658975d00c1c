"""Consent: what is shown, what it is bound to, and how it is kept."""

from __future__ import annotations

import json
import shlex
import stat
from pathlib import Path
from typing import Any

import msgspec
import pytest

from toolwire.approval.hidden import unmarked
from toolwire.errors import ConfigError
from toolwire.mcp.config import ServerConfig
from toolwire.mcp.consent import Consents, consent_lines, consents_path
from toolwire.mcp.reading import read_servers


def config_of(entry: dict[str, Any], source: str = "/home/me/project/.mcp.json", name: str = "time") -> ServerConfig:
    data = json.dumps({"mcpServers": {name: entry}}).encode()
    (config,) = read_servers(data, form="json", scope="project", source=source).servers
    return config


PROGRAM = {"command": "uvx", "args": ["mcp-server-time", "--zone=UTC"], "env": {"TZ": "UTC", "K": "${KEY}"}}
ADDRESS = {"url": "https://x.example/mcp?a=${Q:-1}", "headers": {"X-Key": "Bearer ${KEY}"}, "oauth": True}


def test_a_program_that_came_with_the_project_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in ("project/.venv/bin", "projects"):
        program = tmp_path / folder / "uvx"
        program.parent.mkdir(parents=True)
        program.write_text("#!/bin/sh")
        program.chmod(0o700)
    project, others = tmp_path / "project", tmp_path / "projects"
    monkeypatch.setenv("PATH", f"{project}/.venv/bin:{others}")
    words = f"look twice: by your PATH that program is the project's own: {project}/.venv/bin/uvx"
    assert consent_lines(config_of(PROGRAM), str(project))[-1] == words
    assert consent_lines(config_of({"command": "uvx", "env": {"PATH": "/bin"}}), str(project))[-1] == "  PATH=/bin"
    monkeypatch.setenv("PATH", f"{others}:{project}/.venv/bin:.")
    assert consent_lines(config_of(PROGRAM), str(project))[-1] == "and is given these of your environment: KEY"


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"command": "s", "args": ["a" + " " * 90 + "in the folder: /srv"]}, "it holds many blanks in a row"),
        ({"command": "s", "cwd": "/srv/p\u0430ypal"}, "it mixes Cyrillic and Latin letters"),
        ({"url": "https://x.example", "headers": {"X-Key": "p\u0430ypal"}}, "it mixes Cyrillic and Latin letters"),
    ],
)
def test_what_may_be_misread_is_told(entry: dict[str, Any], words: str) -> None:
    assert consent_lines(config_of(entry), "/work")[-1].startswith(f"look twice: {words}")


def test_all_of_a_program_is_shown() -> None:
    assert consent_lines(config_of(PROGRAM), "/work") == [
        "server: time",
        "named in: /home/me/project/.mcp.json",
        "runs the program:",
        "  uvx",
        "  mcp-server-time",
        "  --zone=UTC",
        "in the folder: /work",
        "with the variables:",
        "  TZ=UTC",
        "  'K=${KEY}'",
        "and is given these of your environment: KEY",
    ]
    assert "in the folder: /srv" in consent_lines(config_of({**PROGRAM, "cwd": "/srv"}), "/work")


def test_all_of_an_address_is_shown() -> None:
    assert consent_lines(config_of(ADDRESS), "/work") == [
        "server: time",
        "named in: /home/me/project/.mcp.json",
        "talks to: 'https://x.example/mcp?a=${Q:-1}'",
        "with the headers:",
        "  'X-Key: Bearer ${KEY}'",
        "and is given these of your environment: Q, KEY",
        "and wants a login in your browser",
    ]


HARD = ["", " ", "  x", "x  ", "a b", "'", '"', "\\", "$(rm)", "\n", "\r\n  uvx", "\x1b[2J", "\u202eabc", "a\u200bb"]
HARD += ["‹LF›", "x" * 50_000, " " * 3_000 + "rm", "\ud7ff", "日本", "e\u0301", "`", "#", "in the folder: /tmp"]


def test_what_is_shown_goes_back_to_the_exact_words() -> None:
    entry = {"command": "\u2066sh", "args": HARD, "env": {"K\t": "\n", " ": ""}}
    lines = consent_lines(config_of(entry), "/work")
    assert all(line.isprintable() for line in lines)
    words = [unmarked("".join(shlex.split(line))) for line in lines if line.startswith("  ")]
    assert words == ["\u2066sh", *HARD, "K\t=\n", " ="]
    assert all(len(shlex.split(line)) == 1 for line in lines if line.startswith("  "))


def test_nothing_is_cut_however_much_it_is() -> None:
    many = [f"--word={at}" for at in range(2_000)]
    lines = consent_lines(config_of({"command": "uvx", "args": many, "env": {f"V{at}": "x" for at in range(500)}}), "/")
    assert [line.strip() for line in lines if line.startswith("  --")] == many
    assert sum(line.startswith("  V") for line in lines) == 500


def test_look_alikes_are_told() -> None:
    lines = consent_lines(config_of({"command": "nрm"}), "/work")  # with a Cyrillic р
    assert lines[-1].startswith("look twice: ")
    assert not any(line.startswith("look twice") for line in consent_lines(config_of(PROGRAM), "/work"))


def test_a_link_is_told(tmp_path: Path) -> None:
    real = tmp_path / "real.json"
    link = tmp_path / "link.json"
    link.symlink_to(real)
    assert f"which is a link to: {real}" in consent_lines(config_of(PROGRAM, str(link)), "/work")


CHANGES: list[dict[str, Any]] = [
    {"command": "uvx "},
    {"args": ["mcp-server-time", "--zone=utc"]},
    {"args": ["mcp-server-time --zone=UTC"]},
    {"args": ["--zone=UTC", "mcp-server-time"]},
    {"args": []},
    {"env": {"TZ": "UTC"}},
    {"env": {"TZ": "UTC", "K": "${KEY2}"}},
    {"env": {"TZ": "UTC", "K": "${KEY}", "LD_PRELOAD": ""}},
    {"cwd": "/"},
    {"timeout": 119},
    {"enabled": True},
    {"disabled": False},
    {"tools": {"deny": ["x"]}},
    {"description": "words"},
    {"unknown": [1, {"deep": None}]},
    {"trusted": True},
    {"alwaysAllow": ["a"]},
]


@pytest.mark.parametrize("change", CHANGES)
def test_any_change_of_an_entry_is_asked_again(change: dict[str, Any]) -> None:
    consents = Consents(None)
    config = config_of(PROGRAM)
    assert not consents.given(config)
    consents.give(config)
    assert consents.given(config_of(PROGRAM))
    assert not consents.given(config_of({**PROGRAM, **change}))


def test_consent_is_for_one_server_of_one_file() -> None:
    consents = Consents(None)
    consents.give(config_of(PROGRAM))
    assert not consents.given(config_of(PROGRAM, name="other"))
    assert not consents.given(config_of(PROGRAM, source="/home/me/project/.cursor/mcp.json"))
    assert not consents.given(config_of(ADDRESS))
    changes: list[dict[str, Any]] = [{"scope": "user"}, {"entry": ""}, {"args": ("mcp-server-time",)}, {"cwd": "/x"}]
    for change in (*changes, {"risk": "read"}, {"allow": ()}, {"enabled": False}):
        assert not consents.given(msgspec.structs.replace(config_of(PROGRAM), **change)), change


def test_an_entry_that_comes_back_needs_no_new_consent_until_it_is_taken_back() -> None:
    consents = Consents(None)
    one, two = config_of(PROGRAM), config_of({**PROGRAM, "args": []})
    other = config_of(PROGRAM, name="other")
    elsewhere = config_of(PROGRAM, source="/other/.mcp.json")
    for config in (one, two, other, elsewhere):
        consents.give(config)
    assert consents.given(one)
    assert consents.given(two)
    consents.take_back(two)
    assert [consents.given(config) for config in (one, two, other, elsewhere)] == [False, False, True, True]
    consents.take_back(two)


def test_it_is_kept_on_the_disk_for_its_person_alone(tmp_path: Path) -> None:
    path = consents_path({"XDG_STATE_HOME": str(tmp_path)})
    assert path == tmp_path / "toolwire" / "mcp" / "consents.json"
    config = config_of(PROGRAM, source="/work\udcff\u202e/.mcp.json")
    Consents(path).give(config)
    assert Consents(path).given(config)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    Consents(path).take_back(config)
    assert not Consents(path).given(config)


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"version": 9, "entries": {}}', b'{"entries": {}}', b"\xff"])
def test_a_damaged_file_is_no_consent_and_no_blank_page(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "consents.json"
    Consents(path).give(config_of(PROGRAM))
    path.write_bytes(data)
    consents = Consents(path)
    for use in (consents.given, consents.give, consents.take_back):
        with pytest.raises(ConfigError, match="which servers of projects may be started") as caught:
            use(config_of(PROGRAM))
        assert caught.value.hint
    assert path.read_bytes() == data
