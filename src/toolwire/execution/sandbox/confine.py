"""Becomes a program that is confined: `python -I -S confine.py SPEC PROGRAM ARGUMENT...`.

Run as a script by what `Sandbox.command` gives, with nothing of Toolwire imported. Everything is done to this process
and then kept by the kernel over `execve`, for the program and all that it starts; nobody inside can undo it. In this
order: where it can be had, a view of the files of its own (all read-only but the writable folders, a small `/dev`,
hidden paths covered); limits; no capabilities (but see `kept_capabilities`); Landlock (what may be opened, whom it may
signal and trace); the filter of system calls. If any of it fails, one sentence goes to standard error and the exit code
is 126: nothing ever runs half confined. Each start costs the imports here: so they are few, and `typing` is not among
them.
"""

from __future__ import annotations

import binascii
import ctypes
import marshal
import os
import stat
import sys

if sys.platform == "linux":
    import resource

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

REFUSED_CODE = 126
MISSING_CODE = 127

SYSTEM = (
    *("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix", "/gnu"),
    *("/run/current-system", "/run/systemd/resolve"),
)
"""What programs need to start, where only some folders may be read."""

HOMES = "/home"

MACHINE = (
    "/sys/devices/system/cpu",
    "/sys/devices/system/node",
    "/sys/fs/cgroup",
    "/sys/kernel/mm/transparent_hugepage",
)
"""What runtimes read to know how large the machine is; the rest of /sys is closed."""

DEVICES = ("null", "zero", "full", "random", "urandom")

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1, 2, 4, 8
_MAKE_CHAR, _MAKE_BLOCK = 1 << 6, 1 << 11
_TRUNCATE, _IOCTL_DEV = 1 << 14, 1 << 15
_OF_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV
_READ = _EXECUTE | _READ_FILE | _READ_DIR
_RIGHTS_BY_ABI = (13, 14, 15, 15, 16)
"""How many rights over files each version of Landlock knows, from 1 on."""

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_OPEN_TREE, _MOVE_MOUNT, _MOUNT_SETATTR = 428, 429, 442
_AT_FDCWD, _AT_RECURSIVE, _AT_EMPTY_PATH = -100, 0x8000, 0x1000
_OPEN_TREE_CLONE, _MOVE_FROM_AND_TO_DESCRIPTORS = 1, 0x44
_ATTR_RDONLY, _ATTR_NOSUID, _ATTR_NODEV = 1, 2, 4
_MS_RDONLY, _MS_NOSUID, _MS_NODEV, _MS_NOEXEC, _MS_REC, _MS_PRIVATE = 1, 2, 4, 8, 16384, 1 << 18
_MS_REMOUNT, _MS_BIND = 32, 4096
_CHOWN, _DAC_OVERRIDE, _FOWNER = 1, 2, 8
_CLONE_NEWNS, _CLONE_NEWIPC, _CLONE_NEWUSER = 0x20000, 0x08000000, 0x10000000
_PR_SET_SECCOMP, _PR_CAPBSET_READ, _PR_CAPBSET_DROP = 22, 23, 24
_PR_SET_NO_NEW_PRIVS, _PR_CAP_AMBIENT = 38, 47

_SIGPIPE, _SIGXFSZ = 13, 25
"""Python ignores them, and a program expects that they end it."""

if sys.platform == "linux":
    _libc = ctypes.CDLL(None, use_errno=True)
    _libc.syscall.restype = ctypes.c_long


class Failed(Exception):
    """Something could not be applied; the text says what."""


def main() -> None:
    """Confine, then become the program."""
    program = sys.argv[2:]
    try:
        # As it was given: Python may have added to it.
        with open("/proc/self/environ", "rb") as file:
            environment = dict(part.split(b"=", 1) for part in file.read().split(b"\0") if b"=" in part)
        spec = marshal.loads(binascii.a2b_base64(sys.argv[1]))
        confine(spec)
        for number in (_SIGPIPE, _SIGXFSZ):
            _libc.signal(number, None)
    except Exception as error:
        _leave(f"the sandbox could not be set up, so the command was not run: {_words(error)}", REFUSED_CODE)
    try:
        os.execvpe(program[0], program, environment)
    except OSError as error:
        if isinstance(error, (FileNotFoundError, NotADirectoryError)) or not _exists(program[0], environment):
            _leave(f"{program[0]}: there is no such program", MISSING_CODE)
        _leave(f"{program[0]}: {error.strerror}", REFUSED_CODE)


