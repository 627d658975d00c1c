"""What confines programs on this machine: `find_sandbox()` finds it, `Sandbox.command` makes an argv confined.

Everything is in the argv, so it does not matter who starts it. Three ways, the best first that really works here:

1. Landlock and a mount namespace: all that is promised holds.
2. bubblewrap (which may be allowed namespaces where we are not): the same, by other means.
3. Landlock alone: contents of files, network, tracing hold; `gaps` says what does not.

Where none works, `holds` is False and `words` says why; then it is for the gate to ask.

Who starts the argv must not pass on variables by which the loader runs code (`LD_PRELOAD` and its kin) if a model
wrote them: they would act before the sandbox does.
"""

from __future__ import annotations

import binascii
import ctypes
import functools
import marshal
import os
import platform
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from ...errors import ConfigError
from ...hidden_paths import default_hidden
from ..program import installed, working_folder
from . import confine
from .bubblewrap import bubblewrap
from .seccomp import ARCHITECTURES, syscall_filter
from .temporary import private_temp

__all__ = ["Profile", "Sandbox", "default_hidden", "find_sandbox", "private_temp"]

TRUNCATE_ABI = 3
"""The first Landlock that guards truncating (Linux 6.2): with an older one a file could be emptied."""

SIGNAL_ABI = 6
"""The first Landlock that keeps signals inside (Linux 6.12)."""

_PYTHON = os.path.realpath(sys.executable) if sys.executable else ""
"""As it was at the start: what leads there may lie in a folder that commands write."""

_OF_THE_KERNEL = frozenset(("/proc", "/sys", "/dev"))
"""Folders whose files are no files. Whoever may write them, or all of `/`, needs no way out."""

_TRY_SECONDS = 20.0
"""A machine under load is slow to start programs; what is found lasts as long as the process."""
_CREATE_RULESET = 444

Means = Literal["landlock and namespaces", "bubblewrap", "landlock", "nothing"]


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    """What one program may do. Paths are absolute."""

    writable: tuple[str, ...] = ()
    """Folders (or files) that may be written, read and executed. They must be there, and be no links."""
    protected: tuple[str, ...] = ()
    """Files and folders inside `writable` that may be read only."""
    readable: tuple[str, ...] | None = None
    """None: everything but `hidden`; else only these and what programs need to start."""
    hidden: tuple[str, ...] = ()
    """Files and folders that it may not read; those that come to be later too."""
    network: bool = False
    """Internet sockets, loopback too. Sockets that are files stay closed."""
    memory: int = 4 << 30
    """Bytes, of the whole tree; watched by who supervises it. Files in memory are not seen by that, but where the
    machine runs out of it, confined programs are the first that the kernel ends."""
    processes: int = 512
    """At a time, of the whole tree; watched likewise, and limited by the kernel where it can count them."""
    open_files: int = 4096
    file_size: int = 8 << 30
    """Bytes that one file may grow to."""


class Sandbox(msgspec.Struct, frozen=True):
    """What this machine has."""

    means: Means
    words: str
    """One sentence: what holds a program, or why nothing does."""
    gaps: tuple[str, ...] = ()
    """What does not hold with these means, each a short phrase."""
    abi: int = 0
    """The version of Landlock; 0 if there is none."""
    program: str = ""
    """Where bubblewrap is."""

    @property
    def holds(self) -> bool:
        """Whether the kernel enforces a profile here."""
        return self.means != "nothing"

    def command(self, argv: Sequence[str], profile: Profile) -> list[str]:
        """The argv that runs this one confined; the first word is looked for in PATH, inside."""
        if not self.holds:
            raise ConfigError(f"commands cannot be confined here: {self.words}")
        if not argv:
            raise ConfigError("there is no program to run")
        _check(profile)
        spec = {
            "writable": profile.writable,
            "readable": profile.readable,
            "protected": profile.protected,
            "hidden": profile.hidden,
            "network": profile.network,
            "processes": profile.processes,
            "open_files": profile.open_files,
            "file_size": profile.file_size,
            "namespaces": self.means == "landlock and namespaces",
            "own_devices": self.means == "bubblewrap",
            "landlock": self.abi,
            "filter": syscall_filter(platform.machine(), network=profile.network, own_view=self.means != "landlock"),
        }
        text = binascii.b2a_base64(marshal.dumps(spec), newline=False).decode()
        inside = [_PYTHON, "-I", "-S", confine.__file__, text, *argv]
        if self.means != "bubblewrap":
            return inside
        return bubblewrap(
            self.program,
            profile.writable,
            profile.protected,
            profile.hidden,
            network=profile.network,
            inside=inside,
        )

    def unenforced(self, profile: Profile) -> tuple[str, ...]:
        """The hidden paths of this profile that could be read all the same, and the protected that could be written.

        Landlock cannot take back what it gave to a folder; a view of its own covers what is there, not what comes then.
        """
        writable = set(profile.writable)
        guarded = confine.guardable(profile.protected)

        def readable(path: str) -> bool:
            real = os.path.realpath(path)
            inside = not writable.isdisjoint((real, *confine.parents(real)))
            if self.means == "landlock":
                return inside
            return not os.path.lexists(real) and (inside or not self.abi)

        def changeable(path: str) -> bool:
            inside = not writable.isdisjoint((path, *confine.parents(path)))
            return inside and (self.means == "landlock" or path not in guarded)

        return (
            *(path for path in profile.hidden if not self.holds or readable(path)),
            *(path for path in profile.protected if not self.holds or changeable(path)),
        )


