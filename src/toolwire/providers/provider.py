"""What a row of the catalog says about one service: where it is, how it is asked, which key it wants, how it departs.

Only data, and functions of a few lines where data will not do. Nothing here reads the environment: `endpoint.py` fills
a row with what it is handed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import msgspec

from ..messages import Message
from .dialects import COMPATIBLE, ChatDialect


class Auth(msgspec.Struct, frozen=True):
    """How a key is sent: in which header and after which word, or as which member of the query."""

    header: str = ""
    scheme: str = ""
    query: str = ""

    def value(self, key: str) -> str:
        """The header's value."""
        return f"{self.scheme} {key}" if self.scheme else key


BEARER = Auth("Authorization", "Bearer")


def as_url(value: str) -> str:
    """An address as people write it, with the scheme that they leave out."""
    return (value if "://" in value else f"https://{value}").rstrip("/")


class Blank(msgspec.Struct, frozen=True):
    """A `{name}` in a row's URL, and the environment variables that fill it, the first that is set."""

    variables: tuple[str, ...]
    default: str = ""
    """Empty: it must be set."""
    form: Callable[[str], str] | None = None
    """Makes what goes into the URL of the variable's value; without it the value goes in quoted."""


class Provider(msgspec.Struct, frozen=True, kw_only=True):
    """One service. What is not said is as most compatible services have it."""

    name: str
    title: str
    aliases: tuple[str, ...] = ()
    """Other names that people know it by."""

    wire: str = "openai-chat"
    """The format that its answers come in."""
    request_wire: str = ""
    """The format that it is asked in, where that is another."""
    shape: Callable[[dict[str, Any]], dict[str, Any]] | None = None
    """What it wants otherwise in a request body of that format."""
    dialect: ChatDialect = COMPATIBLE
    """How its chat completions depart from OpenAI's: reasoning fields, id rule, schema. Other wires have none."""
    native_tools: bool = True
    """Whether its models can call tools by way of its interface."""

    base_url: str = ""
    """Empty: the person must give one."""
    base_url_variables: tuple[str, ...] = ()
    """Environment variables that override the base URL, as the service's own client reads them."""
    base_url_form: Callable[[str], str] | None = None
    """Makes a URL of what such a variable holds, where that may be less."""
    path: str = ""
    """Where requests go, after the base URL; empty: as the wire has it. `{model}` stands for the model."""
    blanks: dict[str, Blank] = {}
    """What fills the other `{names}` in the base URL and the path."""

    keys: tuple[str, ...] = ()
    """Environment variables with the key, the first that is set; none where no key is ever needed."""
    auth: Auth = BEARER
    """How the key is sent."""
    auth_of: dict[str, Auth] = {}
    """Variables that hold another kind of key, sent in another way."""
    key_needed: bool = True
    """False: it is asked without a key where none is set."""
    credentials: Literal["", "aws", "google"] = ""
    """Where no key is set: whose way of finding credentials on the machine is tried (`toolwire.signing`)."""
    headers: dict[str, str] = {}
    """What goes with every request besides the key."""
    headers_for: Callable[[Sequence[Message]], dict[str, str]] | None = None
    """Headers that depend on the conversation."""

    default_model: str = ""
    is_local: bool = False
    """Runs on this machine: found by looking at its port."""

    @property
    def asks_in(self) -> str:
        """The wire format of its requests."""
        return self.request_wire or self.wire
