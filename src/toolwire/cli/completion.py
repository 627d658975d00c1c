"""`toolwire completion`: what makes a shell complete commands, options and values by the Tab key."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from ..errors import ConfigError
from ..folders import home_folder
from .completion_scripts import Shell, script
from .completion_tree import command_tree
from .inputs import as_text
from .visible import one_line

_SHELLS: tuple[Shell, ...] = ("bash", "zsh", "fish")


def completion(
    shell: Annotated[Shell | None, Parameter(name="SHELL")] = None,
    /,
    *,
    install: Annotated[bool, Parameter(negative="", show_default=False)] = False,
) -> int:
    """Prints the script that makes a shell complete commands, options, models, sessions and servers by Tab.

    Parameters
    ----------
    shell
        bash, zsh or fish. Without it: the one that SHELL in the environment names.
    install
        Write it to where the shell looks for such scripts, and say what else is to be done, if anything.
    """
    chosen = shell or _shell_here(os.environ)
    made = script(chosen, command_tree())
    if not install:
        sys.stdout.write(made)
        return 0
    path = script_path(chosen, os.environ)
    _write(path, made)
    shown = one_line(as_text(str(path)))
    print(f"Written: {shown}")
    print(_AFTERWARDS[chosen].format(path=shown, folder=one_line(as_text(str(path.parent)))))
    return 0


def script_path(shell: Shell, env: Mapping[str, str]) -> Path:
    """Where the shell looks for the script, or where it can be told to."""
    home = home_folder(env)
    data = _absolute(env.get("XDG_DATA_HOME"), home / ".local/share")
    if shell == "bash":
        return data / "bash-completion/completions/toolwire"
    if shell == "zsh":
        return data / "zsh/site-functions/_toolwire"
    return _absolute(env.get("XDG_CONFIG_HOME"), home / ".config") / "fish/completions/toolwire.fish"


def _absolute(given: str | None, otherwise: Path) -> Path:
    return Path(given) if given and os.path.isabs(given) else otherwise


def _shell_here(env: Mapping[str, str]) -> Shell:
    name = os.path.basename(env.get("SHELL", ""))
    for shell in _SHELLS:
        if name == shell:
            return shell
    raise ConfigError("which shell?", hint=f"Name it: toolwire completion {'|'.join(_SHELLS)}")


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        words = f"{as_text(str(path))} cannot be written: {error.strerror or error}"
        raise ConfigError(words, hint="Print the script instead, and put it where your shell finds it.") from None


_AFTERWARDS = {
    "bash": "It holds in new shells that have bash-completion. In others, add to ~/.bashrc: source {path}",
    "zsh": "Add to ~/.zshrc, above the line with compinit: fpath=({folder} $fpath)",
    "fish": "It holds in new shells.",
}
