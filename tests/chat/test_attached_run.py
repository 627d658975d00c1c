"""A durable run in a chat: told once, asked about once, and never ended by whoever looks at it."""

from __future__ import annotations

import asyncio
import io
import os
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any, cast

import pytest
from rich.console import Console

from chat.standing_runs import StandingRun, StandingRuns, events_of_run
from chat.talking import MODEL, KeptDesk, talking, told
from eager import eager_tasks
from toolwire.agent.events import (
    AgentEvent,
    ApprovalAnswered,
    ApprovalAsked,
    RunFailed,
    RunFinished,
    RunInterrupted,
    ToolFinished,
)
from toolwire.approval.files import policy_paths
from toolwire.approval.places import Workspace
from toolwire.approval.request import Answer, ApprovalRequest
from toolwire.chat import attached as attaching
from toolwire.chat.commands import run_command
from toolwire.chat.plain import PlainChat
from toolwire.chat.retelling import retold_messages
from toolwire.chat.talk import Talk
from toolwire.cli.assembly import Assembly, Options
from toolwire.cli.console import PlainConsole
from toolwire.durable.client import Runs
from toolwire.durable.records import RunState
from toolwire.errors import ConfigError, DurableFailed, ErrorInfo, ToolwireError
from toolwire.messages import Message
from toolwire.stream.segments import EventType, SegmentEvent
from toolwire.testing import call, say

SAVES = [[say("I save it."), call("save", text="x")], [say("It is saved.")]]


class Asked:
    """A person who answers when the test says so; what was taken back is known."""

    def __init__(self) -> None:
        self.requests: list[ApprovalRequest] = []
        self.questions: list[str] = []
        self.taken_back = 0
        self.answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

    async def __call__(self, request: ApprovalRequest) -> Answer:
        self.requests.append(request)
        return cast(Answer, await self._wait())

    async def ask_person(self, question: str, options: Sequence[str]) -> str:
        self.questions.append(question)
        return cast(str, await self._wait())

    async def _wait(self) -> Any:
        try:
            return await asyncio.shield(self.answer)
        except asyncio.CancelledError:
            self.taken_back += 1
            raise


class RunDesk(KeptDesk):
    """A desk at which a run is looked at."""

    def __init__(self, *answers: Any) -> None:
        super().__init__(*answers)
        self.run_person = self.asked_person = Asked()


class Looked:
    """A chat that looks at a run; what it was told comes into `told`."""

    def __init__(self, talk: Talk, runs: StandingRuns, run: StandingRun) -> None:
        self.talk, self.runs, self.run = talk, runs, run
        self.desk = RunDesk()
        self.told: list[AgentEvent] = []
        self._following: asyncio.Task[None] | None = None

    @property
    def person(self) -> Asked:
        return self.desk.asked_person

    def follow(self, question: str = "") -> asyncio.Task[None]:
        async def follow() -> None:
            async with aclosing(self.talk.run(question)) as events:
                async for event in events:
                    self.told.append(event)

        self._following = asyncio.create_task(follow())
        return self._following

    async def until(self, holds: Callable[[], object]) -> None:
        for _ in range(500):
            if holds():
                return
            await asyncio.sleep(0.01)
        raise AssertionError(f"never: {self.told[-3:]} {self.desk.said} {self.desk.problems}")

    async def end(self) -> None:
        if self._following is not None:
            self._following.cancel()
            await asyncio.wait((self._following,))


@asynccontextmanager
async def looking(root: Path, run: StandingRun, *, attach: bool = True) -> AsyncIterator[Looked]:
    runs = StandingRuns(run)
    async with talking(root, runs=lambda: cast(Runs, runs)) as talk:
        looked = Looked(talk, runs, run)
        if attach:
            await talk.attach("r-", looked.desk)
        try:
            yield looked
        finally:
            await looked.end()
    assert not runs.is_open


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attaching, "_LOOK_SECONDS", 0.01)
    monkeypatch.setattr(attaching, "_PATIENCE", 0.05)


def at(events: Sequence[AgentEvent], kind: type) -> int:
    return next(number for number, event in enumerate(events) if isinstance(event, kind))


def shown(talk: Talk) -> str:
    return "" if talk.attached is None else talk.attached.id


