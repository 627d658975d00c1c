"""`sentinel`: calls between marks that occur in no other text, `[[SEG_START {header}]] body [[SEG_END]]`.

The header is JSON. `{"type": "tool", "tool_name": …, "arguments": {…}}` is a call of any tool; its arguments may stand
in the body instead. `{"type": "write_file", "path": …}` is a call of the tool of that name: the other members are its
arguments, and the body is its long text (`toolwire.tools.forms`).

The body is taken as it stands, but for one newline directly after the header. It ends at `[[SEG_END]]`; a text that
holds the marks itself goes into the header, where it is a JSON string. A body in which another call seems to begin
spoils its own call, and nothing in it is run.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from ...messages import ToolResultPart
from ...tools.definition import ToolDefinition
from ...tools.forms import form_of
from ...tools.registry import ToolRegistry
from ..arguments import Shape, shape_of
from ..branches import properties_of, required_of
from ..format import Format
from ..grammar import Grammar
from ..json_source import as_it_is, decoded, json_text, quote, read_key, read_mark, read_raw, read_value
from ..prose import prose
from ..scanner import Scanner, Wait

START = "[[SEG_START"
END = "[[SEG_END]]"
RESULT = "[[TOOL_RESULT"
_MARKS = "[[SEG_"
_HALF_MARK = 10
"""Characters of a mark, `START` or `END`, that is not whole."""
_CLOSE = "]]"
_TOOL = "tool"
_RESERVED = frozenset(("type", "tool_name", "arguments"))
_BAD = "the header is not valid JSON"


def read(scanner: Scanner, tools: ToolRegistry | None) -> Wait[None]:
    """Reads an answer."""
    return prose(scanner, "[", lambda: _Call(scanner, tools).read(), _may_begin)


def _may_begin(text: str, at: int) -> bool:
    return START.startswith(text[at : at + len(START)])


class _Call:
    """One call while it is read: the header member by member, then the body."""

    def __init__(self, scanner: Scanner, tools: ToolRegistry | None) -> None:
        self._scanner = scanner
        self._tools = tools
        self._kind = ""
        self._name = ""
        self._begun = False
        self._foreign = False
        """It names a tool that there is not: as a whole it is text."""
        self._waiting: list[tuple[str, str]] = []
        """Members that came before it was known which tool is called."""
        self._given = False
        """Of the arguments something was given."""
        self._whole = False
        """The arguments came as one object."""
        self._shape: Shape
        self._body = ""
        self._depth = 1
        """Marks that begin a call and were not ended."""
        self._in_value = False
        """The header of a tool that there is not is broken within a value."""
        self._last = ""
        """The end of what was read of the value that is being read: half a mark may be there."""

    def read(self) -> Wait[bool]:
        """True when this was a call, or text as a whole; False, with nothing given, when it is text like any other."""
        scanner = self._scanner
        if not (yield from scanner.read_literal(START)):
            return False
        problem = yield from self._read_header()
        if self._foreign:
            if not problem:
                scanner.note_unknown(self._name)
            if not problem or self._in_value or self._depth > 1:
                yield from self._read_to_end(scanner.give_text_to)
            scanner.give_text()
            return True
        if not self._begun:
            return False
        if not problem:
            problem = yield from self._read_body()
        if problem:
            # The rest of it, to its end, is still its text and nothing else.
            yield from self._read_to_end(scanner.give_run)
            scanner.break_call(problem)
        return True

    # The header.

    def _read_header(self) -> Wait[str]:
        """Reads the header and its end; what is wrong with it, if anything."""
        scanner = self._scanner
        if not (yield from read_mark(scanner, "{")):
            return scanner.fault(_BAD)
        if not (yield from read_mark(scanner, "}")):
            seen: set[str] = set()
            while True:
                self._depth, self._last = 1, ""
                key = yield from read_key(scanner)
                if key is None:
                    return scanner.fault(_BAD)
                if key in seen:
                    return scanner.fault(f"the header gives {key[:80]!r} twice")
                if not self._foreign:  # text has no bound
                    seen.add(key)
                problem = yield from self._read_member(key)
                if problem:
                    return problem
                if (yield from read_mark(scanner, "}")):
                    break
                if not (yield from read_mark(scanner, ",")):
                    return scanner.fault(_BAD)
        self._depth, self._last = 1, ""
        if not (yield from read_mark(scanner, _CLOSE)):
            return scanner.fault(f"the header does not end with {_CLOSE}")
        return ""

    def _read_member(self, key: str) -> Wait[str]:
        scanner = self._scanner
        if self._foreign:
            self._in_value = not (yield from read_value(scanner, self._give_foreign))
            return _BAD if self._in_value else ""
        if self._begun:
            return (yield from self._read_argument(key))
        raw = yield from read_raw(scanner)
        if raw is None:
            return scanner.fault(_BAD)
        if key == "type":
            self._kind = decoded(raw) or ""
        else:
            self._waiting.append((key, raw))
            if key == "tool_name":
                self._name = decoded(raw) or ""
        name = self._name if self._kind == _TOOL else self._kind
        return self._begin(name) if name else ""

    def _begin(self, name: str) -> str:
        """The tool is known: what has come of its arguments is given. What is wrong, if anything."""
        self._name = name
        if self._tools is not None and name not in self._tools:
            self._foreign = True
            return ""
        self._begun = True
        tool = self._tools.get(name) if self._tools is not None else None
        self._shape = shape_of(tool)
        self._body = form_of(name).body_of(tool.parameters if tool is not None else {})
        self._scanner.begin_call(name)
        for key, raw in self._waiting:
            if self._kind == _TOOL and key == "tool_name":
                continue
            problem = self._open(key)
            if problem:
                return problem
            self._scanner.give_call(raw)
        return ""

    def _open(self, key: str) -> str:
        """An argument begins: gives what stands before its value in the JSON. What is wrong, if anything."""
        if self._whole:
            return self._scanner.fault(f"the header gives {key[:80]!r} beside the arguments")
        if key == "arguments" and (self._kind == _TOOL or key not in self._shape.properties):
            if self._given:
                return self._scanner.fault("the header gives the arguments twice: one by one, and as one object")
            self._whole = True
        elif self._kind == _TOOL:
            return self._scanner.fault(f"the header of a tool has no place for {key[:80]!r}: put it into arguments")
        else:
            self._scanner.give_call(f"{', ' if self._given else '{'}{json_text(key)}: ")
        if key == self._body:
            self._body = ""
        self._given = True
        return ""

    def _read_argument(self, key: str) -> Wait[str]:
        problem = self._open(key)
        if not problem and not (yield from read_value(self._scanner, self._give_json)):
            problem = self._scanner.fault(_BAD)
        return problem

    # The body.

    def _read_body(self) -> Wait[str]:
        """Reads the body to its end and ends the call; what is wrong, if it could not."""
        scanner = self._scanner
        if self._body and not self._whole and self._kind != _TOOL:
            return (yield from self._read_long_text())
        arguments = "" if self._whole else "}" if self._given else "{}"
        yield from scanner.read_space()
        if not self._given and (yield from scanner.need(1)) == "{":
            scanner.give_call()
            if not (yield from read_value(scanner, self._give_json)):
                return scanner.fault("the arguments in the body are not valid JSON")
            arguments = ""
            yield from scanner.read_space()
        if not (yield from scanner.read_literal(END)):
            come = yield from scanner.need(len(END))
            return scanner.fault(f"{END} is missing" if END.startswith(come) else "there is text where none belongs")
        scanner.end_call(arguments)
        return ""

    def _read_long_text(self) -> Wait[str]:
        scanner = self._scanner
        shape = self._shape.property(self._body)
        is_text = shape.takes_any_text
        start = f"{', ' if self._given else '{'}{json_text(self._body)}: "
        if not (yield from scanner.read_literal("\r\n")):
            yield from scanner.read_literal("\n")
        scanner.give_call(start + '"' if is_text else start)
        typed: list[str] = []

        def take(text: str) -> str:
            if is_text:
                return quote(text)
            typed.append(text)
            return ""

        while (yield from scanner.more()):
            scanner.give_run(scanner.find("["), take)
            if not (yield from scanner.more()) or scanner.text[scanner.at] != "[":
                continue
            if (yield from scanner.read_literal(END)):
                scanner.end_call('"}' if is_text else shape.json_of("".join(typed)) + "}")
                return ""
            if (yield from scanner.read_literal(START)):
                self._depth += 1
                return scanner.fault(
                    f"{START} stands in the body: {END} is missing, or the text belongs into the header"
                )
            scanner.give_run(scanner.at + 1, take)
        return scanner.fault(f"{END} is missing")

    def _read_to_end(self, give: Callable[[int], None]) -> Wait[None]:
        """Reads on to the mark that ends this, past all that seem to begin and end in it, or to the answer's end."""
        scanner = self._scanner
        while (yield from scanner.more()):
            give(scanner.find("["))
            if not (yield from scanner.more()) or scanner.text[scanner.at] != "[":
                continue
            if (yield from scanner.read_literal(END)):
                self._depth -= 1
                if not self._depth:
                    return
            elif (yield from scanner.read_literal(START)):
                self._depth += 1
            else:
                give(scanner.at + 1)

    def _give_json(self, at: int) -> None:
        self._count_marks(at)
        self._scanner.give_run(at, as_it_is)

    def _give_foreign(self, at: int) -> None:
        self._count_marks(at)
        self._scanner.give_text_to(at)

    def _count_marks(self, at: int) -> None:
        """Counts the marks in more of a value: if that turns out to be broken, they were quoted in it.

        Marks that end what was not begun there do not count: whether they are quoted too cannot be known.
        """
        text = self._last + self._scanner.text[self._scanner.at : at]
        self._last = text[-_HALF_MARK:]
        found = text.find(_MARKS)
        while found >= 0:
            if text.startswith(START, found):
                self._depth += 1
            elif text.startswith(END, found) and self._depth > 1:
                self._depth -= 1
            found = text.find(_MARKS, found + 1)


