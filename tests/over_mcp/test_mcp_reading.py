"""Files of servers as other clients and we write them: what is taken, told, wrong, and filled in."""

from __future__ import annotations

import json
import random
import time
import tomllib
from typing import Any, Literal

import msgspec
import pytest

from toolwire.errors import ConfigError, McpFailed, ToolwireError
from toolwire.mcp.config import ServerConfig
from toolwire.mcp.jsonc import NotJson, blanked, members, parse
from toolwire.mcp.reading import MAX_BYTES, MAX_NOTES, Found, filled, read_servers, variables
from toolwire.tools.definition import Risk

Form = Literal["json", "toml"]
Scope = Literal["user", "project", "given"]


def read(text: str | bytes | dict[str, Any], form: Form = "json", scope: Scope = "user") -> Found:
    if isinstance(text, dict):
        text = json.dumps(text)
    data = text.encode() if isinstance(text, str) else text
    return read_servers(data, form=form, scope=scope, source="servers.json")


def one(entry: dict[str, Any], scope: Scope = "user") -> ServerConfig:
    (config,) = read({"mcpServers": {"time": entry}}, scope=scope).servers
    return msgspec.structs.replace(config, entry="")


def made(**fields: Any) -> ServerConfig:
    return ServerConfig(**{"name": "time", "scope": "user", "source": "servers.json", **fields})


_URL = "https://x.example/mcp"
TAKEN: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    (
        "Claude Desktop",
        {"command": "npx", "args": ["-y", "server"], "env": {"KEY": "${KEY}"}},
        {"command": "npx", "args": ("-y", "server"), "env": {"KEY": "${KEY}"}},
    ),
    ("Claude Code, stdio", {"type": "stdio", "command": "uvx", "args": [], "env": {}}, {"command": "uvx"}),
    (
        "Claude Code, http",
        {"type": "http", "url": "https://x.example/mcp", "headers": {"X-Key": "${KEY:-none}"}},
        {"url": "https://x.example/mcp", "headers": {"X-Key": "${KEY:-none}"}},
    ),
    ("Cursor", {"url": "http://localhost:3000/mcp"}, {"url": "http://localhost:3000/mcp"}),
    ("Windsurf", {"serverUrl": _URL, "disabledTools": ["a"]}, {"deny": ("a",), "url": _URL}),
    (
        "Gemini, program",
        {"command": "s", "cwd": "/srv", "timeout": 30000, "includeTools": ["a", "b*"], "excludeTools": ["c"]},
        {"command": "s", "cwd": "/srv", "timeout": 30.0, "allow": ("a", "b*"), "deny": ("c",)},
    ),
    ("Gemini, address", {"httpUrl": _URL, "timeout": 600_000}, {"url": _URL, "timeout": 600.0}),
    ("Cline", {"command": "s", "disabled": True, "timeout": 60}, {"command": "s", "enabled": False, "timeout": 60.0}),
    ("Roo", {"type": "streamable-http", "url": _URL, "headers": {}}, {"url": _URL}),
    ("LangChain", {"transport": "streamable_http", "url": _URL}, {"url": _URL}),
    ("Copilot", {"type": "local", "command": "s", "tools": ["*"]}, {"command": "s", "allow": ("*",)}),
    (
        "opencode",
        {"type": "local", "command": ["s", "x"], "environment": {"A": "1"}, "enabled": True},
        {"command": "s", "args": ("x",), "env": {"A": "1"}},
    ),
    ("Zed", {"source": "custom", "command": "s", "args": [], "env": {}}, {"command": "s"}),
    ("login", {"url": _URL, "oauth": {"clientId": "x"}}, {"url": _URL, "oauth": True}),
    ("no login", {"url": _URL, "oauth": {"enabled": False}}, {"url": _URL}),
    ("bearer", {"url": _URL, "bearer": "${T}"}, {"url": _URL, "headers": {"Authorization": "Bearer ${T}"}}),
    ("codex", {"url": _URL, "bearer_token_env_var": "T"}, {"url": _URL, "headers": {"Authorization": "Bearer ${T}"}}),
    (
        "ours",
        {"command": "s", "tools": {"allow": ["a"], "deny": ["b"]}, "risk": "network", "risks": {"a": "read"}},
        {"command": "s", "allow": ("a",), "deny": ("b",), "risk": Risk.NETWORK, "risks": {"a": Risk.READ}},
    ),
    (
        "trusted",
        {"command": "s", "trusted": True, "start_timeout": 5},
        {"command": "s", "trusted": True, "start_timeout": 5.0},
    ),
]


