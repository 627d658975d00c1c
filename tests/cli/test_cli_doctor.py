"""`toolwire doctor`: what it says of models that answer well or badly, of files and folders, and never says."""

from __future__ import annotations

import json
import os
import socket
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from cli.chat_bytes import call_deltas, sse
from cli.command import toolwire_command
from cli.mcp_home import Home
from cli.model_server import ModelServer
from cli.terminal import Terminal
from toolwire.approval.places import Workspace
from toolwire.cli import doctor_models, doctor_tools
from toolwire.cli.doctor import doctor
from toolwire.cli.doctor_files import files
from toolwire.cli.doctor_findings import Finding, Report, odd, well, wrong
from toolwire.cli.doctor_machine import extras, folders, machine, programs
from toolwire.cli.doctor_models import Asked, ask_all, embedded, keys, whom_to_ask
from toolwire.cli.doctor_reach import where_it_ends
from toolwire.cli.doctor_trial import QUESTION, Trial
from toolwire.cli.faults import guarded
from toolwire.providers.catalog import PROVIDERS
from toolwire.settings.model import Service, Settings

CANARY = "sk-canary-Zq81LmN4vB7xTt02Ww"
GOOD = sse(*call_deltas("report", '{"word": ', '"ready"}'), stop="tool_calls")
IN_TEXT = sse({"content": '<tool_call>\n{"name": "report", "arguments": {"word": "ready"}}\n</tool_call>'})
MALFORMED = sse(*call_deltas("report", '{"word": 7}'), stop="tool_calls")
LONG = sse({"reasoning_content": "Hm, let me think."}, stop="length")
NO_TOOLS = (400, {"error": {"message": "registry.example/tiny does not support tools"}})