def _exists(name: str, environment: dict[bytes, bytes]) -> bool:
    """A folder of PATH that may not be searched answers "Permission denied" for a program that is nowhere."""
    folders = os.fsdecode(environment.get(b"PATH", os.fsencode(os.defpath))).split(os.pathsep)
    return "/" in name or any(os.path.exists(os.path.join(folder, name)) for folder in folders)


def confine(spec: dict[str, Any]) -> None:
    """Applies all of it to this process."""
    _be_killed_first()
    hidden = _hidden(spec["hidden"])
    private = spec["namespaces"]
    folders = outermost(spec["writable"])
    owners = {os.stat(path).st_uid for path in folders} if os.geteuid() == 0 else set()
    alone = _unshare(owners) if private else False
    writable = {path: _open_real(path) for path in folders}
    if private:
        _own_view(writable, spec["protected"], hidden)
    elif spec["own_devices"] and os.geteuid() == 0:
        _keep_from_root()
    _reopen_nothing()
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_FSIZE, spec["file_size"])
    _limit_processes(spec["processes"], alone=alone)
    kept = kept_capabilities(writable.values(), private=private)
    if kept and not private:
        hidden |= homes_of_others(owners, folders)
    drop_capabilities(kept if alone or not private else 0)
    _prctl("no_new_privs", _PR_SET_NO_NEW_PRIVS, 1)
    if spec["landlock"]:
        rules = Landlock(spec["landlock"], network=spec["network"])
        allow(rules, writable.values(), spec["readable"], hidden, private=private or spec["own_devices"])
        rules.enforce()
    _close_all()
    _limit(resource.RLIMIT_NOFILE, spec["open_files"])
    _filter(spec["filter"])


class Landlock:
    """A set of rules about files (and TCP, signals, abstract sockets, as far as this version knows them)."""

    def __init__(self, abi: int, *, network: bool) -> None:
        self._rights = (1 << _RIGHTS_BY_ABI[min(abi, len(_RIGHTS_BY_ABI)) - 1]) - 1
        tcp = 0 if network or abi < 4 else 3
        scoped = 3 if abi >= 6 else 0
        words = (self._rights, tcp, scoped)[: 1 if abi < 4 else 2 if abi < 6 else 3]
        attributes = (ctypes.c_uint64 * len(words))(*words)
        self._set = _call("a Landlock ruleset", _CREATE_RULESET, attributes, ctypes.sizeof(attributes), 0)

    def allow(self, path: str, rights: int) -> None:
        """These rights at and beneath the path; a path that is gone, or a link, has none."""
        try:
            opened = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            return
        try:
            self.allow_opened(opened, rights)
        finally:
            os.close(opened)

    def allow_opened(self, opened: int, rights: int) -> None:
        """The same for what is open already."""
        mode = os.fstat(opened).st_mode
        if stat.S_ISLNK(mode):
            return
        if not stat.S_ISDIR(mode):
            rights &= _OF_FILES
        packed = (rights & self._rights).to_bytes(8, sys.byteorder) + opened.to_bytes(4, sys.byteorder)
        _call("a Landlock rule", _ADD_RULE, self._set, 1, packed, 0)

    def enforce(self) -> None:
        """From here on, for ever."""
        _call("Landlock", _RESTRICT_SELF, self._set, 0)


