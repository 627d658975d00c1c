"""A shell command of a model, ready to run: in its folder, with its environment, inside the sandbox.

The folder is opened beneath the roots and entered by its descriptor, so that what is put in its place afterwards is not
entered. Writing is confined to the roots and one private folder for temporary files, which is `$TMPDIR` for all
commands of a tool set and goes away with it.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial

from ..approval.commands.dialects import KNOWN_VERSIONS, find_bash
from ..errors import ConfigError
from ..execution.process import Ceiling, ProcessResult, run_process
from ..execution.program import installed, working_folder
from ..execution.sandbox.sandbox import Sandbox
from ..execution.sandbox.temporary import private_temp
from ..files.beneath import Roots
from ..tools.running import this_call
from .guard import SET_ASIDE, Watch, in_place
from .guarded import Guarded, guarded_paths
from .paths import real_path, roots
from .profile import command_profile
from .shell_variables import assignments, command_environment

MOST_BYTES = 100_000
"""Of a command line: the system takes some 128 KB as one argument."""

_ENV = "/usr/bin/env"

_KEPT = 1_000
"""Characters of the output that are kept below: whoever starts a command keeps them as he needs them."""

_SANDBOX_SIGNS = (
    "permission denied",
    "operation not permitted",
    "read-only file system",
    "eacces",
    "eperm",
    "resource busy",
)
_GIT_SIGNS = ("config file", ".git/", "config.lock")
"""With a sign of the sandbox, in what git says when it cannot write its configuration or a hook."""
_NAMED = 6
"""Paths that are named."""
_NETWORK_SIGNS = (
    "could not resolve",
    "couldn't resolve",
    "name resolution",
    "network is unreachable",
    "name or service not known",
    "getaddrinfo",
    "eai_again",
    "unable to resolve",
    "socket: ",
    "failed to connect",
)


class Scratch:
    """A private folder for temporary files: made when it is first asked for, gone with the last who holds this."""

    def __init__(self) -> None:
        self._path = ""

    @property
    def path(self) -> str:
        """The folder, with links followed; another one if a command took it away."""
        if not self._path or not os.path.isdir(self._path) or os.path.islink(self._path):
            stack = ExitStack()
            self._path = os.path.realpath(stack.enter_context(private_temp()))
            weakref.finalize(self, stack.close)
        return self._path


@dataclass(frozen=True)
class Command:
    """One command that was asked for, checked."""

    argv: Callable[[], list[str]]
    """Makes the words to start: what is protected must be there by then."""
    real: str
    """Where it runs."""
    environment: dict[str, str]
    ceiling: Ceiling
    roots: Roots
    scratch: Scratch
    protected: tuple[str, ...]
    """What it may not write inside the roots."""
    guarded: tuple[Guarded, ...]
    """What runs later inside the roots: what of it is not protected is watched."""
    confined: bool
    network: bool
    set_aside: list[str] = field(default_factory=list)
    """What of that it changed nevertheless, when it has run."""

    async def run(self, timeout: float | None, on_output: Callable[[str], object]) -> ProcessResult:  # noqa: ASYNC109
        """Runs it to its end; the whole of its output goes to `on_output`. Cancelled, nothing of it lives on."""
        closed = frozenset(self.protected)
        watch = Watch(self.roots, [each.path for each in self.guarded if each.path not in closed])
        try:
            with (
                in_place(self.roots, [each for each in self.guarded if each.missing and each.path in closed]),
                _entered(self.roots, self.real) as folder,
            ):
                return await run_process(
                    self.argv(),
                    cwd=folder,
                    environment=self.environment,
                    timeout=timeout,
                    on_output=on_output,
                    limit=_KEPT,
                    ceiling=self.ceiling,
                )
        finally:
            self.set_aside.extend(watch.undo())

    def advice(self, result: ProcessResult, output: str) -> str:
        """What a model should know of the sandbox where it is likely to have made the command fail; else empty."""
        notes = [self._undone()] if self.set_aside else []
        if self.confined and result.code:
            notes += self._causes(output.lower())
        return "; ".join(notes)

    def _undone(self) -> str:
        paths = ", ".join(self.set_aside[:_NAMED])
        return (
            f"changes to {paths} were undone, because what is there runs later, outside the sandbox (the changed "
            f"version is kept as NAME{SET_ASIDE}); ask the user to make such changes"
        )

    def _causes(self, output: str) -> Iterator[str]:
        """Why it is likely to have failed."""
        if not self.network and any(sign in output for sign in _NETWORK_SIGNS):
            yield "the sandbox gives no network; if the command needs it, run it again with network=true"
            return
        if not any(sign in output for sign in _SANDBOX_SIGNS):
            return
        by_git = any(sign in output for sign in _GIT_SIGNS)
        also = "" if self.network else ", and gives no network without network=true"
        closed = [path for path in self.protected if os.path.lexists(path)]
        more = f" and {len(closed) - _NAMED} more" if len(closed) > _NAMED else ""
        but = f" (but not in {', '.join(closed[:_NAMED])}{more})" if closed else ""
        yield f"the sandbox lets commands write only inside the workspace{but} and $TMPDIR{also}"
        if by_git:
            yield (
                "commands cannot change git's configuration and hooks, because git runs what they name; ask the user "
                "to run git init, git config, git remote add or git push -u (git push without -u works)"
            )


class Shell:
    """What runs commands: bash without its start files, or sh where there is none.

    `is_known`: it is a bash of a version whose rules are known.
    """

    def __init__(self, sandbox: Sandbox | None, hidden: tuple[str, ...]) -> None:
        self.name, self.is_known, self._argv = _find_shell()
        self._sandbox = sandbox if sandbox is not None and sandbox.holds else None
        self.unconfined = "" if self._sandbox else sandbox.words if sandbox else "there is no sandbox"
        """Why commands are not confined; empty where they are."""
        self._hidden = hidden
        self._scratch = Scratch()

    def command(self, line: str, cwd: str | None, network: bool, environment: Mapping[str, str]) -> Command:
        """The command of the current call; what is wrong with it is an error in words for a model."""
        if not line.strip():
            raise ConfigError("there is no command; give one such as 'ls -la'")
        if not self.name:
            raise ConfigError("commands cannot run here: there is neither bash nor sh")
        if "\0" in line:
            raise ConfigError("the command holds a NUL character; write it without")
        if len(line.encode("utf-8", "replace")) > MOST_BYTES:
            raise ConfigError(
                f"the command is over {MOST_BYTES:,} bytes long; write the text to a file with write_file and use that"
            )
        real = real_path("." if cwd is None else cwd)
        with roots().folder(real):
            pass
        # Set by a program inside the sandbox, so that what confines the command never sees what a model wrote.
        argv = [_ENV, *assignments(environment), *self._argv, line] if environment else [*self._argv, line]
        temp = self._scratch.path
        guarded = () if self._sandbox is None else guarded_paths(this_call().roots)
        folders = (*this_call().roots, temp)
        hidden = (*self._hidden, *this_call().hidden)
        profile = command_profile(self._sandbox, folders, hidden, network=network, guarded=guarded)
        confined = partial(self._sandbox.command, argv, profile) if self._sandbox is not None else lambda: argv
        cache = os.path.join(temp, "cache") if self._sandbox is not None else ""
        variables = command_environment(this_call().environment, temp, cache)
        return Command(
            confined,
            real,
            variables,
            Ceiling(profile.memory, profile.processes),
            Roots(this_call().roots),
            self._scratch,
            profile.protected,
            guarded,
            confined=self._sandbox is not None,
            network=network,
        )


def _find_shell() -> tuple[str, bool, list[str]]:
    """The shell's name, whether its rules are known, and the words before a command, which may begin with a dash."""
    bash, version = find_bash()
    for name, options in (("bash", ["--norc", "--noprofile"]), ("sh", [])):
        first = bash if name == "bash" else ""
        elsewhere = installed(name, os.environ.get("PATH"), working_folder())
        for path in (first, f"/bin/{name}", f"/usr/bin/{name}", elsewhere):
            if path and os.access(path, os.X_OK):
                return name, path == bash and version in KNOWN_VERSIONS, [path, *options, "-c", "--"]
    return "", False, []


