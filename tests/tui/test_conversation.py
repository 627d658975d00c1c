"""The conversation: each event finds its item, the end is followed, old items go and come back, and it stays small."""

from __future__ import annotations

import asyncio
import itertools

import pytest
from bench.chat.source import BLOCKS, run
from textual.geometry import Region, Size
from textual.widget import Widget
from textual.widgets import Input

from toolwire.agent.events import (
    AgentEvent,
    HistoryMoved,
    RequestRetried,
    RunFailed,
    RunFinished,
    RunInterrupted,
    RunStarted,
    ToolFinished,
    ToolStarted,
    TurnStarted,
)
from toolwire.chunks import Citation, StopReason, TokenUsage
from toolwire.errors import ErrorInfo
from toolwire.execution.executor import ToolResult
from toolwire.messages import MediaPart, Message, Part, TextPart
from toolwire.stream.invocation import requested
from toolwire.stream.segments import EventType, SegmentEvent, SegmentType
from toolwire.tui import past
from toolwire.tui.answer import Answer
from toolwire.tui.asked import Question
from toolwire.tui.cards import CardGroup, ToolCard
from toolwire.tui.conversation import MOST_ITEMS, MOST_LINES, Conversation
from toolwire.tui.note import Note
from toolwire.tui.reasoning import Reasoning
from toolwire.tui.routing import ReasoningShown
from toolwire.tui.scroll_bar import QuietBar
from toolwire.tui.shell_run import ShellItem
from tui.gallery import keep
from tui.screens import Host, answer, becomes, pieces, segment, text, thought


def call(id: str, tool: str = "read_file", end: bool = True) -> list[SegmentEvent]:
    made = [SegmentEvent(EventType.START, id, segment_type=SegmentType.TOOL_CALL, tool_name=tool)]
    if end:
        made.append(SegmentEvent(EventType.END, id, metadata={"arguments": {"path": "Makefile"}}))
    return made


def result(id: str, content: str = "all: build") -> list[AgentEvent]:
    arguments = {"path": "Makefile"}
    return [
        ToolStarted(1, id, requested(id, "read_file", arguments, 1)),
        ToolFinished(1, id, ToolResult(id, "read_file", content, seconds=0.2)),
    ]


def kinds(conversation: Conversation) -> list[str]:
    """What stands in it, from top to bottom."""
    return [type(child).__name__ for child in conversation.children if not child.classes & {"earlier", "newer"}]


async def told(conversation: Conversation, *events: AgentEvent) -> None:
    for event in events:
        conversation.take(event)
    await conversation.draw(now=True)


END = RunFinished("", StopReason.STOP, 2, TokenUsage(1234, 56))


async def test_a_whole_run() -> None:
    conversation = Conversation()
    app = Host(conversation)
    async with app.run_test(size=(100, 44)) as pilot:
        attached: list[Part] = [
            TextPart("Why is the build slow?"),
            MediaPart("image/png", data="aGk=", name="shot.png"),
        ]
        conversation.note("**Toolwire** in ~/project\n\n- ask anything\n- `/help` lists the commands")
        conversation.ask(Message("user", attached))
        await told(conversation, RunStarted("openai", "gpt", "api_tool_call"), TurnStarted(1))
        await pilot.pause()
        assert "waiting for the model" in text(app)
        await told(
            conversation,
            *thought("r", "I look at the Makefile."),
            *answer("t1", "I will look at the **Makefile** first."),
            *call("c1"),
            *call("c2"),
            SegmentEvent(EventType.DONE, stop_reason=StopReason.TOOL_CALLS),
            *result("c1"),
            *result("c2"),
            RequestRetried(2, 1, 1.5, ErrorInfo("ProviderError", "the provider is overloaded")),
            HistoryMoved(2, ["shot.png is not sent: this model takes no pictures."]),
            TurnStarted(2),
            *answer(
                "t1",
                *pieces(
                    "It runs **one job** at a time:\n\n```make\nall: build\n\tmake -j1\n```\n\n"
                    "| jobs | seconds |\n|--:|--:|\n| 1 | 92 |\n| 8 | 14 |\n",
                    5,
                ),
            ),
            END,
        )
        await pilot.pause()
        assert kinds(conversation) == [
            "Note",
            "Question",
            "Reasoning",
            "Answer",
            "CardGroup",
            "Aside",
            "Aside",
            "Answer",
            "Aside",
        ]
        shown = text(app)
        for words in (
            "Why is the build slow?",
            "attached: shot.png",
            "Thought",
            "I will look at the Makefile first.",
            "the provider is overloaded; trying again in 1.5 s (attempt 2)",
            "shot.png is not sent: this model takes no pictures.",
            "│    8 │      14 │",
            "2 turns · 1,234 tokens in, 56 out · ",
        ):
            assert words in shown
        assert "waiting for the model" not in shown
        card = conversation.card("c2")
        assert card is not None
        assert card.state == "done"
        assert len(conversation.query_one(CardGroup).cards) == 2
        keep(
            app,
            "11-a-conversation",
            "toolwire chat",
            "An answer with its reasoning folded, its calls and their results.",
        )


