"""Reads a shell command line into the commands that it runs, with a real shell parser (tree-sitter's, for bash).

The parser says how the line is built: lists, pipes, loops, where substitutions begin and end. It is not believed
without looking: every node must be of a kind that is known here, nothing but blanks may stand between nodes, and the
words are read again by bash's own rules (`shell_words`). Where the two readings differ, or a line is more than this
module knows, the line is not understood. Whoever asks then has a person look at it.

Bash is meant, without `~/.bashrc`, aliases and inherited functions. In another shell a line may mean something else, so
that only what all shells read alike is understood of one (`plain_lines`).
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING

import msgspec

from .command_line import Assignment, Command, CommandLine, Redirect, WordKind
from .dialects import Dialect
from .plain_lines import why_not_plain
from .shell_state import ShellState, assignment_in, check_reserved
from .shell_words import ENDS, NotUnderstood, Piece, WordReader, as_text

if TYPE_CHECKING:
    from tree_sitter import Language, Node

MAX_LENGTH = 10_000
"""Characters of a line that is read: a longer one is not one that a person can look through."""
MAX_DEPTH = 50
MAX_COMMANDS = 256

_ENDINGS = frozenset((";", "&", "\n"))
_BUILT: dict[str, frozenset[str]] = {
    "program": _ENDINGS,
    "list": frozenset(("&&", "||")),
    "pipeline": frozenset(("|", "|&")),
    "negated_command": frozenset("!"),
    "subshell": _ENDINGS | {"(", ")"},
    "compound_statement": _ENDINGS | {"{", "}"},
    "command_substitution": _ENDINGS | {"$(", ")", "`"},
    "process_substitution": _ENDINGS | {"<(", ">(", ")"},
    "if_statement": _ENDINGS | {"if", "then", "fi"},
    "elif_clause": _ENDINGS | {"elif", "then"},
    "else_clause": _ENDINGS | {"else"},
    "while_statement": _ENDINGS | {"while", "until"},
    "do_group": _ENDINGS | {"do", "done"},
    "for_statement": _ENDINGS | {"for", "in"},
    "case_statement": frozenset(("case", "in", "esac", ";", "\n")),
    "case_item": _ENDINGS | {"(", ")", "|", ";;", ";&", ";;&"},
}
"""What is built of other statements, and the signs that may stand between them."""
_SIMPLE = frozenset(
    ("command", "variable_assignment", "variable_assignments", "declaration_command", "unset_command", "test_command")
)
_SUBSTITUTIONS = frozenset(("command_substitution", "process_substitution", "arithmetic_expansion", "expansion"))
_REDIRECTS = frozenset(("file_redirect", "heredoc_redirect", "herestring_redirect"))
_LOOPS = frozenset(("while_statement", "for_statement"))
_APART = frozenset(("subshell", "command_substitution", "process_substitution"))
"""What runs in a shell of its own: a `cd` in it ends with it."""
_CLAUSES = frozenset(("elif_clause", "case_item"))
"""What ends by itself, so that another may follow."""
_WRITING = frozenset((">", ">>", "&>", "&>>", ">|", "<>", ">&"))
_HARMLESS = frozenset(("/dev/null", "/dev/stdout", "/dev/stderr"))
_UNTESTED = frozenset(["-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-v", "-R", "=~"])
"""Tests in `[[ … ]]` that evaluate their words, or read them by other rules."""


def read_command_line(text: str, dialect: Dialect) -> CommandLine:
    """Every command of the line, or why it is not understood, with those that were found until then.

    Those of a line that is not plain are what bash would run: what another shell makes of it is not known.
    """
    problem = _unreadable(text)
    if problem:
        return CommandLine(problem=problem)
    reader = _Reader(text.encode(), dialect)
    try:
        reader.read()
    except NotUnderstood as fault:
        problem = str(fault)
    if not problem and dialect is Dialect.PLAIN:
        problem = why_not_plain(text)
    return CommandLine(tuple(reader.commands), problem)


def _unreadable(text: str) -> str:
    """Why a text is not looked at at all."""
    if len(text) > MAX_LENGTH:
        return f"the command is longer than {MAX_LENGTH:,} characters"
    for char in text:
        if char in "\t\n" or " " <= char <= "~":
            continue
        if char < "\x80" or unicodedata.category(char)[0] in "CZ":
            # What looks like a blank to a person, or to the parser, may be part of a word to the shell.
            return f"the command holds the character U+{ord(char):04X}"
    return ""


@cache
def _language() -> Language:
    import tree_sitter
    import tree_sitter_bash

    return tree_sitter.Language(tree_sitter_bash.language())


def _parse(source: bytes) -> Node:
    from tree_sitter import Parser

    return Parser(_language()).parse(source).root_node


class _Reader:
    """Reads one line. Places in it are counted in bytes."""

    def __init__(self, source: bytes, dialect: Dialect) -> None:
        self.commands: list[Command] = []
        self._dialect = dialect
        self._root = _parse(source)
        self._source = source.decode("latin-1")
        # A tree with errors is not looked into.
        self._substitutions = {} if self._root.has_error else _substitutions_of(self._root)
        self._words = WordReader(self._source, dict(self._substitutions))
        self._state = ShellState()
        self._depth = 0
        self._looked_at = 0
        self._substituted = 0
        self._documented = False

    def read(self) -> None:
        if self._root.has_error:
            raise NotUnderstood("the command is not written as a shell would take it")
        self._gap(0, self._root.start_byte)
        self._statement(self._root)
        self._gap(self._root.end_byte, len(self._source))
        if len(self._words.met) != len(self._substitutions):
            raise NotUnderstood("a substitution stands where the shell sees none")

    def _statement(self, node: Node) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise NotUnderstood(f"the command is nested more than {MAX_DEPTH} deep")
        kind = node.type
        if kind == "redirected_statement":
            self._redirected(node)
        elif self._is_condition(node):
            self._condition(node)
        elif kind == "file_redirect" or (kind in _SIMPLE and self._source[node.start_byte] != "("):
            self._command(self._words.pieces(node.start_byte, node.end_byte))
        elif kind in _LOOPS:
            self._loop(node)
        elif kind in _APART:
            folders = list(self._state.folders)
            self._substituted += kind != "subshell"
            self._built(node)
            self._substituted -= kind != "subshell"
            self._documented = self._documented and self._substituted > 0
            self._state.folders = folders
        else:
            self._built(node)
        self._depth -= 1

    def _built(self, node: Node) -> None:
        """A node that is built of statements, with signs between them."""
        signs = _BUILT.get(node.type)
        if signs is None:
            raise NotUnderstood(f"the command holds a {node.type.replace('_', ' ')}, which is not understood")
        at = node.start_byte
        parted = True
        for child, value in _children(node):
            parted = self._gap(at, child.start_byte) or parted
            if child.type == "comment":
                self._comment(child)
            elif not child.is_named:
                self._sign(child, signs)
                parted = True
            elif value:
                self._value(child)
            elif not parted:
                raise NotUnderstood("two commands stand side by side")
            else:
                self._statement(child)
                parted = child.type in _CLAUSES
            at = child.end_byte
        self._gap(at, node.end_byte)

    def _gap(self, at: int, end: int) -> bool:
        """Makes sure that nothing stands between two nodes, and says whether a line ends there."""
        if self._words.gap(at, end, newlines=True) != end:
            raise NotUnderstood("the parser has left out a part of the command")
        return "\n" in self._source[at:end].replace("\\\n", "")

    def _comment(self, node: Node) -> None:
        start, end = node.start_byte, node.end_byte
        if self._source[end : end + 1] not in ("", "\n") or (start and self._source[start - 1] not in ENDS):
            raise NotUnderstood("a comment is not one to the shell")

    def _sign(self, node: Node, signs: frozenset[str]) -> None:
        start, end = node.start_byte, node.end_byte
        if node.type not in signs or self._source[start:end] != node.type:
            raise NotUnderstood(f"{node.type!r} stands where it is not understood")
        if node.type[0].isalpha() or node.type in "{}!":
            before, after = self._source[start - 1 : start] if start else "", self._source[end : end + 1]
            if before not in ENDS + "`" or after not in (ENDS + "`" if node.type != "!" else " \t"):
                raise NotUnderstood(f"{node.type!r} is part of a word to the shell")

    def _value(self, node: Node) -> None:
        """A word of a `for` or `case`, or the variable of a loop."""
        if node.type == "variable_name":
            self._state.assign(Assignment(self._source[node.start_byte : node.end_byte]))
            self._words.ended(node.end_byte)
            return
        _, end = self._words.word(node.start_byte, node.end_byte)
        if end != node.end_byte:
            raise NotUnderstood("a word does not end where the parser says")
        self._words.ended(end)
        self._look_inside()

    def _loop(self, node: Node) -> None:
        first, folders = len(self.commands), len(self._state.folders)
        self._built(node)
        self._state.repeat(folders)
        for place in range(first, len(self.commands)):
            # What the last command of a loop does to the shell, the first one meets the next time.
            command = self.commands[place]
            self.commands[place] = msgspec.structs.replace(
                command,
                folders=tuple(dict.fromkeys((*command.folders, *self._state.folders))),
                assignments=tuple(dict.fromkeys((*command.assignments, *self._state.assigned))),
            )

    def _condition(self, node: Node) -> None:
        """`[[ … ]]`, which runs nothing but the substitutions in it."""
        at, end = node.start_byte + 2, node.end_byte - 2
        if (
            not self._source.startswith("]]", end)
            or self._source[at] not in " \t"
            or self._source[end - 1] not in " \t"
        ):
            raise NotUnderstood("'[[' is part of a word to the shell")
        self._words.ended(node.end_byte)
        at = self._words.gap(at, end)
        while at < end:
            if self._source.startswith(("&&", "||"), at):
                at += 2
            else:
                piece, at = self._words.word(at, end)
                if piece.raw in _UNTESTED or piece.raw == "]]":
                    raise NotUnderstood(f"'[[ … {piece.raw} … ]]' is not understood")
            at = self._words.gap(at, end)
        self._look_inside()

    def _redirected(self, node: Node) -> None:
        """A statement with redirections behind it, among which words of the command may stand."""
        children = node.children
        body = None if children[0].type in _REDIRECTS else children[0]
        start, end = node.start_byte, node.end_byte
        document = children[-1] if children[-1].type == "heredoc_redirect" else None
        if document is not None:
            end = self._rest(document)
        simple = body is None or (body.type in _SIMPLE and self._source[start] != "(" and not self._is_condition(body))
        if body is not None and not simple:
            self._statement(body)
            start = body.end_byte
        pieces = list(self._words.pieces(start, end))
        if not simple and not all(piece.operator for piece in pieces):
            raise NotUnderstood("a word stands behind a group of commands")
        named = [piece for piece in pieces if piece.operator in ("<<", "<<-")]
        if document is None or len(named) != 1:
            self._command(pieces)
        else:
            self._command(piece for piece in pieces if piece is not named[0])
            self._document(document, named[0], end)

    def _is_condition(self, node: Node) -> bool:
        return node.type == "test_command" and self._source.startswith("[[", node.start_byte)

    def _rest(self, document: Node) -> int:
        """Where, in the line that a here-document is named in, its own command ends."""
        following = [child for child in document.children if child.type in ("pipeline", "&&", "||")]
        line = self._source.find("\n", document.start_byte)
        return min([line if line >= 0 else len(self._source), *(child.start_byte for child in following)])

    def _document(self, node: Node, named: Piece, at: int) -> None:
        """The text of a here-document, and what stands behind its name in the same line."""
        line = self._source.find("\n", node.start_byte)
        children = node.children
        body, last = children[-2], children[-1]
        if body.type != "heredoc_body" or last.type != "heredoc_end" or line < 0:
            raise NotUnderstood("a here-document has no end")
        tabs = named.operator == "<<-"
        if self._document_end(named, line + 1, tabs) != (last.start_byte, last.end_byte):
            raise NotUnderstood("a here-document does not end where the parser says")
        if named.raw == named.word.text:
            text = self._source[line + 1 : last.start_byte]
            if "\\\n" in text and ("$(" in text or "`" in text):
                # Bash joins the lines before it reads the substitution, also inside quotes.
                raise NotUnderstood("a here-document joins lines around a substitution")
            self._words.document(line + 1, last.start_byte)
            self._look_inside()
        for child in children[:-2]:
            if child.start_byte < at:
                continue
            self._gap(at, child.start_byte)
            if child.type == "pipeline":
                self._built(child)
            elif child.type not in ("&&", "||"):
                self._statement(child)
            at = child.end_byte
        if at > line or self._words.gap(at, line) != line:
            raise NotUnderstood("the line that names a here-document is not understood")
        self._documented = self._substituted > 0

    def _document_end(self, named: Piece, at: int, tabs: bool) -> tuple[int, int]:
        """Where the line stands that ends a here-document."""
        delimiter = as_text(named.raw).strip("'\"")
        if not delimiter.isidentifier() or named.raw not in (delimiter, f"'{delimiter}'", f'"{delimiter}"'):
            raise NotUnderstood("the name of a here-document is not a plain word")
        while at < len(self._source):
            end = self._source.find("\n", at)
            end = len(self._source) if end < 0 else end
            start = at
            while tabs and self._source.startswith("\t", start):
                start += 1
            if self._source[start:end] == delimiter:
                return start, end
            at = end + 1
        raise NotUnderstood("a here-document has no end")

    def _command(self, pieces: Iterable[Piece]) -> None:
        """One simple command: assignments, words and redirections in the order they are written."""
        if self._documented:
            # Bash 5.2 writes a substitution anew before it runs it, and loses a `;` behind a here-document.
            raise NotUnderstood("a command stands behind a here-document in a substitution")
        given = list(pieces)
        self._look_inside()
        words = [piece for piece in given if not piece.operator]
        assigned: list[Assignment] = []
        while words and (assignment := assignment_in(words[0])):
            assigned.append(assignment)
            words = words[1:]
        check_reserved(words)
        redirects = tuple(_redirects(given))
        if len(self.commands) >= MAX_COMMANDS:
            raise NotUnderstood(f"there are more than {MAX_COMMANDS} commands")
        if words or redirects or assigned:
            before = tuple(dict.fromkeys((*self._state.assigned, *assigned)))
            given_words = tuple(piece.word for piece in words)
            folders = tuple(self._state.folders)
            self.commands.append(Command(given_words, redirects, before, folders, self._dialect))
        self._state.run(assigned, words)

    def _look_inside(self) -> None:
        """Reads the substitutions that the last words held."""
        met = self._words.met[self._looked_at :]
        self._looked_at = len(self._words.met)
        for place in met:
            node = self._substitutions[place]
            if node.type in _APART:
                self._statement(node)


def _substitutions_of(root: Node) -> dict[int, Node]:
    """Every substitution of the tree, by where it begins."""
    found: dict[int, Node] = {}
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node.type in _SUBSTITUTIONS:
            found[node.start_byte] = node
        waiting += node.children
    return found


def _children(node: Node) -> Iterator[tuple[Node, bool]]:
    """The parts of a node, and whether each is a word. A long list or pipe is one of two parts, over and over."""
    later: list[list[Node]] = []
    while node.type in ("list", "pipeline") and node.children[0].type == node.type:
        later.append(node.children[1:])
        node = node.children[0]
    has_words = node.type in ("for_statement", "case_statement", "case_item")
    for place, child in enumerate(node.children):
        yield child, has_words and node.field_name_for_child(place) in ("value", "variable")
    for children in reversed(later):
        for child in children:
            yield child, False


def _redirects(pieces: Sequence[Piece]) -> Iterator[Redirect]:
    """The files that redirections open."""
    for piece in pieces:
        operator, target = piece.operator, piece.word
        if operator in ("", "<<<"):
            continue
        if operator in ("<<", "<<-"):
            raise NotUnderstood("there is more than one here-document")
        if operator in ("<&", ">&") and target.kind is WordKind.LITERAL:
            number = target.text.removesuffix("-")
            if not number or number.isdecimal():
                continue
        if operator == "<&":
            raise NotUnderstood("a redirection copies what is not a descriptor")
        if target.text.startswith(("/dev/tcp", "/dev/udp")):
            raise NotUnderstood("a redirection opens a connection")
        if not (target.is_literal and target.text in _HARMLESS):
            yield Redirect(operator, target, operator in _WRITING)