@pytest.fixture(autouse=True)
def _bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A machine on which nothing is set up."""
    for name in list(os.environ):
        if name.startswith(("TOOLWIRE_", "XDG_", "AWS_", "GOOGLE_", "SSL_")) or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    for row in PROVIDERS.values():
        for name in (*row.keys, *row.base_url_variables):
            monkeypatch.delenv(name, raising=False)
    home = tmp_path / "home"
    project = tmp_path / "project"
    home.mkdir()
    project.mkdir()
    monkeypatch.chdir(project)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("TOOLWIRE_CACHE", str(home / "cache"))
    monkeypatch.setenv("TOOLWIRE_DISCOVER", "0")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("OPENAI_API_KEY", CANARY)


def shown(findings: list[Finding], capfd: pytest.CaptureFixture[str], *, as_json: bool) -> str:
    """What would be printed of them."""
    report = Report(os.environ, json=as_json)
    report.add("Group", findings)
    report.end()
    return capfd.readouterr().out


# ---- models

ANSWERS: dict[str, tuple[list[Any], str, str, str]] = {
    "well": ([GOOD], "well", "a well-formed call came (first bytes after", ""),
    "leaked": ([IN_TEXT], "odd", "in its text, not as data", "api_tool_call+auto"),
    "no call": ([sse({"content": "ready"})], "odd", "without the call", "--stream-parser xml"),
    "malformed": ([MALFORMED], "odd", "not well-formed: the arguments do not fit report", "--repair"),
    "cut": ([LONG], "odd", "cut by the token limit", "toolwire run"),
    "wrong key": (
        [(401, {"error": {"message": f"Incorrect API key provided: {CANARY}."}})],
        "wrong",
        "openai refused the key (401): Incorrect API key provided: ***",
        "Make a new key at OpenAI and put it into OPENAI_API_KEY",
    ),
    "no rights": ([(403, {"error": {"message": "no"}})], "wrong", "refused access (403)", "look at its rights"),
    "no model": (
        [(404, {"error": {"message": "The model `gpt-4.1-mimi` does not exist", "code": "model_not_found"}})],
        "wrong",
        'openai has no model "gpt-4.1-mimi"',
        "It has: openai:gpt-4.1-mini, openai:gpt-4.1.",
    ),
    "no credit": (
        [(429, {"error": {"message": "You exceeded your quota", "code": "insufficient_quota"}})],
        "wrong",
        "You exceeded your quota",
        "Add credit",
    ),
    "payment": ([(402, {"error": {"message": "Insufficient Balance"}})], "wrong", "Insufficient Balance", "Add credit"),
    "slow down": ([(429, {"error": {"message": "Rate limit"}})], "odd", "asks to slow down", "Try again"),
    "failing": ([(503, {"error": {"message": "overloaded"}})], "wrong", "openai failed (503)", "Try again later"),
    "silence": ([None], "wrong", "openai took longer than 0.5 s", "--timeout 120"),
    "garbage": ([b"\xff\xfe no stream at all"], "wrong", "", "does not speak openai-chat"),
    "half": ([GOOD[: len(GOOD) // 2]], "wrong", "broke off", "does not speak openai-chat"),
    "no tools": ([NO_TOOLS, IN_TEXT], "well", "a well-formed call came in its text, in the format", ""),
}


@pytest.mark.parametrize("case", ANSWERS)
async def test_what_a_model_answers_is_told_and_what_to_do(case: str, capfd: pytest.CaptureFixture[str]) -> None:
    answers, state, words, todo = ANSWERS[case]
    with ModelServer(answers, models=["gpt-4.1-mini", "gpt-4.1", "whisper-1"]) as server:
        seconds = 0.5 if case == "silence" else 10.0
        found = await ask_all([Asked("openai:gpt-4.1-mimi", "named", base_url=server.url)], os.environ, seconds)
        [finding] = found
        assert (finding.state, finding.name) == (state, "openai:gpt-4.1-mimi")
        assert words in finding.words
        assert todo in finding.todo
        if case == "no tools":
            assert "report" in json.dumps(server.requests[1]["messages"]), "the second request tells of it in words"
            assert "tools" not in server.requests[1]
        else:
            assert len(server.requests) == 1, "one request, and never a second attempt"
        asked = server.requests[0]
    assert asked["stream"] is True
    assert asked["max_completion_tokens"] <= 1024
    assert asked["messages"][-1]["content"] == QUESTION
    assert [tool["function"]["name"] for tool in asked["tools"]] == ["report"]
    for as_json in (False, True):
        out = shown(found, capfd, as_json=as_json)
        assert finding.words.replace('"', '\\"' if as_json else '"') in out
        assert not any(CANARY[at : at + 8] in out for at in range(len(CANARY) - 7))


async def test_models_are_asked_side_by_side_and_told_in_their_order() -> None:
    with ModelServer([None]) as silent, ModelServer([GOOD]) as quick:
        asked = [Asked(f"openai:{n}", "named", base_url=silent.url) for n in range(4)]
        asked.append(Asked("openai:last", "named", base_url=quick.url))
        found = await ask_all(asked, os.environ, 0.6)
    assert [finding.name for finding in found] == [each.name for each in asked]
    assert [finding.state for finding in found] == [*["wrong"] * 4, "well"]
    assert sum(finding.facts["which"] in ("idle", "total") for finding in found[:4]) == 4


async def test_a_provider_without_a_usual_model_is_only_asked_for_its_list(monkeypatch: pytest.MonkeyPatch) -> None:
    with ModelServer([GOOD], models=["a", "b"]) as server:
        monkeypatch.setenv("TOOLWIRE_BASE_URL", server.url)
        monkeypatch.setenv("TOOLWIRE_API_KEY", CANARY)
        asked, told = whom_to_ask(os.environ, Settings(), [], {})
        found = await ask_all([each for each in asked if each.name == "openai-compatible"], os.environ, 5.0)
    assert (told, server.requests, server.paths) == ([], [], ["/v1/models"])
    assert server.headers[0]["Authorization"] == f"Bearer {CANARY}"
    assert found[0].state == "well"
    assert "lists 2 models (a, b)" in found[0].words
    assert found[0].todo == "To try one: toolwire doctor openai-compatible:MODEL"


def test_only_what_the_person_set_up_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    home = Path(os.environ["HOME"])
    (home / ".aws").mkdir()
    (home / ".aws" / "credentials").write_text("[default]\n")
    monkeypatch.setenv("AWS_REGION", "eu-central-1")
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", CANARY)
    asked, told = whom_to_ask(os.environ, Settings(), [], {"ollama": ["qwen3:4b", "other"], "vllm": []})
    assert [each.name for each in asked] == ["ollama:qwen3:4b", "openai:gpt-4.1-mini"]
    about = {finding.name: finding for finding in told}
    assert about["vllm"].state == "odd"
    assert "AZURE_OPENAI_API_KEY is set, but not AZURE_OPENAI_ENDPOINT" in about["azure"].words
    clouds = [about[name] for name in about if name.startswith("bedrock")]
    assert [each.state for each in clouds] == ["unused"]
    assert "nothing was sent" in clouds[0].words
    assert whom_to_ask(os.environ, Settings(), ["groq:x"], {}) == ([Asked("groq:x", "named")], [])


def test_a_service_of_the_file_without_its_key_is_told_with_the_file() -> None:
    settings = Settings(providers={"groq": Service(model="m")})
    [finding] = whom_to_ask({}, settings, [], {})[1]
    assert finding.words == "it stands in config.toml, but GROQ_API_KEY is not set"
    assert finding.todo == "Set GROQ_API_KEY, or take [providers.groq] out of the file."


def test_the_usual_model_is_asked_at_its_own_address() -> None:
    settings = Settings(model="openai:big", base_url="http://127.0.0.1:9/v1")
    asked, _ = whom_to_ask(os.environ, settings, [], {})
    assert asked[0] == Asked("openai:big", "your usual model", base_url="http://127.0.0.1:9/v1")
    assert [each.name for each in asked] == ["openai:big"], "and no other of the same provider, which would cost twice"
    assert whom_to_ask({}, Settings(model="local"), [], {}) == ([], [])


def test_a_usual_model_that_there_is_not_hides_no_other() -> None:
    asked, told = whom_to_ask(os.environ, Settings(model="opnai:big"), [], {})
    assert ([each.name for each in asked], told) == (["openai:gpt-4.1-mini"], [])


def test_what_config_check_finds_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    folder = Path(os.environ["HOME"], ".config", "toolwire")
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text('model = "opnai:x"\nstream_parser = "xlm"\nchat.theme = "nrd"\n')
    faults = [each for each in files(os.environ, Workspace.here()) if each.name == "config.toml"]
    assert [each.state for each in faults] == ["wrong"] * 3
    for line, fault in enumerate(faults, 1):
        assert f"config.toml, line {line}: `" in fault.words


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (CANARY, "is set, for openai, openai-responses"),
        (f"{CANARY}\n", "is set, for openai"),
        ("  ", "is set, but empty"),
        (f'"{CANARY}"', "quotation marks"),
        (f"{CANARY} {CANARY}", "blanks or line breaks"),
        (f"{CANARY}é", "characters that no key has"),
        ("$WORK_SECRET", "placeholder"),
        ("your-api-key", "placeholder"),
    ],
)
def test_of_a_key_only_the_name_is_told(value: str, words: str, capfd: pytest.CaptureFixture[str]) -> None:
    [finding] = keys({"OPENAI_API_KEY": value})
    assert finding.name == "OPENAI_API_KEY"
    assert words in finding.words
    assert finding.state == ("well" if words.startswith("is set, for") else "odd")
    out = shown([finding], capfd, as_json=True)
    assert not any(value[at : at + 4] in out for at in range(len(value) - 3))


@contextmanager
def listener() -> Iterator[int]:
    """A port that takes connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