async def past_of(looked: Looked) -> list[Message | AgentEvent]:
    assert looked.talk.attached is not None
    return [each async for each in looked.talk.attached.past()]


async def test_all_that_was_told_comes_once_and_then_what_is_told_next(root: Path) -> None:
    events, _ = await events_of_run(SAVES)
    half = at(events, ApprovalAnswered) + 1
    run = StandingRun("r-1", "Save x")
    run.tell(*events[:half])
    async with looking(root, run) as looked:
        shown = await past_of(looked)
        assert shown == [run.spec.prompt, *events[:half]]
        following = looked.follow()
        run.tell(*events[half:])
        run.become(state=RunState.FINISHED)
        await following
        assert looked.told == events[half:]
        assert isinstance(looked.told[-1], RunFinished)
        assert "as a new durable run" in looked.desk.said[-1]
        assert looked.talk.attached is not None
        assert looked.talk.attached.model == "openai-compatible:test"
        assert not looked.talk.usage, "what others spent is not counted here"


async def test_a_position_that_nobody_reads_holds_nothing_up(root: Path) -> None:
    events, _ = await events_of_run([[say("Hello")]])
    run = StandingRun("r-1", "Hi")
    run.tell(*events[:3])
    run.become(position=100)
    async with looking(root, run) as looked:
        assert await asyncio.wait_for(past_of(looked), 2) == [run.spec.prompt, *events[:3]]


async def test_the_conversation_before_is_shown_with_its_calls(root: Path) -> None:
    _, messages = await events_of_run(SAVES, "Before")
    run = StandingRun("r-1", "Now", history=messages)
    async with looking(root, run) as looked:
        shown = await past_of(looked)
        assert shown[:-1] == list(retold_messages(messages))
        assert [each.text for each in shown if isinstance(each, Message)] == ["Before", "Now"]
        assert [each.result.content for each in shown if isinstance(each, ToolFinished)] == ["saved x"]
        deltas = [each.delta for each in shown if isinstance(each, SegmentEvent) and each.type is EventType.CONTENT]
        assert deltas == ["I save it.", "It is saved."]


async def test_a_question_is_answered_for_exactly_the_call_that_was_shown(root: Path) -> None:
    events, _ = await events_of_run(SAVES)
    asked = at(events, ApprovalAsked)
    run = StandingRun("r-1", "Save x")
    async with looking(root, run) as looked:
        looked.follow()
        run.tell(*events[:asked])
        question = run.ask(cast(ApprovalAsked, events[asked]))
        await looked.until(lambda: looked.person.requests)
        assert looked.person.requests[0].invocation.arguments == {"text": "x"}
        looked.person.answer.set_result(Answer(allowed=True))
        await looked.until(lambda: run.answers)
        [(id, answer, digest)] = run.answers
        assert (id, digest) == (question.id, question.digest)
        assert isinstance(answer, Answer)
        assert answer.allowed
        assert "@" in answer.who
        run.tell(*events[asked + 1 :])
        await asyncio.sleep(0.05)
        assert len(looked.person.requests) == 1, "asked once"
        assert not looked.desk.problems
        assert not looked.desk.said, "nobody else answered"


async def test_what_is_shown_is_made_of_the_call_and_not_of_words_about_it(root: Path) -> None:
    import msgspec

    events, _ = await events_of_run(SAVES)
    asked = cast(ApprovalAsked, events[at(events, ApprovalAsked)])
    forged = msgspec.structs.replace(asked.request, shown="text: harmless", warnings=())
    run = StandingRun("r-1", "Save x")
    async with looking(root, run) as looked:
        looked.follow()
        run.ask(msgspec.structs.replace(asked, request=forged))
        await looked.until(lambda: looked.person.requests)
        assert "harmless" not in looked.person.requests[0].shown
        assert "x" in looked.person.requests[0].shown


async def test_a_question_that_is_answered_elsewhere_goes_away_and_says_by_whom(root: Path) -> None:
    events, _ = await events_of_run(SAVES)
    asked = at(events, ApprovalAsked)
    run = StandingRun("r-1", "Save x")
    async with looking(root, run) as looked:
        looked.follow()
        run.tell(*events[:asked])
        question = run.ask(cast(ApprovalAsked, events[asked]))
        await looked.until(lambda: looked.person.requests)
        run.settle(question.id)
        await looked.until(lambda: looked.person.taken_back)
        run.tell(*events[asked + 1 :])
        await looked.until(lambda: looked.desk.said)
        assert looked.desk.said == ["save was allowed elsewhere, by ann@desk."]
        assert not run.answers


