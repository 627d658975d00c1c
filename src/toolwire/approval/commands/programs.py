"""What is known of programs beside what they read (`readers`) and start (`starters`): their names, and which of them a
person may allow for longer than once.
"""

from __future__ import annotations

import msgspec

from .command_line import Command, Word
from .git import GLOBAL_VALUES
from .options import names
from .prefixes import carried_prefix
from .starters import OPAQUE, RUNNERS, SHELLS, started_by
from .variables import are_harmless

_INTERPRETERS = names(
    "python pypy ipython jython micropython node nodejs deno bun tsx ts-node perl ruby irb php lua luajit tclsh wish "
    "expect awk gawk mawk nawk sed ed ex jshell java scala groovy clojure clj kotlin swift ghci runghc runhaskell "
    "ocaml erl elixir iex escript racket guile scheme chibi gsi sbcl clisp ecl emacs R Rscript julia octave matlab "
    "gnuplot bc dc m4 gdb lldb sqlite psql mysql mariadb mongo mongosh redis-cli duckdb osascript pwsh powershell jq "
    "yq xmllint xsltproc nix nix-build bazel dotnet mono wine qemu"
)
"""Programs that run what they are given as code. A version behind the name does not count: `python3.12`, `php8`."""
_FETCHERS = names("npx uvx pipx bunx pnpx yarnpkg corepack zx fnm nvm volta asdf mise rbenv pyenv")
_EDITORS = names("vi vim nvim gvim view vimdiff emacs emacsclient nano pico micro helix hx code less more man")
_SENDERS = names(
    "curl wget http https xh aria2c ftp lftp tftp sftp scp rsync rclone nc ncat netcat socat telnet mail mailx "
    "sendmail mutt swaks dig nslookup host drill openssl aws gsutil gcloud az s3cmd ngrok cloudflared"
)
"""What can carry data to any place: what is in it differs though the words are the same."""
_BREAKERS = names(
    "dd mkfs fdisk parted wipefs shred shutdown reboot halt poweroff init systemctl launchctl mount umount chattr "
    "iptables nft ufw passwd useradd usermod userdel visudo chsh insmod modprobe kexec crontab at batch"
)
_WRAPPERS = names(
    "env sudo doas nice ionice nohup timeout gtimeout time stdbuf setsid taskset chrt caffeinate unbuffer command "
    "builtin exec busybox toybox xargs strace ltrace valgrind watch ssh"
)
_SHELL_STATE = names("export declare typeset readonly local unset set shopt read")
_NEVER = SHELLS | OPAQUE | _INTERPRETERS | _FETCHERS | _EDITORS | _SENDERS | _BREAKERS | _WRAPPERS | _SHELL_STATE
_NEVER_BEFORE = {
    "npm": names("exec x explore init create"),
    "yarn": names("dlx exec node create"),
    "pnpm": names("dlx exec create"),
    "go": frozenset(("run", "generate", "tool")),
    "cargo": frozenset(("install",)),
    "uv": frozenset(("tool",)),
    "git": names("config filter-branch daemon remote submodule bisect"),
    "docker": names("run exec cp save export push login"),
    "podman": names("run exec cp save export push login"),
    "kubectl": names("exec run cp debug attach port-forward proxy"),
    "gh": names("api alias extension gist secret auth ssh-key gpg-key"),
}
"""Subcommands that run what they are given, change what others run, or send."""
_ONLY = {
    "dotnet": names("build test restore clean format list"),
    "swift": names("build test"),
    "systemctl": names("status is-active is-enabled list-units"),
}
"""Programs that do those things unless it is with one of these subcommands."""

