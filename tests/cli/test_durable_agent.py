"""What a run out of a database may have of a worker: no more than its own person allows."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from toolwire import tool
from toolwire.agent.bounds import Bounds
from toolwire.agent.events import RunFinished
from toolwire.agent.loop import Agent
from toolwire.approval.files import policy_paths
from toolwire.approval.places import Workspace
from toolwire.approval.policy import Mode
from toolwire.approval.request import Answer, ApprovalRequest
from toolwire.approval.rules import Decision, Rule
from toolwire.cli.assembly import Options
from toolwire.cli.durable_agent import WorkerAgent, read_options
from toolwire.cli.mcp_servers import RunServers, servers_for_run
from toolwire.durable.records import RunSpec
from toolwire.errors import ConfigError
from toolwire.messages import user
from toolwire.testing import ScriptedModel, call, say
from toolwire.tools.function import as_definition
from toolwire.transport import HttpRequest, Transport

THERE = "http://127.0.0.1:9/v1"


@tool(risk="read")
def own_tool() -> str:
    """A tool of the worker's person."""
    return "own"


class Person:
    def __init__(self) -> None:
        self.asked: list[ApprovalRequest] = []

    async def __call__(self, request: ApprovalRequest) -> Answer:
        self.asked.append(request)
        return Answer(allowed=False, reason="not now")

    async def ask_person(self, question: str, options: object) -> str:
        return "blue"


class Place:
    """What a worker gives to an agent, with a model that is scripted."""

    def __init__(self, *answers: Any) -> None:
        self.run = "r-1"
        self.steps = None
        self.person = Person()
        self.requests: list[HttpRequest] = []
        self._model = ScriptedModel(answers or [say("Done.")])

    def transport(self, inner: Transport) -> Transport:
        place = self

        class Heard:
            async def stream(self, request: HttpRequest) -> AsyncGenerator[bytes, None]:
                place.requests.append(request)
                async for data in place._model.stream(request):
                    yield data

            async def aclose(self) -> None:
                await inner.aclose()

        return Heard()


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("ANTHROPIC_API_KEY", "key-of-anthropic")
    monkeypatch.setenv("OPENAI_API_KEY", "key-of-openai")
    monkeypatch.delenv("TOOLWIRE_MODEL", raising=False)
    (tmp_path / "work").mkdir()
    return tmp_path


def offered(
    home: Path,
    *,
    base_url: str | None = THERE,
    ceilings: tuple[str, ...] = (),
    starts_agents: bool = False,
    model: str = "openai:gpt-own",
    **options: Any,
) -> WorkerAgent:
    return WorkerAgent(
        Options(**{"no_mcp": True, **options}),
        model,
        base_url,
        workspace=Workspace(str(home / "work")),
        files=policy_paths(os.environ),
        tools=[as_definition(own_tool)],
        rules=[Rule(decision=Decision.DENY, tool=("fetch_url",), source="--deny")],
        ceilings=frozenset(ceilings),
        starts_agents=starts_agents,
    )


def spec(bounds: Bounds | None = None, **options: Any) -> RunSpec:
    return RunSpec(prompt=user("Do it."), options=options, bounds=bounds)


def made(worker: WorkerAgent, wanted: RunSpec, place: Place | None = None) -> Agent:
    return worker.make(wanted, place or Place())  # type: ignore[arg-type]


def names(agent: Agent) -> set[str]:
    return {each.name for each in agent.tools}


NOT_OPTIONS: list[tuple[dict[str, Any], str]] = [
    ({"modle": "x"}, "Did you mean `model`?"),
    ({"file": "tools.py"}, "There are model"),
    ({"mcp": ["time"]}, "There are model"),
    ({"sandbox": False}, "There are model"),
    ({"workspace": "/"}, "There are model"),
    ({"allow": ["run_bash"]}, "There are model"),
    ({"api_key": "x"}, "There are model"),
    ({"model": 5}, "toolwire runs submit --help"),
    ({"mode": "yolo"}, "toolwire runs submit --help"),
    ({"tools": "all"}, "toolwire runs submit --help"),
    ({"max_turns": 0}, "toolwire runs submit --help"),
    ({"system": "x" * 200_000}, "toolwire runs submit --help"),
    ({"model": "x" * 1_000}, "toolwire runs submit --help"),
]


