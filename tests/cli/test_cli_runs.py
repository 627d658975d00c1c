"""`toolwire runs`: what each command asks of the runs, and what it shows. The runs themselves are a stand-in."""

from __future__ import annotations

import json
import os
import pty
import sys
import threading
import time
from collections.abc import AsyncGenerator, Callable, Iterator
from pathlib import Path
from typing import Any, Self

import msgspec
import pytest

from cli.asking import request
from cli.command import Ran
from toolwire.agent.events import (
    ApprovalAnswered,
    ApprovalAsked,
    RunFinished,
    RunStarted,
    ToolStarted,
    TurnStarted,
)
from toolwire.approval.request import Answer, ApprovalRequest, Scope
from toolwire.chunks import StopReason, TokenUsage
from toolwire.cli.app import run_command
from toolwire.cli.runs_open import seconds_of
from toolwire.durable.records import (
    AttemptWithdrawn,
    Question,
    RunEvent,
    RunInfo,
    RunSpec,
    RunState,
    StepInfo,
    WorkerInfo,
)
from toolwire.errors import ConfigError, DurableFailed, ErrorInfo
from toolwire.messages import Message, TextPart, user
from toolwire.stream.invocation import ToolInvocation
from toolwire.stream.segments import EventType, SegmentEvent, SegmentType

EVIL = "\x1b[2J\u202eevil"
HIDDEN = ("\x1b", "\u202e")


def info(id: str, state: str = "running", **more: Any) -> RunInfo:
    now = time.time()
    return RunInfo(id=id, title="Tidy up", state=RunState(state), agent="toolwire", created=now, updated=now, **more)


class Stand:
    """What is in the database, and what was asked of it."""

    def __init__(self) -> None:
        self.infos: list[RunInfo] = []
        self.waiting: list[Question] = []
        self.told: list[RunEvent] = []
        self.steps: list[StepInfo] = []
        self.workers: list[WorkerInfo] = []
        self.spec = RunSpec(prompt=user("Tidy up."))
        self.done: list[tuple[Any, ...]] = []
        self.urls: list[str | None] = []
        self.fails: dict[str, DurableFailed] = {}
        self.follows: Callable[[], None] = lambda: None


class StandIn:
    """`Runs`, of a `Stand`."""

    stand: Stand

    def __init__(self, url: str | None = None) -> None:
        self.stand.urls.append(url)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.stand.done.append(("closed",))

    async def get(self, id: str) -> RunInfo:
        found = [each for each in self.stand.infos if each.id.startswith(id)]
        if len(found) != 1:
            raise DurableFailed(f"there is no run that begins with {id!r}", hint="toolwire runs list shows them.")
        return found[0]

    async def submit(self, prompt: Any, **given: Any) -> RunInfo:
        self.stand.done.append(("submit", prompt, given))
        made = info(given["id"] or "r-new", "queued", queue=given["queue"])
        self.stand.infos.append(made)
        return made

    async def history(self, id: str) -> tuple[list[Message], int]:
        return [user("Before.")], 3

    async def list(self, **given: Any) -> list[RunInfo]:
        self.stand.done.append(("list", given))
        if given.get("parent") is not None:
            return [each for each in self.stand.infos if each.parent == given["parent"]]
        return self.stand.infos[::-1][: given["limit"]]

    async def spec(self, id: str) -> RunSpec:
        return self.stand.spec

    async def steps(self, id: str) -> Any:
        return self.stand.steps

    async def questions(self, id: str | None = None) -> Any:
        return [each for each in self.stand.waiting if each.run == id]

    async def follow(self, id: str, *, after: int = 0) -> AsyncGenerator[RunEvent, None]:
        for event in self.stand.told:
            if event.position > after:
                yield event
        self.stand.follows()

    async def answer(self, run: str, question: str, answer: Answer | str, *, digest: str | None = None) -> None:
        self.stand.done.append(("answer", run, question, answer, digest))

    async def workers(self) -> Any:
        return self.stand.workers

    async def prune(self, *, older_than: float) -> int:
        self.stand.done.append(("prune", older_than))
        return 2

    def __getattr__(self, name: str) -> Any:
        async def do(id: str, *more: Any) -> RunInfo:
            if id in self.stand.fails:
                raise self.stand.fails[id]
            self.stand.done.append((name, id, *more))
            return info("r-other", "queued") if name in ("fork",) or id == "r-bad" else await self.get(id)

        return do


