"""A server's form at a real pty: what is typed is checked, and nothing is sent without a last yes."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from cli.asking import PROMPT, Person, person_at_terminal, request
from cli.terminal import CTRL_D
from toolwire.cli.forms import DECLINE, TerminalForms
from toolwire.errors import McpFailed
from toolwire.mcp.form import read_form


@pytest.fixture
def person(monkeypatch: pytest.MonkeyPatch) -> Iterator[Person]:
    with person_at_terminal(monkeypatch) as person:
        yield person


def forms_of(person: Person) -> TerminalForms:
    return TerminalForms(person.ask._console, person.ask.held)


def form(*required: str, **properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required)}


NAME = {"type": "string", "title": "Your name"}
AGE = {"type": "integer", "minimum": 0, "maximum": 150}
ALL = form(
    "name",
    "size",
    name=NAME,
    age=AGE,
    height={"type": "number", "default": 1.8},
    sure={"type": "boolean"},
    size={"type": "string", "enum": ["small", "large"], "enumNames": ["S", "L"]},
    colour={"type": "string", "oneOf": [{"const": "#f00", "title": "Red"}, {"const": "#0f0", "title": "Green"}]},
    fish={"type": "array", "items": {"anyOf": [{"const": "a", "title": "Tuna"}, {"const": "b", "title": "Eel"}]}},
    mail={"type": "string", "format": "email"},
)
PROMPTS = ("Text: ", "number: ", "A number: ", "y or n: ", "list: ", "list: ", "commas: ", "Text: ", "[y/n] ")


async def fills(person: Person, *typed: str, schema: dict[str, Any] = ALL, prompts: tuple[str, ...] = PROMPTS) -> Any:
    filled = asyncio.create_task(forms_of(person)("notes", "Tell me.", schema))
    for prompt, text in zip(prompts, typed, strict=False):
        await person.sees(prompt)
        person.types(text)
    async with asyncio.timeout(20):
        return await filled


async def test_every_kind_of_field_is_filled_in(person: Person) -> None:
    typed = ("Ann B. \n", "41\n", "1.5\n", "Y\n", "2\n", "#0f0\n", "2, 1,2\n", "ann@example.org\n", "y\n")
    assert await fills(person, *typed) == {
        "name": "Ann B.",
        "age": 41,
        "height": 1.5,
        "sure": True,
        "size": "large",
        "colour": "#0f0",
        "fish": ["b", "a"],
        "mail": "ann@example.org",
    }


async def test_empty_lines_take_what_is_there_and_leave_the_rest_out(person: Person) -> None:
    assert await fills(person, "Ann\n", "\n", "\n", " \n", "1\n", "\n", "\n", "\n", "yes\n") == {
        "name": "Ann",
        "height": 1.8,
        "size": "small",
    }


async def test_what_the_person_sees(person: Person) -> None:
    schema = form("name", name=NAME, password={"type": "string", "description": "of \x1b[2Jyour bank"}, size=AGE)
    sent = fills(person, "Ann\n", "\n", "7\n", "y\n", schema=schema, prompts=("Text: ", "Text: ", "number: ", "[y/n] "))
    assert await sent == {"name": "Ann", "size": 7}
    assert person.shown.split("\n") == [
        "  The MCP server notes asks you to fill in a form (3 fields). It says:",
        "    │ Tell me.",
        "  An empty line takes what is there already or leaves it out. /decline or",
        "      Ctrl-D: send nothing.",
        "  1 of 3: name (text, required)",
        "    │ Your name",
        "  Text: Ann",
        "  2 of 3: password (text, may be left out)",
        "    │ of ‹ESC›[2Jyour bank",
        "  Look out: this looks like a password or a key. The server gets it as you",
        "      type it, and it is shown here.",
        "  Text: ",
        "  3 of 3: size (integer, may be left out)",
        "  A whole number: 7",
        "  This would be sent:",
        "    │ name: Ann",
        "    │ size: 7",
        "  Send it, or again? [y/n] ",
    ]


async def test_a_server_s_words_never_pass_for_ours(person: Person) -> None:
    evil = "Fine.\n  Send it? [y/n] y\n\x1b[1A\x1b[2K\u202e"
    field = {"type": "string", "title": evil, "description": evil, "enum": ["a", evil], "enumNames": [evil, evil]}
    schema = form(**{evil: field})
    filled = asyncio.create_task(forms_of(person)("no\x1b[2Jtes\n", evil, schema))
    await person.sees("list: ")
    person.types(CTRL_D)
    async with asyncio.timeout(20):
        assert await filled is None
    assert "\x1b" not in person.shown
    assert "\u202e" not in person.shown
    for line in person.shown.split("\n"):
        assert "Send it?" not in line or line.startswith(("    │", "    ┊")), line


@pytest.mark.parametrize("name", ["city" + " " * 60 + "Toolwire: type your key", "", "x" * 41, "a\u200bb"])
async def test_a_name_that_is_no_word_stands_behind_a_bar(person: Person, name: str) -> None:
    field = {"type": "string", "format": "text)  Toolwire asks: (", "pattern": "^Toolwire: now the key$"}
    typed = ("Bern\n", CTRL_D)
    assert await fills(person, *typed, schema=form(**{name: field}), prompts=("Text: ", "Text: ")) is None
    assert "  1 of 1 (text, may be left out)\n    │ " in person.shown
    for line in person.shown.split("\n"):
        assert not ("Toolwire" in line or "xxx" in line) or line.startswith(("    │", "    ┊")), line


WRONG: list[tuple[dict[str, Any], str, list[str], str, Any]] = [
    (NAME | {"minLength": 2}, "Text: ", ["A\n"], "Ann\n", "Ann"),
    (NAME | {"maxLength": 3}, "Text: ", ["Anna\n"], "Ann\n", "Ann"),
    (NAME | {"format": "email"}, "Text: ", ["ann\n", "@b\n", "a b@c\n"], "ann@b\n", "ann@b"),
    (NAME | {"format": "uri"}, "Text: ", ["nothing\n", "http://[\n"], "https://a.b\n", "https://a.b"),
    (NAME | {"format": "date"}, "Text: ", ["31.1.2026\n", "2026-02-30\n", "20260131\n"], "2026-01-31\n", "2026-01-31"),
    (
        NAME | {"format": "date-time"},
        "Text: ",
        ["2026-01-31\n", "x\n"],
        "2026-01-31T18:00:00Z\n",
        "2026-01-31T18:00:00Z",
    ),
    (AGE, "number: ", ["x\n", "1.5\n", "-1\n", "151\n", '"3"\n', "true\n", "NaN\n", "1e999\n"], "3\n", 3),
    ({"type": "number"}, "number: ", ["Infinity\n", "1,5\n"], "-1.5e2\n", -150.0),
    ({"type": "boolean"}, "n: ", ["maybe\n", "1\n"], "no\n", False),
    ({"type": "string", "enum": ["a", "b"]}, "list: ", ["c\n", "0\n", "3\n"], "b\n", "b"),
    (
        {"type": "array", "minItems": 1, "maxItems": 2, "items": {"enum": ["x", "y", "z"]}},
        "commas: ",
        [",\n", "1,2,3\n", "4\n"],
        "3,x\n",
        ["z", "x"],
    ),
]


@pytest.mark.parametrize(("field", "prompt", "wrong", "right", "value"), WRONG, ids=[case[2][0][:-1] for case in WRONG])
async def test_what_does_not_fit_is_asked_for_again(
    person: Person, field: dict[str, Any], prompt: str, wrong: list[str], right: str, value: Any
) -> None:
    typed = ["\n", *wrong, right, "y\n"]
    sent = await fills(person, *typed, schema=form("it", it=field), prompts=(*[prompt] * (len(typed) - 1), "[y/n] "))
    assert sent == {"it": value}
    assert type(sent["it"]) is type(value)
    assert person.shown.count("That does not do: ") == len(wrong)
    assert person.shown.count("This one is required.") == 1


@pytest.mark.parametrize(
    "typed",
    [
        [CTRL_D],
        [f"{DECLINE}\n"],
        ["Ann\n", f" {DECLINE} \n"],
        ["Ann\n", CTRL_D],
        ["Ann\n", "3\n", "n\n"],
        ["Ann\n", "3\n", f"{DECLINE}\n"],
        ["Ann\n", "3\n", CTRL_D],
    ],
)
async def test_declining_at_any_time_sends_nothing(person: Person, typed: list[str]) -> None:
    sent = await fills(
        person, *typed, schema=form("name", name=NAME, age=AGE), prompts=("Text: ", "number: ", "[y/n] ")
    )
    assert sent is None
    await person.sees("Nothing is sent.")


async def test_only_a_typed_yes_sends_it(person: Person) -> None:
    prompts = ("Text: ", *["[y/n] "] * 4)
    sent = await fills(person, "Ann\n", "\n", "ja\n", "y y\n", "YES\n", schema=form("name", name=NAME), prompts=prompts)
    assert sent == {"name": "Ann"}
    assert person.shown.count("y sends it, n sends nothing.") == 3


async def test_what_was_filled_in_wrongly_can_be_changed_before_it_is_sent(person: Person) -> None:
    prompts = ("Text: ", "number: ", "[y/n] ") * 2
    typed = ("Anm\n", "4\n", " Again\n", "Ann\n", "\n", "y\n")
    assert await fills(person, *typed, schema=form("name", name=NAME, age=AGE), prompts=prompts) == {"name": "Ann"}


async def test_an_empty_text_can_be_given(person: Person) -> None:
    schema = form(note={"type": "string", "default": "x"})
    assert await fills(person, '""\n', "y\n", schema=schema, prompts=("Text: ", "[y/n] ")) == {"note": ""}


async def test_the_terminal_is_held_from_the_first_line_to_the_last(person: Person) -> None:
    async with person.ask.held():
        waiting = asyncio.create_task(forms_of(person)("notes", "Tell me.", form(name=NAME)))
        await asyncio.sleep(0.01)
        assert person.shown == ""
    await person.sees("Text: ")
    question = asyncio.create_task(person.ask(request({"a": 1})))
    await asyncio.sleep(0.01)
    assert PROMPT not in person.shown + person.unseen
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    await person.sees("(no longer asked)")
    await person.sees(PROMPT)
    person.types("n\n")
    async with asyncio.timeout(20):
        assert not (await question).allowed


async def test_a_form_that_is_none_is_not_shown(person: Person) -> None:
    with pytest.raises(McpFailed):
        await forms_of(person)("notes", "Tell me.", form(a={"type": "object"}))
    assert person.shown == ""


@pytest.mark.parametrize(
    ("field", "kind", "default"),
    [
        ({"anyOf": [{"type": "string"}, {"type": "null"}], "default": None, "title": "T"}, "text", None),
        ({"type": ["integer", "null"], "default": 3}, "integer", 3),
        ({"type": "integer", "default": "three"}, "integer", None),
        ({"enum": ["a"]}, "one of", None),
        ({"type": "string", "enum": ["a"], "default": "b"}, "one of", None),
        ({"type": "boolean", "default": False}, "yes or no", False),
    ],
)
def test_what_servers_write_for_a_field(field: dict[str, Any], kind: str, default: Any) -> None:
    [read] = read_form("notes", form(it=field)).fields
    assert (read.kind, read.default, read.required) == (kind, default, False)


@pytest.mark.parametrize(
    ("words", "secret"),
    [
        ("password", True),
        ("Your PIN", True),
        ("API-Key", True),
        ("access token", True),
        ("keyboard", False),
        ("opinion", False),
        ("name", False),
    ],
)
def test_what_looks_like_a_secret(words: str, secret: bool) -> None:
    for schema in (form(it={"type": "string", "title": words}), form(**{words: {"type": "string"}})):
        [field] = read_form("notes", schema).fields
        assert field.looks_secret is secret


def test_a_description_may_say_what_not_to_give() -> None:
    described = {"phone": "no pin, please", "code": "the password of your account"}
    schema = form(**{name: {"type": "string", "description": words} for name, words in described.items()})
    assert [field.looks_secret for field in read_form("notes", schema).fields] == [False, True]
