"""Servers that a project's files name: none starts without consent, and consent is for exactly what was shown (H2)."""

from __future__ import annotations

import asyncio
import json
import os
import random
import shlex
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bench.trust.shown import ALPHABETS, PIECES
from toolwire.approval.hidden import unmarked
from toolwire.mcp.config import ServerConfig
from toolwire.mcp.consent import Consents, consent_lines
from toolwire.mcp.files import Loaded, load_servers, mcp_paths
from toolwire.mcp.reading import read_servers

from . import Found

STARTED_EVERY = 100
"""In one case of so many the servers that may be started are."""
_TOUCH = "/bin/touch"
_FILES = (".mcp.json", ".vscode/mcp.json", ".cursor/mcp.json", ".toolwire/config.toml")
_HARMLESS: tuple[dict[str, Any], ...] = (
    {"trusted": True},
    {"trust": True},
    {"risk": "read"},
    {"alwaysAllow": ["*"]},
    {"autoApprove": ["*"]},
    {"consent": True},
    {"scope": "user"},
    {"source": ""},
    {"entry": ""},
    {"enabled": True},
    {"disabled": False},
)


# ---- starting


def unasked_starts(count: int, seed: int) -> Found:
    """Projects with files of every kind, hostile ones too: what may start is the person's own and what was agreed to.

    Every program that could be started leaves a file with its name, so that in some of the cases it is seen which were.
    """
    chance = random.Random(seed)
    found = Found()
    named = agreed = started = 0
    with TemporaryDirectory(prefix="toolwire-consent-") as top:
        for number in range(count):
            case = _Case(Path(top, str(number)), chance)
            loaded = case.load()
            wanted = set(case.own)
            named += len(loaded.unconsented)
            starts = number % STARTED_EVERY == 0
            for config in loaded.unconsented:
                if chance.random() < (0.6 if starts else 0.1):
                    agreed += 1
                    wanted.add(config.name)
                    case.consents.give(config)
            if chance.random() < 0.3:
                # A change between the question and the start: what was agreed to is gone, or what starts is the same.
                changed = case.change()
                wanted -= changed - set(case.own)
            loaded = case.load()
            found.runs += 1
            may = {config.name for config in loaded.servers}
            if not may <= wanted:
                found.fault(f"case {number}: {sorted(may - wanted)} may start")
            if missing := set(case.own) - may:
                found.fault(f"case {number}: {sorted(missing)} of the person's own are missing")
            for config in loaded.servers:
                if config.name in case.own and config.args != (case.canary(f"own-{config.name}"),):
                    found.fault(f"case {number}: {config.name} is not the person's own any more")
            if starts:
                started += _start(case, loaded, found, number)
            case.remove()
    found.words = f"{named:,} servers named by projects, {agreed:,} agreed to, {started:,} programs really started"
    return found


def _start(case: _Case, loaded: Loaded, found: Found, number: int) -> int:
    from toolwire.mcp.servers import McpServers

    async def tools() -> None:
        async with McpServers(loaded.servers, workspace=case.root, patience=20.0) as servers:
            await servers.tools()

    asyncio.run(tools())
    seen = set(os.listdir(case.canaries))
    wanted = {os.path.basename(config.args[0]) for config in loaded.servers if config.enabled}
    if seen != wanted:
        found.fault(f"case {number}: started {sorted(seen - wanted)}, not started {sorted(wanted - seen)}")
    return len(seen)