# What a model is told.

_RULES = f"""\
To use a tool, write a call of it between these marks, exactly so:

{START} {{"type": "tool", "tool_name": "NAME", "arguments": {{"ARGUMENT": VALUE}}}}{_CLOSE}{END}

- What stands between `{START} ` and `{_CLOSE}` is one JSON object. Names and strings have double quotes; in a string, \
write `\\"` for a quote, `\\\\` for a backslash and `\\n` for a line break. No comments, no comma after the last member.
- Numbers, true, false and null have no quotes. Arrays and nested objects are JSON as well: \
{{"tags": ["a", "b"], "options": {{"deep": true}}}}.
- Give every argument that the tool requires, leave out the others unless you need them, and invent none."""

_BODIES = f"""\
- For {{tools}} there is a shorter way: the type is the name of the tool, its other arguments are members of the \
object, and its long text stands between the marks as it is, every character of it, with nothing escaped. Only one \
line break directly after `{_CLOSE}` is not part of it. So:

{{example}}

- If such a text has `{START}` or `{END}` in it, use "type": "tool" and put the text into the arguments."""

_MORE = f"""\
- For several calls, write one after the other. Text may stand before and between them.
- Everything between these marks is run, in a code block too: write them only to make a call.
- After your calls, stop. Each result is then given to you between `{RESULT} ...{_CLOSE}` and `{RESULT}_END{_CLOSE}`; \
`[ [SEG_` in a result stands for `{_MARKS}`. Never write a result yourself."""