@pytest.mark.parametrize(("entry", "wanted"), [row[1:] for row in TAKEN], ids=[row[0] for row in TAKEN])
def test_forms_of_other_clients(entry: dict[str, Any], wanted: dict[str, Any]) -> None:
    assert one(entry) == made(**wanted)


@pytest.mark.parametrize("place", [["mcpServers"], ["servers"], ["context_servers"], ["mcp", "servers"]])
def test_places_in_json(place: list[str]) -> None:
    top: dict[str, Any] = {"time": {"command": "s"}}
    for key in reversed(place):
        top = {key: top}
    found = read({**top, "other.setting": 1})
    assert [config.name for config in found.servers] == ["time"]
    assert found.notes == []


TOML = """
theme = "dark"
[mcp.servers.time]
command = "uvx"
args = ["mcp-server-time"]
env = { TZ = "UTC" }
cwd = "/srv"
enabled = false
start_timeout = 5
timeout = 7200
tools = { allow = ["get_*"], deny = ["x"] }
risk = "read"
risks = { convert = "write" }
trusted = true

[mcp.servers."my web"]
url = "https://x.example/mcp"
headers = { A = "b" }
bearer = "${TOKEN}"
oauth = true

[mcp_servers.codex]
command = "c"
startup_timeout_sec = 2.5
tool_timeout_sec = 9
enabled_tools = ["a"]
"""


def test_our_own_toml() -> None:
    found = read(TOML, "toml")
    time_, web, codex = (msgspec.structs.replace(config, entry="") for config in found.servers)
    assert found.notes == []
    assert time_ == made(
        command="uvx",
        args=("mcp-server-time",),
        env={"TZ": "UTC"},
        cwd="/srv",
        enabled=False,
        start_timeout=5.0,
        timeout=7200.0,
        allow=("get_*",),
        deny=("x",),
        risk=Risk.READ,
        risks={"convert": Risk.WRITE},
        trusted=True,
    )
    assert (web.name, web.headers, web.oauth) == ("my web", {"A": "b", "Authorization": "Bearer ${TOKEN}"}, True)
    assert (codex.start_timeout, codex.timeout, codex.allow) == (2.5, 9.0, ("a",))


NOTED: list[tuple[dict[str, Any], str]] = [
    ({"command": "s", "colour": "red"}, "`colour` is not known"),
    ({"command": "s", "alwaysAllow": ["a"]}, "`alwaysAllow` is never taken over"),
    ({"command": "s", "autoApprove": ["a"]}, "`autoApprove` is never taken over"),
    ({"command": "s", "trust": True}, "`trust` is never taken over"),
    ({"command": "s", "headers": {"A": "b"}}, "`headers` is for a server at an address"),
    ({"url": _URL, "env": {"A": "b"}}, "`env` is for a server that is a program"),
    ({"command": "s", "envFile": "${workspaceFolder}/.env"}, "`envFile` is not known"),
    ({"command": "s", "env": {"KEY": "$KEY"}}, "write ${NAME}"),
    ({"command": "s", "env": {"KEY": "${input:key}"}}, "it wants an input"),
    ({"url": "https://x.example/sse"}, "try /mcp"),
    ({"command": "npx -y server"}, "words for it belong into `args`"),
    ({"url": _URL, "oauth": {"clientId": "x"}}, "of `oauth` no more is taken"),
]


