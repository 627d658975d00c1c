from __future__ import annotations

import typing
from pathlib import Path
from typing import Any

import pytest

from toolwire.agent.asking import Retries
from toolwire.agent.bounds import Bounds
from toolwire.agent.endpoint import PARSER_VARIABLES
from toolwire.approval.policy import Mode as PolicyMode
from toolwire.errors import ConfigError
from toolwire.settings.loading import (
    DEFAULT,
    Flags,
    Loaded,
    load_settings,
    look_at_settings,
    scalar_names,
    settings_path,
    variables_of,
)
from toolwire.settings.model import Mode, Price, Service, Settings
from toolwire.transport import Timeouts


def loaded(folder: Path, text: str = "", **env: str) -> Loaded:
    return load_settings(environment(folder, text, **env))


def environment(folder: Path, text: str = "", **env: str) -> dict[str, str]:
    path = folder / "toolwire" / "config.toml"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    path.chmod(0o600)
    return {"XDG_CONFIG_HOME": str(folder), "HOME": "/home/me", **env}


def test_without_anything_all_is_as_the_parts_have_it(tmp_path: Path) -> None:
    made = load_settings({"XDG_CONFIG_HOME": str(tmp_path)})
    assert made.settings == Settings()
    assert set(made.source.values()) == {DEFAULT}
    assert list(made.source) == scalar_names()
    assert made.settings.max_turns == Bounds().turns
    assert made.settings.retries == Retries().attempts - 1
    assert made.settings.timeout == Timeouts().idle
    assert set(typing.get_args(Mode)) == {"", *PolicyMode}
    assert variables_of("stream_parser") == PARSER_VARIABLES


def test_the_file_and_where_each_value_is_from(tmp_path: Path) -> None:
    made = loaded(
        tmp_path,
        'model = "work:large"\nroots = ["~/notes", "/srv"]\n[chat]\ntheme = "light"\n'
        '[providers.work]\nbase_url = "https://x.example/v1"\n[prices."work:large"]\ninput = 2\noutput = 8.5\n',
    )
    assert made.settings.model == "work:large"
    assert made.settings.roots == ("/home/me/notes", "/srv")
    assert made.settings.chat.theme == "light"
    assert made.settings.providers == {"work": Service(base_url="https://x.example/v1")}
    assert made.settings.prices == {"work:large": Price(input=2.0, output=8.5)}
    said = {name: source for name, source in made.source.items() if source != DEFAULT}
    assert said == {
        "model": "config.toml:1",
        "roots": "config.toml:2",
        "chat.theme": "config.toml:4",
        "providers.work": "config.toml:5",
        "providers.work.base_url": "config.toml:6",
        'prices."work:large"': "config.toml:7",
        'prices."work:large".input': "config.toml:8",
        'prices."work:large".output': "config.toml:9",
    }
    assert made.is_set("model")
    assert not made.is_set("mode")
    assert str(made.error("chat.theme", "is no theme", "")) == f"{made.path}, line 4: `chat.theme` is no theme"


FROM_ENVIRONMENT: list[tuple[str, str, str, Any]] = [
    ("TOOLWIRE_MODEL", " ollama:llama3 ", "model", "ollama:llama3"),
    ("TOOLWIRE_SYSTEM", "Be brief.", "system", "Be brief."),
    ("TOOLWIRE_TOOLS", "none", "tools", "none"),
    ("TOOLWIRE_ROOTS", "/a:~/b:", "roots", ("/a", "/home/me/b")),
    ("TOOLWIRE_SANDBOX", "0", "sandbox", False),
    ("TOOLWIRE_USE_MCP", "no", "use_mcp", False),
    ("TOOLWIRE_STREAM_PARSER", "xml", "stream_parser", "xml"),
    ("AUTOBYTEUS_STREAM_PARSER", "json", "stream_parser", "json"),
    ("TOOLWIRE_REPAIR", "TRUE", "repair", True),
    ("TOOLWIRE_MODE", "read-only", "mode", "read-only"),
    ("TOOLWIRE_AUDIT", "off", "audit", False),
    ("TOOLWIRE_SESSIONS", "false", "sessions", False),
    ("TOOLWIRE_DATABASE", "postgresql://me:pw@db.example/runs", "database", "postgresql://me:pw@db.example/runs"),
    ("TOOLWIRE_MAX_TURNS", "7", "max_turns", 7),
    ("TOOLWIRE_MAX_TOKENS", "0", "max_tokens", 0),
    ("TOOLWIRE_MAX_SECONDS", "1.5", "max_seconds", 1.5),
    ("TOOLWIRE_RETRIES", "0", "retries", 0),
    ("TOOLWIRE_TIMEOUT", "20", "timeout", 20.0),
    ("TOOLWIRE_CONTEXT_TOKENS", "9000", "context_tokens", 9000),
    ("TOOLWIRE_CHAT_THEME", "nord", "chat.theme", "nord"),
    ("TOOLWIRE_CHAT_PLAIN", "1", "chat.plain", True),
    ("TOOLWIRE_CHAT_REASONING", "hidden", "chat.reasoning", "hidden"),
    ("TOOLWIRE_CHAT_NOTIFY", "0", "chat.notify", False),
]