@pytest.fixture
def stand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stand:
    for name, folder in (("HOME", ""), ("XDG_CONFIG_HOME", "config"), ("XDG_STATE_HOME", "state")):
        monkeypatch.setenv(name, str(tmp_path / folder))
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.delenv("TOOLWIRE_DATABASE", raising=False)
    made = Stand()
    monkeypatch.setattr(StandIn, "stand", made, raising=False)
    monkeypatch.setattr("toolwire.durable.client.Runs", StandIn)
    return made


Command = Callable[..., Ran]


@pytest.fixture
def runs(stand: Stand, capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch) -> Command:
    """Runs a command in this process, with nobody at a terminal."""

    def run(*words: str) -> Ran:
        if isinstance(sys.stdin, _Typing):
            code = run_command(["runs", *words])
        else:
            with _Typing(os.open(os.devnull, os.O_RDONLY)) as nothing, monkeypatch.context() as patch:
                patch.setattr(sys, "stdin", nothing)
                code = run_command(["runs", *words])
        sys.stdout.flush()
        out, err = capfdbinary.readouterr()
        return Ran(code, out.decode(), err.decode())

    return run


def question(id: str = "c1", run: str = "r-1", asked: ApprovalRequest | None = None, **more: Any) -> Question:
    call = asked or request({"command": "ls"}, name="run_bash", offers=["run_bash: ls", "run_bash: ls *"])
    given = None if "question" in more else msgspec.structs.replace(call, id=id, digest=f"digest of {id}")
    return Question(run=run, id=id, turn=1, digest=f"digest of {id}", asked=time.time(), request=given, **more)


# Which database.


