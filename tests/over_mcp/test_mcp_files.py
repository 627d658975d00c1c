"""Whose file names a server, which of two counts, what needs consent, and files that are written."""

from __future__ import annotations

import json
import os
import random
import stat
import threading
from pathlib import Path
from typing import Any

import msgspec
import pytest

from toolwire.errors import ConfigError
from toolwire.mcp.config import ServerConfig
from toolwire.mcp.consent import Consents
from toolwire.mcp.files import Loaded, McpPaths, add_server, load_servers, mcp_paths, remove_server
from toolwire.mcp.jsonc import parse
from toolwire.mcp.reading import filled, read_servers, variables
from toolwire.tools.definition import Risk


class Place:
    """A home and a workspace, with the files that tests put there."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.root = folder / "work"
        self.root.mkdir(parents=True)
        self.config = self.home / ".config" / "toolwire"
        self.consents = Consents(None)
        self.paths: McpPaths = mcp_paths({"HOME": str(self.home)}, self.root)

    def put(self, path: Path, **servers: Any) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"mcpServers": servers}))
        return path

    def load(self, *further: Path) -> Loaded:
        return load_servers(self.paths, consents=self.consents, further=list(further))

    def names(self, *further: Path) -> tuple[list[str], list[str]]:
        loaded = self.load(*further)
        return [config.name for config in loaded.servers], [config.name for config in loaded.unconsented]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(Path(os.path.realpath(tmp_path)))


def test_where_files_are(place: Place) -> None:
    assert place.paths.user == place.config / "mcp.json"
    assert place.paths.user_config == place.config / "config.toml"
    assert [str(path.relative_to(place.root)) for path in place.paths.project] == [
        ".mcp.json",
        ".toolwire/config.toml",
        ".vscode/mcp.json",
        ".cursor/mcp.json",
    ]
    assert mcp_paths({"XDG_CONFIG_HOME": "/xdg"}, "/").user == Path("/xdg/toolwire/mcp.json")


def test_no_file_is_no_server(place: Place) -> None:
    assert place.load() == Loaded([], [], [])


def test_every_file_is_read_and_a_projects_needs_consent(place: Place) -> None:
    place.put(place.paths.user, a={"command": "s"})
    place.config.joinpath("config.toml").write_text('[mcp.servers.b]\ncommand = "s"\n')
    for letter, path in zip("cdef", place.paths.project, strict=True):
        path.parent.mkdir(exist_ok=True)
        key = "servers" if path.parent.name == ".vscode" else "mcpServers"
        text = json.dumps({key: {letter: {"command": "s"}}})
        path.write_text(text if path.suffix == ".json" else f'[mcp.servers.{letter}]\ncommand = "s"\n')
    assert place.names() == (["a", "b"], ["c", "d", "e", "f"])
    loaded = place.load()
    assert loaded.notes == []
    place.consents.give(loaded.unconsented[1])
    assert place.names() == (["a", "b", "d"], ["c", "e", "f"])


def test_a_server_of_the_persons_own_is_never_replaced(place: Place) -> None:
    place.put(place.paths.user, time={"command": "mine", "enabled": False})
    place.put(place.paths.project[0], time={"command": "theirs"}, other={"command": "s"})
    loaded = place.load()
    assert [(config.command, config.scope) for config in loaded.servers] == [("mine", "user")]
    assert [config.name for config in loaded.unconsented] == ["other"]
    assert "'time' is left out" in loaded.notes[0]
    assert str(place.paths.project[0]) in loaded.notes[0]


def test_which_of_two_counts(place: Place) -> None:
    given = place.put(place.home / "given.json", a={"command": "given"})
    place.put(place.paths.user, a={"command": "user"}, b={"command": "user"})
    place.config.joinpath("config.toml").write_text('[mcp.servers.b]\ncommand = "toml"\n')
    place.put(place.paths.project[0], a={"command": "p"}, b={"command": "p"}, c={"command": "p"}, d={"command": "p"})
    place.put(place.paths.project[3], c={"command": "p"}, d={"command": "q"})
    loaded = place.load(given)
    assert {config.name: config.command for config in loaded.servers} == {"a": "given", "b": "user"}
    assert {config.name: config.command for config in loaded.unconsented} == {"c": "p", "d": "p"}
    # One that stands word for word in two files of a project is nothing to tell of.
    assert [note.partition("'")[2][0] for note in loaded.notes] == ["a", "b", "a", "b", "d"]


def test_a_file_that_is_named_is_the_persons(place: Place) -> None:
    given = place.put(place.root / "sub" / "servers.json", a={"command": "./run", "risk": "read"})
    (config,) = place.load(given).servers
    assert (config.scope, config.risk, config.command) == ("given", Risk.READ, str(place.root / "run"))
    with pytest.raises(ConfigError, match="there is no file"):
        place.load(place.root / "none.json")


def test_a_projects_file_stays_one_when_it_is_named(place: Place) -> None:
    own = place.put(place.paths.project[0], a={"command": "s", "trusted": True})
    link = place.root / "link.json"
    link.symlink_to(own)
    for named in (own, link, Path(os.path.relpath(own))):
        loaded = place.load(named)
        assert loaded.servers == []
        assert [(config.name, config.trusted) for config in loaded.unconsented] == [("a", False)]
        assert "needs your consent" in loaded.notes[0]


def test_so_does_one_that_the_project_only_links_to(place: Place) -> None:
    real = place.put(place.root / "servers.json", a={"command": "s"})
    place.paths.project[0].symlink_to(real)
    assert place.names(real) == ([], ["a"])


def test_faults_in_the_persons_files_are_errors_and_in_a_projects_notes(place: Place) -> None:
    place.put(place.paths.user, mine={"command": "s"})
    place.paths.project[0].write_text("{nonsense")
    place.put(place.paths.project[3], a={"type": "sse", "url": "https://x.example/sse"}, b={"command": "s"})
    loaded = place.load()
    assert [config.name for config in loaded.servers] == ["mine"]
    assert [config.name for config in loaded.unconsented] == ["b"]
    assert "is not JSON" in loaded.notes[0]
    assert "the file is left out" in loaded.notes[0]
    assert "is sse" in loaded.notes[1]
    place.paths.user.write_text("{nonsense")
    with pytest.raises(ConfigError, match="is not JSON"):
        place.load()


@pytest.mark.parametrize("kind", ["pipe", "folder", "device", "closed", "huge"])
def test_what_is_no_plain_file_holds_nobody_up(place: Place, kind: str) -> None:
    path = place.paths.project[0]
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "device":
        path.symlink_to("/dev/zero")
    elif kind == "closed":
        path.symlink_to(path)
    else:
        path.write_bytes(b" " * (1024 * 1024 + 1))
    loaded = place.load()
    assert (loaded.servers, loaded.unconsented) == ([], [])
    assert "the file is left out" in loaded.notes[0]


def test_a_file_in_place_of_a_projects_folder(place: Place) -> None:
    (place.root / ".vscode").write_text("x")
    assert place.load() == Loaded([], [], [])


PLACED = [
    ("project", {"command": "./run", "cwd": "sub"}, "{root}/run", "{root}/sub"),
    ("project", {"command": "bin/../run", "cwd": ".."}, "{root}/run", "{above}"),
    ("project", {"command": "${workspaceFolder}/run", "cwd": "${workspaceFolder}"}, "{root}/run", "{root}"),
    ("project", {"command": "run"}, "run", ""),
    ("project", {"command": "~/run"}, "{root}/~/run", ""),
    ("project", {"command": "/bin/run", "cwd": "/srv"}, "/bin/run", "/srv"),
    ("project", {"command": "${TOOLS}/run", "cwd": "${DIR}"}, "${TOOLS}/run", "${DIR}"),
    ("user", {"command": "~/run", "cwd": "~"}, "{home}/run", "{home}"),
    ("user", {"command": "run", "cwd": "/srv"}, "run", "/srv"),
    ("user", {"command": "${workspaceFolder}/run"}, "{root}/run", ""),
]


@pytest.mark.parametrize(("scope", "entry", "command", "cwd"), PLACED)
def test_programs_and_folders_become_whole_paths(
    place: Place, scope: str, entry: dict[str, Any], command: str, cwd: str
) -> None:
    place.put(place.paths.user if scope == "user" else place.paths.project[0], a=entry)
    loaded = place.load()
    (config,) = [*loaded.servers, *loaded.unconsented]
    names = {"{root}": str(place.root), "{above}": str(place.root.parent), "{home}": str(place.home)}
    for name, value in names.items():
        command, cwd = command.replace(name, value), cwd.replace(name, value)
    assert (config.command, config.cwd) == (command, cwd)


def test_the_workspace_where_editors_write_it(place: Place) -> None:
    entry = {"command": "s", "args": ["${workspaceFolder}/x", "${A}"], "env": {"W": "${workspaceFolder}"}}
    place.put(place.paths.project[0], a=entry)
    (config,) = place.load().unconsented
    assert (config.args, config.env) == ((f"{place.root}/x", "${A}"), {"W": str(place.root)})


@pytest.mark.parametrize("name", ["${SECRET}", "a$${SECRET}", "a$"])
def test_a_workspace_cannot_smuggle_a_variable_in(tmp_path: Path, name: str) -> None:
    place = Place(tmp_path)
    root = tmp_path / name
    paths = msgspec.structs.replace(place.paths, root=root, project=(root / ".mcp.json",))
    words = ["${workspaceFolder}", "${workspaceFolder}{SECRET}", "$${workspaceFolder}", "${workspaceFolder}/${OTHER}"]
    place.put(paths.project[0], a={"command": "./run", "cwd": "sub", "args": words})
    (config,) = load_servers(paths, consents=place.consents).unconsented
    assert variables(config) == ["OTHER"]
    made = filled(config, {"SECRET": "x", "OTHER": "y"})
    assert (made.command, made.cwd) == (f"{root}/run", f"{root}/sub")
    assert made.args == (str(root), f"{root}{{SECRET}}", "${workspaceFolder}", f"{root}/y")


@pytest.mark.parametrize(
    "entry",
    [
        {"command": "./run"},
        {"command": "bin/run"},
        {"command": "bin/${NAME}"},
        {"command": "~somebody/run"},
        {"command": "s", "cwd": "sub"},
        {"command": "s", "cwd": "sub/${NAME}"},
    ],
)
def test_a_relative_path_of_the_persons_own_would_be_any_projects(place: Place, entry: dict[str, Any]) -> None:
    place.put(place.paths.user, a=entry)
    with pytest.raises(ConfigError, match="a path from nowhere") as caught:
        place.load()
    assert caught.value.hint == "Write it from / or from ~/."


def test_a_file_that_changes_after_loading_changes_nothing_that_was_shown(place: Place) -> None:
    path = place.put(place.paths.project[0], a={"command": "harmless"})
    (shown,) = place.load().unconsented
    place.put(path, a={"command": "harmful"})
    place.consents.give(shown)
    assert shown.command == "harmless"
    loaded = place.load()
    assert loaded.servers == []
    assert loaded.unconsented[0].command == "harmful"


def test_a_link_that_leads_elsewhere_is_asked_again(place: Place) -> None:
    one = place.put(place.home / "one.json", a={"command": "s"})
    two = place.put(place.home / "two.json", a={"command": "s"})
    path = place.paths.project[0]
    path.symlink_to(one)
    place.consents.give(place.load().unconsented[0])
    assert place.names() == (["a"], [])
    path.unlink()
    path.symlink_to(two)
    assert place.names() == ([], ["a"])


def test_consent_is_for_one_workspace(tmp_path: Path) -> None:
    one, two = Place(tmp_path / "one"), Place(tmp_path / "two")
    two.consents = one.consents
    for each in (one, two):
        each.put(each.paths.project[0], a={"command": "s"})
    one.consents.give(one.load().unconsented[0])
    assert one.names() == (["a"], [])
    assert two.names() == ([], ["a"])


# ---- writing


FULL = ServerConfig(
    name="a",
    command="/bin/s",
    args=("x y", "é\n", ""),
    env={"K": "${K}"},
    cwd="/srv",
    enabled=False,
    start_timeout=1.5,
    timeout=7200,
    allow=(),
    deny=("x*",),
    risk=Risk.NETWORK,
    risks={"t": Risk.READ},
    trusted=True,
)
WEB = ServerConfig(name="b c", url="https://x.example/mcp", headers={"A": "b"}, oauth=True, allow=("t",))


def back(path: Path, *names: str) -> list[ServerConfig]:
    found = read_servers(path.read_bytes(), form="json", scope="given", source="")
    return [msgspec.structs.replace(config, entry="") for config in found.servers if not names or config.name in names]


@pytest.mark.parametrize("config", [FULL, WEB, ServerConfig(name="c", command="s")])
def test_what_is_written_is_read_back(tmp_path: Path, config: ServerConfig) -> None:
    path = tmp_path / "new" / "mcp.json"
    add_server(path, config)
    assert back(path) == [config]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    add_server(path, msgspec.structs.replace(config, name="more"))
    assert [each.name for each in back(path)] == [config.name, "more"]
    remove_server(path, config.name)
    remove_server(path, "more")
    assert parse(path.read_text()) == {"mcpServers": {}}
    add_server(path, config)
    assert back(path) == [config]


TEXTS = [
    "{}",
    "{ }\n",
    '{"mcpServers": {}}',
    '{"mcpServers": {"z": {"command": "s"}}}',
    '{\n\t"mcpServers": {\n\t\t"z": {"command": "s"}, // why\n\t},\n\t"other": [1, 2,],\n}\n',
    '// head\n{"other": 1, /* x */ "mcpServers": {"z": {"command": "s",},},}',
    '{"other": {"mcpServers": {"no": 1}},}',
    '{"mcpServers": {"z": {"url": "https://a.example//b"} /* , */ } }',
    '\ufeff{"mcpServers":{"z":{"command":"}"}}}',
    '{\r\n  "mcpServers": {\r\n    "z": {"command": "s"}\r\n  }\r\n}',
]


@pytest.mark.parametrize("text", TEXTS)
def test_all_else_in_a_file_stays(tmp_path: Path, text: str) -> None:
    path = tmp_path / "mcp.json"
    path.write_text(text, newline="")
    before = parse(text.removeprefix("\ufeff"))
    add_server(path, WEB)
    assert back(path, WEB.name) == [WEB]
    after = parse(path.read_text("utf-8-sig"))
    del after["mcpServers"][WEB.name]
    assert after == {"mcpServers": {}, **before}
    for comment in ("// head", "/* x */", "// why", "/* , */"):
        assert (comment in text) is (comment in path.read_text())
    assert path.read_text().startswith("\ufeff") is text.startswith("\ufeff")
    remove_server(path, WEB.name)
    assert parse(path.read_text("utf-8-sig")) == {"mcpServers": {}, **before}
    for name in before.get("mcpServers", {}):
        remove_server(path, name)
    assert parse(path.read_text("utf-8-sig")) == {**before, "mcpServers": {}}


def test_random_additions_and_removals(tmp_path: Path) -> None:
    chance = random.Random(10)
    for number in range(10):
        path = tmp_path / f"{number}.json"
        path.write_text(chance.choice(TEXTS), newline="")
        there = {config.name for config in back(path)}
        for _ in range(6):
            name = f"s{chance.randrange(5)}"
            if name in there:
                remove_server(path, name)
            else:
                add_server(path, ServerConfig(name=name, command="s", args=(chance.choice('"},/*\\'),)))
            there ^= {name}
            assert {config.name for config in back(path)} == there


def test_what_cannot_be_written_leaves_the_file_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    add_server(path, WEB)
    before = path.read_bytes()
    with pytest.raises(ConfigError, match="has a server 'b c' already") as caught:
        add_server(path, WEB)
    assert "toolwire mcp remove" in caught.value.hint
    with pytest.raises(ConfigError, match="has no server 'x'"):
        remove_server(path, "x")
    with pytest.raises(ConfigError, match="beside `command`"):
        add_server(path, ServerConfig(name="x", command="s", url="https://x.example"))
    relative: list[dict[str, Any]] = [
        {"command": "./s"},
        {"command": "~x/s"},
        {"command": "s", "cwd": "sub"},
        {"command": "s", "cwd": "~x"},
    ]
    for fields in relative:
        config = ServerConfig(name="x", **fields)
        with pytest.raises(ConfigError, match="a path from nowhere"):
            add_server(path, config)
    assert path.read_bytes() == before
    add_server(path, ServerConfig(name="home", command="~/s", cwd="~"))
    path.write_text("{nonsense")
    with pytest.raises(ConfigError, match="is not JSON"):
        add_server(path, FULL)
    assert path.read_text() == "{nonsense"
    with pytest.raises(ConfigError, match="has no server 'x'"):
        remove_server(tmp_path / "none.json", "x")
    assert not (tmp_path / "none.json").exists()
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="cannot be written"):
        add_server(tmp_path / "file" / "mcp.json", FULL)


def test_a_linked_file_is_changed_where_it_lies(tmp_path: Path) -> None:
    real = tmp_path / "dotfiles" / "mcp.json"
    add_server(real, WEB)
    real.chmod(0o640)
    link = tmp_path / "mcp.json"
    link.symlink_to(real)
    add_server(link, FULL)
    assert link.is_symlink()
    assert [config.name for config in back(real)] == ["b c", "a"]
    assert stat.S_IMODE(real.stat().st_mode) == 0o640


def test_several_programs_write_at_the_same_time(tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    configs = [ServerConfig(name=f"s{number}", command="s") for number in range(8)]
    threads = [threading.Thread(target=add_server, args=(path, config)) for config in configs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert sorted(config.name for config in back(path)) == [config.name for config in configs]
