"""The ways out that are tried: each a small program that gets out where nothing holds it.

They are told of the world outside by variables (see `Outside`). A shell trial is a line for bash, a Python trial a
script; one that prints `$SAY` does so only when the kernel has granted what it asked for.
"""

from __future__ import annotations

import msgspec

PROCESSES, MEMORY, FILES, FILE_BYTES = 50, 128 << 20, 256, 64 << 20
"""The ceilings of the trials that grow."""


class Escape(msgspec.Struct, frozen=True, kw_only=True):
    """One way out."""

    name: str
    kind: str
    """`network`, `write`, `read`, `process`, `privilege` or `size`."""
    shell: str = ""
    python: str = ""
    needs: tuple[str, ...] = ()
    """Programs without which it cannot be tried."""
    quick: bool = True
    """Whether it is part of the test for users: it is soon done and leaves nothing on a machine."""
    number: bool = False
    """Whether it asks by the number that a call has on x86_64."""
    gap: str = ""
    """The gap of a sandbox (see `Sandbox.gaps`) by which it gets out where there is that gap."""
    grows: str = ""
    """The file in the workspace whose size shows how far it came; empty for what does not grow."""
    most: int = 0
    """The largest size of that file that is no escape."""


def _shell(kind: str, rows: dict[str, str], *, quick: bool = True, program: bool = False) -> list[Escape]:
    """Lines of bash; `program` says that their first word must be installed."""
    return [
        Escape(
            name=name,
            kind=kind,
            shell=line,
            needs=(line.split()[0],) if program else (),
            quick=quick and name not in _MUCH_THE_SAME,
        )
        for name, line in rows.items()
    ]


def _python(kind: str, rows: dict[str, str], *, quick: bool = True, number: bool = False) -> list[Escape]:
    return [Escape(name=name, kind=kind, python=text, quick=quick, number=number) for name, text in rows.items()]


