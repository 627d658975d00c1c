"""The system calls that a confined program may not make, as a filter that the kernel runs before each call.

Pure: a table in, bytes out. A program of another architecture than ours (32 bit on 64) is killed, because the numbers
mean other calls there; a call newer than the table does not exist (ENOSYS), which programs are used to. Refused is
what gets around files and processes: tracing others, mounts and namespaces, the kernel's own doors (modules, bpf,
io_uring, keys), setting clocks, and sockets. A socket of the AF_UNIX family is refused even with network, since what
listens there (docker, an ssh agent, D-Bus) does work for whoever asks; pairs of connected ones stay.
"""

from __future__ import annotations

import errno
import functools
import struct
from collections.abc import Iterable

Step = tuple[int, int, int, int]
"""One instruction: what it does, how far to jump if so and if not, its value."""

Numbers = tuple[int | None, int | None]

ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
"""What `platform.machine()` says, and what the kernel calls it."""

NEWEST_CALL = 469
"""The last number that was looked at (Linux 6.18)."""

_REFUSED: dict[str, Numbers] = {
    # name: (x86_64, aarch64); None where it does not exist. Numbers from 424 on are the same everywhere.
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "kcmp": (312, 272),
    "pidfd_getfd": (438, 438),
    "process_madvise": (440, 440),
    "migrate_pages": (256, 238),
    "move_pages": (279, 239),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "setns": (308, 268),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "open_tree_attr": (467, 467),
    "open_by_handle_at": (304, 265),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "init_module": (175, 105),
    "delete_module": (176, 106),
    "finit_module": (313, 273),
    "create_module": (174, None),
    "reboot": (169, 142),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "adjtimex": (159, 171),
    "clock_adjtime": (305, 266),
    "sethostname": (170, 161),
    "setdomainname": (171, 162),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "acct": (163, 89),
    "iopl": (172, None),
    "ioperm": (173, None),
    "modify_ldt": (154, None),
    "uselib": (134, None),
    "syslog": (103, 116),
    "vhangup": (153, 58),
    "nfsservctl": (180, 42),
    "lookup_dcookie": (212, 18),
    "fanotify_init": (300, 262),
}

_SHARED_MEMORY: dict[str, Numbers] = {
    # Refused where these could not be given to the program alone.
    "shmget": (29, 194),
    "shmctl": (31, 195),
    "shmat": (30, 196),
    "semget": (64, 190),
    "semctl": (66, 191),
    "semtimedop": (220, 192),
    "semop": (65, 193),
    "msgget": (68, 186),
    "msgctl": (71, 187),
    "msgrcv": (70, 188),
    "msgsnd": (69, 189),
    "mq_open": (240, 180),
    "mq_unlink": (241, 181),
}

_ATTRIBUTES: dict[str, Numbers] = {
    # Refused where files elsewhere are not read-only: Landlock does not know them, and programs do without.
    "setxattr": (188, 5),
    "lsetxattr": (189, 6),
    "fsetxattr": (190, 7),
    "removexattr": (197, 14),
    "lremovexattr": (198, 15),
    "fremovexattr": (199, 16),
    "setxattrat": (463, 463),
    "removexattrat": (466, 466),
    "file_setattr": (469, 469),
}
_ATTRIBUTE_REQUESTS = (0x5800, 0x6600, 0x9400)
"""Likewise the kinds of ioctl that set flags of files, seal them and make or remove subvolumes."""

_CONNECTING: dict[str, Numbers] = {
    "connect": (42, 203),
    "bind": (49, 200),
    "listen": (50, 201),
    "accept": (43, 202),
    "accept4": (288, 242),
}

_CLONE, _UNSHARE = (56, 220), (272, 97)
_UNSEEN: dict[str, Numbers] = {"clone3": (435, 435), "openat2": (437, 437)}
_SOCKET, _SOCKETPAIR, _IOCTL, _FCNTL = (41, 198), (53, 199), (16, 29), (72, 25)