def test_the_database_is_the_options_the_environments_or_the_files(
    runs: Command, stand: Stand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs("list")
    (tmp_path / "config" / "toolwire").mkdir(parents=True)
    (tmp_path / "config" / "toolwire" / "config.toml").write_text('database = "sqlite:////home/me/file.db"')
    runs("list")
    monkeypatch.setenv("TOOLWIRE_DATABASE", "sqlite:////home/me/variable.db")
    runs("list")
    runs("list", "--database", "postgresql://me:passw0rd@db.example/runs")
    assert stand.urls == [
        None,
        "sqlite:////home/me/file.db",
        "sqlite:////home/me/variable.db",
        "postgresql://me:passw0rd@db.example/runs",
    ]
    ran = runs("list", "--database", "mysql://me:passw0rd@db.example/runs")
    assert ran.code == 2
    assert "--database is no address of a database" in ran.err
    assert "passw0rd" not in ran.err


def test_without_the_extra_one_line_says_what_to_install(runs: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib.util

    real = importlib.util.find_spec
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == "dbos" else real(name))
    for words in (("list",), ("submit", "Hello"), ("approve", "r-1")):
        ran = runs(*words)
        assert ran.code == 2
        assert ran.err.splitlines()[-2:] == [
            "toolwire: durable runs need DBOS, which is not installed",
            "  Install it: pip install 'toolwire[durable]'",
        ]
    assert run_command(["worker"]) == 2


# To list and to show.


def test_the_list_has_the_newest_last(runs: Command, stand: Stand) -> None:
    stand.infos = [info("r-1", "finished", turns=2), info("r-2", "waiting", turns=1, questions=2)]
    stand.infos.append(msgspec.structs.replace(info("r-3"), title=EVIL, created=time.time() - 7300))
    ran = runs("list")
    assert ran.out.splitlines() == [
        "r-1  finished  0 s  2 turns               Tidy up",
        "r-2  waiting   0 s  1 turn   2 to answer  Tidy up",
        "r-3  running   2 h  0 turns               ␛[2J<U+202E>evil",
    ]
    assert stand.done[0] == ("list", {"states": [], "queue": None, "limit": 20})
    assert [row["id"] for row in runs("list", "--json", "--limit", "2").lines] == ["r-2", "r-3"]
    more = runs("list", "--state", "waiting", "--state", "failed", "--queue", "slow", "--limit", "3")
    assert stand.done[-2] == ("list", {"states": ["waiting", "failed"], "queue": "slow", "limit": 3})
    assert "these are the newest 3" in more.err
    stand.infos = []
    assert "there is no such run" in runs("list").err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("list", "--limit", "0"), "--limit 0 is no number of runs"),
        (("list", "--watch"), "--watch is for a terminal"),
        (("follow", "r-1", "--from", "0"), "--from 0 is no event"),
        (("fork", "r-1", "--step", "0"), "--step 0 is no step"),
        (("cancel",), "no run is named"),
        (("prune", "--older-than", "soon"), "--older-than soon is no length of time"),
        (("prune", "--older-than", "30d"), "nobody is there to ask"),
        (("submit", " "), "the question is empty"),
        (("submit", "Hello", "--timeout", "-5"), "--timeout -5 is no length of time"),
        (("submit", "Hello", "--mode", "yolo"), "there is no mode 'yolo'"),
        (("submit", "Hello", "--max-turns", "0"), "the options of the run cannot be used"),
        (("submit", "Hello", "--model", ""), "--model is empty"),
        (("submit", "Hello", "--tools", "demo", "--no-tools"), "--no-tools and --tools are two answers"),
        (("submit", "Hello", "--attach", "mcp:time:x"), "something of an MCP server"),
        (("submit", "Hello", "--attach", "nowhere.txt"), "nowhere.txt"),
        (("approve", "r-1", "c1", "--session", "--always"), "two lengths of time"),
        (("approve", "r-1", "c1", "--offer", "1"), "--offer is about"),
        (("approve", "r-1", "c1", "--arguments", "[1]"), "--arguments is no JSON object"),
        (("approve", "r-1", "c1", "--arguments", '{"a": 1}', "--always"), "can only be allowed once"),
        (("deny", "r-1", "c1", "--reason", "x" * 2_000), "more than 1,000 characters"),
        (("reply", "r-1"), "there is no answer"),
        (("reply", "r-1", "c1", "too", "many"), "more words than a call and an answer"),
    ],
)
def test_what_is_asked_for_wrongly_is_said_before_anything_is_done(
    runs: Command, stand: Stand, words: tuple[str, ...], says: str
) -> None:
    ran = runs(*words)
    assert ran.code == 2, ran.err
    assert says in ran.err
    assert ran.err.splitlines()[-1].startswith("  ")
    assert not stand.done


