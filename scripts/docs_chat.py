"""`docs/reference/chat.md`: the slash commands and the keys of the chat, from their own tables."""

from __future__ import annotations

from .docs_library import cell, code, table

HEAD = """# Slash commands and keys

What can be typed in `toolwire chat`, written by `make docs` from the source; a test keeps it so. `/help` and `/keys`
show the same in the chat, which has [a page of its own](../chat.md). The beginning of a name is enough where no other
begins so: `/exp` is `/export`.
"""
WHILE = "Those with a mark may be used while an answer goes on; the others wait for its end.\n"


def chat_page() -> str:
    """A table of the commands, and one of keys for each place."""
    from toolwire.chat.commands import COMMANDS
    from toolwire.tui.key_table import KEYS

    rows = [
        (
            code(each.line),
            ", ".join(code(f"/{name}") for name in each.aliases),
            cell(f"{each.summary} {each.more}"),
            _mark(each.at_once),
        )
        for each in COMMANDS.values()
    ]
    parts = [HEAD, "## Commands\n", WHILE, table(("command", "also", "what it does", "at once"), rows), "## Keys\n"]
    for where, keys in KEYS.items():
        shown = [(", ".join(map(code, row.shown.split("  "))), cell(row.words)) for row in keys]
        parts += [f"### {where}\n", table(("key", "what it does"), shown)]
    return "\n".join(parts)


def _mark(is_so: bool) -> str:
    return "●" if is_so else ""
