"""Paths that try to get out, over a tree that is made for them: a workspace, and a canary outside of it."""

from __future__ import annotations

import os
import random
import shutil
import socket
import stat
from collections.abc import Iterator
from contextlib import closing, suppress

CANARY = "canary-7f3a9"
"""What lies outside. No answer may have it."""
PASSWORDS = "root:x:0:"
"""What every Unix has outside."""


class Tree:
    """`ws` is the workspace; everything beside it is outside."""

    def __init__(self, base: str) -> None:
        self.base = os.path.realpath(base)
        self.ws = f"{self.base}/ws"
        self.outside = f"{self.base}/outside"
        for folder in (self.outside, f"{self.base}/ws-evil", f"{self.base}/WS"):
            os.mkdir(folder)
            _write(f"{folder}/canary.txt", f"{CANARY}\n")
        _write(f"{self.base}/canary.txt", f"{CANARY}\n")
        _write(f"{self.outside}/shared.txt", "shared\n")
        self.open = os.open(f"{self.outside}/canary.txt", os.O_RDONLY)
        """A descriptor of the canary, for paths such as /dev/fd/7."""
        self.before = self.state()
        self.renew()

    def close(self) -> None:
        os.close(self.open)

    def renew(self) -> None:
        """The workspace as at the beginning."""
        shutil.rmtree(self.ws, ignore_errors=True)
        os.makedirs(f"{self.ws}/sub/deep")
        for name in ("notes.txt", "sub/more.md", "sub/deep/a b.txt", "caf\u00e9.txt", "-rf", ".env"):
            _write(f"{self.ws}/{name}", "inside\n")
        os.link(f"{self.outside}/shared.txt", f"{self.ws}/hard.txt")
        for name, target in LINKS.items():
            os.symlink(target.replace("{base}", self.base), f"{self.ws}/{name}")
        for number in range(45):
            os.symlink(f"chain{number + 1}" if number < 44 else "../outside", f"{self.ws}/chain{number}")
        os.mkfifo(f"{self.ws}/pipe")
        with closing(socket.socket(socket.AF_UNIX)) as server, suppress(OSError):
            server.bind(f"{self.ws}/socket")
        with suppress(OSError):  # only root may
            os.mknod(f"{self.ws}/device", 0o666 | stat.S_IFCHR, os.makedev(1, 5))

    def state(self) -> dict[str, bytes]:
        """Everything outside, by path."""
        found: dict[str, bytes] = {}
        for entry in os.scandir(self.base):
            if entry.name == "ws":
                continue
            for path in _files(entry):
                with open(path, "rb") as file:
                    found[path] = file.read()
        return found


def _write(path: str, text: str) -> None:
    with open(path, "w") as file:
        file.write(text)


def _files(entry: os.DirEntry[str]) -> Iterator[str]:
    if not entry.is_dir(follow_symlinks=False):
        yield entry.path
        return
    yield from (path for below in os.scandir(entry.path) for path in _files(below))


LINKS = {
    "out": "../outside",
    "out-file": "../outside/canary.txt",
    "abs": "{base}/outside",
    "abs-file": "{base}/outside/canary.txt",
    "new-file": "../outside/new.txt",
    "new-folder": "../outside/new/deep.txt",
    "to-out": "out",
    "to-to-out": "./sub/../to-out",
    "up": "..",
    "sub/up": "../..",
    "sub/out": "../out",
    "self": ".",
    "loop": "loop",
    "ping": "pong",
    "pong": "ping",
    "inside": "notes.txt",
    "same": "sub",
    "root": "/",
    "proc-root": "/proc/self/root",
    "proc-cwd": "/proc/self/cwd",
    "proc-environ": "/proc/self/environ",
    "zero": "/dev/zero",
    "dots": "sub/../../outside/canary.txt",
    "slashes": "..//outside///canary.txt",
    "evil": "../ws-evil/canary.txt",
}

