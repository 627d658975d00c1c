"""The official SDK, which is an extra and takes most of a second to import: whether it is there, and its loading."""

from __future__ import annotations

from ..extras import require


def check_sdk() -> None:
    """Raise a `ConfigError` that says what to install if the SDK is missing. Imports nothing."""
    require("mcp")


def import_sdk() -> None:
    """Imports the SDK and what stands on it: in a thread, so that nobody waits who need not."""
    from . import connection

    del connection