def test_show_has_everything(runs: Command, stand: Stand) -> None:
    error = ErrorInfo(type="ProviderError", message=f"it broke {EVIL}", hint="Try again.", facts={})
    stand.infos = [
        info(
            "r-1",
            "failed",
            turns=2,
            attempt=5,
            begins=3,
            worker="vm-1",
            error=error,
            questions=2,
            forked="r-0",
            priority=4,
        ),
        info("r-child", "finished", parent="r-1"),
    ]
    stand.spec = RunSpec(prompt=user(f"Tidy {EVIL}\nRun r-9: finished"), options={"mode": "ask"}, history=[user("x")])
    stand.steps = [
        StepInfo(number=1, name="answer 1", seconds=1.25),
        StepInfo(number=2, name="call 1 run_bash c1", error=f"no {EVIL}"),
    ]
    lies = msgspec.structs.replace(
        request({"command": "rm -rf x"}, name=EVIL, preview=f"-{EVIL}\n+b"),
        shown="command: ls",
        warnings=(EVIL,),
        fully_shown=True,
    )
    stand.waiting = [question("c1", asked=lies), question("c2", question=f"Red {EVIL}?", options=[EVIL, "blue"])]
    ran = runs("show", "r-1")
    assert ran.code == 0
    for words in (
        "Run r-1: failed, 2 questions to answer",
        "priority 4",
        "taken up 3 times, now by vm-1",
        "forked from run r-0",
        '│ {"mode":"ask"}',
        "goes on from a conversation of 1 messages",
        "    │ Run r-9: finished",
        "    │ Try again.",
        "    1  answer 1  1.2 s",
        "    │ command: rm -rf x",
        "Answer it: toolwire runs approve r-1 c1",
        "or: toolwire runs deny r-1 c1",
        "2. blue",
        "Answer it: toolwire runs reply r-1 c2 TEXT",
        "    r-child  finished",
    ):
        assert words in ran.out, words
    assert "command: ls" not in ran.out
    assert not [line for line in ran.out.splitlines() if line.startswith("Run r-9")]
    assert not [char for char in HIDDEN if char in ran.out]
    made = json.loads(runs("show", "r-1", "--json").out)
    assert [len(made[name]) for name in ("steps", "questions", "children")] == [2, 2, 1]
    assert made["run"]["id"] == "r-1"
    assert runs("show", "r-").code == 1


def test_workers_are_those_that_live(runs: Command, stand: Stand) -> None:
    now = time.time()
    stand.workers = [
        WorkerInfo(
            id=f"vm-{state}",
            host="vm",
            pid=1,
            queues=["toolwire"],
            agents=["toolwire"],
            started=now,
            beat=now,
            state=state,
        )
        for state in ("alive", "draining", "ended", "lost")
    ]
    assert [line.split()[0] for line in runs("workers").out.splitlines()] == ["vm-alive", "vm-draining"]
    assert len(runs("workers", "--all", "--json").lines) == 4
    stand.workers = []
    assert "no worker lives" in runs("workers").err


# To steer.


def test_each_run_that_is_named_is_steered(runs: Command, stand: Stand) -> None:
    stand.infos = [info("r-1"), info("r-2", "paused"), info("r-bad", "failed")]
    stand.fails["r-2"] = DurableFailed("the run is paused", hint="There is nothing to pause.")
    ran = runs("pause", "r-1", "r-2", "r-bad")
    assert ran.code == 1
    assert ran.out.splitlines() == [
        "Run r-1 rests when the steps that run now have ended.",
        "Run r-bad goes on as run r-other, which is queued.",
    ]
    assert "toolwire: r-2: the run is paused" in ran.err
    assert [each for each in stand.done if each[0] == "pause"] == [("pause", "r-1"), ("pause", "r-bad")]
    # One that is not there is told before any is touched.
    assert runs("cancel", "r-1", "r-9").code == 1
    assert not [each for each in stand.done if each[0] == "cancel"]
    assert runs("resume", "r-1").code == runs("cancel", "r-1").code == 0
    forked = runs("fork", "r-1", "--step", "4")
    assert (forked.out, stand.done[-2]) == ("r-other\n", ("fork", "r-1", 4))
    assert "before its step 4" in forked.err


def test_what_is_old_is_forgotten_on_a_yes(runs: Command, stand: Stand) -> None:
    ran = runs("prune", "--older-than", "30d", "--yes")
    assert (ran.code, ran.out) == (0, "Forgot 2 runs.\n")
    assert ("prune", 30 * 86_400.0) in stand.done


@pytest.mark.parametrize(
    ("text", "seconds"), [("90", 90), ("1.5s", 1.5), ("30m", 1800), ("12h", 43_200), ("7d", 604_800), ("1w", 604_800)]
)
def test_lengths_of_time(text: str, seconds: float) -> None:
    assert seconds_of(text, "--timeout") == seconds


