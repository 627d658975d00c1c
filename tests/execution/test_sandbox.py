"""What the sandbox promises, by real programs inside and a look from outside, for every means that this machine has."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from programs import needs
from toolwire.execution import process
from toolwire.execution.environment import child_environment
from toolwire.execution.process import run_process
from toolwire.execution.sandbox import confine
from toolwire.execution.sandbox.sandbox import Means, Profile, Sandbox, find_sandbox
from waiting import leap

NAMESPACES: Means = "landlock and namespaces"
KINDS: dict[str, tuple[Means, int | None]] = {
    "namespaces": (NAMESPACES, None),
    "bubblewrap": ("bubblewrap", 0),
    "landlock": ("landlock", None),
}


class Case(NamedTuple):
    """A sandbox, a folder that may be written, a folder that may not, and a hidden file in it."""

    sandbox: Sandbox
    inside: Path
    outside: Path
    secret: Path

    def profile(self, *, network: bool = False, hidden: tuple[str, ...] = ()) -> Profile:
        return Profile(writable=(str(self.inside),), hidden=(str(self.secret), *hidden), network=network)

    def run(
        self, *argv: str, profile: Profile | None = None, environment: dict[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.sandbox.command(argv, profile or self.profile()),
            cwd=self.inside,
            env={"PATH": os.environ["PATH"], **(environment or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=30,
        )

    def shell(self, script: str, profile: Profile | None = None) -> subprocess.CompletedProcess[str]:
        return self.run("/bin/sh", "-c", script, profile=profile)

    def python(self, script: str, profile: Profile | None = None) -> subprocess.CompletedProcess[str]:
        return self.run(sys.executable, "-I", "-S", "-c", script, profile=profile)


@pytest.fixture(params=KINDS)
def case(request: pytest.FixtureRequest, tmp_path: Path) -> Case:
    means, abi = KINDS[request.param]
    sandbox = find_sandbox(means, abi)
    if not sandbox.holds:
        pytest.skip(f"{request.param} does not work here: {sandbox.words}")
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    inside.mkdir()
    outside.mkdir()
    secret = outside / "secret"
    secret.write_text("the secret")
    (outside / "plain").write_text("as it was")
    return Case(sandbox, inside, outside, secret)


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.0)
        yield server


def accepted(server: socket.socket) -> bool:
    try:
        server.accept()[0].close()
    except BlockingIOError:
        return False
    return True


def test_it_writes_inside_and_nowhere_else(case: Case) -> None:
    plain = case.outside / "plain"
    before = plain.stat()
    done = case.shell(
        f"""echo in > new; mkdir -p a/b; mv new a/b/moved; ln a/b/moved linked; chmod 700 a
        cd {case.outside}
        (echo no > new); (echo no > plain); mkdir folder; rm plain; mv plain gone; ln -s plain link
        ln plain {case.inside}/stolen; mv plain {case.inside}/taken; (: > plain)
        ln -s {case.outside} {case.inside}/way; (echo no > {case.inside}/way/new)
        {sys.executable} -I -S -c "import os; os.truncate('plain', 0)"
        exit 3"""
    )
    assert done.returncode == 3
    # What may be read may be copied, as `mv` does before it fails to remove.
    assert {*os.listdir(case.inside)} - {"taken"} == {"a", "linked", "way"}
    assert (case.inside / "a/b/moved").read_text() == "in\n"
    assert sorted(os.listdir(case.outside)) == ["plain", "secret"]
    assert plain.read_text() == "as it was"
    assert plain.stat().st_ino == before.st_ino
    assert plain.stat().st_nlink == 1


def test_modes_and_times_outside_are_kept_where_nothing_else_is_said(case: Case) -> None:
    plain = case.outside / "plain"
    plain.chmod(0o640)
    before = plain.stat()
    case.shell(f"chmod 777 {plain}; touch -d 2001-01-01 {plain}; chmod 711 {case.outside}")
    kept = plain.stat().st_mode == before.st_mode and plain.stat().st_mtime == before.st_mtime
    assert kept != ("modes, owners and times of files elsewhere" in case.sandbox.gaps)


def test_a_hidden_file_is_not_read(case: Case) -> None:
    done = case.shell(
        f"cat {case.outside}/plain; cd {case.outside}; cat secret; cat ../outside/secret; cp secret {case.inside}"
    )
    assert done.stdout == "as it was"
    assert "the secret" not in done.stderr
    assert case.inside.joinpath("secret").exists() is False or not (case.inside / "secret").read_bytes()


def test_a_hidden_folder_is_not_read_by_any_name(case: Case) -> None:
    folder = case.outside / "keys"
    folder.mkdir()
    (folder / "key").write_text("the secret")
    link = case.outside / "link"
    link.symlink_to(folder)
    profile = case.profile(hidden=(str(link),))
    done = case.shell(f"cat {folder}/key; cat {link}/key; cat /proc/self/root{folder}/key; echo done", profile)
    assert done.stdout == "done\n"


def test_a_hidden_file_that_comes_later_is_not_read(case: Case) -> None:
    later = case.outside / "later"
    profile = case.profile(hidden=(str(later),))
    program = subprocess.Popen(
        case.sandbox.command(["/bin/sh", "-c", f"echo ready; read word; cat {later}; echo done"], profile),
        cwd=case.inside,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    with program:
        assert program.stdin is not None
        assert program.stdout is not None
        assert program.stdout.readline() == "ready\n"
        later.write_text("the secret")
        program.stdin.write("go\n")
        program.stdin.flush()
        read = "the secret" in program.stdout.read()
    told = not case.sandbox.abi
    assert read == told
    later.unlink()
    assert case.sandbox.unenforced(profile) == ((str(later),) if told else ())


def test_hidden_inside_the_writable_folder(case: Case) -> None:
    """Held, or told that it is not; and nothing in the way of the rest."""
    (case.inside / ".env").write_text("the secret")
    (case.inside / "keys").mkdir()
    (case.inside / "keys/key").write_text("the secret")
    hidden = (str(case.inside / ".env"), str(case.inside / "keys"))
    profile = case.profile(hidden=hidden)
    done = case.shell(
        "cat .env; cat keys/key; mv .env x; mv keys y; rm -f .env; cat x y/key; chmod 777 keys; cat keys/key;"
        "echo new > n; cat n",
        profile,
    )
    assert done.stdout.endswith("new\n")
    told = case.sandbox.unenforced(profile)
    assert told == (hidden if case.sandbox.means == "landlock" else ())
    if not told:
        assert done.stdout == "new\n"
        assert (case.inside / ".env").read_text() == (case.inside / "keys/key").read_text() == "the secret"


def test_the_folders_above_a_hidden_path_stay_where_they_are(case: Case) -> None:
    """Else what is hidden would be found below another name, by this command or the next."""
    for name in (".config/gh/hosts.yml", ".local/share/keyrings/login", ".config/other/file"):
        (case.inside / name).parent.mkdir(parents=True)
        (case.inside / name).write_text("the secret" if "other" not in name else "a file, ")
    hidden = (str(case.inside / ".config/gh"), str(case.inside / ".local/share/keyrings/login"))
    profile = case.profile(hidden=hidden)
    if case.sandbox.unenforced(profile):
        pytest.skip("Landlock alone cannot hide what lies there, and no command runs")
    done = case.shell(
        """mv .config c2; mv .config/gh c3; mv .local/share l2; mv .local l3; mkdir -p put/share; mv -T put .local
        rm -rf .config/gh; rmdir .config; ln .local/share/keyrings/login l4; cat .config/other/file
        echo new > .config/new; mv .config/other .config/moved; cat */gh/hosts.yml */*/login""",
        profile,
    )
    again = case.shell("cat .config/moved/file .config/new */gh/hosts.yml */*/*/login .*/*/*/login l4 l5", profile)
    assert (done.stdout, again.stdout) == ("a file, ", "a file, new\n")
    assert (case.inside / ".config/gh/hosts.yml").read_text() == "the secret"
    assert (case.inside / ".local/share/keyrings/login").read_text() == "the secret"


