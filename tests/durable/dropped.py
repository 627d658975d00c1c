"""A network namespace of one's own, whose packets can be dropped without either side noticing."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache

_NOBODY = "02:00:00:00:00:01"
_CLONE_NEWNET = 0x40000000


class Namespace:
    """`host` is this side's address in it, where servers for it listen."""

    def __init__(self, name: str) -> None:
        self.name = name
        octets = uuid.uuid4().bytes
        net = f"10.213.{octets[0]}.{octets[1] & 0xFC}"
        base, _, last = net.rpartition(".")
        self.host, self._guest = f"{base}.{int(last) + 1}", f"{base}.{int(last) + 2}"
        self._here, self._there = f"{name}a", f"{name}b"

    @property
    def inside(self) -> tuple[str, ...]:
        """The prefix of a command that is to run in it."""
        return ("ip", "netns", "exec", self.name)

    def make(self) -> None:
        """Makes it, joined to this side by a pair of interfaces."""
        _do("ip", "netns", "add", self.name)
        _do("ip", "link", "add", self._here, "type", "veth", "peer", "name", self._there, "netns", self.name)
        _do("ip", "addr", "add", f"{self.host}/30", "dev", self._here)
        _do("ip", "link", "set", self._here, "up")
        _do(*self.inside, "ip", "addr", "add", f"{self._guest}/30", "dev", self._there)
        _do(*self.inside, "ip", "link", "set", self._there, "up")
        _do(*self.inside, "ip", "link", "set", "lo", "up")

    def drop(self) -> None:
        """From now on every packet, to and fro, is addressed to nobody."""
        to = ("lladdr", _NOBODY, "nud", "permanent")
        _do("ip", "neigh", "replace", self._guest, *to, "dev", self._here)
        _do(*self.inside, "ip", "neigh", "replace", self.host, *to, "dev", self._there)

    def mend(self) -> None:
        """Packets arrive again."""
        _do("ip", "neigh", "del", self._guest, "dev", self._here)
        _do(*self.inside, "ip", "neigh", "del", self.host, "dev", self._there)

    def remove(self) -> None:
        """Removes it, and with it the interfaces, as far as they were made."""
        for words in (("ip", "link", "del", self._here), ("ip", "netns", "del", self.name)):
            with suppress(subprocess.CalledProcessError):
                _do(*words)


def enter(name: str) -> None:
    """This thread, and all that it starts, is in the namespace from now on."""
    file = os.open(f"/run/netns/{name}", os.O_RDONLY)
    try:
        if ctypes.CDLL(None, use_errno=True).setns(file, _CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), f"the namespace {name} cannot be entered")
    finally:
        os.close(file)


@cache
def why_no_namespace() -> str:
    """Why there can be none here, in one line; empty where there can."""
    if shutil.which("ip") is None or os.geteuid() != 0:
        return "no network namespace: it needs root and the program ip"
    try:
        with namespace() as made:
            made.drop()
            made.mend()
    except (OSError, subprocess.CalledProcessError) as error:
        return f"no network namespace: {error}"
    return ""


@contextmanager
def namespace() -> Iterator[Namespace]:
    """One, gone afterwards."""
    made = Namespace(f"tw{uuid.uuid4().hex[:8]}")
    try:
        made.make()
        yield made
    finally:
        made.remove()


def _do(*words: str) -> None:
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