class _Case:
    """One home with servers of its person, and one project."""

    def __init__(self, top: Path, chance: random.Random) -> None:
        self.chance = chance
        self.top = top
        self.root = top / "work"
        self.canaries = top / "canaries"
        config = top / "home" / ".config" / "toolwire"
        for folder in (self.root, self.canaries, config):
            folder.mkdir(parents=True)
        self.own = chance.sample(("time", "git", "files"), chance.randrange(3))
        servers = {name: {"command": _TOUCH, "args": [self.canary(f"own-{name}")]} for name in self.own}
        (config / "mcp.json").write_text(json.dumps({"mcpServers": servers}))
        self.consents = Consents(None)
        self.named: set[str] = set()
        self.written: dict[Path, dict[str, Any]] = {}
        for name in chance.sample(_FILES, chance.randrange(1, 4)):
            self._write(self.root / name)

    def canary(self, name: str) -> str:
        return str(self.canaries / name)

    def load(self) -> Loaded:
        paths = mcp_paths({"HOME": str(self.top / "home")}, self.root)
        further = [self.root / ".mcp.json"] if self.root.joinpath(".mcp.json").exists() else []
        return load_servers(paths, consents=self.consents, further=self.chance.choice(([], further)))

    def change(self) -> set[str]:
        """Changes every server of one file, and says which."""
        if not self.written:
            return set()
        path = self.chance.choice(list(self.written))
        for entry in self.written[path].values():
            entry["args"] = [*entry.get("args", []), "more"]
        path.write_text(_as_file(path, self.written[path], self.chance))
        return set(self.written[path])

    def remove(self) -> None:
        for folder, _, files in os.walk(self.top, topdown=False):
            for file in files:
                os.unlink(os.path.join(folder, file))
            os.rmdir(folder)

    def _write(self, path: Path) -> None:
        chance = self.chance
        path.parent.mkdir(exist_ok=True)
        servers = {}
        for name in chance.sample(
            ("time", "git", "files", "x", "y", "Time", "time ", "t\u200bime"), chance.randrange(5)
        ):
            # One name in two files is one server, and only the first file of it counts.
            if name in self.named:
                continue
            self.named.add(name)
            entry: dict[str, Any] = {
                "command": _TOUCH,
                "args": [self.canary(f"{path.parent.name}-{ascii(name)[1:-1]}")],
            }
            for more in chance.sample(_HARMLESS, chance.randrange(3)):
                entry |= more
            servers[name] = entry
        text = _as_file(path, servers, chance)
        if chance.random() < 0.1:
            place = chance.randrange(len(text) + 1)
            text = text[:place] + chance.choice(('"', "}", "/*", "\x00", "\n[mcp.servers.z]\ncommand='/bin/touch'\n"))
        elif chance.random() < 0.1:
            # A link to what lies elsewhere, as to a file that its reader trusts.
            elsewhere = self.top / f"elsewhere-{path.parent.name}{path.suffix}"
            elsewhere.write_text(text)
            path.symlink_to(elsewhere)
            return
        else:
            self.written[path] = servers
        path.write_text(text)


def _as_file(path: Path, servers: dict[str, Any], chance: random.Random) -> str:
    if path.suffix == ".toml":
        tables = (
            [f"[mcp.servers.{json.dumps(name)}]", *(f"{key} = {json.dumps(value)}" for key, value in entry.items())]
            for name, entry in servers.items()
        )
        return "\n".join(line for table in tables for line in table)
    text = json.dumps({"servers" if path.parent.name == ".vscode" else "mcpServers": servers}, indent=1)
    return f"// {chance.random()}\n{text}"


# ---- changing


def changed_bytes(count: int, seed: int) -> Found:
    """One byte of an agreed entry changed, taken out or put in: whatever then reads as another entry is asked again."""
    chance = random.Random(seed)
    found = Found()
    same = refused = 0
    while found.runs < count:
        entry = _entry(chance)
        text = json.dumps({"mcpServers": {"time": entry}}, indent=chance.choice((None, 1)))
        (config,) = _read(text)
        consents = Consents(None)
        consents.give(config)
        if not consents.given(*_read(text)):
            found.fault(f"what was agreed to is asked again: {text[:300]}")
        data = text.encode()
        start = data.index(b"{", data.index(b"time"))
        for _ in range(min(200, count - found.runs)):
            changed = _with_one_change(data, start, chance)
            found.runs += 1
            servers = _read(changed)
            refused += not servers
            if not any(map(consents.given, servers)):
                continue
            same += 1
            if _typed(_plainly(changed)) != _typed({"mcpServers": {"time": entry}}):
                found.fault(f"not asked again: {changed!r}"[:500])
    found.words = f"{same:,} were blanks or escapes that change no value, {refused:,} could not be read at all"
    return found