def test_protected_inside_the_writable_folder(case: Case) -> None:
    """It can be read but not changed, nor can the folders that it is in be put aside for others."""
    hooks = case.inside / "repo/.git/hooks"
    hooks.mkdir(parents=True)
    (hooks / "pre-commit").write_text("as it was")
    (case.inside / "file").write_text("as it was")
    protected = (str(hooks), str(case.inside / "file"))
    profile = Profile(writable=(str(case.inside),), protected=protected)
    done = case.shell(
        """cat file repo/.git/hooks/pre-commit; echo new > repo/.git/new
        (echo no > file); (echo no > repo/.git/hooks/pre-commit); touch repo/.git/hooks/post-commit; chmod 700 file
        mv file x; rm -rf file repo/.git/hooks; mv repo/.git x; mv repo y; rm -rf repo/.git; mkdir -p repo/.git/hooks
        echo no > repo/.git/hooks/late""",
        profile,
    )
    assert done.stdout == "as it wasas it was"
    told = case.sandbox.unenforced(profile)
    assert told == (protected if case.sandbox.means == "landlock" else ())
    if not told:
        assert (case.inside / "file").read_text() == (hooks / "pre-commit").read_text() == "as it was"
        assert os.listdir(hooks) == ["pre-commit"]


def test_protected_that_cannot_be_is_told_and_hinders_nothing(case: Case) -> None:
    (case.inside / "link").symlink_to(case.outside)
    protected = (str(case.inside / "link"), str(case.inside / "later"))
    profile = Profile(writable=(str(case.inside),), protected=protected)
    assert case.sandbox.unenforced(profile) == protected
    assert case.shell("echo done", profile).stdout == "done\n"


