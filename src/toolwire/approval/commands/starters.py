"""Programs that start others: which commands a command runs beside itself.

Where that cannot be said before it runs, or an option is not known, the answer is that it is not known; so the whole
line is one that is asked about. A program that is itself the code that runs (`python x.py`, `make`) starts nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from .command_line import Assignment, Command, Word, WordKind
from .dialects import Dialect, dialect_of
from .git import starts_unknown, subcommand
from .options import Options, known_options, may_be_option, names, read_options
from .shell import read_command_line
from .variables import changes_reading

Started = Sequence[Command] | None

_MORE = Word("…", WordKind.DYNAMIC)
"""Words that a program adds by itself."""
_COUNTS = names("n L max-args max-lines")
"""Options of xargs that do not go together with `-I`."""


class Wrapper(msgspec.Struct, frozen=True):
    """A program whose operands are a command that it runs, behind `skip` others."""

    options: Options
    skip: int = 0
    sets: bool = False
    """Operands like `A=b` before the command set variables for it."""
    adds: bool = False
    """It adds words of its own to the command."""
    transparent: bool = True
    """It does nothing else that matters."""


def _wrapper(table: str, skip: int = 0, *, sets: bool = False, adds: bool = False, transparent: bool = True) -> Wrapper:
    return Wrapper(known_options(table), skip, sets, adds, transparent)


_RUN = _wrapper(
    "-qv --quiet --verbose --frozen --locked --no-sync --offline --active --isolated --all-extras --no-dev --dev "
    "--with: --extra: --group: -p: --python: --package:",
    transparent=False,
)
_WRAPPERS: dict[str, Wrapper] = {
    "env": _wrapper("-i0v -u: --ignore-environment --unset: --null --debug", sets=True),
    "sudo": _wrapper(
        "-nEHSbkAP -u: -g: -p: -C: -r: -t: --user: --group: --non-interactive --preserve-env?",
        sets=True,
        transparent=False,
    ),
    "doas": _wrapper("-n -u:", transparent=False),
    "nice": _wrapper("-n: -# --adjustment:"),
    "ionice": _wrapper("-t -c: -n: --class: --classdata: --ignore"),
    "nohup": _wrapper("", transparent=False),
    "timeout": _wrapper("-v -s: -k: --signal: --kill-after: --preserve-status --foreground --verbose", 1),
    "gtimeout": _wrapper("-v -s: -k: --signal: --kill-after: --preserve-status --foreground --verbose", 1),
    "time": _wrapper("-pvq -f: --portability --verbose --quiet --format:"),
    "stdbuf": _wrapper("-i: -o: -e: --input: --output: --error:"),
    "setsid": _wrapper("-cfw --ctty --fork --wait", transparent=False),
    "taskset": _wrapper("", 1),
    "chrt": _wrapper("-bfiro", 1),
    "caffeinate": _wrapper("-dimsu -t:"),
    "unbuffer": _wrapper("-p"),
    "builtin": _wrapper(""),
    "exec": _wrapper("-cl", transparent=False),
    "busybox": _wrapper("", transparent=False),
    "toybox": _wrapper("", transparent=False),
    "ccache": _wrapper("", transparent=False),
    "distcc": _wrapper("", transparent=False),
    "xargs": _wrapper(
        "-0rtxo -n: -P: -L: -d: -s: -E: -I: -a@ --null --no-run-if-empty --verbose --exit --max-args: --max-procs: "
        "--max-lines: --delimiter: --max-chars: --arg-file@",
        adds=True,
    ),
    "strace": _wrapper("-fctqrTvyk -e: -s: -a:", transparent=False),
    "ltrace": _wrapper("-fctS -e: -s:", transparent=False),
    "valgrind": _wrapper("-qv --leak-check? --track-origins? --error-exitcode? --show-leak-kinds?", transparent=False),
}
RUNNERS = {
    "uv": "run",
    "poetry": "run",
    "pdm": "run",
    "pipenv": "run",
    "rye": "run",
    "hatch": "run",
    "bundle": "exec",
}
"""Package tools with the subcommand behind which a command stands."""

SHELLS = names("sh bash dash ash ksh mksh zsh fish csh tcsh rbash elvish nu xonsh pwsh powershell cmd")
_POSIX_SHELLS = names("sh bash dash ash ksh mksh")
_FOREIGN_SHELLS = names("cmd pwsh powershell")
_PLAIN_SETTINGS = names("errexit nounset pipefail xtrace")
"""Settings for a shell's `-o` that change nothing in how it reads."""
_SHELL_OPTIONS = known_options("-celmnuvxfhsr -o: --login --norc --noprofile --posix --noediting --verbose")

