"""Which model `toolwire run` talks to when nobody named one."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from rich.console import Console

from ..errors import ConfigError
from .console import has_person
from .discover import Found, find_models, is_allowed
from .faults import say

EMBEDDED = "local"
"""The embedded model, as `--model` takes it."""


def choose_model(env: Mapping[str, str], console: Console, *, ask: bool) -> str:
    """The model of TOOLWIRE_MODEL, or what the person chooses of what is there, or the embedded one."""
    if named := env.get("TOOLWIRE_MODEL"):
        return named
    found = asyncio.run(find_models(env)) if is_allowed(env) else []
    if not found:
        return EMBEDDED
    if ask and has_person():
        return _ask(found, console)
    others = ", ".join(f"{each.model} ({each.why})" for each in found[:4])
    say(f"using the embedded model; also found: {others}", f"Use one with --model {found[0].model}")
    return EMBEDDED


def _ask(found: Sequence[Found], console: Console) -> str:
    """A numbered choice; Enter takes the embedded model."""
    rows = [("SmolLM2-135M", "built in, very small"), *((each.model, each.why) for each in found)]
    width = max(len(name) for name, _ in rows)
    console.out("Which model?\n")
    for number, (name, why) in enumerate(rows, 1):
        console.out(f"  {number:>2}  ", end="", style="bold")
        console.out(name.ljust(width), end="")
        console.out(f"  {why}", style="dim")
    console.out("")
    while True:
        try:
            answer = input("Number, or Enter for 1: ").strip() or "1"
        except EOFError:
            raise KeyboardInterrupt from None
        if answer == "1":
            return EMBEDDED
        if answer.isascii() and answer.isdigit() and len(answer) < 4 and 1 < int(answer) <= len(rows):
            return found[int(answer) - 2].model
        console.out(f"A number from 1 to {len(rows)}, please.", style="dim")


def check_choice(model: str | None, base_url: str | None, env: Mapping[str, str]) -> None:
    """A server that was named needs a model that was named."""
    if base_url is not None and model is None and not env.get("TOOLWIRE_MODEL"):
        raise ConfigError(
            "--base-url says where the server is, but not which model to ask",
            hint="Name the model too: --model openai-compatible:NAME",
        )
