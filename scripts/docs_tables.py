"""The reference pages that are tables: events, errors, limits."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

from .docs_library import cell, code, field_table, table
from .docs_source import fields_of, module_of, node_of, words_of

SOURCE = Path(__file__).resolve().parents[1] / "src" / "toolwire"

EVENTS = """# Events

What an agent's run tells, written by `make docs` from the source; a test keeps it so. [The
agent](../agent.md#what-a-run-tells) says how they follow on each other. `toolwire run --json` prints each as one JSON
object with its `type`; fields that hold their default are left out in some.
"""
ERRORS = """# Errors

Whatever bytes, files or servers do, what leaves the library is a `ToolwireError`; anything else is a bug. Each has a
`message` (one sentence), a `hint` (what you can do) and facts as attributes, such as `error.status`. They are in
`toolwire.errors` unless said otherwise. Written by `make docs` from the source; a test keeps it so.
"""
LIMITS = """# Limits

Every buffer has a bound, a default and a reason for the number. Something that grows over its bound ends in a
`LimitExceeded` or a `RunLimitReached` that names it, within the bound and one read more. Written by `make docs` from
the source; a test keeps it so.
"""


def _events(union: Any) -> Iterator[type]:
    for part in get_args(union):
        if get_args(part):
            yield from _events(part)
        else:
            yield part


def events_page() -> str:
    """Every event, in short and then with its fields."""
    from toolwire.agent import events

    kinds = list(_events(events.AgentEvent))
    tag = {kind: getattr(kind, "__struct_config__").tag or "" for kind in kinds}  # noqa: B009 - msgspec's, untyped
    rows = []
    for kind in kinds:
        first = words_of(node_of(kind)).partition("\n\n")[0]
        words = "A piece of the answer as it comes." if kind.__name__ == "SegmentEvent" else cell(first)
        rows.append((f"[`{kind.__name__}`](#{kind.__name__.lower()})", code(tag[kind]), words))
    parts = [EVENTS, table(("event", "`type`", "what it says"), rows)]
    for kind in kinds:
        parts += [f"## {kind.__name__}\n", words_of(node_of(kind)) + "\n", field_table(fields_of(kind))]
        if kind.__name__ == "SegmentEvent":
            parts.append("Its `type` is one of `start`, `content`, `end`, `done` and `error`.\n")
    return "\n".join(parts)


def _error_classes() -> Iterator[tuple[str, str, str, str]]:
    """(name, parent, module, words) of every error, those of errors.py first and a parent before its children."""
    known = {"Exception"}
    own = SOURCE / "errors.py"
    for path in [own, *(path for path in sorted(SOURCE.rglob("*.py")) if path != own)]:
        if path != own and not any(f"({name})" in path.read_text() for name in known):
            continue
        for node in module_of(str(path)).body:
            if not isinstance(node, ast.ClassDef) or node.name.startswith("_"):
                continue
            for base in node.bases:
                is_root = path == own and node.name == "ToolwireError"
                if isinstance(base, ast.Name) and (is_root or base.id in known - {"Exception"}):
                    known.add(node.name)
                    module = ".".join(("toolwire", *path.relative_to(SOURCE).with_suffix("").parts))
                    yield node.name, base.id, module, words_of(node)
                    break


def errors_page() -> str:
    """The tree of errors."""
    rows = []
    for name, parent, module, words in _error_classes():
        elsewhere = "" if module == "toolwire.errors" else f" (`{module}`)"
        rows.append((code(name) + elsewhere, code(parent), cell(words)))
    return "\n".join((ERRORS, table(("error", "is a", "when, and its facts"), rows)))


def _constants(module: str) -> str:
    """The public numbers of a module, with the words below each."""
    body = module_of(str(SOURCE / module)).body
    rows = []
    for node, after in zip(body, [*body[1:], None], strict=True):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and isinstance(after, ast.Expr):
            words = ast.literal_eval(after.value)
            rows.append((code(node.targets[0].id), code(vars(node.value)["written"]), cell(words)))
    return table(("bound", "value", "why"), rows)


def limits_page() -> str:
    """Every bound that a person can set, and those of MCP."""
    from toolwire.agent.asking import Retries
    from toolwire.agent.bounds import Bounds
    from toolwire.limits import Limits
    from toolwire.transport import Timeouts

    parts = [LIMITS]
    for title, kind, lead in (
        ("One stream", Limits, "`toolwire.Limits`, given to a `Stream`. Bytes unless the words say otherwise."),
        ("One run", Bounds, "`toolwire.Bounds`, given to an `Agent`."),
        ("Requests that fail", Retries, "`toolwire.Retries`, given to an `Agent`."),
        ("Waiting", Timeouts, "`toolwire.transport.Timeouts`, in seconds."),
    ):
        parts += [f"## {title}\n", lead + "\n", field_table(fields_of(kind), "bound")]
    parts += ["## MCP servers\n", "`toolwire.mcp.limits`; [MCP](../mcp.md) has what happens at each.\n"]
    parts.append(_constants("mcp/limits.py"))
    return "\n".join(parts)
