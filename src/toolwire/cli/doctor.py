"""`toolwire doctor`: looks at all that has to work, tries what can be tried, and says what to do."""

from __future__ import annotations

import asyncio
import math
import os
import sys
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Annotated

from cyclopts import Parameter

from ..approval.places import Workspace
from ..errors import ConfigError, ToolwireError
from ..providers.catalog import split_model
from ..providers.endpoint import base_url_of
from ..settings.loading import look_at_settings
from .assembly import as_model
from .console import PlainConsole
from .discover import is_loopback, running_servers
from .doctor_files import files
from .doctor_findings import Finding, Report, unused, wrong
from .doctor_machine import extras, folders, machine, programs
from .doctor_models import Asked, ask_all, embedded, keys, whom_to_ask
from .doctor_tools import sandbox, servers
from .faults import FAILED, say
from .inputs import as_text
from .services import use_services

TIMEOUT = 30.0

Check = Callable[[], Awaitable[Iterable[Finding]]]


def doctor(
    *model: Annotated[str, Parameter(name="PROVIDER:MODEL")],
    offline: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    json: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    timeout: Annotated[float, Parameter(metavar="SECONDS")] = TIMEOUT,
) -> int:
    """Looks at all that has to work here, tries each model that is set up with one tiny call, and says what to do.

    Nothing is changed and no key is ever shown. The exit code is 1 where something is wrong, 0 otherwise.

    Parameters
    ----------
    model
        The models to try. Without any: those whose provider you have set up, by a key or a server that runs here.
        Each is asked once for one call, which costs a few hundred tokens.
    offline
        Ask no provider and connect to no MCP server. The embedded model is still tried: it needs no network.
    json
        Print one JSON object for each finding, a line each, and the verdict last: for bug reports, without secrets.
    timeout
        How long each model and each MCP server may take.
    """
    if not (math.isfinite(timeout) and timeout > 0):
        raise ConfigError(f"--timeout {timeout:g} is no time to wait", hint="Give seconds, such as 60.")
    with suppress(ConfigError):  # what does not fit in it is told among the files
        use_services(look_at_settings(os.environ)[0])
    named = [as_model(as_text(name)) for name in model]
    for name in named:
        split_model(name)
    report = Report(os.environ, json=json)
    asyncio.run(_examine(report, _checks(os.environ, named, offline, timeout)))
    report.end()
    return 0 if report.is_well else FAILED


def _checks(env: Mapping[str, str], named: Sequence[str], offline: bool, seconds: float) -> dict[str, Check]:
    """What is looked at, in the order in which it is shown."""
    workspace = Workspace.here()
    out = sys.stdout  # while a line moves on a terminal, another stands in its place
    is_local = [split_model(name)[0].name == "local" for name in named]

    def in_thread(look: Callable[[], Iterable[Finding]]) -> Check:
        return lambda: asyncio.to_thread(lambda: list(look()))

    checks: dict[str, Check] = {
        "Python and platform": in_thread(lambda: machine(env, out)),
        "Extras": in_thread(extras),
        "Files": in_thread(lambda: files(env, workspace)),
        "Folders": in_thread(lambda: folders(env)),
        "Keys": in_thread(lambda: keys(env)),
    }
    others = [name for name, local in zip(named, is_local, strict=True) if not local]
    if others or not named:
        checks["Providers"] = lambda: _providers(env, others, offline, seconds)
    if any(is_local) or not named:
        checks["Embedded model"] = lambda: embedded(seconds)
    checks["Sandbox"] = sandbox
    checks["MCP servers"] = lambda: servers(workspace.root, seconds, connect=not offline)
    checks["Programs"] = in_thread(lambda: programs(env))
    return checks


async def _examine(report: Report, checks: Mapping[str, Check]) -> None:
    """Does them all at the same time, and shows each when it and those before it are done."""
    console = PlainConsole(stderr=True)
    tasks = {name: asyncio.create_task(_checked(check)) for name, check in checks.items()}
    try:
        for name, task in tasks.items():
            if console.is_terminal and console.file.isatty() and not task.done():
                waiting = ", ".join(each.lower() for each, other in tasks.items() if not other.done())
                with console.status(f"looking at {waiting}"[: console.width - 4], spinner_style="dim"):
                    await asyncio.wait([task])
            report.add(name, await task)
    finally:
        for task in tasks.values():
            task.cancel()
        await asyncio.gather(*tasks.values(), return_exceptions=True)


async def _checked(check: Check) -> list[Finding]:
    """One check; a fault in it must not keep the others from being told."""
    try:
        return list(await check())
    except ToolwireError as error:
        return [wrong("this check", error.message, error.hint)]
    except OSError as error:
        return [wrong("this check", f"the system refused: {error.strerror or error}", "Look at what it names.")]
    except Exception as error:
        words = f"failed by a bug in Toolwire: {type(error).__name__}: {error}"
        return [wrong("this check", words, "Please report it, with what toolwire doctor --json prints.")]


async def _providers(env: Mapping[str, str], named: Sequence[str], offline: bool, seconds: float) -> list[Finding]:
    running = {} if named else await running_servers(env)
    asked, told = whom_to_ask(env, look_at_settings(env)[0].settings, named, running)
    if not asked and not told:
        todo = "Set the key of one (toolwire providers lists them), or start a server such as Ollama."
        return [unused("providers", "none is set up", todo)]
    if offline:
        return [*(unused(each.name, f"{each.why}; not asked (--offline)") for each in asked), *told]
    _say_cost(asked, env)
    return [*await ask_all(asked, env, seconds), *told]


def _say_cost(asked: Sequence[Asked], env: Mapping[str, str]) -> None:
    """Who is asked for something that may cost money, before it is."""
    paid = [each.name for each in asked if each.is_tried and not is_loopback(_address(each, env))]
    if paid:
        say(
            f"asking {', '.join(paid)} for one tiny call{' each' * (len(paid) > 1)}, which costs a few hundred tokens",
            "To ask nobody: toolwire doctor --offline",
        )


def _address(asked: Asked, env: Mapping[str, str]) -> str:
    return asked.base_url or base_url_of(split_model(asked.name)[0], env)