@pytest.mark.parametrize("text", ["", "0", "-1s", "nan", "infd", "1e99", "5x", "m"])
def test_what_is_no_length_of_time(text: str) -> None:
    with pytest.raises(ConfigError, match="is no length of time"):
        seconds_of(text, "--timeout")


# To submit.


def test_only_what_was_said_goes_along(runs: Command, stand: Stand, tmp_path: Path) -> None:
    ran = runs("submit", "Tidy up.")
    assert (ran.code, ran.out) == (0, "r-new\n")
    assert "no worker listens to the queue toolwire now" in ran.err
    assert "toolwire runs follow r-new" in ran.err
    _, parts, given = stand.done[0]
    assert parts == [TextPart("Tidy up.")]
    assert given["options"] == {}
    (tmp_path / "notes.txt").write_text("Notes.")
    words = "--model anthropic:x --system Brief. --no-tools --mode full --max-turns 3 --queue slow --priority 2"
    more = f"--timeout 2h --id mine --continue r-0 --json --tool-choice none --attach {tmp_path}/notes.txt"
    assert runs("submit", "Go on.", *words.split(), *more.split()).lines[0]["id"] == "mine"
    _, parts, given = stand.done[-2]
    assert len(parts) == 2
    assert given == {
        "agent": "toolwire",
        "options": {
            "model": "anthropic:x",
            "system": "Brief.",
            "tools": "none",
            "mode": "full",
            "tool_choice": "none",
            "max_turns": 3,
        },
        "queue": "slow",
        "priority": 2,
        "timeout": 7200.0,
        "history": [user("Before.")],
        "turn": 3,
        "id": "mine",
    }