@pytest.mark.parametrize(("variable", "text", "name", "value"), FROM_ENVIRONMENT)
def test_a_variable_goes_before_the_file(tmp_path: Path, variable: str, text: str, name: str, value: Any) -> None:
    made = loaded(tmp_path, _ALL, **{variable: text})
    holder: Any = made.settings.chat if name.startswith("chat.") else made.settings
    assert getattr(holder, name.removeprefix("chat.")) == value
    assert made.source[name] == variable
    # One that is empty says nothing.
    assert loaded(tmp_path, _ALL, **{variable: " "}).source[name].startswith("config.toml:")


_ALL = """\
model = "a:b"
system = "x"
tools = "demo"
roots = ["/x"]
sandbox = true
use_mcp = true
stream_parser = "auto"
repair = false
mode = "full"
audit = true
sessions = true
database = "sqlite:////home/me/runs.db"
max_turns = 1
max_tokens = 1
max_seconds = 1
retries = 1
timeout = 1
context_tokens = 1
chat.theme = "dark"
chat.plain = false
chat.reasoning = "shown"
chat.notify = true
"""


def test_every_setting_has_a_variable_that_is_tried_here() -> None:
    assert {name for _, _, name, _ in FROM_ENVIRONMENT} | {"base_url"} == set(scalar_names())


