"""The files that a command line runs by path, and what they hold: a part of what is approved.

`bash build.sh` is approved for the script as it is then; `make` for the Makefile. Bound are the program where a path
names it or its name leads into the workspace, what an interpreter is given to run, the files in which well-known tools
look for what to run, and the configuration that git would obey. Not bound is what those read in turn: modules, included
files, files of the tests.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Any

from ..tools.definition import ToolDefinition
from .command_runs import Run, read_line, runs_of
from .commands.command_line import Command, Word, WordKind
from .commands.options import names
from .commands.readers import files_read
from .commands.starters import SHELLS
from .contents import identity
from .parts import MAX_PARTS, argument, command_folders, git_folders, path_words, place_of
from .patterns import is_below
from .places import Workspace

MOST_BYTES = 16 << 20
"""Of all files of one call that are read; what is larger is known by its size, times and number."""
MOST_FILES = 256

_INTERPRETERS = SHELLS | names(
    "source . python pypy node nodejs deno bun ruby perl php lua luajit rscript tclsh wish osascript groovy julia "
    "elixir escript runghc scala java dotnet racket guile swipl octave ts-node tsx coffee psql mysql ansible-playbook "
    "streamlit awk gawk mawk nawk bc gdb"
)
"""Programs that run a file which they are given."""

_PYTHON_TESTS = "conftest.py pytest.ini pyproject.toml tox.ini setup.cfg"
_PACKAGE = "package.json .npmrc .yarnrc.yml .pnp.cjs .pnpmfile.cjs"
_GRADLE = "build.gradle build.gradle.kts settings.gradle settings.gradle.kts gradle.properties"
_FIXED = {
    program: tuple(files.split())
    for programs, files in {
        "make gmake": "GNUmakefile makefile Makefile",
        "npm yarn pnpm bun npx pnpx bunx": _PACKAGE,
        "just": "justfile Justfile .justfile",
        "task": "Taskfile.yml Taskfile.yaml taskfile.yml taskfile.yaml",
        "rake": "Rakefile rakefile Rakefile.rb",
        "bundle": "Gemfile",
        "cargo": "Cargo.toml build.rs .cargo/config.toml",
        "pytest py.test": _PYTHON_TESTS,
        "tox": "tox.ini pyproject.toml setup.cfg",
        "nox": "noxfile.py",
        "invoke inv": "tasks.py",
        "fab": "fabfile.py",
        "pip pip3 uv poetry pdm hatch": "pyproject.toml setup.py setup.cfg",
        "gradle gradlew": _GRADLE,
        "mvn mvnw": "pom.xml .mvn/maven.config .mvn/jvm.config .mvn/extensions.xml",
        "ant": "build.xml",
        "cmake": "CMakeLists.txt",
        "scons": "SConstruct",
        "docker podman docker-compose": "Dockerfile compose.yaml compose.yml docker-compose.yml docker-compose.yaml",
        "composer": "composer.json",
        "mix": "mix.exs",
        "sbt": "build.sbt",
        "grunt": "Gruntfile.js",
        "gulp": "gulpfile.js",
        "nix nix-shell nix-build": "flake.nix shell.nix default.nix",
        "pre-commit": ".pre-commit-config.yaml",
        "direnv": ".envrc",
        "mise": "mise.toml .mise.toml",
    }.items()
    for program in programs.split()
}
"""In which files programs look for what they run."""


def files_run(tool: ToolDefinition, arguments: dict[str, Any], workspace: Workspace) -> tuple[str, ...]:
    """The paths of the files that a call runs, links followed, also of those that are not there."""
    text = argument(tool, arguments, tool.command)
    folder = argument(tool, arguments, tool.folder)
    if not tool.command or not isinstance(text, str):
        return ()
    if isinstance(folder, str) and "\0" not in folder:
        workspace = workspace.starting_in(folder)
    runs = list(islice(runs_of(read_line(tool, text)), MAX_PARTS))
    commands = [run.command for run in runs]
    found = [_files(run, workspace) for run in runs]
    if any(map(_reads_its_input, commands)):
        found += [_named(path_words(command), command, workspace) for command in commands]
    return tuple(islice(dict.fromkeys(chain.from_iterable(found)), MOST_FILES))


def programs_of(tool: ToolDefinition, arguments: dict[str, Any], workspace: Workspace) -> dict[str, str]:
    """The files that the bare program names in a call's command line resolve to; empty where there is none."""
    text = argument(tool, arguments, tool.command) if tool.command else None
    if not isinstance(text, str):
        return {}
    found: dict[str, str] = {}
    for run in islice(runs_of(read_line(tool, text)), MAX_PARTS):
        path = run.program(workspace).path
        if path or run.command.name:
            found[run.command.name] = path or found.get(run.command.name, "")
    return found


