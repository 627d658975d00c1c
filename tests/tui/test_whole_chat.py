"""The chat as a person has it, against a provider on loopback: recorded streams, and answers that wait half way."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import corpus
from toolwire.cli.assembly import Options
from toolwire.messages import ToolResultPart
from toolwire.testing.bodies import body, events
from toolwire.testing.pieces import Call, End, HalfCall, Text, Thought
from toolwire.tui.cards import ToolCard
from toolwire.tui.prompt import Prompt
from toolwire.tui.questions.attention import SETTLE_SECONDS
from tui.chatting import Chat, Slow, chat, home
from tui.gallery import keep

__all__ = ["home"]

WIRE = "openai-chat"
DONE = body(WIRE, Text("All done."), End())


def recorded(case: str) -> bytes:
    return corpus.body(next(row for row in corpus.index() if row["case"] == case))


def in_pieces(data: bytes, count: int = 40) -> Slow:
    """A recording that comes bit by bit, without waiting for anybody."""
    size = max(1, len(data) // count)
    slow = Slow(*(data[at : at + size] for at in range(0, len(data), size)))
    slow.go_on(len(slow.pieces))
    return slow


def tools_file(folder: Path, *functions: str) -> Options:
    path = folder / "mine.py"
    path.write_text("import time\nimport toolwire\n\n" + "\n\n".join(functions) + "\n")
    return Options(no_mcp=True, tools="demo", files=(str(path),))


def cards(open_chat: Chat) -> list[ToolCard]:
    return list(open_chat.app.query(ToolCard))


def states(open_chat: Chat) -> list[str]:
    return [str(card.state) for card in cards(open_chat)]


async def answer(open_chat: Chat, *keys: str) -> None:
    """Presses keys once the question takes them."""
    await open_chat.pilot.pause(SETTLE_SECONDS + 0.1)
    await open_chat.pilot.press(*keys)


ADD = "@toolwire.tool(risk='write')\ndef add(x: int, y: int) -> str:\n    'Adds.'\n    return f'the sum is {x + y}'"
WEATHER = (
    "@toolwire.tool(risk='read')\ndef weather(location: str) -> str:\n    'Weather.'\n    return f'18 C in {location}'"
)
REPORT = (
    "@toolwire.tool(risk='write')\ndef file_report(title: str = '', report: str = '') -> str:\n    'Files it.'\n"
    "    return 'filed'"
)
SLOW = (
    "@toolwire.tool(risk='read')\ndef slow(seconds: float) -> str:\n    'Takes long.'\n"
    "    for _ in range(int(seconds * 100)):\n        time.sleep(0.01)\n    return 'over'"
)


@corpus.needs_corpus
async def test_a_recorded_answer_is_laid_out_as_markdown(home: Path) -> None:
    stream = in_pieces(recorded("vercel-ai/alibaba-chat/alibaba-alibaba-text"))
    async with chat(home, stream) as open_chat:
        await open_chat.type("Tell me")
        await open_chat.until_ready()
        assert open_chat.talk.agent.messages[-1].text
        await open_chat.until_seen("1 turn", "ready")
        assert "**" not in open_chat.screen()


ANSWER = """\
Two things are wrong in `parse_dates`:

1. **The zone is lost.** `strptime` gives a naive time, which is then taken for local time.
2. The loop reads the *whole* file before it looks at the first line.

```python
def parse_dates(lines: Iterable[str]) -> Iterator[datetime]:
    for line in lines:  # one at a time
        yield datetime.fromisoformat(line).astimezone(UTC)
```

