"""Opening what lies beneath a root, whatever is put in the way meanwhile.

A path is judged before a call is approved, and the file system may have changed when the call runs. So no comparison
of names is trusted here: a file is opened relative to a descriptor of its root, without following any link, and what
was opened is looked at before it is used. The paths have no links left in them (`real` paths); one that is found on the
way has been put there since, and is refused.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress

from ..errors import FileRefused
from .system_calls import file_system, open_beneath

MAX_PATH = 4000
"""Bytes of a path. Systems take 4,096 at most, and something is put behind it now and then."""

_LOOK = getattr(os, "O_PATH", 0)
"""Opens without an effect on what is opened; 0 where there is no such thing."""
_FOLDER = getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_FILE = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)

_NOT_FILES = {
    0x9FA0: "proc",
    0x62656572: "sysfs",
    0x64626720: "debugfs",
    0x74726163: "tracefs",
    0x73636673: "securityfs",
    0x62656570: "configfs",
    0x27E0EB: "cgroup",
    0x63677270: "cgroup",
    0xCAFE4A11: "bpf",
    0x6165676C: "pstore",
    0xDE5E81E4: "efivarfs",
    0xF97CFF8C: "selinuxfs",
    0x43415D53: "smackfs",
    0x42494E4D: "binfmt_misc",
    0x6E736673: "nsfs",
    0x65735543: "fusectl",
    0x1CD1: "devpts",
}
"""File systems whose files are faces of the kernel: reading one can tell the secrets of processes, writing one acts."""


class Roots:
    """The folders that files may be opened in. All that goes wrong is a `FileRefused`, in words for a model.

    What comes out is a descriptor, closed when the `with` ends. `shown` writes a path as its reader knows it; `lister`
    is the tool that the words name for looking into folders. The fact `why` of an error is one of `missing`, `link`,
    `outside`, `folder`, `file`, `through`, `special`, `name`, `system`.
    """

    def __init__(
        self, roots: Sequence[str], *, shown: Callable[[str], str] = str, lister: str = "list_directory"
    ) -> None:
        self._roots = tuple(sorted(roots, key=len))
        self.shown = shown
        """A path as whoever asked for it knows it."""
        self._lister = lister

    @contextmanager
    def file(self, real: str) -> Iterator[int]:
        """A plain file, open for reading. Nothing else is opened, not even for a moment: no device, pipe or socket."""
        with self._closing(real, self._open_file) as descriptor:
            yield descriptor

    @contextmanager
    def folder(self, real: str, *, create: bool = False) -> Iterator[int]:
        """A folder, open for listing; with `create` what is missing of it below the root is made."""
        with self._closing(real, lambda real: self._open_folder(real, create)) as descriptor:
            yield descriptor

    @contextmanager
    def parent(self, real: str, *, create: bool = False) -> Iterator[tuple[int, str]]:
        """The folder that holds a file, and the file's name in it: for what makes, renames or removes the file.

        The name itself is not looked at. Use it with `dir_fd` and without following links.
        """
        if not self._split(real)[1]:
            raise self.refused(real, "folder", f"is a folder; look into it with {self._lister}")
        above, name = os.path.split(real)
        with self.folder(above, create=create) as descriptor:
            yield descriptor, name

    @contextmanager
    def _closing(self, real: str, opened: Callable[[str], int]) -> Iterator[int]:
        try:
            descriptor = opened(real)
        except OSError as error:
            raise self._explained(real, error) from None
        try:
            yield descriptor
        finally:
            os.close(descriptor)

    def refused(self, real: str, why: str, words: str) -> FileRefused:
        """The error that says this of the path."""
        return FileRefused(f"{quoted(self.shown(real))} {words}", path=real, why=why)

    # ---- opening

    def _open_file(self, real: str) -> int:
        found = self._find(real)
        try:
            status = self._require(real, found, stat.S_ISREG)
            descriptor = self._reopened(real, found) if _LOOK else os.dup(found)
        finally:
            os.close(found)
        now = os.fstat(descriptor)
        if not os.path.samestat(status, now):
            os.close(descriptor)
            raise OSError(errno.EAGAIN, "it was changed while it was opened")
        return descriptor

    def _reopened(self, real: str, found: int) -> int:
        """The file that was looked at, for reading, never to wait for it: somebody may hold a lease on it.

        Where there is no /proc it is opened anew.
        """
        try:
            return os.open(f"/proc/self/fd/{found}", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except FileNotFoundError:
            with self.parent(real) as (folder, name):
                return os.open(name, os.O_RDONLY | _FILE, dir_fd=folder)

    def _open_folder(self, real: str, create: bool) -> int:
        try:
            found = self._find(real)
        except FileNotFoundError:
            if not create:
                raise
            found = self._made(real)
        try:
            self._require(real, found, stat.S_ISDIR)
            return os.open(".", os.O_RDONLY | _FOLDER, dir_fd=found)
        finally:
            os.close(found)

    def _find(self, real: str) -> int:
        """A descriptor that is good for looking at what the path leads to, and where it can be for that alone."""
        root, parts = self._split(real)
        folder = self._open_root(root)
        kernel = open_beneath()
        if not parts or kernel is None:
            return _walk(folder, parts)
        try:
            return kernel("/".join(parts), _LOOK | os.O_NOFOLLOW, folder)
        finally:
            os.close(folder)

    def _made(self, real: str) -> int:
        root, parts = self._split(real)
        return _walk(self._open_root(root), parts, make=True)

    def _open_root(self, root: str) -> int:
        if os.open not in os.supports_dir_fd:
            raise FileRefused(
                "files cannot be opened safely on this system; this tool does not work here", path=root, why="system"
            )
        return _step(root, _FOLDER, None)

    # ---- looking

    def _split(self, real: str) -> tuple[str, tuple[str, ...]]:
        """The root that the path is opened from, the outermost, and the steps below it."""
        self._check_name(real)
        for root in self._roots:
            above = root.rstrip(os.sep) + os.sep
            if real == root or real.startswith(above):
                parts = tuple(real[len(above) :].split(os.sep)) if len(real) > len(above) else ()
                if any(part in ("", ".", "..") for part in parts):
                    break
                return root, parts
        raise self.refused(
            real, "outside", "is outside of the folders that may be used; give a path inside, such as 'notes.txt'"
        )

    def _check_name(self, real: str) -> None:
        try:
            length = len(os.fsencode(real))
        except ValueError:
            length = -1
        if length < 0 or "\0" in real:
            raise self.refused(real, "name", "cannot be opened: it is no file name")
        if length > MAX_PATH:
            raise self.refused(real, "name", f"is too long: a path has at most {MAX_PATH:,} bytes")

    def _require(self, real: str, descriptor: int, is_right: Callable[[int], bool]) -> os.stat_result:
        status = os.fstat(descriptor)
        mode = status.st_mode
        if stat.S_ISLNK(mode):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
            raise OSError(errno.ENXIO, os.strerror(errno.ENXIO))
        kernel = _NOT_FILES.get(file_system(descriptor))
        if kernel is not None:
            raise self.refused(real, "special", f"belongs to the system ({kernel}); it is not opened")
        if not is_right(mode):
            if stat.S_ISDIR(mode):
                raise self.refused(real, "folder", f"is a folder; look into it with {self._lister}")
            raise self.refused(real, "file", "is a file, not a folder; read it with read_file")
        return status

    def _explained(self, real: str, error: OSError) -> FileRefused:
        match error.errno:
            case errno.ENOENT:
                shown = quoted(self.shown(real))
                words = f"there is no {shown}; see what there is with {self._lister}"
                return FileRefused(words, path=real, why="missing")
            case errno.ENOTDIR:
                return self.refused(real, "through", "leads through a file as if it were a folder")
            case errno.ENXIO:  # what opening a socket says
                return self.refused(real, "special", "is a device, pipe or socket, not a file; it is not opened")
            case errno.ELOOP | errno.EXDEV:
                return self.refused(real, "link", "cannot be opened: it leads through a link; links are not followed")
        return self.refused(real, "system", f"cannot be opened: {error.strerror}")


def _walk(folder: int, parts: Sequence[str], *, make: bool = False) -> int:
    """Without the kernel's help: step by step, each from the one before. Takes the folder's descriptor over.

    With `make` all steps are folders, and those that are missing are made.
    """
    for number, part in enumerate(parts, 1):
        try:
            if make:
                with suppress(FileExistsError):
                    os.mkdir(part, dir_fd=folder)
            below = _step(part, _FOLDER if make or number < len(parts) else _FILE, folder)
        finally:
            os.close(folder)
        folder = below
    return folder


def _step(part: str, flags: int, folder: int | None) -> int:
    """One step, no link followed. As the last one of a walk a link may be opened itself, to be seen for what it is."""
    if not _LOOK:
        # Opening is the only way to look here; this keeps all devices closed but one that is put there right after it.
        mode = os.stat(part, dir_fd=folder, follow_symlinks=False).st_mode
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode) and not stat.S_ISLNK(mode):
            raise OSError(errno.ENXIO, os.strerror(errno.ENXIO))
    try:
        return os.open(part, _LOOK | flags, dir_fd=folder)
    except NotADirectoryError:
        mode = os.stat(part, dir_fd=folder, follow_symlinks=False).st_mode
        if stat.S_ISLNK(mode) or stat.S_ISDIR(mode):  # a folder now: a link was swapped for it
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP)) from None
        raise


_QUOTED = 120


def quoted(path: str) -> str:
    """A path as a sentence shows it: on one line, nothing in it unseen, its end kept where it is too long."""
    shown = path if len(path) <= _QUOTED else f"...{path[3 - _QUOTED :]}"
    return repr(shown) if shown.isprintable() else ascii(shown)
