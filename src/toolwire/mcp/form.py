"""A form that a server wants filled in: the flat JSON Schema of MCP's elicitation, read into fields for a person.

Only plain values are asked for: text, numbers, yes or no, one or several of a list. Whatever else a server writes there
is refused as a whole, since nobody could be shown what they give.
"""

from __future__ import annotations

import datetime
import math
import unicodedata
from typing import Any, Literal
from urllib.parse import urlsplit

import msgspec

from ..errors import McpFailed, ToolDefinitionError
from ..tools.check import ArgumentCheck, cut

FIELDS = 32
"""Of one form: more than anyone fills in at a terminal."""
FORM_BYTES = 32_768
CHOICES = 200
TEXT_CHARACTERS = 20_000
"""Of one answer: a page that was pasted, and no book."""

Kind = Literal["text", "integer", "number", "yes or no", "one of", "some of"]

_PLAIN: dict[str, Kind] = {"string": "text", "integer": "integer", "number": "number", "boolean": "yes or no"}
_SECRETS = ("password", "passwd", "passphrase", "passcode", "secret", "token", "credential", "apikey", "privatekey")
_SECRET_WORDS = frozenset({"pin", "pwd", "key", "cvv", "cvc", "otp", "ssn"})
"""Too short to be looked for inside of other words, or in a description that says what not to give."""
_FORMATS = frozenset({"email", "uri", "date", "date-time"})


class Choice(msgspec.Struct, frozen=True):
    """One of the values that a field takes, and what the server calls it."""

    value: str
    words: str


class Field(msgspec.Struct, frozen=True, kw_only=True):
    """One value that a person is asked for. All texts are the server's own: show them marked."""

    name: str
    kind: Kind
    required: bool
    title: str = ""
    description: str = ""
    format: str = ""
    """`email`, `uri`, `date` or `date-time`; empty for any text."""
    default: Any = None
    """None: there is none."""
    choices: tuple[Choice, ...] = ()
    schema: dict[str, Any]

    @property
    def looks_secret(self) -> bool:
        """Whether it asks for what no form should: a password, a key, a token. A guess by its words."""
        named = _plain_letters(f"{self.name} {self.title}")
        words = "".join(char if char.isalnum() else " " for char in named).split()
        return speaks_of_secret(f"{named} {self.description}") or not _SECRET_WORDS.isdisjoint(words)

    def problem(self, value: Any) -> str | None:
        """None where this field takes the value, else why not."""
        if isinstance(value, str) and len(value) > TEXT_CHARACTERS:
            return f"it has {len(value):,} characters, and {TEXT_CHARACTERS:,} can be given"
        if isinstance(value, float) and not math.isfinite(value):
            return "it is no number"
        found = ArgumentCheck("form", _object({self.name: self.schema})).problem({self.name: value})
        if found is None and self.format and isinstance(value, str):
            found = _format_problem(self.format, value)
        return found


class Form(msgspec.Struct, frozen=True):
    """What is asked for, in the server's order."""

    fields: tuple[Field, ...]

    def problem(self, content: dict[str, Any]) -> str | None:
        """None where this is an answer to the form, else what is wrong with it."""
        fields = {field.name: field for field in self.fields}
        for name in content:
            if name not in fields:
                return f"there is no field {cut(repr(name))}"
        for name, field in fields.items():
            if name not in content:
                if field.required:
                    return f"{cut(name)} is missing"
            elif (found := field.problem(content[name])) is not None:
                return found
        return None


def speaks_of_secret(text: str) -> bool:
    """Whether a password, a key or a token is named there, however it is spaced or dressed up. A guess."""
    joined = "".join(char for char in _plain_letters(text) if char.isalnum())
    return any(secret in joined for secret in _SECRETS)


def read_form(server: str, schema: Any) -> Form:
    """The fields of a form. `McpFailed` says why it is none that a person could be asked to fill in."""
    if not isinstance(schema, dict) or schema.get("type") != "object" or not isinstance(schema.get("properties"), dict):
        raise _refused(server, "it is no object with properties")
    try:
        size = len(msgspec.json.encode(schema))
    except (msgspec.EncodeError, TypeError, ValueError, RecursionError):
        raise _refused(server, "it is no plain JSON") from None
    properties: dict[str, Any] = schema["properties"]
    if size > FORM_BYTES or len(properties) > FIELDS:
        raise _refused(server, f"it has {len(properties):,} fields and {size:,} bytes; {FIELDS} and {FORM_BYTES:,} do")
    required = schema.get("required") or []
    if not (isinstance(required, list) and all(isinstance(name, str) and name in properties for name in required)):
        raise _refused(server, "what it requires is no list of its fields")
    form = Form(tuple(_field(server, name, each, name in required) for name, each in properties.items()))
    try:
        ArgumentCheck("form", _object({field.name: field.schema for field in form.fields}))
    except ToolDefinitionError as error:
        raise _refused(server, error.message) from None
    return form


