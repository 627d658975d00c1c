"""What went wrong, as one sentence and what to do, on standard error; and the exit code that says so.

Codes: 1 it failed, 2 it was asked for wrongly, 3 a run reached one of its bounds, 70 a bug of Toolwire, 130 Ctrl-C,
141 whoever read the output left, 143 it was told to end.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress

import msgspec

from ..errors import ErrorInfo, ToolwireError
from .visible import one_line

FAILED = 1
USAGE = 2
BUG = 70
INTERRUPTED = 130
READER_LEFT = 141
TERMINATED = 143

_SHOWN = 300
"""Characters of what a replay compares."""
_BEFORE = 60
"""Of these, before the place where the two part."""
_USAGE_TYPES = frozenset({"ConfigError", "ToolDefinitionError"})


def say(sentence: str, hint: str = "") -> None:
    """One sentence for the person, and below it what to do; each line of the hint is indented."""
    lines = f"toolwire: {one_line(sentence)}\n"
    if hint:
        lines += "".join(f"  {one_line(line)}\n" for line in hint.split("\n") if line.strip())
    # Output comes before the words about it, also where both go to the same place.
    sys.stdout.flush()
    with suppress(OSError, ValueError):
        sys.stderr.write(lines)
        sys.stderr.flush()


def say_error(error: ErrorInfo) -> int:
    """Says what an error holds, with the hint in the words of the command; gives the exit code."""
    say(error.message, command_hint(error))
    return USAGE if error.type in _USAGE_TYPES else FAILED


def command_hint(error: ErrorInfo) -> str:
    """The library's hints name its arguments; here the same things are options and variables."""
    if error.type == "TimedOut" and error.facts.get("which") == "idle":
        return "Try again; if the server is only slow, raise --timeout."
    if error.type == "RunLimitReached":
        return _LIMIT_HINTS.get(str(error.facts.get("what")), error.hint)
    if error.type == "ReplayDiffers":
        then, now = _where_they_part(error.facts.get("recorded"), error.facts.get("replayed"))
        return f"It was {then}; now it is {now}. Play it with the Toolwire that recorded it, or record it again."
    if error.type == "SessionFailed":
        return f"{error.hint} To go on without writing it down, start with --no-session.".lstrip()
    if error.type == "AuthenticationFailed":
        return _key_hint(error)
    if error.facts.get("refused") == "tools":
        return "If it has no tool calls, let the model call in text: --stream-parser xml"
    if "Retries." in error.hint:
        return f"Try again in {error.facts.get('retry_after'):g} s: the provider asks for so long a pause."
    return error.hint or _HINTS.get(error.type, "")


def _key_hint(error: ErrorInfo) -> str:
    """Which variable the key is in: the command takes it from nowhere else."""
    if "status" not in error.facts:
        return error.hint.replace(", or pass api_key", "").rstrip(".") + "; toolwire providers lists what is set up."
    from ..providers.catalog import find_provider

    provider = find_provider(str(error.facts.get("provider")))
    used = next((name for name in provider.keys if os.environ.get(name)), None) if provider is not None else None
    return error.hint if used is None else f"Check the key in {used}, and that it is one for this server."


def _where_they_part(*values: object) -> list[str]:
    """Each value as JSON, from shortly before the first place where they differ."""
    texts = ["nothing" if value is None else msgspec.json.encode(value).decode() for value in values]
    common = next((at for at, chars in enumerate(zip(*texts, strict=False)) if len(set(chars)) > 1), 0)
    start = max(0, common - _BEFORE) if common > _SHOWN // 2 else 0
    return [f"{'…' * (start > 0)}{text[start : start + _SHOWN]}{'…' * (len(text) > start + _SHOWN)}" for text in texts]


_LIMIT_HINTS = {
    "turns": "Raise --max-turns if the task needs more.",
    "tokens": "Raise --max-tokens if the task needs more; --resume goes on from here.",
    "seconds": "Raise --max-seconds if the task needs more; --resume goes on from here.",
    "repeated calls": "Say what it should do otherwise.",
}
"""For each bound of a run, in the words of the command."""
_HINTS = {
    "Vetoed": "Nothing of it was sent. Ask otherwise.",
    "RecordingFailed": "Name a file that toolwire run --record wrote.",
    "ProtocolError": "Try again; if it stays so, the server does not speak the format that was expected of it.",
    "McpFailed": "toolwire mcp test says which servers work here.",
    "ProviderError": "Try again later; the provider's status page may say more.",
}
"""Where the library has no better one."""


def guarded(work: Callable[[], int]) -> int:
    """Does `work` and gives its exit code; whatever it raises becomes a sentence and a code, never a traceback."""
    try:
        try:
            code = work()
        except ToolwireError as error:
            code = say_error(error.info())
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        _drop_output()
        return READER_LEFT
    except OSError as error:
        _drop_output()
        hint = "Is there room on the disk, and is the output open?"
        if "usable temporary directory" in str(error):
            hint = "Set TMPDIR to a folder that you can write."
        say(f"the system refused: {error.strerror or error}", hint)
        return FAILED
    except Exception as error:
        if os.environ.get("TOOLWIRE_DEBUG") == "1":
            import traceback

            traceback.print_exc()
        with suppress(OSError):
            say(
                f"this is a bug in Toolwire: {type(error).__name__}: {error}",
                "Run it again with TOOLWIRE_DEBUG=1 in the environment and report what it prints.",
            )
        return BUG


def _drop_output() -> None:
    """Nobody reads it, or it cannot be written: keeps the interpreter from trying again when it ends."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
