"""The script that confines itself: its filter, by an interpreter; its rules; that it never runs half confined."""

from __future__ import annotations

import binascii
import ctypes
import errno
import marshal
import os
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from toolwire.execution.sandbox import confine, seccomp
from toolwire.execution.sandbox.sandbox import Profile, find_sandbox
from toolwire.execution.sandbox.seccomp import ARCHITECTURES, NEWEST_CALL, syscall_filter

ALLOW, KILL = 0x7FFF0000, 0x80000000
REFUSED, MISSING = 0x50000 | errno.EPERM, 0x50000 | errno.ENOSYS


def verdict(program: bytes, number: int, *arguments: int, architecture: int) -> int:
    """What the kernel would say: the few instructions of the filter, by their definition."""
    data = struct.pack("=IIQ6Q", number, architecture, 0, *(*arguments, 0, 0, 0, 0, 0, 0)[:6])
    steps = [struct.unpack_from("=HBBI", program, at) for at in range(0, len(program), 8)]
    at = value = 0
    while True:
        code, yes, no, operand = steps[at]
        at += 1
        if code == 0x20:
            (value,) = struct.unpack_from("=I", data, operand)
        elif code == 0x54:
            value &= operand
        elif code == 0x06:
            return int(operand)
        else:
            tests = {0x15: value == operand, 0x25: value > operand, 0x35: value >= operand, 0x45: value & operand}
            at += yes if tests[code] else no


class Filter:
    """A filter and the numbers of its machine."""

    def __init__(self, machine: str, *, network: bool = False, own_view: bool = True) -> None:
        self.of = list(ARCHITECTURES).index(machine)
        self._architecture = ARCHITECTURES[machine]
        self._program = syscall_filter(machine, network=network, own_view=own_view)

    def __call__(self, numbers: int | tuple[int | None, int | None], *arguments: int) -> int:
        number = numbers if isinstance(numbers, int) else numbers[self.of]
        assert number is not None
        return verdict(self._program, number, *arguments, architecture=self._architecture)


@pytest.fixture(params=ARCHITECTURES)
def machine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


READ, FORK, FCNTL, SENDTO, KILL_CALL = (0, 63), (56, 220), (72, 25), (44, 206), (62, 129)


def test_every_call_of_the_tables_is_refused(machine: str) -> None:
    strict = Filter(machine, own_view=False)
    tables = (seccomp._REFUSED, seccomp._SHARED_MEMORY, seccomp._CONNECTING)
    for table in tables:
        for name, numbers in table.items():
            if numbers[strict.of] is not None:
                assert strict(numbers) == REFUSED, name
    wide = Filter(machine, network=True)
    for table in tables[1:]:
        for name, numbers in table.items():
            assert wide(numbers) == ALLOW, name


def test_what_programs_live_by_is_allowed(machine: str) -> None:
    strict = Filter(machine, own_view=False)
    for numbers in (READ, FCNTL, SENDTO, KILL_CALL):
        assert strict(numbers) == ALLOW


def test_strangers(machine: str) -> None:
    strict = Filter(machine)
    assert strict(NEWEST_CALL) == ALLOW
    assert strict(NEWEST_CALL + 1) == MISSING
    assert strict((435, 435)) == strict((437, 437)) == MISSING
    program = syscall_filter(machine, network=True, own_view=True)
    for other in (0x40000003, 0x40000028, *(number for name, number in ARCHITECTURES.items() if name != machine)):
        assert verdict(program, 0, architecture=other) == KILL
    if machine == "x86_64":
        assert strict(0x40000000) == strict(0x40000000 + 101) == MISSING


def test_namespaces_are_seen_in_flags(machine: str) -> None:
    strict = Filter(machine)
    assert strict(FORK, 0x01200011) == ALLOW
    assert strict(FORK, 0x003D0F00) == ALLOW
    for flag in (0x20000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000):
        assert strict(FORK, 0x11 | flag) == strict((272, 97), flag) == REFUSED
    assert strict((272, 97), 0x80) == REFUSED
    assert strict((272, 97), 0x400) == ALLOW


def test_sockets(machine: str) -> None:
    socket, pair = (41, 198), (53, 199)
    strict, wide = Filter(machine), Filter(machine, network=True)
    for family in range(46):
        assert strict(socket, family, 1, 0) == REFUSED
        assert wide(socket, family, 1, 0) == (ALLOW if family in (2, 10, 16) else REFUSED)
    assert wide(socket, 16, 3, 15) == REFUSED
    for either in (strict, wide):
        assert either(pair, 1, 1 | 0x80000) == either(pair, 1, 5) == ALLOW
        assert either(pair, 1, 2) == either(pair, 1, 3) == either(pair, 30, 1) == REFUSED