@needs("git")
def test_git_works_with_protected_hooks(case: Case) -> None:
    subprocess.run(["git", "init", "-q", str(case.inside)], check=True)
    hooks = case.inside / ".git/hooks"
    hooks.mkdir(exist_ok=True)
    profile = Profile(writable=(str(case.inside),), protected=(str(hooks),))
    git = "git -c user.email=a@b -c user.name=c"
    done = case.shell(
        f"echo x > f; git add f; {git} commit -q -m one; git checkout -q -b b; git log --format=%s", profile
    )
    assert (done.returncode, done.stdout) == (0, "one\n")


def test_hidden_and_not_there_inside_the_writable_folder_is_told(case: Case) -> None:
    path = str(case.inside / "later")
    assert case.sandbox.unenforced(case.profile(hidden=(path,))) == (path,)


TCP = "import socket; socket.create_connection(('127.0.0.1', {port}), 5)"


def test_no_network_unless_it_is_given(case: Case, listener: socket.socket) -> None:
    script = TCP.format(port=listener.getsockname()[1])
    refused = case.run(sys.executable, "-I", "-c", script)
    assert "PermissionError" in refused.stderr
    assert not accepted(listener)
    allowed = case.run(sys.executable, "-I", "-c", script, profile=case.profile(network=True))
    assert (allowed.returncode, allowed.stderr) == (0, "")
    assert accepted(listener)


SOCKETS = """
import socket
for family, kind in ((1, 1), (1, 2), (2, 1), (2, 2), (2, 3), (10, 1), (10, 2), (16, 3), (17, 3), (38, 5), (40, 1)):
    try:
        socket.socket(family, kind).close()
    except OSError as error:
        continue
    print(family, kind)
socket.socketpair()[0].close()
try:
    socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
except PermissionError:
    print('no pair of datagrams')
"""


def test_which_sockets_there_are(case: Case) -> None:
    run = (sys.executable, "-I", "-c", SOCKETS)
    assert case.run(*run).stdout.splitlines() == ["no pair of datagrams"]
    with_network = case.run(*run, profile=case.profile(network=True)).stdout.splitlines()
    assert with_network == ["2 1", "2 2", "10 1", "10 2", "16 3", "no pair of datagrams"]


