"""Opening beneath a root: nothing outside is reached, nothing but files and folders is opened, nothing stays open."""

from __future__ import annotations

import errno
import os
import socket
import stat
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from toolwire.errors import FileRefused
from toolwire.files import beneath, system_calls
from toolwire.files.beneath import MAX_PATH, Roots, quoted

WAYS = ("kernel", "steps", "steps without a look")


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The three ways of opening: by the kernel, step by step, and step by step where there is no O_PATH."""
    if request.param == "kernel":
        if system_calls.open_beneath() is None:
            pytest.skip("this kernel has no openat2")
    else:
        monkeypatch.setattr(beneath, "open_beneath", lambda: None)
    if request.param == "steps without a look":
        monkeypatch.setattr(beneath, "_LOOK", 0)
    return str(request.param)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret").write_text("secret")
    inside = tmp_path / "inside"
    (inside / "sub" / "deep").mkdir(parents=True)
    (inside / "a.txt").write_text("a")
    (inside / "sub" / "deep" / "b.txt").write_text("b")
    (inside / "empty").mkdir()
    (inside / "file-link").symlink_to("a.txt")
    (inside / "folder-link").symlink_to("sub")
    (inside / "out").symlink_to("../outside")
    (inside / "out-file").symlink_to(tmp_path / "outside" / "secret")
    (inside / "loop").symlink_to("loop")
    os.mkfifo(inside / "pipe")
    return inside


@pytest.fixture(autouse=True)
def nothing_stays_open() -> Iterator[None]:
    before = set(os.listdir("/dev/fd"))
    yield
    # What earlier tests left to be collected may go meanwhile; nothing may come.
    assert set(os.listdir("/dev/fd")) <= before


def refusal(opened: AbstractContextManager[object]) -> FileRefused:
    with pytest.raises(FileRefused) as caught, opened:
        pass
    return caught.value


def test_this_kernel_opens_beneath_by_itself() -> None:
    release = tuple(int(part) for part in os.uname().release.split(".")[:2])
    assert (system_calls.open_beneath() is not None) == (release >= (5, 6))


@pytest.mark.parametrize(("path", "text"), [("a.txt", b"a"), ("sub/deep/b.txt", b"b")])
def test_files(way: str, root: Path, path: str, text: bytes) -> None:
    with Roots([str(root)]).file(str(root / path)) as descriptor:
        assert os.read(descriptor, 10) == text
        assert not os.get_inheritable(descriptor)
        with pytest.raises(OSError, match="Bad file"):
            os.write(descriptor, b"x")


@pytest.mark.parametrize(("path", "names"), [("sub", ["deep"]), ("empty", []), ("sub/deep", ["b.txt"])])
def test_folders(way: str, root: Path, path: str, names: list[str]) -> None:
    with Roots([str(root)]).folder(str(root / path)) as descriptor:
        assert os.listdir(descriptor) == names
        assert not os.get_inheritable(descriptor)
        os.fsync(descriptor)


def test_the_root_itself(way: str, root: Path) -> None:
    with Roots([str(root)]).folder(str(root)) as descriptor:
        assert "a.txt" in os.listdir(descriptor)
    assert refusal(Roots([str(root)]).file(str(root))).why == "folder"
    assert refusal(Roots([str(root)]).parent(str(root))).why == "folder"


def test_the_whole_system_as_root(way: str, root: Path) -> None:
    with Roots(["/"]).file(str(root / "a.txt")) as descriptor:
        assert os.read(descriptor, 10) == b"a"
    with Roots(["/"]).folder("/") as descriptor:
        assert "tmp" in os.listdir(descriptor)


REFUSED = [
    ("missing", "missing", "there is no '{}'; see what there is with list_directory"),
    ("missing/a.txt", "missing", "there is no"),
    ("a.txt/b", "through", "leads through a file as if it were a folder"),
    ("file-link", "link", "links are not followed"),
    ("folder-link", "link", "links are not followed"),
    ("folder-link/deep/b.txt", "link", "links are not followed"),
    ("out", "link", "links are not followed"),
    ("out/secret", "link", "links are not followed"),
    ("out-file", "link", "links are not followed"),
    ("loop", "link", "links are not followed"),
    ("pipe", "special", "is a device, pipe or socket, not a file; it is not opened"),
    ("sub/../a.txt", "outside", "outside of the folders that may be used"),
    ("../outside/secret", "outside", "outside of the folders that may be used"),
    ("..", "outside", "outside of the folders that may be used"),
    ("./a.txt", "outside", "outside of the folders that may be used"),
    ("sub//deep", "outside", "outside of the folders that may be used"),
    ("a\0b", "name", "it is no file name"),
    ("a.txt\0", "name", "it is no file name"),
    ("\ud800", "name", "it is no file name"),
    ("x" * 256, "system", "cannot be opened: File name too long"),
    ("x/" * 2000 + "x", "name", "is too long"),
]


@pytest.mark.parametrize("use", [Roots.file, Roots.folder])
@pytest.mark.parametrize(("path", "why", "words"), REFUSED, ids=range(len(REFUSED)))
def test_what_is_refused(
    way: str, root: Path, use: Callable[..., AbstractContextManager[int]], path: str, why: str, words: str
) -> None:
    real = f"{root}/{path}"
    error = refusal(use(Roots([str(root)]), real))
    assert error.why == why
    assert words.format(real) in error.message
    assert error.path == real
    assert error.message.isprintable()
    assert len(error.message) < 300


@pytest.mark.parametrize("real", ["", "a.txt", "/etc/passwd", "/", "{root}x/a.txt", "{root}/../inside/a.txt", "//"])
def test_other_places_are_outside(way: str, root: Path, real: str) -> None:
    Path(f"{root}x").mkdir()
    Path(f"{root}x/a.txt").write_text("secret")
    roots = Roots([str(root)])
    for opened in (roots.file, roots.folder, roots.parent):
        assert refusal(opened(real.replace("{root}", str(root)))).why == "outside"


def test_a_file_is_no_folder_and_a_folder_no_file(way: str, root: Path) -> None:
    roots = Roots([str(root)])
    assert "is a file, not a folder; read it with read_file" in refusal(roots.folder(str(root / "a.txt"))).message
    assert "is a folder; look into it with list_directory" in refusal(roots.file(str(root / "sub"))).message


def test_devices_and_sockets(way: str, root: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(root / "s"))
        assert refusal(Roots([str(root)]).file(str(root / "s"))).why == "special"
    for device in ("/dev/null", "/dev/zero", "/dev/tty"):
        if os.path.exists(device):
            assert refusal(Roots(["/dev"]).file(device)).why == "special"


@pytest.mark.parametrize(
    "path", ["/proc/version", "/proc/{pid}/environ", "/proc/{pid}/status", "/sys/kernel/profiling"]
)
def test_files_of_the_kernel(way: str, path: str) -> None:
    path = path.replace("{pid}", str(os.getpid()))
    if not os.path.exists(path):
        pytest.skip(f"there is no {path} here")
    error = refusal(Roots(["/"]).file(path))
    assert error.why == "special"
    assert "belongs to the system" in error.message
    assert refusal(Roots(["/"]).folder(os.path.dirname(path))).why == "special"
    assert refusal(Roots(["/"]).parent(path)).why == "special"


@pytest.mark.parametrize("path", ["/proc/self/environ", "/proc/self/root/etc/passwd", "/proc/self/fd/0", "/dev/fd/0"])
def test_links_of_the_kernel(way: str, path: str) -> None:
    assert refusal(Roots(["/"]).file(path)).why in ("link", "special")


def test_roots_side_by_side(way: str, root: Path, tmp_path: Path) -> None:
    roots = Roots([str(root), str(tmp_path / "outside")])
    with roots.file(str(tmp_path / "outside" / "secret")) as descriptor:
        assert os.read(descriptor, 10) == b"secret"
    assert refusal(roots.file(str(root / "out" / "secret"))).why == "link"
    assert refusal(roots.file(str(tmp_path / "elsewhere"))).why == "outside"


def test_a_root_inside_another_cannot_be_swapped_for_a_link(way: str, root: Path) -> None:
    roots = Roots([str(root / "sub"), str(root)])
    with roots.file(str(root / "sub" / "deep" / "b.txt")):
        pass
    (root / "sub").rename(root / "moved")
    (root / "sub").symlink_to("../outside")
    assert refusal(roots.file(str(root / "sub" / "secret"))).why == "link"


def test_a_root_that_became_a_link(way: str, root: Path, tmp_path: Path) -> None:
    root.rename(tmp_path / "moved")
    root.symlink_to("outside")
    assert refusal(Roots([str(root)]).file(str(root / "secret"))).why == "link"


def test_a_root_that_is_gone(way: str, tmp_path: Path) -> None:
    assert refusal(Roots([str(tmp_path / "gone")]).folder(str(tmp_path / "gone"))).why == "missing"
    assert refusal(Roots([str(tmp_path / "gone")]).folder(str(tmp_path / "gone/sub"), create=True)).why == "missing"
    assert not (tmp_path / "gone").exists()


def test_no_roots() -> None:
    assert refusal(Roots([]).file("/etc/passwd")).why == "outside"


def test_the_parent_of_a_file(way: str, root: Path) -> None:
    with Roots([str(root)]).parent(str(root / "sub" / "new.txt")) as (folder, name):
        assert name == "new.txt"
        os.close(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, dir_fd=folder))
        os.fsync(folder)
    assert (root / "sub" / "new.txt").exists()
    for path, why in (("out/new.txt", "link"), ("gone/new.txt", "missing"), ("a.txt/new.txt", "file")):
        assert refusal(Roots([str(root)]).parent(str(root / path))).why == why


def test_missing_folders_are_made(way: str, root: Path) -> None:
    mask = os.umask(0o027)
    try:
        with Roots([str(root)]).folder(str(root / "sub/one/two"), create=True) as descriptor:
            assert os.path.samestat(os.fstat(descriptor), os.stat(root / "sub/one/two"))
    finally:
        os.umask(mask)
    assert stat.S_IMODE(os.stat(root / "sub/one").st_mode) == 0o750
    with Roots([str(root)]).parent(str(root / "three/four/new.txt"), create=True):
        pass
    assert (root / "three" / "four").is_dir()
    assert not (root / "three" / "four" / "new.txt").exists()


@pytest.mark.parametrize(
    ("path", "why"), [("out/new", "link"), ("out/new/more", "link"), ("loop/new", "link"), ("a.txt/new", "through")]
)
def test_nothing_is_made_behind_a_link(way: str, root: Path, tmp_path: Path, path: str, why: str) -> None:
    assert refusal(Roots([str(root)]).folder(str(root / path), create=True)).why == why
    assert os.listdir(tmp_path / "outside") == ["secret"]


def test_a_link_that_comes_while_folders_are_made(
    way: str, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make = os.mkdir

    def swap(path: str, *args: object, dir_fd: int | None = None) -> None:
        make(path, dir_fd=dir_fd)
        if path == "one":
            os.rename(root / "one", root / "moved")
            os.symlink("../outside", root / "one")

    monkeypatch.setattr(os, "mkdir", swap)
    assert refusal(Roots([str(root)]).folder(str(root / "one/two"), create=True)).why == "link"
    assert os.listdir(tmp_path / "outside") == ["secret"]


def test_without_proc_the_file_is_opened_anew(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    open_it = os.open

    def no_proc(path: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if path.startswith("/proc/"):
            raise FileNotFoundError(errno.ENOENT, "No such file or directory", path)
        return open_it(path, flags, mode, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", no_proc)
    monkeypatch.setattr(os, "supports_dir_fd", {no_proc})
    with Roots([str(root)]).file(str(root / "sub/deep/b.txt")) as descriptor:
        assert os.read(descriptor, 10) == b"b"
    assert refusal(Roots([str(root)]).file(str(root / "pipe"))).why == "special"
    assert refusal(Roots([str(root)]).file(str(root / "out-file"))).why == "link"

    def swapped(path: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if path == "a.txt":
            os.rename(root / "sub/deep/b.txt", root / "a.txt")
        return no_proc(path, flags, mode, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", swapped)
    monkeypatch.setattr(os, "supports_dir_fd", {swapped})
    assert "changed while it was opened" in refusal(Roots([str(root)]).file(str(root / "a.txt"))).message


def test_what_the_system_refuses_is_told(way: str, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object, **options: object) -> int:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)
    monkeypatch.setattr(os, "supports_dir_fd", {refuse})
    error = refusal(Roots([str(root)]).file(str(root / "a.txt")))
    assert error.why == "system"
    assert error.message.endswith("cannot be opened: Permission denied")


def test_a_system_without_safe_opening(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "supports_dir_fd", set())
    roots = Roots([str(root)])
    for opened in (roots.file, roots.folder, roots.parent):
        assert "does not work here" in refusal(opened(str(root / "a.txt"))).message


@pytest.mark.parametrize("number", [errno.ENOSYS, errno.EPERM])
def test_a_kernel_or_a_filter_without_the_call(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    import ctypes

    class Library:
        @staticmethod
        def syscall(*_: object) -> int:
            ctypes.set_errno(number)
            return -1

    monkeypatch.setattr(system_calls, "_library", Library)
    system_calls.open_beneath.cache_clear()
    try:
        assert system_calls.open_beneath() is None
    finally:
        system_calls.open_beneath.cache_clear()


def test_a_machine_where_the_call_has_another_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system_calls, "_MACHINES", frozenset())
    system_calls.open_beneath.cache_clear()
    try:
        assert system_calls.open_beneath() is None
    finally:
        system_calls.open_beneath.cache_clear()


def test_words_are_for_whoever_reads_them(root: Path) -> None:
    roots = Roots([str(root)], shown=lambda real: os.path.relpath(real, root), lister="list_files")
    assert refusal(roots.file(f"{root}/no")).message == "there is no 'no'; see what there is with list_files"
    assert refusal(roots.file(f"{root}/sub")).message == "'sub' is a folder; look into it with list_files"


@pytest.mark.parametrize(
    ("path", "shown"),
    [("a b", "'a b'"), ("a\nb\x1b[31m", r"'a\nb\x1b[31m'"), ("\ud800", r"'\ud800'"), ("é", "'é'"), ("it's", '"it\'s"')],
)
def test_quoted(path: str, shown: str) -> None:
    assert quoted(path) == shown


def test_long_paths_are_quoted_by_their_end() -> None:
    assert quoted("x" * 500 + "/end.txt").endswith("x/end.txt'")
    assert len(quoted("x" * 500)) <= 125
    assert len(quoted("\n" * 500)) <= 600


def test_the_longest_path(way: str, tmp_path: Path) -> None:
    steps = ["d" * 200] * ((MAX_PATH - len(str(tmp_path))) // 201 - 1)
    real = os.path.join(tmp_path, *steps)
    with Roots([str(tmp_path)]).folder(real, create=True):
        pass
    with Roots([str(tmp_path)]).folder(real):
        pass


def test_the_bounds_of_a_path_and_of_its_showing(root: Path) -> None:
    longest = f"{root}/{'x/' * 4000}"[:4_000]
    longest = longest[:-1] + "y"
    with pytest.raises(FileRefused, match="there is no"), Roots([str(root)]).file(longest):
        pass
    with pytest.raises(FileRefused, match="is too long"), Roots([str(root)]).file(longest + "y"):
        pass
    assert quoted("x" * 120) == f"'{'x' * 120}'"
    assert quoted("y" + "x" * 120) == f"'...{'x' * 117}'"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has leases")
def test_a_lease_on_a_file_is_not_waited_for(root: Path) -> None:
    holder = textwrap.dedent(
        """
        import fcntl, os, signal, sys
        signal.signal(signal.SIGIO, signal.SIG_IGN)
        signal.alarm(20)
        held = os.open(sys.argv[1], os.O_RDWR)
        fcntl.fcntl(held, fcntl.F_SETLEASE, fcntl.F_WRLCK)
        print("held", flush=True)
        sys.stdin.read()
        """
    )
    argv = [sys.executable, "-c", holder, str(root / "a.txt")]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        started = time.monotonic()
        error = refusal(Roots([str(root)]).file(str(root / "a.txt")))
        assert time.monotonic() - started < 10
        assert error.why == "system"
