"""`toolwire demo`: one prompt to the embedded model, with or without a terminal."""

from __future__ import annotations

import os
import shlex
import shutil
import sys

from ..agent.loop import Agent
from ..extras import command_once
from .choose import EMBEDDED
from .console import PlainConsole
from .conversation import Conversation
from .install import NAME, ensure_weights
from .screen import Screen

PROMPT = "How many miles is 42 km?"
"""Its call has three arguments to watch, and its result needs no files, time zones or network."""


def demo() -> int:
    """Show one prompt, the tool call as it streams, and the answer."""
    from ..tools.demo_math import calculate, convert_units

    ensure_weights()
    return show_demo(Agent(EMBEDDED, [calculate, convert_units], stream_parser="auto"))


def show_demo(agent: Agent) -> int:
    """Run the demo prompt with this agent. Returns the exit code."""
    screen = Screen(PlainConsole())
    screen.header(
        f"A demo with {NAME}, a very small model on this machine. No key is used and nothing goes over the network.",
        "The model takes a few seconds to start.",
    )
    screen.question(PROMPT)
    code = Conversation(agent, screen.show, screen).ask_once(PROMPT)
    if code == 0:
        screen.header(f"To start the chat, type this in a terminal: {chat_command()}")
    return code


def chat_command() -> str:
    """How to start the chat from the same shell."""
    if once := command_once("toolwire chat", "chat", "local"):
        return once
    if shutil.which("toolwire"):
        return "toolwire chat"
    name = sys.argv[0]
    return f"{'python -m toolwire' if os.path.basename(name) == '__main__.py' else shlex.quote(name)} chat"
