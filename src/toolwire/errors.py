"""Every error Toolwire raises, in one tree.

The promise: whatever bytes, files or servers do, what leaves this package is a `ToolwireError`; anything else is a
bug. An error carries facts as attributes (provider, event, position, limit ...) so that a program can act on them,
and a `hint`: what the person reading it can do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec


class ErrorInfo(msgspec.Struct, frozen=True, omit_defaults=True):
    """An error as data: what a `SegmentEvent` carries and what is printed as JSON."""

    type: str
    message: str
    hint: str = ""
    facts: dict[str, Any] = {}


class ToolwireError(Exception):
    """The root. `message` is one sentence; `hint` says what to do; `facts` are for programs.

    `before` is what a decoder had made of the same call's input before the fault, so that nothing that came in order
    is lost and the result does not depend on where the input was cut.
    """

    before: Sequence[Any] = ()

    def __init__(self, message: str, *, hint: str = "", **facts: Any) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.facts = {name: value for name, value in facts.items() if value is not None}

    @property
    def hint(self) -> str:
        """What the reader can do, or empty. Tracebacks show it below the message."""
        return self._hint

    @hint.setter
    def hint(self, hint: str) -> None:
        self._hint = hint
        self.__notes__ = [hint] if hint else []

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["facts"][name]
        except KeyError:
            raise AttributeError(name) from None

    def info(self) -> ErrorInfo:
        """The same error as data."""
        return ErrorInfo(type(self).__name__, self.message, self.hint, dict(self.facts))


class ProtocolError(ToolwireError):
    """Bytes that break the wire format beyond what is tolerated. Facts: provider, event, position."""


class LimitExceeded(ToolwireError):
    """Something grew over its bound (see `toolwire.limits`). Facts: what, limit, position."""

    def __init__(self, what: str, limit: int, *, position: int | None = None, **facts: Any) -> None:
        where = "" if position is None else f" at byte {position}"
        super().__init__(
            f"{what} is over its limit of {limit:,}{where}",
            hint="If the source is trusted, raise this bound in toolwire.Limits.",
            what=what,
            limit=limit,
            position=position,
            **facts,
        )


class IncompleteStream(ToolwireError):
    """The stream stopped before its proper end. Facts: provider, position."""

    def __init__(
        self,
        message: str = "the stream broke off before its end",
        *,
        hint: str = "Nothing of it was run. Try again.",
        **facts: Any,
    ) -> None:
        super().__init__(message, hint=hint, **facts)


class IncompleteCall(ToolwireError):
    """A call that may not run: unfinished, not strict JSON, refused by the schema. Facts: tool, call_id."""


class ProviderError(ToolwireError):
    """The provider itself reported an error. Facts: provider, status, code, retry_after, and `refused`: "tools" where
    it takes none, "length" where the conversation is too long for the model.
    """


class AuthenticationFailed(ProviderError):
    """The key is missing or was refused (HTTP 401, 403)."""


class ModelNotFound(ProviderError):
    """The provider does not have this model."""


class RateLimited(ProviderError):
    """Too many requests, or no quota (HTTP 429). Fact: retry_after, in seconds, where the provider said so."""


class TransportError(ToolwireError):
    """The network, not the provider: no connection, reset, TLS. Facts: url, lasting (it will not pass by itself)."""


class TimedOut(TransportError):
    """Nothing came in time. Facts: which ("connect", "idle", "total"), seconds."""


class ConfigError(ToolwireError):
    """What the caller asked for does not exist or does not fit: a wire name, a provider, a file, a missing key."""


class ToolDefinitionError(ConfigError):
    """A function, class or schema that cannot become a tool."""


class TicketRefused(ToolwireError):
    """The executor was given a ticket that does not permit exactly this call."""


class AuditFailed(ToolwireError):
    """The audit trail cannot be written: what it was to tell of does not happen. Fact: path."""


class ProgramError(ToolwireError):
    """A program that could not be started. Facts: program, cwd, errno."""


class FileRefused(ToolwireError):
    """A path that may not or cannot be opened, or a file that cannot be changed. Fact: path."""


class RunLimitReached(ToolwireError):
    """An agent run reached one of its bounds (`toolwire.Bounds`). Facts: what, limit."""


class Vetoed(ToolwireError):
    """A hook of the program said no, or failed. Fact: turn."""


class SessionFailed(ToolwireError):
    """A session cannot be opened, read or written: what it was to tell of does not happen. Facts: path, id."""


class RecordingFailed(ToolwireError):
    """A recording cannot be written or read. Facts: path, line."""


class McpFailed(ToolwireError):
    """An MCP server could not be started, reached or understood, or may not be used. Facts: server, and `why`:
    "start", "lost", "timeout", "limit", "protocol", "login", "consent", "changed", "refused".
    `again`: seconds until it is tried again, where it was not tried now.
    """


class DurableFailed(ToolwireError):
    """A durable run, or the database that keeps it, cannot do what was asked. Facts: run, url, state."""


class LocalModelError(ToolwireError):
    """The embedded model could not be installed or started."""


def revived(info: ErrorInfo) -> ToolwireError:
    """The error that an `ErrorInfo` was made of, as far as it tells."""
    kind = globals().get(info.type, ToolwireError)
    if not (isinstance(kind, type) and issubclass(kind, ToolwireError)):
        kind = ToolwireError
    error: ToolwireError = kind.__new__(kind)
    ToolwireError.__init__(error, info.message, hint=info.hint)
    error.facts = {name: value for name, value in info.facts.items() if value is not None}
    return error