def allow(
    rules: Landlock, writable: Iterable[int], readable: list[str] | None, hidden: set[str], *, private: bool
) -> None:
    """The rules of one profile. `private`: /dev holds nothing but what is the program's own."""
    if readable is None:
        # Names can be listed everywhere, contents only be read where a rule says so.
        rules.allow("/", _READ_DIR)
        tops = ["/"]
    else:
        tops = [*SYSTEM, *map(os.path.realpath, readable)]
    for path in unhidden(tops, {*hidden, "/proc", "/sys", "/dev"}):
        rules.allow(path, _READ)
    rules.allow("/proc", _READ_FILE | _READ_DIR)
    for path in MACHINE:
        rules.allow(path, _READ_FILE | _READ_DIR)
    everything = ~(_MAKE_CHAR | _MAKE_BLOCK)
    if private:
        rules.allow("/dev", everything & ~_EXECUTE)
    for name in DEVICES:
        rules.allow(f"/dev/{name}", _READ_FILE | _WRITE_FILE | _IOCTL_DEV | _TRUNCATE)
    for opened in writable:
        rules.allow_opened(opened, everything & ~_IOCTL_DEV)


def unhidden(tops: Iterable[str], hidden: set[str]) -> Iterator[str]:
    """The largest parts of these folders that hold nothing hidden.

    A folder on the way to a hidden path is replaced by what is in it now, name by name: so a hidden path that comes
    to be later is not among them either.
    """
    above = {parent for path in hidden for parent in parents(path)}
    waiting = list(tops)
    while waiting:
        path = waiting.pop()
        if path in hidden or any(parent in hidden for parent in parents(path)):
            continue
        if path not in above:
            yield path
            continue
        try:
            with os.scandir(path) as entries:
                waiting += [entry.path for entry in entries if not entry.is_symlink()]
        except OSError:
            continue


def parents(path: str) -> Iterator[str]:
    """The folders above an absolute path, nearest first."""
    while path != "/":
        path = os.path.dirname(path)
        yield path


def guardable(protected: Iterable[str]) -> list[str]:
    """Those that something can be laid over: they are there, and are no links."""
    return sorted({path for path in protected if os.path.lexists(path) and os.path.realpath(path) == path})


def coverable(hidden: Iterable[str]) -> set[str]:
    """Those that something can be laid over: they are there, and are no links. Where a link leads is hidden too."""
    found = set()
    for path in hidden:
        try:
            mode = os.lstat(path).st_mode
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            # Not there, or closed to us anyway.
            continue
        if not stat.S_ISLNK(mode):
            found.add(path)
    return found


def pinned(held: Iterable[str], writable: Iterable[str]) -> set[str]:
    """The folders between a protected or hidden path and the writable folder that it is in.

    If one could be renamed, another could be put in its place, with nothing protected in it; and what is hidden would
    be found in it by another path, by the next command.
    """
    folders, found = set(writable), set()
    for path in held:
        between: list[str] = []
        for parent in parents(path):
            if parent in folders:
                found.update(between)
                break
            between.append(parent)
    return found


def _own_view(writable: dict[str, int], protected: Iterable[str], hidden: set[str]) -> None:
    """Everything is read-only and without devices, but writable folders as they are; hidden paths are covered."""
    here = os.getcwd()
    _mount("none", "/", None, _MS_REC | _MS_PRIVATE)
    kept = {path: _clone(opened) for path, opened in writable.items()}
    devices = {f"/dev/{name}": _clone(_open_real(f"/dev/{name}")) for name in DEVICES}
    for clone in devices.values():
        # Their contents can be written all the same; their modes and owners are the machine's.
        _set_attributes(clone, _ATTR_RDONLY | _ATTR_NOSUID)
    _set_attributes(_open_real("/"), _ATTR_RDONLY | _ATTR_NOSUID | _ATTR_NODEV)
    _mount("tmpfs", "/dev", "tmpfs", _MS_NOSUID, "mode=755,size=1g")
    for path, clone in devices.items():
        _touch(path, 0o666)
        _move(clone, _open_real(path))
    for path, target in (("fd", "fd"), ("stdin", "fd/0"), ("stdout", "fd/1"), ("stderr", "fd/2")):
        os.symlink(f"/proc/self/{target}", f"/dev/{path}")
    os.mkdir("/dev/shm")
    os.chmod("/dev/shm", 0o1777)
    os.mkdir("/dev/pts", 0o755)
    _mount("devpts", "/dev/pts", "devpts", _MS_NOSUID | _MS_NOEXEC, "newinstance,ptmxmode=0666,mode=620")
    os.symlink("pts/ptmx", "/dev/ptmx")
    for path, clone in kept.items():
        _set_attributes(clone, _ATTR_NOSUID | _ATTR_NODEV)
        if path.startswith("/dev/"):
            os.makedirs(path, exist_ok=True)
            _move(clone, _open_real(path))
        else:
            _move(clone, writable[path])
    guarded = guardable(protected)
    for path in sorted({*guarded, *pinned([*guarded, *coverable(hidden)], writable)}):
        opened = _open_real(path)
        clone = _clone(opened)
        if path in guarded:
            _set_attributes(clone, _ATTR_RDONLY | _ATTR_NOSUID | _ATTR_NODEV)
        _move(clone, opened)
    _cover(hidden)
    os.chdir(here)


