"""Sessions: conversations that outlive the process, in an SQLite file.

A call is written down before it runs and its result before anyone is told, so that whatever ends the program loses no
finished result and repeats no effect. Writes are made at once and not in a thread: what is not awaited cannot be
cancelled half way.

Secrets are not written: what a redactor was given, sixteen characters of it or more in a row. What only looks like a
key stays, since the conversation must come back as it was.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from ...approval.patterns import literal
from ...approval.rules import Decision, Rule
from ...errors import ConfigError, SessionFailed
from ...execution.executor import ToolResult
from ...folders import state_folder
from ...messages import Message, ToolCallPart
from ...redaction import Redactor
from ...stream.invocation import ToolInvocation
from ...tools.definition import Risk, ToolDefinition
from ..events import (
    AgentEvent,
    ApprovalAnswered,
    ApprovalAsked,
    HistoryCompacted,
    HistoryMoved,
    HookFailed,
    NestedEvent,
    ParserChanged,
    RequestRetried,
    RunEnd,
    RunStarted,
    ToolFinished,
    ToolsChanged,
    ToolStarted,
)
from .entries import (
    Answered,
    Began,
    Damaged,
    Entry,
    Finished,
    Noted,
    Replaced,
    Said,
    Settled,
    Starting,
    Written,
    as_unicode,
    decode,
    decode_checked,
    encode,
    now,
)
from .file import StoreFile
from .lock import WAIT, SessionLock, holder
from .resuming import Resumed, Summary

_ENDS = frozenset(RunEnd.__args__)
_KEPT = _ENDS | {
    *(RunStarted, HistoryMoved, HistoryCompacted, RequestRetried, ParserChanged, ToolsChanged, HookFailed),
    *(ApprovalAsked, ApprovalAnswered),
}
"""Events that matter later. Of an agent that ran as a tool also what it ran: it has no session of its own."""

_LETTERS = "0123456789abcdefghjkmnpqrstvwxyz"
"""Those of which none is taken for another."""


def sessions_path(env: Mapping[str, str]) -> Path:
    """`$XDG_STATE_HOME/toolwire/sessions.db`, else below `~/.local/state`."""
    return state_folder(env) / "sessions.db"


class SessionInfo(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What there is to say of a session without its conversation."""

    id: str
    title: str
    """The beginning of the first question."""
    model: str
    cwd: str
    base_url: str = ""
    created: str
    """In UTC, as `updated`."""
    updated: str
    turns: int
    state: str
    """How its last run ended: `finished`, `failed`, `interrupted`, or `cut off` where the program did; or `running`; or
    `damaged`, where so little can be read that nothing can be told."""
    entries: int
    """How many entries it had when this was written."""

    def is_in(self, cwd: str) -> bool:
        """Whether it was begun in this folder, whose name may be one that JSON cannot hold."""
        return self.cwd == as_unicode(cwd)


class SessionRecord(msgspec.Struct, frozen=True, kw_only=True):
    """All that is written of a session."""

    info: SessionInfo
    entries: list[Entry]
    messages: list[Message]
    """The conversation as it would be resumed."""
    damage: str = ""
    """What is wrong with the file behind these entries; empty where nothing is."""


