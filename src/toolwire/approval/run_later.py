"""Files that run later: what writes one of them runs whatever it wrote, unseen, when something else is done.

Hooks of version control, start files of shells and programs, jobs of CI, tasks of editors, servers of agents. To write
one is to run it, so it is asked about whatever allows writing. Names are compared without case and in one Unicode form,
because some disks do; a file need not be there yet, and a folder of the list stands for everything below it.

Not here is what people edit all day as the very work and what runs only when somebody runs the project: `package.json`,
`Makefile`, `pyproject.toml`, `setup.py`, `conftest.py`, `build.gradle`, `tox.ini`. Here is what runs without that being
meant: by entering a folder, opening it, committing, installing, or starting a tool that has another purpose; and
programs that are checked in or generated, which nobody reads again. Instructions for agents (`AGENTS.md`) are words.
"""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Sequence

from ..folders import OWN
from .patterns import is_below
from .places import Place

_NAMES = {
    "version control runs what stands there": """
        .git git~1 .gitmodules .gitconfig .hg .hgrc .svn .bzr .jj .husky .githooks .lefthook lefthook.yml lefthook.yaml
        .lefthook.yml .lefthook.yaml lefthook.toml lefthook-local.yml .pre-commit-config.yaml .pre-commit-hooks.yaml
        .overcommit.yml githooks .git-hooks git-hooks .hooks .overcommit .huskyrc .huskyrc.json .huskyrc.js
        husky.config.js .captainhook captainhook.json grumphp.yml
    """,
    "shells and programs run it when they start": """
        .bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile .zshrc .zshenv .zprofile .zlogin .zlogout
        .kshrc .mkshrc .cshrc .tcshrc .login .logout .inputrc .envrc .xinitrc .xsession .xsessionrc .xprofile .xserverrc
        .pam_environment .tmux.conf .screenrc .gdbinit .gdbearlyinit .lldbinit .bash_completion .xonshrc
        .pythonrc .pythonrc.py .pdbrc .irbrc .pryrc .rprofile
        .renviron .psqlrc .sqliterc .my.cnf .octaverc .ghci .iex.exs .curlrc .wgetrc .ripgreprc .ackrc .latexmkrc
        .mailcap .netrc .npmrc .yarnrc .yarnrc.yml .pnpmfile.cjs .pypirc .gemrc .condarc .bazelrc .mise.toml mise.toml
        .mise.local.toml mise.local.toml sitecustomize.py usercustomize.py .ssh .gnupg
        .mise .tool-versions .rtx.toml .direnv .envrc.local .env.fish .autoenv .autoenv.zsh .flox devenv.nix
        devenv.yaml devbox.json flake.nix shell.nix .bazeliskrc .ocamlinit .sbclrc .clisprc .guile
        .gnuplot .wezterm.lua .zsh_aliases .oh-my-zsh .p10k.zsh .pnpmfile.mjs bunfig.toml
    """,
    "CI runs it": """
        .gitlab-ci.yml .gitlab-ci.yaml .travis.yml .circleci .drone.yml .drone.yaml .buildkite .woodpecker
        .woodpecker.yml .woodpecker.yaml .cirrus.yml .cirrus.star appveyor.yml .appveyor.yml azure-pipelines.yml
        azure-pipelines.yaml bitbucket-pipelines.yml cloudbuild.yaml cloudbuild.yml jenkinsfile
        .semaphore .teamcity .tekton .builds .build.yml wercker.yml buildspec.yml .forgejo .gitea codefresh.yml
        .scrutinizer.yml netlify.toml vercel.json dependabot.yml renovate.json .renovaterc .renovaterc.json
    """,
    "package and build tools run it in place of themselves": """
        .pnp.cjs .pnp.js .pnp.loader.mjs .mvn mvnw mvnw.cmd gradlew gradlew.bat
        sbtw millw
    """,
    "editors run what it says": """
        .vscode .idea .fleet .zed .cursor .cursorrules .windsurf .nova .devcontainer .devcontainer.json .vim .vimrc
        .gvimrc .lvimrc .local.vimrc _vimrc .helix .vs .gitpod.yml .replit devfile.yaml .devfile.yaml
        .exrc .nvimrc .nvim.lua .nvim .emacs .emacs.d .spacemacs .doom.d .dir-locals.el .dir-locals-2.el
        session.vim .kakrc .sublime-project .vimrc.local .ycm_extra_conf.py
        .theia .neoconf.json .lazy.lua
    """,
    "it decides what agents may do and start": """
        .toolwire .mcp.json mcp.json .mcp mcp.toml .mcp.toml mcp-config.json mcp_config.json claude_desktop_config.json
        .claude .claude.json .codex .gemini .continue .aider.conf.yml .goose .opencode opencode.json .kiro .roo .cline
        .amazonq .augment .qodo .junie .crush crush.json .qwen .trae .kilocode .factory
    """,
}
"""Names of files and folders, wherever they lie."""