def test_it_reaches_no_process_outside(case: Case) -> None:
    """Signals, limits, memory and descriptors of a process of the same user."""
    with subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", "import sys; sys.stdin.read()"],
        stdin=subprocess.PIPE,
        env={"WORD": "the secret"},
    ) as victim:
        pid = victim.pid
        done = case.shell(
            f"""for name in TERM STOP KILL; do kill -$name {pid}; done
            cat /proc/{pid}/environ /proc/{pid}/root/{case.secret} /proc/{pid}/cwd/x /proc/{pid}/maps
            readlink /proc/{pid}/fd/0 /proc/{pid}/cwd; echo done"""
        )
        assert done.stdout == "done\n"
        done = case.python(
            f"import resource, os\ntry:\n    resource.prlimit({pid}, resource.RLIMIT_CPU, (1, 1))\n"
            f"except (PermissionError, ProcessLookupError): print('kept')"
        )
        assert done.stdout == "kept\n"
        assert victim.poll() is None
        assert Path(f"/proc/{pid}/stat").read_text().split()[2] in "SR"
        assert victim.stdin is not None
        victim.stdin.close()


TRACE = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
calls = {'ptrace': 101, 'unshare': 272, 'mount': 165, 'chroot': 161, 'bpf': 321, 'keyctl': 250, 'io_uring_setup': 425}
for name, number in calls.items():
    libc.syscall(number, 0x10000000, 0, 0, 0, 0, 0)
    print(name, ctypes.get_errno())
print('x32', libc.syscall(0x40000000 + 39), ctypes.get_errno())
print('new', libc.syscall(1000), ctypes.get_errno())
"""


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the numbers in this test are those of x86_64")
def test_calls_that_are_refused(case: Case) -> None:
    lines = case.run(sys.executable, "-I", "-c", TRACE).stdout.splitlines()
    names = ("ptrace", "unshare", "mount", "chroot", "bpf", "keyctl", "io_uring_setup")
    assert lines == [*(f"{name} 1" for name in names), "x32 -1 38", "new -1 38"]


def test_no_capability_and_no_setuid(case: Case) -> None:
    """Not even by a program that belongs to somebody else and takes his id."""
    taker = case.inside / "taker"
    shutil.copy(shutil.which("id") or "", taker)
    if os.geteuid() == 0:
        os.chown(taker, 12345, 12345)
    taker.chmod(0o6755)
    done = case.shell(
        "grep -E '^(Cap(Prm|Eff|Inh|Amb)|NoNewPrivs|Seccomp):' /proc/self/status;"
        "./taker -u; cp taker mine; chmod u+s mine"
    )
    *status, user = done.stdout.split("\n")[:-1]
    facts = dict(line.split() for line in status)
    assert {int(value, 16) for name, value in facts.items() if name.startswith("Cap")} == {0}
    assert (facts["NoNewPrivs:"], facts["Seccomp:"]) == ("1", "2")
    assert int(user) == os.geteuid()
    assert not (case.inside / "mine").stat().st_mode & stat.S_ISUID


MAKE_SET_ID = """
import os
for make in (lambda: os.open('made', os.O_CREAT | os.O_WRONLY, 0o6755), lambda: os.mknod('node', 0o106755)):
    try:
        make()
    except PermissionError:
        print('refused')
"""


def test_a_file_that_runs_as_its_owner_is_not_made_by_any_call(case: Case) -> None:
    assert case.python(MAKE_SET_ID).stdout == "refused\nrefused\n"
    assert os.listdir(case.inside) == []


def test_limits(case: Case) -> None:
    profile = Profile(writable=(str(case.inside),), open_files=40, file_size=10_000)
    done = case.shell("ulimit -n; ulimit -c; ulimit -Hn; head -c 20000 /dev/zero > big; echo $?", profile)
    files, core, hard, status = map(int, done.stdout.split())
    assert (files, core, hard) == (40, 0, 40)
    assert status == 128 + signal.SIGXFSZ
    assert (case.inside / "big").stat().st_size == 10_000


def test_devices(case: Case) -> None:
    names = "null zero full random urandom"
    script = (
        f"for name in {names}; do echo > /dev/$name; head -c 1 /dev/$name >/dev/null && echo $name; done;"
        "head -c 1 /dev/kmsg; head -c 1 /dev/tty"
    )
    done = case.shell(script)
    assert done.stdout.split() == names.split()


CHANGE_DEVICES = """
import os
for path in (0, *('/dev/' + name for name in ('null', 'zero', 'full', 'random', 'urandom'))):
    try:
        os.chmod(path, 0o666)
    except OSError:
        continue