@pytest.mark.parametrize(("entry", "words"), NOTED)
def test_what_is_left_out_is_told(entry: dict[str, Any], words: str) -> None:
    found = read({"mcpServers": {"time": entry}})
    (config,) = found.servers
    (note,) = found.notes
    assert words in note
    assert "servers.json, server 'time'" in note
    assert (config.trusted, config.risk) == (False, None)


@pytest.mark.parametrize("entry", [{"command": "s", "env": {}}, {"command": "s", "description": "x", "_note": 1}])
def test_nothing_is_told_where_nothing_is_lost(entry: dict[str, Any]) -> None:
    assert read({"$schema": "x", "mcpServers": {"time": entry}}).notes == []


def test_notes_about_whole_files() -> None:
    assert "names no servers" in read({"other": 1}).notes[0]
    assert "`inputs` is left out" in read({"servers": {}, "inputs": [{"id": "key"}]}).notes[0]
    assert "`mcp.server` is not known" in read("[mcp.server.x]\ncommand = 'a'", "toml").notes[0]
    assert read("") == read(b"\xef\xbb\xbf") == read("{ /* nothing */ }") == read("", "toml") == Found([], [])


def test_a_projects_file_cannot_say_how_harmless_it_is() -> None:
    entry = {"command": "s", "risk": "read", "risks": {"a": "nonsense"}, "trusted": True}
    found = read({"mcpServers": {"time": entry}}, scope="project")
    (config,) = found.servers
    assert (config.risk, config.risks, config.trusted) == (None, {}, False)
    assert len(found.notes) == 3
    assert all("a project's file cannot say" in note for note in found.notes)


WRONG: list[tuple[dict[str, Any] | Any, str, str]] = [
    ({"httpUrl": 5}, "`httpUrl` is a number", "in quotes"),
    ({"command": 5}, "`command` is a number", "Write command"),
    ({"command": "s", "args": "x"}, "`args` is a text", "a list of texts"),
    ({"command": "s", "args": ["x", 5]}, "`args` has a number in place 2", "in quotes"),
    ({"command": "s", "env": {"PORT": 3000}}, "`env` has a number for 'PORT'", "in quotes"),
    ({"command": "s", "env": []}, "`env` is a list", "Write a table"),
    ({"command": "s", "env": {"A=B": "c"}}, "`env` has the name 'A=B'", "No variable"),
    ({"command": "s", "env": {"A": None}}, "`env` has null for 'A'", "in quotes"),
    ({"command": "s", "url": _URL}, "`url` stands beside `command`", "one of the two"),
    ({"args": ["x"]}, "has neither `command` nor `url`", "Write command"),
    ({"command": "", "url": ""}, "has neither `command` nor `url`", "Write command"),
    ({"command": []}, "`command` is an empty list", "Write command"),
    ({"type": "sse", "url": _URL}, "`type` is sse", "/mcp in place of /sse"),
    ({"type": "ws", "url": _URL}, "`type` is 'ws'", '"stdio"'),
    ({"type": "stdio", "url": _URL}, "`type` is 'stdio', and there is `url`", "leave it out"),
    ({"type": "http", "command": "s"}, "`type` is 'http', and there is `command`", "leave it out"),
    ({"url": "x.example/mcp"}, "`url` is no address", "https://example.com/mcp"),
    ({"url": "file:///etc/passwd"}, "`url` is no address", "https://example.com/mcp"),
    ({"url": "https://x.example/a b"}, "`url` is no address", "https://example.com/mcp"),
    ({"url": "https://[x/"}, "`url` is no address", "https://example.com/mcp"),
    ({"url": _URL, "serverUrl": "https://y.example"}, "`serverUrl` says another thing than `url`", "one of the two"),
    ({"url": _URL, "headers": {"A B": "c"}}, "`headers` has the name 'A B'", "No header"),
    ({"url": _URL, "headers": {"A": "b\r\nC: d"}}, "`headers` has a value of several lines", "one line"),
    ({"url": _URL, "bearer": "x", "headers": {"authorization": "y"}}, "`bearer` stands beside", "one of the two"),
    ({"command": "s", "enabled": "yes"}, "`enabled` is a text", "true or false"),
    ({"command": "s", "timeout": True}, "`timeout` is true or false", "seconds"),
    ({"command": "s", "timeout": 0}, "`timeout` is out of range", "a day at most"),
    ({"command": "s", "timeout": 1e12}, "`timeout` is out of range", "a day at most"),
    ({"command": "s", "tools": {"only": []}}, "`tools` is no table of allow and deny", "tools = {"),
    ({"command": "s", "tools": {"allow": [""]}}, "`allow` has an empty name", "names of tools"),
    ({"command": "s", "risk": "low"}, "`risk` is a text that is no risk", "read, write"),
    ({"command": "s", "risks": {"a": "low"}}, "`risks` is a text that is no risk", "read, write"),
    ({"command": "s\0"}, "`command` holds a NUL", "Leave it out"),
    ({"command": "s", "args": ["\ud800"]}, "`args` holds half of a surrogate", "UTF-8"),
    ("uvx mcp-server-time", "is a text", '{"command"'),
    (None, "is null", '{"command"'),
]


