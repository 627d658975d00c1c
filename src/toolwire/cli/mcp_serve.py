"""`toolwire mcp serve`: Toolwire's tools, and one's own, for any MCP client."""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import signal
import socket
from collections.abc import Coroutine
from contextlib import suppress
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from ..approval.audit import audit_path
from ..approval.files import load_policy, policy_paths
from ..errors import ConfigError
from ..mcp.sdk import check_sdk
from ..redaction import Redactor
from .faults import TERMINATED, say
from .inputs import as_text, read_whole
from .toolset import ToolSet, tools_in, tools_of
from .working import find_workspace

if TYPE_CHECKING:
    from ..mcp.serving import ToolServer

TOKEN_VARIABLE = "TOOLWIRE_MCP_TOKEN"
TOKEN_CHARACTERS = 16
"""A shorter token can be guessed."""


def serve(
    *,
    http: Annotated[str | None, Parameter(metavar="[HOST:]PORT")] = None,
    tools: Annotated[ToolSet | None, Parameter(metavar="SET")] = None,
    file: Annotated[list[str] | None, Parameter(metavar="FILE.PY", negative="")] = None,
    mode: Annotated[str | None, Parameter(metavar="MODE")] = None,
    root: Annotated[list[str] | None, Parameter(metavar="FOLDER", negative="")] = None,
    no_sandbox: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    no_audit: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    token_file: Annotated[str | None, Parameter(metavar="FILE")] = None,
    expose: Annotated[bool, Parameter(negative="", show_default=False)] = False,
) -> int:
    """Offers tools to MCP clients, behind the same rules as toolwire run: over standard input and output, or HTTP.

    Parameters
    ----------
    http
        Listen there, such as 8000 or 127.0.0.1:8000, at /mcp. Without it: standard input and output.
    tools
        Which tools it offers: builtin (files, search, commands, pages, in this folder) or demo (a few harmless ones).
        Without it: builtin, or none beside those of --file.
    file
        A Python file whose @tool functions are offered. It is run. Can be given several times.
    mode
        What runs without a question: read-only, ask, auto-edit or full. A project's file can only narrow it.
        Without it, your policy file says it, or else ask. Questions go to the client where it can ask its person.
    root
        A further folder that tools may work in, beside this one. Can be given several times.
    no_sandbox
        Let commands run without the sandbox (see toolwire sandbox). Each that does more than read is asked about.
    no_audit
        Write nothing into the audit trail (see toolwire audit).
    token_file
        Where the token stands that HTTP clients must send. Else it is in TOOLWIRE_MCP_TOKEN, or made and shown.
    expose
        Let --http name an address that other machines reach. Whoever has the token can then call the tools from
        there, and nothing is encrypted: put it behind something that does that.
    """
    check_sdk()
    if http is None:
        if token_file is not None or expose:
            raise ConfigError("--token-file and --expose are about --http", hint="Give --http PORT with them.")
        from ..mcp.serving_stdio import own_pipes, serve_stdio

        with own_pipes() as pipes:
            server = _server(tools, file, mode, root, no_sandbox, no_audit)
            return _run(serve_stdio(server, pipes))

    from ..mcp.serving_http import PATH, serve_http

    host, port = _address(http, expose)
    given = _token(token_file)
    token = given or secrets.token_urlsafe(32)
    server = _server(tools, file, mode, root, no_sandbox, no_audit, token)
    listening = _listening(host, port)
    port = listening.getsockname()[1]
    is_local = _is_loopback(host)
    names = {f"{name}:{port}" for name in (_written(host), "localhost", "127.0.0.1", "[::1]")}

    def tell() -> None:
        say(
            f"{len(server.tools)} tools at http://{_written(host)}:{port}{PATH} until Ctrl-C",
            f"Clients send: Authorization: Bearer {'(the token that you gave)' if given else token}",
        )
        if not is_local:
            say("other machines reach this address, and what goes over it is not encrypted")

    hosts = frozenset(name.lower() for name in names) if is_local else None
    return _run(serve_http(server, listening, token=token, hosts=hosts, on_ready=tell))


def _server(
    tools: ToolSet | None,
    files: list[str] | None,
    mode: str | None,
    root: list[str] | None,
    no_sandbox: bool,
    no_audit: bool,
    token: str = "",
) -> ToolServer:
    from ..mcp.serving import ToolServer

    paths = policy_paths(os.environ)
    workspace = find_workspace(paths, further=root or [])
    offered = [tool for name in files or [] for tool in tools_in(Path(name))]
    if tools is not None or not files:
        # A client has a person of its own to ask.
        chosen = tools_of(tools or "builtin", workspace, None, sandbox=not no_sandbox)
        offered += [tool for tool in chosen if tool.name != "ask_user"]
    return ToolServer(
        offered,
        policy=load_policy(workspace, mode=None if mode is None else as_text(mode), paths=paths),
        workspace=workspace,
        audit=None if no_audit else audit_path(os.environ),
        redactor=Redactor([token]) if token else None,
    )


def _address(given: str, expose: bool) -> tuple[str, int]:
    """Where to listen: on this machine alone unless more is asked for in so many words."""
    host, _, port = as_text(given).rpartition(":")
    host = host.removeprefix("[").removesuffix("]") or "127.0.0.1"
    if not (port.isascii() and port.isdecimal() and int(port) < 65_536):
        raise ConfigError(f"--http {as_text(given)} is no place to listen", hint="Give a port, or HOST:PORT.")
    if not _is_loopback(host) and not expose:
        raise ConfigError(
            f"{host} is reached from other machines, and what goes over it is not encrypted",
            hint="Give only a port to listen on this machine; or add --expose if that is what you want.",
        )
    return host, int(port)


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    with suppress(ValueError):
        return ip_address(host).is_loopback
    return False


def _written(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _token(name: str | None) -> str:
    """What the person gives; empty for one that is to be made."""
    if name is not None:
        token, source = read_whole(name).decode("utf-8", "replace").strip(), as_text(name)
    else:
        token, source = os.environ.get(TOKEN_VARIABLE, "").strip(), TOKEN_VARIABLE
        if not token:
            return ""
    if len(token) < TOKEN_CHARACTERS or not (token.isascii() and token.isprintable()) or " " in token:
        raise ConfigError(
            f"the token in {source} is none",
            hint=f"Give at least {TOKEN_CHARACTERS} letters and digits that nobody can guess, and nothing else.",
        )
    return token


def _listening(host: str, port: int) -> socket.socket:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listening = socket.socket(family, kind, protocol)
        try:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind(address)
        except BaseException:
            listening.close()
            raise
    except OSError as error:
        words = error.strerror or str(error)
        raise ConfigError(
            f"nothing can listen on {_written(host)}:{port}: {words}", hint="Give another port."
        ) from None
    return listening


def _run(serving: Coroutine[Any, Any, None]) -> int:
    """Until the client leaves, Ctrl-C, or the system wants it to end: then what runs is stopped first."""
    # They warn of every message that they drop, as often as a client likes, or who is none.
    for library in ("mcp", "uvicorn"):
        logging.getLogger(library).setLevel(logging.ERROR)

    async def until_told() -> int:
        task = asyncio.ensure_future(serving)
        told = False

        def end() -> None:
            nonlocal told
            told = True
            task.cancel()

        with suppress(NotImplementedError):  # Windows
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, end)
        try:
            await task
        except asyncio.CancelledError:
            if not told:
                raise
            return TERMINATED
        return 0

    return asyncio.run(until_told())