_MUCH_THE_SAME = frozenset(
    (
        "git clone",
        "openssl s_client",
        "perl",
        "node",
        ">> outside",
        "cp over",
        "mv over",
        "rmdir outside",
        "a symlink outside",
        "a hard link out",
        "mkfifo outside",
        "sed -i",
        "tar -x",
        "the root of another process",
        "..",
        "cd outside",
        "in the background",
        "at exit",
        "cp",
        "a planted symlink to a secret",
        "/proc/self/root and a secret",
        "grep -r",
    )
)
"""Lines that add little to the test for users."""
_PROGRAMS = {
    "curl": "curl -s -m 3 http://127.0.0.1:$PORT/",
    "wget": "wget -q -T 3 -t 1 -O - http://127.0.0.1:$PORT/",
    "nc": "nc -w 1 127.0.0.1 $PORT",
    "ssh": "ssh -F none -o BatchMode=yes -o ConnectTimeout=3 -o StrictHostKeyChecking=no -p $PORT x@127.0.0.1 true",
    "git clone": "git clone -q http://127.0.0.1:$PORT/x.git cloned",
    "openssl s_client": "openssl s_client -connect 127.0.0.1:$PORT",
    "perl": "perl -MIO::Socket::INET -e 'IO::Socket::INET->new(qq(127.0.0.1:$ENV{PORT})) or die $!'",
    "node": "node -e 'require(`net`).connect(process.env.PORT, `127.0.0.1`).on(`close`, () => process.exit())'",
    "ping": "ping -c 1 -W 1 127.0.0.1 && echo $SAY",
    "docker, by its socket": "docker -H unix://$SOCKET ps",
}
_DEVICES = {
    "bash /dev/tcp": "exec 3<>/dev/tcp/127.0.0.1/$PORT",
    "bash /dev/udp": "echo hello > /dev/udp/127.0.0.1/$UDP",
}
_SOCKETS = {
    "a TCP socket": "s = socket.socket(); s.settimeout(2); s.connect(('127.0.0.1', PORT))",
    "a TCP socket, IPv6": "s = socket.socket(socket.AF_INET6); s.settimeout(2); s.connect(('::ffff:127.0.0.1', PORT))",
    "TCP fast open": (
        "s = socket.socket(); s.settimeout(2)\n"
        "s.sendto(b'x', socket.MSG_FASTOPEN, ('127.0.0.1', PORT)); time.sleep(0.1)"
    ),
    "a UDP socket": "socket.socket(type=socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', UDP))",
    "a name looked up": (
        "q = bytes(2) + b'\\1\\0\\0\\1' + bytes(6) + b'\\4leak\\7invalid\\0\\0\\1\\0\\1'\n"
        "socket.socket(type=socket.SOCK_DGRAM).sendto(q, ('127.0.0.1', UDP))"
    ),
    "a Unix socket": "socket.socket(socket.AF_UNIX).connect(os.environ['SOCKET'])",
    "an abstract Unix socket": "socket.socket(socket.AF_UNIX).connect('\\0' + os.environ['ABSTRACT'])",
    "a netlink socket": (
        "s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0); s.settimeout(2)\n"
        "s.send(struct.pack('=IHHIIB3x', 20, 18, 0x301, 1, 0, 0)); s.recv(9); say()"
    ),
    "a listener on every address": "s = socket.socket(); s.bind(('0.0.0.0', 0)); s.listen(); say()",
    "io_uring": "b = ctypes.create_string_buffer(120); granted(425, 4, b)",
}
_RAW = {
    "a raw socket": (
        "s = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_UDP)\n"
        "s.sendto(struct.pack('>HHHH', 9, UDP, 9, 0) + b'x', ('127.0.0.1', 0))"
    ),
    "a packet socket": (
        "s = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, 0x0008)\n"
        "u = struct.pack('>HHHH', 9, UDP, 9, 0) + b'x'\n"
        "s.sendto(u, ('lo', 0x0800)); say()"
    ),
}
_WRITING = {
    "> outside": "echo x > $KEPT",
    ">> outside": "echo x >> $KEPT",
    "a new file outside": "echo x > $OUT/new.txt",
    "cp over": "cp mine.txt $KEPT",
    "mv over": "mv mine.txt $KEPT",
    "mv out": "mv mine.txt $OUT/moved.txt",
    "rm outside": "rm -f $KEPT",
    "mkdir outside": "mkdir $OUT/made",
    "rmdir outside": "rm -rf $OUT/there",
    "truncate": "truncate -s 0 $KEPT",
    "a symlink, then write": "ln -s $KEPT link; echo x > link",
    "a planted symlink": "echo x > planted/kept.txt",
    "a hard link, then write": "ln $KEPT hard; echo x > hard",
    "a hard link out": "ln mine.txt $OUT/hard",
    "a symlink outside": "ln -s x $OUT/link",
    "mkfifo outside": "mkfifo $OUT/fifo",
    "sed -i": "sed -i s/kept/changed/ $KEPT",
    "tar -x": "tar -cf x.tar mine.txt; tar -xf x.tar -C $OUT",
    "/proc/self/root": "echo x > /proc/self/root$KEPT",
    "the folder of another process": "echo x > /proc/$OTHER/cwd/kept.txt",
    "the root of another process": "echo x > /proc/$OTHER/root$KEPT",
    "a file that another process has open": "echo x > /proc/$OTHER/fd/1",
    "..": "echo x > ../outside/kept.txt",
    "cd outside": "cd $OUT; echo x > kept.txt",
    "in the background": "(sleep 0.1; echo x > $KEPT) & wait",
    "after its end": "(sleep 0.1; echo x > $KEPT) &",
    "a daemon": "setsid bash -c '(sleep 0.1; echo x > $KEPT) &'",
    "at exit": "trap 'echo x > $KEPT' EXIT",
    "a terminal": "echo x > $TERMINAL",
}
_ATTRIBUTES_GAP = "modes, owners and times of files elsewhere"
_ATTRIBUTES = {
    "chmod": "chmod 777 $KEPT",
    "chmod +s": "chmod 4755 $KEPT",
    "touch": "touch -d 2001-01-01 $KEPT",
    "chmod of a device": "chmod 666 /dev/full && echo $SAY",
}
_MORE_ATTRIBUTES = {
    "an extended attribute": "os.setxattr(os.environ['KEPT'], 'user.trial', b'x'); say()",
    "flags of a file": (
        "import fcntl\nf = os.open(os.environ['KEPT'], os.O_RDONLY); fcntl.ioctl(f, 0x40086602, bytes(8)); say()"
    ),
    "a lease on a file": (
        "import fcntl\nf = os.open('mine.txt', os.O_RDONLY); fcntl.fcntl(f, fcntl.F_SETLEASE, 1); say()"
    ),
}
_READING = {
    "cat": "cat $SECRET",
    "cp": "cp $SECRET here",
    "a planted symlink to a secret": "cat planted-secret",
    "a symlink to a secret": "ln -s $SECRET link; cat link",
    "a hard link to a secret": "ln $SECRET hard; cat hard",
    "mv of the folder": "mv $HIDDEN moved; cat moved/secret.txt",
    "/proc/self/root and a secret": "cat /proc/self/root$SECRET",
    "the root of another process and a secret": "cat /proc/$OTHER/root$SECRET",
    "grep -r": "grep -r . $HIDDEN",
    "the environment of another process": "tr '\\0' ' ' < /proc/$OTHER/environ",
}
_MEMORY = {
    "/proc/PID/mem": "f = open(f'/proc/{OTHER}/mem', 'rb'); f.seek(WHERE); print(f.read(SIZE))",
    "process_vm_readv": (
        "b = ctypes.create_string_buffer(SIZE)\n"
        "ours = (ctypes.c_uint64 * 2)(ctypes.addressof(b), SIZE); theirs = (ctypes.c_uint64 * 2)(WHERE, SIZE)\n"
        "libc.process_vm_readv(OTHER, ours, 1, theirs, 1, 0) < 0 and fail(); print(b.raw)"
    ),
    "shared memory": (
        "libc.shmat.restype = ctypes.c_void_p\n"
        "a = libc.shmat(int(os.environ['MEMORY']), None, 0o10000); print(ctypes.string_at(a, 64))"
        " if a != 2**64 - 1 else fail()"
    ),
    "a descriptor of another process": ("p = call(434, OTHER, 0); f = call(438, p, 1, 0); os.write(f, b'x')"),
    "PTRACE_SEIZE": "libc.ptrace(0x4206, OTHER, None, ctypes.c_void_p(1 << 20)) and fail()",
    "PTRACE_ATTACH": (
        "libc.ptrace(16, OTHER, None, None) and fail()\n"
        "os.waitpid(OTHER, 0x40000000); libc.ptrace(8, OTHER, None, None)"
    ),
}
_SIGNALS = {
    "kill -9": "kill -9 $OTHER",
    "kill -STOP": "kill -STOP $OTHER",
    "stop what watches it": (
        "kill -STOP $PPID; sleep 0.1; grep -q '^State:.T' /proc/$PPID/status && echo $SAY; kill -CONT $PPID"
    ),
    "renice": "renice -n 19 -p $OTHER",
    "prlimit": "prlimit --pid $OTHER --nofile=9:9",
    "taskset": "taskset -p 1 $OTHER",
    "/proc/PID/oom_score_adj": "echo 500 > /proc/$OTHER/oom_score_adj",
}
_DEBUGGERS = {
    "gdb": "gdb -q -batch -p $OTHER -ex kill",
    "strace": (
        "strace -p $OTHER 2>&1 & sleep 0.5; grep -q '^TracerPid:.[1-9]' /proc/$OTHER/status && echo $SAY; kill %1"
    ),
}
_MORE_SIGNALS = {
    "pidfd_send_signal": "p = call(434, OTHER, 0); call(424, p, 9, None, 0)",
    "a signal by a socket's owner": (
        "import fcntl\nr, w = os.pipe()\nfcntl.fcntl(r, fcntl.F_SETOWN, OTHER); fcntl.fcntl(r, 10, 9)\n"
        "fcntl.fcntl(r, fcntl.F_SETFL, fcntl.fcntl(r, fcntl.F_GETFL) | 0o20000); os.write(w, b'x'); time.sleep(0.1)"
    ),
}
_PRIVILEGES = {
    "unshare of a user namespace": "granted(272, 0x10000000)",
    "clone into a user namespace": (
        "p = libc.syscall(56, 0x10000000 | 17, 0, 0, 0, 0)\nif p == 0: os._exit(0)\nif p > 0: say()"
    ),
    "userfaultfd": "granted(323, 1)",
    "perf_event_open": "b = struct.pack('IIQ', 1, 112, 0) + bytes(96); granted(298, b, 0, -1, -1, 0)",
    "a key in the user's keyring": "granted(248, b'user', b'toolwire-trial', b'x', 1, -3)",
    "kcmp": "granted(312, OTHER, OTHER, 1, 0, 0)",
}
_ROOT = {
    "open_by_handle_at": (
        "h = ctypes.create_string_buffer(bytes.fromhex(os.environ['HANDLE']))\n"
        "f = call(304, os.open(os.environ['OUT'], os.O_RDONLY), h, 0); print(os.read(f, 99))"
    ),
    "mount over a folder": (
        "libc.mount(b'none', (os.environ['OUT'] + '/there').encode(), b'tmpfs', 0, None) and fail()\n"
        "print(os.listdir(os.environ['OUT'] + '/there')); say()\n"
        "libc.umount2((os.environ['OUT'] + '/there').encode(), 2)"
    ),
    "chroot": "os.chroot('/'); say()",
    "setns": "f = os.open('/proc/self/ns/uts', os.O_RDONLY); granted(308, f, 0)",
    "a device node": "os.mknod('device', 0o60600, os.makedev(7, 0)); say()",
    "chown": "os.chown(os.environ['KEPT'], os.getuid() + 1, -1)",
    "setuid to another user": "os.setuid(os.getuid() + 1); say()",
    "bpf": "b = struct.pack('IIIII', 2, 4, 4, 1, 0) + bytes(60); granted(321, 0, b, len(b))",
    "a kernel module": ("libc.syscall(175, b'x', 1, b'')\nif ctypes.get_errno() == 8: say()"),
    "iopl": "granted(172, 3)",
    "typing into a terminal": (
        "import fcntl\nf = os.open(os.environ['TERMINAL'], os.O_RDWR | os.O_NOCTTY); fcntl.ioctl(f, 0x5412, b'x')"
    ),
    "sethostname": "n = os.uname().nodename.encode(); granted(170, n, len(n))",
}
_DEVICE_FILES = {
    "a disk": "head -c 1 $(ls /dev/vda /dev/sda /dev/nvme0n1 2>/dev/null | head -n 1) | wc -c | grep -q 1 && echo $SAY",
    "/dev/mem": "head -c 1 /dev/mem | wc -c | grep -q 1 && echo $SAY",
    "/dev/kmsg": "timeout 1 head -n 1 /dev/kmsg | grep -q . && echo $SAY",
    "what the kernel runs for core dumps": "exec 3>> /proc/sys/kernel/core_pattern && echo $SAY",
    "a setting of the kernel": "f=/proc/sys/kernel/panic; v=$(cat $f); echo $v > $f && echo $SAY",
    "/sys": "f=/sys/kernel/mm/ksm/run; v=$(cat $f); echo $v > $f && echo $SAY",
    "a control group": (
        "for d in /sys/fs/cgroup /sys/fs/cgroup/pids; do"
        " mkdir $d/toolwire-trial && echo $SAY && rmdir $d/toolwire-trial; done"
    ),
    "a program of another user": "$SETUID -u | grep -qx 65534 && echo $SAY",
}