@pytest.mark.parametrize(("entry", "words", "hint"), WRONG)
def test_what_is_wrong_is_told_with_what_to_write(entry: Any, words: str, hint: str) -> None:
    top = {"mcpServers": {"fine": {"command": "s"}, "time": entry}}
    with pytest.raises(ConfigError) as caught:
        read(top)
    assert "servers.json, line 1, server 'time'" in caught.value.message
    assert words in caught.value.message
    assert hint in caught.value.hint
    # A project's file is somebody else's: the wrong entry is left out, the others stay.
    if isinstance(entry, dict) and entry.keys() & {"risk", "risks"}:
        return
    found = read(top, scope="project")
    assert [config.name for config in found.servers] == ["fine"]
    assert words in found.notes[0]
    assert hint in found.notes[0]


@pytest.mark.parametrize("name", ["", " time", "a\nb", "a\u202eb", "a\u200bb", "x" * 101])
def test_names_that_cannot_be_shown(name: str) -> None:
    with pytest.raises(ConfigError, match="a name that cannot be shown") as caught:
        read({"mcpServers": {name: {"command": "s"}}})
    assert caught.value.message.isprintable()


def test_no_value_is_told_in_an_error() -> None:
    secret = "sk-canary-0123456789"
    for entry in (
        {"command": "s", "env": {"KEY": [secret]}},
        {"url": f"ftp://{secret}@x.example"},
        {"url": _URL, "headers": {"A": f"{secret}\n"}},
        {"url": _URL, "bearer": {"x": secret}},
        {"command": "s", "args": [{"x": secret}]},
        {"command": "s", "risk": secret},
    ):
        with pytest.raises(ConfigError) as caught:
            read({"mcpServers": {"time": entry}})
        assert secret not in caught.value.message + caught.value.hint + repr(caught.value.facts)


@pytest.mark.parametrize(
    ("text", "form", "line"),
    [
        ('{\n // a comment with "time": {\n"mcpServers": {\n"time": {\n"command": "s",\n"args": 5}}}', "json", 6),
        ('{"mcpServers": {\n"args": {"command": "s"},\n"time":\n {"type": "stdio"}}}', "json", 3),
        ('{"mcpServers": {"time": {\n"url": "",\n"httpUrl": 5}}}', "json", 3),
        ('{"servers": {"x": {"command": "s"},\n"time": {"command": 5}}}', "json", 2),
        ('[mcp.servers.time]\ncommand = "s"\n\nargs = 5\n', "toml", 4),
        ('[mcp.servers.x]\ncommand = "s"\n[ mcp.servers."time" ]\nargs = []\n', "toml", None),
        ('[mcp.servers.x]\ncommand = "s"\n[mcp.servers."time"] # mine\nargs = []\n', "toml", 3),
        ("mcp.servers.time.command = 5\n", "toml", None),
    ],
)
def test_errors_name_the_line(text: str, form: Form, line: int | None) -> None:
    with pytest.raises(ConfigError) as caught:
        read(text, form)
    assert caught.value.facts.get("line") == line
    assert (f"line {line}" in caught.value.message) is (line is not None)
    assert caught.value.facts["server"] == "time"


