"""What a typed text is."""

from __future__ import annotations

from pathlib import Path

import pytest

from toolwire.chat.typed import QuestionLine, ShellLine, SlashLine, read_typed
from toolwire.errors import ConfigError
from toolwire.framed import frame_name
from toolwire.messages import TextPart

COMMANDS = ("model", "mode", "help", "quit", "sessions")

LINES: list[tuple[str, SlashLine | ShellLine | str]] = [
    ("/help", SlashLine("help", "")),
    ("  /help  ", SlashLine("help", "")),
    ("/HELP me", SlashLine("help", "me")),
    ("/model openai:gpt-4.1", SlashLine("model", "openai:gpt-4.1")),
    ("/model\nlocal", SlashLine("model", "local")),
    ("/q", SlashLine("quit", "")),
    ("/mode", SlashLine("mode", "")),
    ("//etc is what?", "/etc is what?"),
    ("// a comment of C", "// a comment of C"),
    ("//", "//"),
    ("/etc/hosts says what?", "/etc/hosts says what?"),
    ("/home/me/project", "/home/me/project"),
    ("/^a.*b$/ matches what?", "/^a.*b$/ matches what?"),
    ("!ls -la", ShellLine("ls -la", True)),
    ("! ls", ShellLine("ls", True)),
    ("!!secret", ShellLine("secret", False)),
    ("!echo a\necho b", ShellLine("echo a\necho b", True)),
    ("\\!important is what in CSS?", "!important is what in CSS?"),
    ("Hello!", "Hello!"),
    ("What is 1/2?", "What is 1/2?"),
    ("mail me@example.org", "mail me@example.org"),
]


@pytest.mark.parametrize(("text", "line"), LINES, ids=[text for text, _ in LINES])
async def test_a_line_is_what_it_looks_like(text: str, line: SlashLine | ShellLine | str, tmp_path: Path) -> None:
    made = await read_typed(text, root=str(tmp_path), commands=COMMANDS)
    if isinstance(line, str):
        assert isinstance(made, QuestionLine)
        assert made.message.content == line
        assert made.text == text
    else:
        assert made == line


@pytest.mark.parametrize(
    ("text", "words", "hint"),
    [
        ("/modle x", "no command /modle", "/model"),
        ("/mod", "no command /mod", "/mode or /model"),
        ("/xyzzy", "no command /xyzzy", "//xyzzy"),
        ("/", "no command /", "/help"),
        ("/a\u202eb", "", ""),
        ("!", "no command behind", "!ls"),
        ("!!  ", "no command behind", "!ls"),
        (" \n ", "nothing was typed", ""),
    ],
)
async def test_what_is_none_says_what_to_do(text: str, words: str, hint: str, tmp_path: Path) -> None:
    if not words:
        made = await read_typed(text, root=str(tmp_path), commands=COMMANDS)
        assert isinstance(made, QuestionLine)
        return
    with pytest.raises(ConfigError) as caught:
        await read_typed(text, root=str(tmp_path), commands=COMMANDS)
    assert words in caught.value.message
    assert hint in (caught.value.hint or "")


async def test_what_was_pasted_goes_along_in_a_frame_and_mentions_nothing(tmp_path: Path) -> None:
    (tmp_path / "key.txt").write_text("the key")
    label, content = "[pasted 30 lines #1]", "see @key.txt\n" * 30
    made = await read_typed(f"Explain {label} please", root=str(tmp_path), commands=COMMANDS, pasted={label: content})
    assert isinstance(made, QuestionLine)
    words, pasted = made.message.parts
    assert isinstance(words, TextPart)
    assert words.text == f"Explain {label} please"
    assert isinstance(pasted, TextPart)
    assert pasted.text.count("see @key.txt\n") == 30
    assert frame_name(pasted.text) == "Pasted 30 lines #1"
    assert "the key" not in made.message.text
    assert made.pasted == {label: content}


async def test_nothing_but_a_pasted_text_is_the_question_itself(tmp_path: Path) -> None:
    label = "[pasted 30 lines #1]"
    made = await read_typed(f" {label}\n", root=str(tmp_path), commands=COMMANDS, pasted={label: "/help @x\n!ls"})
    assert isinstance(made, QuestionLine)
    assert made.message.content == "/help @x\n!ls"


async def test_labels_in_commands_stand_for_their_text(tmp_path: Path) -> None:
    label = "[pasted 3,000 characters #1]"
    pasted = {label: "x" * 3000, "[pasted 9 lines #2]": "not there"}
    slash = await read_typed(f"/model {label}", root=str(tmp_path), commands=COMMANDS, pasted=pasted)
    assert slash == SlashLine("model", "x" * 3000)
    shell = await read_typed(f"!echo {label}", root=str(tmp_path), commands=COMMANDS, pasted=pasted)
    assert shell == ShellLine("echo " + "x" * 3000, True)


async def test_a_label_without_its_text_is_words(tmp_path: Path) -> None:
    made = await read_typed("what is [pasted 3 lines #1]?", root=str(tmp_path), commands=COMMANDS)
    assert isinstance(made, QuestionLine)
    assert made.message.content == "what is [pasted 3 lines #1]?"


@pytest.mark.parametrize(
    ("text", "name"), [("/exit", "exit"), ("/clear", "clear"), ("/res", "resume"), ("/hel", "help"), ("/?", "?")]
)
async def test_the_commands_of_the_chat_and_their_other_names(text: str, name: str, tmp_path: Path) -> None:
    assert await read_typed(f"{text} x", root=str(tmp_path)) == SlashLine(name, "x")
