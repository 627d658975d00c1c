"""`/status`, `/usage`, `/wire`, `/copy`, `/keys`, `/quit`: what there is to see, and the way out."""

from __future__ import annotations

from collections.abc import Sequence

from ...errors import ConfigError
from ...tools.definition import ToolDefinition
from ..costs import ABOUT, conversation_cost, model_cost, usage_so_far
from ..desk import Desk
from ..talk import Talk
from .command import Command
from .layout import cells, listed
from .trust import MODES


async def _usage(talk: Talk, desk: Desk, typed: str) -> None:
    used = talk.usage if talk.attached is None else usage_so_far(talk)
    costs = {model: model_cost(talk, model, each) for model, each in used.items()}
    rows = []
    for model, usage in used.items():
        cached = f" ({usage.cached_tokens:,} from cache)" if usage.cached_tokens else ""
        cost = costs[model]
        words = "not known" if cost is None else cells(cost.words)
        rows.append((cells(model), f"{usage.input_tokens:,}{cached}", f"{usage.output_tokens:,}", words))
    parts = [listed(("model", "tokens in", "tokens out", "cost"), rows) if rows else "Nothing was asked yet."]
    whole = conversation_cost(talk, used)
    if len(rows) > 1 and whole is not None:
        parts.append(f"Together: {cells(whole.words)}.")
    if talk.attached is None:
        parts.append(_room(talk))
    if any(cost is not None and cost.is_about for cost in costs.values()):
        parts.append(f"{ABOUT} Your own prices go before them.")
    if None in costs.values():
        parts.append('Say what a model costs in your config file, under `[prices."provider:model"]`.')
    desk.say("\n\n".join(parts))


def _room(talk: Talk) -> str:
    used, window = talk.agent.tokens(), talk.agent.window
    share = f", {used / window:.0%} of the {window:,} that it can read" if window else ""
    return f"The conversation takes about {used:,} tokens{share}."


async def _status(talk: Talk, desk: Desk, typed: str) -> None:
    options, workspace, session = talk.options, talk.assembly.workspace, talk.session
    tools = list(talk.agent.tools)
    rows = [
        ("model", cells(talk.made.words)),
        ("calls read as", cells(talk.agent.parser)),
        ("folder", cells(", ".join(workspace.roots), 500)),
        ("mode", f"{talk.mode}: {MODES[talk.mode]}"),
        ("tools", f"{len(tools)}" if tools else "none"),
        ("sandbox", cells(_sandbox(tools))),
        ("audit trail", "written" if options.audit else "not written"),
        ("session", "not kept" if session is None else cells(session.id)),
        ("recording", cells(talk.recording) if talk.recording else "no"),
    ]
    if talk.attached is not None:
        rows.insert(0, ("shown", f"run {cells(talk.attached.id)}, {talk.attached.info.state}; your own is below"))
    desk.say(f"{listed(('what', 'how it is'), rows)}\n\n{_room(talk)}")


def _sandbox(tools: Sequence[ToolDefinition]) -> str:
    """Whether commands are held, as the tools themselves have it: what was wanted may not be possible here."""
    runners = [tool for tool in tools if tool.command]
    if not runners:
        return "not needed: no tool runs commands"
    return next((tool.asks for tool in runners if tool.asks), "commands are held in it")


async def _wire(talk: Talk, desk: Desk, typed: str) -> None:
    desk.toggle("wire")


async def _keys(talk: Talk, desk: Desk, typed: str) -> None:
    desk.toggle("keys")


async def _copy(talk: Talk, desk: Desk, typed: str) -> None:
    answers = [message.text for message in talk.agent.messages if message.role == "assistant" and message.text]
    if not answers:
        raise ConfigError("there is no answer to copy yet", hint="Ask something first.")
    desk.copy(answers[-1])
    desk.say(f"Copied: the last answer, {len(answers[-1]):,} characters, if your terminal lets programs do that.")


async def _quit(talk: Talk, desk: Desk, typed: str) -> None:
    desk.leave()


COMMANDS = (
    Command("status", "Shows how this chat is set up.", _status, at_once=True),
    Command(
        "usage",
        "Shows tokens, cost and the room that is left.",
        _usage,
        at_once=True,
        aliases=("cost", "tokens", "context"),
        more="Models on this machine are free; others cost what your config file says, else about their list price.",
    ),
    Command(
        "wire",
        "Shows what the provider really sends.",
        _wire,
        at_once=True,
        more="Each frame stands beside the events that were made of it, with times. The same command closes it.",
    ),
    Command("copy", "Copies the last answer.", _copy, at_once=True),
    Command("keys", "Shows the keys.", _keys, at_once=True, aliases=("shortcuts",)),
)
QUIT = Command("quit", "Ends the chat. So does Ctrl-D.", _quit, at_once=True, aliases=("exit",))
