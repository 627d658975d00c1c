"""`toolwire mcp add`, `list`, `test`, `tools`, `call`, `prompts`, `resources` and `remove`."""

from __future__ import annotations

import json
import os
import stat
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

from cli.command import assert_sentence
from cli.mcp_home import Home
from toolwire.cli.mcp_answers import print_parts
from toolwire.cli.mcp_call import by_schema
from toolwire.cli.mcp_consent import pointed
from toolwire.cli.mcp_shown import Offered, short_lines
from toolwire.mcp.log import log_path
from toolwire.messages import MediaPart, Part, TextPart


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Home:
    return Home(tmp_path, monkeypatch, capfd)


def entries(home: Home) -> dict[str, dict[str, object]]:
    found: dict[str, dict[str, object]] = json.loads(home.own_file.read_text())["mcpServers"]
    return found


# add and remove


def test_a_server_that_is_added_is_written_down_and_tried(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    options = ["--risk", "read", "--risk", "crash=dangerous", "--deny", "sl*", "--env", "A=b c", "--env", "KEY"]
    ran = home.run("mcp", "add", "line", *options, "--", *home.words())
    assert ran.code == 1, ran.out + ran.err
    assert "KEY is not set" in ran.out
    assert "It stays in the file" in ran.out
    monkeypatch.setenv("KEY", "secret")
    ran = home.run("mcp", "test", "line")
    assert ran.code == 0, ran.out
    assert "line: works" in ran.out
    assert "11 tools, 1 prompt, 1 resource" in ran.out
    assert "it calls itself line server 1, MCP 20" in ran.out
    command, *args = home.words()
    assert entries(home) == {
        "line": {
            "command": command,
            "args": args,
            "env": {"A": "b c", "KEY": "${KEY}"},
            "risk": "read",
            "risks": {"crash": "dangerous"},
            "tools": {"deny": ["sl*"]},
        }
    }
    assert stat.S_IMODE(home.own_file.stat().st_mode) == 0o600
    assert "secret" not in home.own_file.read_text() + ran.out + ran.err


def test_what_follows_the_dashes_is_the_command_whatever_it_looks_like(home: Home) -> None:
    ran = home.run("mcp", "add", "odd", "--no-test", "--", "npx", "-y", "--env", "X=1", "-", "--", "--help")
    assert ran.code == 0, ran.err
    assert entries(home) == {"odd": {"command": "npx", "args": ["-y", "--env", "X=1", "-", "--", "--help"]}}
    assert "npx -y --env X=1 - -- --help" in ran.out


def test_an_address_is_added_with_headers_in_either_form(home: Home) -> None:
    options = ["--header", "Authorization: Bearer ${T}", "--header", "X-A=b:c", "--timeout", "5"]
    ran = home.run("mcp", "add", "far", "https://example.com/mcp", "--no-test", *options)
    assert ran.code == 0, ran.err
    assert entries(home) == {
        "far": {
            "url": "https://example.com/mcp",
            "headers": {"Authorization": "Bearer ${T}", "X-A": "b:c"},
            "timeout": 5.0,
        }
    }


def test_paths_from_here_are_written_whole(home: Home) -> None:
    assert home.run("mcp", "add", "near", "--no-test", "--cwd", "sub", "--", "./serve", "./x").code == 0
    assert entries(home) == {
        "near": {"command": str(home.project / "serve"), "args": ["./x"], "cwd": str(home.project / "sub")}
    }
    assert "near" in home.run("mcp", "list").out


@pytest.mark.parametrize(
    ("tokens", "words"),
    [
        ([], ["no server is named", "toolwire mcp add NAME -- COMMAND"]),
        (["x"], ["nothing says how it is started", "toolwire mcp add NAME -- COMMAND"]),
        (["x", "https://example.com/mcp", "more"], ["more stands behind the address"]),
        (["x", "npx", "-y", "thing"], ["-y", "toolwire mcp add NAME -- COMMAND"]),
        (["x", "--risk", "harmless", "--", "true"], ["harmless is no risk", "read, write, execute"]),
        (["x", "--env", "=1", "--", "true"], ["names no variable"]),
        (["x", "--header", "Authorization", "https://example.com"], ["is no header", "Authorization='Bearer"]),
        (["x", "--env", "A=1", "https://example.com"], ["for a program"]),
        (["x", "--oauth", "--", "true"], ["for an address"]),
        (["x", "--timeout", "0", "--", "true"], ["no time to wait"]),
        (["there", "--", "true"], ["already an MCP server there: /bin/old", "--force"]),
        (["--from", "nowhere.json"], ["there is no file nowhere.json"]),
        (["--from", "other.json", "three"], ["has no MCP server three", "It has: one, two"]),
        (["--from", "other.json", "--risk", "read"], ["--risk would change them"]),
        (["--from", "empty.json"], ["has no MCP servers"]),
    ],
)
def test_what_cannot_be_added_is_said_and_nothing_is_written(home: Home, tokens: list[str], words: list[str]) -> None:
    home.write_own(there={"command": "/bin/old"})
    before = home.own_file.read_bytes()
    (home.project / "other.json").write_text(
        json.dumps({"mcpServers": {"one": {"command": "a"}, "two": {"command": "b"}}})
    )
    (home.project / "empty.json").write_text("{}")
    assert_sentence(home.run("mcp", "add", *tokens), 2, *words)
    assert home.own_file.read_bytes() == before


def test_servers_are_taken_over_from_the_file_of_another_program(home: Home) -> None:
    (home.project / "other.json").write_text(
        json.dumps(
            {
                "mcpServers": {
                    "one": home.entry(),
                    "two": {"command": "./b"},
                    "three": {"serverUrl": "https://x.test/mcp"},
                }
            }
        )
    )
    ran = home.run("mcp", "add", "--from", "other.json", "one", "two", "--no-test")
    assert ran.code == 0, ran.err
    assert list(entries(home)) == ["one", "two"]
    assert entries(home)["two"] == {"command": str(home.project / "b")}
    assert home.run("mcp", "add", "--from", "other.json", "--no-test").code == 2
    assert home.run("mcp", "add", "--from", "other.json", "--no-test", "--force").code == 0
    assert entries(home)["three"]["url"] == "https://x.test/mcp"


def test_a_server_that_replaces_another_is_looked_at_anew(home: Home) -> None:
    home.write_own(line=home.entry())
    home.pins.pin("line", {"name": "echo", "inputSchema": {}})
    ran = home.run("mcp", "add", "line", "--force", "--no-test", "--", "other")
    assert ran.code == 0, ran.err
    assert entries(home) == {"line": {"command": "other"}}
    assert not home.pins.known("line")


def test_a_server_that_is_removed_leaves_nothing(home: Home) -> None:
    home.write_own(line=home.entry(), other={"command": "true"})
    assert home.run("mcp", "test", "line").code == 0
    home.pins.pin("line", {"name": "echo", "inputSchema": {}})
    assert log_path(home.env, "line").exists()
    ran = home.run("mcp", "remove", "line")
    assert (ran.code, ran.out) == (0, "Removed line.\n")
    assert entries(home) == {"other": {"command": "true"}}
    assert not home.pins.known("line")
    assert not log_path(home.env, "line").exists()
    assert_sentence(home.run("mcp", "remove", "line"), 2, "no MCP server line", "There are: other")
    home.write_project(theirs={"command": "true"})
    assert_sentence(home.run("mcp", "remove", "other", "theirs"), 2, "not your own file", "trust theirs --revoke")
    assert entries(home) == {"other": {"command": "true"}}


# list and test


def test_a_list_starts_nothing_and_says_how_each_stands(home: Home) -> None:
    home.write_own(line=home.entry(), off=home.entry(enabled=False), far={"url": "https://user:pass@x.test/mcp?key=k"})
    home.write_project(theirs=home.entry("\u202eevil"))
    home.pins.pin("line", {"name": "echo", "inputSchema": {}})
    ran = home.run("mcp", "list")
    assert ran.code == 0, ran.err
    assert "line  yours, not started, 1 tool looked at\n" in ran.out
    assert "off  yours, off\n" in ran.out
    assert "theirs  of this project, needs consent\n" in ran.out
    assert "To look at: toolwire mcp trust theirs" in ran.out
    assert "‹U+202E›evil" in ran.out
    assert "pass" not in ran.out
    listed = {each["name"]: each for each in home.run("mcp", "list", "--json").lines}
    assert [listed[name]["state"] for name in ("far", "line", "off", "theirs")] == [
        "not started",
        "not started",
        "off",
        "needs consent",
    ]
    assert listed["line"]["looked_at"] == ["echo"]
    assert home.lives == []


def test_without_servers_a_list_says_how_to_add_one(home: Home) -> None:
    ran = home.run("mcp", "list")
    assert (ran.code, ran.out) == (0, "")
    assert "toolwire mcp add time -- uvx mcp-server-time" in ran.err
    assert home.run("mcp", "test").code == 1


def test_without_servers_every_command_says_how_to_add_one_or_that_they_are_off(home: Home) -> None:
    for command in ("test", "tools", "prompts", "resources"):
        assert_sentence(home.run("mcp", command), 1, "no MCP server is set up here", "toolwire mcp add time -- uvx")
    assert_sentence(home.run("mcp", "remove", "lime"), 2, "no MCP server lime", "toolwire mcp add time -- uvx")
    home.write_own(quiet=home.entry(enabled=False))
    for command in ("test", "tools", "prompts", "resources"):
        assert_sentence(home.run("mcp", command), 1, "are switched off", "toolwire mcp list")
    ran = home.run("mcp", "remove", "lime")
    assert_sentence(ran, 2, "no MCP server lime", "There are: quiet.")
    assert "Add one" not in ran.err
    assert home.run("mcp", "list", "--check").out.startswith("quiet  yours, off\n")
    assert home.lives == []


def test_commands_that_are_proposed_can_be_copied(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    ran = home.run("mcp", "add", "my notes", "--", "no-such-program-here")
    assert "toolwire mcp test 'my notes'\n" in ran.out
    assert "toolwire mcp remove 'my notes'\n" in ran.out
    for width in (20, 40, 80):
        lines = [line.text for line in pointed("Words that say what it is for", "toolwire mcp trust 'my notes'", width)]
        assert sum("toolwire mcp trust 'my notes'" in line for line in lines) == 1


def test_a_server_that_waits_for_consent_is_not_said_to_fail(home: Home) -> None:
    home.write_project(theirs=home.entry())
    ran = home.run("mcp", "test")
    assert ran.code == 1
    assert ran.out.startswith("theirs: not started\n")
    assert home.run("mcp", "test", "--json").lines[0]["why"] == "consent"


def test_what_a_server_wrote_does_not_push_the_reason_off_the_screen(home: Home) -> None:
    home.write_own(loud={"command": "sh", "args": ["-c", "seq 10000 10300 >&2"]})
    ran = home.run("mcp", "test")
    assert ran.code == 1
    assert len(ran.out.splitlines()) < 20
    assert "    │ 10300\n" in ran.out
    assert f"more is in {home.folder}" in ran.out
    ran = home.run("mcp", "tools")
    assert len(ran.err.splitlines()) < 20
    assert "    │ 10300\n" in ran.err


def test_servers_are_tried_side_by_side_and_none_holds_the_others(home: Home) -> None:
    home.write_own(
        good=home.entry(),
        slow=home.entry("start=0.4"),
        slower=home.entry("start=0.4"),
        dies=home.entry("die=initialize"),
        mute=home.entry("mute", start_timeout=1.2),
        missing={"command": "no-such-program-here"},
    )
    home.write_project(theirs=home.entry())
    ran = home.run("mcp", "test", "--json")
    tested = {each["server"]: each for each in ran.lines}
    assert ran.code == 1
    assert {name for name, each in tested.items() if each["works"]} == {"good", "slow", "slower"}
    assert list(tested)[-1] == "mute"
    assert tested["good"]["tools"] == 11
    assert "dying at initialize" in tested["dies"]["hint"]
    assert "no-such-program-here" in tested["missing"]["problem"] + tested["missing"]["hint"]
    assert "consent" in tested["theirs"]["problem"]
    assert len(home.lives) == 5
    for id in home.lives:
        with pytest.raises(ProcessLookupError):
            os.kill(int(id), 0)


def test_a_failure_shows_what_the_server_wrote(home: Home) -> None:
    home.write_own(dies=home.entry("die=initialize"))
    ran = home.run("mcp", "test")
    assert ran.code == 1
    assert "dies: fails" in ran.out
    assert "dying at initialize" in ran.out
    for command in (["tools"], ["call", "dies", "echo"], ["prompts"], ["resources", "dies", "note://1"]):
        ran = home.run("mcp", *command)
        assert (ran.code, ran.out) == (1, ""), command
        assert "dying at initialize" in ran.err


def test_a_checked_list_tells_of_new_and_changed_tools(home: Home) -> None:
    home.write_own(line=home.entry(), dies=home.entry("die=initialize"))
    (echo, *_) = tool_lines(home)
    home.pins.pin("line", {**echo["definition"], "description": "Something else."})
    ran = home.run("mcp", "list", "--check")
    assert ran.code == 1
    assert "line  yours, works, 1 tool looked at" in ran.out
    assert "CHANGED: echo" in ran.out
    assert "new: slow, crash" in ran.out
    assert "dies  yours, fails" in ran.out
    assert "toolwire mcp trust line" in ran.out


# tools, call, prompts, resources


def tool_lines(home: Home) -> list[dict[str, dict[str, object]]]:
    return home.run("mcp", "tools", "line", "--json").lines


def test_tools_are_shown_in_the_servers_words_with_hidden_characters_marked(home: Home) -> None:
    words = "Says it.\x1b[2J\u202e\nrisk read; as when you looked at it"
    home.write_own(line=home.entry(f"describe={words}", tools={"deny": ["slow"]}, risk="read"))
    ran = home.run("mcp", "tools", "line")
    assert ran.code == 0, ran.err
    assert "\x1b" not in ran.out
    assert "\u202e" not in ran.out
    assert "‹ESC›[2J‹U+202E›" in ran.out
    assert ran.out.count("\n  risk read; new: nobody has looked at it") == 10
    assert "\nmcp__line__slow\n  risk read; left out by the configuration" in ran.out
    # None of the server's lines stands where ours do.
    assert all(
        line.startswith(("mcp__line__", "  risk ", "  The server's words", "    │ "))
        for line in ran.out.split("\n")
        if line
    )
    first = home.run("mcp", "tools", "--json").lines[0]
    assert (first["server"], first["tool"], first["name"], first["state"]) == ("line", "echo", "mcp__line__echo", "new")
    assert first["definition"]["description"] == words


def test_tools_are_listed_in_short_and_shown_whole_where_they_are_named(home: Home) -> None:
    home.write_own(line=home.entry("describe=" + "Says it again. " * 100))
    short = home.run("mcp", "tools", "line").out
    assert "The server's words" not in short
    assert "    │ text=…\n" in short
    assert max(map(len, short.split("\n"))) <= 300
    assert len(short.split("\n")) <= 11 * 4 + 1
    one = home.run("mcp", "tools", "line", "echo").out
    assert one.count("The server's words") == 1
    assert one.count("Says it again.") == 100
    assert home.run("mcp", "tools", "line", "--full").out.count("The server's words") == 11
    (only,) = home.run("mcp", "tools", "line", "slow", "--json").lines
    assert only["tool"] == "slow"
    assert_sentence(home.run("mcp", "tools", "line", "ech"), 2, "line has no tool ech", "It has: echo")


@pytest.mark.parametrize("width", [30, 80, 1 << 20])
@pytest.mark.parametrize(
    "definition",
    [
        {"description": "日本" * 200 + "\x1b[2J\u202e", "inputSchema": {"properties": {"‹a\nb": {}}, "required": "x"}},
        {"description": 5, "inputSchema": []},
        {"inputSchema": {"properties": ["a"], "required": {"a": 1}}},
        {"description": " \n\t"},
    ],
)
def test_whatever_a_server_says_a_listed_tool_fits_its_lines(definition: dict[str, Any], width: int) -> None:
    offered = Offered(
        server="s", tool="t", name="mcp__s__t", state="new", risk="unknown", problem="", definition=definition
    )
    lines = [line.text for line in short_lines(offered, width)]
    assert all(cell_len(line) < width and line.isprintable() for line in lines)
    assert sum(line.startswith("    │ ") for line in lines) <= 2


@pytest.mark.parametrize(
    ("schema", "made"),
    [
        ({"type": "string"}, "5"),
        ({"type": ["null", "string"]}, "5"),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, "5"),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, 5),
        ({"allOf": [{"$ref": "#/$defs/Day"}]}, "5"),
        ({"$ref": "#/$defs/a~1b"}, 5),
        ({"$ref": "#/$defs/round"}, 5),
        ({"$ref": "#/$defs/none/at/all"}, 5),
        ({"const": "5"}, "5"),
        ({"enum": [5, 6]}, 5),
        ({"type": "number", "enum": ["5"]}, 5),
        ({}, 5),
        (True, 5),
    ],
)
def test_a_text_is_taken_as_what_the_schema_wants(schema: object, made: object) -> None:
    shared = {"Day": {"enum": ["5", "6"]}, "a/b": {"type": "integer"}, "round": {"$ref": "#/$defs/round"}}
    assert by_schema([("a", "5")], {"properties": {"a": schema}, "$defs": shared}) == {"a": made}


