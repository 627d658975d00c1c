"""A conversation whose agent is made anew: what goes over, what does not, and what a failed change leaves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from chat.talking import MODEL, talking, told
from toolwire.agent.events import RunFinished, ToolFinished
from toolwire.agent.sessions.store import Session
from toolwire.approval.policy import Mode
from toolwire.approval.rules import Decision, Rule
from toolwire.chat.retelling import retold
from toolwire.cli.assembly import Options
from toolwire.errors import ConfigError
from toolwire.messages import Message
from toolwire.testing import call, half_call, say, think, token_limit


async def test_what_was_said_goes_over_to_another_model(root: Path) -> None:
    async with talking(root, ["Hello.", "Still here."]) as talk:
        await told(talk, "Hi")
        url, before = talk.made.base_url, talk.agent
        talk.agent.policy.remember(Rule(decision=Decision.ALLOW, tool=("read_file",), source="session"))
        await talk.change(model="openai-compatible:other", base_url=url)
        assert talk.agent is not before
        assert [message.text for message in talk.agent.messages] == ["Hi", "Hello."]
        assert any(rule.source == "session" for rule in talk.agent.policy.rules)
        events = await told(talk, "And now?")
        assert isinstance(events[-1], RunFinished)
        assert events[-1].text == "Still here."
        assert [message.text for message in talk.agent.messages] == ["Hi", "Hello.", "And now?", "Still here."]
        assert set(talk.usage) == {MODEL, "openai-compatible:other"}
        assert talk.session is not None
        record = talk.record()
        assert record is not None
        assert [message.text for message in record.messages] == ["Hi", "Hello.", "And now?", "Still here."]


async def test_segment_ids_do_not_begin_anew_with_another_agent(root: Path) -> None:
    answers = [call("current_time", zone="UTC"), "Late.", call("current_time", zone="UTC"), "Later."]
    async with talking(root, answers) as talk:
        first = [event.id for event in await told(talk, "When?") if isinstance(event, ToolFinished)]
        await talk.change(model="openai-compatible:other", base_url=talk.made.base_url)
        second = [event.id for event in await told(talk, "And now?") if isinstance(event, ToolFinished)]
    assert len({*first, *second}) == 2


async def test_a_change_that_cannot_be_made_leaves_all_as_it_was(root: Path) -> None:
    async with talking(root, ["Hello.", "Yes."]) as talk:
        await told(talk, "Hi")
        before = talk.agent
        with pytest.raises(ConfigError, match="nosuchprovider"):
            await talk.change(model="nosuchprovider:x")
        with pytest.raises(ConfigError):
            await talk.change(stream_parser="nosuchformat")
        assert talk.agent is before
        assert talk.options.stream_parser is None
        assert isinstance((await told(talk, "There?"))[-1], RunFinished)


async def test_a_mode_holds_at_once_and_goes_over(root: Path) -> None:
    async with talking(root, ["Hello."]) as talk:
        assert str(talk.mode) == "ask"
        assert talk.set_mode("auto-edit") is Mode.AUTO_EDIT
        await talk.change(tools="demo")
        assert str(talk.mode) == "auto-edit"
        with pytest.raises(ConfigError):
            talk.set_mode("wide")
        assert str(talk.mode) == "auto-edit"


async def test_a_project_keeps_a_mode_narrow(root: Path) -> None:
    (root / ".toolwire").mkdir()
    (root / ".toolwire" / "policy.toml").write_text('mode = "ask"\n')
    async with talking(root) as talk:
        assert talk.set_mode("full") is Mode.ASK


async def test_another_conversation_begins_without_what_was_decided(root: Path) -> None:
    async with talking(root, ["One.", "Two."]) as talk:
        await told(talk, "First")
        first = talk.session
        talk.agent.policy.remember(Rule(decision=Decision.ALLOW, tool=("*",), source="session"))
        await talk.new()
        assert talk.agent.messages == []
        assert not any(rule.source == "session" for rule in talk.agent.policy.rules)
        await told(talk, "Second")
        assert first is not None
        assert talk.session is not None
        assert talk.session.id != first.id
        await talk.resume(first.id)
        assert [message.text for message in talk.agent.messages] == ["First", "One."]
        with pytest.raises(ConfigError, match="this is that session"):
            await talk.resume(first.id)


async def test_nothing_changes_while_an_answer_goes_on(root: Path) -> None:
    async with talking(root, ["Hello."]) as talk:
        async for _ in talk.run("Hi"):
            for change in (talk.change(tools="demo"), talk.new(), talk.resume("x"), talk.start_recording("x")):
                with pytest.raises(ConfigError, match="going on"):
                    await change
            with pytest.raises(ConfigError, match="going on"):
                talk.compact()
            with pytest.raises(ConfigError, match="going on"):
                await anext(aiter(talk.run("And?")))


async def test_a_recording_begins_and_ends_on_the_way(root: Path) -> None:
    from toolwire.agent.recordings.recorded import load_recording

    async with talking(root, ["One.", "Two.", "Three."]) as talk:
        await told(talk, "First")
        path = str(root / "run.jsonl")
        await talk.start_recording(path)
        with pytest.raises(ConfigError, match="being written"):
            await talk.start_recording(path + "2")
        await told(talk, "Second")
        assert await talk.stop_recording() == path
        await told(talk, "Third")
        with pytest.raises(ConfigError, match="nothing is being recorded"):
            await talk.stop_recording()
        assert talk.wire.count == 3
    assert [run.begin.prompt.text for run in load_recording(path).runs] == ["Second"]


async def test_without_a_store_nothing_is_kept(root: Path) -> None:
    async with talking(root, ["Hello.", "New."], keep=False) as talk:
        await told(talk, "Hi")
        assert talk.session is None
        assert talk.record() is None
        with pytest.raises(ConfigError, match="no sessions"):
            await talk.resume("x")
        await talk.new()
        assert talk.agent.messages == []


async def test_a_conversation_is_made_shorter_when_that_is_wanted(root: Path) -> None:
    (root / "long.txt").write_text("word " * 2_000)
    answers: list[Any] = []
    for _ in range(4):
        answers += [call("read_file", path="long.txt"), "Read."]
    async with talking(root, answers) as talk:
        for _ in range(4):
            await told(talk, "Read it")
        before = talk.agent.tokens()
        compacted = talk.compact()
        assert compacted is not None
        assert talk.agent.tokens() < 0.7 * before
        assert compacted.notes
        record = talk.record()
        assert record is not None
        assert len(record.messages) == len(talk.agent.messages)


async def test_tools_of_a_python_file_are_offered(root: Path) -> None:
    (root / "mine.py").write_text(
        "import toolwire\n\n@toolwire.tool(risk='read')\ndef shout(words: str) -> str:\n"
        "    'Says it louder.'\n    return words.upper()\n"
    )
    options = Options(no_mcp=True, tools="demo", files=(str(root / "mine.py"),))
    async with talking(root, [call("shout", words="hello"), "Done."], options=options) as talk:
        events = await told(talk, "Shout")
    assert [event.result.content for event in events if isinstance(event, ToolFinished)] == ["HELLO"]


async def test_what_was_kept_is_told_again_as_it_was(root: Path) -> None:
    answers = [
        [think("Let me see."), say("I look. "), call("current_time", zone="UTC"), call("nosuch", x=1)],
        [say("It is late.")],
        [half_call("current_time"), token_limit()],
    ]
    async with talking(root, answers) as talk:
        live = [*await told(talk, "When?"), *await told(talk, "Again?")]
        record = talk.record()
        assert record is not None
        again = list(retold(record.entries))
    questions = [each.text for each in again if isinstance(each, Message)]
    assert questions[:2] == ["When?", "Again?"]
    results = [(event.id, event.result.content) for event in live if isinstance(event, ToolFinished)]
    assert [(each.id, each.result.content) for each in again if isinstance(each, ToolFinished)] == results
    assert _words(again) == _words(live)
    msgspec.json.encode([each for each in again if not isinstance(each, Message)])


def _words(events: list[Any]) -> str:
    """All text and reasoning, in order."""
    kinds: dict[str, str] = {}
    said = []
    for event in events:
        if getattr(event, "segment_type", None):
            kinds[event.segment_id] = str(event.segment_type)
        if getattr(event, "delta", "") and kinds.get(event.segment_id) in ("text", "reasoning"):
            said.append(event.delta)
    return "".join(said)


async def test_a_recording_that_cannot_be_ended_goes_on(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = str(root / "kept.jsonl")
    async with talking(root, ["First."]) as talk:
        await talk.start_recording(path)

        def refuse(*_: Any, **others: Any) -> Any:
            raise ConfigError("not now")

        with monkeypatch.context() as patched:
            patched.setattr(talk.assembly, "make", refuse)
            with pytest.raises(ConfigError, match="not now"):
                await talk.stop_recording()
        assert talk.recording == path
        assert await talk.stop_recording() == path
        assert talk.recording == ""


async def test_a_new_session_that_cannot_be_begun_is_let_go(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with talking(root, ["First."]) as talk:
        assert talk.session is not None
        before, closed = talk.session.id, list[str]()
        close = Session.close

        def note(session: Session) -> None:
            closed.append(session.id)
            close(session)

        def refuse(*_: Any, **others: Any) -> Any:
            raise ConfigError("not now")

        with monkeypatch.context() as patched:
            patched.setattr(Session, "close", note)
            patched.setattr(talk.assembly, "make", refuse)
            with pytest.raises(ConfigError, match="not now"):
                await talk.new()
        assert talk.session.id == before
        assert len(closed) == 1
        assert before not in closed


async def test_an_address_whose_secret_was_not_kept_is_not_asked(root: Path) -> None:
    async with talking(root, ["First."]) as talk:
        assert talk.store is not None
        other = talk.store.create(model=MODEL, cwd=str(root), base_url="http://me:hunter2@127.0.0.1:9/v1")
        other.said(Message("user", "Hi"))
        other.close()
        with pytest.raises(ConfigError, match="was not kept"):
            await talk.resume(other.id)
        talk.store.open(other.id).close()