async def test_it_is_found_where_the_way_to_a_server_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    assert await where_it_ends("http://no..such..host/v1") == "name"
    with socket.create_server(("127.0.0.1", 0)) as server:
        closed = server.getsockname()[1]
    assert await where_it_ends(f"http://127.0.0.1:{closed}/v1") == "port"
    with listener() as port:
        assert await where_it_ends(f"http://127.0.0.1:{port}/v1") == "answer"
    with ModelServer([GOOD]) as server_without_tls:
        assert await where_it_ends(server_without_tls.url.replace("http:", "https:")) == "security"
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:3128")
    assert await where_it_ends("https://api.example.com/v1") == "proxy"


async def test_a_server_that_is_not_there_is_told_with_its_variable() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        closed = server.getsockname()[1]
    url = f"http://127.0.0.1:{closed}/v1"
    [finding] = await ask_all([Asked("openai:m", "named", base_url=url)], os.environ, 5.0)
    assert finding.state == "wrong"
    assert "connection refused" in finding.words
    assert finding.todo == "Nothing listens there: start the server, or check the address (OPENAI_BASE_URL)."


async def test_what_cannot_be_asked_at_all_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    [finding] = await ask_all([Asked("groq:x", "named")], os.environ, 5.0)
    assert (finding.state, finding.words) == ("wrong", "no key for Groq")
    assert finding.todo == "Set GROQ_API_KEY in the environment."