def rules(tools: Sequence[ToolDefinition]) -> str:
    """How a call is written; the shorter way only if one of these tools has it."""
    told = [_RULES]
    short = {tool.name: body for tool in tools if (body := _body_of(tool.name, tool))}
    for name, body in list(short.items())[:1]:
        others = {"path": "notes.md"} if form_of(name).head == "path" else {}
        example = f"{START} {json_text({'type': name, **others})}{_CLOSE}\n{body} of the call\n{END}"
        told.append(
            _BODIES.format(
                tools=_listed([f"{name} ({json_text(body)})" for name, body in short.items()]), example=example
            )
        )
    return "\n".join((*told, _MORE))


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def declare(tool: ToolDefinition) -> str:
    """One tool: name, description and schema as JSON."""
    return json.dumps(tool.as_json(), ensure_ascii=False, indent=2)


def write_call(name: str, arguments: dict[str, Any], tool: ToolDefinition | None = None) -> str:
    """A call as a model should write it: the long text in the body where the tool has one and the text allows it."""
    body_name = _body_of(name, tool)
    body = arguments.get(body_name) if body_name else None
    short = {key: value for key, value in arguments.items() if key != body_name}
    if isinstance(body, str) and _MARKS not in body and _RESERVED.isdisjoint(short):
        gap = "\n" if "\n" in body or body.startswith("\r") else ""
        return f"{START} {json_text({'type': name, **short})}{_CLOSE}{gap}{body}{END}"
    return f"{START} {json_text({'type': _TOOL, 'tool_name': name, 'arguments': arguments})}{_CLOSE}{END}"


