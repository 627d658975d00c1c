"""One server's entry in a file, in the words of any client, as a `ServerConfig`.

What other clients write is taken where it means the same here. What lets tools run without a question is never taken,
and of a project's file nothing that would make a tool look harmless. What is not known is told and left out; what is
wrong is not guessed at.
"""

from __future__ import annotations

import hashlib
import json
import math
from typing import Any, Literal
from urllib.parse import urlsplit

import msgspec

from ..approval.hidden import is_marked, marked
from ..tools.definition import Risk
from .config import CALL_SECONDS, START_SECONDS, ServerConfig

Scope = Literal["user", "project", "given"]

NAME_CHARACTERS = 100
MAX_SECONDS = 86_400.0
_IN_SECONDS = 3600
"""JSON files of some clients count time-outs in seconds, of others in milliseconds. Up to this it is seconds."""

_SAME = {
    "serverUrl": "url",
    "httpUrl": "url",
    "environment": "env",
    "workingDirectory": "cwd",
    "transport": "type",
    "transportType": "type",
    "http_headers": "headers",
    "includeTools": "allow",
    "enabled_tools": "allow",
    "excludeTools": "deny",
    "disabledTools": "deny",
    "disabled_tools": "deny",
    "startup_timeout_sec": "start_timeout",
    "tool_timeout_sec": "timeout",
}
"""What others call it, and what it is called here."""
_KNOWN = frozenset(
    (
        "type",
        "command",
        "args",
        "env",
        "cwd",
        "url",
        "headers",
        "bearer",
        "bearer_token_env_var",
        "oauth",
        "enabled",
        "disabled",
        "start_timeout",
        "timeout",
        "tools",
        "allow",
        "deny",
        "risk",
        "risks",
        "trusted",
    )
)
_UNASKED = frozenset(("trust", "autoApprove", "alwaysAllow", "auto_approve", "always_allow", "autoRun"))
_WORDS = frozenset(
    ("description", "name", "title", "displayName", "icon", "iconPath", "version", "gallery", "source", "comment")
)
"""For people; nothing hangs on them."""
_OWN_RISKS = ("risk", "risks", "trusted")
_TYPES = {"stdio": "stdio", "local": "stdio", "http": "http", "streamablehttp": "http", "remote": "http"}
_OF_PROGRAMS = ("args", "env", "cwd")
_OF_ADDRESSES = ("headers", "bearer", "bearer_token_env_var", "oauth")
_TOKEN = frozenset("!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
"""What the name of a header is made of."""


class WrongEntry(Exception):
    """What is wrong with an entry: the key, words that follow it, and what to write."""

    def __init__(self, key: str, words: str, hint: str) -> None:
        super().__init__(words)
        self.key = key
        self.words = words
        self.hint = hint


def server_of(
    name: str, entry: Any, form: Literal["json", "toml"], scope: Scope, source: str
) -> tuple[ServerConfig, list[str]]:
    """The server that an entry describes, and what of it is left out, one sentence each. Raises `WrongEntry`."""
    if not name or len(name) > NAME_CHARACTERS or any(map(is_marked, name)) or name != name.strip():
        raise WrongEntry("", "has a name that cannot be shown", f"Write 1 to {NAME_CHARACTERS} plain characters.")
    if not isinstance(entry, dict):
        raise WrongEntry("", f"is {_kind(entry)}", f"Write {_EXAMPLE[form]}.")
    found, written, notes = _known(entry, scope)
    try:
        config = _config(found, form, notes)
    except WrongEntry as wrong:
        wrong.key = written.get(wrong.key, wrong.key)
        raise
    notes += _likely_slips(config)
    return msgspec.structs.replace(config, name=name, scope=scope, source=source, entry=_digest(entry)), notes


def _config(found: dict[str, Any], form: str, notes: list[str]) -> ServerConfig:
    command, args = _program(found)
    url = _text(found, "url")
    _check_kind(found, command, url)
    notes += _wrong_kind(found, command)
    return ServerConfig(
        name="",
        command=command,
        args=args if command else (),
        env=_variables(found) if command else {},
        cwd=_text(found, "cwd") if command else "",
        url=url,
        headers=_headers(found) if url else {},
        oauth=_oauth(found, notes) if url else False,
        enabled=_flag(found, "enabled", True) and not _flag(found, "disabled", False),
        start_timeout=_seconds(found, "start_timeout", form, START_SECONDS),
        timeout=_seconds(found, "timeout", form, CALL_SECONDS),
        allow=_allowed(found),
        deny=_denied(found),
        risk=_risk(found["risk"], "risk") if "risk" in found else None,
        risks=_risks(found),
        trusted=_flag(found, "trusted", False),
    )


def _digest(entry: dict[str, Any]) -> str:
    try:
        written = json.dumps(entry, sort_keys=True, default=repr)
    except (ValueError, RecursionError):
        raise WrongEntry("", "holds a number or a nesting that nobody can read", "Leave it out.") from None
    return hashlib.sha256(written.encode()).hexdigest()


def _known(entry: dict[str, Any], scope: Scope) -> tuple[dict[str, Any], dict[str, str], list[str]]:
    """What of an entry is taken, by the names used here; those names as they are written; what is left out."""
    found: dict[str, Any] = {}
    notes: list[str] = []
    written: dict[str, str] = {}
    for key, value in entry.items():
        ours = _SAME.get(key, key)
        shown = f"`{marked(key)[:60]}`"
        if key in _UNASKED:
            notes.append(f"{shown} is never taken over: what may run without a question is said by your own policy")
        elif scope == "project" and ours in _OWN_RISKS:
            notes.append(f"{shown} is left out: a project's file cannot say how harmless a server is")
        elif ours not in _KNOWN:
            if key not in _WORDS and not key.startswith(("_", "$", "//")):
                notes.append(f"{shown} is not known and left out")
        elif ours == "deny" and isinstance(found.get(ours), list) and isinstance(value, list):
            found[ours] = [*found[ours], *value]
        elif ours in found and found[ours] != value:
            raise WrongEntry(key, f"says another thing than `{written[ours]}`", "Write one of the two.")
        else:
            found[ours] = value
            written[ours] = key
    return found, written, notes


def _program(found: dict[str, Any]) -> tuple[str, tuple[str, ...]]:
    """The program and its words. Some clients write both as one list."""
    args = _texts(found, "args")
    if not isinstance(found.get("command"), list):
        return _text(found, "command"), args
    words = _texts(found, "command")
    if not words or not words[0]:
        raise WrongEntry("command", "is an empty list", _COMMAND)
    return words[0], (*words[1:], *args)


def _check_kind(found: dict[str, Any], command: str, url: str) -> None:
    kind = _text(found, "type")
    plain = "".join(char for char in kind.lower() if char.isalnum())
    if plain == "sse":
        raise WrongEntry(
            "type",
            "is sse, a transport that MCP has given up",
            'Most such servers have an address for "http" too, often with /mcp in place of /sse: write that.',
        )
    if kind and plain not in _TYPES:
        raise WrongEntry("type", f"is {marked(kind)[:60]!r}", 'Write "stdio" for a program or "http" for an address.')
    if command and url:
        raise WrongEntry("url", "stands beside `command`", "A server is a program or an address: write one of the two.")
    if not command and not url:
        raise WrongEntry("", "has neither `command` nor `url`", f"{_COMMAND} Or: url, its address.")
    if kind and (_TYPES[plain] == "stdio") is not bool(command):
        raise WrongEntry(
            "type", f"is {kind!r}, and there is `{'command' if command else 'url'}`", "Correct it or leave it out."
        )
    if url:
        _check_url(url)


def _check_url(url: str) -> None:
    if url.startswith("${"):
        return
    if not is_address(url):
        raise WrongEntry("url", "is no address of HTTP", 'Write it whole, as "https://example.com/mcp".')


def is_address(url: str) -> bool:
    """Whether this is an http or https URL with a host, without blanks or control characters."""
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and url.isprintable() and " " not in url
    except ValueError:
        return False


def _wrong_kind(found: dict[str, Any], command: str) -> list[str]:
    keys = [key for key in (_OF_ADDRESSES if command else _OF_PROGRAMS) if found.get(key)]
    other = "a server at an address" if command else "a server that is a program"
    return [f"`{key}` is for {other} and left out" for key in keys]


def _variables(found: dict[str, Any]) -> dict[str, str]:
    variables = _table(found, "env", 'env = { NAME = "value" }')
    for name in variables:
        if not name or "=" in name or "\0" in name:
            raise WrongEntry("env", f"has the name {marked(name)[:60]!r}", "No variable can be called that.")
    return variables


def _headers(found: dict[str, Any]) -> dict[str, str]:
    headers = _table(found, "headers", 'headers = { NAME = "value" }')
    for name, value in headers.items():
        if not name or not _TOKEN.issuperset(name):
            raise WrongEntry("headers", f"has the name {marked(name)[:60]!r}", "No header can be called that.")
        if any(char in value for char in "\r\n"):
            raise WrongEntry("headers", f"has a value of several lines for {name}", "Write it in one line.")
    bearer = _text(found, "bearer")
    variable = _text(found, "bearer_token_env_var")
    if variable:
        bearer = f"${{{variable}}}"
    if not bearer:
        return headers
    if any(name.lower() == "authorization" for name in headers):
        raise WrongEntry("bearer", "stands beside the header Authorization", "Write one of the two.")
    return {**headers, "Authorization": f"Bearer {bearer}"}


def _oauth(found: dict[str, Any], notes: list[str]) -> bool:
    """True or false; some clients write a table of details, which are found out here."""
    value = found.get("oauth", False)
    if not isinstance(value, dict):
        return _flag(found, "oauth", False)
    if value.keys() - {"enabled"}:
        notes.append("of `oauth` no more is taken than that the server wants a login")
    return _flag(value, "enabled", True)


def _allowed(found: dict[str, Any]) -> tuple[str, ...] | None:
    tools = found.get("tools")
    inner = {"allow": tools} if isinstance(tools, list) else {} if tools is None else _tools(tools)
    given = [_patterns(each, "allow") for each in (found, inner) if "allow" in each]
    if len(given) == 2 and given[0] != given[1]:
        raise WrongEntry("tools", "says another thing than `allow`", "Write one of the two.")
    return given[0] if given else None


def _denied(found: dict[str, Any]) -> tuple[str, ...]:
    """Wherever it is written: no list of what is denied takes the place of another."""
    tools = found.get("tools")
    inner = _tools(tools) if isinstance(tools, dict) else {}
    return tuple(dict.fromkeys((*_patterns(found, "deny"), *_patterns(inner, "deny"))))


def _tools(tools: Any) -> dict[str, Any]:
    if not isinstance(tools, dict) or tools.keys() - {"allow", "deny"}:
        raise WrongEntry("tools", "is no table of allow and deny", 'Write tools = { allow = ["get_*"], deny = ["x"] }.')
    return tools


def _patterns(found: dict[str, Any], key: str) -> tuple[str, ...]:
    patterns = _texts(found, key)
    if not all(patterns):
        raise WrongEntry(key, "has an empty name", "Write names of tools, * for any characters.")
    return patterns


def _risks(found: dict[str, Any]) -> dict[str, Risk]:
    risks = _table(found, "risks", 'risks = { tool = "read" }')
    return {tool: _risk(risk, "risks") for tool, risk in risks.items()}


def _risk(value: Any, key: str) -> Risk:
    if value not in list(Risk):
        raise WrongEntry(key, f"is {_kind(value)} that is no risk", f"The risks are {', '.join(Risk)}.")
    return Risk(value)


def _seconds(found: dict[str, Any], key: str, form: str, otherwise: float) -> float:
    if key not in found:
        return otherwise
    value = found[key]
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise WrongEntry(key, f"is {_kind(value)}", "Write a number of seconds.")
    try:
        seconds = float(value)
    except OverflowError:
        seconds = math.inf
    if form == "json" and seconds > _IN_SECONDS:
        seconds /= 1000
    if not 0 < seconds <= MAX_SECONDS:
        raise WrongEntry(key, "is out of range", "Write a number of seconds above 0, a day at most.")
    return seconds


def _flag(found: dict[str, Any], key: str, otherwise: bool) -> bool:
    value = found.get(key, otherwise)
    if not isinstance(value, bool):
        raise WrongEntry(key, f"is {_kind(value)}", "Write true or false.")
    return value


def _text(found: dict[str, Any], key: str) -> str:
    value = found.get(key, "")
    if not isinstance(value, str):
        raise WrongEntry(key, f"is {_kind(value)}", _COMMAND if key == "command" else "Write a text, in quotes.")
    _check_text(key, value)
    return value


def _texts(found: dict[str, Any], key: str) -> tuple[str, ...]:
    value = found.get(key, [])
    if not isinstance(value, list):
        raise WrongEntry(key, f"is {_kind(value)}", 'Write a list of texts, as ["one", "two"].')
    for number, each in enumerate(value, 1):
        if not isinstance(each, str):
            raise WrongEntry(key, f"has {_kind(each)} in place {number}", "Write each as a text, in quotes.")
        _check_text(key, each)
    return tuple(value)


def _table(found: dict[str, Any], key: str, example: str) -> dict[str, str]:
    value = found.get(key, {})
    if not isinstance(value, dict):
        raise WrongEntry(key, f"is {_kind(value)}", f"Write a table, as {example}.")
    for name, each in value.items():
        _check_text(key, name)
        if not isinstance(each, str):
            raise WrongEntry(
                key, f"has {_kind(each)} for {marked(name)[:60]!r}", "Write each value as a text, in quotes."
            )
        _check_text(key, each)
    return dict(value)


def _check_text(key: str, text: str) -> None:
    """That a program can be given it: no system takes a NUL, and half of a character is none."""
    if text.isascii() and "\0" not in text:
        return
    try:
        text.encode()
    except UnicodeEncodeError:
        raise WrongEntry(key, "holds half of a surrogate pair, which is no text", "Write it as UTF-8.") from None
    if "\0" in text:
        raise WrongEntry(key, "holds a NUL character", "Leave it out.")


def _likely_slips(config: ServerConfig) -> list[str]:
    """What is taken as it stands and is probably meant in another way."""
    notes = []
    for where, values in (("env", config.env), ("headers", config.headers)):
        for name, value in values.items():
            if value[:1] == "$" and value.isascii() and value[1:].isidentifier():
                said = f"{marked(name)[:60]} the text {value[:60]}"
                notes.append(f"`{where}` gives {said}: for a variable, write ${{NAME}}")
    if " " in config.command and "/" not in config.command.partition(" ")[0] and not config.args:
        notes.append("`command` is taken as the name of one program, blanks and all: words for it belong into `args`")
    if config.url.partition("?")[0].rstrip("/").endswith("/sse"):
        notes.append("`url` ends with /sse, as addresses of a transport do that MCP has given up; try /mcp")
    if any("${input:" in text for text in (*config.args, *config.env.values(), config.url, *config.headers.values())):
        notes.append("it wants an input (`${input:…}`), and there are none here: write ${NAME} for a variable")
    return notes


def _kind(value: Any) -> str:
    """What a value is. Never the value: it may be somebody's key."""
    if value is None:
        return "null"
    kinds = {str: "a text", bool: "true or false", int: "a number", float: "a number", list: "a list", dict: "a table"}
    return kinds.get(type(value), "a date")


_COMMAND = 'Write command, the program, as "npx", and args, a list of its words.'
_EXAMPLE = {
    "json": '{"command": "uvx", "args": ["mcp-server-time"]}',
    "toml": 'command = "uvx" and args = ["mcp-server-time"] below it',
}
