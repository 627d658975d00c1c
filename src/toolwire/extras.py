"""Toolwire's extras: which are installed, and how to install one that is missing."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path
from typing import NamedTuple

from .errors import ConfigError, ToolwireError


class Extra(NamedTuple):
    """One optional part of Toolwire, as named in `toolwire[…]`."""

    name: str
    modules: tuple[str, ...]
    """What must be importable."""
    package: str
    purpose: str
    needs: str
    """The start of an error: "MCP servers need the package mcp"."""


_ALL = (
    Extra("chat", ("textual",), "textual", "the full-screen chat", "the full-screen chat needs Textual"),
    Extra("local", ("xllamacpp",), "xllamacpp", "the embedded model", "the embedded model needs xllamacpp"),
    Extra("mcp", ("mcp",), "mcp", "MCP servers and clients", "MCP needs the package mcp"),
    Extra("durable", ("dbos", "sqlalchemy"), "dbos", "durable runs", "durable runs need DBOS"),
    Extra("bedrock", ("botocore",), "botocore", "AWS credentials for Bedrock", "AWS credentials need botocore"),
    Extra(
        "telemetry",
        ("opentelemetry.trace", "opentelemetry.metrics"),
        "opentelemetry-api",
        "OpenTelemetry traces and metrics",
        "OpenTelemetry traces and metrics need opentelemetry-api",
    ),
)
EXTRAS = {extra.name: extra for extra in _ALL}
MUSL_NOTE = "xllamacpp has no wheels for musl (Alpine): use a glibc system, such as Debian, or another model."
_ONCE = {"uvx": "uvx --from", "pipx run": "pipx run --spec"}


def is_installed(name: str) -> bool:
    """Whether everything the extra needs can be imported. Imports nothing but parent packages."""
    return all(_is_importable(module) for module in EXTRAS[name].modules)


def require(name: str, kind: type[ToolwireError] = ConfigError) -> None:
    """Raise an error that says what to install if the extra is missing."""
    if not is_installed(name):
        raise missing_extra(name, kind)


def missing_extra(
    name: str, kind: type[ToolwireError] = ConfigError, *, instead: str = "", **facts: str
) -> ToolwireError:
    """The error for a missing extra; `instead` names another way out. Facts: extra."""
    hint = f"Install it: {install_command(name)}"
    if instead:
        hint += f"; {instead}"
    if name == "local" and is_musl():
        hint += f". {MUSL_NOTE}"
    return kind(f"{EXTRAS[name].needs}, which is not installed", hint=hint, extra=name, **facts)


def install_command(*names: str, prefix: str | os.PathLike[str] | None = None) -> str:
    """The shell command that adds these extras, for the tool that Toolwire was installed with.

    uv and pipx rebuild the whole environment, so their commands also name the extras that are already installed.
    """
    home = Path(prefix or sys.prefix)
    if once := command_once(_command(), *names, prefix=home):
        return once
    tool = _tool(home)
    requirement = _requirement(names, with_installed=tool != "pip")
    if tool == "uv":
        return f"uv tool install {requirement}"
    if tool == "pipx":
        return f"pipx install --force {requirement}"
    return f"pip install {requirement}"


def command_once(command: str, *names: str, prefix: str | os.PathLike[str] | None = None) -> str:
    """The shell command that runs `command` with these extras in a temporary environment of uvx or `pipx run`.

    Empty if Toolwire runs in any other environment: then `command` is enough.
    """
    tool = _tool(Path(prefix or sys.prefix))
    if tool not in _ONCE:
        return ""
    return f"{_ONCE[tool]} {_requirement(names, with_installed=True)} {command}"


def is_musl() -> bool:
    """Whether this Python was built for musl, as on Alpine."""
    import sysconfig

    return any("musl" in str(sysconfig.get_config_var(name) or "") for name in ("SOABI", "HOST_GNU_TYPE"))


def _requirement(names: tuple[str, ...], *, with_installed: bool) -> str:
    wanted = [name for name in EXTRAS if name in names or (with_installed and is_installed(name))]
    return f"'toolwire[{','.join(wanted)}]'"


def _is_importable(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):
        return False


def _tool(prefix: Path) -> str:
    """What made the environment: uvx, uv (`uv tool install`), pipx, pipx run, or pip for everything else."""
    if (prefix / "uv-receipt.toml").is_file():
        return "uv"
    if (prefix / "pipx_metadata.json").is_file():
        return "pipx" if prefix.parent.name == "venvs" else "pipx run"
    return "uvx" if prefix.parent.name.startswith("archive-v") else "pip"


def _command() -> str:
    """`toolwire` with its subcommand, as it was typed."""
    words = ["toolwire"]
    if os.path.basename(sys.argv[0]) in ("toolwire", "__main__.py"):
        for word in sys.argv[1:3]:
            if not (word.isascii() and word.isalpha() and word.islower()):
                break
            words.append(word)
    return " ".join(words)
