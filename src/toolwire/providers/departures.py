"""The small functions of the catalog: what single services want that no table can say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..errors import ConfigError
from ..messages import MediaPart, Message, ToolResultPart
from .provider import as_url

_LABEL = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-")
_OLLAMA_PORT = "11434"


def azure_endpoint(value: str) -> str:
    """The resource's address, as `AZURE_OPENAI_ENDPOINT` holds it: some copy it with a part of the path."""
    scheme, _, rest = as_url(value).partition("://")
    host, *path = rest.partition("?")[0].split("/")
    if "openai" in path:  # a resource's own name may begin so too
        path = path[: path.index("openai")]
    return f"{scheme}://{'/'.join([host, *path])}".rstrip("/")


def databricks_host(value: str) -> str:
    """The workspace's address, as Databricks' own client reads it: what a browser shows after it does not count."""
    scheme, _, rest = as_url(value).partition("://")
    return f"{scheme}://{rest.partition('/')[0].partition('?')[0]}"


def vertex_host(location: str) -> str:
    """Google's server for a location: one for the whole world, one for each continent and one for each region."""
    if location == "global":
        return "aiplatform.googleapis.com"
    if location in ("us", "eu"):
        return f"aiplatform.{location}.rep.googleapis.com"
    return f"{region(location)}-aiplatform.googleapis.com"


def region(value: str) -> str:
    """A region. It becomes a part of a server's name, and the key goes there: it must not lead elsewhere."""
    if not _LABEL.issuperset(value):
        raise ConfigError(f"{value[:64]!r} is no region", hint="A region is written as us-east-1 or europe-west4.")
    return value


def ollama_url(value: str) -> str:
    """The address that `OLLAMA_HOST` holds: perhaps only a host, a port, or the address that a server listens at.

    Ollama's own interface is beside the compatible one, whose `/v1` some variables name.
    """
    scheme, _, rest = value.rpartition("://")
    host, slash, path = rest.partition("/")
    if not host or (host.startswith(":") and host[1:].isdigit()):
        host = f"127.0.0.1{host}"
    bare, _, port = host.rpartition(":")
    if not bare or not port.isdigit():
        bare, port = host, {"http": "80", "https": "443"}.get(scheme, _OLLAMA_PORT)
    if bare in ("0.0.0.0", "[::]"):
        bare = "127.0.0.1"
    return f"{scheme or 'http'}://{bare}:{port}{slash}{path}".rstrip("/").removesuffix("/v1")


def vertex_anthropic(body: dict[str, Any]) -> dict[str, Any]:
    """Vertex has the model in the URL, and the version of Anthropic's format in the body."""
    rest = {name: value for name, value in body.items() if name != "model"}
    return {"anthropic_version": "vertex-2023-10-16", **rest}


def bedrock_anthropic(body: dict[str, Any]) -> dict[str, Any]:
    """Bedrock has the model and that the answer is streamed in the URL, and the version of the format in the body."""
    rest = {name: value for name, value in body.items() if name not in ("model", "stream")}
    return {"anthropic_version": "bedrock-2023-05-31", **rest}


def copilot_initiator(messages: Sequence[Message]) -> dict[str, str]:
    """Copilot counts what a person asked apart from what an agent goes on with, and wants to be told of pictures."""
    by_person = not messages or messages[-1].role == "user"
    headers = {"X-Initiator": "user" if by_person else "agent"}
    if any(_has_media(message) for message in messages):
        headers["Copilot-Vision-Request"] = "true"
    return headers


def _has_media(message: Message) -> bool:
    for part in message.parts:
        inner = part.content if isinstance(part, ToolResultPart) and isinstance(part.content, list) else [part]
        if any(isinstance(each, MediaPart) for each in inner):
            return True
    return False
