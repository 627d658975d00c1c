"""A missing extra: every way to reach it says exactly what to install."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import tomllib
from pathlib import Path

import pytest

from cli.command import clean_environment
from cli.terminal import Terminal
from toolwire import extras
from toolwire.cli.demo import chat_command
from toolwire.cli.faults import say
from toolwire.errors import ConfigError, LocalModelError, ToolwireError
from toolwire.extras import EXTRAS, MUSL_NOTE, command_once, install_command, is_installed, missing_extra, require

ROOT = Path(__file__).parents[1]
BLOCKER = """
import sys
class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {names!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Blocker())
"""
OTHERS = "Or set a provider's key, such as ANTHROPIC_API_KEY, or start Ollama; toolwire providers lists them all."
CATCH = """
from toolwire.errors import ToolwireError
try:
{body}
except ToolwireError as error:
    print(error.message, "|", error.hint)
"""
LOCAL = """
import asyncio, os
from toolwire.local.engine import LocalModel
asyncio.run(LocalModel(os.environ["HOME"] + "/model.gguf").start())
"""
BEDROCK = """
import asyncio
from toolwire.signing import AwsSigner
asyncio.run(AwsSigner("us-east-1").prepare())
"""
SERVERS = 'import toolwire; toolwire.McpServers([toolwire.ServerConfig(name="x", command="x")])'


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Of a process that finds none of the extras' packages, as after `pip install toolwire`."""
    names = {module.split(".")[0] for extra in EXTRAS.values() for module in extra.modules}
    folder = tmp_path / "blocked"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(BLOCKER.format(names=names))
    found = clean_environment({"HOME": str(tmp_path), "TOOLWIRE_CACHE": str(tmp_path)})
    found["PYTHONPATH"] = f"{folder}{os.pathsep}{found['PYTHONPATH']}"
    return found


def ran(environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments], env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL
    )


