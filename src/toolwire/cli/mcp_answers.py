"""What a server answers when it is used by hand, printed or written to files."""

from __future__ import annotations

import mimetypes
import os
import sys
from base64 import b64decode
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import Any

from ..approval.hidden import marked
from ..errors import ConfigError
from ..mcp.config import ServerConfig
from ..messages import MediaPart, Part, TextPart
from .export import write_export
from .faults import say
from .inputs import as_text
from .mcp_looking import Look, look, say_failed
from .mcp_servers import McpHere, servers_here
from .visible import one_line, visible


def one_server(name: str, further: list[str] | None) -> tuple[McpHere, ServerConfig]:
    """The server of this name, among all that are known here."""
    here = servers_here(further)
    return here, here.chosen([name])[0]


def asked(here: McpHere, config: ServerConfig, ask: Look, hint: str = "") -> dict[str, Any] | None:
    """What the server answers; an error is said, or raised where it is one of usage. `hint` as for `say_failed`."""
    (seen,) = look(here, [config], ask)
    if isinstance(seen.error, ConfigError):
        raise seen.error
    if seen.error is not None:
        say_failed(seen.error, hint)
        return None
    answer: dict[str, Any] = seen.found
    return answer


def pairs(given: Sequence[str]) -> list[tuple[str, str]]:
    """Arguments of the form KEY=VALUE."""
    found = []
    for each in given:
        name, equals, value = as_text(each).partition("=")
        if not (name and equals):
            raise ConfigError(f"{marked(as_text(each))} is no argument", hint="Write it as KEY=VALUE.")
        found.append((name, value))
    return found


def print_parts(parts: Sequence[Part], folder: str | None) -> None:
    """Words to standard output, made visible; the rest into the folder, or a mention of it."""
    for part in parts:
        if isinstance(part, TextPart):
            sys.stdout.write(visible(part.text).rstrip("\n") + "\n")
        elif isinstance(part, MediaPart):
            kind = one_line(part.media_type)
            if part.data is None:
                print(f"[{kind}: {one_line(part.url or '')}]")
            elif folder is None:
                facts = f"{kind}, {len(b64decode(part.data)):,} bytes"
                say(f"a picture, sound or file ({facts}) is not shown", "--output FOLDER writes it there.")
            else:
                Path(folder).mkdir(parents=True, exist_ok=True)
                path = _free_name(folder, mimetypes.guess_extension(part.media_type) or ".bin")
                write_export(b64decode(part.data), str(path), force=False)
                print(f"[{kind}: {as_text(str(path))}]")
    sys.stdout.flush()


def _free_name(folder: str, ending: str) -> Path:
    """The first number that no file there has."""
    names = (Path(folder, f"{number}{ending}") for number in count(1))
    return next(name for name in names if not os.path.lexists(name))