def _cover(hidden: set[str]) -> None:
    """Over each hidden path that is there lies something that nobody may read."""
    closed = "/dev/.closed"
    _touch(closed, 0)
    for path in sorted(coverable(hidden)):
        try:
            mode = os.lstat(path).st_mode
        except PermissionError:
            # Beneath one that is covered by now.
            continue
        if stat.S_ISDIR(mode):
            _mount("tmpfs", path, "tmpfs", _MS_RDONLY | _MS_NOSUID | _MS_NODEV | _MS_NOEXEC, "mode=000,size=4k")
        else:
            clone = _clone(_open_real(closed))
            _set_attributes(clone, _ATTR_RDONLY | _ATTR_NOSUID | _ATTR_NODEV)
            _move(clone, _open_real(path))
    os.unlink(closed)


def _unshare(owners: set[int]) -> bool:
    """Namespaces of our own for mounts and shared memory: as root plainly, else inside a user namespace (True).

    Root who works in a folder of somebody else has a user namespace too, where it can be had: its rights hold there
    for the files of these owners and root's own, not for those of third users.
    """
    inside = _CLONE_NEWNS | _CLONE_NEWIPC
    if os.geteuid() == 0 and owners - {0} and _unshare_with(owners, inside):
        return True
    if os.geteuid() == 0 and _libc.unshare(inside) == 0:
        return False
    user, group = os.geteuid(), os.getegid()
    if _libc.unshare(_CLONE_NEWUSER | inside):
        raise Failed(f"namespaces: {os.strerror(ctypes.get_errno())}")
    for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)
    return True


def _unshare_with(owners: set[int], inside: int) -> bool:
    """A user namespace in which root and these users are who they are, and all groups; False where none is given."""
    users = "".join(f"{user} {user} 1\n" for user in sorted({0, *owners}) if _is_mapped(user))
    groups = "".join(f"{first} {first} {count}\n" for first, count in _mapped("gid_map"))
    # Only who stays outside may write more than one line there.
    waiting, going = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.close(going)
            if os.read(waiting, 1):
                for name, text in (("uid_map", users), ("gid_map", groups)):
                    with open(f"/proc/{os.getppid()}/{name}", "w") as file:
                        file.write(text)
                code = 0
        finally:
            os._exit(code)
    is_made = bool(_libc.unshare(_CLONE_NEWUSER | inside) == 0)
    if is_made:
        os.write(going, b"x")
    os.close(going)
    os.close(waiting)
    _, status = os.waitpid(child, 0)
    if is_made and status:
        raise Failed("namespaces: the users of the folder cannot be mapped")
    return is_made


def _mapped(name: str) -> list[tuple[int, int]]:
    """The users or groups that there are where we are: from which one on, and how many."""
    with open(f"/proc/self/{name}") as file:
        return [(int(first), int(count)) for first, _, count in (line.split() for line in file)]


def _is_mapped(user: int) -> bool:
    return any(first <= user < first + count for first, count in _mapped("uid_map"))