_TARGETS = (
    "../outside/canary.txt",
    "{base}/outside/canary.txt",
    "{ws}/../outside/canary.txt",
    "{ws}-evil/canary.txt",
    "out/canary.txt",
    "out-file",
    "abs-file",
    "sub/../../canary.txt",
    "hard.txt",
    "notes.txt",
)
_ENDS = ("", "/", "//", "/.", "/..", ".", " ", "\t", "\n", "\0", "\0.txt", "%00", "::$DATA", "~", "?x", "#x", ";1", "*")

_WRITTEN = (
    "../outside",
    "..//outside",
    "./../outside",
    ".//..//outside",
    "sub/../../outside",
    "sub/deep/../../../outside",
    "sub/./.././../outside",
    "missing/../../outside",
    "notes.txt/../../outside",
    "pipe/../../outside",
    "out/../outside",
    "out/../../outside",
    "self/self/../outside",
    "sub/up/outside",
    "same/up/outside",
    "up/outside",
    "up/ws/../outside",
    "same/../../outside",
    "..\\outside",
    "..\\/outside",
    "..//\\outside",
    "sub\\..\\..\\outside",
    "%2e%2e/outside",
    "%2e%2e%2foutside",
    "..%2foutside",
    "..%5coutside",
    "..%252foutside",
    "..%c0%afoutside",
    "..%e0%80%afoutside",
    "..;/outside",
    ".. /outside",
    " ../outside",
    "..\u200b/outside",
    "\ufeff../outside",
    "\uff0e\uff0e/outside",
    "\u2025/outside",
    "..\u2215outside",
    "..\uff0foutside",
    "..\u2044outside",
    "\u202e../outside",
    "..\0/outside",
    "../\0outside",
    "..\n/outside",
    "..\r/outside",
    "..\udcaf/outside",
    "..\udcc0\udcafoutside",
    "\udcc0\udcae\udcc0\udcae/outside",
    "\ud800../outside",
    "..../outside",
    "...//outside",
    "....//....//outside",
    "./.../outside",
    "../OUTSIDE",
    "../Outside",
    "../WS/../outside",
    "../WS",
    "../ws/../outside",
    "../ws-evil",
    "../ws/out",
    "~/../outside",
    "~",
    "~root/..",
    "$HOME/../outside",
    "${PWD}/../outside",
    "$(echo ..)/outside",
    "`echo ..`/outside",
    "{..,.}/outside",
    "[.][.]/outside",
    "?" * 2 + "/outside",
    "file://{base}/outside",
    "file:{base}/outside",
    "file:///..{base}/outside",
    "\\\\?\\{base}/outside",
    "\\\\localhost\\outside",
    "C:\\outside",
    "C:/outside",
    "//{base}/outside",
    "///{base}/outside",
    "/.{base}/outside",
    "/..{base}/outside",
    "/./../{base}/outside",
    "{base}//outside",
    "{base}/./outside",
    "{base}/ws/../outside",
    "{ws}/../outside",
    "{ws}/sub/../../outside",
    "{ws}/out",
    "{ws}//../outside",
    "{ws}/./../outside",
    "{ws}../outside",
    "{ws}/..\0/outside",
    "{WS}/../outside",
    "/proc/self/root{base}/outside",
    "/proc/{pid}/root{base}/outside",
    "/proc/thread-self/root{base}/outside",
    "/proc/self/task/{pid}/root{base}/outside",
    "/proc/self/root/proc/self/root{base}/outside",
    "/proc/self/cwd/../../../../../../../..{base}/outside",
    "/proc/{pid}/cwd",
    "proc-root{base}/outside",
    "root{base}/outside",
    "root/../{base}/outside",
    "abs",
    "abs/../outside",
    "to-out",
    "to-to-out",
    "to-to-out/.",
    "sub/out",
    "chain0",
    "chain10",
    "chain30",
    "chain43",
    "chain44",
    "loop",
    "ping",
    "loop/../../outside",
)