@contextmanager
def _entered(beneath: Roots, real: str) -> Iterator[str]:
    """A name of the folder that means this very folder whatever becomes of its path, where the system has such names.

    Elsewhere it is the path, and the folder may be another by the time that the command runs in it.
    """
    with beneath.folder(real) as descriptor:
        held = f"/proc/{os.getpid()}/fd/{descriptor}"
        try:
            is_same = os.path.samestat(os.stat(held), os.fstat(descriptor))
        except OSError:
            is_same = False
        yield held if is_same else real


def ending_words(result: ProcessResult, limit: float | None = None) -> list[str]:
    """How a command ended, in sentences for a model; none if it ended well."""
    after = f"after {spell_seconds(result.seconds)}"
    words = []
    if result.over:
        words.append(f"killed {after}: it used too {'much memory' if result.over == 'memory' else 'many processes'}")
    elif result.timed_out:
        words.append(
            f"stopped after {spell_seconds(limit or result.seconds)}; "
            "run it with background=true or a longer timeout if it needs more"
        )
    elif result.signal:
        words.append(f"ended by {result.signal} {after}")
    elif result.code:
        words.append(f"exit code {result.code} {after}")
    if result.left:
        words.append(f"{result.left} of its processes could not be ended")
    return words


def spell_seconds(seconds: float) -> str:
    """A time as a model should read it."""
    return f"{seconds:.1f} s" if seconds < 10 and seconds != int(seconds) else f"{seconds:.0f} s"