@pytest.mark.parametrize(
    ("arguments", "code", "out"),
    [
        (["echo", "text=a=b"], 0, "a=b\n"),
        (["echo", "text=5"], 0, "5\n"),
        (["echo", '{"text": "hid\u200bden"}'], 0, "hid<U+200B>den\n"),
        (["slow", "seconds=0", "steps=2"], 0, "waited\n"),
        (["fail"], 1, "it went wrong\n"),
    ],
)
def test_a_tool_is_called_by_hand(home: Home, arguments: list[str], code: int, out: str) -> None:
    home.write_own(line=home.entry())
    ran = home.run("mcp", "call", "line", *arguments)
    assert (ran.code, ran.out) == (code, out), ran.err
    assert ("step 2" in ran.err) == ("steps=2" in arguments)


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["ech"], 2, ["has no tool ech", "It has: echo, slow"]),
        (["echo"], 2, ["text", "toolwire mcp tools line"]),
        (["echo", "text"], 2, ["text is no argument", "KEY=VALUE"]),
        (["echo", "{text: 1}"], 2, ["not valid JSON", "city=Paris"]),
        (["slow", "seconds=long"], 2, ["seconds", "toolwire mcp tools line slow"]),
        (["refuse"], 1, ["no such thing", "toolwire mcp test line"]),
        (["crash"], 1, ["ended", "not known"]),
    ],
)
def test_a_call_that_cannot_be_made_says_why(home: Home, arguments: list[str], code: int, words: list[str]) -> None:
    calls = home.folder / "calls"
    home.write_own(line=home.entry(f"calls={calls}"))
    ran = home.run("mcp", "call", "line", *arguments)
    assert_sentence(ran, code, *words)
    assert ran.out == ""
    assert calls.exists() == (code == 1)