async def test_while_it_streams() -> None:
    conversation = Conversation()
    app = Host(conversation)
    async with app.run_test(size=(80, 24)) as pilot:
        conversation.ask("How do I sum a list?")
        open_ = (
            "With `sum`, or by hand:\n\n```python\ndef total(numbers: list[int]) -> int:\n    result = 0\n    for num"
        )
        await told(
            conversation, TurnStarted(1), *thought("r", "An easy one."), *answer("t", *pieces(open_, 4), end=False)
        )
        await pilot.pause()
        assert "for num" in text(app)
        keep(app, "12-an-answer-while-it-streams", "toolwire chat", "Code has its colours before it is complete.")


@pytest.mark.parametrize(
    ("events", "words", "items"),
    [
        (list(answer("t", " \n", "\n")), None, []),
        (list(segment(SegmentType.MARKUP, "m", "```json")), None, []),
        (
            list(segment(SegmentType.SERVER_TOOL, "s", '{"query": "x"}', tool="web_search")),
            "○ web_search (at the provider)",
            ["Aside"],
        ),
        (
            [SegmentEvent(EventType.START, "p", segment_type=SegmentType.MEDIA, metadata={"media": "image/png"})],
            "[image/png]",
            ["Aside"],
        ),
        ([SegmentEvent(EventType.DONE, metadata={"ignored_calls": 2})], "not run: 2 calls", ["Aside"]),
        (
            [SegmentEvent(EventType.DONE, metadata={"citations": [Citation("https://example.org", "A page")]})],
            "Sources: A page (https://example.org)",
            ["Aside"],
        ),
        ([RunInterrupted(1, TokenUsage())], "interrupted · 1 turn", ["Aside"]),
        ([RunFinished("", StopReason.LENGTH, 1, TokenUsage())], "1 turn · cut by the token limit", ["Aside"]),
        (
            [RunFailed(ErrorInfo("RunLimitReached", "too many turns", facts={"what": "turns"}), 1)],
            "→ Raise --max-turns if the task needs more.",
            ["Problem"],
        ),
        (result("unknown"), "read_file", ["CardGroup"]),
    ],
)
async def test_what_each_event_becomes(events: list[AgentEvent], words: str | None, items: list[str]) -> None:
    conversation = Conversation()
    async with Host(conversation).run_test(size=(100, 20)) as pilot:
        await told(conversation, *events)
        await pilot.pause()
        assert kinds(conversation) == items
        if words is not None:
            assert words in text(pilot.app)


@pytest.mark.parametrize(("reasoning", "seen"), [("folded", False), ("shown", True), ("hidden", False)])
async def test_reasoning_as_it_is_wanted(reasoning: ReasoningShown, seen: bool) -> None:
    conversation = Conversation(reasoning=reasoning)
    async with Host(conversation).run_test(size=(80, 20)) as pilot:
        await told(conversation, TurnStarted(1), *thought("r", "A secret thought."))
        await pilot.pause()
        assert ("A secret thought." in text(pilot.app)) is seen
        assert bool(conversation.query(Reasoning)) is (reasoning != "hidden")
        if reasoning == "hidden":
            await conversation.draw()
            await pilot.pause()
            assert "thinking" in text(pilot.app)


