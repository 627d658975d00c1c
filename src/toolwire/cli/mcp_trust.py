"""`toolwire mcp trust`: what waits for a person's look, shown whole, and a question about each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, Any

from cyclopts import Parameter

from ..approval.hidden import marked
from ..errors import ConfigError
from ..mcp.config import ServerConfig
from ..mcp.definitions import difference
from .console import PlainConsole, has_person
from .faults import say
from .inputs import as_text
from .mcp_consent import START, consent_question, is_agreed, room, show, words
from .mcp_looking import look, say_failed
from .mcp_servers import McpHere, servers_here
from .mcp_shown import Offered, list_tools, no_tool, offered_tool, tool_lines
from .question import Line


def trust(
    name: Annotated[str | None, Parameter(name="NAME")] = None,
    /,
    *tool: Annotated[str, Parameter(name="TOOL")],
    yes: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    revoke: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    mcp_config: Annotated[list[str] | None, Parameter(metavar="FILE", negative="")] = None,
) -> int:
    """Shows what waits to be looked at, and asks about each: servers that this project wants to start, tools that are
    new, and tools that are no longer what they were when you looked at them.

    A tool that you have looked at is offered to models by the rules that hold for its risk. Of a new one, each call is
    asked about. One that changed is not offered at all.

    Parameters
    ----------
    name
        The server; without it, all of them.
    tool
        Its tools, by the server's names for them; without any, all that wait.
    yes
        Do not ask, but take everything that is shown. The server must be named.
    revoke
        Take it back: the consent to a server of the project, and the looks at its tools.
    mcp_config
        A further file of servers. Can be given several times.
    """
    here = servers_here(mcp_config)
    names = [] if name is None else [name]
    configs = here.chosen(names)
    if revoke:
        return _revoke(here, names, configs, list(map(as_text, tool)))
    if yes and not names:
        raise ConfigError("--yes takes what one server says, and none is named", hint="toolwire mcp trust NAME --yes")
    if not yes and not has_person():
        raise ConfigError(
            "nobody is there to ask", hint="At a terminal, or with the server named: toolwire mcp trust NAME --yes"
        )
    looking = _Looking(here, yes=yes)
    ready = [config for config in configs if looking.consent(config)]
    code = looking.tools(ready, list(map(as_text, tool)))
    looking.conclude()
    return code


class _Looking:
    """One person looking at what there is, one thing after the other. No server runs while they read."""

    def __init__(self, here: McpHere, *, yes: bool) -> None:
        self._here = here
        self._yes = yes
        self._console = PlainConsole()
        self._taken = self._left = 0

    def consent(self, config: ServerConfig) -> bool:
        """Whether the server may be started to look at its tools."""
        if self._here.may_start(config):
            return True
        if not self._agreed(consent_question(config, self._here.root, room(self._console)), START):
            return False
        self._here.agreed(config)
        return True

    def tools(self, configs: Sequence[ServerConfig], only: Sequence[str]) -> int:
        """Asks about the tools of these servers that wait; the exit code."""
        code = 0
        for seen in look(self._here, configs, list_tools):
            if seen.error is not None:
                code = say_failed(seen.error)
                continue
            definitions = {str(each.get("name", "")): each for each in seen.found}
            known = self._here.pins.known(seen.config.identity)
            if missing := [each for each in only if each not in definitions and each not in known]:
                raise no_tool(seen.config.name, missing[0], definitions)
            offered = [offered_tool(self._here, seen.config, each) for each in definitions.values()]
            waiting = [each for each in offered if each.state in ("new", "changed") and (not only or each.tool in only)]
            for place, each in enumerate(waiting, 1):
                self._tool(
                    seen.config, each, known.get(each.tool), f"{place} of {len(waiting)}: " if waiting[1:] else ""
                )
            for name in known:
                if name not in definitions and (not only or name in only):
                    self._gone(seen.config, name)
        return code

    def conclude(self) -> None:
        """Says what it came to."""
        if self._taken or self._left:
            left = f", {self._left} left as before" if self._left else ""
            say(f"{self._taken} taken{left}")
        else:
            say("nothing waits to be looked at")

    def _tool(self, config: ServerConfig, offered: Offered, old: dict[str, Any] | None, place: str) -> None:
        changed = "" if old is None else difference(old, offered.definition)
        lines = tool_lines(offered, room(self._console), difference=changed, place=place)
        if self._agreed(lines, "Trust it as it is now?"):
            self._here.pins.pin(config.identity, offered.definition)

    def _gone(self, config: ServerConfig, name: str) -> None:
        gone = f"{marked(config.name)} no longer has the tool {marked(name)}."
        if self._agreed(words(gone, room(self._console), "yellow"), "Forget it?"):
            self._here.pins.forget(config.identity, name)

    def _agreed(self, lines: Iterable[Line], question: str) -> bool:
        if self._yes:
            show(self._console, lines)
        agreed = self._yes or is_agreed(self._console, lines, question)
        self._taken += agreed
        self._left += not agreed
        return agreed


def _revoke(here: McpHere, names: Sequence[str], configs: Sequence[ServerConfig], tools: Sequence[str]) -> int:
    if not names:
        raise ConfigError("no server is named to take trust from", hint="toolwire mcp trust NAME --revoke")
    for config in configs:
        known = here.pins.known(config.identity)
        if missing := [each for each in tools if each not in known]:
            raise ConfigError(
                f"nobody has looked at a tool {marked(missing[0])} of {marked(config.name)}",
                hint=f"Those that were: {', '.join(map(marked, known)) or 'none'}",
            )
        if tools:
            for each in tools:
                here.pins.forget(config.identity, each)
        else:
            here.pins.forget(config.identity)
            here.consents.take_back(config)
        print(f"Taken back: {marked(config.name)}{''.join(f' {marked(each)}' for each in tools)}.")
    return 0