def test_what_is_piped_in_goes_along_or_is_the_question(
    runs: Command, stand: Stand, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def piped(text: str, *words: str) -> Any:
        (tmp_path / "piped").write_text(text)
        with _Typing(os.open(tmp_path / "piped", os.O_RDONLY)) as given:
            monkeypatch.setattr(sys, "stdin", given)
            assert runs("submit", *words).code == 0
        return stand.done[-2][1]

    assert piped("What is it?") == piped("What is it?", "-") == [TextPart("What is it?")]
    question, beside = piped("some log", "Why?")
    assert question == TextPart("Why?")
    assert "some log" in beside.text
    assert "material" in beside.text


def events(*told: Any) -> list[RunEvent]:
    start = 1_000.0
    return [RunEvent(number, 1, 1, "", event, at=start + number) for number, event in enumerate(told, 1)]


def segment(kind: EventType, delta: str = "", id: str = "s0") -> SegmentEvent:
    return SegmentEvent(kind, id, segment_type=SegmentType.TEXT, delta=delta)


FINISHED = RunFinished("Well done.", StopReason.STOP, 1, TokenUsage(10, 5, 15))
SAID = (
    RunStarted("anthropic", "x", "api_tool_call"),
    TurnStarted(1),
    segment(EventType.START),
    segment(EventType.CONTENT, "Well "),
)
REST = (segment(EventType.CONTENT, "done."), segment(EventType.END), FINISHED)


def test_in_a_pipe_the_answer_is_alone(runs: Command, stand: Stand) -> None:
    stand.infos = [info("r-1", "finished")]
    stand.told = events(*SAID, *REST)
    ran = runs("follow", "r-1")
    assert (ran.code, ran.out) == (0, "Well done.\n")
    assert "Run r-1, finished: Tidy up" in ran.err
    # Of what happened earlier, as long as it took then.
    assert "1 turn · 10 tokens in, 5 out · 6.0 s" in ran.err
    lines = runs("follow", "r-1", "--json", "--from", "6").lines
    assert [(line["position"], line["event"]["type"]) for line in lines] == [(6, "end"), (7, "run_finished")]


def test_what_an_attempt_told_that_was_cut_is_void(
    runs: Command, stand: Stand, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand.infos = [info("r-1", "finished")]
    again = (segment(EventType.START), segment(EventType.CONTENT, "Very well "))
    cut = (*SAID[:2], segment(EventType.START, id="old"), segment(EventType.CONTENT, "Once upon a ", id="old"))
    stand.told = events(*cut, AttemptWithdrawn(1, "", 1, 3), *again, *REST)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    shown = runs("follow", "r-1").out
    assert "a worker was lost: what stands above of this answer is void" in shown
    assert shown.index("Once upon") < shown.index("is void") < shown.index("Very well done.")
    assert [line["event"]["type"] for line in runs("follow", "r-1", "--json").lines].count("attempt_withdrawn") == 1
    # What was held back as the answer, and is none, is shown beside it; what is void is not.
    stand.told = events(*cut, AttemptWithdrawn(1, "", 1, 3), *again, TurnStarted(2), *SAID[2:], *REST)
    monkeypatch.setattr("sys.stdout.isatty", lambda: False)
    ran = runs("follow", "r-1")
    assert ran.out == "Well done.\n"
    assert "Very well" in ran.err
    assert "Once" not in ran.err


def test_a_call_of_a_lost_worker_no_longer_runs(runs: Command, stand: Stand, monkeypatch: pytest.MonkeyPatch) -> None:
    stand.infos = [info("r-1", "finished")]
    started = ToolStarted(1, "c1", ToolInvocation("c1", "read_file", {}))
    stand.told = events(*SAID, started, AttemptWithdrawn(1, "c1", 1, 5), started, *REST)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert "void" in runs("follow", "r-1").out


def test_what_waits_is_told_with_how_to_answer_it(runs: Command, stand: Stand) -> None:
    stand.infos = [info("r-1", "finished")]
    asked = request({"command": "ls"}, name=f"run_bash{EVIL}")
    ask = ToolInvocation("c2", "ask_user", {"question": f"Red{EVIL}?"})
    stand.told = events(
        *SAID[:2],
        ApprovalAsked(1, "c1", asked),
        ApprovalAnswered(1, "c1", False, "me@there", reason=f"no{EVIL}"),
        ToolStarted(1, "c2", ask),
        FINISHED,
    )
    err = runs("follow", "r-1").err
    assert "waits for an answer: toolwire runs approve r-1 c1)" in err.replace("\n", " ")
    assert "denied (no␛[2J<U+202E>evil), by me@there" in err
    assert "toolwire runs reply r-1 c2 TEXT" in err
    assert not [char for char in HIDDEN if char in err]


@pytest.mark.parametrize(
    ("state", "error", "code", "words"),
    [
        ("failed", "ProviderError", 1, "run r-1 failed"),
        ("failed", "RunLimitReached", 3, "it broke"),
        ("refused", "ConfigError", 1, "was refused by the worker"),
        ("cancelled", None, 1, "run r-1 is cancelled"),
    ],
)
def test_how_it_ended_is_the_exit_code(
    runs: Command, stand: Stand, state: str, error: str | None, code: int, words: str
) -> None:
    told = None if error is None else ErrorInfo(type=error, message="it broke", hint="Mend it.", facts={})
    stand.infos = [info("r-1", state, error=told)]
    ran = runs("follow", "r-1")
    assert ran.code == code
    assert words in ran.err
    assert "toolwire runs resume r-1" in ran.err


def test_submit_can_follow(runs: Command, stand: Stand) -> None:
    stand.told = events(*SAID, *REST)
    stand.follows = lambda: stand.infos.__setitem__(0, info("r-new", "finished"))
    ran = runs("submit", "Tidy up.", "--follow")
    assert (ran.code, ran.out) == (0, "Well done.\n")


@pytest.mark.parametrize(("number", "code"), [("SIGINT", 130), ("SIGTERM", 143)])
def test_who_leaves_is_told_that_the_run_goes_on(runs: Command, stand: Stand, number: str, code: int) -> None:
    import signal

    stand.infos = [info("r-1")]
    stand.told = events(*SAID, *REST)

    def leave() -> None:
        os.kill(os.getpid(), getattr(signal, number))
        stand.follows = lambda: None

    class Slow(StandIn):
        async def follow(self, id: str, *, after: int = 0) -> AsyncGenerator[RunEvent, None]:
            import asyncio

            yield stand.told[0]
            leave()
            await asyncio.sleep(10)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("toolwire.durable.client.Runs", Slow)
        ran = runs("follow", "r-1")
    assert ran.code == code
    assert "the run goes on; see it again with: toolwire runs follow r-1 --from 2" in ran.err
    assert stand.done == [("closed",)]


# To answer.


class _Typing:
    """Standard input that is this descriptor."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)

    def fileno(self) -> int:
        return self._descriptor

    def isatty(self) -> bool:
        return os.isatty(self._descriptor)


@pytest.fixture
def types(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Somebody at a terminal, who types a line again and again until the test is over."""
    master, slave = pty.openpty()
    over = threading.Event()
    threads: list[threading.Thread] = []

    def type_on(line: str) -> None:
        def work() -> None:
            while not over.wait(0.05):
                os.write(master, f"{line}\n".encode())

        over.clear()
        threads.append(threading.Thread(target=work))
        threads[-1].start()

    for name in ("toolwire.cli.runs_answer.has_person", "toolwire.cli.runs.has_person"):
        monkeypatch.setattr(name, lambda: True)
    monkeypatch.setattr(sys, "stdin", _Typing(slave))
    try:
        yield type_on
    finally:
        over.set()
        for thread in threads:
            thread.join()
        os.close(master)
        os.close(slave)


def answers(stand: Stand) -> list[tuple[Any, ...]]:
    return [each[1:] for each in stand.done if each[0] == "answer"]


def test_a_call_that_is_named_is_answered_without_a_terminal(runs: Command, stand: Stand) -> None:
    stand.infos = [info("r-1", "waiting", questions=2)]
    stand.waiting = [question("c1"), question("c22")]
    ran = runs("approve", "r-1", "c1")
    assert (ran.code, ran.out) == (0, "Approved run_bash (c1) of run r-1.\n")
    [(run, call, answer, digest)] = answers(stand)
    assert (run, call, digest) == ("r-1", "c1", "digest of c1")
    assert (answer.allowed, answer.scope, answer.arguments) == (True, Scope.ONCE, None)
    user, _, host = answer.who.partition("@")
    assert user
    assert host
    assert runs("deny", "r-1", "c2", "--reason", "Not now.").out == "Denied run_bash (c22) of run r-1.\n"
    assert answers(stand)[-1][2].reason == "Not now."
    runs("approve", "r-1", "c1", "--arguments", '{"command": "pwd"}')
    assert answers(stand)[-1][2].arguments == {"command": "pwd"}
    runs("approve", "r-1", "c1", "--always", "--offer", "2")
    assert (answers(stand)[-1][2].scope, answers(stand)[-1][2].offer) == (Scope.ALWAYS, 1)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("approve", "r-1"), "which call of run r-1? Nobody is there to be shown it"),
        (("deny", "r-1", "--yes"), "which call of run r-1?"),
        (("approve", "r-1", "c3"), "no call of run r-1 that waits is called c3"),
        (("approve", "r-1", "c"), "more than one call of run r-1"),
        (("approve", "r-1", "c1", "--session"), "2 rules can be made of this call"),
        (("approve", "r-1", "c1", "--session", "--offer", "3"), "--offer 3 is none"),
        (("approve", "r-1", "c2", "--session"), "this call can only be allowed once"),
        (("reply", "r-1", "blue"), "no question of run r-1 waits for an answer; it is waiting"),
        (("approve", "r-2", "c1"), "no call of run r-2 waits for an answer; it is finished"),
    ],
)
def test_what_is_not_clear_is_not_answered(runs: Command, stand: Stand, words: tuple[str, ...], says: str) -> None:
    stand.infos = [info("r-1", "waiting", questions=2), info("r-2", "finished")]
    long = request({"command": "x" * 20_000}, name="run_bash", offers=["all"])
    stand.waiting = [question("c1"), question("c2", asked=long)]
    ran = runs(*words)
    assert ran.code == 2, ran.err
    assert says in ran.err
    assert not answers(stand)


