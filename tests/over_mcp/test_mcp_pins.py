"""Pins: kept whole, compared exactly, closed when damaged."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from bench.trust import mcp_definitions as proofs

from toolwire.errors import ConfigError, ToolDefinitionError
from toolwire.mcp import kept
from toolwire.mcp.pins import Pins, pins_path

TOOL: dict[str, Any] = {
    "name": "t",
    "description": "d",
    "inputSchema": {"type": "object", "maximum": 1},
    "x": [1, None],
}


@pytest.mark.parametrize("on_disk", [True, False])
def test_a_pin_is_known_until_it_is_forgotten(tmp_path: Path, on_disk: bool) -> None:
    pins = Pins(tmp_path / "a" / "mcp" / "pins.json" if on_disk else None)
    assert pins.state("s", TOOL) == "new"
    pins.pin("s", TOOL)
    assert (pins.state("s", TOOL), pins.state("s", {**TOOL, "description": "e"})) == ("same", "changed")
    assert pins.state("p#s", TOOL) == "new", "a project's server of the same name is another"
    assert pins.known("s") == {"t": TOOL}
    pins.pin("s", {**TOOL, "name": "u"})
    pins.forget("s", "t")
    pins.forget("s", "not there")
    assert pins.known("s").keys() == {"u"}
    pins.forget("s")
    assert pins.known("s") == {}


@pytest.mark.parametrize(
    "change",
    [
        {"inputSchema": {"type": "object", "maximum": 1.0}},
        {"inputSchema": {"type": "object", "maximum": True}},
        {"inputSchema": {"type": "object", "maximum": 2**70}},
        {"x": [None, 1]},
        {"unknown": None},
        {"description": "d\u200b"},
        {"title": ""},
    ],
)
def test_the_smallest_change_is_one_and_can_be_pinned(tmp_path: Path, change: dict[str, Any]) -> None:
    path = tmp_path / "pins.json"
    Pins(path).pin("s", TOOL)
    changed = {**TOOL, **change}
    assert Pins(path).state("s", changed) == "changed"
    Pins(path).pin("s", changed)
    assert (Pins(path).state("s", changed), Pins(path).state("s", TOOL)) == ("same", "changed")


def test_the_order_of_fields_is_no_change() -> None:
    pins = Pins(None)
    pins.pin("s", TOOL)
    assert pins.state("s", dict(reversed(TOOL.items()))) == "same"


def test_changed_bytes_of_real_definitions_are_seen() -> None:
    found = proofs.changed_bytes(300, 3)
    assert not found.faults
    assert found.runs == 300


@pytest.mark.parametrize("definition", [{}, {"name": ""}, {"name": 3}, {"name": "t", "x": float("nan")}])
def test_what_has_no_name_or_is_no_json_is_refused(definition: dict[str, Any]) -> None:
    with pytest.raises(ToolDefinitionError):
        Pins(None).state("s", definition)
    with pytest.raises(ToolDefinitionError):
        Pins(None).pin("s", definition)


def test_the_file_is_the_persons_own(tmp_path: Path) -> None:
    path = pins_path({"XDG_STATE_HOME": str(tmp_path)})
    assert path == tmp_path / "toolwire" / "mcp" / "pins.json"
    Pins(path).pin("s", TOOL)
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert os.listdir(path.parent) == ["pins.json"]


_HEAD = '{"version": 1, "entries": '


@pytest.mark.parametrize(
    "content",
    ["", "{", "[]", "null", "{}", _HEAD, _HEAD + "[]}", _HEAD + '{"s": 3}}', '{"version": 2, "entries": {}}', "\xff"],
)
def test_a_damaged_file_is_never_an_empty_one(tmp_path: Path, content: str) -> None:
    path = tmp_path / "pins.json"
    path.write_bytes(content.encode("latin-1"))
    pins = Pins(path)
    for use in (
        lambda: pins.known("s"),
        lambda: pins.state("s", TOOL),
        lambda: pins.pin("s", TOOL),
        lambda: pins.forget("s"),
    ):
        with pytest.raises(ConfigError, match=r"pins\.json") as raised:
            use()
        assert raised.value.hint
    assert path.read_bytes() == content.encode("latin-1")


def test_a_definition_that_is_none_is_damage_too(tmp_path: Path) -> None:
    path = tmp_path / "pins.json"
    path.write_text(_HEAD + '{"s": {"t": 3}}}')
    for use in (lambda: Pins(path).known("s"), lambda: Pins(path).state("s", TOOL), lambda: Pins(path).pin("s", TOOL)):
        with pytest.raises(ConfigError, match="damaged"):
            use()


def test_several_are_pinned_at_once_or_none_is(tmp_path: Path) -> None:
    pins = Pins(tmp_path / "pins.json")
    with pytest.raises(ToolDefinitionError):
        pins.pin("s", TOOL, {"name": ""})
    assert pins.known("s") == {}
    pins.pin("s", TOOL, {"name": "u"})
    pins.pin("s")
    assert pins.known("s").keys() == {"t", "u"}


def test_a_file_that_others_may_write_is_not_believed(tmp_path: Path) -> None:
    path = tmp_path / "pins.json"
    Pins(path).pin("s", TOOL)
    path.chmod(0o620)
    with pytest.raises(ConfigError, match="written by others"):
        Pins(path).known("s")


def test_a_pipe_or_a_folder_in_its_place_holds_nobody_up(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path):
        with pytest.raises(ConfigError):
            Pins(path).known("s")


def test_a_file_that_grew_too_large_is_neither_read_nor_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "pins.json"
    Pins(path).pin("s", TOOL)
    monkeypatch.setattr(kept, "MAX_BYTES", path.stat().st_size)
    before = path.read_bytes()
    with pytest.raises(ConfigError, match="cannot take more"):
        Pins(path).pin("s", {**TOOL, "name": "u"})
    assert path.read_bytes() == before
    monkeypatch.setattr(kept, "MAX_BYTES", path.stat().st_size - 1)
    with pytest.raises(ConfigError, match="more than"):
        Pins(path).known("s")


def test_a_change_that_cannot_be_written_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "pins.json"
    Pins(path).pin("s", TOOL)
    before = path.read_bytes()

    def fail(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(ConfigError, match="No space left"):
        Pins(path).pin("s", {**TOOL, "description": "new"})
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["pins.json"]


def test_another_programs_pin_is_seen_at_once(tmp_path: Path) -> None:
    here, there = Pins(tmp_path / "pins.json"), Pins(tmp_path / "pins.json")
    here.pin("s", TOOL)
    assert here.state("s", TOOL) == "same"
    there.pin("s", {**TOOL, "description": "x"})
    assert here.state("s", TOOL) == "changed"
    there.forget("s")
    assert here.state("s", TOOL) == "new"


PIN_MANY = """
import sys
from pathlib import Path
from toolwire.mcp.pins import Pins
path, server = sys.argv[1:]
for number in range(12):
    Pins(Path(path)).pin(server, {"name": f"t{number}"})
"""


def test_programs_at_the_same_time_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "pins.json"
    programs = [subprocess.Popen([sys.executable, "-c", PIN_MANY, str(path), server]) for server in "abc"]
    assert [program.wait(20) for program in programs] == [0, 0, 0]
    entries = json.loads(path.read_bytes())["entries"]
    assert {name: len(tools) for name, tools in entries.items()} == {"a": 12, "b": 12, "c": 12}


def test_what_is_given_out_cannot_change_what_is_kept() -> None:
    pins = Pins(None)
    pins.pin("s", {"name": "t", "inputSchema": {"a": 1}})
    given = {"name": "u", "inputSchema": {"a": 1}}
    pins.pin("s", given)
    given["inputSchema"] = {"a": 2}
    pins.known("s").clear()
    assert pins.known("s").keys() == {"t", "u"}
    assert pins.state("s", given) == "changed"