async def test_the_embedded_model(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("toolwire.local.library.load_error", lambda: None)
    found = await embedded(5.0)
    assert [(each.name, each.state) for each in found][-1] in (("weights", "unused"), ("engine", "unused"))
    assert "toolwire local install" in found[-1].todo or "toolwire[local]" in found[-1].todo

    async def answered(name: str, **_: Any) -> Trial:
        assert name == "local"
        return Trial(seconds=1.0, calls="native", parser="api_tool_call")

    monkeypatch.setattr(doctor_models, "has_engine", lambda: True)
    monkeypatch.setattr("toolwire.local.weights.installed_weights", lambda **_: tmp_path / "model.gguf")
    monkeypatch.setattr(doctor_models, "try_model", answered)
    found = await embedded(5.0)
    assert [(each.name, each.state) for each in found] == [("engine", "well"), ("weights", "well"), ("a call", "well")]


# ---- the machine


def test_files_are_read_and_their_faults_told(tmp_path: Path) -> None:
    workspace = Workspace.here()
    folder = Path(os.environ["HOME"], ".config", "toolwire")
    assert {each.state for each in files(os.environ, workspace)} == {"unused"}
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text('modle = "openai:x"\n')
    (folder / "policy.toml").write_text('mode = "ask"\n[[rule]]\ndecision = "allow"\n')
    (folder / "always.toml").write_text('[[rule]]\ndecision = "deny"\ntool = "run_command"\n')
    (folder / "mcp.json").write_text("{ no json")
    project = Path.cwd() / ".toolwire"
    project.mkdir()
    (project / "policy.toml").write_text('[[rule]]\ndecision = "deny"\ncommand = "git push *"\n')
    for path in folder.iterdir():
        path.chmod(0o600)
    (folder / "always.toml").chmod(0o666)
    found: dict[str, list[Finding]] = {}
    for each in files(os.environ, workspace):
        found.setdefault(each.name, []).append(each)
    assert "line 1" in found["config.toml"][0].words
    assert "modle" in found["config.toml"][0].words
    assert "it allows everything" in found["policy.toml"][0].words
    assert [each.state for each in found["always.toml"]] == ["well", "wrong"]
    assert "anyone on this machine may write" in found["always.toml"][1].words
    assert found["always.toml"][1].todo.startswith("chmod go-w ")
    assert "1 rule that holds here" in found[".toolwire/policy.toml"][0].words
    assert "mcp.json" in found["MCP files"][0].words


def test_a_service_of_the_persons_own_is_asked_and_its_faults_are_told() -> None:
    folder = Path(os.environ["HOME"], ".config", "toolwire")
    folder.mkdir(parents=True)
    with ModelServer([GOOD]) as server:
        file = folder / "config.toml"
        file.write_text(f'[providers.work]\nbase_url = "{server.url}"\nmodel = "m"\nkey_variable = "WORK_KEY"\n')
        env = {"HOME": os.environ["HOME"], "WORK_KEY": CANARY}
        ran = toolwire_command("doctor", "work:m", "--json", env=env)
        assert server.headers[0]["Authorization"] == f"Bearer {CANARY}"
        file.write_text('[providers.work]\nmodel = "m"\n')
        [fault] = [each for each in files(os.environ, Workspace.here()) if each.name == "config.toml"]
    assert ran.code == 0, ran.err
    assert CANARY not in ran.out + ran.err
    assert [line["state"] for line in ran.lines if line.get("name") == "work:m"] == ["well"]
    assert (fault.state, "has no address" in fault.words) == ("wrong", True)


def test_folders_that_cannot_be_written_are_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    found = {each.name: each for each in folders(os.environ)}
    assert found["state"].state == "wrong"
    assert "is not a folder" in found["state"].words
    assert "XDG_STATE_HOME" in found["state"].todo
    assert found["configuration"].state == "well"
    assert not list(Path(os.environ["HOME"]).iterdir()), "nothing is left behind"


def test_a_broken_store_of_sessions_is_told() -> None:
    path = Path(os.environ["HOME"], ".local", "state", "toolwire", "sessions.db")
    path.parent.mkdir(parents=True, mode=0o700)
    path.write_bytes(b"no database " * 100)
    found = {each.name: each for each in folders(os.environ)}
    assert found["sessions"].state == "wrong"
    assert found["sessions"].todo


def test_the_way_out_and_programs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HTTPS_PROXY", f"http://me:{CANARY}@proxy.example:3128")
    monkeypatch.setenv("HTTP_PROXY", "socks5://127.0.0.1:1080")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "missing.pem"))
    found = {each.name: each for each in machine(os.environ, sys.stdout)}
    assert found["HTTPS_PROXY"].words == "requests go through http://proxy.example:3128"
    assert found["HTTP_PROXY"].state == found["SSL_CERT_FILE"].state == "wrong"
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("EDITOR", "nosuch --wait")
    about = {each.name: each for each in programs(os.environ)}
    assert (about["git"].state, about["rg"].state, about["editor"].state) == ("unused", "unused", "odd")


