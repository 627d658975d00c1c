"""The commands and their words. A command's module is imported when that command is called."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any

from cyclopts import App, CycloptsError

from .. import __version__
from .faults import USAGE, guarded, say
from .inputs import NEWEST, STANDARD_INPUT

_HERE = __name__.rpartition(".")[0]


def run_command(tokens: Sequence[str]) -> int:
    """Runs one command line; gives the exit code. Whatever goes wrong is a sentence on standard error."""
    _settle_streams()
    return guarded(lambda: _dispatch(spelled_out([STANDARD_INPUT if token == "-" else token for token in tokens])))


def _dispatch(tokens: Sequence[str]) -> int:
    try:
        result: Any = make_app()(tokens)
    except CycloptsError as error:
        words = str(error).strip()
        command = "".join(f"{name} " for name in error.command_chain or ())
        say(words[:1].lower() + words[1:], f"See: toolwire {command}--help")
        return USAGE
    return result if isinstance(result, int) else 0


def spelled_out(tokens: list[str]) -> list[str]:
    """`--resume` stands for the newest session where no id follows: nothing, an option, or words with blanks."""
    if tokens[:1] != ["run"]:
        return tokens
    spelled: list[str] = []
    for place, token in enumerate(tokens):
        spelled.append(token)
        if token == "--":
            return spelled + tokens[place + 1 :]
        if token == "--resume":
            following = tokens[place + 1 : place + 2]
            if not following or following[0].startswith(("-", "\0")) or len(following[0].split()) != 1:
                spelled.append(NEWEST)
    return spelled


def make_app() -> App:
    """The command as it stands on the command line."""
    app = App(
        name="toolwire",
        help="Turns what any model says into tool calls that can be watched, approved, run and answered.",
        version=__version__,
        version_flags=["--version"],
        help_format="plaintext",
        group_parameters="Options",
        print_error=False,
        exit_on_error=False,
        suppress_keyboard_interrupt=False,
        result_action="return_value",
        end_of_options_delimiter="--",
        help_epilogue='Start here: toolwire run "What time is it in Tokyo?"',
    )
    app["--help"].group = "Options"
    app["--version"].group = "Options"
    for place, (name, summary, usage, example) in enumerate(_COMMANDS):
        app.command(
            f"{_HERE}.{name}:{name}",
            name=name,
            help=summary,
            usage=f"Usage: toolwire {name} {usage}".rstrip(),
            help_epilogue=f"Example: toolwire {name} {example}".rstrip(),
            sort_key=place,
        )
    local = App(
        name="local",
        help="The embedded model: a very small one that needs no key and no server.",
        help_epilogue="Example: toolwire local install",
        sort_key=len(_COMMANDS),
    )
    for name, summary in _LOCAL_COMMANDS:
        local.command(f"{_HERE}.local:{name}", name=name, help=summary, help_epilogue=f"Example: toolwire local {name}")
    app.command(local)
    sessions = App(
        name="sessions",
        help="The conversations of toolwire run that are kept.",
        help_epilogue="Example: toolwire sessions list",
        sort_key=len(_COMMANDS) + 3,
    )
    for name, summary, usage, example in _SESSIONS_COMMANDS:
        sessions.command(
            f"{_HERE}.sessions:{name}",
            name=name.removesuffix("_sessions"),
            help=summary,
            usage=f"Usage: toolwire sessions {name.removesuffix('_sessions')} {usage}",
            help_epilogue=f"Example: toolwire sessions {name.removesuffix('_sessions')} {example}".rstrip(),
        )
    app.command(sessions)
    policy = App(
        name="policy",
        help="What may run here, what is asked about and what is denied.",
        help_epilogue='Example: toolwire policy explain --command "git push"',
        sort_key=len(_COMMANDS) + 1,
    )
    for name, summary, usage, example in _POLICY_COMMANDS:
        policy.command(
            f"{_HERE}.policy:{name}",
            name=name,
            help=summary,
            usage=f"Usage: toolwire policy {name} {usage}",
            help_epilogue=f"Example: toolwire policy {name} {example}".rstrip(),
        )
    app.command(policy)
    sandbox = App(
        name="sandbox",
        help="What holds the commands that a model runs.",
        help_epilogue="Example: toolwire sandbox test",
        sort_key=len(_COMMANDS) + 2,
    )
    for name, summary in _SANDBOX_COMMANDS:
        sandbox.command(
            f"{_HERE}.sandbox:{name}", name=name, help=summary, help_epilogue=f"Example: toolwire sandbox {name}"
        )
    app.command(sandbox)
    return app


_COMMANDS = (
    (
        "run",
        "Asks a model that has tools, and shows everything as it happens.",
        "[OPTIONS] [QUESTION]",
        '"What is 17 * 23?" --model openai:gpt-4.1-mini',
    ),
    (
        "decode",
        "Shows what is in recorded streams, one JSON object per line.",
        "[OPTIONS] [FILE...]",
        "--summary recording.sse",
    ),
    (
        "parse",
        "Finds the tool calls in the text of answers, one JSON object per line.",
        "[OPTIONS] [FILE...]",
        "--format xml --tools tools.json --summary answer.txt",
    ),
    (
        "request",
        "Prints the request body for a conversation. Nothing is sent.",
        "[OPTIONS] [CONVERSATION]",
        "--tools tools.json conversation.json",
    ),
    (
        "manifest",
        "Prints what a model is told about tools that it calls in text.",
        "--tools TOOLS.JSON [OPTIONS]",
        "--format xml --tools tools.json",
    ),
    (
        "prompt",
        "Prints a conversation as the prompt of a model family, for endpoints that complete text.",
        "[OPTIONS] [CONVERSATION]",
        "--format hermes --tools tools.json conversation.json",
    ),
    ("formats", "Lists the syntaxes in which models write tool calls into text.", "[OPTIONS] [NAME]", "qwen3-coder"),
    ("providers", "Lists the providers, and which of them are set up here.", "[OPTIONS]", ""),
    (
        "audit",
        "Shows what was asked, decided and run, the newest last.",
        "[OPTIONS] [FILE]",
        "--event denied --since 7d",
    ),
    ("undo", "Takes back what tools wrote to files in this folder, the newest first.", "[OPTIONS] [COUNT]", "--list"),
)
_POLICY_COMMANDS = (
    (
        "check",
        "Checks the rules that hold here, or those of some files, and their examples.",
        "[OPTIONS] [FILE...]",
        "",
    ),
    ("explain", "Says what would happen to a call, and why. Nothing runs.", "[OPTIONS]", '--command "git push"'),
)
_SESSIONS_COMMANDS = (
    ("list_sessions", "Lists them, the newest last.", "[OPTIONS]", "--here"),
    ("show", "Shows all that was said and done in one.", "[OPTIONS] ID", "261116-a3fk7q"),
    ("export", "Writes one as Markdown to read, or as JSON.", "[OPTIONS] ID", "261116-a3fk7q -o talk.md"),
    ("delete", "Removes some for good.", "[OPTIONS] ID...", "261116-a3fk7q"),
)
_SANDBOX_COMMANDS = (
    ("test", "Tries to get out of the sandbox, and says what holds on this machine."),
    ("show", "Says what a command may read, write and reach in this folder."),
)
_LOCAL_COMMANDS = (
    ("install", "Downloads the weights (about 93 MB, once) and checks them."),
    ("status", "Says whether the embedded model can run here."),
    ("path", "Prints the path of the weights."),
)


def _settle_streams() -> None:
    """Standard streams that are closed or cannot take every character must not break a command half way."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
