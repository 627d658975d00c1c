"""Whether a project's server may be started: asked once with everything that it is, and again when it changes."""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import shutil
from collections.abc import Mapping
from pathlib import Path

import msgspec

from ..approval.hidden import marked
from ..approval.misreading import warnings
from ..execution.environment import child_environment
from ..folders import state_folder
from .config import ServerConfig
from .kept import KeptFile
from .reading import variables


def consents_path(env: Mapping[str, str]) -> Path:
    """Where consents are kept unless told otherwise."""
    return state_folder(env) / "mcp" / "consents.json"


class Consents:
    """What was agreed to, in the file at `path`, or in memory where it is None.

    A consent is for one entry of one file: for everything in that entry, understood or not, for the path of the file,
    which lies in its workspace, and for where that path really leads. Whatever of this changes is asked again. A file
    of consents that cannot be used is a `ConfigError` at every use, and nothing counts as agreed to.
    """

    def __init__(self, path: Path | None) -> None:
        self._file = KeptFile(path, "which servers of projects may be started")

    def given(self, config: ServerConfig) -> bool:
        """Whether somebody agreed to exactly this."""
        return _digest(config) in self._file.entries().get(_place(config), {})

    def give(self, config: ServerConfig) -> None:
        """Keeps that somebody was shown `consent_lines` of this and agreed."""
        with self._file.change() as entries:
            entries.setdefault(_place(config), {})[_digest(config)] = True

    def take_back(self, config: ServerConfig) -> None:
        """Forgets every consent to a server of this name in this file, whatever its entry was."""
        with self._file.change() as entries:
            entries.pop(_place(config), None)


def consent_lines(config: ServerConfig, cwd: str) -> list[str]:
    """What would be started, complete: for a person who is to agree to it.

    Values are as the file has them, each on a line of its own, quoted as for a shell where they are not plain, with a
    mark for whatever could not be seen. A line that begins with two blanks is one word, variable or header.
    `unmarked(shlex.split(line)[0])` is exactly the text that is used.
    """
    real = os.path.realpath(config.source)
    lines = [f"server: {_word(config.name)}", f"named in: {_word(config.source)}"]
    if real != config.source:
        lines.append(f"which is a link to: {_word(real)}")
    if config.command:
        lines += ["runs the program:", *_indented(config.command, *config.args)]
        lines.append(f"in the folder: {_word(config.cwd or cwd)}")
    else:
        lines.append(f"talks to: {_word(config.url)}")
    if config.env:
        lines += ["with the variables:", *_indented(*(f"{name}={value}" for name, value in config.env.items()))]
    if config.headers:
        lines += ["with the headers:", *_indented(*(f"{name}: {value}" for name, value in config.headers.items()))]
    if taken := variables(config):
        lines.append(f"and is given these of your environment: {', '.join(taken)}")
    if config.oauth:
        lines.append("and wants a login in your browser")
    texts = [config.name, config.command, *config.args, config.cwd, config.url]
    texts += [text for table in (config.env, config.headers) for pair in table.items() for text in pair]
    lines += (f"look twice: {warning}" for warning in warnings({"it": texts}))
    if any(_BLANKS in text for text in texts):
        lines.append(
            "look twice: it holds many blanks in a row, and what stands behind them may look like a line of mine"
        )
    if (program := _in_folder(config, cwd)) is not None:
        lines.append(f"look twice: by your PATH that program is the project's own: {_word(program)}")
    return lines


_BLANKS = " " * 8


def _in_folder(config: ServerConfig, cwd: str) -> str | None:
    """The program, where its plain name means one that came with the project: an environment that is switched on, or
    `node_modules/.bin`, comes before what the person has installed.
    """
    path = config.env.get("PATH", os.environ.get("PATH", ""))
    if not config.command or "/" in config.command or "${" in config.command + path:
        return None
    found = shutil.which(config.command, path=child_environment({}, {"PATH": path})["PATH"])
    folder = os.path.realpath(cwd)
    return found if found and os.path.commonpath((folder, os.path.realpath(os.path.dirname(found)))) == folder else None


def _indented(*texts: str) -> list[str]:
    return [f"  {_word(text)}" for text in texts]


def _word(text: str) -> str:
    return shlex.quote(marked(text))


def _place(config: ServerConfig) -> str:
    return f"{marked(config.source)}#{marked(config.name)}"


def _digest(config: ServerConfig) -> str:
    """Of all that differs from a server of which nothing is said, and of where its file really lies."""
    unset = msgspec.to_builtins(ServerConfig(name=""))
    said = {key: value for key, value in msgspec.to_builtins(config).items() if value != unset[key]}
    facts = [os.path.realpath(config.source), said]
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()
