"""A conversation made shorter: what goes first, what stays, and that every provider takes the rest."""

from __future__ import annotations

from time import thread_time

import pytest
from bench.trust.compaction import conversations_shortened

from toolwire.agent.compaction import KEPT_TURNS, LEFT_OUT, NOTE_CHARACTERS, NOTE_START, OLD_RESULT, Shorter, compact
from toolwire.agent.sizes import size_of
from toolwire.messages import (
    MediaPart,
    Message,
    Part,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolResultPart,
    system,
    user,
)

LONG = "begin " + "x" * 8_000 + " end"


def turn(number: int, result: str | list[TextPart | MediaPart] = LONG, arguments: str = "") -> list[Message]:
    """An answer with a call, and its result."""
    call = ToolCallPart(f"c{number}", "look", {"at": arguments or str(number)})
    thought = ThinkingPart("hm", {"wire": "anthropic", "signature": "s"})
    return [
        Message("assistant", [thought, call], origin="anthropic"),
        Message("tool", [ToolResultPart(f"c{number}", "look", result)]),
    ]


def turns(*numbers: int, result: str = LONG) -> list[Message]:
    return [message for number in numbers for message in turn(number, result)]


def answer(text: str = "So it is.") -> Message:
    return Message("assistant", text)


def size(messages: list[Message]) -> int:
    return sum(map(size_of, messages))


def shortened(messages: list[Message], enough: int, *, hard: bool = False) -> Shorter:
    shorter = compact(messages, size_of, enough, hard=hard)
    assert shorter is not None
    assert size(shorter.messages) < size(messages)
    return shorter


def results(messages: list[Message]) -> dict[str, str]:
    return {
        part.id: part.content if isinstance(part.content, str) else "list"
        for message in messages
        for part in message.parts
        if isinstance(part, ToolResultPart)
    }


def note(messages: list[Message]) -> str:
    (found,) = [
        part.text
        for message in messages
        for part in message.parts
        if isinstance(part, TextPart) and part.text.startswith(NOTE_START)
    ]
    return found


def test_the_oldest_results_go_first_and_only_as_many_as_it_takes() -> None:
    messages = [system("Be brief."), user("Look."), *turns(1, 2, 3, 4, 5, 6)]
    shorter = shortened(messages, size(messages) - 3_000)
    cut = [id for id, text in results(shorter.messages).items() if LEFT_OUT in text]
    assert cut == ["c1", "c2"]
    assert shorter.notes == ["2 tool results are no longer sent in full: 15,088 characters were left out"]
    first = results(shorter.messages)["c1"]
    assert first.startswith("begin xxx")
    assert first.endswith("xxx end")
    assert len(first) < OLD_RESULT + 100
    assert [new is old for new, old in zip(shorter.messages, messages, strict=True)].count(False) == 2


def test_the_results_of_the_last_turns_stay_as_they_are() -> None:
    messages = [user("Look."), *turns(*range(8))]
    shorter = shortened(messages, size(turns(1)) * KEPT_TURNS + 1_000)
    assert shorter.messages[-2 * KEPT_TURNS :] == messages[-2 * KEPT_TURNS :]
    assert [text == LONG for text in results(shorter.messages).values()] == [False] * 5 + [True] * 3


def test_media_of_earlier_questions_are_mentioned() -> None:
    picture = MediaPart("image/png", data="AAAA", name="a.png")
    asked: list[Part] = [TextPart("What is this?"), picture]
    messages = [Message("user", asked), answer("A cat."), Message("user", list(asked)), answer("A dog."), user("Sure?")]
    shorter = shortened(messages, size(messages) - 2_000)
    assert shorter.messages[0].text == shorter.messages[2].text
    assert shorter.messages[0].text == "What is this?[a.png, image/png, 3 bytes: cannot be shown here]"
    assert shorter.notes == ["2 pictures and files are no longer sent, but mentioned by name"]
    assert compact([*messages[:3]], size_of, size(messages[:3]) - 1_000) is not None
    assert compact(messages[2:3], size_of, 0, hard=True) is None, "what was just asked is left alone"


