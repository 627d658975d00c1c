"""`toolwire audit`: what was asked, decided and run on this machine, and whether the trail of it is whole."""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Annotated, Literal

import msgspec
from cyclopts import Parameter

from ..approval.audit import AuditRecord, TrailLine, audit_path, read_trail
from ..errors import ConfigError
from .faults import FAILED, say
from .inputs import as_text, check_files
from .visible import json_bytes, one_line, visible

_LAST = 50
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_ARGUMENTS = 160
"""Characters of a call's arguments that are shown; `--json` prints all that were kept."""


Event = Literal["asked", "allowed", "approved", "denied", "started", "finished"]


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """Which records are shown."""

    call: str
    tool: str
    event: str
    since: str

    def fits(self, record: AuditRecord) -> bool:
        """Whether the record is one of them."""
        return (
            self.call in ("", record.call)
            and self.tool in ("", record.tool)
            and self.event in ("", record.event)
            and self.since <= record.at
        )


def audit(
    file: Annotated[str | None, Parameter(name="FILE")] = None,
    /,
    *,
    last: Annotated[int, Parameter(name="--last", metavar="N")] = _LAST,
    call: Annotated[str, Parameter(name="--call", metavar="CALL", show_default=False)] = "",
    tool: Annotated[str, Parameter(name="--tool", metavar="TOOL", show_default=False)] = "",
    event: Annotated[Event | None, Parameter(name="--event", show_default=False)] = None,
    since: Annotated[str, Parameter(name="--since", metavar="WHEN", show_default=False)] = "",
    json: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    verify: Annotated[bool, Parameter(negative="", show_default=False)] = False,
) -> int:
    """Shows what was asked, decided and run, the newest last. Times are in UTC.

    Parameters
    ----------
    file
        A trail that was moved elsewhere; otherwise this user's own.
    last
        How many records, the newest ones; 0 for all.
    call
        Only what happened to the call with this id.
    tool
        Only calls of this tool.
    event
        Only what happened in this way.
    since
        Only from then on: 2026-03-04 or 2026-03-04T05:06, in UTC, or how long ago: 30m, 12h, 7d.
    json
        Print one JSON object for each record, a line each, with everything that was kept.
    verify
        Show no records, but whether a line before the last was changed or taken out since it was written.
    """
    path = str(audit_path(os.environ)) if file is None else file
    if last < 0:
        raise ConfigError(f"--last {last} is no number of records", hint="Give how many, or 0 for all.")
    wanted = Wanted(call=as_text(call), tool=as_text(tool), event=event or "", since=_time(as_text(since)))
    if file is None and not os.path.lexists(path):
        say("no call was decided yet", f"The audit trail will be in {as_text(path)}")
        return 0
    check_files([path])
    if verify:
        return _verify(path)
    shown: deque[AuditRecord] = deque(maxlen=last or None)
    records = broken = 0
    for line in _lines(path):
        records += line.record is not None
        broken = broken or (line.number if line.broken else 0)
        if line.record is not None and wanted.fits(line.record):
            shown.append(line.record)
    for record in shown:
        sys.stdout.buffer.write(json_bytes(record) + b"\n" if json else _words(record).encode())
    if not (shown or json):
        say(*_nothing(path, records))
    if broken:
        say(f"the trail is broken at line {broken}", "See: toolwire audit --verify")
    return 0


def _lines(path: str) -> Iterator[TrailLine]:
    try:
        with open(path, "rb") as opened:
            yield from read_trail(opened)
    except OSError as error:
        raise ConfigError(
            f"cannot read {as_text(path)}: {error.strerror or error}", hint="Check the file and its permissions."
        ) from None


def _verify(path: str) -> int:
    records = unfinished = faults = 0
    for line in _lines(path):
        records += line.record is not None
        unfinished += line.record is None
        if line.broken:
            faults += 1
            print(one_line(f"line {line.number}: {line.broken}"))
    counted = f"{records:,} record{'' if records == 1 else 's'}"
    if unfinished:
        counted += f", {unfinished:,} unfinished line{'' if unfinished == 1 else 's'}"
    if unfinished and not records:
        say(*_nothing(path, records))
        return FAILED
    if faults:
        say(
            f"{as_text(path)} is not as it was written: {counted}, {faults:,} broken",
            "Somebody or something else than Toolwire changed it.",
        )
        return FAILED
    print(one_line(f"{as_text(path)}: {counted}; no line before the last was changed or taken out"))
    return 0


def _nothing(path: str, records: int) -> tuple[str, str]:
    """Why no record is shown, and what to do."""
    if records:
        return f"none of {records:,} record{'' if records == 1 else 's'} fits", "Give other conditions, or none."
    return f"{as_text(path)} holds no record", "Name the file of an audit trail, or none for your own."


def _words(record: AuditRecord) -> str:
    """A record as a person reads it: what happened to which call, why, and with which arguments."""
    by = " ".join(part for part in (record.who and f"by {record.who}", record.source and f"({record.source})") if part)
    told = ": ".join(part for part in (by, record.why or record.outcome) if part)
    when = record.at.replace("T", " ").partition(".")[0]
    parts = (when, f"{record.event:<8}", f"{record.tool} ({record.risk})", record.call, told, record.digest[:8])
    lines = ["  ".join(_shown(part) for part in parts if part)]
    if record.arguments is not None:
        lines.append(f"    {_shown(_short(json_bytes(record.arguments).decode()))}")
    elif record.beginning:
        lines.append(f"    {_shown(_short(record.beginning))} ({record.size:,} bytes)")
    return "".join(f"{line}\n" for line in lines)


def _shown(text: str) -> str:
    """Fit for a terminal and on one line, with all its blanks: they are part of a command."""
    return visible(text).replace("\n", "\u240a").replace("\t", "\u2409")


def _short(text: str) -> str:
    return text if len(text) <= _ARGUMENTS else f"{text[:_ARGUMENTS]}…"


def _time(text: str) -> str:
    """A time as the records have it; empty for none."""
    if not text:
        return ""
    try:
        number, unit = text[:-1], _UNITS.get(text[-1])
        if unit is not None and number.isascii() and number.isdigit():
            when = datetime.now(UTC) - timedelta(**{unit: int(number)})
        else:
            when = datetime.fromisoformat(text)
            when = when.replace(tzinfo=UTC) if when.tzinfo is None else when.astimezone(UTC)
        return when.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    except (ValueError, OverflowError):
        raise ConfigError(
            f"--since {text} is no time", hint="Write 2026-03-04, 2026-03-04T05:06, or how long ago: 30m, 12h, 7d."
        ) from None