def identities(paths: Iterable[str], workspace: Workspace) -> dict[str, str]:
    """What tells whether the files still hold the same. Outside of the workspace that is no digest."""
    found: dict[str, str] = {}
    left = MOST_BYTES
    for path in paths:
        found[path], used = identity(path, max(left, 1) if workspace.holds(path) else 0)
        left -= used
    return found


def changed(before: dict[str, str], now: dict[str, str], workspace: Workspace) -> str:
    """The files that are not what they were, as a person names them; empty where all are."""
    paths = [path for path in {**before, **now} if before.get(path) != now.get(path)]
    shown = [os.path.relpath(path, workspace.root) if is_below(path, workspace.root) else path for path in paths]
    return " and ".join(map(repr, shown[:_NAMED]))


_NAMED = 3


def _files(run: Run, workspace: Workspace) -> Iterator[str]:
    command = run.command
    name = command.name.rsplit("/", 1)[-1]
    found = run.program(workspace)
    if "/" in command.name:
        yield from _named(command.words[:1], command, workspace)
    elif found.inside:
        yield os.path.realpath(found.path)
    tools = [name, *_modules(command)]
    if _is_interpreter(name) and files_read(command) is None:
        yield from _named(_script_words(command), command, workspace)
        for module in tools[1:]:
            path = module.replace(".", "/")
            yield from _beneath((f"{path}.py", f"{path}/__main__.py"), command, workspace)
    for tool in tools:
        if tool in _FIXED:
            yield from _beneath(_FIXED[tool], command, workspace)
            yield from filter(os.path.isfile, _named(path_words(command), command, workspace))
    if name == "git":
        for folder in git_folders(command, command_folders(command, workspace) or (), workspace) or ():
            yield from workspace.reading(folder).files


def _is_interpreter(name: str) -> bool:
    return name.rstrip("0123456789.").lower() in _INTERPRETERS or name in _INTERPRETERS


def _modules(command: Command) -> Iterator[str]:
    """What `python -m` runs."""
    for option, value in zip(command.words, command.words[1:], strict=False):
        if option.text == "-m" and value.is_literal and _is_interpreter(command.name.rsplit("/", 1)[-1]):
            yield value.text


def _script_words(command: Command) -> Iterator[Word]:
    """The words up to the first that is neither an option nor may be the value of one, and what is read in."""
    option = False
    for word in command.words[1:]:
        yield word
        if word.text.startswith(("-", "+")):
            yield from (Word(value, word.kind) for value in _values(word.text))
            option = True
        elif not option:
            break
        else:
            option = False
    yield from (redirect.target for redirect in command.redirects if not redirect.writes)


def _values(option: str) -> Iterator[str]:
    _, found, value = option.partition("=")
    yield value if found else option[2:]


def _reads_its_input(command: Command) -> bool:
    """Whether it is an interpreter that may run what comes through a pipe, or what another command says."""
    return _is_interpreter(command.name.rsplit("/", 1)[-1]) and (
        all(word.text.startswith("-") for word in command.words[1:])
        or any(word.kind is WordKind.DYNAMIC or word.text in _INPUT for word in _script_words(command))
    )


_INPUT = names("- -s /dev/stdin /dev/fd/0 /proc/self/fd/0")


def _named(words: Iterable[Word], command: Command, workspace: Workspace) -> Iterator[str]:
    """Where the words lead, from every folder that the command may run in."""
    starts = command_folders(command, workspace) or ()
    for word in words:
        if word.kind is WordKind.LITERAL and word.text and "\0" not in word.text:
            yield from (place_of(word, start, workspace).real for start in starts)


def _beneath(files: Sequence[str], command: Command, workspace: Workspace) -> Iterator[str]:
    """These files where the command runs, and in each folder that it names: `make -C sub`."""
    starts = list(command_folders(command, workspace) or ())
    folders = [path for path in _named(path_words(command), command, workspace) if os.path.isdir(path)]
    for folder in dict.fromkeys((*starts, *folders)):
        yield from (os.path.realpath(os.path.join(folder, name)) for name in files)