def test_media_in_results() -> None:
    content: list[TextPart | MediaPart] = [TextPart(LONG), MediaPart("image/png", data="AAAA")]
    messages = [user("Look."), *turn(0, content), *turns(1, 2, 3, result="short")]
    shorter = shortened(messages, size(messages) - 3_000)
    (part,) = shorter.messages[2].parts
    assert isinstance(part, ToolResultPart)
    assert isinstance(part.content, list)
    text, mentioned = part.content
    assert isinstance(text, TextPart)
    assert LEFT_OUT in text.text
    assert mentioned == TextPart("[image/png, 3 bytes: cannot be shown here]")
    assert len(shorter.notes) == 2


def test_questions_go_with_all_that_was_answered_to_them() -> None:
    messages = [
        system("Be brief."),
        user(f"First: {'a ' * 3_000}"),
        *turns(1, 2, result="short"),
        answer(),
        user(f"Second: {'b ' * 3_000}"),
        answer("Well."),
        user("Third?"),
    ]
    shorter = shortened(messages, 1_900)
    assert [message.role for message in shorter.messages] == ["system", "user", "assistant", "user"]
    assert shorter.messages[0] is messages[0]
    assert shorter.messages[2:] == messages[-2:]
    said = note(shorter.messages)
    assert said.startswith(f"{NOTE_START}6 of its messages")
    lines = said.split("\n")[1:]
    assert lines[0].startswith("- The user said: First: a a a")
    assert lines[0].endswith("…")
    assert lines[1:3] == ['- You called look {"at":"1"}', '- You called look {"at":"2"}]']
    assert shorter.messages[1].parts[1:] == messages[7].parts, "the question itself is whole"
    assert shorter.notes == ["6 old messages are no longer sent"]


def test_of_one_long_task_the_first_turns_go() -> None:
    messages = [user("Do all of it."), *[each for number in range(10) for each in turn(number, "ok", "z" * 4_000)]]
    shorter = shortened(messages, 5_000)
    assert shorter.messages[0].text.endswith("Do all of it.")
    assert list(results(shorter.messages)) == ["c6", "c7", "c8", "c9"]
    assert note(shorter.messages).count("- You called look ") == 6
    assert len(note(shorter.messages)) < NOTE_CHARACTERS
    assert len(list(results(shortened(messages, 0).messages))) == KEPT_TURNS
    assert list(results(shortened(messages, 0, hard=True).messages)) == ["c9"]


def test_a_second_time_goes_on_from_the_first() -> None:
    messages = [user("Do all of it."), *[each for number in range(10) for each in turn(number, "ok", "z" * 4_000)]]
    once = shortened(messages, 7_500).messages
    twice = shortened(once, 4_500).messages
    assert note(once).startswith(f"{NOTE_START}8 ")
    assert note(twice).startswith(f"{NOTE_START}14 ")
    assert note(twice).count("You called") == 7
    assert compact(twice, size_of, 4_500) is None
    after = [*twice, answer(), user("And now?"), answer(), user("Again?")]
    shorter = shortened(after, 40).messages
    assert [message.role for message in shorter] == ["user"]
    assert note(shorter).startswith(f"{NOTE_START}{len(messages) + 3} ")
    assert "\n- The user said: Do all of it.\n" in note(shorter), "what it all began with is not forgotten"


def test_the_note_is_bounded() -> None:
    messages = [message for number in range(500) for message in (user(f"{number} {'word ' * 100}"), answer())]
    shorter = shortened([*messages, user("So?")], 3_000)
    lines = note(shorter.messages).split("\n")
    assert len(note(shorter.messages)) < 1_000
    assert "The user said: 0 word" in lines[1]
    said = [int(line.removeprefix("- The user said: ").split()[0]) for line in lines[2:] if line.startswith("- ")]
    assert said == sorted(said), "in their order"
    assert said[-1] == 500 - len(shorter.messages) // 2 - 1, "the last that went"


def test_no_more_is_taken_than_a_note_costs() -> None:
    messages = [user("Hi"), answer("Hello"), user("So?")]
    assert compact(messages, size_of, 0) is None
    assert compact(messages, size_of, 0, hard=True) is None
    pictured = [*messages[:2], Message("user", [MediaPart("image/png", data="AAAA")]), answer("A cat."), user("So?")]
    shorter = shortened(pictured, 0)
    assert shorter.messages[:2] == messages[:2]
    assert len(shorter.notes) == 1


