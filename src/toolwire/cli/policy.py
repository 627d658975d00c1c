"""`toolwire policy`: the rules that hold here, and what they make of a call. Nothing runs."""

from __future__ import annotations

import json as json_text
import os
import sys
from pathlib import Path
from typing import Annotated, Any

import msgspec
from cyclopts import Parameter

from ..approval.examples import call_tool
from ..approval.files import (
    PROJECT_FOLDER,
    Layer,
    Layers,
    load_layer,
    load_layers,
    policy_paths,
)
from ..approval.memory import offers_of
from ..approval.places import Workspace
from ..approval.policy import Verdict
from ..approval.rules import Decision
from ..errors import ConfigError
from ..settings.loading import load_settings
from ..tools.definition import ToolDefinition
from .inputs import STANDARD_INPUT, as_text, check_files
from .question import NO_RULE
from .visible import json_bytes, one_line
from .working import find_workspace


class JudgedPart(msgspec.Struct, frozen=True):
    """One thing that the call does, and what becomes of it."""

    part: str
    risk: str
    decision: str
    why: str
    source: str
    """The rule that decided, by where it stands, or `mode`."""


class Explained(msgspec.Struct, frozen=True):
    """What would happen to a call."""

    decision: str
    why: str
    source: str
    mode: str
    mode_source: str
    headless: bool
    parts: list[JudgedPart]
    offers: list[str]
    """What could be allowed for longer than once."""


def check(
    *files: Annotated[str, Parameter(name="FILE")],
    workspace: Annotated[str | None, Parameter(metavar="FOLDER")] = None,
) -> int:
    """Checks the rules that hold here, or those of some files, and their examples.

    Parameters
    ----------
    files
        Files of rules. Without any: your own, the decisions that were kept, and the project's.
    workspace
        The folder that tools work in; else the current one.
    """
    here = _workspace(workspace)
    if files:
        for name in files:
            if name == STANDARD_INPUT:
                raise ConfigError("rules are read from files", hint="Name the file.")
        check_files(files)
        for name in files:
            path = Path(name)
            kind = "project" if path.absolute().parent.name == PROJECT_FOLDER else "user"
            _print_layer(load_layer(kind, path, here))
        return 0
    layers = _layers(here, None)
    for layer in layers.files:
        _print_layer(layer)
    print(f"mode     {layers.mode}, from {as_text(layers.mode_source)}")
    return 0


def _print_layer(layer: Layer) -> None:
    if layer.file is None:
        words = "there is no such file"
    else:
        count = len(layer.rules)
        words = f"{count} rule{'' if count == 1 else 's'}"
        elsewhere = len(layer.file.rules) - count
        words += f", {elsewhere} for other workspaces" if elsewhere else ""
        words += f", {layer.examples} example{'' if layer.examples == 1 else 's'} right" if layer.examples else ""
        words += f", mode {layer.file.mode}" if layer.file.mode else ""
    print(f"{layer.kind:7}  {one_line(as_text(str(layer.path)))}: {words}")


def explain(
    *,
    command: Annotated[str | None, Parameter(metavar="LINE")] = None,
    path: Annotated[str | None, Parameter(metavar="PATH")] = None,
    tool: Annotated[str, Parameter(metavar="TOOL")] = "tool",
    risk: Annotated[str | None, Parameter(metavar="RISK")] = None,
    arguments: Annotated[str, Parameter(metavar="JSON")] = "{}",
    mode: Annotated[str | None, Parameter(metavar="MODE")] = None,
    headless: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    workspace: Annotated[str | None, Parameter(metavar="FOLDER")] = None,
    json: Annotated[bool, Parameter(negative="", show_default=False)] = False,
) -> int:
    """Says what would happen to a call, and why. Nothing runs.

    Parameters
    ----------
    command
        A shell command line that the tool would run.
    path
        A path that the tool would touch.
    tool
        The tool's name: a built-in tool is judged as it is, any other by the rules that are about names.
    risk
        read, write, execute, network, dangerous or unknown, as if it were no built-in tool. Without it, for tools that
        are not: execute for a command, write for a path.
    arguments
        The call's other arguments, as a JSON object.
    mode
        read-only, ask, auto-edit or full, instead of the one that holds here.
    headless
        As if nobody were there to ask.
    workspace
        The folder that tools work in; else the current one.
    json
        Print one JSON object.
    """
    here = _workspace(workspace)
    layers = _layers(here, mode)
    definition, given = _call(command, path, as_text(tool), risk, arguments)
    explained = _explained(layers, definition, given, here, headless=headless)
    if json:
        sys.stdout.buffer.write(json_bytes(explained) + b"\n")
    else:
        _print(explained)
    return 0