class Session:
    """One conversation in the store. What a method was told is in the file when it returns, whatever kills us then;
    only the system's words and the beginning of a run wait for the first question, so that no session is without one.

    That a tool starts which does more than read is on the disk, also if the power fails. A write that fails raises a
    `SessionFailed`, and from then on every other does: the file holds the beginning of what happened, without a gap.
    """

    id: str
    messages: list[Message]
    """The conversation as it stood when the session was opened, repaired: every call has its result."""
    turn: int
    """The number of the last turn."""
    unknown: list[ToolCallPart]
    """The calls that were running when the program ended, of which nobody knows what came. Told once: the next time
    that the session is opened, they have their result."""

    def __init__(
        self,
        file: StoreFile,
        id: str,
        lock: SessionLock,
        redactor: Redactor | None,
        entries: list[Entry],
        resumed: Resumed,
    ) -> None:
        self.id = id
        self.messages = resumed.messages
        self.turn = resumed.summary.turn
        self.unknown = resumed.unknown
        self.is_open = True
        self._file = file
        self._lock = lock
        self._given = redactor
        self._redactors = [redactor or Redactor(environment=os.environ)]
        self._summary = resumed.summary
        self._count = len(entries)
        self._waiting: list[bytes] = []
        self._created = entries[0].at if entries else now()
        self._failed = False
        self._why = "something before this could not be written"

    @property
    def info(self) -> SessionInfo:
        """What there is to say of it now."""
        return _info(self.id, self._summary, self._count, self._created, now())

    @property
    def closes(self) -> list[Rule]:
        """The rules of whoever writes it: no tool changes the file that says what tools did."""
        return [
            Rule(
                decision=Decision.DENY,
                path=tuple(literal(path) for path in self._file.all_paths),
                changes=True,
                reason="it would change what is written down about calls",
                source="built in",
            )
        ]

    def hide(self, redactor: Redactor) -> None:
        """What this one knows is not written either."""
        self._redactors = [redactor] if self._given is None else [self._given, redactor]

    def said(self, message: Message) -> None:
        """A message of the person, or the system's words at the beginning."""
        self._write(Said(message), waits=message.role == "system")

    def answered(self, turn: int, answer: Message) -> None:
        """What the model answered, before any of its calls runs."""
        self._write(Answered(turn, answer))

    def starting(self, turn: int, invocation: ToolInvocation, tool: ToolDefinition) -> None:
        """A call is about to run: on the disk before it does."""
        starting = Starting(turn, invocation.id, tool.name, invocation.arguments, tool.is_repeatable)
        self._write(starting, durable=tool.risk is not Risk.READ, inform=False)

    def finished(self, turn: int, result: ToolResult) -> None:
        """A call has its result."""
        self._write(Finished(turn, result), inform=False)

    def settled(self, turn: int, results: Message) -> None:
        """Every call of the last answer has its result: this is their message."""
        self._write(Settled(turn, results))

    def compacted(self, messages: list[Message]) -> None:
        """From now on the conversation is this; what it was stays in the file."""
        self._write(Replaced(messages))

    def noted(self, event: AgentEvent) -> None:
        """An event of a run; those that matter later are kept."""
        if _matters(event):
            begins_or_ends = type(event) in _ENDS or isinstance(event, RunStarted)
            self._write(Noted(msgspec.to_builtins(event, enc_hook=str)), waits=True, inform=begins_or_ends)

    def close(self) -> None:
        """Lets others open it."""
        self._lock.release()
        self.is_open = False

    def _write(self, what: Written, *, waits: bool = False, inform: bool = True, durable: bool = False) -> None:
        """`waits` for what can be written with the first question; `inform` where the list of sessions changes."""
        if self._failed or not self.is_open:
            why = self._why if self.is_open else "it was closed"
            raise self._file.failed(
                f"session {self.id} takes nothing more: {why}",
                "Open the session again: it goes on behind the last thing that was written.",
                self.id,
            )
        # Until it is written, whatever comes in between, nothing can follow it.
        self._failed = True
        try:
            self._put(what, waits=waits, inform=inform, durable=durable)
        except SessionFailed as error:
            # Told again with whatever follows: the end of a run is, and is what a person reads.
            self._why += f": {self._file.why(error)}"
            raise
        self._failed = False

    def _put(self, what: Written, *, waits: bool, inform: bool, durable: bool) -> None:
        try:
            body = encode(what, self._hidden)
            self._summary.take(decode(body).what)
        except (TypeError, ValueError, RecursionError) as error:
            words = f"a part of session {self.id} has no form in JSON ({type(error).__name__})"
            raise self._file.failed(words, "Tell whoever wrote the tool or the hook that made it.", self.id) from None
        self._waiting.append(body)
        if self._count or not waits:
            info = None
            if inform or not self._count:
                count = self._count + len(self._waiting)
                info = msgspec.json.encode(_info(self.id, self._summary, count, self._created, now()))
            self._file.write(self.id, self._count, self._waiting, info, durable=durable)
            self._count += len(self._waiting)
            self._waiting = []

    def _hidden(self, text: str) -> str:
        for redactor in self._redactors:
            text = redactor.held(text)
        return text


