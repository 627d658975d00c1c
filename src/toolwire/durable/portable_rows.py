"""Refuses rows of the engine that ask to be decoded as anything but portable JSON.

DBOS decodes each value as the `serialization` column of its row says, and pickle is one of the forms: whoever writes
such a row would run code in every process that reads it. The serializer setting does not change that: it is for what
DBOS writes. So what a row says is checked as it comes from the driver, before DBOS sees it. A form that is not allowed
is replaced by one that DBOS does not know: it refuses that one value, and nothing of it was decoded.

The guard belongs to the connections of one database. Another use of DBOS in the same process is not touched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import sqlalchemy as sa

COLUMN = "serialization"
"""In which DBOS keeps the form of the values of a row."""
PORTABLE, PICKLE = "portable_json", "py_pickle"
OWN_TABLES = "toolwire_"
"""Rows of these are JSON to those who read them, whatever they say. The engine's statements name none of them."""

_Row = tuple[Any, ...]


def guard(engine: sa.Engine) -> None:
    """From now on nothing that is read over this engine asks for another form than portable JSON."""
    check = _checking_by_row if engine.dialect.name == "sqlite" else _checking_by_result

    @sa.event.listens_for(engine, "before_cursor_execute")
    def set_row_factory(_: object, cursor: Any, statement: str, *_others: object) -> None:
        if OWN_TABLES not in statement:
            cursor.row_factory = check


def _checking_by_row(cursor: Any, row: _Row) -> _Row:
    """A row factory of sqlite3."""
    return _checked(row, [column[0] for column in cursor.description])


def _checking_by_result(cursor: Any) -> Callable[[Iterable[Any]], _Row]:
    """A row factory of psycopg."""
    names = [column.name for column in cursor.description or ()]
    return lambda row: _checked(tuple(row), names)


def _checked(row: _Row, names: Iterable[str]) -> _Row:
    # A server that somebody else owns may give its columns any name: what names the pickle is refused in all of them.
    if PICKLE not in row and all(COLUMN not in name for name in names):
        return row
    return tuple(_allowed(value, name) for value, name in zip(row, names, strict=True))


def _allowed(value: Any, name: str) -> Any:
    """Without a name (None) DBOS takes its own setting, which is portable JSON."""
    if value != PICKLE and (COLUMN not in name or value is None or value == PORTABLE):
        return value
    return f"{str(value)[:40]!r} (refused: only {PORTABLE} is read)"
