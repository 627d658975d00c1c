"""The commands and their words. A command's module is imported when that command is called."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

from cyclopts import App, CycloptsError, Group

from .. import __version__
from .faults import USAGE, guarded, say
from .helping import FlowingHelp
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
        # Where something is like it, the list of all commands says no more.
        words = str(error).strip()
        words = words.partition(" Available commands:")[0] if "Did you mean" in words else words
        command = " ".join(error.command_chain or ())
        hint = f"See: toolwire {command} --help".replace("  ", " ")
        if command == "mcp add" and "--" not in tokens:
            hint = "What starts the server stands behind two dashes: toolwire mcp add NAME -- COMMAND ARGUMENTS"
        say(words[:1].lower() + words[1:], hint)
        return USAGE
    return result if isinstance(result, int) else 0


def spelled_out(tokens: list[str]) -> list[str]:
    """`--resume` stands for the newest session where no id follows: nothing, an option, or words with blanks."""
    if tokens[:1] not in (["run"], ["chat"]):
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
        help_formatter=FlowingHelp(),
        help_epilogue=_FIRST,
    )
    app["--help"].group = "Options"
    app["--version"].group = "Options"
    parts = {title: Group(title, sort_key=place) for place, title in enumerate(_PARTS)}
    order = {name: (parts[title], place) for title, names in _PARTS.items() for place, name in enumerate(names)}
    for name, summary, usage, example in _COMMANDS:
        app.command(
            _ELSEWHERE.get(name, f"{_HERE}.{name}:{name}"),
            name=name,
            help=summary,
            usage=f"Usage: toolwire {name} {usage}".rstrip(),
            help_epilogue=f"Example: toolwire {name} {example}".rstrip() + _ALSO.get(name, ""),
            group=order[name][0],
            sort_key=order[name][1],
        )
    for group in _GROUPS:
        part = App(
            name=group.name,
            help=group.help,
            help_epilogue=f"Example: toolwire {group.example}",
            group=order[group.name][0],
            sort_key=order[group.name][1],
        )
        for number, (name, where, summary, usage, example) in enumerate(group.commands):
            part.command(
                f"{_HERE}.{where}",
                name=name,
                help=summary,
                usage=f"Usage: toolwire {group.name} {name} {usage}".rstrip(),
                help_epilogue=f"Example: toolwire {group.name} {name} {example}".rstrip(),
                sort_key=number,
            )
        app.command(part)
    return app


_FIRST = """\
Try first:
  toolwire demo                             one prompt to a tiny model; no key
  toolwire chat                             talk; without a key, to a tiny model
  toolwire run "What time is it in Tokyo?"  one question, every tool call shown
  toolwire doctor                           what works here, and what to do"""

_ELSEWHERE = {"chat": "toolwire.tui.command:chat"}
"""Commands that are right of this folder: named here, imported when they are called."""

_KEEP = "\nWhat you always want the same can stand in a file: toolwire config init"
_ALSO = {
    "chat": _KEEP,
    "run": "\nIn a pipe, standard output gets the answer alone; all else goes to standard error."
    "\nExit codes: 0 answered (also where calls were denied), 1 failed, 2 asked for wrongly, 3 a bound was reached, "
    f"130 interrupted, 143 told to end.{_KEEP}",
    "demo": "\nAlways uses the embedded model, even if a key is set: no cost, and nothing goes over the network. "
    "Reads no settings and saves no session. Works without a terminal, such as in a container or in CI.",
    "worker": "\nExit codes: 1 failed, 2 asked for wrongly, 130 ended by Ctrl-C, 143 told to end (SIGTERM).",
    "doctor": "\nExit codes: 0 nothing is wrong (warnings do not count), 1 something is.",
}
"""What help says at its end beside the example."""

_PARTS = {
    "Talk": ("chat", "run", "demo", "sessions", "audit", "undo"),
    "Work": ("runs", "worker"),
    "Look": ("inspect", "decode", "parse", "request", "manifest", "prompt", "formats"),
    "Set up": ("config", "providers", "doctor", "mcp", "policy", "sandbox", "local", "completion"),
}
"""The commands as help lists them."""

_COMMANDS = (
    ("chat", "Opens a conversation on the whole screen.", "[OPTIONS] [QUESTION]", "--model anthropic:claude-sonnet-5"),
    (
        "run",
        "Asks a model that has tools, and shows everything as it happens.",
        "[OPTIONS] [QUESTION]",
        '"What is 17 * 23?" --model openai:gpt-4.1-mini',
    ),
    ("demo", "Show one prompt, the tool call as it streams, and the answer.", "", ""),
    (
        "inspect",
        "Shows recorded answers frame by frame, and what became of them.",
        "[OPTIONS] [FILE]",
        "run.jsonl --html run.html",
    ),
    (
        "decode",
        "Shows what is in recorded streams, as JSON.",
        "[OPTIONS] [FILE...]",
        "--summary recording.sse",
    ),
    (
        "parse",
        "Finds the tool calls in the text of answers.",
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
        "Prints a conversation as the prompt of a model family.",
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
    (
        "doctor",
        "Tries what is set up here, and says what to do about the rest.",
        "[OPTIONS] [PROVIDER:MODEL...]",
        "openai:gpt-4.1-mini",
    ),
    (
        "completion",
        "Makes your shell complete commands, options and names by Tab.",
        "[OPTIONS] [SHELL]",
        "bash --install",
    ),
    (
        "worker",
        "Works on durable runs until it is told to end.",
        "[OPTIONS]",
        "--database postgresql://toolwire@db.example.com/runs --mode auto-edit",
    ),
    ("undo", "Takes back what tools wrote to files here, the newest first.", "[OPTIONS] [COUNT]", "--list"),
)


class _Group(NamedTuple):
    """Commands under one name. Each has its name, where it is, a summary, how it is used, and an example."""

    name: str
    help: str
    example: str
    commands: tuple[tuple[str, str, str, str, str], ...]


_GROUPS = (
    _Group(
        "config",
        "Your settings: one commented file, and what holds here.",
        "config init",
        (
            ("init", "config:init", "Writes the commented file with every setting. Changes nothing.", "[OPTIONS]", ""),
            ("show", "config:show", "Shows every setting that holds, and where it is from.", "[OPTIONS]", ""),
            ("path", "config:path", "Prints the path of the file.", "", ""),
            ("check", "config:check", "Looks for mistakes, and names the line of each.", "", ""),
            ("edit", "config:edit", "Opens the file in your editor, and checks it after.", "", ""),
        ),
    ),
    _Group(
        "local",
        "The embedded model: very small, without key and server.",
        "local install",
        (
            ("install", "local:install", "Downloads the weights (about 93 MB, once) and checks them.", "[OPTIONS]", ""),
            ("status", "local:status", "Says whether the embedded model can run here.", "[OPTIONS]", ""),
            ("path", "local:path", "Prints the path of the weights.", "[OPTIONS]", ""),
        ),
    ),
    _Group(
        "policy",
        "What may run here, what is asked about and what is denied.",
        'policy explain --command "git push"',
        (
            (
                "check",
                "policy:check",
                "Checks the rules that hold here, or those of some files, and their examples.",
                "[OPTIONS] [FILE...]",
                "",
            ),
            (
                "explain",
                "policy:explain",
                "Says what would happen to a call, and why. Nothing runs.",
                "[OPTIONS]",
                '--command "git push"',
            ),
        ),
    ),
    _Group(
        "sandbox",
        "What holds the commands that a model runs.",
        "sandbox test",
        (
            (
                "test",
                "sandbox:test",
                "Tries to get out of the sandbox, and says what holds on this machine.",
                "[OPTIONS]",
                "",
            ),
            ("show", "sandbox:show", "Says what a command may read, write and reach in this folder.", "[OPTIONS]", ""),
        ),
    ),
    _Group(
        "sessions",
        "The conversations that are kept.",
        "sessions list",
        (
            ("list", "sessions:list_sessions", "Lists them, the newest last.", "[OPTIONS]", "--here"),
            ("show", "sessions:show", "Shows all that was said and done in one.", "[OPTIONS] ID", "261116-a3fk7q"),
            (
                "export",
                "sessions:export",
                "Writes one as Markdown to read, or as JSON.",
                "[OPTIONS] ID",
                "261116-a3fk7q -o talk.md",
            ),
            ("delete", "sessions:delete", "Removes some for good.", "[OPTIONS] ID...", "261116-a3fk7q"),
        ),
    ),
    _Group(
        "runs",
        "Durable runs: they survive crashes, and wait for days if need be.",
        'runs submit "Tidy up the notes" --follow',
        (
            (
                "submit",
                "runs_submit:submit",
                "Puts a question into a queue, and prints the id of the run.",
                "[OPTIONS] [QUESTION]",
                '"Tidy up the notes" --mode auto-edit --follow',
            ),
            (
                "list",
                "runs:list_runs",
                "Lists them, the newest last.",
                "[OPTIONS]",
                "--state waiting --watch",
            ),
            ("show", "runs:show", "Shows all that is known of one.", "[OPTIONS] RUN", "r-7k2m"),
            ("follow", "runs_follow:follow", "Shows one as it happens, or happened.", "[OPTIONS] RUN", "r-7k2m"),
            (
                "approve",
                "runs_answer:approve",
                "Lets a call run that waits for an answer.",
                "[OPTIONS] RUN [CALL]",
                "r-7k2m",
            ),
            (
                "deny",
                "runs_answer:deny",
                "Keeps a call from running, and the model is told why.",
                "[OPTIONS] RUN [CALL]",
                'r-7k2m --reason "Not in this folder."',
            ),
            (
                "reply",
                "runs_answer:reply",
                "Answers a question of the model's.",
                "[OPTIONS] RUN [CALL] TEXT",
                'r-7k2m "The second one."',
            ),
            ("cancel", "runs:cancel", "Ends some, with those that they started.", "[OPTIONS] RUN...", "r-7k2m"),
            ("pause", "runs:pause", "Lets some rest after the steps that run now.", "[OPTIONS] RUN...", "r-7k2m"),
            ("resume", "runs:resume", "Goes on with some that rest or did not finish.", "[OPTIONS] RUN...", "r-7k2m"),
            (
                "fork",
                "runs:fork",
                "Begins a new one with everything of another before a step.",
                "[OPTIONS] RUN --step N",
                "r-7k2m --step 4",
            ),
            ("workers", "runs:workers", "Lists the workers that live.", "[OPTIONS]", ""),
            (
                "prune",
                "runs:prune",
                "Forgets those for good that ended some time ago.",
                "[OPTIONS] --older-than TIME",
                "--older-than 30d",
            ),
        ),
    ),
    _Group(
        "mcp",
        "MCP servers: their tools here, and ours for other programs.",
        "mcp add time -- uvx mcp-server-time",
        (
            (
                "add",
                "mcp:add",
                "Writes a server into your own file, and tries it.",
                "[OPTIONS] NAME (URL | -- COMMAND...) | --from FILE [NAME...]",
                "time -- uvx mcp-server-time",
            ),
            (
                "list",
                "mcp_listing:list_servers",
                "Lists the servers that are known here, without starting any.",
                "[OPTIONS]",
                "",
            ),
            ("test", "mcp_listing:test", "Connects to servers, and says how that went.", "[OPTIONS] [NAME...]", "time"),
            (
                "tools",
                "mcp_listing:tools",
                "Lists the tools of servers; one that is named, in all its server's words.",
                "[OPTIONS] [NAME] [TOOL...]",
                "time",
            ),
            (
                "trust",
                "mcp_trust:trust",
                "Shows what waits to be looked at, servers of a project and tools, and asks about each.",
                "[OPTIONS] [NAME] [TOOL...]",
                "time",
            ),
            (
                "call",
                "mcp_call:call",
                "Calls a tool of a server, without a question.",
                "[OPTIONS] NAME TOOL [JSON | KEY=VALUE...]",
                "time get_current_time timezone=Asia/Tokyo",
            ),
            (
                "prompts",
                "mcp_prompts:prompts",
                "Lists the prompts of servers, or prints one. A run is given one by --attach mcp:NAME:prompt:PROMPT.",
                "[OPTIONS] [NAME] [PROMPT] [KEY=VALUE...]",
                "everything",
            ),
            (
                "resources",
                "mcp_prompts:resources",
                "Lists the resources of servers, or prints one. A run is given one by --attach mcp:NAME:URI.",
                "[OPTIONS] [NAME] [URI]",
                "everything",
            ),
            ("remove", "mcp:remove", "Takes servers out of your own file, with all that is kept.", "NAME...", "time"),
            ("serve", "mcp_serve:serve", "Offers Toolwire's tools to other programs, as a server.", "[OPTIONS]", ""),
        ),
    ),
)


def _settle_streams() -> None:
    """Standard streams that are closed or cannot take every character must not break a command half way."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
