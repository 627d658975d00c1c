from __future__ import annotations

import json
import os
import stat
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from cli.chat_bytes import ANSWER
from cli.command import Ran, toolwire_command
from cli.model_server import ModelServer
from toolwire.cli import config
from toolwire.cli.faults import guarded
from toolwire.cli.services import services
from toolwire.errors import AuthenticationFailed, ConfigError
from toolwire.mcp.reading import read_servers
from toolwire.providers.catalog import PROVIDERS
from toolwire.providers.endpoint import resolve
from toolwire.settings.loading import load_settings


class Home:
    """A home with a file of settings, and the command run in this process."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        for name in [name for name in os.environ if name.startswith(("TOOLWIRE_", "AUTOBYTEUS_"))]:
            monkeypatch.delenv(name)
        for name in ("VISUAL", "EDITOR", "OPENAI_API_KEY", "OPENAI_BASE_URL"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("HOME", str(folder))
        monkeypatch.setenv("XDG_CONFIG_HOME", str(folder / "config"))
        self.path = folder / "config" / "toolwire" / "config.toml"
        self._capsys = capsys

    def write(self, text: str) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text(text)
        self.path.chmod(0o600)

    def run(self, work: Callable[[], int]) -> Ran:
        code = guarded(work)
        out, err = self._capsys.readouterr()
        return Ran(code, out, err)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Home:
    return Home(tmp_path, monkeypatch, capsys)


def test_a_new_file_is_for_its_owner_alone_and_sets_nothing(home: Home) -> None:
    ran = home.run(config.init)
    assert (ran.code, ran.err) == (0, "")
    assert str(home.path) in ran.out
    assert stat.S_IMODE(home.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(home.path.parent.stat().st_mode) == 0o700
    assert tomllib.loads(home.path.read_text()) == {}
    again = home.run(config.init)
    assert again.code == 2
    assert "has the comments already" in again.err
    assert home.run(config.path).out == f"{home.path}\n"


def test_servers_that_are_there_stay(home: Home) -> None:
    home.write('[mcp.servers.time]\ncommand = "uvx"\n')
    assert home.run(config.init).code == 0
    text = home.path.read_text()
    assert text.endswith('[mcp.servers.time]\ncommand = "uvx"\n')
    (server,) = read_servers(text.encode(), form="toml", scope="user", source="c").servers
    assert (server.name, server.command) == ("time", "uvx")
    assert stat.S_IMODE(home.path.stat().st_mode) == 0o600


@pytest.mark.parametrize("text", ['model = "a:b"\n', 'modle = "a:b"\n', "this is no TOML"])
def test_a_file_with_settings_is_not_touched(home: Home, text: str) -> None:
    home.write(text)
    ran = home.run(config.init)
    assert (ran.code, home.path.read_text()) == (2, text)
    assert "--force" in ran.err
    ran = home.run(lambda: config.init(force=True))
    if "TOML" in text:
        assert (ran.code, home.path.read_text()) == (2, text)
    else:
        assert (ran.code, tomllib.loads(home.path.read_text())) == (0, tomllib.loads(text))


def test_a_link_stays_one(home: Home, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.toml"
    real.write_text("")
    home.path.parent.mkdir(parents=True)
    home.path.symlink_to(real)
    assert home.run(config.init).code == 0
    assert home.path.is_symlink()
    assert "#model = " in real.read_text()


def test_show_says_what_holds_and_where_it_is_from(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    home.write(
        'model = "work:large"\nbase_url = "http://me:passw0rd@127.0.0.1:8000/v1"\n[providers.work]\n'
        'base_url = "https://you:s3cret@x.example/v1"\nkey_variable = "WORK_KEY"\n[providers.openai]\nmodel = "gpt-9"\n'
    )
    monkeypatch.setenv("TOOLWIRE_RETRIES", "7")
    monkeypatch.setenv("WORK_KEY", "sk-very-secret")
    monkeypatch.setenv("TOOLWIRE_DATABASE", "postgresql://me:passw0rd@db.example/runs")
    ran = home.run(config.show)
    assert ran.code == 0
    rows = {line.split()[0]: line.split() for line in ran.out.splitlines() if line.strip()}
    assert rows["model"] == ["model", '"work:large"', "config.toml:1"]
    assert rows["retries"] == ["retries", "7", "TOOLWIRE_RETRIES"]
    assert rows["chat.reasoning"] == ["chat.reasoning", '"folded"', "default"]
    assert rows["mode"] == ["mode", "-", "default"]
    assert rows["database"] == ["database", '"postgresql://db.example/runs"', "TOOLWIRE_DATABASE"]
    assert rows["providers.openai.model"][-1] == "config.toml:7"
    assert "key of work: WORK_KEY is set" in ran.out
    assert "key of openai: OPENAI_API_KEY is not set" in ran.out
    as_json = home.run(lambda: config.show(json=True))
    made = json.loads(as_json.out)
    assert made["file"] == str(home.path)
    assert {"name": "retries", "value": 7, "source": "TOOLWIRE_RETRIES"} in made["settings"]
    assert {"provider": "work", "variables": ["WORK_KEY"], "set": True} in made["keys"]
    for secret in ("passw0rd", "s3cret", "very-secret"):
        assert secret not in ran.out + ran.err + as_json.out


def test_show_without_a_file(home: Home) -> None:
    ran = home.run(config.show)
    assert ran.code == 0
    assert "there is no such file: toolwire config init" in ran.out
    assert max(map(len, ran.out.splitlines()[2:])) <= 80


def test_show_hides_nothing_and_obeys_nothing(home: Home) -> None:
    home.write('system = "a\\u001b[31m\\u202eb"\n')
    ran = home.run(config.show)
    assert "\x1b" not in ran.out
    assert "\u202e" not in ran.out
    assert "\x1b" not in home.run(lambda: config.show(json=True)).out


CHECKED = [
    ('model = "opneai:x"', ["line 1: `model` cannot be asked", "openai"]),
    ('stream_parser = "xlm"', ["line 1: `stream_parser` cannot be used", "xml"]),
    ('chat.theme = "drak"', ["line 1: `chat.theme` is no theme", "nord"]),
    ('[providers.wrok]\nmodel = "x"', ["line 1: `providers.wrok` is no provider that is known", "base_url"]),
    ('[providers.opneai]\nmodel = "x"', ["Did you mean openai?"]),
    (
        '[providers.work]\nbase_url = "https://x.example"\nlike = "antropic"',
        ["line 3: `providers.work.like` is no provider", "Did you mean anthropic?"],
    ),
    ('[providers.openai]\nlike = "anthropic"', ["line 2: `providers.openai.like` is for services of your own"]),
    ('[providers.local]\nbase_url = "http://x.example"', ["line 1: `providers.local` has an address"]),
    ('modle = "a"\nretries = "b"\nmode = "c"', ["line 1", "line 2", "line 3"]),
]


@pytest.mark.parametrize(("text", "words"), CHECKED, ids=[each[0][:30] for each in CHECKED])
def test_check_names_the_line(home: Home, text: str, words: list[str]) -> None:
    home.write(text)
    ran = home.run(config.check)
    assert (ran.code, ran.out) == (2, "")
    for each in words:
        assert each in ran.err
    assert ran.err.count("toolwire: ") == max(1, sum(each.startswith("line ") for each in words))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, "no file: 0 settings in force, nothing wrong"),
        ("", ": 0 settings in force, nothing wrong"),
        ('model = "work:x"\nstream_parser = "XML"\n[providers.work]\nbase_url = "https://x.example"', ": 3 settings"),
        ('model = "claude:x"', ": 1 setting in force"),
        ('model = "~/models/tiny.gguf"', ": 1 setting in force"),
        ('chat.theme = "nord"', ": 1 setting in force"),
    ],
)
def test_check_says_that_nothing_is_wrong(home: Home, text: str | None, words: str) -> None:
    if text is not None:
        home.write(text)
    ran = home.run(config.check)
    assert (ran.code, ran.err) == (0, "")
    assert words in ran.out


def test_without_the_extra_for_the_chat_a_theme_is_taken_as_it_is(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "textual.theme", None)
    home.write('chat.theme = "drak"')
    assert home.run(config.check).code == 0


def test_settings_of_a_project_are_not_taken_and_that_is_told(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tmp_path / "project"
    (project / ".toolwire").mkdir(parents=True)
    file = project / ".toolwire" / "config.toml"
    file.write_text('mode = "full"\n[mcp.servers.time]\ncommand = "uvx"\n')
    monkeypatch.chdir(project)
    ran = home.run(config.check)
    assert (ran.code, "no file: 0 settings" in ran.out) == (0, True)
    assert f"{file} has mode, and is not asked" in ran.err
    file.write_text('[mcp.servers.time]\ncommand = "uvx"\n')
    assert home.run(config.check).err == ""


def test_edit_opens_the_file_and_checks_it(home: Home, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    ran = home.run(config.edit)
    assert ran.code == 2
    assert "no editor is set" in ran.err
    editor = tmp_path / "my editor"
    editor.write_text(
        '#!/bin/sh\ngrep -q "#model = " "$2" || exit 3\nprintf \'model = "openai:x"\\nretries = "y"\\n\' > "$2"\n'
    )
    editor.chmod(0o755)
    monkeypatch.setenv("EDITOR", f"'{editor}' --wait")
    ran = home.run(config.edit)
    assert ran.code == 2
    assert "line 2: `retries` is a text" in ran.err
    assert home.path.read_text().startswith('model = "openai:x"')
    # The comments were there for the editor; now they are not, and it says so by its code.
    assert home.run(config.edit).code == 1
    monkeypatch.setenv("VISUAL", "/nonexistent/editor")
    assert "cannot be started" in home.run(config.edit).err


# ---- providers of the settings in the catalog


def test_a_service_of_ones_own_is_asked_as_what_it_is_like(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    home.write(
        '[providers.work]\nbase_url = "https://x.example"\nkey_variable = "WORK_KEY"\nlike = "claude"\nmodel = "big"\n'
        '[providers.lab]\nbase_url = "http://127.0.0.1:9/v1"\n'
    )
    env = {**os.environ, "ANTHROPIC_API_KEY": "not-this", "TOOLWIRE_API_KEY": "nor-this"}
    for name, row in services(load_settings(env)).items():
        monkeypatch.setitem(PROVIDERS, name, row)
    work = resolve("work", {**env, "WORK_KEY": "k"})
    assert (work.provider.wire, work.model, work.url) == ("anthropic", "big", "https://x.example/v1/messages")
    assert work.headers["x-api-key"] == "k"
    assert work.headers["anthropic-version"]
    with pytest.raises(AuthenticationFailed, match="no key for work"):
        resolve("work", env)
    lab = resolve("lab:any/model:7b", env)
    assert (lab.url, lab.model, bool(lab.key)) == ("http://127.0.0.1:9/v1/chat/completions", "any/model:7b", False)
    with pytest.raises(ConfigError, match="which model of lab"):
        resolve("lab", env)


def test_a_provider_of_the_catalog_as_it_is_used_here(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    home.write(
        '[providers.claude]\nmodel = "mine"\n'
        '[providers.openai]\nbase_url = "https://proxy.example/v1"\nkey_variable = "PROXY_KEY"\n'
    )
    rows = services(load_settings(os.environ))
    assert set(rows) == {"anthropic", "openai"}
    assert (rows["anthropic"].default_model, rows["anthropic"].keys) == ("mine", PROVIDERS["anthropic"].keys)
    for name, row in rows.items():
        monkeypatch.setitem(PROVIDERS, name, row)
    made = resolve("openai:x", {"OPENAI_API_KEY": "usual", "PROXY_KEY": "other"})
    assert (made.url, made.key.reveal()) == ("https://proxy.example/v1/chat/completions", "other")
    with pytest.raises(AuthenticationFailed):
        resolve("openai:x", {"OPENAI_API_KEY": "usual"})
    over = resolve("openai:x", {"PROXY_KEY": "k", "OPENAI_BASE_URL": "https://other.example/v1"})
    assert over.base_url == "https://other.example/v1"


def test_a_run_asks_whom_the_settings_name(tmp_path: Path) -> None:
    path = tmp_path / "toolwire" / "config.toml"
    path.parent.mkdir()
    env = {
        "XDG_CONFIG_HOME": str(tmp_path),
        "XDG_STATE_HOME": str(tmp_path),
        "WORK_KEY": "k-123",
        "OPENAI_API_KEY": "no",
    }
    with ModelServer([ANSWER]) as server:
        path.write_text(
            f'model = "work:big"\nsystem = "Be brief."\ntools = "none"\nsessions = false\nroots = ["~/unplugged"]\n'
            f'[providers.work]\nbase_url = "{server.url}"\nkey_variable = "WORK_KEY"\n'
        )
        path.chmod(0o600)
        ran = toolwire_command("run", "Hello", env=env, cwd=tmp_path)
        assert ran.code == 0, ran.err
        assert "/unplugged, which config.toml:5 names in `roots`" in ran.err
        other = toolwire_command("run", "Hello", env={**env, "TOOLWIRE_SYSTEM": "Be long."}, cwd=tmp_path)
        assert other.code == 0, other.err
    first, second = server.requests
    assert (first["model"], first["messages"][0]["content"], first.get("tools")) == ("big", "Be brief.", None)
    assert second["messages"][0]["content"] == "Be long."
    assert [headers["Authorization"] for headers in server.headers] == ["Bearer k-123"] * 2
    path.write_text('model = "work:big"\n\nretires = 1\n')
    ran = toolwire_command("run", "Hello", env=env, cwd=tmp_path)
    assert ran.code == 2
    assert f"{path}, line 3: `retires` is not known" in ran.err
    path.write_text('\nmodel = "wrok:big"\n')
    ran = toolwire_command("run", "Hello", env=env, cwd=tmp_path)
    assert ran.code == 2
    assert f"{path}, line 2: `model` cannot be asked: there is no provider 'wrok'" in ran.err
    assert toolwire_command("config", "path", env=env).out == f"{path}\n"