def _body_of(name: str, tool: ToolDefinition | None) -> str:
    """The argument that can stand in the body of a call; empty if there is none."""
    body = form_of(name).body_of(tool.parameters if tool is not None else {})
    if not body or name == _TOOL:
        return ""
    shape = shape_of(tool)
    known = tool is None or body in shape.properties
    return body if known and shape.property(body).takes_any_text else ""


def write_result(part: ToolResultPart, content: str) -> str:
    """A result between marks of its own; marks inside it are broken apart, so that none of them means anything."""
    header = {"tool_name": part.name, "status": "error" if part.is_error else "ok"}
    return f"{RESULT} {_apart(json_text(header))}{_CLOSE}\n{_apart(content)}\n{RESULT}_END{_CLOSE}"


def _apart(text: str) -> str:
    for mark in (_MARKS, RESULT):
        text = text.replace(mark, f"[ {mark[1:]}")
    return text


def grammar(tools: Sequence[ToolDefinition]) -> str:
    """GBNF for one call of one of these tools."""
    made = Grammar()
    ways: list[str] = []
    for tool in tools:
        root = tool.parameters
        body = _body_of(tool.name, tool)
        needed = [name for name in required_of(root) if name != body]
        if body and _RESERVED.isdisjoint(needed) and root.keys() <= _PLAIN:
            apart = {body, *_RESERVED}
            members = {name: schema for name, schema in properties_of(root).items() if name not in apart}
            header = {
                "type": "object",
                "properties": {"type": {"const": tool.name}, **members},
                "required": ["type", *needed],
            }
            rest = f"{made.literal(_CLOSE)} {made.until(_MARKS)} {made.literal(END.removeprefix(_MARKS))}"
            ways.append(f"{made.json(header, root, tool.name)} {rest}")
        header = {
            "type": "object",
            "properties": {"type": {"const": _TOOL}, "tool_name": {"const": tool.name}, "arguments": root},
            "required": ["type", "tool_name", "arguments"],
        }
        ways.append(f"{made.json(header, root, tool.name)} {made.literal(_CLOSE + END)}")
    return made.text(f"{made.literal(START + ' ')} ({' | '.join(ways)})")


_PLAIN = frozenset(("type", "properties", "required", "title", "description", "$defs", "definitions", "$schema"))
"""Keywords of arguments that can be written one by one in a header."""


SENTINEL = Format("sentinel", "marks around a JSON header", rules, declare, write_call, write_result, read, grammar)
