"""Writes `docs/command.md`, every command's help text, and the tables in `docs/providers.md` and `docs/text.md`."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path

COMMANDS = (
    "",
    "run",
    "decode",
    "parse",
    "request",
    "manifest",
    "prompt",
    "formats",
    "providers",
    "audit",
    "undo",
    "local",
    "local install",
    "local status",
    "local path",
    "policy",
    "policy check",
    "policy explain",
    "sandbox",
    "sandbox test",
    "sandbox show",
    "sessions",
    "sessions list",
    "sessions show",
    "sessions export",
    "sessions delete",
)
DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGE = DOCS / "command.md"
PROVIDERS_PAGE = DOCS / "providers.md"
TEXT_PAGE = DOCS / "text.md"
TABLE, END = "<!-- table: written by `make docs` -->\n", "<!-- end of table -->\n"
HEAD = """# The command

Written by `make docs` from the command's own help texts; a test keeps it so.
"""


def help_text(command: str) -> str:
    """What `toolwire COMMAND --help` prints, at a width of 100 and without colours."""
    plain = {**os.environ, "COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb"}
    line = [sys.executable, "-m", "toolwire", *command.split(), "--help"]
    return subprocess.run(line, capture_output=True, text=True, check=True, env=plain).stdout.strip()


def command_page() -> str:
    """The whole page."""
    page = io.StringIO()
    page.write(HEAD)
    for command in COMMANDS:
        lines = [text.rstrip() for text in help_text(command).splitlines()]
        page.write(f"\n## toolwire {command}".rstrip() + "\n\n```text\n" + "\n".join(lines) + "\n```\n")
    return page.getvalue()


def provider_table() -> str:
    """The catalog, a row for each provider."""
    from toolwire.providers.catalog import PROVIDERS

    lines = ["| name | service | wire | key | also needed | usual model |", "|---|---|---|---|---|---|"]
    for row in PROVIDERS.values():
        names = ", ".join(f"`{name}`" for name in (row.name, *row.aliases))
        wire = f"`{row.wire}`" + (f", asked in `{row.request_wire}`" if row.request_wire else "")
        keys = " or ".join(f"`{key}`" for key in row.keys) or "–"
        if row.credentials:
            keys += f", or {row.credentials.upper() if row.credentials == 'aws' else 'Google'} credentials"
        elif row.keys and not row.key_needed:
            keys += ", if it wants one"
        needs = dict.fromkeys(
            " or ".join(f"`{name}`" for name in blank.variables)
            + (f" (else `{blank.default}`)" if blank.default else "")
            for blank in row.blanks.values()
        )
        if not row.base_url and row.base_url_variables:
            needs[f"`{row.base_url_variables[0]}` or `--base-url`"] = None
        title = row.title + ("" if row.native_tools else " (no tool calls)")
        model = f"`{row.default_model}`" if row.default_model else "–"
        lines.append(f"| {names} | {title} | {wire} | {keys} | {'; '.join(needs) or '–'} | {model} |")
    return "\n".join(lines) + "\n"


def format_table() -> str:
    """The families of models, a row for each syntax."""
    from toolwire.embedded.chat import with_own_id
    from toolwire.embedded.format import CallToWrite, write_calls
    from toolwire.embedded.registry import format_names, other_names, text_format

    call = CallToWrite("search", {"query": "x"}, call_id="abcDEF123")
    lines = ["| name | models | a call |", "|---|---|---|"]
    for format_ in map(text_format, format_names()):
        if format_.models:
            names = ", ".join(f"`{name}`" for name in (format_.name, *other_names(format_.name)))
            written = write_calls(format_, [with_own_id(format_, call)]).strip().replace("\n", "⏎").replace("|", "\\|")
            quotes = "`" * (4 if "```" in written else 1)
            lines.append(f"| {names} | {', '.join(format_.models)} | {quotes}{written}{quotes} |")
    return "\n".join(lines) + "\n"


def with_table(page: Path, table: str) -> str:
    """A page with its table made anew."""
    before, _, rest = page.read_text().partition(TABLE)
    after = rest.partition(END)[2]
    return f"{before}{TABLE}{table}{END}{after}"


def providers_page() -> str:
    """The page with its table made anew."""
    return with_table(PROVIDERS_PAGE, provider_table())


def text_page() -> str:
    """The page with its table made anew."""
    return with_table(TEXT_PAGE, format_table())


if __name__ == "__main__":
    for path, text in ((PAGE, command_page()), (PROVIDERS_PAGE, providers_page()), (TEXT_PAGE, text_page())):
        path.write_text(text)
        print(f"wrote docs/{path.name}")