"""


@pytest.mark.xdist_group("devices")  # some kinds of sandbox let them be changed, which another must not see
def test_devices_of_the_machine_keep_their_modes(case: Case) -> None:
    """They are root's, and so is standard input, which was opened outside."""
    paths = [f"/dev/{name}" for name in confine.DEVICES]
    before = [os.stat(path).st_ctime_ns for path in paths]
    assert case.python(CHANGE_DEVICES).returncode == 0
    kept = [os.stat(path).st_ctime_ns for path in paths] == before
    owned = os.stat("/dev/null").st_uid == os.geteuid()
    assert kept == (not owned or "modes, owners and times of files elsewhere" not in case.sandbox.gaps)


def test_the_kernel_is_not_set(case: Case) -> None:
    done = case.shell("for name in core_pattern modprobe panic; do (: >> /proc/sys/kernel/$name) && echo $name; done")
    assert done.stdout == ""


HOLD = """
import fcntl, os
opened = os.open({path!r}, os.O_RDONLY)
for do in (
    lambda: fcntl.fcntl(opened, fcntl.F_SETLEASE, fcntl.F_WRLCK),
    lambda: os.setxattr({path!r}, 'user.mark', b'x'),
    lambda: fcntl.ioctl(opened, 0x40086602, (0x40).to_bytes(8, 'little')),
):
    try:
        do()
    except OSError:
        print('refused')
"""


def test_files_elsewhere_are_not_held_or_marked(case: Case) -> None:
    plain = str(case.outside / "plain")
    assert case.python(HOLD.format(path=plain)).stdout == "refused\n" * 3
    assert os.listxattr(plain) == []


def test_it_is_the_first_to_go_when_memory_runs_out(case: Case) -> None:
    assert case.shell("cat /proc/self/oom_score_adj").stdout == "1000\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root works in folders of others")
def test_root_in_the_folder_of_somebody_else(case: Case) -> None:
    """As in a container: what is in it can be written, and nothing else can that could not."""
    mine, private = case.inside / "mine", case.outside / "private"
    mine.write_text("as it was")
    private.write_text("as it was")
    private.chmod(0o600)
    for path in (case.inside, mine, private, case.secret):
        os.chown(path, 1000, 1000)
    done = case.shell(
        f"""echo new > mine; mkdir folder; chmod 700 mine; chown 1001 mine; chmod 4755 mine
        (echo no > {private}); (cat {case.secret}); rm -f {private}; chown 0 {private}; chmod 777 {private}
        mknod node b 7 0; grep CapEff /proc/self/status"""
    )
    assert "the secret" not in done.stdout
    assert (private.read_text(), private.stat().st_uid, private.stat().st_mode & 0o7777) == ("as it was", 1000, 0o600)
    # In a namespace of users, bubblewrap's, he is no more than the one that he is mapped to.
    kept = {NAMESPACES: 0b1011, "landlock": 0b10, "bubblewrap": 0}[case.sandbox.means]
    assert int(done.stdout.split()[-1], 16) == kept
    assert mine.read_text() == ("new\n" if kept else "as it was")
    # 1001 is a third user, to whom nothing is given.
    assert (mine.stat().st_uid, mine.stat().st_mode & 0o7777) == (
        (1000, 0o700) if case.sandbox.means == NAMESPACES else (1000, 0o644)
    )
    assert not (case.inside / "node").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root works in folders of others")