OPAQUE = names(
    "eval source . trap alias unalias enable hash complete compgen bind fc parallel rush sem expect screen tmux byobu "
    "dtach at batch crontab systemd-run flock unshare nsenter su runuser setpriv chroot numactl proot firejail bwrap "
    "gdb lldb perf entr rlwrap dbus-run-session start-stop-daemon daemonize chpst sshpass torsocks proxychains "
    "proxychains4 winpty osascript wsl distrobox toolbox mosh rsh rlogin telnet nc ncat netcat socat script watchexec "
    "nodemon fakeroot faketime eatmydata cgexec pkexec run0 dosu gosu su-exec tini dumb-init capsh prlimit coproc "
    "ld.so ld-linux-x86-64.so.2 nix-shell direnv conda mamba micromamba xvfb-run dbus-launch fakechroot script "
    "scriptreplay logrotate run-parts ssh-agent gpg-agent mapfile readarray vared zmodload autoload coreutils setarch "
    "linux32 linux64 sg newgrp runcon choom ifne chronic pee hyperfine concurrently cross-env env-cmd dotenv apptainer "
    "singularity lxc lxc-attach lxc-execute machinectl vagrant multipass limactl adb guix flatpak snap aws-vault "
    "chamber doppler genv gnice gnohup gstdbuf gxargs gfind gchroot gtime yash posh osh ysh hush sash lksh "
    "catchsegv trickle cpulimit tsp nq softlimit s6-setuidgid with-contenv"
)
"""Programs that run what they are given in ways that are not read here."""

_ELSEWHERE = names("busybox toybox docker docker-compose podman nerdctl kubectl oc ssh")
"""Programs that start others from somewhere else: what is called bash there is not known."""

_LOADERS = ("ld-linux", "ld-musl", "ld64")
"""How the names of programs begin that load another, whatever the machine is."""

_EXEC_OPTIONS: dict[str, tuple[str, tuple[str, ...]]] = {
    "tar": (
        "IFT",
        (
            "to-command",
            "checkpoint-action",
            "use-compress-program",
            "info-script",
            "new-volume-script",
            "rsh-command",
            "rmt-command",
            "files-from",
        ),
    ),
    "bsdtar": ("IT", ("use-compress-program", "files-from")),
    "rsync": ("e", ("rsh", "rsync-path")),
    "scp": ("SoFJD", ()),
    "sftp": ("SoFJDbR", ()),
    "rg": ("", ("pre", "hostname-bin")),
    "sort": ("", ("compress-program",)),
    "zip": ("T", ("unzip-command", "test")),
    "go": ("", ("exec", "toolexec", "vettool")),
    "cargo": ("", ("config",)),
    "make": ("E", ("eval",)),
    "gmake": ("E", ("eval",)),
    "man": ("PH", ("pager", "html")),
    "vim": ("cSsuU", ("cmd",)),
    "vi": ("cSsuU", ("cmd",)),
    "nvim": ("cSsuUl", ("cmd",)),
    "view": ("cSsuU", ("cmd",)),
    "ex": ("cSsuU", ("cmd",)),
    "emacs": ("lf", ("eval", "execute", "load", "funcall", "script", "insert")),
    "wget": ("", ("use-askpass", "config")),
    "curl": ("K", ("config",)),
    "gcc": ("", ("wrapper",)),
    "cc": ("", ("wrapper",)),
    "split": ("", ("filter",)),
    "dpkg": ("", ("pre-invoke", "post-invoke", "status-logger")),
    "apt": ("o", ("option",)),
    "apt-get": ("o", ("option",)),
    "pip": ("", ("config-settings",)),
    "openssl": ("", ("engine", "provider", "provider-path")),
    "ssh-keygen": ("D", ()),
    "ag": ("", ("pager",)),
    "ack": ("", ("pager", "ackrc")),
    "fzf": ("", ("preview", "bind", "execute")),
}
"""Options, short and long, with which a program runs another. A beginning of a long name stands for it too."""

