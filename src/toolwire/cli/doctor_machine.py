"""What `toolwire doctor` says of this machine: Python, the terminal, the way out, extras, programs and folders."""

from __future__ import annotations

import os
import platform
import shlex
import shutil
import sqlite3
import sys
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TextIO
from urllib.request import getproxies_environment

from .. import __version__
from ..approval.commands.dialects import KNOWN_VERSIONS, find_bash
from ..durable import sqlite_version
from ..errors import ConfigError, SessionFailed
from ..extras import EXTRAS, install_command, is_installed
from ..folders import config_folder, state_folder
from ..refusals import shown_url
from .doctor_files import others_write
from .doctor_findings import Finding, odd, unused, well, wrong
from .editing import chosen_editor

COLUMNS, LINES = 80, 24
"""What every screen fits into."""

_PROGRAMS = (
    ("git", "what a model is told of this folder's changes comes from it"),
    ("rg", "searching works without, only slower in large folders (ripgrep)"),
)
_CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR")


def machine(env: Mapping[str, str], out: TextIO) -> Iterator[Finding]:
    """Python, the system, and where the output goes."""
    python = platform.python_version()
    name = f"{platform.python_implementation()} {python} on {platform.system()} {platform.release()}"
    yield well("Python", f"{name} ({platform.machine()})", version=python, prefix=sys.prefix)
    yield well("Toolwire", f"{__version__}, in {Path(__file__).parent.parent}", version=__version__)
    yield _sqlite()
    yield from _terminal(env, out)
    yield from _way_out(env)


def _sqlite() -> Finding:
    """The SQLite of this Python, and whether it is new enough."""
    here = sqlite3.sqlite_version
    if not (problem := sqlite_version.problem()):
        return well("SQLite", f"{here}, new enough for durable runs", version=here)
    if not is_installed("durable"):
        return unused("SQLite", problem, sqlite_version.HINT, version=here)
    return odd("SQLite", problem, sqlite_version.HINT)


def _terminal(env: Mapping[str, str], out: TextIO) -> Iterator[Finding]:
    encoding = (out.encoding or "ascii").lower()
    if "utf" not in encoding:
        todo = "Set the locale to one with UTF-8, such as LANG=C.UTF-8."
        yield odd("characters", f"the output takes {encoding}, so that other characters become question marks", todo)
    if not out.isatty():
        yield unused("terminal", "the output goes elsewhere, so that there is none to look at")
        return
    columns, lines = shutil.get_terminal_size()
    words = f"{columns} × {lines}, {_colours(env)}, {encoding.upper()}"
    if columns < COLUMNS or lines < LINES:
        yield odd("terminal", words, f"Make it {COLUMNS} × {LINES} or larger: smaller ones show less.")
    else:
        yield well("terminal", words, columns=columns, lines=lines, term=env.get("TERM", ""))


def _colours(env: Mapping[str, str]) -> str:
    if env.get("NO_COLOR"):
        return "no colours (NO_COLOR)"
    if env.get("TERM", "") in ("", "dumb", "unknown"):
        return "no colours (TERM)"
    if env.get("COLORTERM", "").lower() in ("truecolor", "24bit"):
        return "all colours"
    return "256 colours" if "256" in env["TERM"] else "16 colours"


def _way_out(env: Mapping[str, str]) -> Iterator[Finding]:
    """What stands between here and the network, where somebody has set that."""
    from ..transport import AiohttpTransport

    proxies = getproxies_environment()
    for scheme in ("http", "https"):
        if not (proxy := proxies.get(scheme)):
            continue
        name = f"{scheme.upper()}_PROXY"
        try:
            AiohttpTransport(proxy=proxy)
        except ConfigError as error:
            yield wrong(name, error.message, error.hint)
        else:
            yield well(name, f"requests go through {shown_url(proxy)}", bypassed=proxies.get("no", ""))
    for variable in _CERTIFICATES:
        path = env.get(variable, "")
        if path and not os.access(path, os.R_OK):
            todo = "No server can be trusted so: correct it, or unset it for the system's own certificates."
            yield wrong(variable, f"certificates are to come from {path}, which cannot be read", todo)
        elif path:
            yield well(variable, f"certificates come from {path}")


