"""What is promised of MCP servers and of Toolwire as one: each promise with how it is tried, and how often."""

from __future__ import annotations

from . import (
    attached,
    mcp_connections,
    mcp_consent,
    mcp_definitions,
    mcp_environment,
    mcp_hostile,
    mcp_serving,
    mcp_tokens,
)
from .approval_rows import Row

ROWS = (
    Row(
        "H1 a changed definition is seen",
        "definitions written after those of real servers, pinned, then one character changed, left out or put in: what "
        "means something else is never taken for the pinned one, and the difference shown holds every line of it",
        100_000,
        mcp_definitions.changed_bytes,
    ),
    Row(
        "H1 no tool has another's name",
        "random servers and tools, most of them nearly the same, with parts moved over the separator and names that "
        "came out of others: different pairs have different names, none of a built-in tool or of what servers ask "
        "for, and cut to what providers take they still say the whole server",
        100_000,
        mcp_definitions.names,
    ),
    Row(
        "D2 nothing of a connected program is left",
        "misbehaving programs (double fork, own sessions, SIGTERM ignored, supervisor stopped or killed, floods) that "
        "stay connected: closed, cancelled, killed or left by a Toolwire that is killed -9 (those that attack their "
        "supervisor not: then nobody is there to hold them), at random moments: 0 processes, descriptors or waiting "
        "readers left, none later than 5 seconds",
        500,
        attached.endings,
    ),
    Row(
        "H2 no server starts unasked",
        "projects with files of every kind, hostile, linked, broken and changed after the question: only the person's "
        "own servers and what was agreed to may start, and nothing else was started",
        5_000,
        mcp_consent.unasked_starts,
    ),
    Row(
        "H2 consent is for the exact entry",
        "one byte of an agreed entry changed, taken out or put in: whatever reads as another entry is asked again",
        100_000,
        mcp_consent.changed_bytes,
    ),
    Row(
        "H2 the whole command is shown",
        "random commands and variables with hidden characters and long words: the lines of the question go back to "
        "exactly them, untruncated",
        20_000,
        mcp_consent.shown_commands,
    ),
    Row(
        "H3 what one server is given reaches no other",
        "small worlds of three servers, two logins and a bystander that redirect, echo, name each other's logins and "
        "let tokens end: every byte that each received, every error and every log record is searched for canaries that "
        "are not its own: 0",
        200,
        mcp_tokens.canaries,
    ),
    Row(
        "F1 no secret reaches a server",
        "secrets in Toolwire's environment, under names that look allowed too: 0 in a server's environment, in that of "
        "any process that was started for it, or in a request over HTTP; what its entry gives arrives",
        1_000,
        mcp_environment.canaries,
    ),
    Row(
        "H4 hostile servers harm nobody else",
        "servers that misbehave in every way that was thought of (floods, endless lines, wrong ids and shapes, "
        "silence, death, deafness, daemons, bombs, storms of questions, changed and twin tools), in their start, list "
        "or a call, over pipes and HTTP, six at once beside an honest one: each ends with a result or a typed error in "
        "bounded time, the honest one answers all the while in less than a second, memory stays, nothing is left",
        300,
        mcp_hostile.hostile_servers,
    ),
    Row(
        "H4 a hostile server's calls end as they should",
        "13 harms (endless line, wrong ids, a million notifications, changes, reports, questions or junk lines, result "
        "flood, deep nesting, never reading, never answering): every call ends with an error of its kind in bounded "
        "time, and a server beside it answers all the while",
        0,
        mcp_connections.hostile,
    ),
    Row(
        "H, D2 a call of a server is cancelled at any moment",
        "calls side by side over one connection, half of them cancelled at a random moment: each leaves at once and as "
        "cancelled, no other gets its answer, the connection outlives all",
        10_000,
        mcp_connections.cancelled,
    ),
    Row(
        "H kill -9 of a server at any moment",
        "killed at a random moment of its start or of a call: exactly one result, which says that what it did is not "
        "known where the call had begun, no call run twice, and the next call finds it again",
        1_000,
        mcp_connections.killed,
    ),
    Row(
        "H Toolwire as a server: a hostile client runs nothing and leaves nothing",
        "clients over pipes and over HTTP with bad ids, bad lines, floods, messages that are too long, wrong hosts, "
        "origins, tokens, answers to questions that nobody asked, cut off at a random moment: every call that ran had "
        "a ticket, none runs on, memory stays flat, and an honest client is served afterwards",
        1_000,
        mcp_serving.hostile_clients,
    ),
)