def test_others_cannot_be_named(machine: str) -> None:
    strict = Filter(machine)
    for numbers in ((302, 261), (142, 118), (144, 119), (203, 122), (314, 274)):
        assert strict(numbers, 0, 7) == ALLOW
        assert strict(numbers, 4711, 7) == REFUSED
    for numbers, single in (((141, 140), 0), ((251, 30), 1)):
        assert strict(numbers, single, 0) == ALLOW
        assert strict(numbers, single, 4711) == strict(numbers, single + 1, 0) == REFUSED


def test_modes(machine: str) -> None:
    strict = Filter(machine)
    openat, fchmodat, mknodat = (257, 56), (268, 53), (259, 33)
    for mode, expected in ((0o755, ALLOW), (0o1777, ALLOW), (0o4755, REFUSED), (0o2755, REFUSED)):
        assert strict(fchmodat, 3, 0, mode) == strict((91, 52), 3, mode) == expected
        assert strict(openat, 3, 0, 0x41, mode) == strict(openat, 3, 0, 0x410002, mode) == expected
        assert strict(openat, 3, 0, 0, mode) == ALLOW
        assert strict(mknodat, 3, 0, 0o10000 | mode) == expected
    assert strict(mknodat, 3, 0, 0o20666) == strict(mknodat, 3, 0, 0o60666) == REFUSED


def test_leases_and_attributes(machine: str) -> None:
    """Nobody is kept waiting by a lease; attributes are left to the view, where there is one."""
    strict, own = Filter(machine, own_view=False), Filter(machine)
    assert strict(FCNTL, 3, 1024, 1) == own(FCNTL, 3, 1024, 1) == REFUSED
    assert own(FCNTL, 3, 4) == own(FCNTL, 3, 1030) == ALLOW
    for name, numbers in seccomp._ATTRIBUTES.items():
        assert (strict(numbers), own(numbers)) == (0x50000 | errno.ENOTSUP, ALLOW), name
    for request in (0x40086602, 0x401C5820, 0x5000940E, 0x40806685):
        assert (strict((16, 29), 3, request), own((16, 29), 3, request)) == (0x50000 | errno.ENOTTY, ALLOW)


def test_terminals_are_not_typed_into(machine: str) -> None:
    strict = Filter(machine)
    assert strict((16, 29), 0, 0x5401) == ALLOW
    # The kernel looks at the low half only, and so must the filter.
    for request in (0x5412, 0x541C, 0xFFFFFFFF00005412):
        assert strict((16, 29), 0, request) == REFUSED


def test_what_holds_nothing_hidden(tmp_path: Path) -> None:
    for name in ("a/b/c", "a/d", "e"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "a/file").touch()
    (tmp_path / "a/link").symlink_to("file")
    top = str(tmp_path)

    def parts(*hidden: str) -> set[str]:
        return {path.removeprefix(top) for path in confine.unhidden([top], {top + name for name in hidden})}

    assert parts() == {""}
    assert parts("/a/b") == {"/e", "/a/d", "/a/file"}
    assert parts("/a/later") == {"/e", "/a/b", "/a/d", "/a/file"}
    assert parts("/later/deep") == {"/e", "/a"}
    assert parts("/a", "/a/b") == {"/e"}
    assert set(confine.unhidden([f"{top}/a/b"], {f"{top}/a"})) == set()


def test_the_script_imports_nothing_of_toolwire() -> None:
    code = (
        f"import sys, runpy; runpy.run_path({confine.__file__!r}, run_name='script');"
        "print([name for name in sys.modules if name.split('.')[0] in ('toolwire', 'typing', 're', 'json')])"
    )
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=True)
    assert "toolwire" not in done.stdout


SPEC: dict[str, Any] = {
    "writable": (),
    "readable": None,
    "protected": (),
    "hidden": (),
    "network": False,
    "processes": 100,
    "open_files": 100,
    "file_size": 1 << 20,
    "namespaces": False,
    "own_devices": False,
    "landlock": 0,
    "filter": syscall_filter("x86_64", network=False, own_view=False),
}


def confined(spec: Any, *argv: str) -> subprocess.CompletedProcess[str]:
    text = spec if isinstance(spec, str) else binascii.b2a_base64(marshal.dumps(spec), newline=False).decode()
    return subprocess.run([sys.executable, "-I", "-S", confine.__file__, text, *argv], capture_output=True, text=True)


linux = pytest.mark.skipif(not find_sandbox().holds, reason="nothing confines programs on this machine")