def extras() -> Iterator[Finding]:
    """Which optional parts are installed."""
    for name, _, package, purpose, _ in EXTRAS.values():
        if not is_installed(name):
            yield unused(name, f"not installed ({purpose})", install_command(name))
            continue
        yield well(name, f"{package} {_version(package)} ({purpose})", package=package, version=_version(package))


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "of an unknown version"


def programs(env: Mapping[str, str]) -> Iterator[Finding]:
    """Programs that tools and the terminal use."""
    yield _bash()
    for name, words in _PROGRAMS:
        if path := shutil.which(name, path=env.get("PATH")):
            yield well(name, path)
        else:
            yield unused(name, f"not found: {words}")
    editor = chosen_editor(env)
    if not editor:
        yield unused("editor", "none is chosen: arguments of a call are edited as one line", "Set EDITOR, such as vim.")
        return
    try:
        program = shlex.split(editor)[0]
    except (ValueError, IndexError):
        yield odd("editor", f"{editor!r} is no command", "Correct VISUAL or EDITOR.")
        return
    if shutil.which(program, path=env.get("PATH")):
        yield well("editor", editor)
    else:
        yield odd("editor", f"{program} is not found", "Correct VISUAL or EDITOR, or install it.")


def _bash() -> Finding:
    """Whether a bash is here whose command lines are understood."""
    path, version = find_bash()
    if version in KNOWN_VERSIONS:
        return well("bash", f"{version} ({path})", version=version)
    what = f"{version or 'of an unknown version'} ({path})" if path else "not found"
    words = f"{what}: command lines with more than plain words, quotes and pipes need approval"
    return odd("bash", words, f"Install bash {' or '.join(KNOWN_VERSIONS)}, for example: brew install bash")


def folders(env: Mapping[str, str]) -> Iterator[Finding]:
    """Where Toolwire writes, and the sessions that it keeps there."""
    for name, folder in (("configuration", config_folder(env)), ("state", state_folder(env))):
        if problem := _unwritable(folder):
            todo = f"Nothing can be kept there: look at its permissions, or set {_VARIABLES[name]}."
            yield wrong(name, f"{folder}: {problem}", todo, path=str(folder))
        elif folder.is_dir():
            yield well(name, str(folder), path=str(folder))
            yield from others_write(name, folder)
        else:
            yield well(name, f"{folder}, made when it is needed", path=str(folder))
    yield from _sessions(env)


_VARIABLES = {"configuration": "XDG_CONFIG_HOME", "state": "XDG_STATE_HOME"}


def _unwritable(folder: Path) -> str:
    """Why nothing can be written into a folder that may not be there yet; empty where it can."""
    try:
        there = next(each for each in (folder, *folder.parents) if os.path.lexists(each))
        if not there.is_dir():
            return f"{there} is not a folder"
        # What the permissions say is not all: a disk may be full or read-only.
        probe = there / f".toolwire-doctor-{os.getpid()}"
        os.close(os.open(probe, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), 0o600))
        probe.unlink()
    except OSError as error:
        return f"cannot be written ({error.strerror or error})"
    return ""


def _sessions(env: Mapping[str, str]) -> Iterator[Finding]:
    from ..agent.sessions.store import SessionStore, sessions_path

    path = sessions_path(env)
    if not path.exists():
        yield well("sessions", "none is kept yet", sessions=0)
        return
    try:
        with SessionStore(path) as store:
            count = len(store.list())
    except SessionFailed as error:
        yield wrong("sessions", error.message, error.hint or f"Move {path} away, or ask with --no-session.")
        return
    size = path.stat().st_size / 1e6
    yield well("sessions", f"{count} kept in {path} ({size:.1f} MB)", sessions=count)