@pytest.mark.parametrize(
    ("variable", "text", "words"),
    [
        ("TOOLWIRE_SANDBOX", "maybe", "TOOLWIRE_SANDBOX: it wants to be 1 or 0"),
        ("TOOLWIRE_RETRIES", "three", "TOOLWIRE_RETRIES: it wants to be a whole number"),
        ("TOOLWIRE_RETRIES", "-1", "TOOLWIRE_RETRIES: it is less than 0"),
        ("TOOLWIRE_TIMEOUT", "nan", "TOOLWIRE_TIMEOUT: it is not more than 0"),
        ("TOOLWIRE_MODE", "yolo", "TOOLWIRE_MODE: it is none of"),
        ("TOOLWIRE_ROOTS", "a:b", "TOOLWIRE_ROOTS: it has a folder that begins nowhere"),
    ],
)
def test_a_wrong_variable_is_named(tmp_path: Path, variable: str, text: str, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        loaded(tmp_path, **{variable: text})
    assert words in caught.value.message
    assert caught.value.hint


def test_several_faults_are_one_error_that_says_so(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        loaded(tmp_path, 'modle = "x"\n\nretries = "y"', TOOLWIRE_MODE="x")
    error = caught.value
    assert f"{tmp_path}/toolwire/config.toml, line 1: `modle` is not known (and 2 more faults)" == error.message
    assert error.hint == "Did you mean `model`? All of them: toolwire config check"
    assert len(error.faults) == 3
    made, faults = look_at_settings(environment(tmp_path, 'modle = "x"\nretries = 9'))
    assert (made.settings.retries, len(faults)) == (9, 1)


def test_flags_go_before_all_else(tmp_path: Path) -> None:
    made = loaded(tmp_path, 'retries = 1\n[chat]\ntheme = "light"', TOOLWIRE_RETRIES="2")
    over = made.with_flags(retries=3, sandbox=False, theme="nord", mode=None, timeout=5)
    assert (over.settings.retries, over.settings.sandbox, over.settings.chat.theme) == (3, False, "nord")
    assert isinstance(over.settings.timeout, float)
    assert (over.source["retries"], over.source["sandbox"], over.source["chat.theme"]) == (
        "--retries",
        "--no-sandbox",
        "--theme",
    )
    assert made.settings.retries == 2
    assert made.with_flags(model="/home/me/my models/x.GGUF").settings.model == "/home/me/my models/x.GGUF"
    for wrong in (
        {"base_url": ""},
        {"model": ""},
        {"mode": ""},
        {"stream_parser": ""},
        {"theme": ""},
        {"model": "a b"},
        {"retries": -1},
        {"mode": "x"},
        {"theme": "a\nb"},
        {"max_turns": 0},
    ):
        with pytest.raises(ConfigError, match=f"--{next(iter(wrong)).replace('_', '-')} "):
            made.with_flags(**wrong)


def test_flags_are_the_settings() -> None:
    names = {name.removeprefix("chat.") for name in scalar_names()}
    # Folders of the command line are further ones, and may be relative.
    assert set(Flags.__annotations__) == names - {"roots"}


FILE = 'model = "openai:a"\nbase_url = "http://127.0.0.1:1/v1"'
HERE, THERE = "http://127.0.0.1:1/v1", "http://127.0.0.1:2/v1"


@pytest.mark.parametrize(
    ("text", "env", "flags", "address", "source"),
    [
        (FILE, {}, {}, HERE, "config.toml:2"),
        (FILE, {}, {"model": "anthropic:b"}, "", DEFAULT),
        (FILE, {}, {"model": "anthropic:b", "base_url": THERE}, THERE, "--base-url"),
        (FILE, {}, {"base_url": THERE}, THERE, "--base-url"),
        (FILE, {"TOOLWIRE_MODEL": "anthropic:b"}, {}, "", DEFAULT),
        (FILE, {"TOOLWIRE_BASE_URL": THERE}, {}, HERE, "config.toml:2"),
        (f'base_url = "{HERE}"', {}, {}, "", DEFAULT),
        (f'base_url = "{HERE}"', {"TOOLWIRE_MODEL": "openai:b"}, {}, "", DEFAULT),
        (f'base_url = "{HERE}"', {}, {"model": "openai:b"}, "", DEFAULT),
        ("", {"TOOLWIRE_BASE_URL": THERE}, {}, "", DEFAULT),
        ("", {"TOOLWIRE_BASE_URL": THERE, "TOOLWIRE_MODEL": "anthropic:b"}, {}, "", DEFAULT),
        ("", {"TOOLWIRE_BASE_URL": THERE, "TOOLWIRE_MODEL": "openai-compatible:b"}, {}, THERE, "TOOLWIRE_BASE_URL"),
        (
            FILE.replace("openai:", "openai-compatible:"),
            {"TOOLWIRE_BASE_URL": THERE},
            {},
            THERE,
            "TOOLWIRE_BASE_URL",
        ),
    ],
)
def test_an_address_is_that_of_its_model(
    tmp_path: Path, text: str, env: dict[str, str], flags: Flags, address: str, source: str
) -> None:
    """A key must not go to a server that it is not for."""
    made = loaded(tmp_path, text, **env).with_flags(**flags)
    assert (made.settings.base_url, made.source["base_url"]) == (address, source)


def test_an_address_without_a_model_is_noted(tmp_path: Path) -> None:
    [note] = loaded(tmp_path, f'retries = 1\nbase_url = "{HERE}"').notes
    assert "config.toml, line 2: `base_url` is for `model`, and there is none" in note
    assert loaded(tmp_path, FILE).notes == ()


def test_a_slip_in_a_variable_is_noted(tmp_path: Path) -> None:
    notes = loaded(tmp_path, TOOLWIRE_MODLE="x", TOOLWIRE_DEBUG="1", TOOLWIRE_API_KEY="k", TOOLWIRE_BASE_URL="u").notes
    assert notes == ("the variable TOOLWIRE_MODLE is not known; did you mean TOOLWIRE_MODEL?",)


def test_the_path_is_the_persons_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".toolwire").mkdir()
    (tmp_path / ".toolwire" / "config.toml").write_text('model = "evil:x"')
    (tmp_path / "config.toml").write_text('model = "evil:x"')
    monkeypatch.chdir(tmp_path)
    env = {"HOME": str(tmp_path / "home")}
    assert settings_path(env) == tmp_path / "home/.config/toolwire/config.toml"
    assert load_settings(env).settings.model == ""
