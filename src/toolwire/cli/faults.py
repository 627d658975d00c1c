"""What went wrong, as one sentence and what to do, on standard error; and the exit code that says so.

Codes: 1 it failed, 2 it was asked for wrongly, 70 a bug of Toolwire, 130 Ctrl-C, 141 whoever read the output left.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress

from ..errors import ErrorInfo, ToolwireError
from .visible import one_line

FAILED = 1
USAGE = 2
BUG = 70
INTERRUPTED = 130
READER_LEFT = 141

_SHOWN = 300
"""Characters of what a replay compares."""
_USAGE_TYPES = frozenset({"ConfigError", "ToolDefinitionError"})


def say(sentence: str, hint: str = "") -> None:
    """One sentence for the person, and below it what to do."""
    lines = f"toolwire: {one_line(sentence)}\n"
    if hint:
        lines += f"  {one_line(hint)}\n"
    # Output comes before the words about it, also where both go to the same place.
    sys.stdout.flush()
    with suppress(OSError, ValueError):
        sys.stderr.write(lines)
        sys.stderr.flush()


def say_error(error: ErrorInfo) -> int:
    """Says what an error holds, with the hint in the words of the command; gives the exit code."""
    say(error.message, _command_hint(error))
    return USAGE if error.type in _USAGE_TYPES else FAILED


def _command_hint(error: ErrorInfo) -> str:
    """The library's hints name its arguments; here the same things are options and variables."""
    if error.type == "TimedOut" and error.facts.get("which") == "idle":
        return "Try again; if the server is only slow, raise --timeout."
    if error.type == "RunLimitReached":
        return _LIMIT_HINTS.get(str(error.facts.get("what")), error.hint)
    if error.type == "ReplayDiffers":
        then, now = (str(error.facts.get(name, "nothing"))[:_SHOWN] for name in ("recorded", "replayed"))
        return f"It was {then}; now it is {now}"
    if error.type == "SessionFailed":
        return f"{error.hint} To go on without writing it down: --no-session".lstrip()
    if error.type == "AuthenticationFailed" and "status" not in error.facts:
        return error.hint.replace(", or pass api_key", "").rstrip(".") + "; toolwire providers lists what is set up."
    return error.hint or _HINTS.get(error.type, "")


_LIMIT_HINTS = {
    "Vetoed": "Nothing of it was sent. Ask otherwise.",
    "RecordingFailed": "Name a file that toolwire run --record wrote.",
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
        say(f"the system refused: {error.strerror or error}", "Is there room on the disk, and is the output open?")
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