def _keep_from_root() -> None:
    """What bubblewrap gives of the machine's own and root could change: the kernel's settings, modes of devices."""
    # Whatever started this, nothing is changed in any view but our own.
    if _libc.unshare(_CLONE_NEWNS):
        raise Failed(f"namespaces: {os.strerror(ctypes.get_errno())}")
    _mount("none", "/", None, _MS_REC | _MS_PRIVATE)
    for path in ("/proc", *(f"/dev/{name}" for name in DEVICES)):
        now = os.statvfs(path).f_flag & (_MS_NOSUID | _MS_NODEV | _MS_NOEXEC)
        _mount(path, path, None, _MS_BIND)
        _mount("none", path, None, _MS_REMOUNT | _MS_BIND | _MS_RDONLY | now)


def _reopen_nothing() -> None:
    """Where a standard stream is /dev/null, it is opened anew: by the one from outside its mode could be changed."""
    for descriptor in (0, 1, 2):
        try:
            found = os.fstat(descriptor)
        except OSError:
            continue
        if stat.S_ISCHR(found.st_mode) and found.st_rdev == os.makedev(1, 3):
            anew = os.open("/dev/null", os.O_RDWR)
            os.dup2(anew, descriptor)
            os.close(anew)


def _be_killed_first() -> None:
    """Where the machine runs out of memory, by what no look at the processes sees: files in memory, full pipes."""
    try:
        with open("/proc/self/oom_score_adj", "w") as file:
            file.write("1000")
    except OSError:
        # Not where /proc may not be written, as in some containers: then they are killed like others.
        return


def _limit_processes(most: int, *, alone: bool) -> None:
    """As a wall behind the supervisor's watch. The kernel counts those of the user, in a user namespace those in it.

    It does not count root's, and so this does nothing for root.
    """
    if not alone:
        with open("/proc/loadavg", "rb") as file:
            most += int(file.read().split()[3].partition(b"/")[2])
    _limit(resource.RLIMIT_NPROC, most)


def kept_capabilities(writable: Iterable[int], *, private: bool) -> int:
    """Those (as bits) that root needs to work in a folder of somebody else, as in a container; else none.

    To write there, and to set modes and owners: the latter only where all else is read-only.
    """
    if os.geteuid() != 0 or all(os.fstat(opened).st_uid == 0 for opened in writable):
        return 0
    return _DAC_OVERRIDE | (_CHOWN | _FOWNER if private else 0)


def homes_of_others(owners: set[int], folders: Iterable[str]) -> set[str]:
    """The homes of third users. Root's right to read whatever its modes say cannot be narrowed to a folder."""
    working = {above for path in folders for above in (path, *parents(path))}
    try:
        with os.scandir(HOMES) as entries:
            found = {entry.path: entry.stat(follow_symlinks=False).st_uid for entry in entries}
    except OSError:
        return set()
    return {path for path, owner in found.items() if owner not in (0, *owners)} - working


def drop_capabilities(kept: int = 0) -> None:
    """None but these is left, and none can come back: not for uid 0, not by a file that has some."""
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    now = (ctypes.c_uint32 * 6)()
    if _libc.capget(header, now):
        raise Failed(f"capabilities: {os.strerror(ctypes.get_errno())}")
    kept &= now[1]
    for number in range(64):
        if _libc.prctl(_PR_CAPBSET_READ, number, 0, 0, 0) < 0:
            break
        if not kept >> number & 1:
            # Without the right to do so there is none to lose, and no_new_privs keeps it so.
            _libc.prctl(_PR_CAPBSET_DROP, number, 0, 0, 0)
    _libc.prctl(_PR_CAP_AMBIENT, 4, 0, 0, 0)
    if _libc.capset(header, (ctypes.c_uint32 * 6)(kept, kept)):
        raise Failed(f"capabilities: {os.strerror(ctypes.get_errno())}")


