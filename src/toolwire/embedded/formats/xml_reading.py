"""The reader of the `xml` format: `<tool name="…">` and the shorthands, while they arrive. See `xml` for the syntax."""

from __future__ import annotations

from typing import NamedTuple

from ...strict_json import NotStrict, parse
from ...tools.forms import form_of, shorthand_tools
from ...tools.registry import ToolRegistry
from ..arguments import ANYTHING, Shape, shape_of
from ..json_source import as_it_is, into, json_text, quote, read_value
from ..prose import prose
from ..scanner import SPACE, Scanner, Wait
from .xml_inside import CDATA, CDATA_END, MARKERS, Inside, Take
from .xml_tags import Tag, ends_name, peek_name, read_attributes

TOOL, ARGUMENTS, ARGUMENT, ITEM = "tool", "arguments", "arg", "item"
_RESERVED = frozenset((TOOL, ARGUMENTS, ARGUMENT, ITEM))


def spoilers(own: str, shorthand: str) -> list[str]:
    """What cannot stand unquoted in the text of a value, in small letters: tags that say that its end was forgotten.

    `own` is the name of the tag around the value, `shorthand` that of the shorthand that it is in, if it is in one.
    """
    family = [f"<{shorthand}{after}" for after in " >\n"] if shorthand else [f"<{TOOL} name="]
    if own != shorthand:
        family.append(f"<{ARGUMENT} name=")
        if own != ARGUMENT:
            family += [f"<{own}>", f"<{own} "]
    return [spoiler.lower() for spoiler in family]


def read(scanner: Scanner, tools: ToolRegistry | None) -> Wait[None]:
    """Reads an answer."""
    names = [name for name in shorthand_tools() if tools is None or name in tools]
    openers = {TOOL: TOOL, **{name.lower(): name for name in names if name.lower() != TOOL}}
    longest = max(map(len, openers))
    firsts = frozenset(("", *(letter for name in openers for letter in (name[0], name[0].upper()))))

    def may_begin(text: str, at: int) -> bool:
        """Whether an opener can still come of the `<` that stands here."""
        if text[at + 1 : at + 2] not in firsts:
            return False
        word = text[at + 1 : at + 1 + longest].lower()
        for name in openers:
            if word.startswith(name):
                after = text[at + 1 + len(name) : at + 3 + len(name)]
                if not after or (ends_name(after[0]) and not (after[0] in SPACE and after[1:] == "<")):
                    return True
            elif name.startswith(word):
                return True
        return False

    return prose(scanner, "<", lambda: _Call(scanner, tools, openers).read(), may_begin)


class _Member(NamedTuple):
    """A value that begins: the tag around it, and whether it is written as JSON."""

    own: str
    tag: Tag
    is_json: bool