_GLOBAL_VALUES: dict[str, frozenset[str]] = {
    "git": GLOBAL_VALUES,
    "docker": names("-H --host -c --context --config -l --log-level --tlscacert --tlscert --tlskey"),
    "podman": names("-c --connection --url --identity --log-level --root --runroot --storage-driver"),
    "kubectl": names("-n --namespace --context --kubeconfig --cluster --user -s --server --token --as"),
    "helm": names("-n --namespace --kube-context --kubeconfig"),
    "npm": names("-w --workspace --prefix -C --loglevel --registry --userconfig"),
    "yarn": frozenset(("--cwd", "--use-yarnrc")),
    "pnpm": frozenset(("-C", "--dir", "--filter", "-F")),
    "pip": names("--python --log --proxy --timeout --retries --cache-dir"),
    "cargo": frozenset(("--config", "-Z", "-C", "--color", "--manifest-path")),
    "gh": frozenset(("-R", "--repo")),
    "uv": frozenset(("--directory", "--project", "--config-file", "--cache-dir", "--color")),
    "poetry": frozenset(("-C", "--directory", "-P", "--project")),
    "systemctl": names("-H --host -M --machine -t --type -p --property"),
    "terraform": frozenset(),
    "apt": frozenset(("-o", "-c", "-t")),
    "apt-get": frozenset(("-o", "-c", "-t")),
    "brew": frozenset(),
    "go": frozenset(("-C",)),
    "aws": names("--profile --region --output --endpoint-url --query"),
    "gcloud": names("--project --account --configuration --format"),
}
"""Programs with subcommands, and their options before one that take the next word."""


def sets_harmless(command: Command) -> bool:
    """Whether the variables that are set for it change neither what it runs nor where it looks."""
    return are_harmless(command.assignments)


def program(command: Command) -> tuple[Word, ...]:
    """The words with the program's bare name: `/bin/rm -r x` is `rm -r x`."""
    if "/" not in command.name:
        return command.words
    first = msgspec.structs.replace(command.words[0], text=command.name.rsplit("/", 1)[-1])
    return (first, *command.words[1:])


def plain_words(command: Command) -> tuple[Word, ...]:
    """The words without options: those before a subcommand (`git -C x push` is `git push`), or else all of them."""
    words = program(command)
    if not words or not words[0].is_literal:
        return words
    values = _GLOBAL_VALUES.get(words[0].text)
    if values is None:
        return (words[0], *(word for word in words[1:] if not _is_option(word)))
    place = 1
    while place < len(words) and (_is_option(words[place]) or words[place].text.startswith("+")):
        place += 2 if words[place].text in values else 1
    return (words[0], *words[place:])


def is_breaker(command: Command) -> bool:
    """Whether the program is made to change the machine itself: its disks, its services, its users."""
    name = _without_version(_bare(command.name))
    words = plain_words(command)
    return name in _BREAKERS and not (len(words) > 1 and words[1].text in _ONLY.get(name, ()))


def can_be_kept(command: Command) -> bool:
    """Whether a person may allow exactly these words for longer than once.

    Never what runs code that it is given, starts other programs, sends data away or can break the machine.
    """
    name = _bare(command.name)
    if not name or command.name.startswith("/") or ".." in command.name:
        return False
    if not all(word.is_literal for word in command.words) or not sets_harmless(command):
        return False
    inner = started_by(command)
    words = plain_words(command)
    subcommand = words[1].text if len(words) > 1 else ""
    if name in _ONLY:
        return subcommand in _ONLY[name]
    if inner is None or name in _NEVER or _without_version(name) in _NEVER:
        return False
    if inner:
        return name in RUNNERS and all(can_be_kept(each) for each in inner)
    return subcommand not in _NEVER_BEFORE.get(name, ())


def kept_prefix(command: Command) -> int:
    """How many leading words may be kept with what is like the rest of it; 0 where only the exact words may."""
    return carried_prefix(command.words) if can_be_kept(command) and "/" not in command.name else 0


def _bare(name: str) -> str:
    return name.rsplit("/", 1)[-1]


def _without_version(name: str) -> str:
    """`python3.12` is python, `mkfs.ext4` is mkfs."""
    return name.lower().partition(".")[0].rstrip("0123456789-")


def _is_option(word: Word) -> bool:
    return word.text.startswith("-") and word.text != "-"