@pytest.mark.parametrize(
    ("text", "form", "words"),
    [
        (b"\xff{}", "json", "is not UTF-8 (line 1)"),
        (b'{\n"a": "\xff"}', "json", "is not UTF-8 (line 2)"),
        ("[1]", "json", "is no JSON object"),
        ("{", "json", "is not JSON: Expecting"),
        ('{"a": 1,\n"a": 2}', "json", "'a' is there twice"),
        ('{"mcpServers": {"x": {"command": "a"}, "x": {"command": "b"}}}', "json", "'x' is there twice"),
        ('{"mcpServers": {"x": {"command": "a"}}, "servers": {"x": {"command": "b"}}}', "json", "server 'x' twice"),
        ('{"a": NaN}', "json", "it holds NaN"),
        ('{"a": ' + "9" * 5000 + "}", "json", "a number that nobody can read"),
        ('{"a": ' + "[" * 100_000, "json", "nested deeper than 64"),
        ('{"a": ' + '{"a":' * 65 + "1" + "}" * 66, "json", "nested deeper than 64"),
        ("{} /* open", "json", "a comment without an end at line 1"),
        ("{ / }", "json", "a slash at line 1"),
        ("{,}", "json", "is not JSON"),
        ('{"a": [,]}', "json", "is not JSON"),
        ('{"a": 1,,}', "json", "is not JSON"),
        ("{} {}", "json", "Extra data"),
        ('{"mcpServers": []}', "json", "`mcpServers` is no table"),
        ('{"time": {"command": "s"}}', "json", "servers outside of `mcpServers`"),
        ("mcp.servers = 5", "toml", "`mcp.servers` is no table"),
        ("a = ", "toml", "is not TOML"),
        ("a\u202e = 1", "toml", "is not TOML"),
        ("a = 1\na = 2", "toml", "is not TOML"),
        ("x = " + "[" * 5000, "toml", "is not TOML"),
        (".".join("a" * 1000) + " = 1", "toml", "more than 500 dots (at line 1)"),
        (b" " * (MAX_BYTES + 1), "json", "holds more than 1,048,576 bytes"),
        (json.dumps({"mcpServers": {f"s{n}": {"command": "x"} for n in range(201)}}), "json", "more than 200 servers"),
        ("[mcp.servers.x]\ncommand = 's'\nbig = 0x" + "f" * 9000, "toml", "a number or a nesting"),
    ],
    ids=range(28),
)
def test_files_that_cannot_be_used(text: str | bytes, form: Form, words: str) -> None:
    began = time.process_time()
    with pytest.raises(ConfigError) as caught:
        read(text, form)
    assert words in caught.value.message
    assert "servers.json" in caught.value.message
    assert caught.value.message.isprintable()
    assert caught.value.hint
    assert time.process_time() - began < 2


def test_comments_and_commas_as_editors_write_them() -> None:
    text = """\ufeff// first
    {
      /* "mcpServers": {"no": {"command": "x"}} */
      "mcpServers": { // here
        "a": {"command": "//not a comment", "args": ["/* nor this */", "\\"//\\\\", ], },
      },
    }
    """
    (config,) = read(text).servers
    assert (config.command, config.args) == ("//not a comment", ("/* nor this */", '"//\\'))


