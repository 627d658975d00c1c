"""`OfferedServer`: what of one server is offered to a model, and how a call gets to it.

What a person has looked at is what runs. Each definition is compared with its pin: when the server is first connected,
each time it says that its tools changed, and after each new start, before the next call is sent. A tool that nobody has
looked at is offered as one that is always asked about; what was shown is pinned when its first call runs. A look that
was taken back meanwhile, or given to other words, by another Toolwire, is one no more.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ..approval.hidden import marked
from ..errors import McpFailed, ToolDefinitionError, ToolwireError
from ..tasks import create_lazy_task
from ..tools.check import cut
from ..tools.definition import ToolDefinition
from ..tools.output import ToolOutput
from ..tools.running import CURRENT
from .config import ServerConfig
from .definitions import digest, is_offered, is_shown_whole, tool_of
from .pins import Pins
from .sdk import import_sdk

if TYPE_CHECKING:
    from .connection import Connection

NAMED = 8
"""How many tools a note names."""
LISTINGS = 3
"""How often a list is asked for anew that was announced to have changed while it came. A server that announces that
each time is taken at its last list: it was asked for after the call was."""


class OfferedServer:
    """One server and its tools. `note` is told the news, in a sentence each."""

    def __init__(
        self, config: ServerConfig, pins: Pins, connection: Callable[[], Connection], note: Callable[[str], None]
    ) -> None:
        self.config = config
        self.disabled: list[str] = []
        """Tools that changed since they were looked at, by the server's own names."""
        self.problem = ""
        """Why it cannot be used, if that is so."""
        self._pins = pins
        self._connection = connection
        self._note = note
        self._listing: dict[str, dict[str, Any]] | None = None
        self._digests: dict[str, str] = {}
        self._heard = 0
        """The life of the connection in which the listing was made."""
        self._announced = 0
        """How often the server has said that its tools are others now, and how much of that the listing knows of."""
        self._known_of = 0
        self._refreshing: asyncio.Task[None] | None = None
        self._made: dict[str, tuple[str, bool, ToolDefinition]] = {}
        self._worked_out: tuple[Any, ...] = ()
        self._held: tuple[Any, ...] = ()
        self._tools: list[ToolDefinition] = []
        self._told: set[str] = set()
        self._told_disabled: list[str] = []

    def changed(self) -> None:
        """The server says that its tools are others now."""
        self._announced += 1

    def is_wanted(self) -> bool:
        """Whether its list has to be asked for before it can be offered: it has tools that are not pinned, or may have
        such, or has changed."""
        if self._listing is None:
            known = self._pins.known(self.config.identity)
            waiting = self._pins.waiting(self.config.identity) if known else None
            return waiting is None or any(name not in known and is_offered(self.config, name) for name in waiting)
        return self._known_of != self._announced

    def is_quick(self) -> bool:
        """Whether its list comes soon: it is connected, was listed before, and nobody has waited for this list yet."""
        if self._listing is None or (self._refreshing is not None and not self._refreshing.done()):
            return False
        return self._connection().state == "ready"

    def refresh(self) -> asyncio.Task[None]:
        """Connects where that is needed, and lists its tools anew where they may be others. One for all who wait."""
        loop = asyncio.get_running_loop()
        task = self._refreshing
        if task is None or task.done() or task.get_loop() is not loop:
            task = self._refreshing = create_lazy_task(self._refresh(), name=f"mcp list {self.config.name}")
            task.add_done_callback(lambda done: done.cancelled() or done.exception())  # else asyncio tells of it
        return task

    def stop(self) -> None:
        """Nobody waits for its list any more."""
        task, self._refreshing = self._refreshing, None
        if task is not None and not task.done():
            with suppress(RuntimeError):  # its loop is closed
                task.get_loop().call_soon_threadsafe(task.cancel)

    def tools(self) -> list[ToolDefinition]:
        """What is offered now. The same objects as long as nothing changed."""
        known = self._pins.known(self.config.identity)
        now = (id(self._listing), *((name, id(pinned)) for name, pinned in known.items()))
        if now != self._worked_out:
            self._tools = self._work_out(known)
            # The ids are of objects that live as long as they are compared.
            self._worked_out, self._held = now, (self._listing, known)
        return self._tools

    def offered_names(self) -> list[str]:
        """The server's own names of what is offered now."""
        self.tools()
        return list(self._made)

    def _work_out(self, known: dict[str, dict[str, Any]]) -> list[ToolDefinition]:
        made: dict[str, tuple[str, bool, ToolDefinition]] = {}
        self.disabled = []
        for name, definition in (known if self._listing is None else self._listing).items():
            if not is_offered(self.config, name):
                continue
            try:
                mark = digest(definition) if self._listing is None else self._digests[name]
                seen = name in known
                if seen and digest(known[name]) != mark:
                    self.disabled.append(name)
                    continue
                earlier = self._made.get(name)
                if earlier is not None and earlier[:2] == (mark, seen):
                    made[name] = earlier
                else:
                    made[name] = mark, seen, self._tool(name, definition, mark, seen)
            except ToolDefinitionError as error:
                self._tell_once(error.message)
        self._made = made
        if self.disabled and self.disabled != self._told_disabled:
            self._note(
                f"{self._name}: changed since they were looked at, and not offered: {_named(self.disabled)}. "
                f"See what changed: toolwire mcp trust {self._name}"
            )
        self._told_disabled = self.disabled
        return [tool for _, _, tool in made.values()]

    def _tool(self, name: str, definition: dict[str, Any], mark: str, seen: bool) -> ToolDefinition:
        async def call(arguments: dict[str, Any]) -> ToolOutput:
            return await self._call(name, definition, mark, seen, arguments)

        return tool_of(self.config, definition, call, seen=seen)

    async def _call(
        self, name: str, definition: dict[str, Any], mark: str, seen: bool, arguments: dict[str, Any]
    ) -> ToolOutput:
        from .content import output_of

        running = CURRENT.get()
        await self._compared(name, mark)
        await asyncio.to_thread(self._look, definition, seen)
        # The look took a moment, in which the server may have changed or been started anew.
        await self._compared(name, mark)
        report = None if running is None else running.report
        return output_of(await self._connection().call(name, arguments, report, life=self._heard))

    async def _compared(self, name: str, mark: str) -> None:
        """Sees to it that the server has the tool now as it was offered."""
        await self.listed()
        if self._digests.get(name) != mark:
            raise self._changed(name)

    def _look(self, definition: dict[str, Any], seen: bool) -> None:
        """Whoever looked at it said yes, or it would not run: that is kept, unless they said something else since."""
        name: str = definition["name"]
        match self._pins.state(self.config.identity, definition):
            case "changed":
                raise self._refused(name, "other words of the MCP server {} about it were looked at since")
            case "new" if seen:
                raise self._refused(name, "the look at this tool of the MCP server {} was taken back")
            case "new" if is_shown_whole(self.config, definition):
                self._pins.pin(self.config.identity, definition)

    async def listed(self) -> None:
        """Sees to it that the listing is of the running server, and that no change of it was announced since."""
        for _ in range(LISTINGS):
            if self._is_heard():
                return
            # Whoever gives up does not end it for others who wait; and each has an error of their own.
            await asyncio.wait({task := self.refresh()})
            if task.cancelled():
                raise self._failed("was closed", "lost")
            error = task.exception()
            if isinstance(error, McpFailed):
                raise McpFailed(error.message, hint=error.hint, **error.facts)
            if error is not None:
                raise error

    def _is_heard(self) -> bool:
        if self._listing is None or self._known_of != self._announced:
            return False
        connection = self._connection()
        return connection.state == "ready" and connection.life == self._heard

    async def _refresh(self) -> None:
        try:
            await asyncio.to_thread(import_sdk)
            connection = self._connection()
            await connection.open()
            if not self._is_heard():
                life, announced = connection.life, self._announced
                await self._take(await connection.list_tools(), life)
                self._known_of = announced
            self.problem = ""
        except ToolwireError as error:
            if "again" in error.facts and self.problem:
                raise  # what it failed of is told already
            if self.problem != error.message:
                self._note(f"{self._name}: {error.message}")
            self.problem = error.message
            raise

    async def _take(self, definitions: list[dict[str, Any]], life: int) -> None:
        """Makes these definitions the ones that count."""
        listing: dict[str, dict[str, Any]] = {}
        digests: dict[str, str] = {}
        twice: set[str] = set()
        for definition in definitions:
            name = definition.get("name")
            if not isinstance(name, str) or not name:
                self._tell_once("a tool without a name was left out")
                continue
            try:
                mark = digest(definition)
            except ToolDefinitionError as error:
                self._tell_once(error.message)
                continue
            if digests.setdefault(name, mark) != mark:
                twice.add(name)
            listing[name] = definition
        for name in twice:
            # Nobody could say which of the two was looked at.
            self._tell_once(f"the tool {_named([name])} was left out: it is described twice, in different words")
            del listing[name], digests[name]
        if self.config.trusted:
            await asyncio.to_thread(self._trust, listing)
        self._tell_news(listing)
        self._listing, self._digests, self._heard = listing, digests, life
        self.tools()
        known = self._pins.known(self.config.identity)
        # One that cannot be offered waits for nobody; one that its person does not let be offered they may, later.
        waiting = [
            name for name in listing if name not in known and (name in self._made or not is_offered(self.config, name))
        ]
        await asyncio.to_thread(self._pins.keep_waiting, self.config.identity, waiting)

    def _trust(self, listing: dict[str, dict[str, Any]]) -> None:
        known = self._pins.known(self.config.identity)
        new = [each for name, each in listing.items() if name not in known and is_offered(self.config, name)]
        self._pins.pin(self.config.identity, *new)

    def _tell_news(self, listing: dict[str, dict[str, Any]]) -> None:
        offered = [name for name in listing if is_offered(self.config, name)]
        if self._listing is None:
            known = self._pins.known(self.config.identity)
            new = sum(name not in known for name in offered)
            count = f"{len(offered):,} {'tool' if len(offered) == 1 else 'tools'}"
            self._note(f"{self._name}: connected, {count}" + (f", {new:,} not looked at yet" if new else ""))
            gone = [name for name in known if name not in listing and is_offered(self.config, name)]
        else:
            gone = [name for name in self._listing if name not in listing and is_offered(self.config, name)]
            come = [name for name in offered if name not in self._listing]
            if come:
                self._note(f"{self._name}: has new tools: {_named(come)}")
        if gone:
            self._note(f"{self._name}: no longer has {_named(gone)}")

    @property
    def _name(self) -> str:
        return marked(self.config.name)

    def _tell_once(self, words: str) -> None:
        if words not in self._told and len(self._told) < 1_000:
            self._told.add(words)
            self._note(f"{self._name}: {words}")

    def _changed(self, name: str) -> McpFailed:
        how = "changed it since it was looked at" if name in self._digests else "does not have it any more"
        return self._refused(name, "the MCP server {} " + how)

    def _refused(self, name: str, reason: str) -> McpFailed:
        return McpFailed(
            f"the tool {cut(ascii(name))} was not called: {reason.format(repr(self.config.name))}",
            hint=f"A person can see what changed: toolwire mcp trust {self.config.name}",
            server=self.config.name,
            why="changed",
            tool=name,
        )

    def _failed(self, what: str, why: str) -> McpFailed:
        return McpFailed(f"the MCP server {self.config.name!r} {what}", server=self.config.name, why=why)


def _named(names: list[str]) -> str:
    shown = ", ".join(marked(cut(name)) for name in names[:NAMED])
    return f"{shown} and {len(names) - NAMED:,} more" if len(names) > NAMED else shown