def _field(server: str, name: str, given: Any, required: bool) -> Field:
    if not isinstance(given, dict):
        raise _refused(server, f"{cut(repr(name))} is described by no object")
    plain = _without_null(given)
    choices = _choices(server, name, plain)
    kind: Kind | None
    match plain.get("type", "string" if choices else None):
        case "array":
            kind = "some of" if choices else None
        case str(type_name) if type_name in _PLAIN:
            kind = "one of" if choices and type_name == "string" else _PLAIN[type_name]
        case _:
            kind = None
    if kind is None:
        raise _refused(server, f"{cut(repr(name))} is neither a plain value nor a choice of some")
    field = Field(
        name=name,
        kind=kind,
        required=required,
        title=_text(given.get("title")),
        description=_text(given.get("description")),
        format=known if kind == "text" and (known := _text(plain.get("format"))) in _FORMATS else "",
        choices=choices,
        schema=_checked(plain, choices),
    )
    default = given.get("default", plain.get("default"))
    return field if default is None or field.problem(default) else msgspec.structs.replace(field, default=default)


def _without_null(given: dict[str, Any]) -> dict[str, Any]:
    """The schema of a value that may also be null, without that: what is not filled in is left out."""
    kinds = given.get("type")
    if isinstance(kinds, list):
        some = [kind for kind in kinds if kind != "null"]
        return {**given, "type": some[0] if len(some) == 1 else some}
    branches = given.get("anyOf")
    if "type" not in given and isinstance(branches, list):
        some = [each for each in branches if not (isinstance(each, dict) and each.get("type") == "null")]
        if len(some) == 1 and isinstance(some[0], dict):
            return some[0]
    return given


def _choices(server: str, name: str, plain: dict[str, Any]) -> tuple[Choice, ...]:
    """What can be chosen, as any of MCP's four ways has it."""
    several = plain.get("type") == "array"
    source = plain.get("items") if several else plain
    if not isinstance(source, dict):
        return ()
    values, words = source.get("enum"), source.get("enumNames")
    titled = source.get("anyOf" if several else "oneOf")
    if isinstance(titled, list):
        values = [each.get("const") if isinstance(each, dict) else None for each in titled]
        words = [each.get("title") if isinstance(each, dict) else None for each in titled]
    if values is None:
        return ()
    if not (isinstance(values, list) and values and all(isinstance(value, str) for value in values)):
        raise _refused(server, f"what {cut(repr(name))} can be is no list of texts")
    if len(values) > CHOICES:
        raise _refused(server, f"{cut(repr(name))} has {len(values):,} choices; {CHOICES} do")
    named = words if isinstance(words, list) and len(words) == len(values) else values
    return tuple(Choice(value, _text(shown) or value) for value, shown in zip(values, named, strict=True))


def _checked(plain: dict[str, Any], choices: tuple[Choice, ...]) -> dict[str, Any]:
    """The part of a field's schema that is checked. Its formats and its words are not for a validator."""
    some = {"enum": [choice.value for choice in choices]}
    match plain.get("type"):
        case "array":
            bounds = {key: plain[key] for key in ("minItems", "maxItems") if _is_count(plain.get(key))}
            return {"type": "array", "items": some, "uniqueItems": True, **bounds}
        case "integer" | "number" as kind:
            limits = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
            return {"type": kind, **{key: plain[key] for key in limits if _is_number(plain.get(key))}}
        case "boolean":
            return {"type": "boolean"}
    if choices:
        return some
    return {
        "type": "string",
        **{key: plain[key] for key in ("minLength", "maxLength") if _is_count(plain.get(key))},
        **({"pattern": plain["pattern"]} if isinstance(plain.get("pattern"), str) else {}),
    }


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _plain_letters(text: str) -> str:
    """The text in small letters, without those of other widths and styles that only look like them."""
    return unicodedata.normalize("NFKC", text).lower()


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _format_problem(name: str, value: str) -> str | None:
    """What is wrong with a text of this format."""
    try:
        match name:
            case "email":
                local, _, domain = value.rpartition("@")
                if not (local and domain) or any(char.isspace() for char in value):
                    return "this is no address for mail, such as ann@example.org"
            case "uri":
                if not urlsplit(value).scheme or any(char.isspace() for char in value):
                    return "this is no address, such as https://example.org/"
            case "date":
                if len(value) != len("2026-01-31"):
                    raise ValueError
                datetime.date.fromisoformat(value)
            case "date-time":
                if "T" not in value.upper():
                    raise ValueError
                datetime.datetime.fromisoformat(value)
    except ValueError:
        return {
            "uri": "this is no address, such as https://example.org/",
            "date": "this is no date, such as 2026-01-31",
            "date-time": "this is no time, such as 2026-01-31T18:00:00Z",
        }[name]
    return None


def _refused(server: str, reason: str) -> McpFailed:
    return McpFailed(
        f"the form that the MCP server {server!r} wants filled in cannot be used: {reason}",
        hint="Nobody was asked. Tell the makers of the server.",
        server=server,
        why="protocol",
    )