@pytest.mark.parametrize("is_installed", [True, False])
def test_sqlite_is_new_enough_for_durable_runs_or_not(monkeypatch: pytest.MonkeyPatch, is_installed: bool) -> None:
    monkeypatch.setattr("toolwire.cli.doctor_machine.is_installed", lambda _: is_installed)
    found = {each.name: each for each in machine(os.environ, sys.stdout)}
    assert found["SQLite"].state == "well"
    assert found["SQLite"].words == f"{sqlite3.sqlite_version}, new enough for durable runs"
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 34, 1))
    monkeypatch.setattr(sqlite3, "sqlite_version", "3.34.1")
    found = {each.name: each for each in machine(os.environ, sys.stdout)}
    assert found["SQLite"].state == ("odd" if is_installed else "unused")
    assert "3.34.1" in found["SQLite"].words
    assert "PostgreSQL" in found["SQLite"].todo


@pytest.mark.parametrize(
    ("found", "state", "words"),
    [
        (("/bin/bash", "5.2"), "well", "5.2 (/bin/bash)"),
        (("/bin/bash", "3.2"), "odd", "3.2 (/bin/bash): command lines with more than plain words"),
        (("/bin/bash", ""), "odd", "of an unknown version (/bin/bash): command lines with more than plain words"),
        (("", ""), "odd", "not found: command lines with more than plain words"),
    ],
)
def test_a_bash_whose_lines_are_not_understood_is_told(
    found: tuple[str, str], state: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("toolwire.cli.doctor_machine.find_bash", lambda: found)
    told = {each.name: each for each in programs(os.environ)}["bash"]
    assert told.state == state
    assert told.words.startswith(words)
    assert bool(told.todo) is (state == "odd")


def test_extras_name_the_line_that_installs_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolwire.cli.doctor_machine.is_installed", lambda name: name == "mcp")
    found = {each.name: each for each in extras()}
    assert list(found) == ["chat", "local", "mcp", "durable", "bedrock", "telemetry"]
    assert found["mcp"].state == "well"
    assert found["local"].todo == "pip install 'toolwire[local]'"


async def test_what_runs_for_a_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mcp").mkdir()
    home = Home(tmp_path / "mcp", monkeypatch, capfd)
    home.write_own(good=home.entry(), gone={"command": "/no/such/program"}, off=home.entry(enabled=False))
    home.write_project(theirs=home.entry())
    root = str(home.project)
    found = {each.name: each for each in await doctor_tools.servers(root, 20.0, connect=True)}
    assert {name: each.state for name, each in found.items()} == {"theirs": "odd", "good": "well", "gone": "wrong"}
    assert "toolwire mcp trust theirs" in found["theirs"].todo
    assert "connected and listed in" in found["good"].words
    assert len(home.lives) == 1, "only the one that may be started was"
    offline = await doctor_tools.servers(root, 20.0, connect=False)
    assert len(home.lives) == 1
    assert [each.state for each in offline] == ["odd", "unused", "unused"]


def test_the_sandbox_is_tried_in_each_kind_of_way() -> None:
    kinds = [escape.kind for escape in doctor_tools.tried()]
    assert set(kinds) == {"network", "write", "read", "process", "privilege"}
    assert len(kinds) == 10


# ---- the whole


@pytest.fixture
def _few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without what takes long, and without the system library of the embedded model's engine: they are tried above."""

    async def held() -> list[Finding]:
        return [well("sandbox", "holds")]

    monkeypatch.setattr("toolwire.cli.doctor.sandbox", held)
    monkeypatch.setattr("toolwire.local.library.load_error", lambda: None)


@pytest.mark.usefixtures("_few")
@pytest.mark.parametrize(("answer", "code"), [(GOOD, 0), (sse({"content": "ready"}), 0), (b"garbage", 1)])
def test_the_exit_code_says_whether_something_is_wrong(
    answer: bytes, code: int, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    with ModelServer([answer]) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        assert guarded(lambda: doctor("openai:m", json=True, timeout=10.0)) == code
    lines = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    assert [line["kind"] for line in lines] == ["finding"] * (len(lines) - 1) + ["verdict"]
    verdict = lines[-1]
    assert verdict["well"] is (code == 0)
    assert verdict["wrong"] == sum(line.get("state") == "wrong" for line in lines)
    groups = dict.fromkeys(line["group"] for line in lines[:-1])
    assert {"Python and platform", "Extras", "Files", "Folders", "Keys", "Providers", "Sandbox"} <= set(groups)
    assert "Embedded model" not in groups, "another one was named"


@pytest.mark.usefixtures("_few")
def test_offline_asks_nobody(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    with ModelServer([GOOD]) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        assert guarded(lambda: doctor(offline=True)) == 0
        assert (server.requests, server.paths) == ([], [])
    out, err = capfd.readouterr()
    assert "  – openai:gpt-4.1-mini: OPENAI_API_KEY is set; not asked (--offline)\n" in out
    assert err == ""
    assert str(Path(os.environ["HOME"])) not in out
    assert "\x1b" not in out


@pytest.mark.usefixtures("_few")
def test_it_says_before_that_it_costs_something(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        closed = server.getsockname()[1]
    # An address that is no loopback one by its words, and reaches nobody.
    monkeypatch.setenv("OPENAI_BASE_URL", f"http://0.0.0.0:{closed}/v1")
    assert guarded(lambda: doctor(timeout=5.0)) == 1
    assert capfd.readouterr().err == (
        "toolwire: asking openai:gpt-4.1-mini for one tiny call, which costs a few hundred tokens\n"
        "  To ask nobody: toolwire doctor --offline\n"
    )


@pytest.mark.usefixtures("_few")
def test_a_check_that_fails_by_a_bug_keeps_none_of_the_others(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("toolwire.cli.doctor.extras", lambda: [][1])
    assert guarded(lambda: doctor(offline=True)) == 1
    out = capfd.readouterr().out
    assert "Extras\n  ✗ this check: failed by a bug in Toolwire: IndexError" in out
    assert "\n1 thing wrong.\n" in out


@pytest.mark.parametrize(("names", "timeout"), [(["nosuch:model"], 5.0), (["openai"], 0.0)])
def test_what_is_asked_for_wrongly(names: list[str], timeout: float, capfd: pytest.CaptureFixture[str]) -> None:
    assert guarded(lambda: doctor(*names, timeout=timeout)) == 2
    assert capfd.readouterr().out == ""


def test_hostile_words_are_shown_and_not_obeyed(capfd: pytest.CaptureFixture[str]) -> None:
    found = [odd("x", "a\x1b[2Jb\nc\u202e", "[bold]do[/bold]"), wrong("y", f"key {CANARY}"), well("z", "w" * 5000)]
    out = shown(found, capfd, as_json=False)
    assert "\x1b" not in out
    assert "a␛[2Jb c<U+202E>" in out
    assert "[bold]do[/bold]" in out
    assert CANARY not in out
    assert len(out) < 2000


def test_a_key_is_hidden_whatever_its_variable_is_called(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    row = msgspec.structs.replace(PROVIDERS["openai"], keys=("WORK_WORDS",))
    monkeypatch.setitem(PROVIDERS, "openai", row)
    monkeypatch.setenv("WORK_WORDS", "correct horse battery")
    monkeypatch.setenv("OLLAMA_API_KEY", "ollama")
    out = shown([odd("ollama", "said: correct horse battery")], capfd, as_json=True)
    assert "horse" not in out
    assert '"name":"ollama"' in out, "a word that stands in for a key is no secret"


def test_on_a_terminal_it_fits_and_says_what_it_waits_for(tmp_path: Path) -> None:
    program = tmp_path / "doctor.py"
    program.write_text(
        "import sys\nfrom toolwire.cli.doctor import doctor\nsys.exit(doctor('openai:m', timeout=1.0))\n"
    )
    with ModelServer([None]) as server:
        env = {"OPENAI_API_KEY": CANARY, "OPENAI_BASE_URL": server.url, "COLUMNS": "60", "HOME": str(tmp_path)}
        with Terminal(env=env, program=program) as terminal:
            before = terminal.wait_for("looking at ")
            screen = before + terminal.wait_for("1 thing wrong")
            assert terminal.end() == 1
    assert CANARY not in screen
    lines = [line for line in screen.replace("\r", "").split("\n") if "\x1b" not in line]
    assert max(map(len, lines)) <= 60
    assert any(line.startswith("    → ") for line in lines)
    assert "UTF-8" in screen
