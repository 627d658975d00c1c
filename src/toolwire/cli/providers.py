"""`toolwire providers`: who can be asked, and what is set up here. Never shows a key."""

from __future__ import annotations

import os
from collections.abc import Mapping

from ..providers.catalog import PROVIDERS, Provider


def providers() -> int:
    """Lists the providers, and which of them are set up here."""
    import asyncio

    from rich.table import Table
    from rich.text import Text

    from .console import PlainConsole
    from .discover import running_servers

    running = asyncio.run(running_servers(os.environ))
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for title, no_wrap in (("name", True), ("title", False), ("wire", True), ("key", True), ("here", False)):
        table.add_column(title, no_wrap=no_wrap, overflow="fold")
    for row in PROVIDERS.values():
        is_ready, words = _state(row, os.environ, running)
        table.add_row(
            row.name, row.title, row.wire, row.key_variable, Text(words, style="green" if is_ready else "dim")
        )
    console = PlainConsole()
    if not console.is_terminal:
        console.width = 200
    console.print(table)
    return 0


def _state(row: Provider, env: Mapping[str, str], running: Mapping[str, list[str]]) -> tuple[bool, str]:
    """Whether a provider can be used as things are, and why or why not."""
    if row.name == "local":
        from ..local.weights import installed_weights

        return (True, "installed") if installed_weights() is not None else (False, "toolwire local install")
    if row.is_local:
        from .discover import is_allowed

        if not is_allowed(env):
            return False, "not looked for"
        models = ", ".join(running.get(row.name, ()))
        return (True, f"running: {models}" if models else "running") if row.name in running else (False, "not running")
    if not row.base_url and not env.get(row.base_url_variable):
        return False, "needs --base-url"
    if row.name == "openai-compatible":
        return True, f"{row.base_url_variable} is set"
    return (True, "key is set") if env.get(row.key_variable) else (False, "no key")
