"""What a confined program could reach, made for one trial: files, a secret, listeners, a process, a terminal.

Whether something got out is seen here, from outside, and never by what the program says of itself. The one exception
are privileges that leave no trace by themselves: for those the trial prints a word when the kernel has granted them.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import functools
import os
import secrets
import shutil
import struct
import subprocess
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

_IPC_CREAT, _IPC_RMID = 0o1000, 0
_HERE, _HANDLE_BYTES = -100, 120
_NOBODY = 65534
_KEPT = "kept as it was\n"


class Outside:
    """One world, used for one trial; `names` is what the trial is told of it, by environment variables."""

    def __init__(self, base: Path) -> None:
        self.workspace = base / "workspace"
        self.hidden = base / "hidden"
        self.names: dict[str, str] = {}
        self.said = secrets.token_hex(8)
        """What a trial prints when it was granted a privilege."""
        self._secret = secrets.token_hex(16)
        self._folder = base / "outside"
        self._came: list[str] = []

    @classmethod
    @contextlib.asynccontextmanager
    async def made(cls) -> AsyncIterator[Outside]:
        """A new world, and nothing of it afterwards."""
        async with contextlib.AsyncExitStack() as closing:
            base = _new_folder()
            closing.callback(_remove, base)
            world = cls(base)
            world._files()
            await world._listeners(closing)
            closing.enter_context(world._process())
            closing.enter_context(world._terminal())
            closing.enter_context(world._shared_memory())
            yield world

    def signs(self, output: str) -> list[str]:
        """What got out, in words."""
        found = list(dict.fromkeys(self._came))
        found += [f"{name} outside was changed" for name in sorted(self._changed())]
        found += self._process_signs()
        if self._secret in output or self._is_in_workspace():
            found.append("a secret was read")
        if self.said in output:
            found.append("it was granted")
        for end, words in ((self._master, "a terminal was written to"), (self._slave, "a terminal was typed into")):
            with contextlib.suppress(OSError):
                found += [words] if os.read(end, 100) else []
        return found

    def _files(self) -> None:
        there = self._folder / "there"
        for folder in (self.workspace, self.hidden, there):
            folder.mkdir(parents=True)
        kept, within, secret = self._folder / "kept.txt", there / "within.txt", self.hidden / "secret.txt"
        for file in (kept, within):
            file.write_text(_KEPT)
        secret.write_text(self._secret)
        (self.workspace / "mine.txt").write_text("mine\n")
        (self.workspace / "planted").symlink_to(self._folder)
        (self.workspace / "planted-secret").symlink_to(secret)
        self.names |= {
            "OUT": str(self._folder),
            "KEPT": str(kept),
            "HIDDEN": str(self.hidden),
            "SECRET": str(secret),
            "SAY": self.said,
            "HANDLE": _handle(secret),
        }
        identify = shutil.which("id")
        if os.geteuid() == 0 and identify:
            # To root, what gains another user is seen as well as what gains root.
            program = shutil.copy(identify, self._folder / "identify")
            os.chown(program, _NOBODY, -1)
            os.chmod(program, 0o4755)
            self.names["SETUID"] = str(program)
        self._before = self._state()

    def _state(self) -> dict[str, object]:
        """Everything about the files outside that somebody could change."""
        state: dict[str, object] = {}
        for path in (self._folder, self.hidden, *self._folder.rglob("*"), *self.hidden.rglob("*")):
            with contextlib.suppress(OSError):
                facts = path.lstat()
                content = path.read_bytes() if path.is_file() else b""
                owner = (facts.st_uid, facts.st_gid)
                attributes = os.listxattr(path, follow_symlinks=False)
                state[path.name] = (facts.st_mode, owner, int(facts.st_mtime), facts.st_nlink, attributes, content)
        return state

    def _changed(self) -> set[str]:
        now = self._state()
        return {name for name in now.keys() | self._before.keys() if now.get(name) != self._before.get(name)}

    def _is_in_workspace(self) -> bool:
        for path in self.workspace.rglob("*"):
            with contextlib.suppress(OSError):
                inside = path.is_file() and not path.is_symlink() and path.stat().st_size < 1 << 16
                if inside and self._secret.encode() in path.read_bytes():
                    return True
        return False

    async def _listeners(self, closing: contextlib.AsyncExitStack) -> None:
        def accept(words: str) -> asyncio.Protocol:
            self._came.append(words)
            return _Closing()

        loop = asyncio.get_running_loop()
        tcp = await loop.create_server(lambda: accept("a TCP connection came"), "127.0.0.1", 0)
        closing.callback(tcp.close)
        datagram = _Datagrams(self._came)
        udp, _ = await loop.create_datagram_endpoint(lambda: datagram, ("127.0.0.1", 0))
        closing.callback(udp.close)
        # A path of its own: one below a long base would not fit into an address.
        folder = _new_folder()
        closing.callback(shutil.rmtree, folder, ignore_errors=True)
        path, abstract = f"{folder}/socket", f"toolwire-{secrets.token_hex(8)}"
        for address, words in ((path, "a Unix connection came"), (f"\0{abstract}", "an abstract connection came")):
            unix = await loop.create_unix_server(functools.partial(accept, words), address)
            closing.callback(unix.close)
        self.names |= {
            "PORT": str(tcp.sockets[0].getsockname()[1]),
            "UDP": str(udp.get_extra_info("sockname")[1]),
            "SOCKET": path,
            "ABSTRACT": abstract,
        }

    @contextlib.contextmanager
    def _process(self) -> Iterator[None]:
        """Somebody else's process: a secret in its environment, a file open, working in the folder outside."""
        with open(self._folder / "kept.txt", "a") as kept:
            self._other = subprocess.Popen(
                ["sleep", "60"],
                env={"PATH": os.environ.get("PATH", os.defpath), "THE_SECRET": self._secret},
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=kept,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        self.names |= {"OTHER": str(self._other.pid), **_environment_place(self._other.pid)}
        self._limits = self._of_other()
        try:
            yield
        finally:
            self._other.kill()
            self._other.wait()

    def _of_other(self) -> tuple[str, int, set[int], int]:
        pid = self._other.pid
        limits = Path(f"/proc/{pid}/limits").read_text()
        adjusted = int(Path(f"/proc/{pid}/oom_score_adj").read_text())
        return limits, os.getpriority(os.PRIO_PROCESS, pid), os.sched_getaffinity(pid), adjusted

    def _process_signs(self) -> list[str]:
        if self._other.poll() is not None:
            return ["a process outside was ended"]
        state = Path(f"/proc/{self._other.pid}/stat").read_text().rpartition(")")[2].split()[0]
        stopped = ["a process outside was stopped"] if state in "Tt" else []
        return stopped + (["a process outside was changed"] if self._of_other() != self._limits else [])

    @contextlib.contextmanager
    def _terminal(self) -> Iterator[None]:
        self._master, self._slave = os.openpty()
        try:
            import tty

            tty.setraw(self._slave)
            for end in (self._master, self._slave):
                os.set_blocking(end, False)
            self.names["TERMINAL"] = os.ttyname(self._slave)
            yield
        finally:
            os.close(self._master)
            os.close(self._slave)

    @contextlib.contextmanager
    def _shared_memory(self) -> Iterator[None]:
        """A piece of System V shared memory with the secret in it."""
        libc = ctypes.CDLL(None)
        libc.shmat.restype = ctypes.c_void_p
        piece = libc.shmget(0, ctypes.c_size_t(4096), _IPC_CREAT | 0o600)
        address = ctypes.c_void_p(libc.shmat(piece, None, 0)) if piece >= 0 else ctypes.c_void_p(-1)
        held = piece >= 0 and address.value != ctypes.c_void_p(-1).value
        try:
            if held:
                ctypes.memmove(address, self._secret.encode(), len(self._secret))
            self.names["MEMORY"] = str(piece)
            yield
        finally:
            if held:
                libc.shmdt(address)
            if piece >= 0:
                libc.shmctl(piece, _IPC_RMID, None)


def _new_folder() -> Path:
    # Not in /tmp: a sandbox may have another one inside, and then nothing would be tried at all.
    place = "/var/tmp" if os.access("/var/tmp", os.W_OK) else None
    return Path(tempfile.mkdtemp(prefix="toolwire-trial-", dir=place)).resolve()


def _remove(folder: Path) -> None:
    """What a trial copied of a folder that it may not open cannot be opened either."""
    for parent, names, _ in os.walk(folder):
        for path in (Path(parent, name) for name in names):
            if not path.is_symlink():
                path.chmod(0o700)
    shutil.rmtree(folder, ignore_errors=True)


def _handle(path: Path) -> str:
    """The kernel's own name of a file, by which root can open it past every folder; empty where it has none."""
    handle = ctypes.create_string_buffer(struct.pack("Ii", _HANDLE_BYTES, 0) + bytes(_HANDLE_BYTES))
    mount = ctypes.c_int()
    refused = ctypes.CDLL(None).name_to_handle_at(_HERE, os.fsencode(path), handle, ctypes.byref(mount), 0)
    return "" if refused else handle.raw.hex()


def _environment_place(pid: int) -> dict[str, str]:
    """Where the environment of a process lies in its memory: what an attacker would have to guess."""
    start = end = 0
    while not end > start:
        # Until the program itself runs, there is none.
        name, _, facts = Path(f"/proc/{pid}/stat").read_text().rpartition(")")
        start, end = (int(word) for word in facts.split()[47:49]) if name.endswith("(sleep") else (0, 0)
    return {"WHERE": str(start), "SIZE": str(end - start)}


class _Closing(asyncio.Protocol):
    """Whoever comes is sent away: that it came is enough."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        transport.close()


class _Datagrams(asyncio.DatagramProtocol):
    def __init__(self, came: list[str]) -> None:
        self._came = came

    def datagram_received(self, data: bytes, address: object) -> None:
        self._came.append("a datagram came")