@linux
@pytest.mark.parametrize(
    "spec",
    [
        "no base64 \x7f!",
        "AAAA",
        {},
        {**SPEC, "filter": b""},
        {**SPEC, "filter": b"\xff" * 8},
        {**SPEC, "filter": SPEC["filter"][:-8]},
        {**SPEC, "writable": ("/no/such/folder",)},
        {**SPEC, "hidden": None},
        {**SPEC, "open_files": "many"},
        {**SPEC, "open_files": -5},
        {**SPEC, "landlock": "new"},
    ],
    ids=range(11),
)
def test_what_cannot_be_applied_is_told_and_nothing_runs(spec: object, tmp_path: Path) -> None:
    made = tmp_path / "made"
    done = confined(spec, "/usr/bin/touch", str(made))
    assert done.returncode == 126
    assert done.stderr.startswith("toolwire: the sandbox could not be set up, so the command was not run: ")
    assert done.stderr.count("\n") == 1
    assert not made.exists()


@linux
@pytest.mark.parametrize("words", [[], ["AAAA"]])
def test_called_by_hand_it_says_so(words: list[str]) -> None:
    done = subprocess.run([sys.executable, "-I", "-S", confine.__file__, *words], capture_output=True, text=True)
    assert done.returncode == 126
    assert "could not be set up" in done.stderr


namespaces = pytest.mark.skipif(
    not find_sandbox("landlock and namespaces").holds, reason="no namespaces of its own on this machine"
)


@namespaces
def test_a_sandbox_in_a_sandbox(tmp_path: Path) -> None:
    """Namespaces are refused inside, and then nothing runs; what needs none holds, one in the other."""
    outer, inner = find_sandbox(), tmp_path / "inner"
    inner.mkdir()
    folder = Profile(writable=(str(tmp_path),))
    argv = outer.command(["touch", str(inner / "made")], Profile(writable=(str(inner),)))
    done = subprocess.run(outer.command(argv, folder), capture_output=True, text=True)
    assert (done.returncode, "namespaces: Operation not permitted" in done.stderr) == (126, True)
    argv = find_sandbox("landlock").command(
        ["sh", "-c", f"touch {inner}/made; touch {tmp_path}/not"], Profile(writable=(str(inner),))
    )
    subprocess.run(outer.command(argv, folder), capture_output=True)
    assert [path.name for path in sorted(tmp_path.rglob("*"))] == ["inner", "made"]


def _one_who_may_not_mount() -> None:
    """As root of most containers, who may not mount; and whose children die with him."""
    ctypes.CDLL(None).prctl(24, 21, 0, 0, 0)
    ctypes.CDLL(None).prctl(1, 9, 0, 0, 0)


def _one_who_gets_no_further_users() -> None:
    assert confine._unshare_with({1000, 1001}, 0)  # else it would be said of the machine
    Path("/proc/sys/user/max_user_namespaces").write_text("0")


@namespaces
@pytest.mark.skipif(os.geteuid() != 0, reason="only root works in folders of others")
def test_root_without_a_user_namespace_has_no_rights_in_the_folder_of_somebody_else(tmp_path: Path) -> None:
    inside, theirs = tmp_path / "inside", tmp_path / "theirs"
    inside.mkdir()
    theirs.write_text("the secret")
    theirs.chmod(0o600)
    os.chown(inside, 1000, 1000)
    os.chown(theirs, 1001, 1001)
    argv = find_sandbox("landlock and namespaces").command(
        ["sh", "-c", f"cat {theirs}; echo x > {inside}/new; grep CapEff /proc/self/status"],
        Profile(writable=(str(inside),)),
    )
    done = subprocess.run(argv, capture_output=True, text=True, preexec_fn=_one_who_gets_no_further_users)
    assert done.stdout.split() == ["CapEff:", "0" * 16]
    assert not (inside / "new").exists()


@namespaces
def test_who_may_not_mount_takes_a_user_namespace(tmp_path: Path) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    inside.mkdir()
    outside.touch()
    outside.chmod(0o600)
    show = "import ctypes; n = ctypes.c_int(); ctypes.CDLL(None).prctl(2, ctypes.byref(n)); print(n.value)"
    script = f"chmod 777 {outside}; echo x > {inside}/new; id -u; readlink /proc/self/ns/user;"
    script += f"exec {sys.executable} -I -c '{show}'"
    argv = find_sandbox("landlock and namespaces").command(["sh", "-c", script], Profile(writable=(str(inside),)))
    done = subprocess.run(argv, capture_output=True, text=True, preexec_fn=_one_who_may_not_mount)
    user, namespace, deadly = done.stdout.split()
    assert (int(user), deadly) == (os.geteuid(), "9")
    assert namespace != os.readlink("/proc/self/ns/user")
    assert outside.stat().st_mode & 0o777 == 0o600
    assert (inside / "new").read_text() == "x\n"