class SessionStore:
    """The sessions in one file, which is opened when it is needed. Any number of processes may use it at a time, but a
    session is open in one of them alone.

    `redactor` knows what may not be written; without one, the secrets in the environment may not, and in either case
    not the key of an agent that the session is given to.
    """

    def __init__(self, path: str | os.PathLike[str], *, redactor: Redactor | None = None) -> None:
        self.path = Path(path)
        self._file = StoreFile(self.path)
        self._locks = self._file.locks
        self._redactor = redactor
        self._open: list[Session] = []
        self._tidied = 1

    def __enter__(self) -> SessionStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the file and every session that was opened here."""
        for session in self._open:
            session.close()
        self._open = []
        self._file.close()

    def create(self, *, model: str, cwd: str, base_url: str = "") -> Session:
        """A new session. Nothing of it is in the file before its first question."""
        with self._file.reading():
            pass  # a store that cannot be used is told of at once
        while True:
            id = _new_id()
            try:
                lock = self._locked(id, wait=0)
            except ConfigError:
                continue  # many begin at a time, and one of them has it
            if self._file.info(id) is None:
                break
            lock.release()
        session = Session(self._file, id, lock, self._redactor, [], Resumed())
        session._write(Began(model, cwd, session._redactors[0].text(base_url)), waits=True)
        return self._watched(session)

    def open(self, id: str) -> Session:
        """The session of this id, or of this unmistakable beginning or end of one, as whoever wrote it last left it.

        Where they were cut off, the calls that they left open get their results here, and that is written down. A
        `ConfigError` for no such session, or one that another process has open; a `SessionFailed` for a damaged one.
        """
        id = self.find(id)
        lock = self._locked(id)
        try:
            record, resumed = self._read(id)
            if record.damage:
                raise self._file.failed(
                    f"session {id} is damaged: {record.damage}",
                    f"Its first {len(record.entries)} entries can still be read and exported.",
                    id,
                )
            session = Session(self._file, id, lock, self._redactor, record.entries, resumed)
            if resumed.is_cut_off:
                mending = resumed.mending()
                session._write(mending)
                resumed.take(mending)
        except BaseException:
            lock.release()
            raise
        return self._watched(session)

    def read(self, id: str) -> SessionRecord:
        """All that is written of a session, up to the first damage; also while another process has it open."""
        record, resumed = self._read(self.find(id))
        if resumed.is_cut_off:
            resumed.take(resumed.mending())
            record = msgspec.structs.replace(record, messages=resumed.messages)
        return record

    def list(self) -> list[SessionInfo]:
        """All sessions, the one that was used last first."""
        if not self._file.exists:
            return []
        infos = [self._told(id, info) for id, info in self._file.infos()]
        return sorted(infos, key=lambda info: (info.updated, info.id), reverse=True)

    def latest(self, cwd: str | None = None) -> str | None:
        """The id of the session that was used last, of those in a folder where one is given."""
        return next((info.id for info in self.list() if cwd is None or info.is_in(cwd)), None)

    def find(self, id: str) -> str:
        """The whole of an id of which only the beginning or the end was given; a `ConfigError` for none or several."""
        known = [each for each, _ in self._file.infos()] if self._file.exists else []
        found = [each for each in known if id and (each.startswith(id) or each.endswith(id))]
        if id in known:
            return id
        if len(found) == 1:
            return found[0]
        if not found:
            raise ConfigError(
                f"there is no session {id[:64]!r}", hint="`toolwire sessions list` shows them all.", id=id
            )
        raise ConfigError(
            f"{len(found)} sessions begin or end with {id[:64]!r}",
            hint=f"Give more of it: {', '.join(found[:5])}",
            id=id,
        )

    def delete(self, id: str) -> None:
        """Removes a session for good; a `ConfigError` for one that is open."""
        id = self.find(id)
        lock = self._locked(id)
        try:
            self._file.delete(id)
        finally:
            lock.release()

    def _watched(self, session: Session) -> Session:
        """Remembers what `close` is to close."""
        if len(self._open) >= self._tidied:
            self._open = [each for each in self._open if each.is_open]
            self._tidied = 2 * len(self._open) + 1  # seldom, where many are open
        self._open.append(session)
        return session

    def _locked(self, id: str, wait: float = WAIT) -> SessionLock:
        try:
            return SessionLock(self._locks, id, wait)
        except BlockingIOError:
            raise ConfigError(
                f"session {id} is open in {holder(self._locks, id) or 'another process'}",
                hint="Leave it there first, or begin a new one.",
                id=id,
            ) from None
        except OSError as error:
            raise self._file.failed(
                f"session {id} cannot be locked: {error.strerror or error}", f"Check the folder: {self._locks}", id
            ) from None

    def _read(self, id: str) -> tuple[SessionRecord, Resumed]:
        entries: list[Entry] = []
        resumed = Resumed()
        told = self._file.info(id)
        rows, damage = self._file.bodies(id)
        try:
            for expected, (number, body, checksum) in enumerate(rows):
                if number != expected:
                    raise Damaged(f"entry {expected} is missing")
                entry = decode_checked(id, expected, body, checksum)
                entries.append(entry)
                resumed.take(entry.what)
        except Damaged as error:
            damage = str(error)
        if not damage and len(entries) < (1 if told is None else _INFO.decode(told).entries):
            damage = f"entry {len(entries)} is missing"
        created, updated = (entries[0].at, entries[-1].at) if entries else ("", "")
        info = self._now(_info(id, resumed.summary, len(entries), created, updated))
        return SessionRecord(info=info, entries=entries, messages=resumed.messages, damage=damage), resumed

    def _told(self, id: str, info: bytes | None) -> SessionInfo:
        if info is not None:
            return self._now(_INFO.decode(info))
        record, _ = self._read(id)
        return msgspec.structs.replace(record.info, state="damaged") if record.damage else record.info

    def _now(self, info: SessionInfo) -> SessionInfo:
        """A run that nobody runs any more was cut off."""
        if info.state == "running" and not holder(self._locks, info.id):
            return msgspec.structs.replace(info, state="cut off")
        return info


_INFO = msgspec.json.Decoder(SessionInfo)


def _info(id: str, summary: Summary, count: int, created: str, updated: str) -> SessionInfo:
    return SessionInfo(
        id=id,
        title=summary.title,
        model=summary.model,
        cwd=summary.cwd,
        base_url=summary.base_url,
        created=created,
        updated=updated,
        turns=summary.turn,
        state=summary.state,
        entries=count,
    )


def _matters(event: AgentEvent) -> bool:
    if isinstance(event, NestedEvent):
        return isinstance(event.event, (ToolStarted, ToolFinished)) or _matters(event.event)
    return type(event) in _KEPT  # every delta passes here


def _new_id() -> str:
    """The day, and behind it the time of the day and some chance: `261116-a3fk7q`."""
    time = datetime.now(UTC)
    number = int((time - time.replace(hour=0, minute=0, second=0, microsecond=0)).total_seconds() * 10)
    end = secrets.randbelow(32 * 32)
    digits = "".join(_LETTERS[(number * 1024 + end) >> 5 * place & 31] for place in range(5, -1, -1))
    return f"{time:%y%m%d}-{digits}"
