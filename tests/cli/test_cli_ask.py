"""The approval question at a real pty: what it shows, and that nothing but a typed yes is a yes."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.cells import cell_len

from cli.asking import PROMPT, Person, person_at_terminal, request
from cli.terminal import CTRL_C, CTRL_D, Terminal
from toolwire import Risk, ToolDefinition
from toolwire.agent.events import ToolFinished
from toolwire.approval.gate import Denial, Gate, Ticket
from toolwire.approval.request import Answer, Scope
from toolwire.cli.screen import Screen
from toolwire.execution.executor import ToolResult
from toolwire.stream.invocation import ToolInvocation
from waiting import leap

CALL = {"command": "git push origin main", "timeout": 5}
OFFERS = ("git push origin main, exactly", "git push and what follows")
TOO_LONG = {"content": "\n".join(f"line {number}" for number in range(500)), "path": "a.md"}


@pytest.fixture
def person(monkeypatch: pytest.MonkeyPatch) -> Iterator[Person]:
    with person_at_terminal(monkeypatch) as person:
        yield person


ANSWERS: list[tuple[list[str], Answer]] = [
    (["y\n"], Answer(allowed=True)),
    (["YES\n"], Answer(allowed=True)),
    (["n\n"], Answer(allowed=False)),
    (["No\n"], Answer(allowed=False)),
    (["n because it is Friday\n"], Answer(allowed=False, reason="it is Friday")),
    (["no, ask Ann\n"], Answer(allowed=False, reason="ask Ann")),
    ([CTRL_D], Answer(allowed=False)),
    (["y" + CTRL_D + CTRL_D], Answer(allowed=False)),
    (["\n", "yes please\n", "yy\n", "ja\n", "ｙ\n", "1\n", "x y\n", "n\n"], Answer(allowed=False)),
    (["s 1\n"], Answer(allowed=True, scope=Scope.SESSION)),
    (["s 2\n"], Answer(allowed=True, scope=Scope.SESSION, offer=1)),
    (["a 2\n"], Answer(allowed=True, scope=Scope.ALWAYS, offer=1)),
    (["ns 1\n"], Answer(allowed=False, scope=Scope.SESSION)),
    (["NA 2\n"], Answer(allowed=False, scope=Scope.ALWAYS, offer=1)),
    (["ns 3\n", "na 0\n", "ns y\n", "n\n"], Answer(allowed=False)),
    (["n a\n"], Answer(allowed=False, reason="a")),
    (["s 3\n", "a 0\n", "s -1\n", "s y\n", "n\n"], Answer(allowed=False)),
    (["e x\n", "v x\n", "?\n", "y\n"], Answer(allowed=True)),
]


@pytest.mark.parametrize(("typed", "answer"), ANSWERS, ids=[repr(typed)[:40] for typed, _ in ANSWERS])
async def test_what_is_typed_is_the_answer(person: Person, typed: list[str], answer: Answer) -> None:
    assert await person.says(request(CALL, offers=OFFERS), *typed) == answer


async def test_the_question_tells_everything(person: Person) -> None:
    asked = request(
        CALL | {"url": "https://pаypal.com"},
        parts=("the command 'git push origin main'", "the path 'x'"),
        offers=OFFERS,
        repairs=["a comma was \x1b[2J left out"],
        why="a rule says ask for the command 'git push'",
        source="policy.toml:3",
    )
    await person.says(asked, "n\n")
    assert person.shown.split("\n") == [
        "  shell wants to run (risk: execute) in /project",
        "  Asked because a rule says ask for the command 'git push' (policy.toml:3)",
        "    │ command: git push origin main",
        "    │ timeout: 5",
        "    │ url: https://pаypal.com",
        "  - the command 'git push origin main'",
        "  - the path 'x'",
        "  Look out: url mixes Cyrillic and Latin letters in one word: pаypal (а is",
        "      U+0430)",
        "  Look out: url names the host pаypal.com, which is xn--pypal-4ve.com",
        "  The call was malformed and is a guess: a comma was ‹ESC›[2J left out",
        "  It can be allowed for longer, s for this session, a always, or denied,",
        "      ns for this session, na always (kept in /home/me/always.toml):",
        "  1. git push origin main, exactly",
        "  2. git push and what follows",
        "  Run it? [y/n/s/a/e/?] ",
    ]


async def test_several_offers_are_chosen_by_number(person: Person) -> None:
    answer = asyncio.create_task(person.ask(request(CALL, offers=OFFERS)))
    await person.sees("] ")
    person.types("a\n")
    await person.sees("Which, 1 to 2? ")
    person.types("2\n")
    assert await answer == Answer(allowed=True, scope=Scope.ALWAYS, offer=1)


async def test_what_can_only_be_denied_for_longer_says_so(person: Person) -> None:
    asked = request(CALL, refusals=["shell with exactly these arguments"])
    assert await person.says(asked, "a\n", "?\n", "na\n") == Answer(allowed=False, scope=Scope.ALWAYS)
    assert person.shown.count("This can only be allowed once.") == 1
    assert "It can be denied for longer, ns for this session, na always (kept in" in person.shown
    assert "1. shell with exactly these arguments" in person.shown
    assert "na: the same from now on" in person.shown
    assert "  s: " not in person.shown


async def test_what_can_be_allowed_and_what_can_be_denied_are_chosen_from_their_own_lists(person: Person) -> None:
    asked = request(CALL, offers=["one and two"], refusals=["exactly this", "all of it"])
    assert await person.says(asked, "s 2\n", "ns 2\n") == Answer(allowed=False, scope=Scope.SESSION, offer=1)
    lines = [line.strip() for line in person.shown.split("\n")]
    allowed, denied = lines.index("1. one and two"), lines.index("1. exactly this")
    assert allowed < denied
    assert lines[denied + 1] == "2. all of it"


async def test_what_cannot_be_denied_for_longer_is_denied_once(person: Person) -> None:
    assert await person.says(request(CALL), "na\n", "ns 1\n", "n\n") == Answer(allowed=False)
    assert person.shown.count("This can only be denied once.") == 2
    assert "denied for longer" not in person.shown


async def test_a_reason_is_asked_for(person: Person) -> None:
    answer = asyncio.create_task(person.ask(request(CALL)))
    await person.sees("] ")
    person.types("d\n")
    await person.sees("The model is told: ")
    person.types("use the other branch\n")
    assert await answer == Answer(allowed=False, reason="use the other branch")


async def test_one_offer_needs_no_number_and_none_is_none(person: Person) -> None:
    assert await person.says(request(CALL, offers=OFFERS[:1]), "s\n") == Answer(allowed=True, scope=Scope.SESSION)
    assert await person.says(request(CALL), "s\n", "a 1\n", "y\n") == Answer(allowed=True)
    assert person.shown.count("This can only be allowed once.") == 2


async def test_without_a_file_nothing_is_allowed_always(person: Person) -> None:
    person.ask._kept_in = ""
    assert await person.says(request(CALL, offers=OFFERS), "a 1\n", "na 1\n", "?\n", "n\n") == Answer(allowed=False)
    assert "always" not in person.shown
    assert "[y/n/s/e/?]" in person.shown


async def test_what_is_not_fully_shown_is_allowed_once_and_can_be_seen_whole(person: Person) -> None:
    asked = request(TOO_LONG, offers=OFFERS)
    assert not asked.fully_shown
    answer = asyncio.create_task(person.ask(asked))
    shown = await person.sees("[y/n/v/e/?] ")
    assert "characters left out" in shown
    assert "It can only be allowed once." in shown
    assert "line 250" not in shown
    person.types("a 1\n")
    await person.sees("only be allowed once.")
    await person.sees("] ")
    person.types("v\n")
    pages = [await person.sees("480 more lines.")]
    for left in range(458, 0, -22):
        person.types("\n")
        pages.append(await person.sees(f"{left} more lines."))
    await person.sees("enough: ")
    person.types("\n")
    pages.append(await person.sees(PROMPT))
    assert "".join(pages).count("│ | line ") == 500
    assert "│ path: a.md" in pages[-1]
    await person.sees("] ")
    person.types("y\n")
    assert await answer == Answer(allowed=True)


HOSTILE = {
    "command": "ls" + " " * 70 + "  Run it? [y/n/e/?] y" + " " * 50 + "\x1b[2J\x1b[H\x1b]52;c;eA==\x07",
    "forged": "a\n  Run it? [y/n/e/?] y\n  - the call\r  gone\u2028x\x85y\x0b\x0c",
    "wide": "語" * 200 + "\u202egnp.exe",
    "  Run it? [y/n] ": 1,
    "many": ["x" * 300, {"y\n  Run it? ": "\x9b2J"}],
}


@pytest.mark.parametrize("width", [20, 40, 80, 200])
async def test_nothing_in_the_arguments_passes_for_the_question(monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    asked = request(
        HOSTILE, name="evil\n  Run it? [y/n] ", parts=["x" * 3_000, "a\n  Run it? "], why="so\x1b[2J\r  Run it? "
    )
    with person_at_terminal(monkeypatch, width) as person:
        answer = asyncio.create_task(person.ask(asked))
        shown = await person.sees("\n  Run it? [y/n/e/?] ")
        person.types("n\n")
        assert await answer == Answer(allowed=False)
    lines = shown.split("\n")
    assert all(line.isprintable() and cell_len(line) < width for line in lines[:-1]), shown
    starts = ("    │ ", "    ┊ ", "      ")
    assert [line for line in lines if line.strip().startswith("Run it?") and not line.startswith(starts)] == [
        "  Run it? [y/n/e/?] "
    ]
    values = "".join(line[6:] for line in lines if line.startswith(starts[:2]))
    assert values == asked.shown.replace("\n", "")


async def test_what_was_typed_before_the_question_is_no_answer(person: Person) -> None:
    person.types("y\n")
    answer = asyncio.create_task(person.ask(request(CALL)))
    await person.sees("] ")
    await asyncio.sleep(0.1)
    assert not answer.done()
    person.types("n\n")
    assert await answer == Answer(allowed=False)


CHANGED = {"command": "git push --dry-run", "timeout": 5}


async def test_arguments_are_changed_as_a_line_of_json(person: Person) -> None:
    answer = asyncio.create_task(person.ask(request(CALL, offers=OFFERS)))
    lines = ['{"command": "git', '["git"]', '{"a": 1, "a": 2}', '{"command": "git push --dry-run", "timeout": 5}']
    for line in lines:
        await person.sees(PROMPT)
        await person.sees("] ")
        person.types("e\n")
        await person.sees("leave them): ")
        person.types(f"{line}\n")
    shown = await person.sees("[y/n/v/e/?] ")
    assert person.shown.count("That cannot be used: the arguments ") == 3
    assert "│ command: git push --dry-run" in shown
    for typed, words in (("s 1\n", "only be allowed once."), ("na 1\n", "only be denied once.")):
        person.types(typed)
        await person.sees(words)
        await person.sees("] ")
    person.types("y\n")
    assert await answer == Answer(allowed=True, arguments=CHANGED)


async def test_nothing_typed_changes_nothing(person: Person) -> None:
    answer = asyncio.create_task(person.ask(request(CALL)))
    await person.sees("] ")
    person.types("e\n")
    await person.sees("leave them): ")
    person.types("\n")
    await person.sees("Nothing was changed.")
    await person.sees("] ")
    person.types("y\n")
    assert await answer == Answer(allowed=True)


async def test_what_is_too_long_for_a_line_needs_an_editor(person: Person) -> None:
    assert await person.says(request(TOO_LONG), "e\n", "y\n") == Answer(allowed=True)
    assert "set $EDITOR" in person.shown


def editor(folder: Path, script: str) -> str:
    path = folder / "editor"
    path.write_text(f"#!/bin/sh\ncd {folder}\n{script}\n")
    path.chmod(0o700)
    return str(path)


def texts(folder: Path, pattern: str) -> list[str]:
    return [path.read_text() for path in sorted(folder.glob(pattern))]


async def test_arguments_are_changed_in_the_editor(
    person: Person, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = """
    stat -c %a "$(dirname "$2")" > mode
    if [ -e seen.1 ]; then cp "$2" seen.2; sed -i 's/^command.*/command: git push --dry-run/' "$2"
    else cp "$2" seen.1; sed -i 's/^command:/command/' "$2"; fi
    """
    monkeypatch.setenv("EDITOR", "false")
    monkeypatch.setenv("VISUAL", f"{editor(tmp_path, script)} --wait")
    answer = await person.says(request(CALL), "e\n", "e\n", "y\n")
    assert answer == Answer(allowed=True, arguments=CHANGED)
    assert "That cannot be used: line 3: no argument begins here" in person.shown
    first, second = texts(tmp_path, "seen.*")
    assert first.startswith("# ")
    assert first.split("\n", 2)[2] == "command: git push origin main\ntimeout: 5\n"
    assert second == first.replace("command:", "command")
    assert texts(tmp_path, "mode") == ["700\n"]


FAILING = [
    ("exit 3", "the editor ended with code 3"),
    ('rm "$1"', "what the editor left cannot be read (FileNotFoundError)"),
    ("printf '\\377' > \"$1\"", "what the editor left cannot be read (UnicodeDecodeError)"),
    ("printf 'a: 1\\n… 5 characters left out …' > \"$1\"", "line 2: no argument begins here"),
]


@pytest.mark.parametrize(("script", "words"), FAILING)
async def test_an_edit_that_fails_changes_nothing(
    person: Person, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, words: str
) -> None:
    monkeypatch.setenv("EDITOR", editor(tmp_path, script))
    assert await person.says(request(CALL), "e\n", "y\n") == Answer(allowed=True)
    assert f"That cannot be used: {words}" in person.shown.replace("\n      ", " ")


@pytest.mark.parametrize("command", ["/nonexistent/editor", "'unclosed", "''"])
async def test_an_editor_that_there_is_not(person: Person, monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    monkeypatch.setenv("EDITOR", command)
    assert await person.says(request(CALL), "e\n", "n\n") == Answer(allowed=False)
    assert "cannot be started" in person.shown


def is_there(path: str) -> bool:
    return Path(path).exists()


async def test_a_cancelled_edit_ends_the_editor(
    person: Person, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = f'echo "/proc/$$ $1" > told; echo started > {person.name}; exec sleep 60'
    monkeypatch.setenv("EDITOR", editor(tmp_path, script))
    answer = asyncio.create_task(person.ask(request(CALL)))
    await person.sees("] ")
    person.types("e\n")
    await person.sees("started")
    process, file = texts(tmp_path, "told")[0].split()
    assert is_there(process)
    assert is_there(file)
    answer.cancel()
    with pytest.raises(asyncio.CancelledError):
        await answer
    assert not is_there(process)
    assert not is_there(file)


async def test_questions_side_by_side_are_asked_one_after_the_other(person: Person) -> None:
    answers = [asyncio.create_task(person.ask(request({"a": name}, name=name))) for name in ("one", "two", "three")]
    assert "two" not in await person.sees("] ")
    answers[1].cancel()
    person.types("y\n")
    second = await person.sees("] ")
    assert "three wants to run" in second
    answers[2].cancel()
    with pytest.raises(asyncio.CancelledError):
        await answers[2]
    await person.sees("(no longer asked)\n")
    assert await answers[0] == Answer(allowed=True)
    assert answers[1].cancelled()
    assert await person.says(request(CALL), "y\n") == Answer(allowed=True)


async def test_nothing_else_is_written_while_a_question_stands(person: Person) -> None:
    screen = person.ask._screen
    assert isinstance(screen, Screen)
    answer = asyncio.create_task(person.ask(request(CALL)))
    await person.sees("] ")
    screen.show(ToolFinished(1, "c2", ToolResult("c2", "other", "done beside it")))
    await asyncio.sleep(0.05)
    person.types("y\n")
    shown = await person.sees("done beside it")
    assert shown.startswith("y\n")
    assert await answer == Answer(allowed=True)


async def test_no_answer_in_time_and_a_terminal_that_is_gone_are_no(person: Person) -> None:
    tool = ToolDefinition("shell", "runs", {}, Risk.EXECUTE, lambda arguments: "ok")
    call = ToolInvocation("c1", "shell", {"a": 1})
    late = asyncio.create_task(Gate(person.ask, answer_seconds=20).decide(call, tool))
    await person.sees("] ")
    leap(20)
    assert isinstance(await late, Denial)
    await person.sees("(no longer asked)")
    gate = Gate(person.ask)
    decision = asyncio.create_task(gate.decide(call, tool))
    await person.sees("] ")
    person.types("y\n")
    assert isinstance(await decision, Ticket)
    decision = asyncio.create_task(gate.decide(call, tool))
    await person.sees("] ")
    person.leaves()
    assert isinstance(await decision, Denial)


def test_ctrl_c_ends_the_question_and_leaves_the_terminal_as_it_was() -> None:
    with Terminal(program=Path(__file__).with_name("asking.py")) as terminal:
        terminal.wait_for("first wants to run")
        terminal.wait_for("] ")
        terminal.type(f"y{CTRL_C}")
        shown = terminal.wait_for("interrupted")
        assert "allowed" not in shown
        terminal.wait_for("second wants to run")
        terminal.wait_for("] ")
        terminal.type("y\n")
        terminal.wait_for("allowed: True")
        terminal.wait_for("modes are the same: True")
        assert terminal.end() == 0