async def test_an_answer_that_comes_too_late_says_so(root: Path) -> None:
    events, _ = await events_of_run(SAVES)
    asked = cast(ApprovalAsked, events[at(events, ApprovalAsked)])
    run = StandingRun("r-1", "Save x")
    async with looking(root, run) as looked:
        looked.follow()
        question = run.ask(asked)
        await looked.until(lambda: looked.person.requests)
        run.questions.pop(question.id)
        looked.person.answer.set_result(Answer(allowed=True))
        await looked.until(lambda: looked.desk.problems)
        assert looked.desk.problems[0][0] == "it was answered already by bob@elsewhere: no"


async def test_no_question_goes_away_while_the_run_changes_hands(root: Path) -> None:
    events, _ = await events_of_run(SAVES)
    asked = cast(ApprovalAsked, events[at(events, ApprovalAsked)])
    run = StandingRun("r-1", "Save x")
    async with looking(root, run) as looked:
        looked.follow()
        run.ask(asked)
        await looked.until(lambda: looked.person.requests)
        run.become(state=RunState.QUEUED)
        await asyncio.sleep(0.05)
        run.become(state=RunState.RUNNING, attempt=2)
        await asyncio.sleep(0.05)
        assert not looked.person.taken_back
        assert len(looked.person.requests) == 1


@pytest.mark.parametrize(("reply", "answers"), [("blue", [("t1-1", "blue", "d1")]), ("", [])])
async def test_the_models_own_question_is_asked_too(root: Path, reply: str, answers: list[Any]) -> None:
    run = StandingRun("r-1", "Paint")
    async with looking(root, run) as looked:
        looked.follow()
        run.ask_words("t1-1", "d1", question="Which colour?", options=["red", "blue"])
        await looked.until(lambda: looked.person.questions)
        looked.person.answer.set_result(reply)
        await looked.until(lambda: run.answers or looked.desk.said)
        assert looked.person.questions == ["Which colour?"]
        assert run.answers == answers, "no words are no answer"
        await asyncio.sleep(0.05)
        assert len(looked.person.questions) == 1


