"""Every setting that there is: its name, its kind, what it means, what it is when nobody says anything, an example.

The commented file, the messages about wrong values and the reference are all made of what stands here.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

Mode = Literal["", "read-only", "ask", "auto-edit", "full"]
ToolSet = Literal["", "builtin", "demo", "none"]
ReasoningShown = Literal["folded", "shown", "hidden"]


class ChatSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How `toolwire chat` looks."""

    theme: Annotated[
        str,
        Meta(
            description="The colours: dark, light, or the name of any theme of Textual, such as nord or gruvbox.",
            examples=["light"],
        ),
    ] = ""
    plain: Annotated[
        bool,
        Meta(
            description="Lines of text in place of the full screen: for screen readers and slow connections.",
            examples=[True],
        ),
    ] = False
    reasoning: Annotated[
        ReasoningShown,
        Meta(description="The model's reasoning: folded (one line that opens), shown or hidden.", examples=["shown"]),
    ] = "folded"
    notify: Annotated[
        bool, Meta(description="Ring the terminal's bell when a question waits for you.", examples=[False])
    ] = True


class Service(msgspec.Struct, frozen=True, kw_only=True):
    """A provider of the catalog as it is used here, or a service of the person's own. Never holds a key."""

    base_url: Annotated[
        str,
        Meta(
            description="Where it is. A service of your own must have one; OPENAI_BASE_URL and the like go before it.",
            examples=["https://models.example.com/v1"],
        ),
    ] = ""
    model: Annotated[str, Meta(description="The model that is asked where none is named.", examples=["large-1"])] = ""
    key_variable: Annotated[
        str,
        Meta(
            description="The environment variable that holds the key, and no other does then. Never the key itself.",
            examples=["WORK_API_KEY"],
        ),
    ] = ""
    like: Annotated[
        str,
        Meta(
            description="For a service of your own: the provider of the catalog whose wire it speaks. "
            "Without it: openai-compatible.",
            examples=["openai-compatible"],
        ),
    ] = ""


class Price(msgspec.Struct, frozen=True, kw_only=True):
    """What a model costs, for a million tokens, in the person's own currency."""

    input: Annotated[float, Meta(ge=0, description="For what is sent.", examples=[2.0])] = 0.0
    output: Annotated[float, Meta(ge=0, description="For what is answered.", examples=[8.0])] = 0.0
    cached: (
        Annotated[
            float,
            Meta(
                ge=0,
                description="For what is sent and was there already. Without it: as much as anything else sent.",
                examples=[0.5],
            ),
        ]
        | None
    ) = None


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a person can keep. Names are those of the options of `toolwire run` and `toolwire chat`."""

    model: Annotated[
        str,
        Meta(
            description="Whom to ask. Without it: you choose among what is found here, else the embedded model.",
            examples=["openai:gpt-4.1-mini"],
        ),
    ] = ""
    base_url: Annotated[
        str,
        Meta(
            description="Where the server of `model` is, if not where its provider usually is. It holds for that model "
            "alone: one that --model names goes to its own provider.",
            examples=["http://127.0.0.1:8000/v1"],
        ),
    ] = ""
    system: Annotated[
        str, Meta(description="Words that stand before every conversation.", examples=["Answer in one paragraph."])
    ] = ""
    tools: Annotated[
        ToolSet,
        Meta(
            description="The tools that it has: builtin (files, search, commands, pages), demo (a few harmless ones) "
            "or none. Without it: demo for the embedded model, builtin for all others.",
            examples=["builtin"],
        ),
    ] = ""
    roots: Annotated[
        tuple[str, ...],
        Meta(
            description="Further folders that tools may work in, beside the current one. --root adds to them.",
            examples=[["~/notes"]],
        ),
    ] = ()
    sandbox: Annotated[
        bool,
        Meta(
            description="Hold commands in the sandbox. Without it each that does more than read is asked about.",
            examples=[True],
        ),
    ] = True
    use_mcp: Annotated[
        bool,
        Meta(description="Offer the tools of the MCP servers that are set up (toolwire mcp list).", examples=[False]),
    ] = True
    stream_parser: Annotated[
        str,
        Meta(
            description="How the model calls tools: auto, api_tool_call, a text format (toolwire formats), or "
            "api_tool_call+FORMAT for both.",
            examples=["auto"],
        ),
    ] = ""
    repair: Annotated[
        bool,
        Meta(
            description="Mend malformed calls in text where that can be done. You are asked before one of them runs.",
            examples=[True],
        ),
    ] = False
    mode: Annotated[
        Mode,
        Meta(
            description="What runs without a question: read-only, ask, auto-edit or full. Without it: what policy.toml "
            "says, else ask. A project's file can only narrow it.",
            examples=["ask"],
        ),
    ] = ""
    audit: Annotated[
        bool, Meta(description="Write down what was asked, decided and run (toolwire audit).", examples=[True])
    ] = True
    sessions: Annotated[
        bool, Meta(description="Keep conversations, so that --resume can go on with them.", examples=[True])
    ] = True
    database: Annotated[
        str,
        Meta(
            description="Where durable runs are kept (toolwire runs, toolwire worker): SQLite for one machine, "
            "PostgreSQL for many. Without it: a file of SQLite beside the sessions. One with a password stands better "
            "in the variable.",
            examples=["postgresql://toolwire@db.example.com/runs"],
        ),
    ] = ""
    max_turns: Annotated[int, Meta(ge=1, description="Requests for one question, at most.", examples=[50])] = 25
    max_tokens: Annotated[
        int,
        Meta(
            ge=0,
            description="Tokens for one question, sent and received together, at most. 0: without a bound.",
            examples=[200000],
        ),
    ] = 0
    max_seconds: Annotated[
        float,
        Meta(
            ge=0,
            description="Time for one question, with that of tools and of your answers, at most. 0: without a bound.",
            examples=[1800],
        ),
    ] = 0.0
    retries: Annotated[
        int,
        Meta(ge=0, description="How often a request goes out again that failed before its answer began.", examples=[3]),
    ] = 3
    timeout: Annotated[float, Meta(gt=0, description="Seconds that the server may be silent.", examples=[120])] = 300.0
    context_tokens: Annotated[
        int,
        Meta(
            ge=0,
            description="How many tokens the model can take, where that is not known. 0: as it is known.",
            examples=[32768],
        ),
    ] = 0
    chat: ChatSettings = ChatSettings()
    providers: dict[str, Service] = {}
    prices: dict[str, Price] = {}


TABLES = ("chat", "providers", "prices")
"""What has a table of its own in the file."""
OF_MCP = ("mcp", "mcp_servers")
"""Tables of the same file that hold MCP servers, which `toolwire.mcp` reads."""