_ALONE = (
    "/dev/fd/{fd}",
    "/proc/self/fd/{fd}",
    "/proc/{pid}/fd/{fd}",
    "/dev/fd/../fd/{fd}",
    "proc-root/proc/self/fd/{fd}",
    "new-file",
    "new-folder",
    "dots",
    "slashes",
    "evil",
    "inside",
    "self/notes.txt",
    "self/self/self/out-file",
    "same/more.md",
    "pipe",
    "socket",
    "device",
    "zero",
    "",
    ".",
    "..",
    "/",
    "//",
    "./",
    "../",
    "...",
    "-rf",
    "--",
    "*",
    "**",
    "CON",
    "nul",
    "NOTES.TXT",
    "Notes.txt",
    "notes.txt.",
    "notes.txt ",
    "cafe\u0301.txt",
    "caf\u00e9.txt",
    "CAF\u00c9.TXT",
    "\u212a",
    "\ufb00",
    "x" * 255,
    "x" * 256,
    "\u00e9" * 128,
    "x" * 4_095,
    "x" * 5_000,
    "x" * 1_000_000,
    "a/" * 2_047 + "a",
    "a/" * 3_000 + "a",
    "a/" * 200_000 + "a",
    "../" * 1_000 + "outside/canary.txt",
    "../" * 100_000 + "outside/canary.txt",
    "sub/../" * 500 + "../outside/canary.txt",
    "sub/../" * 50_000 + "../outside/canary.txt",
    "self/" * 39 + "../outside/canary.txt",
    "self/" * 41 + "../outside/canary.txt",
    "\0",
    "\n",
    "\x1b[31m",
    "\ud800",
    "\udcff",
    "\u202e",
)

_SYSTEM = (
    "/etc/passwd",
    "//etc/passwd",
    "/etc/../etc/passwd",
    "root/etc/passwd",
    "../" * 20 + "etc/passwd",
    "out/" + "../" * 20 + "etc/passwd",
    "proc-root/etc/passwd",
    "/proc/self/root/etc/passwd",
    "/proc/1/root/etc/passwd",
    "/proc/self/cwd/" + "../" * 20 + "etc/passwd",
    "/proc/self/environ",
    "/proc/self/mem",
    "/proc/self/maps",
    "/proc/kcore",
    "proc-environ",
    "/dev/zero",
    "/dev/random",
    "/dev/stdin",
    "/dev/tty",
    "/dev/mem",
    "/sys/kernel/notes",
    "~/.ssh/id_rsa",
    "~root/.bashrc",
    "/etc/bash.bashrc",
    "$HOME/.bashrc",
)


def made_by_hand() -> list[tuple[str, bool]]:
    """The paths, with `{base}` and the like in them, and whether writing there is tried: what belongs to the system is
    only read."""
    shapes = dict.fromkeys(target + end for target in _TARGETS for end in _ENDS)
    shapes |= dict.fromkeys(f"{way}/canary.txt" for way in _WRITTEN)
    shapes |= dict.fromkeys(f"{way}/new/file.txt" for way in _WRITTEN[::3])
    shapes |= dict.fromkeys(_WRITTEN) | dict.fromkeys(_ALONE)
    shapes |= dict.fromkeys(name + end for name in LINKS for end in ("/canary.txt", "/"))
    return [(shape, True) for shape in shapes] + [(shape, False) for shape in _SYSTEM]


_STEPS = (
    *("..", "..", ".", "", "sub", "deep", "out", "self", "up", "same", "abs", "ws", "outside", "canary.txt"),
    *("notes.txt", "chain40", "chain0", "loop", "hard.txt", "pipe", "..\0", "%2e%2e", "...", "missing", "new-file"),
)


def made_by_chance(chance: random.Random) -> str:
    """A path of hostile steps, relative or from the workspace or from what is above it."""
    start = chance.choice(("", "", "", "/", "{ws}/", "{base}/", "./", "/proc/self/cwd/", "/proc/self/root{ws}/"))
    return start + "/".join(chance.choice(_STEPS) for _ in range(chance.randint(1, 9)))


def filled(shape: str, tree: Tree) -> str:
    """The shape as a path in the tree."""
    facts = {"{base}": tree.base, "{ws}": tree.ws, "{WS}": tree.ws.upper(), "{fd}": str(tree.open)}
    facts["{pid}"] = str(os.getpid())
    for name, value in facts.items():
        shape = shape.replace(name, value)
    return shape