@pytest.mark.parametrize(
    "end",
    [
        SegmentEvent(EventType.ERROR, error=ErrorInfo("ProviderError", "gone")),
        RunInterrupted(1, TokenUsage()),
        RunFailed(ErrorInfo("ProviderError", "gone"), 1),
    ],
)
async def test_what_was_cut_off_says_so(end: AgentEvent) -> None:
    conversation = Conversation()
    async with Host(conversation).run_test(size=(80, 24)) as pilot:
        await told(conversation, *answer("t", "half an ans", end=False), *call("c", end=False), end)
        await pilot.pause()
        card = conversation.card("c")
        assert card is not None
        assert card.state in ("incomplete", "cancelled")
        assert "half an ans" in text(pilot.app)
        assert not conversation._routing.live


async def test_ids_that_come_again_are_other_items() -> None:
    conversation = Conversation()
    async with Host(conversation).run_test(size=(80, 24)):
        for turn in (1, 2):
            await told(conversation, TurnStarted(turn), *answer("0", f"turn {turn}"), *call("same"), *result("same"))
        assert kinds(conversation) == ["Answer", "CardGroup", "Answer", "CardGroup"]
        assert [item.plain() for item in conversation.query(Answer)] == ["turn 1", "turn 2"]
        assert [card.state for card in conversation.query(ToolCard)] == ["done", "done"]


async def test_the_end_is_followed_until_someone_scrolls_up() -> None:
    conversation = Conversation()
    async with Host(conversation).run_test(size=(60, 20)) as pilot:

        def shown() -> str:
            return text(pilot.app)

        await told(conversation, *answer("t", "first words"))
        await pilot.pause()
        assert "first words" in "\n".join(shown().split("\n")[:3])
        await told(conversation, *answer("u", "a line\n\n" * 40 + "the end", end=False))
        assert await becomes(pilot, lambda: "the end" in shown())
        conversation.scroll_up(animate=False)
        await pilot.pause()
        for number in range(5):
            await told(conversation, SegmentEvent(EventType.CONTENT, "u", delta=f"\n\nmore {number}" * 30))
            await pilot.pause()
        assert not conversation.following
        assert "more" not in shown()
        assert await becomes(pilot, lambda: "↓ new below" in shown())
        conversation.focus()
        await pilot.press("end")
        assert await becomes(pilot, lambda: "more 4" in shown() and "↓ new below" not in shown())
        conversation.scroll_home(animate=False)
        assert await becomes(pilot, lambda: "first words" in shown())
        conversation.ask("another question")
        assert await becomes(pilot, lambda: "another question" in shown())


async def test_the_end_does_not_jump_where_a_page_is_full() -> None:
    heights: list[int] = []

    class Watched(Conversation):
        def _size_updated(self, size: Size, virtual_size: Size, container_size: Size, layout: bool = True) -> bool:
            heights.append(virtual_size.height)
            return super()._size_updated(size, virtual_size, container_size, layout)

    conversation = Watched()
    code = "".join(f"line {number} = 'of some code'\n" for number in range(36))
    async with Host(conversation).run_test(size=(60, 20)) as pilot:
        conversation.take(SegmentEvent(EventType.START, "t", segment_type=SegmentType.TEXT))
        for piece in pieces("".join(f"```python\n{code}```\n\nwords\n\n" for _ in range(8)), 200):
            await told(conversation, SegmentEvent(EventType.CONTENT, "t", delta=piece))
            await pilot.pause()
    assert max(heights) > 300
    assert max(before - after for before, after in itertools.pairwise(heights)) < 10


async def test_the_scroll_bar_shows_where_one_is() -> None:
    conversation = Conversation()
    async with Host(conversation).run_test(size=(60, 20)) as pilot:
        await told(conversation, *answer("t", "a line\n\n" * 100))
        bar = conversation.vertical_scrollbar
        assert isinstance(bar, QuietBar)
        assert await becomes(pilot, lambda: conversation.following and bar.thumb[1] == bar.size.height)
        conversation.scroll_home(animate=False)
        assert await becomes(pilot, lambda: bar.thumb[0] == 0)
        rows = bar.render_lines(Region(0, 0, 1, bar.size.height))
        first, last = bar.thumb
        assert {segment.style.meta["@mouse.down"] for row in rows[first:last] for segment in row if segment.style} == {
            "grab"
        }
        assert [id(row) for row in rows] == [id(row) for row in bar.render_lines(Region(0, 0, 1, bar.size.height))]
        await pilot.click(bar, offset=(0, bar.size.height - 1))
        assert await becomes(pilot, lambda: conversation.scroll_y > 0)