_GROW = "def grow(): os.write(grown, b'x')\ngrown = os.open('grown', os.O_WRONLY | os.O_APPEND | os.O_CREAT)\n"
_FORKS = """\
left, fill = os.pipe(); os.write(fill, b'x' * {cap}); os.set_blocking(left, False)
until = time.monotonic() + 4
while time.monotonic() < until:
    try:
        os.read(left, 1)
    except BlockingIOError:
        time.sleep(0.2)
        break
    if os.fork() == 0:
        {more}
        grow()
"""
"""A fork bomb with an end: each fork takes a byte out of a pipe, and nobody fills it again."""
_SHELL_FORKS = """\
b() { printf x >> grown; if [ $1 -gt 7 ]; then sleep 1; else b $(($1 + 1)) | b $(($1 + 1)) & fi; }; b 0; sleep 1
"""
_ALLOCATES = """\
import mmap
kept = []
for _ in range({cap}):
    piece = mmap.mmap(-1, 1 << 20, flags=mmap.{kind} | mmap.MAP_ANONYMOUS)
    piece.write(b'x' * (1 << 20))
    kept.append(piece)
    grow()
time.sleep(0.3)
"""
_OVER = 300
"""How much further than its ceiling a bomb may come, in processes or in megabytes: the ceiling is looked at."""


