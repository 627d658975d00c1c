"""`docs/reference/settings.md`: every setting, from what the settings say of themselves."""

from __future__ import annotations

from typing import Any

from .docs_library import cell, code, table

HEAD = """# Settings

Every setting of `~/.config/toolwire/config.toml`, written by `make docs` from the source; a test keeps it so.
[Configuration](../configuration.md) says how the file, the environment and the options of the command go together;
`toolwire config init` writes a file with all of this as comments.
"""
PARTS = {
    "": "At the top of the file.",
    "chat": "In the table `[chat]`: how `toolwire chat` looks.",
    "providers.NAME": "In a table for each provider, such as `[providers.work]`: one of the catalog as you use it, or "
    "a service of your own. Keys never stand here: `key_variable` names the environment variable that holds one.",
    'prices."PROVIDER:MODEL"': 'In a table for each model, such as `[prices."openai:gpt-4.1-mini"]`: what a million '
    "tokens cost, in your currency.",
}


def _default(value: Any) -> str:
    from toolwire.settings.template import toml_value

    if value in ("", (), None):
        return ""
    return code(toml_value(int(value) if isinstance(value, float) and value == int(value) else value))


def settings_page() -> str:
    """A table for each part of the file."""
    from toolwire.settings.checking import FIELDS, meaning_of
    from toolwire.settings.loading import scalar_names, variables_of
    from toolwire.settings.model import TABLES, ChatSettings, Price, Service, Settings
    from toolwire.settings.template import toml_value

    parts = [HEAD]
    known = scalar_names()
    for (name, words), struct in zip(PARTS.items(), (Settings, ChatSettings, Service, Price), strict=True):
        rows = []
        for key, field in FIELDS[struct].items():
            if not name and key in TABLES:
                continue
            meaning, example = meaning_of(struct, key)
            full = f"{name}.{key}" if name else key
            variables = " or ".join(map(code, variables_of(full))) if full in known else ""
            if full == "base_url":
                variables += ", for `openai-compatible` alone"
            rows.append((code(key), _default(field.default), variables, cell(meaning), code(toml_value(example))))
        parts += [f"## {name or 'Top level'}\n", words + "\n"]
        parts.append(table(("setting", "default", "variable", "meaning", "example"), rows))
    return "\n".join(parts)
