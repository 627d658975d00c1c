"""Small, safe tools that really do something: what a first chat with a local model can call.

They read and compute, and change nothing. Their texts are short on purpose: small models must manage them. What a
model gets wrong comes back as a `ConfigError` whose message tells it what to write instead.
"""

from __future__ import annotations

import codecs
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from difflib import get_close_matches
from functools import lru_cache
from itertools import islice
from pathlib import Path, PurePath

from ..errors import ConfigError, FileRefused
from ..files.beneath import Roots
from .check import quote
from .definition import ToolDefinition
from .demo_math import calculate, convert_units
from .function import as_definition, tool

MAX_ENTRIES = 200
MAX_CHARACTERS = 20_000
_MAX_SCAN = 10_000
_MAX_PATH = 1024


def demo_tools(root: Path) -> list[ToolDefinition]:
    """The demo tools; those for files see only what lies inside `root`."""
    root = root.resolve()

    @tool(risk="read", paths=["folder"])
    def list_files(folder: str = ".") -> str:
        """List the files in a folder."""
        return list_folder(root, folder)

    @tool(risk="read", paths=["path"])
    def read_file(path: str) -> str:
        """Read a text file."""
        return read_text(root, path)

    return [as_definition(each) for each in (current_time, calculate, convert_units, list_files, read_file)]


@tool(risk="read")
def current_time(zone: str) -> str:
    """Tell the time in a city.

    Args:
        zone: City or time zone, like Tokyo
    """
    return time_in(find_zone(zone), datetime.now(UTC))


_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def time_in(zone: str, now: datetime) -> str:
    """The moment `now` as clocks in an IANA zone show it."""
    from zoneinfo import ZoneInfo

    local = now.astimezone(ZoneInfo(zone))
    return f"{zone}: {_DAYS[local.weekday()]} {local:%Y-%m-%d %H:%M} (UTC{local.isoformat()[-6:]})"


_AREAS = ("Africa", "America", "Antarctica", "Arctic", "Asia", "Atlantic", "Australia", "Europe", "Indian", "Pacific")
_OTHER_CITIES = {
    "beijing": "Asia/Shanghai",
    "boston": "America/New_York",
    "delhi": "Asia/Kolkata",
    "frankfurt": "Europe/Berlin",
    "geneva": "Europe/Zurich",
    "houston": "America/Chicago",
    "miami": "America/New_York",
    "mumbai": "Asia/Kolkata",
    "munich": "Europe/Berlin",
    "new_delhi": "Asia/Kolkata",
    "osaka": "Asia/Tokyo",
    "rio_de_janeiro": "America/Sao_Paulo",
    "san_francisco": "America/Los_Angeles",
    "seattle": "America/Los_Angeles",
    "washington": "America/New_York",
}


def find_zone(place: str) -> str:
    """The IANA zone of a zone name or a city: "Asia/Tokyo", "tokyo", "New York", "Paris, France"."""
    zones = _zones()
    if not zones:
        raise ConfigError("this machine has no time zone database; install the Python package tzdata")
    key = "_".join(place[:_MAX_PATH].partition(",")[0].lower().split())
    if key in zones:
        return zones[key]
    near = get_close_matches(key, zones, n=3) if len(key) <= 64 else []
    names = ", ".join(dict.fromkeys(zones[each] for each in near)) or "Asia/Tokyo, Europe/Paris, America/New_York"
    raise ConfigError(f"{quote(place)} is no known time zone or city; try one like {names}")


@lru_cache(maxsize=1)
def _zones() -> dict[str, str]:
    """Zones by lower-case name and by city. Names such as Etc/GMT+2 count the wrong way round: full names only."""
    from zoneinfo import available_timezones

    names = sorted(available_timezones() - {"localtime", "Factory"}, key=lambda name: (len(name), name))
    zones: dict[str, str] = {}
    for name in names:
        if name.startswith(tuple(f"{area}/" for area in _AREAS)):
            zones.setdefault(name.rpartition("/")[2].lower(), name)
    for city, name in _OTHER_CITIES.items():
        if name in names:
            zones.setdefault(city, name)
    return zones | {name.lower(): name for name in names}


def list_folder(root: Path, folder: str) -> str:
    """The names in a folder inside `root`, hidden ones left out; folders end in a slash."""
    with _refusing(root, folder) as (roots, real), roots.folder(real) as descriptor, os.scandir(descriptor) as scan:
        found = [_entry(each) for each in islice(scan, _MAX_SCAN) if not each.name.startswith(".")]
        more = next(scan, None) is not None
    if not found:
        return "The folder is empty."
    lines = sorted(found)[:MAX_ENTRIES]
    if len(found) > MAX_ENTRIES:
        total = f"more than {len(found):,}" if more else f"{len(found):,}"
        lines.append(f"[cut: {MAX_ENTRIES} of {total} names are shown]")
    return "\n".join(lines)


def _entry(entry: os.DirEntry[str]) -> str:
    name = entry.name if entry.name.isprintable() else ascii(entry.name)[1:-1]
    if entry.is_symlink():
        return f"{name} (link)"
    if entry.is_dir(follow_symlinks=False):
        return f"{name}/"
    return name if entry.is_file(follow_symlinks=False) else f"{name} (not a file)"


def read_text(root: Path, path: str) -> str:
    """The text of a file inside `root`, at most `MAX_CHARACTERS` of it."""
    with _refusing(root, path) as (roots, real), roots.file(real) as descriptor:
        status = os.fstat(descriptor)
        data = b""
        while len(data) <= 4 * MAX_CHARACTERS:
            piece = os.read(descriptor, 4 * MAX_CHARACTERS + 1 - len(data))
            if not piece:
                break
            data += piece
    ended = len(data) <= 4 * MAX_CHARACTERS
    try:
        text = codecs.getincrementaldecoder("utf-8-sig")().decode(data, final=ended)
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        return f"This is a binary file of {status.st_size:,} bytes; it is not shown."
    if not ended or len(text) > MAX_CHARACTERS:
        size = f"{status.st_size:,} bytes"
        return f"{text[:MAX_CHARACTERS]}\n[cut: the first {MAX_CHARACTERS:,} characters of {size} are shown]"
    return text or "The file is empty."


@contextmanager
def _refusing(root: Path, path: str) -> Iterator[tuple[Roots, str]]:
    """What opens inside `root` and nowhere else, and where the path leads there; its refusals are a `ConfigError`."""
    real = os.path.join(root, *_parts(root, path))
    try:
        yield Roots([str(root)], shown=lambda _: path, lister="list_files"), real
    except FileRefused as error:
        raise ConfigError(error.message) from None
    except OSError as error:
        raise ConfigError(f"{quote(path)} cannot be read: {error.strerror}") from None


def _parts(root: Path, path: str) -> tuple[str, ...]:
    if len(path) > _MAX_PATH:
        raise ConfigError(f"a path of {len(path):,} characters is too long")
    pure = PurePath(path.strip())
    if pure.is_absolute():
        if not pure.is_relative_to(root):
            raise ConfigError(f"{quote(path)} is outside of the folder; give a path inside it, like notes.txt")
        pure = pure.relative_to(root)
    if ".." in pure.parts:
        raise ConfigError(f"{quote(path)} leads upwards; '..' is not allowed, give a path inside the folder")
    if any(part.startswith(".") for part in pure.parts):
        raise ConfigError(f"{quote(path)} is hidden; hidden files are not shown")
    return pure.parts