def test_at_a_terminal_the_call_is_shown_as_it_is_and_asked_about(
    runs: Command, stand: Stand, types: Callable[[str], None]
) -> None:
    stand.infos = [info("r-1", "waiting", questions=1)]
    lies = msgspec.structs.replace(request({"command": "rm -rf x"}, name="run_bash"), shown="command: ls")
    stand.waiting = [question("c1", asked=lies)]
    types("y")
    ran = runs("approve", "r-1")
    assert ran.code == 0
    assert "│ command: rm -rf x" in ran.out
    assert "command: ls" not in ran.out
    assert answers(stand)[0][2].allowed


def test_a_no_at_the_question_is_an_answer_too(runs: Command, stand: Stand, types: Callable[[str], None]) -> None:
    stand.infos = [info("r-1", "waiting", questions=1)]
    stand.waiting = [question("c1")]
    types("n because it is late")
    assert runs("approve", "r-1").out.endswith("Denied run_bash (c1) of run r-1.\n")
    answer = answers(stand)[0][2]
    assert (answer.allowed, answer.reason) == (False, "it is late")
    assert "@" in answer.who


def test_two_that_wait_must_be_named_at_a_terminal_too(
    runs: Command, stand: Stand, types: Callable[[str], None]
) -> None:
    stand.infos = [info("r-1", "waiting", questions=2)]
    stand.waiting = [question("c1"), question("c2")]
    ran = runs("approve", "r-1")
    assert ran.code == 2
    assert "2 calls of run r-1 wait" in ran.err
    assert "c1, c2" in ran.err