| file | lines | time |
|------|------:|-----:|
| small.log | 1,000 | 3 ms |
| large.log | 2,000,000 | 4.1 s |
"""


async def test_an_answer_is_laid_out(home: Path) -> None:
    said = body(
        WIRE, Thought("The zone is lost somewhere. Let me look at how the lines are read."), Text(ANSWER), End()
    )
    async with chat(home, said, size=(100, 34)) as open_chat:
        await open_chat.type("Why are the times in the report wrong?")
        await open_chat.until_seen("large.log", "Thought", "ready")
        assert "```" not in open_chat.screen()
        keep(open_chat.app, "10-an-answer", "An answer", "Markdown while it streams; reasoning is folded to one line.")


@corpus.needs_corpus
async def test_reasoning_is_folded_and_its_call_runs(home: Path) -> None:
    stream = in_pieces(recorded("vercel-ai/openai-compatible-chat/openai-compatible-chat-xai-tool-call"))
    async with chat(home, stream, DONE, options=tools_file(home, WEATHER)) as open_chat:
        await open_chat.type("Weather?")
        await open_chat.until_seen("All done.", "18 C in San Francisco", "Thought")
        assert states(open_chat) == ["done"]
        reasoning = "San Francisco"
        assert open_chat.screen().count(reasoning) < 4


@corpus.needs_corpus
async def test_parallel_calls_are_answered_in_any_order(home: Path) -> None:
    stream = in_pieces(recorded("rig/ollama-chat/ollama-streaming_grammar-same_tool_twice"))
    done = body("ollama", Text("All done."), End())
    options = tools_file(home, ADD)
    async with chat(home, stream, done, model="ollama:qwen3", options=options, size=(120, 40)) as open_chat:
        await open_chat.type("Add")
        await open_chat.until(lambda: states(open_chat) == ["waiting"] * 4, "four calls wait")
        await open_chat.until_seen("1 of 4")
        await answer(open_chat, "tab", "tab")
        await answer(open_chat, "y")
        await open_chat.until(lambda: states(open_chat).count("done") == 1)
        assert states(open_chat)[2] == "done"
        await answer(open_chat, "n")
        await open_chat.until(lambda: "denied" in states(open_chat))
        await answer(open_chat, "y")
        await open_chat.until(lambda: states(open_chat).count("done") == 2)
        await answer(open_chat, "y")
        await open_chat.until_ready()
        assert sorted(states(open_chat)) == ["denied", "done", "done", "done"]
        results = open_chat.talk.agent.messages[-2].parts
        assert [part.is_error for part in results if isinstance(part, ToolResultPart)].count(True) == 1
        assert all(isinstance(part, ToolResultPart) for part in results)


@corpus.needs_corpus
async def test_a_call_that_the_token_limit_cut_is_shown_as_incomplete_and_never_asked_about(home: Path) -> None:
    case = "rig/openai-chat/openai-chat_tool_truncation_matrix-streaming_gpt41_mid_agent"
    async with chat(home, in_pieces(recorded(case)), DONE, options=tools_file(home, REPORT)) as open_chat:
        await open_chat.type("Report")
        await open_chat.until_ready()
        assert states(open_chat) == ["incomplete"]
        assert "incomplete" in open_chat.screen()
        assert not open_chat.app.person.waiting


async def test_a_file_appears_while_it_is_written(home: Path) -> None:
    lines = "".join(f"def number_{at}() -> int:\\n    return {at}\\n\\n\\n" for at in range(30))
    made = events(WIRE, Call("c1", "write_file", f'{{"path": "numbers.py", "content": "{lines}"}}'), End())
    last = next(at for at, event in enumerate(made) if b"number_29" in event)
    stream = Slow(b"".join(made[:last]), b"".join(made[last:]))
    async with chat(home, stream, DONE, options=Options(no_mcp=True), size=(100, 40)) as open_chat:
        await open_chat.type("Write it")
        await open_chat.until_seen("numbers.py", "def number_12", "streaming")
        assert "number_20" not in open_chat.screen()
        assert not (home / "numbers.py").exists()
        stream.go_on(2)
        await open_chat.until(lambda: states(open_chat) == ["waiting"])
        await open_chat.until_seen("write_file", "numbers.py", "risk")
        keep(open_chat.app, "30-the-question-before-it-runs", "The question before it runs")
        await answer(open_chat, "y")
        await open_chat.until_ready()
        assert (home / "numbers.py").read_text().count("return") == 30
        assert states(open_chat) == ["done"]


BEFORE = '''\
from collections import Counter


def count_words(text: str) -> Counter[str]:
    """Count how often each word occurs."""
    return Counter(text.lower().split())
'''


@pytest.fixture
def short_home(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder whose name is as long in every run: what is on the screen depends on that."""
    with tempfile.TemporaryDirectory(prefix="tmp", dir="/tmp") as folder:
        monkeypatch.chdir(folder)
        monkeypatch.setenv("XDG_CONFIG_HOME", f"{folder}/.config")
        yield Path(folder)
        monkeypatch.chdir(home)