def test_a_changed_tool_is_not_called(home: Home) -> None:
    calls = home.folder / "calls"
    home.write_own(line=home.entry(f"calls={calls}"))
    home.pins.pin("line", {"name": "echo", "description": "It was this.", "inputSchema": {}})
    assert_sentence(home.run("mcp", "call", "line", "echo", "text=a"), 1, "not what it was", "mcp trust line echo")
    assert not calls.exists()


def test_nothing_of_a_project_is_used_without_consent(home: Home) -> None:
    home.write_project(theirs=home.entry())
    for command in (
        ["call", "theirs", "echo", "text=a"],
        ["tools"],
        ["prompts", "theirs"],
        ["resources", "theirs", "a:b"],
    ):
        assert_sentence(home.run("mcp", *command), 1, "without your consent", "toolwire mcp trust theirs")
    assert home.lives == []


def test_prompts_and_resources_are_listed_and_printed(home: Home) -> None:
    home.write_own(line=home.entry())
    assert home.run("mcp", "prompts").out == "line\n  greet [who=…]\n"
    assert home.run("mcp", "prompts", "line", "greet", "who=me").out == "user:\nHello me\n"
    assert_sentence(home.run("mcp", "prompts", "line", "great"), 2, "no prompt great", "It has: greet")
    assert home.run("mcp", "resources", "line").out == "line\n  note://1 one\n  note://{id} notes\n"
    assert home.run("mcp", "resources", "line", "note://1").out == "at note://1\n"
    (answer,) = home.run("mcp", "resources", "line", "note://1", "--json").lines
    assert answer["contents"][0]["text"] == "at note://1"


def test_pictures_are_written_to_a_folder_or_mentioned(home: Home, capfd: pytest.CaptureFixture[str]) -> None:
    picture = b"\x89PNG not really"
    parts: list[Part] = [TextPart("See:\x1b[2J"), MediaPart("image/png", data=b64encode(picture).decode())]
    print_parts(parts, None)
    out, err = capfd.readouterr()
    assert out == "See:␛[2J\n"
    assert "a picture, sound or file (image/png, 15 bytes)" in err
    print_parts(parts, "made/here")
    assert (home.project / "made" / "here" / "1.png").read_bytes() == picture