async def test_a_question_whose_answer_fails_at_once_is_asked_again(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    async def answer_at_once(question: str, options: Sequence[str]) -> str:
        asked.append(question)
        return "blue"

    async def fail_first(*answer: Any, **digest: Any) -> Any:
        if len(asked) == 1:
            raise DurableFailed("the database is locked")
        return await StandingRuns.answer(looked.runs, *answer, **digest)

    run = StandingRun("r-1", "Paint")
    async with looking(root, run) as looked:
        monkeypatch.setattr(looked.person, "ask_person", answer_at_once)
        monkeypatch.setattr(looked.runs, "answer", fail_first)
        with eager_tasks():
            looked.follow()
            run.ask_words("t1-1", "d1", question="Which colour?")
            await looked.until(lambda: run.answers)
    assert asked == ["Which colour?", "Which colour?"]
    assert run.answers == [("t1-1", "blue", "d1")]


async def test_what_a_question_is_about_is_told_first(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attaching, "_BEHIND", 1_000_000)
    events, _ = await events_of_run(SAVES)
    asked = cast(ApprovalAsked, events[at(events, ApprovalAsked)])
    run = StandingRun("r-1", "Save x")
    async with looking(root, run) as looked:
        looked.follow()
        run.ask_words(asked.id, asked.request.digest, request=asked.request)
        run.become(position=1)
        await asyncio.sleep(0.1)
        assert not looked.person.requests
        run.tell(asked)
        await looked.until(lambda: looked.person.requests)
        assert looked.told == [asked]


async def test_whoever_goes_answers_nothing(root: Path) -> None:
    events, _ = await events_of_run(SAVES)
    run = StandingRun("r-1", "Save x")
    async with looking(root, run) as looked:
        following = looked.follow()
        run.ask(cast(ApprovalAsked, events[at(events, ApprovalAsked)]))
        await looked.until(lambda: looked.person.requests)
        looked.person.answer.set_result(Answer(allowed=False, who="closed"))
        await asyncio.sleep(0.05)
        assert not run.answers
        looked.talk.interrupt()
        await following
    assert run.info.state is RunState.WAITING


async def test_leaving_ends_the_looking_and_not_the_run(root: Path) -> None:
    events, _ = await events_of_run(SAVES)
    run = StandingRun("r-1", "Save x")
    async with looking(root, run) as looked:
        following = looked.follow()
        run.ask(cast(ApprovalAsked, events[at(events, ApprovalAsked)]))
        await looked.until(lambda: looked.person.requests)
        looked.talk.interrupt()
        await asyncio.wait_for(following, 2)
        assert looked.talk.attached is None
        assert not looked.talk.running
        assert looked.person.taken_back == 1
        assert not run.answers
        [words] = looked.desk.lefts
        assert "goes on" in words
        assert "/attach r-1" in words
        assert run.info.state is RunState.WAITING


async def test_whoever_leaves_before_anything_came_has_left(root: Path) -> None:
    run = StandingRun("r-1", "Save x")
    async with looking(root, run) as looked:
        following = looked.follow()
        looked.talk.interrupt()
        await asyncio.wait_for(following, 2)
        assert looked.talk.attached is None
        assert looked.desk.lefts


@pytest.mark.parametrize(
    ("state", "error", "end"),
    [
        (RunState.CANCELLED, None, RunInterrupted),
        (RunState.REFUSED, ErrorInfo(type="DurableFailed", message="no such agent"), RunFailed),
    ],
)
async def test_a_run_that_tells_no_end_has_one(root: Path, state: RunState, error: ErrorInfo | None, end: type) -> None:
    run = StandingRun("r-1", "Go")
    async with looking(root, run) as looked:
        following = looked.follow()
        run.become(state=state, error=error)
        await following
        assert isinstance(looked.told[-1], end)
        assert isinstance((await past_of(looked))[-1], end), "also for those who come later"


async def test_what_is_said_after_the_end_goes_on_as_a_new_run(root: Path) -> None:
    events, messages = await events_of_run([[say("Hello")]], "Hi")
    run = StandingRun("r-1", "Hi", options={"model": "x"})
    run.tell(*events)
    run.conversation = messages
    run.become(state=RunState.FINISHED, turns=1, queue="slow", priority=3)
    async with looking(root, run) as looked:
        await past_of(looked)
        looked.follow("And now?")
        await looked.until(lambda: looked.runs.submitted)
        [(words, how)] = looked.runs.submitted
        assert words == "And now?"
        assert how["history"] == messages
        assert how["turn"] == 1
        assert (how["queue"], how["priority"], how["options"]) == ("slow", 3, {"model": "x"})
        new = looked.runs.runs["r-new0"]
        more, _ = await events_of_run([[say("Now.")]], "And now?")
        new.become(state=RunState.RUNNING)
        new.tell(*more)
        new.become(state=RunState.FINISHED)
        await looked.until(lambda: not looked.talk.running)
        assert looked.told == more
        assert looked.talk.attached is not None
        assert looked.talk.attached.id == "r-new0"
        assert "r-new0" in looked.desk.said[-2]


async def test_a_run_that_goes_on_takes_no_question(root: Path) -> None:
    run = StandingRun("r-1", "Hi")
    async with looking(root, run) as looked:
        with pytest.raises(ConfigError, match="r-1 is running"):
            await looked.follow("And?")


async def test_a_withdrawn_attempt_is_for_the_desk_before_what_comes_instead(root: Path) -> None:
    events, _ = await events_of_run([[say("Hello")]])
    run = StandingRun("r-1", "Hi")
    async with looking(root, run) as looked:
        looked.follow()
        run.tell(*events[:4])
        await looked.until(lambda: len(looked.told) == 4)
        run.withdraw()
        run.tell(*events[2:])
        run.become(state=RunState.FINISHED)
        await looked.until(lambda: not looked.talk.running)
        assert looked.desk.withdrawn == [(1, "")]
        assert looked.told == [*events[:4], *events[2:]]


async def test_a_run_that_nobody_takes_says_why(root: Path) -> None:
    run = StandingRun("r-1", "Hi", state=RunState.QUEUED)
    async with looking(root, run) as looked:
        looked.follow()
        await looked.until(lambda: looked.desk.problems)
        await asyncio.sleep(0.1)
        assert looked.desk.problems == [("no worker is there for the queue toolwire", "Start one: toolwire worker")]


async def test_the_persons_own_conversation_stays_as_it_is(root: Path) -> None:
    run = StandingRun("r-1", "Hi", state=RunState.FINISHED)
    async with looking(root, run) as looked:
        for refused in (looked.talk.new, looked.talk.forget, looked.talk.change):
            with pytest.raises(ConfigError, match="r-1 is shown"):
                await cast(Any, refused)()
        await run_command(looked.talk, looked.desk, "detach", "")
        assert looked.desk.lefts
        assert looked.talk.attached is None
        assert await told(looked.talk, "Mine"), "and goes on"


async def test_commands_show_leave_and_end_runs(root: Path) -> None:
    run, other = StandingRun("r-1", "Hi"), StandingRun("r-2", "[red]Hidden\u202e[/]\nwords", state=RunState.FINISHED)
    async with looking(root, run, attach=False) as looked:
        talk, desk = looked.talk, looked.desk
        with pytest.raises(ConfigError, match="no run is shown"):
            await run_command(talk, desk, "detach", "")
        with pytest.raises(ConfigError, match="which run"):
            await run_command(talk, desk, "cancel", "")
        with pytest.raises(ToolwireError, match="no run that begins"):
            await run_command(talk, desk, "attach", "nope")
        assert not shown(talk)
        looked.runs.runs["r-2"] = other
        run.become(questions=1)
        desk.answers = ["r-1"]
        await run_command(talk, desk, "runs", "")
        assert [row.value for row in desk.rows] == ["r-1", "r-2"]
        assert [row.group for row in desk.rows] == ["They ask you", "They are over"]
        assert "\u202e" not in desk.rows[1].name
        assert "\n" not in desk.rows[1].name
        assert (shown(talk), desk.reloads) == ("r-1", 1)
        following = looked.follow()
        await looked.until(lambda: talk.running)
        desk.answers = [False]
        await run_command(talk, desk, "cancel", "")
        assert not run.info.state.is_over
        await run_command(talk, desk, "attach", "r-2")
        await asyncio.wait_for(following, 2)
        assert shown(talk) == "r-2", "another one, in its place"
        desk.answers = [True]
        await run_command(talk, desk, "cancel", "r-1")
        assert run.info.state is RunState.CANCELLED
        assert "r-1" in desk.asked[-1]


async def test_plain_lines_tell_it_from_its_beginning_and_what_was_lost(root: Path) -> None:
    events, messages = await events_of_run([[say("Old words")]], "Before")
    run = StandingRun("r-1", "Now\x1b[31m", history=messages)
    runs = StandingRuns(run)
    run.tell(*events[:4])
    run.withdraw()
    again, _ = await events_of_run([[say("New words")]])
    run.tell(*again[2:])
    run.become(state=RunState.FINISHED)
    written = io.StringIO()
    workspace, files = Workspace(str(root)), policy_paths(os.environ)

    def make(assembly: Assembly) -> Talk:
        options = Options(no_mcp=True, tools="demo")
        return Talk(assembly, options, MODEL, "http://127.0.0.1:1/v1", runs=lambda: cast(Runs, runs))

    plain = PlainChat(cast(PlainConsole, Console(file=written, width=100)), workspace, files, make)
    talk = plain._talk
    assert await plain._typed("/attach r-1") == "", "it is followed"
    async with aclosing(talk.run("")) as told_now:
        async for event in told_now:
            plain._screen.show(event)
    lines = written.getvalue()
    parts = [
        "Run r-1, finished.",
        "Before",
        "Old words",
        "You:\n  Now␛[31m",
        "Answer:",
        "A worker was lost: what came of this answer is void, and it begins anew.",
        "New words",
        "as a new durable run",
    ]
    found = [lines.find(part) for part in parts]
    assert -1 not in found, lines
    assert found == sorted(found)
    assert await plain._typed("/detach") is None
    assert "You look at run r-1 no more." in written.getvalue()
    await talk.close()


async def test_without_durable_runs_it_says_so(root: Path) -> None:
    async with talking(root) as talk:
        with pytest.raises(ConfigError, match="no durable runs"):
            await run_command(talk, RunDesk(), "attach", "r-1")