async def test_an_edit_is_asked_about_as_a_diff(short_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first picture of the README, so that it is compared with the one that is kept."""
    home = short_home
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    (home / "words.py").write_text(BEFORE)
    arguments = {
        "path": "words.py",
        "old_text": "return Counter(text.lower().split())",
        "new_text": 'return Counter(word.strip(".,;:!?") for word in text.lower().split())',
    }
    edit = Call("c1", "edit_file", json.dumps(arguments))
    said = Text("`split()` keeps the punctuation with the word, so `end.` and `end` differ. I strip it:")
    first = body(WIRE, said, edit, End())
    options = Options(no_mcp=True)
    async with chat(home, first, DONE, model="openai:gpt-4.1", options=options, size=(100, 40)) as open_chat:
        await open_chat.type("count_words() in words.py counts 'end.' and 'end' as two words. Fix it.")
        await open_chat.until_seen("+    return Counter(word.strip", "once", "risk")
        assert (home / "words.py").read_text() == BEFORE
        words = "An edit waits for approval: the chat shows what would change before it does."
        keep(open_chat.app, "00-the-chat", "toolwire chat", words, folder=str(home))
        await answer(open_chat, "y")
        await open_chat.until_seen("All done.")
        assert '.strip(".,;:!?")' in (home / "words.py").read_text()


@pytest.mark.parametrize("key", ["escape", "ctrl+c"])
@pytest.mark.parametrize("state", ["asking", "text", "streaming", "waiting", "running"])
async def test_an_answer_is_interrupted_in_every_state_and_the_chat_goes_on(home: Path, state: str, key: str) -> None:
    call = events(WIRE, Text("I shall. "), Call("c1", "slow", '{"seconds": 30}'), End())
    asks = events(WIRE, Call("c1", "add", '{"x": 1, "y": 2}'), End())
    half = events(WIRE, Text("I shall. "), HalfCall("c1", "slow", '{"seconds": 3'))
    text = events(WIRE, Text("Here is "), End())
    answers: dict[str, bytes | Slow] = {
        "asking": Slow(b"", DONE),
        "text": Slow(b"".join(text[:2]), DONE),
        "streaming": Slow(b"".join(half), DONE),
        "waiting": b"".join(asks),
        "running": b"".join(call),
    }
    async with chat(home, answers[state], DONE, options=tools_file(home, ADD, SLOW)) as open_chat:
        await open_chat.type("Go")
        seen = {"text": "Here", "streaming": "streaming", "waiting": "risk", "running": "running"}
        if state == "asking":
            await open_chat.until(lambda: open_chat.provider.bodies)
        else:
            await open_chat.until_seen(seen[state])
        await open_chat.pilot.press(key)
        await open_chat.until_ready()
        await open_chat.until_seen("nterrupted", "ready")
        assert not open_chat.app.person.waiting
        assert set(states(open_chat)) <= {"cancelled", "incomplete"}
        await open_chat.type("And now?")
        await open_chat.until_seen("All done.")
        assert open_chat.talk.agent.messages[-1].text == "All done."


async def test_what_is_typed_meanwhile_waits_its_turn(home: Path) -> None:
    first, *rest = events(WIRE, Text("One moment."), End())
    stream = Slow(first + rest.pop(0), b"".join(rest))
    async with chat(home, stream, DONE) as open_chat:
        await open_chat.type("First")
        await open_chat.until_seen("One")
        await open_chat.type("Second")
        await open_chat.until_seen("⧗ Second")
        assert len(open_chat.provider.bodies) == 1
        stream.go_on(len(stream.pieces))
        await open_chat.until_seen("All done.")
        assert b"Second" in open_chat.provider.bodies[1]
        assert "⧗" not in open_chat.screen()


async def test_what_waits_comes_back_to_be_edited_after_an_interruption(home: Path) -> None:
    first, *rest = events(WIRE, Text("One moment."), End())
    stream = Slow(first + rest.pop(0), b"".join(rest))
    async with chat(home, stream, DONE) as open_chat:
        await open_chat.type("First")
        await open_chat.until_seen("One")
        await open_chat.type("Second")
        await open_chat.until_seen("⧗ Second")
        await open_chat.pilot.press("escape")
        await open_chat.until_ready()
        assert open_chat.app.query_one(Prompt).text == "Second"
        assert len(open_chat.provider.bodies) == 1


async def test_a_session_goes_on_where_it_was(home: Path) -> None:
    first = body(WIRE, Thought("Let me see."), Text("It is **four**."), Call("c1", "add", '{"x": 1, "y": 3}'), End())
    options = tools_file(home, ADD)
    async with chat(home, first, DONE, options=options) as open_chat:
        await open_chat.type("What is it?")
        await open_chat.until_seen("risk")
        await answer(open_chat, "y")
        await open_chat.until_ready()
        assert open_chat.talk.session is not None
        id = open_chat.talk.session.id
    async with chat(home, body(WIRE, Text("Still four."), End()), resume=id, options=options) as open_chat:
        await open_chat.until_seen("What is it?", "It is four.", "the sum is 4", "All done.")
        assert states(open_chat) == ["done"]
        await open_chat.type("And now?")
        await open_chat.until_seen("Still four.")
        assert b"It is **four**." in open_chat.provider.bodies[0]


async def test_commands_work_at_the_screen(home: Path) -> None:
    async with chat(home, DONE) as open_chat:
        await open_chat.type("/help")
        await open_chat.until_seen("/model", "/quit")
        await open_chat.type("/mode")
        await open_chat.until_seen("What runs without a question?")
        await open_chat.pilot.press("down", "enter")
        await open_chat.until(lambda: str(open_chat.talk.mode) != "ask")
        await open_chat.type("/nosuch")
        await open_chat.until_seen("no command /nosuch")
        await open_chat.type("!echo out of the shell")
        await open_chat.until_seen("out of the shell", "exit code 0")
        await open_chat.type("What did it say?")
        await open_chat.until_ready()
        assert b"out of the shell" in open_chat.provider.bodies[0]
        await open_chat.type("/new")
        await open_chat.until(lambda: "All done." not in open_chat.screen())
        await open_chat.type("/quit")
        await open_chat.until(lambda: not open_chat.app.is_running)


async def test_the_wire_opens_beside_the_conversation(home: Path) -> None:
    async with chat(home, DONE, size=(140, 40)) as open_chat:
        await open_chat.type("Go")
        await open_chat.until_seen("All done.")
        await open_chat.pilot.press("f2")
        await open_chat.until_seen("finish_reason", "[DONE]")
        keep(open_chat.app, "50-what-the-provider-really-sends", "What the provider really sends")
        await open_chat.pilot.press("f2")
        await open_chat.until(lambda: "[DONE]" not in open_chat.screen())


async def test_a_provider_that_fails_is_told_of_with_what_to_do(home: Path) -> None:
    async with chat(home, b"data: nonsense\n\n", DONE) as open_chat:
        await open_chat.type("Go")
        await open_chat.until_ready()
        await open_chat.until_seen("ready")
        await open_chat.type("Again")
        await open_chat.until_seen("All done.")


@pytest.mark.thorough
@pytest.mark.parametrize("size", [(80, 24), (200, 50), (40, 12)])
@pytest.mark.parametrize("theme", ["dark", "light"])
async def test_every_size_and_both_themes(home: Path, size: tuple[int, int], theme: str) -> None:
    first = body(WIRE, Text("Look."), Call("c1", "add", '{"x": 1, "y": 3}'), End())
    async with chat(home, first, DONE, options=tools_file(home, ADD), size=size, theme=theme) as open_chat:
        await open_chat.type("Go")
        await open_chat.until(lambda: open_chat.app.person.waiting)
        await open_chat.until_seen("y")
        if theme == "light" and size == (80, 24):
            keep(open_chat.app, "62-on-a-light-terminal", "toolwire chat --theme light")
        await answer(open_chat, "y")
        await open_chat.until_seen("All done.")