_QUICK_BOMBS = ("memory without end", "open files without end")


def _bombs() -> list[Escape]:
    forks, pieces = PROCESSES + 2 * _OVER, (MEMORY >> 20) + 2 * _OVER
    processes, memory = PROCESSES + _OVER, (MEMORY >> 20) + _OVER
    bombs = {
        "a fork bomb": (_FORKS.format(cap=forks, more="pass"), processes),
        "a fork bomb of sessions": (_FORKS.format(cap=forks, more="os.setsid()"), processes),
        "threads without end": (
            f"import threading\nfor _ in range({forks}):\n"
            "    threading.Thread(target=time.sleep, args=(1,), daemon=True).start()\n    grow()\ntime.sleep(0.3)",
            processes,
        ),
        "memory without end": (_ALLOCATES.format(cap=pieces, kind="MAP_PRIVATE"), memory),
        "shared memory without end": (_ALLOCATES.format(cap=pieces, kind="MAP_SHARED"), memory),
        "open files without end": (
            "import resource\nhard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]\n"
            "resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))\n"
            f"for _ in range({4 * FILES}): os.dup(1); grow()",
            FILES,
        ),
    }
    return [
        Escape(name="a fork bomb of the shell", kind="size", shell=_SHELL_FORKS, grows="grown", most=processes),
        *(
            Escape(name=name, kind="size", python=_GROW + text, grows="grown", most=most, quick=name in _QUICK_BOMBS)
            for name, (text, most) in bombs.items()
        ),
        Escape(name="a file of 100 GB", kind="size", shell="truncate -s 100G big", grows="big", most=FILE_BYTES),
        Escape(
            name="a file without end",
            kind="size",
            shell=f"head -c {FILE_BYTES + (8 << 20)} /dev/zero > big",
            grows="big",
            most=FILE_BYTES,
        ),
        Escape(
            name="a core dump",
            kind="size",
            shell="ulimit -c unlimited; bash -c 'kill -SEGV $$'; mv core* core",
            grows="core",
            quick=False,
        ),
    ]