@pytest.mark.parametrize(("typed", "count"), [("yes", 1), ("no", 0), ("", 0)])
def test_what_lasts_and_what_is_denied_is_shown_and_asked_about(
    runs: Command, stand: Stand, types: Callable[[str], None], typed: str, count: int
) -> None:
    stand.infos = [info("r-1", "waiting", questions=1)]
    stand.waiting = [question("c1")]
    types(typed)
    ran = runs("approve", "r-1", "c1", "--always", "--offer", "2")
    assert "Allowed from now on (kept in always.toml of the worker): run_bash: ls *" in ran.out
    denied = runs("deny", "r-1")
    assert "│ command: ls" in denied.out
    assert "Deny it? [y/N]" in denied.out
    changed = runs("approve", "r-1", "--arguments", '{"command": "pwd"}')
    assert "│ command: pwd" in changed.out
    assert {ran.code, denied.code, changed.code} == {0 if count else 1}
    assert len(answers(stand)) == 3 * count
    if not count:
        assert "nothing was answered; the run waits on" in ran.err


def test_a_question_of_the_models_gets_words_or_what_it_proposed(runs: Command, stand: Stand) -> None:
    stand.infos = [info("r-1", "waiting", questions=2)]
    stand.waiting = [question("c1", question=f"Red {EVIL}?", options=["red", "blue"])]
    ran = runs("reply", "r-1", "2")
    assert ran.out == "Answered Red ␛[2J<U+202E>evil? with: blue\n"
    runs("reply", "r-1", "c1", "3 of them")
    runs("reply", "r-1", "9")
    assert [each[1:] for each in answers(stand)] == [
        ("c1", "blue", "digest of c1"),
        ("c1", "3 of them", "digest of c1"),
        ("c1", "9", "digest of c1"),
    ]
    stand.waiting.append(question("c2", question="More?"))
    assert "2 questions of run r-1 wait" in runs("reply", "r-1", "yes").err