@pytest.mark.parametrize(("options", "hint"), NOT_OPTIONS)
def test_what_is_no_option_is_refused(options: dict[str, Any], hint: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_options(options)
    assert hint in caught.value.hint
    assert len(caught.value.message) < 300


def test_a_run_that_says_nothing_has_what_the_worker_offers(home: Path) -> None:
    agent = made(offered(home, bounds=Bounds(turns=7, seconds=60.0)), spec())
    assert agent.policy.mode is Mode.ASK
    assert {"own_tool", "write_file", "run_bash"} <= names(agent)
    assert agent.spent.bounds == Bounds(turns=7)
    assert [rule.source for rule in agent.policy.rules if rule.source.startswith("--")] == ["--deny"]


def test_a_run_starts_others_only_where_the_worker_lets_it(home: Path) -> None:
    assert "start_agents" not in names(made(offered(home), spec()))
    assert "start_agents" in names(made(offered(home, starts_agents=True), spec()))
    assert "start_agents" not in names(made(offered(home, starts_agents=True), spec(tools="none")))


MODES = [
    # The worker's own, its policy file's, the project's, the run's, and what holds.
    (None, "", "", "read-only", "read-only"),
    (None, "", "", "ask", "ask"),
    (None, "", "", "auto-edit", None),
    (None, "auto-edit", "", "auto-edit", "auto-edit"),
    (None, "auto-edit", "", "full", None),
    ("full", "", "", "auto-edit", "auto-edit"),
    ("full", "", "ask", "full", "ask"),
    ("full", "", "auto-edit", "read-only", "read-only"),
    ("full", "", "", "", "full"),
    ("ask", "full", "", "full", None),
    ("read-only", "", "", "ask", None),
]


@pytest.mark.parametrize(("own", "file", "project", "wanted", "holds"), MODES)
def test_a_run_can_only_narrow_the_mode(
    home: Path, own: str | None, file: str, project: str, wanted: str, holds: str | None
) -> None:
    for folder, mode in ((home / "config" / "toolwire", file), (home / "work" / ".toolwire", project)):
        if mode:
            folder.mkdir(parents=True)
            (folder / "policy.toml").write_text(f'mode = "{mode}"\n')
    worker = offered(home, mode=own)
    run = spec(mode=wanted) if wanted else spec()
    if holds is None:
        with pytest.raises(ConfigError, match="this worker's is") as caught:
            made(worker, run)
        assert "--mode" in caught.value.hint
    else:
        assert made(worker, run).policy.mode == holds


def test_rules_are_read_for_each_run(home: Path) -> None:
    worker = offered(home)
    assert not [rule for rule in made(worker, spec()).policy.rules if rule.decision is Decision.ALLOW]
    (home / "config" / "toolwire").mkdir(parents=True)
    (home / "config" / "toolwire" / "policy.toml").write_text(
        '[[rule]]\ndecision = "allow"\ntool = "run_bash"\ncommand = "git status"\n'
    )
    assert [rule for rule in made(worker, spec()).policy.rules if rule.decision is Decision.ALLOW]
    (home / "config" / "toolwire" / "policy.toml").write_text("nonsense")
    with pytest.raises(ConfigError):
        made(worker, spec())


TOOLS = [
    ({}, {"tools": "none"}, set()),
    ({}, {"tools": "demo"}, {"own_tool", "calculate"}),
    ({"tools": "demo"}, {}, {"own_tool", "calculate"}),
    ({"tools": "demo"}, {"tools": "builtin"}, None),
    ({"no_tools": True}, {}, {"own_tool"}),
    ({"no_tools": True}, {"tools": "demo"}, None),
    ({"no_tools": True}, {"tools": "none"}, set()),
]


@pytest.mark.parametrize(("own", "wanted", "has"), TOOLS)
def test_a_run_has_no_more_tools_than_the_worker(
    home: Path, own: dict[str, Any], wanted: dict[str, Any], has: set[str] | None
) -> None:
    worker = offered(home, **own)
    if has is None:
        with pytest.raises(ConfigError, match="this worker offers"):
            made(worker, spec(**wanted))
        return
    found = names(made(worker, spec(**wanted)))
    assert found >= has
    assert "write_file" not in found
    assert found == has or "calculate" in has


def test_what_is_usual_for_the_model_of_a_run_is_not_more_than_what_the_worker_has(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker of the embedded model has the harmless tools alone, and no servers, whatever a run asks."""
    wanted_servers: list[bool] = []

    def watched(*arguments: Any, **more: Any) -> RunServers:
        wanted_servers.append(more["wanted"])
        return servers_for_run(*arguments, **more)

    monkeypatch.setattr("toolwire.cli.assembly.servers_for_run", watched)
    worker = offered(home, base_url=None, no_mcp=False, model="local:smollm2-135m")
    with pytest.raises(ConfigError, match="this worker offers demo"):
        made(worker, spec(tools="builtin"))
    other: dict[str, Any] = {"model": "openai:gpt-other"}
    for options in ({}, other):
        found = names(made(worker, spec(**options)))
        assert "calculate" in found
        assert "write_file" not in found
    assert wanted_servers == [False, False]
    own = offered(home, base_url=None)
    assert "write_file" in names(made(own, spec()))
    assert "write_file" not in names(made(own, spec(model="local:smollm2-135m")))


BOUNDS = [
    # The worker's ceilings, what the run says, and the turns and tokens that hold.
    ((), {}, None, (7, 100)),
    ((), {"max_turns": 90, "max_tokens": 500}, None, (90, 500)),
    (("turns", "tokens"), {"max_turns": 3}, None, (3, 100)),
    (("turns",), {"max_turns": 8}, None, None),
    (("tokens",), {"max_turns": 8}, None, (8, 100)),
    (("turns",), {}, Bounds(turns=8), None),
    (("turns", "tokens"), {}, Bounds(turns=2), (2, 100)),
    (("tokens",), {}, Bounds(tokens=101), None),
]


@pytest.mark.parametrize(("ceilings", "options", "bounds", "holds"), BOUNDS)
def test_a_run_goes_beyond_no_bound_that_was_set(
    home: Path,
    ceilings: tuple[str, ...],
    options: dict[str, Any],
    bounds: Bounds | None,
    holds: tuple[int, int] | None,
) -> None:
    worker = offered(home, bounds=Bounds(turns=7, tokens=100), ceilings=ceilings)
    if holds is None:
        with pytest.raises(ConfigError, match="lets none have more"):
            made(worker, spec(bounds, **options))
        return
    agent = made(worker, spec(bounds, **options))
    assert (agent.spent.bounds.turns, agent.spent.bounds.tokens) == holds


ADDRESSES = [
    # What the run says, and where the request goes with which key; None: it is refused.
    ({}, THERE, "key-of-openai"),
    ({"base_url": THERE}, THERE, "key-of-openai"),
    ({"model": "openai:gpt-other"}, THERE, "key-of-openai"),
    ({"model": "anthropic:claude"}, "https://api.anthropic.com", "key-of-anthropic"),
    ({"base_url": "http://127.0.0.1:10/v1"}, None, "keys would go there"),
    ({"base_url": THERE + "/"}, None, "keys would go there"),
    ({"base_url": THERE.upper()}, None, "keys would go there"),
    ({"model": "anthropic:claude", "base_url": THERE}, None, "is not for anthropic"),
    ({"model": "anthropic:claude", "base_url": "https://api.anthropic.com"}, None, "keys would go there"),
    ({"model": "/home/me/evil.gguf"}, None, "a file of weights"),
    ({"model": "local:/etc/passwd"}, None, "a file of weights"),
    ({"model": "nowhere:x"}, None, ""),
]


@pytest.mark.parametrize(("options", "where", "words"), ADDRESSES)
async def test_keys_go_where_the_worker_says_and_nowhere_else(
    home: Path, options: dict[str, Any], where: str | None, words: str
) -> None:
    place = Place()
    if where is None:
        with pytest.raises(ConfigError) as caught:
            made(offered(home), spec(**options), place)
        assert words in caught.value.message
        assert caught.value.hint
        return
    async with made(offered(home), spec(**options), place) as agent:
        end = [event async for event in agent.run("Do it.")][-1]
    assert isinstance(end, RunFinished)
    [request] = place.requests
    assert request.url.startswith(where)
    assert any(words in value for value in request.headers.values())


async def test_what_would_be_asked_goes_to_whoever_answers_and_is_written_down(home: Path) -> None:
    place = Place(call("write_file", path="a.txt", content="x"), call("own_tool"), say("Well."))
    async with made(offered(home), spec(system="Be brief."), place) as agent:
        end = [event async for event in agent.run("Do it.")][-1]
        assert agent.messages[0].text == "Be brief."
    assert isinstance(end, RunFinished)
    assert [request.invocation.tool_name for request in place.person.asked] == ["write_file"]
    assert not (home / "work" / "a.txt").exists()
    assert "not now" in (home / "state" / "toolwire" / "audit.jsonl").read_text()


def test_a_login_opens_no_browser_where_nobody_sits(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[dict[str, Any]] = []

    def watched(*arguments: Any, **more: Any) -> RunServers:
        seen.append(more)
        return servers_for_run(*arguments, **more)

    monkeypatch.setattr("toolwire.cli.assembly.servers_for_run", watched)
    made(offered(home, no_mcp=False, mcp_config=()), spec())
    assert [(more["person"], more["wanted"], more["fill_in"]) for more in seen] == [(False, True, None)]
    made(offered(home, no_mcp=False), spec(tools="none"))
    assert not seen[-1]["wanted"]


def test_what_is_offered_can_be_told(home: Path) -> None:
    told = offered(home).offered()
    assert told.words == "gpt-own from OpenAI, at http://127.0.0.1:9/v1"
    assert any("own_tool" in line for line in told.tool_words)
    assert told.policy.mode is Mode.ASK
