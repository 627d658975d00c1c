"""The official SDK, which is an extra and takes most of a second to import: whether it is there, and its loading."""

from __future__ import annotations

import importlib.util

from ..errors import ConfigError


def check_sdk() -> None:
    """Raises a `ConfigError` that says what to install where the SDK is missing. Imports nothing."""
    if importlib.util.find_spec("mcp") is None:
        raise ConfigError("MCP needs the SDK for it, which is not installed", hint="pip install 'toolwire[mcp]'")


def import_sdk() -> None:
    """Imports the SDK and what stands on it: in a thread, so that nobody waits who need not."""
    from . import connection

    del connection