async def test_walking_and_copying() -> None:
    conversation = Conversation()
    app = Host(conversation, Input())
    async with app.run_test(size=(60, 30)) as pilot:
        conversation.ask("the [red]question")
        await told(conversation, *answer("t", "the *answer*"), *call("c"), *result("c"))
        conversation.focus()
        for key, focused in [("up", ToolCard), ("k", Answer), ("y", Answer), ("up", Question), ("j", Answer)]:
            await pilot.press(key)
            assert type(app.focused) is focused
        assert app.clipboard == "the *answer*"
        await pilot.press("up", "c")
        assert app.clipboard == "the [red]question"
        assert "the [red]question" in text(app)
        await pilot.press("up", "j", "down", "down")
        assert type(app.focused) is Input


async def test_a_long_question_opens() -> None:
    conversation = Conversation()
    async with Host(conversation).run_test(size=(60, 60)) as pilot:
        conversation.ask("\n".join(f"line {number}" for number in range(40)))
        await pilot.pause()
        assert "line 12" not in text(pilot.app)
        assert "28 more lines (Enter opens)" in text(pilot.app)
        conversation.query_one(Question).focus()
        await pilot.press("enter")
        await pilot.pause()
        assert "line 39" in text(pilot.app)


async def test_old_items_go_and_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolwire.tui.conversation.MOST_ITEMS", 40)
    conversation = Conversation()
    async with Host(conversation).run_test(size=(60, 20)) as pilot:
        for number in range(70):
            conversation.ask(f"question {number}")
            if not number % 10:
                await told(
                    conversation,
                    *answer(f"t{number}", f"answer *{number}*"),
                    *call(f"c{number}"),
                    *result(f"c{number}"),
                )
        await told(conversation)
        await pilot.pause()
        await told(conversation)
        assert len(conversation._places) <= 40
        gone = len(conversation._earlier)
        assert gone > 0
        assert conversation.card("c0") is None
        conversation.scroll_home(animate=False)
        await pilot.pause()
        assert f"▲ {gone:,} earlier items" in text(pilot.app) or len(conversation._earlier) < gone
        for _ in range(20):
            if not len(conversation._earlier):
                break
            conversation.scroll_to(y=5, animate=False)
            await pilot.pause()
            conversation.scroll_home(animate=False)
            await pilot.pause()
            await pilot.pause()
        assert not len(conversation._earlier)
        questions = [item.plain() for item in conversation.query(Question)]
        assert questions == [f"question {number}" for number in range(70)]
        assert conversation.query(Answer).first().plain() == "answer *0*"
        assert not conversation.following
        conversation.action_follow()
        await pilot.pause()
        await conversation.draw()
        assert len(conversation._places) <= 40


async def test_what_is_kept_of_old_items_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(past, "KEPT", 1_000)
    earlier = past.Earlier()
    for number in range(50):
        item = past.Past(f"{number}: " + "x" * 96)
        earlier.add(len(item.plain()), item.again())
    assert len(earlier) == 10
    assert earlier.words() == "▲ 10 earlier items · 40 items before that are not kept here; the session has them"
    assert [item.plain()[:2] for item, _ in earlier.take(3)] == ["47", "48", "49"]


async def test_another_conversation_is_shown() -> None:
    conversation = Conversation()
    app = Host(conversation)
    async with app.run_test(size=(60, 20)) as pilot:
        conversation.ask("the old one")
        await told(conversation, *answer("t", "of yesterday", end=False))
        past_events: list[Message | AgentEvent] = []
        for number in range(80):
            past_events += [
                Message("user", f"question {number}"),
                *answer("0", f"answer {number}"),
                *call("c"),
                *result("c"),
                END,
            ]
        await conversation.show(past_events)
        await conversation.draw(now=True)
        await pilot.pause()
        shown = text(app)
        assert "answer 79" in shown
        assert "2 turns · 1,234 tokens in, 56 out\n" in shown + "\n"
        assert "yesterday" not in shown
        assert len(conversation._places) <= MOST_ITEMS
        assert len(conversation._earlier) == 320 - len(conversation._places)
        await conversation.show([])
        await pilot.pause()
        assert kinds(conversation) == []
        assert not text(app).strip()