def test_plain_json_is_read_as_the_standard_reader_does() -> None:
    chance = random.Random(10)
    for _ in range(300):
        value = _value(chance, 4)
        text = json.dumps(value, indent=chance.choice((None, 2)), ensure_ascii=chance.random() < 0.5)
        assert blanked(text) == text
        assert parse(text) == value
        with_comments = _commented(text, chance)
        assert len(blanked(with_comments)) == len(with_comments)
        assert parse(with_comments) == value
        if isinstance(value, dict):
            plain = blanked(with_comments)
            assert {each.key: parse(plain[each.value : each.end]) for each in members(plain)} == value


def _value(chance: random.Random, depth: int) -> Any:
    kind = chance.randrange(7 if depth else 5)
    if kind < 3:
        return "".join(chance.choice('a"\\/*,{}[]: é\n') for _ in range(chance.randrange(8)))
    if kind < 5:
        return chance.choice((None, True, 5, -2.5))
    if kind == 5:
        return [_value(chance, depth - 1) for _ in range(chance.randrange(4))]
    return {f"{n}{chance.choice('/*,a')}": _value(chance, depth - 1) for n in range(chance.randrange(4))}


def _commented(text: str, chance: random.Random) -> str:
    """Comments and last commas where they may stand: outside of strings, around the marks of JSON."""
    made: list[str] = []
    inside = escaped = False
    for char in text:
        if not inside and char in "{}[],:":
            if char in "}]" and "".join(made).rstrip()[-1:] not in ("{", "[") and chance.random() < 0.5:
                made.append(",")
            made.append(chance.choice(("", "/* } ] , */", ' // " {\n', "/**/")))
        made.append(char)
        if inside:
            inside = escaped or char != '"'
            escaped = not escaped and char == "\\"
        else:
            inside = char == '"'
    return "".join(made)


def test_whatever_comes_is_one_of_our_errors() -> None:
    chance = random.Random(3)
    text = json.dumps({"mcpServers": {"a": {"command": "s", "args": ["x"], "env": {"A": "b"}, "timeout": 5}}})
    pieces = ('"', "{", "}", "[", "]", ",", ":", "/*", "*/", "//", "\\", "\n", "0", "null", "\x00", "é", "${")
    silent = 0
    for number in range(2500):
        form: Form = "json" if number % 2 else "toml"
        mangled = list(text if form == "json" else TOML)
        for _ in range(chance.randrange(1, 5)):
            mangled[chance.randrange(len(mangled))] = chance.choice(pieces)
        try:
            read("".join(mangled), form, chance.choice(("user", "project")))
        except ToolwireError as error:
            silent += not error.hint
    assert silent == 0


# ---- values


ENV = {"A": "one", "EMPTY": "", "HOME": "/home/me", "BASE": "https://x.example"}


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("plain", "plain"),
        ("${A}", "one"),
        ("x${A}y${A}z", "xoneyonez"),
        ("${NONE:-other}", "other"),
        ("${NONE:-}", ""),
        ("${A:-other}", "one"),
        ("${EMPTY}", ""),
        ("${EMPTY:-other}", "other"),
        ("${NONE:-a:-b}", "a:-b"),
        ("${env:A}", "one"),
        ("${userHome}/x", "/home/me/x"),
        ("$A {A} $ }", "$A {A} $ }"),
        ("$${A}", "${A}"),
        ("$$${A}", "$${A}"),
        ("a$${A}${A}", "a${A}one"),
    ],
)
def test_variables_are_filled_in(text: str, wanted: str) -> None:
    config = made(command="s", args=(text,), env={"K": text})
    got = filled(config, ENV)
    assert (got.args, got.env) == ((wanted,), {"K": wanted})
    assert config.args == (text,)


