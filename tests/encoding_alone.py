"""One encoder by itself, without the moving of the history that `encode_request` does before: any piece of a
conversation can be looked at.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from toolwire.providers.request import as_message
from toolwire.providers.wires import wire_format
from toolwire.tools.function import as_definition


def encode_alone(wire: str, messages: Iterable[Any], tools: Iterable[Any] = (), **options: Any) -> dict[str, Any]:
    """The body that this wire's encoder makes of the messages as they are."""
    return wire_format(wire).encode(
        **{"model": "m", **options},
        messages=[as_message(message) for message in messages],
        tools=[as_definition(tool) for tool in tools],
    )