_OF_ANOTHER: dict[str, tuple[Numbers, int]] = {
    # By which argument a process is named; 0 is the caller, and nobody else may be named.
    "prlimit64": ((302, 261), 0),
    "sched_setparam": ((142, 118), 0),
    "sched_setscheduler": ((144, 119), 0),
    "sched_setaffinity": ((203, 122), 0),
    "sched_setattr": ((314, 274), 0),
    "setpriority": ((141, 140), 1),
    "ioprio_set": ((251, 30), 1),
}
_SINGLE: dict[Numbers, int] = {(141, 140): 0, (251, 30): 1}
"""What setpriority and ioprio_set call a single process."""

_MODES: dict[str, tuple[Numbers, int]] = {
    # In which argument a mode is given.
    "chmod": ((90, None), 1),
    "fchmod": ((91, 52), 1),
    "fchmodat": ((268, 53), 2),
    "fchmodat2": ((452, 452), 2),
    "creat": ((85, None), 1),
    "mknod": ((133, None), 1),
    "mknodat": ((259, 33), 2),
}
_OPENING: dict[str, tuple[Numbers, int]] = {"open": ((2, None), 1), "openat": ((257, 56), 2)}
"""In which argument the flags are; the mode follows, and means something with O_CREAT or O_TMPFILE only."""

_NEW_NAMESPACES = 0x7E020000
_NEW_TIME = 0x80
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C
_REQUEST_KIND = 0xFF00
_F_SETLEASE = 1024
_AF_UNIX, _AF_INET, _AF_INET6, _AF_NETLINK = 1, 2, 10, 16
_SOCK_STREAM, _SOCK_SEQPACKET = 1, 5
_FILE_TYPE, _CHARACTER_DEVICE, _BLOCK_DEVICE = 0xF000, 0x2000, 0x6000
_SET_ID = 0o6000
_CREATES = 0x40 | 0x400000

_LOAD, _AND, _RETURN = 0x20, 0x54, 0x06
_JUMP_EQUAL, _JUMP_GREATER, _JUMP_AT_LEAST, _JUMP_ANY_BIT = 0x15, 0x25, 0x35, 0x45
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16
_X32 = 0x40000000


