"""`/usage`, `/wire`, `/copy`, `/help`, `/quit`: what there is to see, and the way out."""

from __future__ import annotations

from ...errors import ConfigError
from ..costs import conversation_cost, money
from ..desk import Desk
from ..talk import Talk
from .command import Command
from .layout import cells, listed


async def _usage(talk: Talk, desk: Desk, typed: str) -> None:
    rows = []
    for model, usage in talk.usage.items():
        cached = f" ({usage.cached_tokens:,} from cache)" if usage.cached_tokens else ""
        cost = conversation_cost(talk, {model: usage})
        rows.append(
            (cells(model), f"{usage.input_tokens:,}{cached}", f"{usage.output_tokens:,}", money(cost) or "not known")
        )
    parts = [listed(("model", "tokens in", "out", "cost"), rows) if rows else "Nothing was asked yet."]
    used, window = talk.agent.tokens(), talk.agent.window
    share = f", {used / window:.0%} of the {window:,} that it can read" if window else ""
    parts.append(f"The conversation takes about {used:,} tokens{share}.")
    if rows and conversation_cost(talk, talk.usage) is None:
        parts.append('Say what a model costs in your config file, under `[prices."provider:model"]`.')
    desk.say("\n\n".join(parts))


async def _wire(talk: Talk, desk: Desk, typed: str) -> None:
    desk.toggle("wire")


async def _keys(talk: Talk, desk: Desk, typed: str) -> None:
    desk.toggle("keys")


async def _copy(talk: Talk, desk: Desk, typed: str) -> None:
    answers = [message.text for message in talk.agent.messages if message.role == "assistant" and message.text]
    if not answers:
        raise ConfigError("there is no answer to copy yet", hint="Ask something first.")
    desk.copy(answers[-1])
    desk.say("The last answer is on the clipboard, if your terminal lets programs write there.")


async def _quit(talk: Talk, desk: Desk, typed: str) -> None:
    desk.leave()


COMMANDS = (
    Command("usage", "Shows tokens, cost where it is known, and how full the model's window is.", _usage, at_once=True),
    Command("wire", "Opens what the provider really sends, beside the events made of it.", _wire, at_once=True),
    Command("copy", "Copies the last answer.", _copy, at_once=True),
    Command("keys", "Shows the keys.", _keys, at_once=True),
    Command("quit", "Ends the chat. So does Ctrl-D.", _quit, at_once=True),
)