class _Call(Inside):
    """One call while it is read.

    Methods that read give what is wrong, in words, or nothing. A value is given as JSON while it is read; what is held
    when its method returns is its closing tag.
    """

    def __init__(self, scanner: Scanner, tools: ToolRegistry | None, openers: dict[str, str]) -> None:
        super().__init__(scanner)
        self._tools = tools
        self._openers = openers
        self._shape = ANYTHING
        self._names: frozenset[str] = frozenset()
        self._shorthand = self._body = ""
        self._given: set[str] = set()
        self._any_child = tools is None
        self._open = ""
        """The outermost tag around the value that is being read: where a call goes wrong, its end comes after that."""
        self._nested = 0
        """How many of these are open, one in another."""
        self._next_began = False
        """Another call begins where this one should end."""

    def read(self) -> Wait[bool]:
        """True when this was a call, or text as a whole; False, with nothing given, when it is text like any other."""
        scanner = self._scanner
        word, after = yield from peek_name(scanner, self._openers)
        opener = self._openers.get(word.lower())
        if opener is None or not ends_name(after):
            return False
        scanner.read_to(scanner.at + 1 + len(word))
        tag = yield from read_attributes(scanner)
        if tag is None and not (scanner.ended and scanner.text[scanner.at :] in ("", "/")):
            return False
        if tag is None:
            # The answer ends before it is a call: no attribute begins another.
            scanner.give_text()
            return True
        name = opener if opener != TOOL else tag.attributes.pop("name", "")
        self._begin(name if len(name) <= scanner.limits.name else "", opener, tag)
        problem = "" if tag.closed else (yield from self._read_inside())
        if not problem:
            self._end("}" if self._given else "{}")
        elif self._next_began or (self._as_text and not self._given):
            self._break(problem)
        else:
            yield from self._spoil(problem)
        return True

    def _begin(self, name: str, opener: str, tag: Tag) -> None:
        tool = self._tools.get(name) if self._tools is not None else None
        if not name or (self._tools is not None and tool is None):
            if name:
                self._scanner.note_unknown(name)
            self._as_text = self._any_child = True
            self._scanner.give_text()
        else:
            self._shape = shape_of(tool)
            self._names = frozenset(self._shape.properties)
            self._scanner.begin_call(name)
        if opener != TOOL:
            self._shorthand = opener
            self._body = form_of(name).body_of(tool.parameters if tool is not None else {})
        for key, value in tag.attributes.items() if not self._as_text else ():
            self._give(self._key(key, self._given) + self._shape.property(key).json_of(value))

    def _read_inside(self) -> Wait[str]:
        """Reads all that follows the opening tag, and the closing tag."""
        if not self._shorthand:
            return (yield from self._read_members(TOOL, self._shape, self._given, 1))
        self._opened(self._shorthand)
        if self._body not in self._given:
            self._give(self._key(self._body, self._given))
            member = _Member(self._shorthand, Tag({}, False), False)
            return (yield from self._read_value(self._shape.property(self._body), member, 1))
        yield from self._read_gap()
        if (yield from self._scanner.read_literal(f"</{self._shorthand}>".lower(), fold=True)):
            return ""
        return self._scanner.fault(f"{self._body} is given twice, as an attribute and between the tags")

    # Structure.

    def _read_members(self, close: str, shape: Shape, given: set[str], level: int) -> Wait[str]:
        """Reads arguments, or the members of an object, to this closing tag."""
        scanner = self._scanner
        names = frozenset(shape.properties)
        wrapped = close != TOOL
        while True:
            if not (yield from self._read_gap()):
                return self._unexpected(close)
            if (yield from scanner.read_literal(f"</{close.lower()}>", fold=True)):
                return ""
            word, after = yield from peek_name(scanner)
            if level == 1 and self._opens_call(word, after, names):
                self._next_began = True
                return scanner.fault(f"</{TOOL}> is missing before the next call")
            folded = word.lower()
            if folded == ARGUMENTS and not wrapped:
                wrapped = True
                problem = yield from self._read_wrapper(shape, given)
            elif folded == ARGUMENT:
                problem = yield from self._read_member(ARGUMENT, "", shape, given, level)
            elif word in names or (self._any_child and word and folded not in _RESERVED):
                problem = yield from self._read_member(word, word, shape, given, level)
            else:
                tag = f"<{word[:80]}>" if word else "this tag"
                problem = scanner.fault(f"{tag} has no place here, only <{ARGUMENT}> or </{close[:80]}>")
            if problem:
                return problem

    def _opens_call(self, word: str, after: str, names: frozenset[str]) -> bool:
        if self._shorthand or word.lower() not in self._openers or word in names:
            return False
        return after in SPACE if word.lower() == TOOL else ends_name(after)

    def _read_wrapper(self, shape: Shape, given: set[str]) -> Wait[str]:
        scanner = self._scanner
        scanner.read_to(scanner.at + 1 + len(ARGUMENTS))
        tag = yield from read_attributes(scanner)
        if tag is None or tag.attributes:
            return scanner.fault(f"the tag <{ARGUMENTS}> is malformed")
        if tag.closed:
            return ""
        return (yield from self._read_members(ARGUMENTS, shape, given, 1))

    def _read_member(self, own: str, key: str, shape: Shape, given: set[str], level: int) -> Wait[str]:
        """Reads one argument or member; what it is called is in the tag where no `key` is given."""
        member = yield from self._read_tag(own)
        if member is None:
            return self._scanner.fault(f"the tag <{own[:80]}> is malformed")
        if own == ARGUMENT:
            if "name" not in member.tag.attributes:
                return self._scanner.fault(f"<{ARGUMENT}> has no name")
            key = member.tag.attributes.pop("name")
        if member.tag.attributes:
            return self._scanner.fault(
                f"<{own[:80]}> has no place for the attribute {next(iter(member.tag.attributes))[:80]!r}"
            )
        if key in given and not self._as_text:
            return self._scanner.fault(f"{key[:80]!r} is given twice")
        self._give(self._key(key, given))
        return (yield from self._read_value(shape.property(key), member, level))

    def _read_tag(self, own: str) -> Wait[_Member | None]:
        """Reads an opening tag around a value; None if it is malformed."""
        scanner = self._scanner
        self._give()
        scanner.read_to(scanner.at + 1 + len(own))
        self._opened(own)
        tag = yield from read_attributes(scanner)
        if tag is None:
            return None
        if tag.closed:
            self._closed(own)
        return _Member(own, tag, tag.attributes.pop("type", "") == "json")

    def _read_items(self, member: _Member, shape: Shape, level: int) -> Wait[str]:
        """Reads the items of an array to its closing tag."""
        scanner = self._scanner
        index = 0
        self._give("[")
        while True:
            if not (yield from self._read_gap()):
                return self._unexpected(member.own)
            if (yield from scanner.read_literal(f"</{member.own.lower()}>", fold=True)):
                self._give("]")
                return ""
            word, _ = yield from peek_name(scanner)
            if word.lower() != ITEM:
                return scanner.fault(f"there is something other than <{ITEM}> in a list")
            item = yield from self._read_tag(ITEM)
            if item is None or item.tag.attributes:
                return scanner.fault(f"the tag <{ITEM}> is malformed")
            if index:
                self._give(", ")
            problem = yield from self._read_value(shape.item(index), item, level)
            if problem:
                return problem
            index += 1

    # Values.

    def _read_value(self, shape: Shape, member: _Member, level: int) -> Wait[str]:
        """Reads a value and the closing tag of what it stands in."""
        if member.tag.closed:
            if member.is_json:
                return self._scanner.fault("there is no JSON where the type says so")
            self._give(shape.json_of(""))
            return ""
        self._give()
        problem = yield from self._read_open_value(shape, member, level)
        if not problem:
            self._closed(member.own)
        return problem

    def _read_open_value(self, shape: Shape, member: _Member, level: int) -> Wait[str]:
        if member.is_json:
            return (yield from self._read_json(member))
        if self._as_text:
            # Which of its arguments are JSON is not known.
            yield from self._skip_json()
        if shape.takes_any_text:
            self._give('"')
            problem = yield from self._read_text(member, quote)
            self._give("" if problem else '"')
            return problem
        if not shape.kinds.isdisjoint(("object", "array")):
            yield from self._read_gap()
            come = yield from self._scanner.need(1)
            if come in ("{", "["):
                return (yield from self._read_json(member))
            word = (yield from peek_name(self._scanner))[0] if come == "<" else ""
            if word:
                names = shape.properties
                is_item = word.lower() == ITEM and ("array" in shape.kinds or ITEM not in names)
                if is_item or word.lower() == ARGUMENT or word in names:
                    return (yield from self._read_nested(member, shape, level + 1, is_item=is_item))
        collected: list[str] = []
        problem = yield from self._read_text(member, into(collected))
        if not problem:
            self._give(shape.json_of("".join(collected)))
        return problem

    def _read_nested(self, member: _Member, shape: Shape, level: int, *, is_item: bool) -> Wait[str]:
        if level > self._scanner.limits.depth:
            return self._scanner.fault(f"the arguments are nested deeper than {self._scanner.limits.depth} levels")
        if is_item:
            return (yield from self._read_items(member, shape, level))
        given: set[str] = set()
        problem = yield from self._read_members(member.own, shape, given, level)
        if not problem:
            self._give("}")
        return problem

    def _read_json(self, member: _Member) -> Wait[str]:
        """Reads a value that is written as JSON: a string in it may hold anything."""
        scanner = self._scanner
        yield from self._read_gap()
        if (yield from scanner.need(1)) not in ("{", "[", '"'):
            collected: list[str] = []
            problem = yield from self._read_text(member, into(collected))
            if problem:
                return problem
            raw = "".join(collected)
            if not _is_json(raw):
                self._closed(member.own)
                return scanner.fault(f"what stands in <{member.own[:80]}> is not valid JSON")
            self._give(raw)
            return ""
        if not (yield from read_value(scanner, lambda at: self._run(at, as_it_is))):
            return scanner.fault(f"what stands in <{member.own[:80]}> is not valid JSON")
        return (yield from self._read_close(member.own, "the JSON"))

    def _read_text(self, member: _Member, take: Take) -> Wait[str]:
        """Reads text: a CDATA section or several, what stands between markers, or all up to the closing tag."""
        scanner = self._scanner
        self._give()
        space = yield from scanner.read_word(SPACE, scanner.limits.held + 1)
        if not scanner.over_held():
            if (yield from scanner.read_literal(CDATA)):
                return (yield from self._read_sections(member, take))
            for start, end in MARKERS.items():
                if (yield from scanner.read_literal(start)):
                    if not (yield from scanner.read_literal("\r\n")):
                        yield from scanner.read_literal("\n")
                    self._give()
                    if not (yield from self._read_until(end, take)):
                        return scanner.fault(f"{end} is missing")
                    return (yield from self._read_close(member.own, end))
        for line_end in ("\r\n", "\n"):
            if space.startswith(line_end):
                space = space[len(line_end) :]
                break
        self._give(take(space))
        return (yield from self._read_raw(member, take))

    def _read_sections(self, member: _Member, take: Take) -> Wait[str]:
        scanner = self._scanner
        while True:
            self._give()
            if not (yield from self._read_until(CDATA_END, take)):
                return scanner.fault(f"{CDATA_END} is missing")
            self._give()
            yield from self._read_space()
            if not (yield from scanner.read_literal(CDATA)):
                return (yield from self._read_close(member.own, CDATA_END))

    def _read_close(self, own: str, after: str) -> Wait[str]:
        yield from self._read_space()
        if (yield from self._scanner.read_literal(f"</{own.lower()}>", fold=True)):
            return ""
        if (yield from self._scanner.need(1)):
            return self._scanner.fault(f"only </{own[:80]}> can follow {after}")
        return self._scanner.fault(f"</{own[:80]}> is missing")

    def _read_raw(self, member: _Member, take: Take) -> Wait[str]:
        scanner = self._scanner
        own = member.own
        close = f"</{own.lower()}>"
        refused = spoilers(own, self._shorthand)
        while (yield from scanner.more()):
            at = scanner.find("<")
            if at > scanner.at:
                self._run(at, take)
                continue
            if (yield from scanner.read_literal(close, fold=True)):
                return ""
            place = scanner.position
            for spoiler in refused:
                if (yield from scanner.read_literal(spoiler, fold=True)):
                    self._opened(spoiler[1:-1].removesuffix(" name"))
                    return scanner.fault(
                        f"{spoiler.strip()} stands in the text of <{own[:80]}>: </{own[:80]}> is missing before it, "
                        f"or the text must be put into {CDATA} … {CDATA_END}",
                        place,
                    )
            self._run(scanner.at + 1, take)
        return scanner.fault(f"</{own[:80]}> is missing")

    # The end of a call that went wrong.

    def _opened(self, own: str) -> None:
        if not self._open:
            self._open, self._nested = own, 1
        elif self._open == own:
            self._nested += 1

    def _closed(self, own: str) -> None:
        if self._open == own:
            self._nested -= 1
            if not self._nested:
                self._open = ""

    def _spoil(self, problem: str) -> Wait[None]:
        """Reads the rest of a call that cannot run, which is its text and nothing else.

        Its end is looked for outside of values, so that what stands in one neither ends the call nor begins another:
        where the tag around a value is never closed, that is the end of the answer.
        """
        scanner = self._scanner
        while (yield from scanner.more()):
            at = scanner.find("<_")
            if at > scanner.at:
                self._run(at)
                continue
            if (yield from self._skip_quoted()):
                continue
            if scanner.text[scanner.at] == "_":
                self._run(scanner.at + 1)
            elif self._open:
                if (yield from self._ends_open()):
                    break
            elif (yield from scanner.read_literal(f"</{TOOL}>", fold=True)):
                break
            elif not (yield from self._opens_value()):
                self._run(scanner.at + 1)
        self._break(problem)

    def _ends_open(self) -> Wait[bool]:
        """Reads on from a tag within a value; True when the call ends with it."""
        scanner = self._scanner
        own = self._open.lower()
        if (yield from scanner.read_literal(f"</{own}>", fold=True)):
            self._closed(self._open)
            return bool(self._shorthand) and not self._open
        word, after = yield from peek_name(scanner)
        if word.lower() == own and ends_name(after):
            self._nested += 1
        self._run(scanner.at + 1)
        return False

    def _opens_value(self) -> Wait[bool]:
        """Reads the opening tag of a value, if one is next."""
        scanner = self._scanner
        word, after = yield from peek_name(scanner)
        if not ends_name(after) or (word.lower() != ARGUMENT and word not in self._names):
            return False
        member = yield from self._read_tag(word)
        if member is not None and not member.tag.closed:
            yield from self._skip_json()
        return True

    # Giving.

    def _key(self, key: str, given: set[str]) -> str:
        """What stands before the value of this argument or member."""
        start = ", " if given else "{"
        if not given or not self._as_text:  # of text, which has no bound, only whether there was any is kept
            given.add(key)
        return f"{start}{json_text(key)}: "

    def _unexpected(self, close: str) -> str:
        if self._scanner.at >= len(self._scanner.text):
            return self._scanner.fault(f"</{close[:80]}> is missing")
        return self._scanner.fault("there is text where only tags belong")


def _is_json(raw: str) -> bool:
    try:
        parse(raw)
    except NotStrict:
        return False
    return True