async def test_a_command_of_the_person() -> None:
    class Run:
        command, state, ending, text = "ls", "running", "running for 1 s", "a\nb"

        def tail(self, lines: int) -> str:
            return "\n".join(f"file {number}" for number in range(40 - lines, 40))

    conversation = Conversation()
    async with Host(conversation).run_test(size=(60, 30)) as pilot:
        show = conversation.shell("ls [red]")
        seen = Run()
        show(seen)  # type: ignore[arg-type]
        await conversation.draw()
        await pilot.pause()
        assert "! ls [red]" in text(pilot.app)
        assert "running for 1 s" in text(pilot.app)
        seen.state, seen.ending = "ended", "exit code 0 after 1 s"
        show(seen)  # type: ignore[arg-type]
        await conversation.draw()
        await pilot.pause()
        assert "exit code 0" in text(pilot.app)
        assert not conversation.query_one(ShellItem).live


async def test_problems_and_notes() -> None:
    conversation = Conversation()
    async with Host(conversation).run_test(size=(60, 20)) as pilot:
        conversation.note("- a *list*")
        conversation.note("it [b]failed\x1b[2J", kind="problem", hint="Do this.")
        await conversation.draw(now=True)
        await pilot.pause()
        shown = text(pilot.app)
        assert "• a list" in shown
        assert "✗ it [b]failed␛[2J" in shown
        assert "→ Do this." in shown
        assert conversation.query_one(Note).plain() == "- a *list*"


async def test_streaming_is_painted_seldom_stays_small_and_loses_nothing() -> None:
    """The short form of bench/chat/streaming.py: counts, no times."""
    conversation = Conversation()
    app = Host(conversation, Input())
    said = sum(len(BLOCKS[turn % len(BLOCKS)] + "".join(BLOCKS)) for turn in range(2) for _ in range(6))
    async with app.run_test(size=(120, 40)) as pilot:
        app.query_one(Input).focus()
        events = 0
        mounted = 0
        for number, event in enumerate(run(0, 6 * 3_500, turns=2)):
            conversation.take(event)
            events += 1
            if not number % 400:
                await asyncio.sleep(0.01)
                await conversation.draw()
                mounted = max(mounted, len(conversation.query("*")))
        await conversation.draw(now=True)
        await pilot.press("x")
        assert app.query_one(Input).value == "x"
        assert events > 9_000
        assert conversation.draws < events / 50
        assert mounted < 100
        assert sum(place.lines for place in conversation._places) <= MOST_LINES + 400
        texts = [item.text for item in conversation.query(Answer)]
        kept = sum(size for size, *_ in conversation._earlier._kept)
        assert sum(map(len, texts)) + kept >= said
        assert conversation.query(ToolCard).last().state == "done"


async def test_events_of_an_app_that_is_closing_do_no_harm() -> None:
    conversation = Conversation()
    async with Host(conversation).run_test(size=(60, 20)):
        pass
    for event in (*answer("t", "words"), *call("c"), *result("c"), END):
        conversation.take(event)


def test_every_item_can_be_copied_and_come_back() -> None:
    items: list[Widget] = [Question("q"), Note("n"), past.Past("p"), Answer("a", ended=True)]
    assert [item.again()().plain() for item in items] == ["q", "n", "p", "a"]  # type: ignore[attr-defined]


async def test_a_long_session_is_shown_by_its_end_and_the_rest_comes_back() -> None:
    conversation = Conversation()
    async with Host(conversation).run_test(size=(80, 24)) as pilot:
        past: list[Message | AgentEvent] = []
        for number in range(300):
            past += [Message("user", f"question {number}"), *answer(f"a{number}", f"the **answer** {number}")]
        await conversation.show(past)
        assert len(conversation._places) <= MOST_ITEMS
        assert len(conversation._routing.live) <= MOST_ITEMS
        await conversation.draw(now=True)
        await pilot.pause()
        assert "the answer 299" in text(pilot.app)
        assert len(conversation._earlier) + len(conversation._places) == 600
