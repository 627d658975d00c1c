from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from toolwire.errors import ConfigError
from toolwire.settings.checking import FIELDS, meaning_of
from toolwire.settings.loading import load_settings, scalar_names, variables_of
from toolwire.settings.model import ChatSettings, Price, Service, Settings
from toolwire.settings.reading import parse_settings
from toolwire.settings.template import has_comments, settings_text, toml_value, with_settings


def uncommented(text: str) -> str:
    """What a person has who takes every # away that stands before a setting."""
    return "\n".join(line[1:] if line[:1] == "#" and line[1:2].strip("# ") else line for line in text.split("\n"))


def test_the_comments_say_nothing_and_all_that_they_show_can_be_set(tmp_path: Path) -> None:
    text = settings_text()
    assert tomllib.loads(text) == {}
    assert max(map(len, text.split("\n"))) <= 80
    content = parse_settings(uncommented(text).encode(), "c")
    assert content.faults == []
    assert {".".join(place) for place in content.values if place[0] not in ("providers", "prices")} == set(
        scalar_names()
    )
    assert {place[2] for place in content.values if place[0] == "providers"} == set(Service.__struct_fields__)
    assert {place[2] for place in content.values if place[0] == "prices"} == set(Price.__struct_fields__)
    (tmp_path / "toolwire").mkdir()
    (tmp_path / "toolwire" / "config.toml").write_text(uncommented(text))
    made = load_settings({"XDG_CONFIG_HOME": str(tmp_path)})
    assert made.settings.prices["openai:gpt-4.1"] == Price(input=2.0, output=8.0, cached=0.5)


def test_each_setting_stands_on_its_own() -> None:
    lines = settings_text().split("\n")
    for number, line in enumerate(lines):
        if line[:1] == "#" and line[1:2].strip("# "):
            alone = "\n".join([*lines[:number], line[1:], *lines[number + 1 :]])
            content = parse_settings(alone.encode(), "c")
            assert (len(content.values), content.faults) == (1, []), line


def test_every_setting_has_its_meaning_and_its_variable() -> None:
    text = settings_text()
    for struct in (Settings, ChatSettings, Service, Price):
        for name in FIELDS[struct]:
            if name not in ("chat", "providers", "prices"):
                meaning, example = meaning_of(struct, name)
                assert meaning.endswith(".")
                assert example is not None
    for name in scalar_names():
        assert all(variable in text for variable in variables_of(name))


BEFORE = [
    b"",
    b"\n\n",
    b'[mcp.servers.time]\ncommand = "uvx"\n',
    b'# mine\r\n[mcp.servers.time]\r\ncommand = "uvx"\r\n',
    b'\xef\xbb\xbfmcp.servers.time.command = "uvx"',
    b'model = "a:b"\n[chat]\ntheme = "x"\n',
]


@pytest.mark.parametrize("before", BEFORE)
def test_what_a_file_says_stays_as_it_is(before: bytes) -> None:
    after = with_settings(before, "c")
    assert tomllib.loads(after.decode()) == tomllib.loads(before.decode("utf-8-sig"))
    assert has_comments(after)
    assert not has_comments(before)
    assert after.endswith(before.removeprefix(b"\xef\xbb\xbf").lstrip(b"\n"))
    # And what is there and the comments can be used together.
    if b"mcp" in before:
        made = uncommented(after.decode())
        assert tomllib.loads(made)["mcp"]["servers"]["time"]["command"] == "uvx"
        assert parse_settings(made.encode(), "c").faults == []


def test_a_file_that_is_no_toml_is_left_alone() -> None:
    with pytest.raises(ConfigError, match="is not TOML"):
        with_settings(b"model = ", "c")


@pytest.mark.parametrize("value", ['a"b\\\n\x7f', 1, 2.5, True, ("a", "b"), []])
def test_values_are_written_so_that_they_read_back(value: object) -> None:
    read = tomllib.loads(f"x = {toml_value(value)}")["x"]
    assert (tuple(read) if isinstance(value, tuple) else read) == value