_DOCKER_RUN = known_options(
    "-itdP -v: -e: -p: -w: -u: -h: -m: -l: --rm --init --privileged --interactive --tty --detach --name: --network: "
    "--net: --volume: --env: --publish: --workdir: --user: --hostname: --memory: --cpus: --platform: --mount: --pull: "
    "--restart: --label: --env-file: --add-host: --gpus: --shm-size: --read-only --tmpfs: --ulimit: --cap-drop: "
    "--cap-add: --security-opt: --pid: --ipc: --no-TTY -T"
)
_PACKAGE_RUNNING = names("exec x dlx")
_PACKAGE_RUN = known_options(
    "-yqr -p: -w: --yes --no --no-install --silent --quiet --recursive --package: --workspace:"
)
_SSH = known_options("-46AaCfGgKkMNnqTtVvXxYy -b: -c: -D: -i@ -L: -l: -m: -p: -R: -W:")
_WATCH = known_options(
    "-bcdegtpw -n: --interval: --differences? --no-title --color --beep --errexit --precise --chgexit"
)


def started_by(command: Command) -> Started:
    """The commands that this one starts (`env x`, `xargs x`, `sh -c x`); None where they are not known."""
    name = command.name.rsplit("/", 1)[-1]
    if not name:
        return ()
    found = None if name.startswith(_LOADERS) else _found(name, command)
    if found is None:
        return None
    return [
        msgspec.structs.replace(
            each,
            assignments=(*command.assignments, *each.assignments),
            folders=(*command.folders, *each.folders),
            dialect=Dialect.PLAIN if name in _ELSEWHERE else command.dialect,
        )
        for each in found
    ]


def is_transparent(command: Command) -> bool:
    """Whether it does nothing but start others, which are judged by themselves."""
    if "/" in command.name:
        return False
    words = command.words[1:]
    if command.name == "command":
        return started_by(command) is not None
    if command.name in _POSIX_SHELLS:
        return bool(started_by(command))
    wrapper = _WRAPPERS.get(command.name)
    if wrapper is None or not wrapper.transparent or not started_by(command):
        return False
    read = read_options(words, wrapper.options, first_ends=True)
    return read is not None and not read.files


def _found(name: str, command: Command) -> Started:
    words = command.words[1:]
    if name in OPAQUE:
        return None
    if name in SHELLS and any(map(changes_reading, command.assignments)):
        return None
    if name in SHELLS:
        return _shell(name, words, dialect_of(command.name) if command.dialect is Dialect.BASH else Dialect.PLAIN)
    wrapper = _WRAPPERS.get(name)
    if wrapper is not None:
        return _wrapped(wrapper, words)
    if name in RUNNERS and words and words[0].text == RUNNERS[name]:
        return _wrapped(_RUN, words[1:])
    special = _SPECIAL.get(name)
    if special is not None:
        return special(words)
    if name in _EXEC_OPTIONS and _has_exec_option(*_EXEC_OPTIONS[name], words, old_style=name.endswith("tar")):
        return None
    return ()


def _wrapped(wrapper: Wrapper, words: Sequence[Word]) -> Started:
    read = read_options(words, wrapper.options, first_ends=True)
    if read is None or read.loose or any(not word.is_literal for word in read.operands[: wrapper.skip]):
        return None
    rest = read.operands[wrapper.skip :]
    assigned: list[Assignment] = []
    if rest and rest[0].text.startswith(("-", "+")):
        return None
    while wrapper.sets and rest and "=" in rest[0].text:
        if not rest[0].is_literal:
            return None
        name, _, value = rest.pop(0).text.partition("=")
        assigned.append(Assignment(name, value))
    # Where a variable is taken away, a program may look elsewhere too.
    assigned += [Assignment(text.text, "") for name, text in read.texts if wrapper.sets and name in ("u", "unset")]
    if wrapper.sets and not {"i", "ignore-environment"}.isdisjoint(read.used):
        assigned.append(Assignment("PATH", ""))
    if wrapper.adds:
        if "I" in read.used and (read.used.count("I") > 1 or not _COUNTS.isdisjoint(read.used)):
            # Of these options the last one holds, or the first, as the system has it.
            return None
        mark = next((text.text for name, text in read.texts if name == "I"), "")
        rest = [_replaced(word, mark) for word in rest] if mark else [*(rest or [Word("echo")]), _MORE]
    if not rest:
        return ()
    return [Command(tuple(rest), assignments=tuple(assigned))]