def _call(
    command: str | None, path: str | None, name: str, risk: str | None, arguments: str
) -> tuple[ToolDefinition, dict[str, Any]]:
    """The call that is asked about, and its tool if that is built in, or else one that it could be of."""
    try:
        given = json_text.loads(as_text(arguments))
    except (ValueError, RecursionError):
        given = None
    if not isinstance(given, dict):
        raise ConfigError("--arguments is no JSON object", hint="""Write it as '{"city": "Paris"}'.""")
    if command is not None:
        given["command"] = as_text(command)
    if path is not None:
        given["path"] = as_text(path)
    if risk is None and (builtin := _builtin_tool(name, given)) is not None:
        return builtin, given
    usual = "execute" if command is not None else "write" if path is not None else "unknown"
    definition = call_tool(
        name,
        usual if risk is None else as_text(risk),
        given,
        paths=() if path is None else ("path",),
        command="" if command is None else "command",
    )
    return definition, given


def _builtin_tool(name: str, arguments: dict[str, Any]) -> ToolDefinition | None:
    """The built-in tool of this name, if it can have these arguments."""
    from ..builtin.tools import builtin_tools

    known = {tool.name: tool for tool in builtin_tools()}
    tool = known.get(name)
    return tool if tool is not None and arguments.keys() <= tool.parameters["properties"].keys() else None


def _explained(
    layers: Layers, tool: ToolDefinition, arguments: dict[str, Any], workspace: Workspace, *, headless: bool
) -> Explained:
    verdicts = layers.policy().judge_parts(tool, arguments, workspace)
    strictest = max(verdicts, key=lambda verdict: verdict.decision)
    decision, why = strictest.decision, strictest.why
    offers: list[str] = []
    if decision is Decision.ASK and headless:
        decision, why = Decision.DENY, f"it needs approval, and nobody is there to ask: {why}"
    elif decision is Decision.ASK:
        offers = [offer.words for offer in offers_of(tool, arguments, verdicts, workspace)]
    return Explained(
        str(decision),
        why,
        strictest.source,
        layers.mode,
        layers.mode_source,
        headless,
        [_judged(verdict) for verdict in verdicts],
        offers,
    )


def _judged(verdict: Verdict) -> JudgedPart:
    risk = verdict.part.risk if verdict.part is not None else None
    return JudgedPart(str(verdict.part), str(risk or "unknown"), str(verdict.decision), verdict.why, verdict.source)


def _print(explained: Explained) -> None:
    print(f"{explained.decision}: {one_line(explained.why)}")
    for part in explained.parts:
        by = part.why if part.source in NO_RULE else part.source
        by = f"the mode {explained.mode}" if part.source == "mode" else by
        print(f"  {part.decision:5}  {one_line(part.part)} ({part.risk}): {one_line(by)}")
    if explained.offers:
        print("It could be allowed for longer:")
        for words in explained.offers:
            print(f"  {one_line(words)}")


def _layers(workspace: Workspace, mode: str | None) -> Layers:
    """What holds for a run: a mode of the settings counts as one that was given, and is told with where it is from."""
    loaded = load_settings(os.environ)
    if mode is not None or not loaded.settings.mode:
        return load_layers(workspace, mode=None if mode is None else as_text(mode))
    layers = load_layers(workspace, mode=loaded.settings.mode)
    if layers.mode_source != "given":
        return layers
    return msgspec.structs.replace(layers, mode_source=loaded.source["mode"])


def _workspace(folder: str | None) -> Workspace:
    if folder is not None and not Path(folder).is_dir():
        raise ConfigError(f"there is no folder {as_text(folder)}", hint="Name the folder that tools work in.")
    roots = [root for root in load_settings(os.environ).settings.roots if os.path.isdir(root)]
    return find_workspace(policy_paths(os.environ), folder, roots)