def test_every_place_is_filled_in() -> None:
    config = made(command="/${A}", args=("${A}",), env={"${A}": "${A}"}, cwd="/${A}/x")
    got = filled(config, ENV)
    assert (got.command, got.args, got.env, got.cwd) == ("/one", ("one",), {"${A}": "one"}, "/one/x")
    got = filled(made(url="${BASE}/mcp", headers={"X": "${A}"}), ENV)
    assert (got.url, got.headers) == ("https://x.example/mcp", {"X": "one"})
    assert variables(made(command="${C}", args=("${A:-x} ${B}",), env={"X": "${A}$${Z}"}, cwd="${D}")) == list("CABD")
    assert variables(made(url="${U}", headers={"H": "${V} ${#bad} ${W}"})) == ["U", "V"]


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"command": "s", "args": ("${NONE}",)}, "the variable NONE is not set"),
        ({"command": "s", "env": {"K": "${env:NONE}"}}, "the variable NONE is not set"),
        ({"command": "s", "args": ("${input:key}",)}, "${input:key} cannot be filled in"),
        ({"command": "s", "args": ("${A:-${B}}",)}, "${A:-${B} cannot be filled in"),
        ({"command": "s", "args": ("${}",)}, "${} cannot be filled in"),
        ({"command": "s", "args": ("${open",)}, "${open cannot be filled in"),
        ({"command": "s", "args": ("${a\u202eb}",)}, "${a‹U+202E›b} cannot be filled in"),
        ({"command": "${EMPTY}"}, "there is no program"),
        ({"command": "${A}/x"}, "its command is no whole path"),
        ({"command": "s", "cwd": "${A}"}, "its cwd is no whole path"),
        ({"url": "${A}"}, "its url is no address"),
        ({"url": _URL, "headers": {"X": "${LINES}"}}, "one of its headers has several lines"),
    ],
)
def test_what_cannot_be_filled_in(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(McpFailed) as caught:
        filled(made(**fields), {**ENV, "LINES": "a\r\nX: b"})
    assert words in caught.value.message
    assert (caught.value.why, caught.value.server) == ("start", "time")
    assert caught.value.hint


def test_no_list_of_denied_tools_takes_the_place_of_another() -> None:
    entry = {"command": "s", "deny": ["a"], "disabledTools": ["b"], "excludeTools": ["a"], "tools": {"deny": ["c"]}}
    assert one(entry).deny == ("a", "b", "c")
    assert one({"command": "s", "allow": ["a"], "tools": ["a"]}).allow == ("a",)
    for tools in (["*"], {"allow": ["*"]}):
        with pytest.raises(ConfigError, match="`tools` says another thing than `allow`"):
            one({"command": "s", "allow": ["a"], "tools": tools})


@pytest.mark.parametrize("form", ["json", "toml"])
def test_many_wrong_entries_in_a_long_file_are_told_at_once(form: Form) -> None:
    text = json.dumps({"mcpServers": {f"s{n}": {"command": 5} for n in range(200)}, "x": ["a"] * 40_000})
    if form == "toml":
        text = "".join(f"[mcp.servers.s{n}]\ncommand = 5\n" for n in range(200)) + "#\n" * 100_000
    start = time.process_time()
    notes = read(text, form, "project").notes
    assert time.process_time() - start < 1
    assert notes[7].startswith(f"servers.json, line {1 if form == 'json' else 16}, server 's7': `command` is a number")


def test_a_projects_file_does_not_flood_the_screen() -> None:
    found = read({"mcpServers": {"time": {"command": "s", **{f"key{n}": 1 for n in range(5000)}}}}, scope="project")
    assert len(found.servers) == 1
    assert found.notes[-1] == f"servers.json: {5000 - MAX_NOTES:,} more of the kind are not told"
    assert len(found.notes) == MAX_NOTES + 1


def test_the_examples_in_hints_are_good() -> None:
    with pytest.raises(ConfigError) as caught:
        read("[1]")
    assert read(caught.value.hint.removeprefix("Write ").removesuffix(".")).servers[0].name == "time"
    assert tomllib.loads('[mcp.servers.time]\ncommand = "uvx"\nargs = ["mcp-server-time"]')
    with pytest.raises(NotJson):
        parse("")