def _shell(name: str, words: Sequence[Word], dialect: Dialect) -> Started:
    """`-c` with a script that is known, or a file; what comes from standard input is not known."""
    read = read_options(words, _SHELL_OPTIONS, first_ends=True)
    if [word.text for word in words] == ["--version"]:
        return ()
    if read is None or read.loose or "s" in read.used or not read.operands or name in _FOREIGN_SHELLS:
        return None
    script = read.operands[0]
    # `+x` and `-` are options to a shell, and `-o` takes the next word, never the rest of its own.
    if script.text.startswith(("-", "+")) or not all(
        value in words and value.text in _PLAIN_SETTINGS for _, value in read.texts
    ):
        return None
    if "c" not in read.used:
        return () if script.is_literal or script.home else None
    return (
        _script(script, dialect=Dialect.PLAIN if "posix" in read.used else dialect) if name in _POSIX_SHELLS else None
    )


def _script(*words: Word, dialect: Dialect = Dialect.PLAIN) -> Started:
    """The commands of a script that a shell is given; where it is not said which, the system's `sh`."""
    if not all(word.is_literal for word in words):
        return None
    line = read_command_line(" ".join(word.text for word in words), dialect)
    return None if line.problem else line.commands


def _command(words: Sequence[Word]) -> Started:
    if words and words[0].is_literal and words[0].text in ("-v", "-V"):
        return ()
    return _wrapped(_wrapper("-p"), words)


def _find(words: Sequence[Word]) -> Started:
    """Each `-exec`, with the names that are found for `{}`; in the folder of each for `-execdir`."""
    found: list[Command] = []
    place = 0
    while place < len(words):
        word = words[place]
        place += 1
        if word.kind is not WordKind.LITERAL and may_be_option(word):
            return None
        if word.text not in ("-exec", "-execdir", "-ok", "-okdir"):
            continue
        inner: list[Word] = []
        while place < len(words) and words[place].text != ";":
            if words[place].text == "+" and inner and inner[-1].text == "{}":
                break
            inner.append(words[place])
            place += 1
        if place >= len(words) or not inner:
            return None
        place += 1
        folders = (_MORE,) if word.text.endswith("dir") else ()
        found.append(Command(tuple(_replaced(each, "{}") for each in inner), folders=folders))
    return found


def _fd(words: Sequence[Word]) -> Started:
    for place, word in enumerate(words):
        text = word.text
        if not word.is_literal:
            if may_be_option(word):
                return None
        elif text in ("-x", "-X", "--exec", "--exec-batch"):
            rest = words[place + 1 :]
            if not rest or any(each.text == ";" for each in rest):
                return None
            return [Command((*(_replaced(each, "{") for each in rest), _MORE))]
        elif text.startswith("--exec") or (text[:1] == "-" and text[:2] != "--" and ("x" in text or "X" in text)):
            return None
    return ()


def _replaced(word: Word, mark: str) -> Word:
    return Word(word.text, WordKind.DYNAMIC) if mark in word.text else word


def _watch(words: Sequence[Word]) -> Started:
    read = read_options(words, _WATCH, first_ends=True)
    return None if read is None or read.loose or not read.operands else _script(*read.operands)


def _ssh(words: Sequence[Word]) -> Started:
    """What runs on the other machine is judged as if it ran here. Without a command it is a shell."""
    read = read_options(words, _SSH, first_ends=True)
    if read is None or read.loose or not read.operands or not read.operands[0].is_literal:
        return None
    return _script(*read.operands[1:]) if len(read.operands) > 1 else None


def _kubectl(words: Sequence[Word]) -> Started:
    """What runs in the cluster stands behind `--`."""
    texts = [word.text for word in words]
    if {"exec", "run", "debug", "plugin"}.isdisjoint(texts) and all(word.is_literal for word in words):
        return ()
    if "--" not in texts or texts.index("--") + 1 >= len(words):
        return None
    return [Command(tuple(words[texts.index("--") + 1 :]))]