@pytest.mark.parametrize(
    ("arguments", "sentence", "hint", "code"),
    [
        (
            ["run", "Hi"],
            "no model was chosen, and the embedded model is not installed",
            f"Install it: pip install 'toolwire[local]'\n  {OTHERS}",
            1,
        ),
        (
            ["run", "Hi", "--model", "local"],
            "the embedded model needs xllamacpp, which is not installed",
            "Install it: pip install 'toolwire[local]'",
            1,
        ),
        (
            ["mcp", "serve"],
            "MCP needs the package mcp, which is not installed",
            "Install it: pip install 'toolwire[mcp]'",
            2,
        ),
        (
            ["worker"],
            "durable runs need DBOS, which is not installed",
            "Install it: pip install 'toolwire[durable]'",
            2,
        ),
        (
            ["runs", "list"],
            "durable runs need DBOS, which is not installed",
            "Install it: pip install 'toolwire[durable]'",
            2,
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_a_command_says_what_to_install(
    environment: dict[str, str], arguments: list[str], sentence: str, hint: str, code: int
) -> None:
    done = ran(environment, "-m", "toolwire", *arguments)
    assert done.stderr == f"toolwire: {sentence}\n  {hint}\n"
    assert done.returncode == code


def test_a_bare_chat_names_both_extras_and_the_other_models(environment: dict[str, str]) -> None:
    with Terminal("chat", env=environment) as terminal:
        assert terminal.end() == 1
        assert terminal.screen.splitlines() == [
            "toolwire: no model was chosen, and the embedded model is not installed",
            "  Install it: pip install 'toolwire[chat,local]'",
            f"  {OTHERS}",
        ]


def test_a_chat_without_textual_says_so_and_goes_on_in_plain_lines(environment: dict[str, str]) -> None:
    with Terminal("chat", "--model", "openai:m", env=environment | {"OPENAI_API_KEY": "k"}) as terminal:
        terminal.wait_for("the full-screen chat needs Textual, which is not installed")
        terminal.wait_for("Install it: pip install 'toolwire[chat]'")
        terminal.wait_for("Ctrl-D ends.")


def test_doctor_names_the_command_for_every_extra(environment: dict[str, str]) -> None:
    said = ran(environment, "-m", "toolwire", "doctor", "--offline").stdout
    for name in EXTRAS:
        assert f"\n      pip install 'toolwire[{name}]'\n" in said


def test_the_status_of_the_embedded_model_names_the_command(environment: dict[str, str]) -> None:
    done = ran(environment, "-m", "toolwire", "local", "status")
    assert done.stdout.splitlines()[0] == "engine   not installed (pip install 'toolwire[local]')"
    assert done.returncode == 1


def test_the_commands_that_need_no_extra_work(environment: dict[str, str]) -> None:
    for arguments in (["--help"], ["--version"], ["mcp", "list"], ["providers"], ["formats"], ["local", "--help"]):
        done = ran(environment, "-m", "toolwire", *arguments)
        assert (done.returncode, "not installed" in done.stderr) == (0, False), arguments
    assert (
        ran(environment, "-c", "import toolwire; [getattr(toolwire, name) for name in toolwire.__all__]").stderr == ""
    )


@pytest.mark.parametrize(
    ("name", "program"),
    [
        ("local", LOCAL),
        ("bedrock", BEDROCK),
        ("mcp", SERVERS),
        ("durable", "from toolwire.durable import Runs"),
        ("durable", "import toolwire.durable; toolwire.durable.Rate"),
        ("telemetry", "from toolwire.telemetry import OpenTelemetry; OpenTelemetry()"),
    ],
)
def test_the_library_says_what_to_install(environment: dict[str, str], name: str, program: str) -> None:
    Path(environment["HOME"], "model.gguf").write_bytes(b"GGUF")
    body = textwrap.indent(program.strip(), "    ")
    done = ran(environment, "-c", CATCH.format(body=body))
    assert done.stderr == ""
    assert f"{EXTRAS[name].needs}, which is not installed | Install it: pip install 'toolwire[{name}]'" in done.stdout


def test_a_traceback_says_what_to_install_too(environment: dict[str, str]) -> None:
    done = ran(environment, "-c", "from toolwire.durable import Runs")
    assert done.stderr.splitlines()[-2:] == [
        "toolwire.errors.ConfigError: durable runs need DBOS, which is not installed",
        "Install it: pip install 'toolwire[durable]'",
    ]
    # The failed import of the package itself is of no use to anyone.
    assert "ModuleNotFoundError" not in done.stderr


def test_the_extras_are_those_of_the_package() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert declared.pop("all") == [f"toolwire[{','.join(sorted(EXTRAS, key=list(EXTRAS).index))}]"]
    assert sorted(declared) == sorted(EXTRAS)
    for name, extra in EXTRAS.items():
        assert any(each.startswith(extra.package) for each in declared[name])


@pytest.mark.parametrize(
    ("markers", "folder", "command"),
    [
        ([], "some/venv", "pip install 'toolwire[mcp]'"),
        ([], "uv/archive-v0/abc", "uvx --from 'toolwire[chat,mcp]' toolwire"),
        (["uv-receipt.toml"], "uv/tools/toolwire", "uv tool install 'toolwire[chat,mcp]'"),
        (["pipx_metadata.json"], "pipx/venvs/toolwire", "pipx install --force 'toolwire[chat,mcp]'"),
        (["pipx_metadata.json"], "pipx/.cache/abc", "pipx run --spec 'toolwire[chat,mcp]' toolwire"),
    ],
    ids=["pip", "uvx", "uv tool", "pipx", "pipx run"],
)
def test_the_command_fits_how_toolwire_was_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, markers: list[str], folder: str, command: str
) -> None:
    """uv and pipx rebuild the environment, so what is installed already (chat, here) is named again."""
    monkeypatch.setattr(extras, "is_installed", lambda name: name == "chat")
    prefix = tmp_path / folder
    prefix.mkdir(parents=True)
    for marker in markers:
        (prefix / marker).touch()
    assert install_command("mcp", prefix=prefix) == command


def test_the_command_to_run_again_has_its_subcommand_but_no_arguments(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extras, "is_installed", lambda name: False)
    prefix = tmp_path / "archive-v0" / "abc"
    for arguments, shown in (
        (["chat"], "toolwire chat"),
        (["mcp", "serve", "--http", "80"], "toolwire mcp serve"),
        (["run", "What time is it?"], "toolwire run"),
        (["run", "--quiet", "hello"], "toolwire run"),
    ):
        monkeypatch.setattr(sys, "argv", ["/somewhere/bin/toolwire", *arguments])
        assert install_command("chat", "local", prefix=prefix) == f"uvx --from 'toolwire[chat,local]' {shown}"
    monkeypatch.setattr(sys, "argv", ["program.py", "chat"])
    assert install_command("local", prefix=prefix) == "uvx --from 'toolwire[local]' toolwire"


def test_another_command_in_a_temporary_environment_is_named_with_what_made_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """uvx puts `toolwire` on the PATH of its child, but not on the person's."""
    monkeypatch.setattr(extras, "is_installed", lambda name: name == "local")
    chat = command_once("toolwire chat", "chat", prefix=tmp_path / "archive-v0" / "abc")
    assert chat == "uvx --from 'toolwire[chat,local]' toolwire chat"
    assert command_once("toolwire chat", "chat", prefix=tmp_path / "venv") == ""


def test_the_demo_names_a_command_that_the_person_can_type(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "is_installed", lambda name: name == "local")
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "archive-v0" / "abc"))
    assert chat_command() == "uvx --from 'toolwire[chat,local]' toolwire chat"
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "venv"))
    for found, started_as, shown in (
        ("/usr/bin/toolwire", "toolwire", "toolwire chat"),
        (None, ".venv/bin/toolwire", ".venv/bin/toolwire chat"),
        (None, "/home/me/two words/toolwire", "'/home/me/two words/toolwire' chat"),
        (None, "src/toolwire/__main__.py", "python -m toolwire chat"),
    ):
        monkeypatch.setattr("shutil.which", lambda name, found=found: found)
        monkeypatch.setattr(sys, "argv", [started_as])
        assert chat_command() == shown


