"""Writes what of docs/ is generated from the code: whole reference pages, and the tables in two guides."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from .docs_chat import chat_page
from .docs_command import command_page
from .docs_gallery import gallery_page
from .docs_library import durable_page, library_page
from .docs_pictures import inspect_picture
from .docs_settings import settings_page
from .docs_tables import errors_page, events_page, limits_page

DOCS = Path(__file__).resolve().parents[1] / "docs"
TABLE, END = "<!-- table: written by `make docs` -->\n", "<!-- end of table -->\n"


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
            quotes, gap = ("````", " ") if "```" in written else ("`", "")
            lines.append(f"| {names} | {', '.join(format_.models)} | {quotes}{gap}{written}{gap}{quotes} |")
    return "\n".join(lines) + "\n"


def with_table(page: str, table: Callable[[], str]) -> Callable[[], str]:
    """A page of which only the table is made anew."""

    def made() -> str:
        before, _, rest = (DOCS / page).read_text().partition(TABLE)
        return f"{before}{TABLE}{table()}{END}{rest.partition(END)[2]}"

    return made


GENERATED: dict[str, Callable[[], str]] = {
    "command.md": command_page,
    "providers.md": with_table("providers.md", provider_table),
    "text.md": with_table("text.md", format_table),
    "reference/chat.md": chat_page,
    "reference/library.md": library_page,
    "reference/durable.md": durable_page,
    "reference/events.md": events_page,
    "reference/errors.md": errors_page,
    "reference/limits.md": limits_page,
    "reference/settings.md": settings_page,
    "gallery/index.md": gallery_page,
    "inspect.svg": inspect_picture,
}
"""What is written, by its path below docs/."""


def main() -> None:
    """Writes all of it; tells what became different."""
    for name, make in GENERATED.items():
        path, text = DOCS / name, make()
        if not path.exists() or path.read_text() != text:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
            print(f"wrote docs/{name}")


if __name__ == "__main__":
    main()