def _container(words: Sequence[Word]) -> Started:
    """The command behind the image or the container of `run` and `exec`."""
    place = 1 if words and words[0].text in ("compose", "container") else 0
    if len(words) <= place or not words[place].is_literal or words[place].text.startswith("-"):
        return () if all(word.is_literal and word.text not in ("run", "exec") for word in words) else None
    if words[place].text not in ("run", "exec"):
        return ()
    read = read_options(words[place + 1 :], _DOCKER_RUN, first_ends=True)
    if read is None or read.loose or not read.operands:
        return None
    return [Command(tuple(read.operands[1:]))] if len(read.operands) > 1 else ()


def _package_run(words: Sequence[Word]) -> Started:
    """The command behind `npx` and its like."""
    read = read_options(words, _PACKAGE_RUN, first_ends=True)
    return None if read is None or read.loose or not read.operands else [Command(tuple(read.operands))]


def _packages(words: Sequence[Word]) -> Started:
    """The command behind `npm exec`, `yarn dlx` and their like."""
    if words and words[0].is_literal and words[0].text in _PACKAGE_RUNNING:
        return _package_run(words[1:])
    is_hidden = any(word.text in _PACKAGE_RUNNING or not word.is_literal for word in words[1:])
    return None if is_hidden and words[0].text.startswith("-") else ()


def _git(words: Sequence[Word]) -> Started:
    found = subcommand(words)
    if found is None:
        return None
    name, rest = found
    texts = [word.text for word in rest]
    if name == "submodule" and "foreach" in texts:
        return _script(*(word for word in rest[texts.index("foreach") + 1 :] if not word.text.startswith("--")))
    if name == "bisect" and texts[:1] == ["run"]:
        return [Command(tuple(rest[1:]))] if len(rest) > 1 else ()
    return None if starts_unknown(name, rest) else ()


def _make(words: Sequence[Word]) -> Started:
    """Recipes are what make is for; another shell for them, or a makefile from standard input, is not."""
    texts = [word.text for word in words]
    if any(text.lstrip(":+?!").startswith(("SHELL=", "SHELL:", "MAKEFLAGS", ".SHELLFLAGS")) for text in texts):
        return None
    if not {"-", "-f-", "--file=-", "--makefile=-", "/dev/stdin"}.isdisjoint(texts):
        return None
    return None if _has_exec_option(*_EXEC_OPTIONS["make"], words, old_style=False) else ()


def _editor(words: Sequence[Word]) -> Started:
    """`+command` is run when a file is opened."""
    if any(word.text.startswith("+") and not word.text[1:].isdecimal() for word in words):
        return None
    return None if _has_exec_option(*_EXEC_OPTIONS["vim"], words, old_style=False) else ()


def _has_exec_option(short: str, long: Sequence[str], words: Sequence[Word], *, old_style: bool) -> bool:
    for place, word in enumerate(words):
        text = word.text
        if word.is_literal and text == "--":
            return False
        if not word.is_literal:
            if may_be_option(word):
                return True
        elif text.startswith("-") or (old_style and place == 0):
            name = text.lstrip("-").partition("=")[0]
            if name in long or any(char in short for char in name if not text.startswith("--")):
                return True
            if text.startswith("--") and name not in ("", "file") and any(option.startswith(name) for option in long):
                return True
    return False


_SPECIAL: dict[str, Callable[[Sequence[Word]], Started]] = {
    "command": _command,
    "find": _find,
    "fd": _fd,
    "fdfind": _fd,
    "watch": _watch,
    "ssh": _ssh,
    "docker": _container,
    "podman": _container,
    "nerdctl": _container,
    "docker-compose": _container,
    "kubectl": _kubectl,
    "oc": _kubectl,
    "git": _git,
    **dict.fromkeys(("npx", "bunx", "pnpx"), _package_run),
    **dict.fromkeys(("npm", "yarn", "pnpm"), _packages),
    "make": _make,
    "gmake": _make,
    **dict.fromkeys(("vim", "vi", "nvim", "view", "ex", "vimdiff", "gvim"), _editor),
}