def test_a_missing_extra_is_a_fact_of_the_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "is_installed", lambda name: False)
    with pytest.raises(ConfigError) as caught:
        require("mcp")
    assert caught.value.extra == "mcp"
    error: ToolwireError = missing_extra("bedrock", instead="or set a key.", provider="bedrock")
    assert (error.facts, error.hint) == (
        {"extra": "bedrock", "provider": "bedrock"},
        "Install it: pip install 'toolwire[bedrock]'; or set a key.",
    )
    assert isinstance(missing_extra("local", LocalModelError), LocalModelError)


def test_on_musl_the_embedded_model_says_that_there_are_no_wheels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "is_musl", lambda: True)
    assert missing_extra("local").hint.endswith(f". {MUSL_NOTE}")
    assert MUSL_NOTE not in missing_extra("mcp").hint


def test_musl_is_known_by_the_name_of_its_extension_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (
        ("cpython-313-x86_64-linux-musl", True),
        ("cpython-313-x86_64-linux-gnu", False),
        (None, False),
    ):
        monkeypatch.setattr("sysconfig.get_config_var", lambda _, value=name: value)
        assert extras.is_musl() is value


def test_a_package_whose_parent_is_missing_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(EXTRAS, "mcp", EXTRAS["mcp"]._replace(modules=("no_such_parent.child",)))
    assert not is_installed("mcp")


def test_each_line_of_a_hint_is_indented(capsys: pytest.CaptureFixture[str]) -> None:
    say("it is not there", "Do this.\nOr\x1b that.\n")
    assert capsys.readouterr().err == "toolwire: it is not there\n  Do this.\n  Or␛ that.\n"
