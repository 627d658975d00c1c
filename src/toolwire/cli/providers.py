"""`toolwire providers`: who can be asked, and what is set up here. Never shows a key."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Annotated

import msgspec
from cyclopts import Parameter

from ..providers.catalog import PROVIDERS
from ..providers.endpoint import missing
from ..providers.provider import Provider
from .visible import json_bytes

_WIDE = 110
"""Columns from which on there is room for the titles too."""


class Listed(msgspec.Struct, frozen=True):
    """A provider as it is listed."""

    name: str
    title: str
    aliases: tuple[str, ...]
    wire: str
    native_tools: bool
    default_model: str
    ready: bool
    """Whether it can be asked as things are."""
    here: str
    """Why, or why not."""
    missing: list[tuple[str, ...]]
    """Variables that are not set: of each choice one must be."""


def providers(
    *,
    json: Annotated[bool, Parameter(negative="", show_default=False)] = False,
) -> int:
    """Lists the providers, and which of them are set up here.

    Parameters
    ----------
    json
        Print one JSON object for each provider, a line each.
    """
    import asyncio

    from ..settings.loading import load_settings
    from .discover import running_servers
    from .services import use_services

    use_services(load_settings(os.environ))
    running = asyncio.run(running_servers(os.environ))
    listed = [_listed(row, os.environ, running) for row in PROVIDERS.values()]
    if json:
        sys.stdout.buffer.write(b"".join(json_bytes(each) + b"\n" for each in listed))
    else:
        _print_table(listed)
    return 0


def _print_table(listed: list[Listed]) -> None:
    from rich.table import Table
    from rich.text import Text

    from .console import PlainConsole

    console = PlainConsole()
    if not console.is_terminal:
        console.width = 240
    titles = console.width >= _WIDE
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for heading in ("name", *(["title"] if titles else []), "wire"):
        table.add_column(heading, no_wrap=True)
    table.add_column("here", overflow="fold")
    for each in listed:
        here = Text(each.here, style="green" if each.ready else "dim")
        table.add_row(each.name, *([each.title] if titles else []), each.wire, here)
    if console.is_terminal:
        console.print(table)
        return
    with console.capture() as lines:
        console.print(table)
    console.out("\n".join(line.rstrip() for line in lines.get().splitlines()))


def _listed(row: Provider, env: Mapping[str, str], running: Mapping[str, list[str]]) -> Listed:
    lacks = missing(row, env)
    is_ready, here = _state(row, env, running, lacks)
    return Listed(
        name=row.name,
        title=row.title,
        aliases=row.aliases,
        wire=row.wire,
        native_tools=row.native_tools,
        default_model=row.default_model,
        ready=is_ready,
        here=here,
        missing=lacks,
    )


def _state(
    row: Provider, env: Mapping[str, str], running: Mapping[str, list[str]], lacks: list[tuple[str, ...]]
) -> tuple[bool, str]:
    """Whether a provider can be used as things are, and why or why not."""
    from .discover import OWNERS, is_allowed, key_words

    if row.name == "local":
        from ..local.weights import installed_weights

        return (True, "installed") if installed_weights() is not None else (False, "toolwire local install")
    if row.is_local:
        if not is_allowed(env):
            return False, "not looked for"
        models = ", ".join(running.get(row.name, ()))
        return (True, f"running: {models}" if models else "running") if row.name in running else (False, "not running")
    words = key_words(row, env)
    needs = [_usual(row, choice) for choice in lacks]
    if row.credentials and not words:
        needs.append(f"{row.keys[0]} or {OWNERS[row.credentials]} credentials")
    if needs:
        return False, f"needs {', '.join(needs)}"
    named = next((name for name in row.base_url_variables if env.get(name)), "")
    return True, words or (f"{named} is set" if named else "set up in config.toml")


def _usual(row: Provider, choice: tuple[str, ...]) -> str:
    """The variable that most people set, of those that would do."""
    return next((variable for variable in choice if variable not in row.auth_of), choice[0])