ESCAPES: tuple[Escape, ...] = (
    *_shell("network", _PROGRAMS, program=True),
    *_shell("network", _DEVICES),
    *_python("network", _SOCKETS),
    *_python("network", _RAW),
    *_shell("write", _WRITING),
    *(msgspec.structs.replace(escape, gap=_ATTRIBUTES_GAP) for escape in _shell("write", _ATTRIBUTES)),
    *_python("write", _MORE_ATTRIBUTES),
    *_shell("read", _READING),
    *_python("read", _MEMORY),
    *_shell("process", _SIGNALS),
    *_shell("process", _DEBUGGERS, program=True, quick=False),
    *_python("process", _MORE_SIGNALS),
    *_python("privilege", _PRIVILEGES, number=True),
    *_python("privilege", _ROOT, number=True, quick=False),
    *_shell("privilege", _DEVICE_FILES, quick=False),
    *_bombs(),
)

PYTHON_BEGIN = """\
import ctypes, os, socket, struct, sys, time
print('began', flush=True)
libc = ctypes.CDLL(None, use_errno=True)
PORT, UDP, OTHER, WHERE, SIZE = (int(os.environ[n]) for n in ('PORT', 'UDP', 'OTHER', 'WHERE', 'SIZE'))
def fail():
    raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
def say():
    print(os.environ['SAY'], flush=True)
def call(*words):
    given = libc.syscall(*words)
    return given if given >= 0 else fail()
def granted(*words):
    call(*words)
    say()
"""
SHELL_BEGIN = "echo began; "