@functools.lru_cache(maxsize=16)
def find_sandbox(only: Means | None = None, abi: int | None = None) -> Sandbox:
    """What works on this machine, found by trying it once.

    `only` looks for one way alone, `abi` takes Landlock for no newer than that: to see what other machines have.
    """
    if not sys.platform.startswith("linux"):
        return Sandbox("nothing", "this system is not Linux, whose kernel alone can confine a program here")
    if platform.machine() not in ARCHITECTURES or sys.byteorder != "little":
        return Sandbox("nothing", f"the system calls of this machine ({platform.machine()}) are not known to Toolwire")
    if not _PYTHON:
        return Sandbox("nothing", "Python does not know its own program, which would have to start the command")
    abi = landlock_abi() if abi is None else min(abi, landlock_abi())
    tried = [sandbox for sandbox in _candidates(abi) if only in (None, sandbox.means)]
    why = ""
    for sandbox in tried:
        why = _try(sandbox)
        if not why:
            return sandbox
    missing = "bubblewrap is not installed"
    if abi < TRUNCATE_ABI:
        landlock = f"its Landlock is too old (version {abi})" if abi else "it has no Landlock"
        missing = f"the kernel cannot confine a program ({landlock}) and {missing}"
    return Sandbox("nothing", why or missing)


def _candidates(abi: int) -> Iterator[Sandbox]:
    signals = () if abi >= SIGNAL_ABI else ("signals to your other processes",)
    enough = abi >= TRUNCATE_ABI
    if enough:
        words = f"the kernel holds commands: Landlock {abi}, a view of the files of their own, a filter of system calls"
        yield Sandbox("landlock and namespaces", words, signals, abi)
    found = installed("bwrap", os.environ.get("PATH"), working_folder())
    if found:
        program = os.path.realpath(found)
        words = "bubblewrap holds commands, with a filter of system calls" + (f" and Landlock {abi}" if enough else "")
        later = ("hidden files that are not there yet when a command starts", "reading only some folders")
        yield Sandbox("bubblewrap", words, () if enough else later, abi if enough else 0, program)
    if enough:
        words = f"the kernel holds commands: Landlock {abi} and a filter of system calls, but no namespaces"
        gaps = ("modes, owners and times of files elsewhere", "hidden and protected files inside the writable folders")
        yield Sandbox("landlock", words, (*gaps, *signals), abi)


def landlock_abi() -> int:
    """The version of Landlock that the kernel has; 0 for none."""
    libc = ctypes.CDLL(None, use_errno=True)
    return max(0, int(libc.syscall(ctypes.c_long(_CREATE_RULESET), None, ctypes.c_size_t(0), ctypes.c_uint32(1))))


def _try(sandbox: Sandbox) -> str:
    """Why it does not work; empty if it does.

    One file may be written and one not: a means that starts but holds nothing is found too.
    """
    with private_temp() as folder:
        inside, outside = Path(folder, "inside"), Path(folder, "outside")
        inside.mkdir()
        outside.write_text("as it was")
        script = f"echo yes > '{inside}/written'; echo no > '{outside}'"
        argv = sandbox.command(["/bin/sh", "-c", script], Profile(writable=(str(inside),)))
        try:
            done = subprocess.run(
                argv, cwd=folder, env={}, stdin=subprocess.DEVNULL, capture_output=True, timeout=_TRY_SECONDS
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return f"a first try of {sandbox.means} failed: {error}"
        if outside.read_text() != "as it was":
            return f"{sandbox.means} starts here but holds nothing"
        if not Path(inside, "written").is_file():
            said = done.stderr.decode(errors="replace").strip().splitlines()
            return f"a first try of {sandbox.means} failed: {said[-1] if said else f'exit code {done.returncode}'}"
    return ""


def _is_memory(path: str) -> bool:
    """Whether it is a folder of files in memory, which lies among the devices."""
    return path.startswith("/dev/shm/")


def _check(profile: Profile) -> None:
    """A profile that contradicts itself is an error, never a guess."""
    for path in (*profile.writable, *profile.protected, *(profile.readable or ()), *profile.hidden):
        if not os.path.isabs(path) or "\0" in path:
            raise ConfigError(f"a sandbox takes absolute paths, not {path!r}")
    if min(profile.processes, profile.open_files, profile.file_size) < 1:
        raise ConfigError("the limits of a sandbox are numbers from 1 on")
    hidden = {os.path.realpath(path) for path in profile.hidden}
    for path in profile.writable:
        if os.path.realpath(path) != path:
            # Where it leads may have been changed by an earlier command.
            raise ConfigError(f"{path} is not the real path of a folder", hint="Give the path that its links lead to.")
        if path == "/" or (not _OF_THE_KERNEL.isdisjoint((path, *confine.parents(path))) and not _is_memory(path)):
            raise ConfigError(
                f"{path} cannot be worked in by confined commands, because the kernel is set and told things there",
                hint="Work in a folder of your own.",
            )
        if not hidden.isdisjoint((path, *confine.parents(path))):
            raise ConfigError(
                f"{path} cannot be worked in, because it is hidden from commands",
                hint="Work in another folder, or take it off the list of hidden paths.",
            )
