"""What went wrong, as one sentence and what to do, on standard error; and the exit code that says so.

Codes: 1 it failed, 2 it was asked for wrongly, 70 a bug of Toolwire, 130 Ctrl-C, 141 whoever read the output left.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress

from cyclopts import CycloptsError

from ..errors import ConfigError, ErrorInfo, ToolwireError
from .visible import one_line

FAILED = 1
USAGE = 2
BUG = 70
INTERRUPTED = 130
READER_LEFT = 141

_USAGE_TYPES = frozenset({"ConfigError", "ToolDefinitionError"})


def say(sentence: str, hint: str = "") -> None:
    """One sentence for the person, and below it what to do."""
    lines = f"toolwire: {one_line(sentence)}\n"
    if hint:
        lines += f"  {one_line(hint)}\n"
    # Output comes before the words about it, also where both go to the same place.
    with suppress(OSError, ValueError):
        sys.stdout.flush()
    with suppress(OSError, ValueError):
        sys.stderr.write(lines)
        sys.stderr.flush()


def exit_code(error: ErrorInfo) -> int:
    """The exit code for an error that came as data."""
    return USAGE if error.type in _USAGE_TYPES else FAILED


def guarded(work: Callable[[], int]) -> int:
    """Does `work` and gives its exit code; whatever it raises becomes a sentence and a code, never a traceback."""
    try:
        code = work()
        sys.stdout.flush()
        return code
    except ToolwireError as error:
        say(error.message, error.hint)
        return USAGE if isinstance(error, ConfigError) else FAILED
    except CycloptsError as error:
        say(_usage_words(error), f"See: toolwire {_command_of(error)}--help")
        return USAGE
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        _drop_output()
        return READER_LEFT
    except OSError as error:
        say(f"the system refused: {error.strerror or error}", "Is there room on the disk, and is the output open?")
        _drop_output()
        return FAILED
    except Exception as error:
        if os.environ.get("TOOLWIRE_DEBUG") == "1":
            import traceback

            traceback.print_exc()
        say(
            f"this is a bug in Toolwire: {type(error).__name__}: {error}",
            "Run it again with TOOLWIRE_DEBUG=1 in the environment and report what it prints.",
        )
        return BUG


def _usage_words(error: CycloptsError) -> str:
    words = str(error).strip()
    return words[:1].lower() + words[1:]


def _command_of(error: CycloptsError) -> str:
    return "".join(f"{name} " for name in error.command_chain or ())


def _drop_output() -> None:
    """Nobody reads it, or it cannot be written: keeps the interpreter from trying again when it ends."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