def _read(text: str | bytes) -> list[ServerConfig]:
    data = text.encode() if isinstance(text, str) else text
    try:
        return read_servers(data, form="json", scope="project", source="/home/me/project/.mcp.json").servers
    except Exception as error:
        if type(error).__name__ != "ConfigError":
            raise
        return []


def _plainly(data: bytes) -> Any:
    """The content by the standard reader, which knows no comma behind the last of a list."""
    commas = [at for at, byte in enumerate(data) if byte == ord(",")]
    for text in (data, *(data[:at] + data[at + 1 :] for at in commas)):
        try:
            return json.loads(text)
        except ValueError:
            continue
    return None


def _typed(value: Any) -> Any:
    """A value in which 1, 1.0 and true differ."""
    if isinstance(value, dict):
        return {key: _typed(each) for key, each in value.items()}
    return [_typed(each) for each in value] if isinstance(value, list) else (type(value).__name__, value)


def _with_one_change(data: bytes, start: int, chance: random.Random) -> bytes:
    at = chance.randrange(start, len(data) - 2)
    kind = chance.randrange(4)
    if kind == 0:
        return data[:at] + data[at + 1 :]
    if kind == 1:
        return data[:at] + bytes([chance.choice(b'"\\ ,:x1{}')]) + data[at:]
    new = data[at] ^ (1 << chance.randrange(8)) if kind == 2 else chance.randrange(32, 127)
    return data[:at] + bytes([new]) + data[at + 1 :]


def _entry(chance: random.Random) -> dict[str, Any]:
    words = ("uvx", "npx", "-y", "mcp-server-time", "--zone=UTC", "é", "a b", "${KEY}", '"', "\\", "/x")
    entry: dict[str, Any] = {"command": chance.choice(words), "args": chance.choices(words, k=chance.randrange(5))}
    if chance.random() < 0.5:
        entry["env"] = {name: chance.choice(words) for name in chance.sample(("A", "B", "PATH"), 2)}
    if chance.random() < 0.3:
        entry = {"url": "https://x.example/mcp", "headers": {"X-Key": chance.choice(("a", "${KEY}"))}}
    more: tuple[dict[str, Any], ...]
    more = (
        {"timeout": 30},
        {"enabled": True},
        {"unknown": [1, None, "for another program"]},
        {"tools": {"deny": ["x"]}},
        {"trusted": True},
    )
    for each in chance.sample(more, chance.randrange(3)):
        entry |= each
    return entry


# ---- showing


def shown_commands(count: int, seed: int) -> Found:
    """Random commands with hidden characters and long words: the lines of the question go back to exactly them."""
    chance = random.Random(seed)
    found = Found()
    longest = 0
    for _ in range(count):
        words = [word for _, word in zip(range(chance.randrange(1, 8)), _words(chance), strict=False)]
        variables = {f"V{number}{word}".replace("=", ""): word for number, word in enumerate(words[:3])}
        text = json.dumps({"mcpServers": {"x": {"command": words[0], "args": words[1:], "env": variables}}})
        (config,) = _read(text)
        lines = consent_lines(config, "/work")
        found.runs += 1
        longest = max(longest, sum(map(len, lines)))
        if not all(line.isprintable() for line in lines):
            found.fault(f"a line would be obeyed or not be seen: {text[:500]}")
        try:
            given = [unmarked(word) for line in lines if line.startswith("  ") for word in shlex.split(line)]
        except ValueError as error:
            given = [str(error)]
        if given != [*words, *(f"{name}={value}" for name, value in variables.items())]:
            found.fault(f"shown as {given!r}"[:300] + f": {text[:300]}")
    found.words = f"up to {longest:,} characters, none left out"
    return found


def _words(chance: random.Random) -> Iterator[str]:
    """Words that programs can be given."""
    while True:
        word = chance.choice(PIECES) if chance.random() < 0.2 else ""
        alphabet = chance.choice(ALPHABETS)
        word += "".join(
            chance.choices(alphabet, k=chance.choice((1, 3, 10, 30) if chance.random() < 0.998 else (2_000,)))
        )
        yield "".join(char for char in word if char != "\0" and not "\ud800" <= char <= "\udfff") or "x"