@functools.cache
def syscall_filter(machine: str, *, network: bool, own_view: bool) -> bytes:
    """The program for the kernel, one of `ARCHITECTURES`.

    `own_view` says that the program has namespaces of its own: for mounts, where all else is read-only, and for the
    queues and memory of System V and POSIX.
    """
    of = list(ARCHITECTURES).index(machine)
    refused = _errno(errno.EPERM)
    steps: list[Step] = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_JUMP_EQUAL, 1, 0, ARCHITECTURES[machine]),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER),
    ]
    if machine == "x86_64":
        steps += [(_JUMP_AT_LEAST, 0, 1, _X32), _errno(errno.ENOSYS)]
    steps += [(_JUMP_GREATER, 0, 1, NEWEST_CALL), _errno(errno.ENOSYS)]
    tables = [_REFUSED] if own_view else [_REFUSED, _SHARED_MEMORY]
    if not network:
        tables.append(_CONNECTING)
    for table in tables:
        for numbers in table.values():
            steps += _call(numbers[of], [refused])
    # Their arguments cannot be seen by a filter; the C library goes back to the older clone and openat.
    for numbers in _UNSEEN.values():
        steps += _call(numbers[of], [_errno(errno.ENOSYS)])
    steps += _call(_CLONE[of], [_argument(0), (_JUMP_ANY_BIT, 0, 1, _NEW_NAMESPACES), refused])
    steps += _call(_UNSHARE[of], [_argument(0), (_JUMP_ANY_BIT, 0, 1, _NEW_NAMESPACES | _NEW_TIME), refused])
    requests = [_argument(1), *_one_of((_TIOCSTI, _TIOCLINUX), refused)]
    if not own_view:
        for numbers in _ATTRIBUTES.values():
            steps += _call(numbers[of], [_errno(errno.ENOTSUP)])
        requests += [(_AND, 0, 0, _REQUEST_KIND), *_one_of(_ATTRIBUTE_REQUESTS, _errno(errno.ENOTTY))]
    steps += _call(_IOCTL[of], requests)
    # A lease on a file keeps everyone who would open it waiting, and reading is enough to take one.
    steps += _call(_FCNTL[of], [_argument(1), *_one_of((_F_SETLEASE,), refused)])
    for numbers, who in _OF_ANOTHER.values():
        # Argument 0 of those with two says whether 1 is a process, and what is not may name many.
        one = [] if who == 0 else [_argument(0), *_none_of((_SINGLE[numbers],), refused)]
        steps += _call(numbers[of], [*one, _argument(who), *_none_of((0,), refused)])
    # A file that runs as its owner, made here, would give the owner's rights to whoever finds it.
    set_id = [(_JUMP_ANY_BIT, 0, 1, _SET_ID), refused]
    devices = [(_AND, 0, 0, _FILE_TYPE), *_one_of((_CHARACTER_DEVICE, _BLOCK_DEVICE), refused)]
    for name, (numbers, mode) in _MODES.items():
        steps += _call(numbers[of], [_argument(mode), *set_id, *(devices if name.startswith("mknod") else [])])
    for numbers, flags in _OPENING.values():
        steps += _call(numbers[of], [_argument(flags), (_JUMP_ANY_BIT, 0, 3, _CREATES), _argument(flags + 1), *set_id])
    # A pair of datagram sockets could be connected anew, to any path.
    kinds = _none_of((_SOCK_STREAM, _SOCK_SEQPACKET), refused)
    steps += _call(
        _SOCKETPAIR[of],
        [_argument(0), (_JUMP_EQUAL, 1, 0, _AF_UNIX), refused, _argument(1), (_AND, 0, 0, 0xF), *kinds],
    )
    steps += _call(_SOCKET[of], _families(refused) if network else [refused])
    steps.append((_RETURN, 0, 0, _ALLOW))
    return b"".join(struct.pack("=HBBI", *step) for step in steps)


def _families(refused: Step) -> list[Step]:
    """The internet, and of netlink the protocol by which names are resolved."""
    allowed = (_RETURN, 0, 0, _ALLOW)
    return [
        _argument(0),
        *_one_of((_AF_INET, _AF_INET6), allowed),
        (_JUMP_EQUAL, 1, 0, _AF_NETLINK),
        refused,
        _argument(2),
        (_JUMP_EQUAL, 1, 0, 0),
        refused,
    ]


def _errno(number: int) -> Step:
    return _RETURN, 0, 0, _ERRNO | number


def _argument(index: int) -> Step:
    """The low half of an argument, which is all that the kernel looks at in the calls here (little endian)."""
    return _LOAD, 0, 0, _ARGUMENTS + 8 * index


def _one_of(values: Iterable[int], verdict: Step) -> list[Step]:
    """The verdict for each of these; the next step for others."""
    return [step for value in values for step in ((_JUMP_EQUAL, 0, 1, value), verdict)]


def _none_of(values: tuple[int, ...], verdict: Step) -> list[Step]:
    """The verdict for all but these; the next step for them."""
    last = len(values)
    return [*((_JUMP_EQUAL, last - at, 0, value) for at, value in enumerate(values)), verdict]


def _call(number: int | None, steps: list[Step]) -> list[Step]:
    """The steps for one call; what they do not refuse is allowed. Afterwards the number is still loaded."""
    if number is None:
        return []
    if steps[0][0] == _RETURN:
        return [(_JUMP_EQUAL, 0, 1, number), steps[0]]
    return [(_JUMP_EQUAL, 0, len(steps) + 1, number), *steps, (_RETURN, 0, 0, _ALLOW)]