def test_what_is_not_worth_a_note_goes_where_there_is_one() -> None:
    messages = [user("Hi"), answer("Hello"), user("Do."), *[m for n in range(6) for m in turn(n, "ok", "z" * 4_000)]]
    shorter = shortened(messages, 0).messages
    assert note(shorter).startswith(f"{NOTE_START}8 ")
    assert compact(shorter, size_of, 0) is None


def test_where_it_must_be_the_last_results_are_shortened_too() -> None:
    messages = [user("Look."), *turns(1, 2)]
    assert compact(messages, size_of, 1_000) is None
    once = shortened(messages, 2_500, hard=True).messages
    assert [len(text) for text in results(once).values()] == [4_066, 4_066]
    last = shortened(messages, 0, hard=True).messages
    (left,) = results(last).values()
    assert len(left) < OLD_RESULT + 100
    assert compact(last, size_of, 0, hard=True) is None, "there is nothing left"


ODD: dict[str, list[Message]] = {
    "results after the user's words": [
        user("Look." * 900),
        turn(1)[0],
        user("Wait."),
        turn(1)[1],
        answer(),
        user("So?"),
    ],
    "a call that was never answered": [user("Look." * 900), turn(1)[0], user("Never mind. " * 900), user("So?")],
    "no question": [*turns(*range(9))],
    "answers in a row": [user("Look." * 900), answer("One"), answer("Two"), *turns(1), user("So?")],
    "nothing": [],
    "calls without ids": [
        user("Look." * 900),
        Message("assistant", [ToolCallPart("", "look")]),
        Message("tool", [ToolResultPart("", "look", LONG)]),
        user("So?"),
    ],
    "a result without a call": [
        user("Look." * 900),
        Message("tool", [ToolResultPart("c9", "look", LONG)]),
        user("So?"),
    ],
}


@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("hard", [False, True])
@pytest.mark.parametrize("share", [0.0, 0.5, 0.9])
def test_calls_stay_with_their_results_in_odd_conversations(name: str, hard: bool, share: float) -> None:
    shorter = compact(ODD[name], size_of, int(share * size(ODD[name])), hard=hard)
    messages = ODD[name] if shorter is None else shorter.messages
    made = {part.id for message in messages for part in message.tool_calls}
    kept = set(results(messages))
    before = {part.id for message in ODD[name] for part in message.tool_calls} & set(results(ODD[name]))
    assert made & before == kept & before
    if name not in ("nothing", "results after the user's words"):
        assert shorter is not None


def test_answers_in_a_row_go_together() -> None:
    """The provider paused in the middle of a turn: half of it is refused."""
    messages = [user("Do all of it.")]
    for number in range(8):
        messages += [Message("assistant", f"{number} {'y ' * 2_000}"), *turn(number, "ok", "z" * 4_000)]
    for enough in range(3_000, size(messages), 500):
        shorter = compact(messages, size_of, enough)
        if shorter is not None:
            paused = [message.text[0] for message in shorter.messages if message.role == "assistant" and message.text]
            assert [f"c{number}" for number in paused] == list(results(shorter.messages))


def test_a_thing_that_looks_like_a_note_is_no_fault() -> None:
    messages = [user(f"{NOTE_START}many of {'them ' * 900}"), answer(), user("So?")]
    assert note(shortened(messages, 0).messages).startswith(f"{NOTE_START}2 of its messages")


def test_random_conversations() -> None:
    found = conversations_shortened(150, 9)
    assert found.faults == []
    assert found.runs == 150


def test_time_grows_with_the_conversation_alone() -> None:
    def seconds(count: int) -> float:
        messages = [each for number in range(count) for each in (user("Look."), *turn(number, "short"), answer())]
        start = thread_time()
        assert compact([*messages, user("So?")], size_of, 100)
        return thread_time() - start

    seconds(100)
    assert min(seconds(4_000) for _ in range(3)) < 8 * min(seconds(1_000) for _ in range(3)) + 0.05


def test_calls_that_are_all_answered_at_the_end_take_no_longer() -> None:
    def seconds(count: int) -> float:
        turns = [turn(number, "short") for number in range(count)]
        calls = [each for call, _ in turns for each in (user("Look."), call)]
        start = thread_time()
        compact([*calls, *(results for _, results in turns), user("So?")], size_of, 100)
        return thread_time() - start

    seconds(100)
    assert min(seconds(2_000) for _ in range(2)) < 8 * min(seconds(500) for _ in range(3)) + 0.05
