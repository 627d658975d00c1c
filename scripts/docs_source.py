"""What the source says of a class or a function: its signature as it is written, its words, its fields and methods.

Read from the text of the modules and not from the objects, so that defaults stand as somebody wrote them (`16 * MIB`)
and the words below a field are found.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from textwrap import dedent
from typing import Any, NamedTuple

Definition = ast.FunctionDef | ast.AsyncFunctionDef


class Field(NamedTuple):
    """One field of a class, or member of an enumeration."""

    name: str
    type: str
    default: str
    words: str


class Method(NamedTuple):
    """A public method or property."""

    name: str
    signature: str
    words: str


@cache
def module_of(path: str) -> ast.Module:
    """The source of a module, read once. Each expression knows how it was written."""
    text = Path(path).read_text()
    lines = text.splitlines(keepends=True)
    module = ast.parse(text)
    for node in ast.walk(module):
        if isinstance(node, ast.expr) and node.end_lineno is not None:
            rows = [line.encode() for line in lines[node.lineno - 1 : node.end_lineno]]
            rows[-1] = rows[-1][: node.end_col_offset]
            rows[0] = rows[0][node.col_offset :]
            vars(node)["written"] = " ".join(b"".join(rows).decode().split())
    return module


def node_of(thing: Any) -> ast.ClassDef | Definition:
    """Where it is defined."""
    thing = inspect.unwrap(thing)
    for node in module_of(inspect.getsourcefile(thing) or "").body:
        if isinstance(node, ast.ClassDef | Definition) and node.name == thing.__name__:
            return node
    raise LookupError(thing)


def words_of(node: ast.ClassDef | Definition) -> str:
    """The docstring, as Markdown: lines that begin with a word in capitals and a colon are the rows of a list."""
    lines = (ast.get_docstring(node) or "").splitlines()
    starts = [line.partition(":")[0].isupper() and ":" in line for line in lines]
    if starts.count(True) < 2:
        return "\n".join(lines)
    return "\n".join(f"- {line}" if begins else line for line, begins in zip(lines, starts, strict=True))


def _argument(argument: ast.arg, default: ast.expr | None = None, star: str = "") -> str:
    text = star + argument.arg + (f": {_plain(argument.annotation)}" if argument.annotation else "")
    return text if default is None else f"{text} = {_plain(default)}"


def _plain(node: ast.expr) -> str:
    """An expression as it is written."""
    written: str = vars(node)["written"]
    return written


def _arguments(node: Definition, *, is_method: bool) -> list[str]:
    given = node.args
    places = [*given.posonlyargs, *given.args]
    defaults: list[ast.expr | None] = [None] * (len(places) - len(given.defaults))
    parts = [_argument(*pair) for pair in zip(places, [*defaults, *given.defaults], strict=True)]
    if given.posonlyargs:
        parts.insert(len(given.posonlyargs), "/")
    if is_method:
        del parts[0]
    if given.vararg:
        parts.append(_argument(given.vararg, star="*"))
    elif given.kwonlyargs:
        parts.append("*")
    parts += [_argument(*pair) for pair in zip(given.kwonlyargs, given.kw_defaults, strict=True)]
    if given.kwarg:
        parts.append(_argument(given.kwarg, star="**"))
    return parts


def laid_out(name: str, parts: list[str], returns: ast.expr | None = None, width: int = 100) -> str:
    """A signature on one line, or an argument a line."""
    end = f" -> {_plain(returns)}" if returns is not None else ""
    line = f"{name}({', '.join(parts)}){end}"
    if len(line) <= width:
        return line
    return f"{name}(\n" + "".join(f"    {part},\n" for part in parts) + f"){end}"


def signature_of(node: Definition, *, is_method: bool = False) -> str:
    """How it is called."""
    lead = "async " if isinstance(node, ast.AsyncFunctionDef) else ""
    return laid_out(lead + node.name, _arguments(node, is_method=is_method), node.returns)


def constructor(cls: type) -> str | None:
    """How one is made; None for what nobody makes, an enumeration."""
    for base in cls.__mro__:
        if base.__module__.startswith("toolwire"):
            for node in _members(base):
                if isinstance(node, ast.FunctionDef) and node.name == "__init__":
                    return laid_out(cls.__name__, _arguments(node, is_method=True))
    fields = fields_of(cls)
    if not fields:
        return None
    parts = [f"{field.name}: {field.type}" + (f" = {field.default}" if field.default else "") for field in fields]
    only_by_name = any(keyword.arg == "kw_only" for keyword in getattr(node_of(cls), "keywords", []))
    return laid_out(cls.__name__, ["*", *parts] if only_by_name else parts)


def _members(cls: type) -> list[ast.stmt]:
    node = node_of(cls)
    return node.body if isinstance(node, ast.ClassDef) else []


def fields_of(cls: type) -> list[Field]:
    """Its public fields, in order, with the words below each."""
    body = _members(cls)
    found = []
    for node, after in zip(body, [*body[1:], None], strict=True):
        words = ""
        if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) and isinstance(after.value.value, str):
            words = dedent(after.value.value).strip()
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            name, kind, value = node.target.id, _plain(node.annotation), node.value
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name, kind, value = node.targets[0].id, "", node.value
        else:
            continue
        if not name.startswith("_"):
            found.append(Field(name, kind, "" if value is None else _plain(value), " ".join(words.split())))
    return found


def attributes_of(cls: type) -> list[Field]:
    """What its constructor sets and says something of."""
    found = []
    for node in _members(cls):
        if not (isinstance(node, ast.FunctionDef) and node.name == "__init__"):
            continue
        for line, after in zip(node.body, [*node.body[1:], None], strict=True):
            target = line.target if isinstance(line, ast.AnnAssign) else getattr(line, "targets", [None])[0]
            if (
                isinstance(target, ast.Attribute)
                and not target.attr.startswith("_")
                and isinstance(after, ast.Expr)
                and isinstance(after.value, ast.Constant)
            ):
                kind = _plain(line.annotation) if isinstance(line, ast.AnnAssign) else ""
                found.append(Field(target.attr, kind, "", " ".join(str(after.value.value).split())))
    return found


def methods_of(cls: type) -> Iterator[Method]:
    """Its public methods and properties, and those that it has from classes of ours."""
    seen: set[str] = set()
    for base in cls.__mro__:
        if not base.__module__.startswith("toolwire"):
            continue
        for node in _members(base):
            if not isinstance(node, Definition) or node.name.startswith("_") or node.name in seen:
                continue
            seen.add(node.name)
            marks = {_plain(mark) for mark in node.decorator_list}
            if any(mark.endswith(".setter") for mark in marks):
                continue
            if "property" in marks or "cached_property" in marks:
                returns = "" if node.returns is None else f": {_plain(node.returns)}"
                yield Method(node.name, node.name + returns, words_of(node))
            else:
                yield Method(node.name, signature_of(node, is_method="staticmethod" not in marks), words_of(node))
