"""The chat attached to a durable run: all of it on the screen, its questions answered, what was lost withdrawn."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import cast

import pytest

from chat.standing_runs import StandingRun, StandingRuns, events_of_run
from toolwire.agent.events import (
    AgentEvent,
    ApprovalAsked,
    RunStarted,
    ToolFinished,
    ToolProgress,
    ToolStarted,
    TurnStarted,
)
from toolwire.approval.request import Answer, Scope
from toolwire.chat import attached as attaching
from toolwire.durable.client import Runs
from toolwire.durable.records import RunState
from toolwire.messages import Message
from toolwire.stream.segments import EventType, SegmentEvent
from toolwire.testing import call, say, think
from toolwire.testing.bodies import body
from toolwire.testing.pieces import End, Text
from toolwire.tui import conversation as conversations
from toolwire.tui.cards import CardGroup, ToolCard
from toolwire.tui.conversation import Conversation
from toolwire.tui.pickers import ConfirmScreen, PickerScreen
from toolwire.tui.questions.attention import SETTLE_SECONDS
from tui.chatting import Chat, chat, home
from tui.screens import Host, answer, text, thought

__all__ = ["home"]

SAVES = [[say("I save it."), call("save", text="x")], [say("It is saved.")]]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attaching, "_LOOK_SECONDS", 0.02)
    monkeypatch.setattr(attaching, "_PATIENCE", 0.05)


@asynccontextmanager
async def attached(home: Path, run: StandingRun, *answers: bytes) -> AsyncIterator[tuple[Chat, StandingRuns]]:
    runs = StandingRuns(run)
    async with chat(home, *answers, runs=lambda: cast(Runs, runs)) as open_chat:
        await open_chat.type("/attach r-1")
        yield open_chat, runs


def at(events: list[AgentEvent], kind: type) -> int:
    return next(number for number, event in enumerate(events) if isinstance(event, kind))


async def test_the_run_its_question_and_its_end(home: Path) -> None:
    events, messages = await events_of_run(SAVES, "Save x")
    asked = at(events, ApprovalAsked)
    run = StandingRun("r-1", "Save x")
    run.tell(*events[:asked])
    async with attached(home, run) as (open_chat, runs):
        await open_chat.until_seen("Save x", "I save it.", "run r-1 running", "attached")
        question = run.ask(cast(ApprovalAsked, events[asked]))
        await open_chat.until_seen("? 1 question for you", "save", "session")
        await open_chat.pilot.pause(SETTLE_SECONDS + 0.1)
        await open_chat.pilot.press("s")
        await open_chat.until_seen("Allow save until the run ends: which?")
        await open_chat.pilot.pause(SETTLE_SECONDS + 0.1)
        await open_chat.pilot.press("1")
        await open_chat.until(lambda: run.answers)
        [(id, given, digest)] = run.answers
        assert isinstance(given, Answer)
        assert (id, digest, given.scope) == (question.id, question.digest, Scope.SESSION)
        await open_chat.until_seen("You allow until the run ends")
        run.tell(*events[asked + 1 :])
        run.conversation = messages
        run.become(state=RunState.FINISHED, turns=2)
        await open_chat.until_ready()
        await open_chat.until_seen("It is saved.", "run r-1 finished", "as a new durable run")
        assert [str(card.state) for card in open_chat.app.query(ToolCard)] == ["done"]
        await open_chat.type("And y?")
        await open_chat.until(lambda: runs.submitted)
        [(words, how)] = runs.submitted
        assert (words, how["turn"], how["history"]) == ("And y?", 2, messages)
        more, _ = await events_of_run([[say("y too.")]])
        new = runs.runs["r-new0"]
        new.become(state=RunState.RUNNING)
        new.tell(*more)
        await open_chat.until_seen("And y?", "y too.", "This is run r-new0", "run r-new0 running")
        assert "I save it." in open_chat.screen(), "one conversation"


async def test_escape_leaves_the_run_and_brings_the_own_conversation_back(home: Path) -> None:
    events, _ = await events_of_run(SAVES, "Save x")
    asked = at(events, ApprovalAsked)
    run = StandingRun("r-1", "Theirs")
    run.tell(*events[:asked])
    async with chat(home, body("openai-chat", Text("My answer."), End()), runs=lambda: cast(Runs, runs)) as open_chat:
        runs = StandingRuns(run)
        await open_chat.type("Mine")
        await open_chat.until_seen("My answer.")
        await open_chat.until_ready()
        await open_chat.type("/attach r-1")
        await open_chat.until_seen("Theirs", "I save it.")
        assert "My answer." not in open_chat.screen()
        run.ask(cast(ApprovalAsked, events[asked]))
        await open_chat.until_seen("? 1 question for you")
        await open_chat.pilot.press("escape")
        await open_chat.until_seen("My answer.", "You look at run r-1 no more. It goes on.", "ready")
        assert "I save it." not in open_chat.screen()
        assert not run.answers
        assert run.questions
        await open_chat.type("/attach r-1")
        await open_chat.until_seen("? 1 question for you", "I save it.")


async def test_whoever_closes_the_chat_answers_nothing(home: Path) -> None:
    events, _ = await events_of_run(SAVES, "Save x")
    asked = at(events, ApprovalAsked)
    run = StandingRun("r-1", "Save x")
    run.tell(*events[:asked])
    async with attached(home, run) as (open_chat, _):
        run.ask(cast(ApprovalAsked, events[asked]))
        await open_chat.until_seen("? 1 question for you")
        open_chat.app.leave()
        await open_chat.until(lambda: not open_chat.app.is_running)
        assert "run r-1 goes on" in open_chat.app.parting
    assert run.questions
    assert not run.answers


async def test_a_question_that_someone_else_answers_goes_away(home: Path) -> None:
    events, _ = await events_of_run(SAVES, "Save x")
    asked = at(events, ApprovalAsked)
    run = StandingRun("r-1", "Save x")
    run.tell(*events[:asked])
    async with attached(home, run) as (open_chat, _):
        question = run.ask(cast(ApprovalAsked, events[asked]))
        await open_chat.until_seen("? 1 question for you")
        run.settle(question.id)
        await open_chat.until(lambda: "question for you" not in open_chat.screen())
        run.tell(*events[asked + 1 :])
        await open_chat.until_seen("save was allowed elsewhere, by ann@desk.")


async def test_what_a_lost_worker_told_goes_from_the_screen(home: Path) -> None:
    events, _ = await events_of_run([[think("Hm, the old thought."), say("The old beginning"), call("save", text="o")]])
    end = at(events, ApprovalAsked)
    again, _ = await events_of_run([[say("The new beginning")]])
    run = StandingRun("r-1", "Go")
    run.tell(*events[: end - 2])
    async with attached(home, run) as (open_chat, _):
        await open_chat.until_seen("The old beginning", "save")
        open_chat.app.say("A note of ours.")
        run.withdraw()
        await open_chat.until_seen("A worker was lost: the answer begins anew.", "waiting for the model")
        run.tell(*[each for each in again if not isinstance(each, (RunStarted, TurnStarted))])
        run.become(state=RunState.FINISHED)
        await open_chat.until_seen("The new beginning", "A note of ours.")
        shown = open_chat.screen()
        assert not [words for words in ("The old beginning", "save", "Thought") if words in shown]
        assert not list(open_chat.app.query(ToolCard))
        assert not list(open_chat.app.query(CardGroup))


async def test_what_a_lost_worker_ran_begins_anew_in_its_card() -> None:
    events, _ = await events_of_run(SAVES)
    started = events[at(events, ToolStarted)]
    assert isinstance(started, ToolStarted)
    finished = events[at(events, ToolFinished)]
    conversation = Conversation()
    async with Host(conversation).run_test(size=(80, 30)) as pilot:
        for event in events[: at(events, ToolStarted) + 1]:
            conversation.take(event)
        conversation.take(ToolProgress(1, started.id, "half of it"))
        await conversation.draw(now=True)
        card = conversation.card(started.id)
        assert card is not None
        assert card.state == "running"
        assert "half of it" in card.plain()
        conversation.withdraw(1, started.id)
        await conversation.draw(now=True)
        await pilot.pause()
        assert card.call.word == "approved"
        assert "half of it" not in card.plain()
        assert "A worker was lost while save ran." in text(pilot.app)
        conversation.take(started)
        conversation.take(finished)
        await conversation.draw(now=True)
        assert card.state == "done"
        assert conversation.card(started.id) is card
        conversation.withdraw(1, started.id)
        assert card.state == "done", "what has its result keeps it"


@pytest.mark.parametrize("scrolls", [False, True])
async def test_a_long_answer_goes_whole_also_what_was_let_go_of_it(
    monkeypatch: pytest.MonkeyPatch, scrolls: bool
) -> None:
    monkeypatch.setattr(conversations, "MOST_ITEMS", 6)
    monkeypatch.setattr(conversations, "MOST_LINES", 400)
    conversation = Conversation()
    async with Host(conversation).run_test(size=(60, 20)) as pilot:
        conversation.ask("before")
        first: list[AgentEvent] = [TurnStarted(1), *answer("t1-0", "first turn")]
        for event in first:
            conversation.take(event)
        conversation.take(TurnStarted(2))
        conversation.take(next(answer("t2-0")))
        for number in range(60):
            conversation.take(SegmentEvent(EventType.CONTENT, "t2-0", delta=f"old {number}\n\n" * 20))
            await conversation.draw(now=True)
        assert len(conversation._earlier), "something was let go"
        if scrolls:
            conversation.scroll_home(animate=False)
            for _ in range(5):
                await pilot.pause()
            assert not len(conversation._earlier), "and came back"
        conversation.withdraw(2, "")
        conversation.withdraw(1, "")
        for _ in range(20):
            await pilot.pause()
            await conversation.draw(now=True)
        kept = [make().plain() for _, make, _ in conversation._earlier._kept]
        shown = [each.plain() for place in conversation._places for each in (place.item, *place.cards) if each]
        assert not [words for words in (*kept, *shown) if "old" in words]
        assert "first turn" in [*kept, *shown], "only the answer that was lost"
        for event in answer("t2-0", "new words"):
            conversation.take(event)
        await conversation.draw(now=True)
        await pilot.pause()
        assert "new words" in text(pilot.app)
        assert "old" not in text(pilot.app)


async def test_what_is_withdrawn_while_the_past_is_told_was_never_there() -> None:
    conversation = Conversation()

    async def past() -> AsyncIterator[Message | AgentEvent]:
        yield Message("user", "Go")
        yield TurnStarted(1)
        for event in (*thought("r", "hm"), *answer("t1-0", "old words")):
            yield event
        conversation.withdraw(1, "")
        for event in answer("t1-0", "new words"):
            yield event

    async with Host(conversation).run_test(size=(60, 20)) as pilot:
        await conversation.show(past())
        await pilot.pause()
        assert "new words" in text(pilot.app)
        assert "old words" not in text(pilot.app)
        assert "Thought" not in text(pilot.app)


async def test_ten_thousand_events_are_soon_there(home: Path) -> None:
    run = StandingRun("r-1", "Go")
    run.tell(RunStarted("p", "m", "api_tool_call"))
    for turn in range(1, 101):
        run.tell(TurnStarted(turn), *answer(f"t{turn}-0", *[f"word {turn} "] * 97))
    assert len(run.events) == 10_001
    async with attached(home, run) as (open_chat, runs):
        began = time.process_time()
        await open_chat.until_seen("word 100", "run r-1 running")
        assert time.process_time() - began < 5, "about one second of work where nothing else goes on"
        assert runs.read == 10_001, "each once"
        run.tell(TurnStarted(101), *answer("t101-0", "and live"))
        await open_chat.until_seen("and live")
        assert runs.read < 10_010


async def test_runs_are_chosen_from_a_list_and_ended_after_a_yes(home: Path) -> None:
    run = StandingRun("r-1", "[b]Theirs[/b]")
    runs = StandingRuns(run, StandingRun("r-2", "Over", state=RunState.FINISHED))
    async with chat(home, runs=lambda: cast(Runs, runs)) as open_chat:
        await open_chat.type("/runs")
        await open_chat.until_seen("Show which run?", "[b]Theirs[/b]", "They are over")
        assert isinstance(open_chat.app.screen, PickerScreen)
        await open_chat.pilot.press("down", "enter")
        await open_chat.until_seen("run r-1 running")
        await open_chat.type("/cancel")
        await open_chat.until(lambda: isinstance(open_chat.app.screen, ConfirmScreen))
        await open_chat.until_seen("End run r-1 ([b]Theirs[/b])")
        await open_chat.pilot.pause(SETTLE_SECONDS + 0.1)
        await open_chat.pilot.press("y")
        await open_chat.until_seen("run r-1 cancelled", "interrupted")
        assert run.info.state is RunState.CANCELLED


async def test_the_keys_for_modes_change_nothing_there(home: Path) -> None:
    run = StandingRun("r-1", "Go")
    async with attached(home, run) as (open_chat, _):
        await open_chat.until_seen("run r-1 running")
        mode = open_chat.talk.mode
        await open_chat.pilot.press("shift+tab")
        await asyncio.sleep(0)
        assert open_chat.talk.mode == mode