_TAILS = {
    "version control runs what stands there": (
        "hooks/applypatch-msg",
        "hooks/commit-msg",
        "hooks/post-checkout",
        "hooks/post-commit",
        "hooks/post-merge",
        "hooks/post-receive",
        "hooks/post-rewrite",
        "hooks/pre-commit",
        "hooks/pre-merge-commit",
        "hooks/pre-push",
        "hooks/pre-rebase",
        "hooks/pre-receive",
        "hooks/prepare-commit-msg",
    ),
    "package and build tools run it in place of themselves": (
        ".yarn/releases",
        ".yarn/plugins",
        ".yarn/sdks",
        "gradle/wrapper",
        "node_modules/.bin",
        "bin/activate",
        "bin/activate.csh",
        "bin/activate.fish",
        "bin/activate_this.py",
        "scripts/activate",
        "scripts/activate.bat",
        "scripts/activate.ps1",
    ),
    "CI runs it": (
        ".github/workflows",
        ".github/actions",
        ".github/dependabot.yml",
        ".github/hooks",
        ".ci",
    ),
    "shells and programs run it when they start": (
        ".config/fish",
        ".config/git",
        ".config/pip",
        ".config/nushell",
        ".config/environment.d",
        ".config/direnv",
        ".config/mise",
        ".config/xonsh",
        ".config/powershell",
        ".cargo/config",
        ".cargo/config.toml",
        ".cargo/bin",
        ".cargo/env",
        ".config/bash",
        ".config/gdb",
        ".config/npm",
        ".config/tmux",
        ".config/uv",
        ".config/zsh",
        ".aws/config",
        ".docker/config.json",
        ".gradle/init.d",
        ".gradle/init.gradle",
        ".gradle/init.gradle.kts",
        ".kube/config",
        ".m2/settings.xml",
        ".local/bin",
        ".ipython/profile_default",
        ".jupyter",
        ".pip/pip.conf",
        ".julia/config/startup.jl",
        ".config/conda",
        ".config/pnpm",
        ".config/yarn",
        ".config/wezterm",
        ".config/kitty",
        ".config/alacritty",
        ".config/lazygit",
        ".config/gh",
    ),
    "the system starts it": (
        ".config/systemd",
        ".config/autostart",
        ".config/hypr",
        ".config/i3",
        ".config/sway",
        ".local/share/applications",
        ".local/share/systemd",
        ".local/share/dbus-1",
        "library/launchagents",
        "library/launchdaemons",
    ),
    "editors run what it says": (
        ".config/nvim",
        ".config/vim",
        ".config/emacs",
        ".config/code",
        ".config/zed",
        ".config/helix",
        ".config/kak",
        ".config/micro",
    ),
    "it decides what agents may do and start": (
        ".config/toolwire",
        ".local/state/toolwire",
        ".config/claude",
        ".config/goose",
    ),
}
"""The same for names that mean it only below another."""

_ENDINGS = {
    "editors run what it says": (".code-workspace", ".sublime-project"),
    "Python runs it at every start": (".pth",),
}

_TOPS = {
    "the system starts it": """
        /etc/crontab /etc/cron.d /etc/cron.hourly /etc/cron.daily /etc/cron.weekly /etc/cron.monthly /var/spool/cron
        /var/spool/at /etc/systemd /lib/systemd /usr/lib/systemd /etc/init.d /etc/rc.local /etc/ld.so.preload
        /etc/ld.so.conf.d /etc/profile /etc/profile.d /etc/zsh /etc/bash.bashrc /etc/environment /etc/sudoers
        /etc/sudoers.d /etc/pam.d /etc/ssh /etc/udev /etc/xdg /etc/gitconfig
    """,
}
"""The same for folders at the top of the file system."""

_BY_NAME = {name: why for why, names in _NAMES.items() for name in names.split()}
_BY_TAIL = {tuple(tail.split("/")): why for why, tails in _TAILS.items() for tail in tails}
_BY_TOP = {top: why for why, tops in _TOPS.items() for top in tops.split()}


def runs_later(place: Place, search: Sequence[str] = ()) -> str:
    """Why what is written there runs later, in a few words; empty where nothing known does.

    Programs are found by their names in the folders of `search`.
    """
    for path in dict.fromkeys((place.written, place.real)):
        why = _why(_fold(path))
        if why:
            return why
    if place.inside and any(is_below(place.real, folder) for folder in OWN):
        return "Toolwire itself runs from there"
    if place.inside and _is_program_of_environment(place.real):
        return "a virtual environment runs its programs from there"
    return "programs are found there by their names" if _is_searched(place, search) else ""


def _is_searched(place: Place, search: Sequence[str]) -> bool:
    folders = {_fold(form) for folder in search for form in (folder, os.path.realpath(folder))}
    return any(is_below(_fold(path), folder) for path in {place.written, place.real} for folder in folders)


def _is_program_of_environment(path: str) -> bool:
    """Whether it lies where the programs of a Python environment do, made or to be made.

    A link to the system's Python there is none of them, and is named by many a command.
    """
    parts = path.split(os.sep)
    for number, part in enumerate(parts):
        if part.casefold() in ("bin", "scripts") and number:
            above = os.sep.join(parts[:number])
            if parts[number - 1].casefold() in (".venv", "venv") or os.path.lexists(os.path.join(above, "pyvenv.cfg")):
                return True
    return False


def _why(path: str) -> str:
    # Names that end in dots or blanks are names without them to some systems.
    parts = [part.rstrip(". ") or part for part in path.split(os.sep) if part]
    for number, part in enumerate(parts):
        why = _BY_NAME.get(part, "")
        for size in (1, 2, 3):
            why = why or _BY_TAIL.get(tuple(parts[number : number + size]), "")
        if why:
            return why
    for why, endings in _ENDINGS.items():
        if parts and parts[-1].endswith(endings):
            return why
    for top, why in _BY_TOP.items():
        if path == top or path.startswith(f"{top}/"):
            return why
    return ""


def _fold(path: str) -> str:
    """As the most forgiving disk would compare it: without case, composed, without characters that it ignores."""
    folded = unicodedata.normalize("NFKC", path).casefold()
    return "".join(character for character in folded if unicodedata.category(character) != "Cf")


def listed() -> list[str]:
    """Every name of the list, for the docs and the tests that go through it."""
    return [*_BY_NAME, *("/".join(tail) for tail in _BY_TAIL)]
