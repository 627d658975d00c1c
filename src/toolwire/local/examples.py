"""Earlier turns that show the model how a call looks: hand-written for the demo's tools, made from a schema for others.

A handful of finished calls teaches a small model more than any instruction. Their values are unlike anything a
question asks for, and `narrowing` keeps them out of the arguments.
"""

from __future__ import annotations

from typing import Any

from .narrowing import plain_type

Example = tuple[str, dict[str, Any]]

DEMO: dict[str, list[Example]] = {
    "current_time": [
        ("What time is it in Cairo?", {"zone": "Africa/Cairo"}),
        ("Tell me the time in Madrid", {"zone": "Europe/Madrid"}),
    ],
    "calculate": [
        ("What is 31 + 45?", {"expression": "31 + 45"}),
        ("What is 20% of 50?", {"expression": "20 * 50 / 100"}),
        ("What is the sum of 6 and 11?", {"expression": "6 + 11"}),
    ],
    "list_files": [
        ("List the files here", {"folder": "."}),
        ("What is in the folder music?", {"folder": "music"}),
    ],
    "read_file": [
        ("Read poem.txt", {"path": "poem.txt"}),
        ("What does web/index.html say?", {"path": "web/index.html"}),
    ],
    "convert_units": [
        ("Convert 3 kg to ounces", {"value": 3, "from_unit": "kg", "to_unit": "ounces"}),
        ("How many yards is 20 meters?", {"value": 20, "from_unit": "meters", "to_unit": "yards"}),
    ],
}

_STRINGS = {
    "city": ("Oslo", "Quito"),
    "location": ("Oslo", "Quito"),
    "place": ("Oslo", "Quito"),
    "country": ("Norway", "Peru"),
    "name": ("Olga", "Bruno"),
    "query": ("blue whales", "apple pie"),
    "path": ("poem.txt", "web/index.html"),
    "file": ("poem.txt", "web/index.html"),
    "folder": ("music", "web"),
    "email": ("olga@example.org", "bruno@example.org"),
    "url": ("https://example.org", "https://example.com"),
    "language": ("Danish", "Greek"),
}
_OTHER_STRINGS = ("blue", "seven swans")
_NUMBERS = (31, 6)


def examples(tool: dict[str, Any], kept: list[str]) -> list[Example]:
    """Questions with the arguments of their calls, for the parameters `kept` of a tool."""
    name = str(tool.get("name", ""))
    schema = tool.get("parameters")
    every = schema.get("properties", {}) if isinstance(schema, dict) else {}
    properties = {key: every[key] for key in kept}
    written = DEMO.get(name)
    if written and all(set(arguments) == set(properties) for _, arguments in written):
        return written
    asked = str(tool.get("description") or "").split("\n")[0].rstrip(".")[:120] or name.replace("_", " ")
    made: list[Example] = []
    for turn in range(2):
        arguments = {key: _value(key, value, turn) for key, value in properties.items()}
        values = ", ".join(f"{key} {_spoken(value)}" for key, value in arguments.items())
        made.append((f"{asked}: {values}" if values else asked, arguments))
    return made if properties else made[:1]


def _value(key: str, value: Any, turn: int) -> Any:
    schema = value if isinstance(value, dict) else {}
    kind = plain_type(value)
    if schema.get("enum"):
        return schema["enum"][turn % len(schema["enum"])]
    if kind in {"number", "integer"}:
        return _NUMBERS[turn]
    if kind == "boolean":
        return turn == 0
    if kind == "array":
        return [_value(key, schema.get("items"), turn)]
    if kind == "object":
        return {}
    for word in key.lower().replace("-", "_").split("_"):
        if word in _STRINGS:
            return _STRINGS[word][turn]
    return _OTHER_STRINGS[turn]


def _spoken(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return " and ".join(map(str, value)) if isinstance(value, list) else str(value)