def _filter(program: bytes) -> None:
    class Program(ctypes.Structure):
        _fields_ = (("length", ctypes.c_ushort), ("steps", ctypes.c_char_p))

    made = Program(len(program) // 8, program)
    _prctl("the filter of system calls", _PR_SET_SECCOMP, 2, ctypes.addressof(made))


def _hidden(paths: Iterable[str]) -> set[str]:
    """Each by its own name, and where it leads."""
    found = set()
    for given in paths:
        path = given.rstrip("/")
        found.add(os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path)))
        found.add(os.path.realpath(path))
    return found


def outermost(paths: Iterable[str]) -> list[str]:
    """Those that do not lie in another."""
    all_ = set(paths)
    return sorted(path for path in all_ if all_.isdisjoint(parents(path)))


def _open_real(path: str) -> int:
    """The file or folder at this path, on the way to which no link may be: it could have been put there since."""
    flags = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
    opened = os.open("/", flags)
    for name in path.split("/"):
        if name:
            try:
                below = os.open(name, flags, dir_fd=opened)
            except OSError as error:
                raise Failed(f"{path}: {error.strerror}") from error
            os.close(opened)
            opened = below
    if stat.S_ISLNK(os.fstat(opened).st_mode):
        raise Failed(f"{path} is a link")
    return opened


def _close_all() -> None:
    """Nothing but standard input, output and error gets in: what is open is not asked for again."""
    for name in os.listdir("/proc/self/fd"):
        if int(name) > 2:
            try:
                os.close(int(name))
            except OSError:
                # The one by which they were listed.
                continue


def _limit(kind: int, most: int) -> None:
    _, hard = resource.getrlimit(kind)
    if hard != resource.RLIM_INFINITY:
        most = min(most, hard)
    resource.setrlimit(kind, (most, most))


def _touch(path: str, mode: int) -> None:
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    os.chmod(path, mode)


def _clone(opened: int) -> int:
    """A copy of the mount of what is open, and of those in it, with the flags that they have now."""
    flags = _OPEN_TREE_CLONE | _AT_RECURSIVE | _AT_EMPTY_PATH | os.O_CLOEXEC
    return _call("a mount", _OPEN_TREE, opened, b"", flags)


def _move(clone: int, target: int) -> None:
    _call("a mount", _MOVE_MOUNT, clone, b"", target, b"", _MOVE_FROM_AND_TO_DESCRIPTORS)


def _set_attributes(opened: int, flags: int) -> None:
    attributes = (ctypes.c_uint64 * 4)(flags, 0, 0, 0)
    size = ctypes.sizeof(attributes)
    _call("the mounts", _MOUNT_SETATTR, opened, b"", _AT_RECURSIVE | _AT_EMPTY_PATH, attributes, size)


def _mount(source: str, target: str, kind: str | None, flags: int, data: str = "") -> None:
    words = [None if word is None else os.fsencode(word) for word in (source, target, kind)]
    if _libc.mount(*words, ctypes.c_ulong(flags), os.fsencode(data)):
        raise Failed(f"a mount on {target}: {os.strerror(ctypes.get_errno())}")


def _prctl(what: str, option: int, *values: int) -> None:
    words = [ctypes.c_ulong(value) for value in (*values, 0, 0, 0, 0)[:4]]
    if _libc.prctl(option, *words):
        raise Failed(f"{what}: {os.strerror(ctypes.get_errno())}")


def _call(what: str, number: int, *arguments: Any) -> int:
    words = [ctypes.c_long(word) if isinstance(word, int) else word for word in arguments]
    result = int(_libc.syscall(ctypes.c_long(number), *words))
    if result < 0:
        raise Failed(f"{what}: {os.strerror(ctypes.get_errno())}")
    return result


def _words(error: Exception) -> str:
    if isinstance(error, Failed):
        return str(error)
    if isinstance(error, OSError) and error.filename:
        return f"{error.filename}: {error.strerror}"
    return f"{type(error).__name__}: {error}"


def _leave(sentence: str, code: int) -> None:
    os.write(2, os.fsencode(f"toolwire: {sentence}\n"))
    os._exit(code)


if __name__ == "__main__":
    main()