def test_root_in_the_folder_of_somebody_else_reads_nothing_of_third_users(
    case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    (case.inside / "closed").mkdir()
    theirs = (case.outside / "theirs", case.outside / "home/file", case.inside / "closed/file", case.inside / "linked")
    (case.outside / "home").mkdir()
    for path in theirs:
        path.write_text("the secret")
        path.chmod(0o600)
        os.chown(path, 1001, 1001)
    for path in (case.outside / "home", case.inside / "closed"):
        path.chmod(0o700)
        os.chown(path, 1001, 1001)
    os.link(case.inside / "linked", case.outside / "first")
    os.chown(case.inside, 1000, 1000)
    (case.inside / "mine").write_text("mine")
    (case.inside / "mine").chmod(0o600)
    os.chown(case.inside / "mine", 1000, 1000)
    done = case.shell(f"cat {' '.join(map(str, theirs))}; chmod -R 777 {case.inside}/closed; cat closed/file; cat mine")
    if case.sandbox.means == "landlock":
        # Told in the documentation: only what lies in the homes of others is held there.
        assert "mine" in done.stdout
    else:
        assert done.stdout == ("mine" if case.sandbox.means == NAMESPACES else "")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root works in folders of others")
def test_which_homes_are_closed_to_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(confine, "HOMES", str(tmp_path))
    for name, owner in (("root", 0), ("owner", 1000), ("third", 1001), ("working", 1002)):
        (tmp_path / name).mkdir()
        os.chown(tmp_path / name, owner, owner)
    assert confine.homes_of_others({1000}, [str(tmp_path / "working/project")]) == {str(tmp_path / "third")}
    monkeypatch.setattr(confine, "HOMES", str(tmp_path / "none"))
    assert confine.homes_of_others({1000}, []) == set()


def test_the_python_that_confines_is_the_one_of_the_start(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    """A link to it may lie in a folder that commands write."""
    swapped = case.inside / "python"
    swapped.symlink_to("/bin/false")
    monkeypatch.setattr(sys, "executable", str(swapped))
    argv = case.sandbox.command(["true"], case.profile())
    python = argv[argv.index("-I") - 1]
    assert (os.path.realpath(python), str(swapped) in argv) == (python, False)
    assert case.run("true").returncode == 0


def test_what_programs_do_every_day(case: Case) -> None:
    """Pipes, substitutions, threads, children, event loops; and as each expects to find the world."""
    done = case.run(
        "bash",
        "-c",
        "yes | head -1; cat <(echo substituted); echo /dev/stderr > /dev/stderr; env | sort",
        environment={"A": "b"},
    )
    assert [line for line in done.stdout.splitlines() if "=" not in line] == ["y", "substituted"]
    assert done.stderr == "/dev/stderr\n"
    named = {line.partition("=")[0] for line in done.stdout.splitlines() if "=" in line}
    assert named == {"A", "PATH", "PWD", "SHLVL", "_"}
    script = (
        "import asyncio, subprocess, threading\n"
        "async def main():\n"
        "    child = await asyncio.create_subprocess_exec('echo', 'child', stdout=-1)\n"
        "    return (await child.communicate())[0].decode()\n"
        "print(asyncio.run(main()), end='')\n"
        "thread = threading.Thread(target=print, args=('thread',)); thread.start(); thread.join()"
    )
    assert case.run(sys.executable, "-I", "-c", script).stdout == "child\nthread\n"
    if case.sandbox.means != "landlock":
        done = case.run(
            sys.executable,
            "-I",
            "-c",
            "import multiprocessing as m; print(m.get_context('fork').Pool(1).map(abs, [-1]))",
        )
        assert done.stdout == "[1]\n"


def test_descriptors_do_not_get_in(case: Case) -> None:
    opened = os.open(case.secret, os.O_RDONLY)
    try:
        argv = case.sandbox.command(["/bin/sh", "-c", f"cat <&{opened}"], case.profile())
        done = subprocess.run(argv, cwd=case.inside, pass_fds=(opened,), capture_output=True, text=True)
    finally:
        os.close(opened)
    assert done.stdout == ""
    assert done.returncode


def test_only_what_may_be_read(case: Case) -> None:
    readable = case.outside / "readable"
    readable.mkdir()
    (readable / "file").write_text("read")
    profile = Profile(readable=(str(readable),), hidden=(str(case.secret),))
    argv = case.sandbox.command(["/bin/sh", "-c", f"cat {readable}/file; cat {case.outside}/plain"], profile)
    done = subprocess.run(argv, cwd=case.inside, capture_output=True, text=True)
    assert done.stdout == ("read" if case.sandbox.abi else "readas it was")


def test_a_missing_program_and_one_that_cannot_run(case: Case) -> None:
    done = case.run("no-such-program")
    assert (done.returncode, done.stderr) == (127, "toolwire: no-such-program: there is no such program\n")
    (case.inside / "loop").symlink_to("loop")
    done = case.run("no-such-program", environment={"PATH": f"{case.inside}/loop:/usr/bin:/bin"})
    assert (done.returncode, done.stderr) == (127, "toolwire: no-such-program: there is no such program\n")
    (case.inside / "data").write_text("no program")
    done = case.run("./data")
    assert (done.returncode, done.stderr) == (126, "toolwire: ./data: Permission denied\n")


def test_a_folder_that_became_a_link_is_not_followed(case: Case) -> None:
    folder = case.inside / "folder"
    folder.mkdir()
    argv = case.sandbox.command(["/bin/sh", "-c", "echo no > new"], Profile(writable=(str(folder),)))
    folder.rmdir()
    folder.symlink_to(case.outside)
    done = subprocess.run(argv, cwd=case.outside, capture_output=True, text=True)
    assert done.returncode == (1 if case.sandbox.means == "bubblewrap" else 126)
    assert sorted(os.listdir(case.outside)) == ["plain", "secret"]


def test_a_folder_that_is_not_there_is_told(case: Case) -> None:
    done = case.run("true", profile=Profile(writable=(str(case.inside / "none"),)))
    assert done.returncode not in (0, 127)
    assert "none" in done.stderr
    assert "No such file" in done.stderr


async def test_the_supervisor_ends_what_is_confined(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "GRACE_SECONDS", 0.1)
    script = "trap '' TERM; (setsid sh -c 'trap \"\" TERM; while :; do echo x >> beats; sleep 0.05; done' &) ; "
    script += "until [ -s beats ]; do sleep 0.02; done; echo begun; sleep 60"
    result = await run_process(
        case.sandbox.command(["bash", "-c", script], case.profile()),
        cwd=case.inside,
        environment=child_environment({}),
        timeout=30,
        on_output=lambda _: leap(30),
    )
    assert (result.timed_out, result.left, result.output) == (True, 0, "begun\n")
    beats = (case.inside / "beats").stat().st_size
    assert beats > 0
    await asyncio.sleep(0.2)
    assert (case.inside / "beats").stat().st_size == beats


SERVER = """
import json, os, sys
for line in sys.stdin:
    asked = json.loads(line)
    try:
        open(asked["params"]["path"], "a").close()
        said = "written"
    except OSError as error:
        said = "refused"
    print(json.dumps({"id": asked["id"], "result": said}), flush=True)
"""


async def test_a_server_over_pipes_that_somebody_else_starts_is_confined(case: Case) -> None:
    """As the servers of tools are: started by another library, asked line by line, ended by closing their input."""
    argv = case.sandbox.command([sys.executable, "-I", "-S", "-c", SERVER], case.profile())
    pipe = asyncio.subprocess.PIPE
    server = await asyncio.create_subprocess_exec(*argv, stdin=pipe, stdout=pipe, cwd=case.inside)
    assert server.stdin is not None
    assert server.stdout is not None
    said = []
    for number, path in enumerate((case.inside / "x", case.outside / "x")):
        server.stdin.write(json.dumps({"id": number, "params": {"path": str(path)}}).encode() + b"\n")
        said.append(json.loads(await asyncio.wait_for(server.stdout.readline(), 20)))
    server.stdin.close()
    assert await asyncio.wait_for(server.wait(), 20) == 0
    assert said == [{"id": 0, "result": "written"}, {"id": 1, "result": "refused"}]
