"""Every key of the chat, by where it works: the screen that shows them and the documents are made of this."""

from __future__ import annotations

from typing import NamedTuple


class KeyRow(NamedTuple):
    """One or more keys that belong together, and what they do."""

    shown: str
    words: str
    keys: tuple[str, ...]
    """As Textual calls them."""


EVERYWHERE, TYPING, ASKED, CONVERSATION, WIRE = (
    "Everywhere",
    "Where you type",
    "A question about a call",
    "In the conversation (Ctrl+Up goes there)",
    "In what the provider sends (F2 opens it)",
)
KEYS: dict[str, tuple[KeyRow, ...]] = {
    EVERYWHERE: (
        KeyRow("Esc", "stop the answer, whatever goes on; to the prompt", ("escape",)),
        KeyRow("Ctrl+C", "the same, or copy; twice: end the chat", ("ctrl+c",)),
        KeyRow("Ctrl+D  Ctrl+Q", "end the chat; the first when nothing is typed", ("ctrl+d", "ctrl+q")),
        KeyRow("Ctrl+T", "to the question that waits, and back", ("ctrl+t",)),
        KeyRow("Ctrl+Up", "to the conversation; Esc goes back", ("ctrl+up",)),
        KeyRow("Shift+Tab", "the next mode: what runs without a question", ("shift+tab",)),
        KeyRow("PgUp  PgDn", "scroll the conversation", ("pageup", "pagedown")),
        KeyRow("F1  F2", "these keys; what the provider really sends", ("f1", "f2")),
    ),
    TYPING: (
        KeyRow("Enter", "send; while an answer goes on: queue it", ("enter",)),
        KeyRow("Ctrl+J  Alt+Enter", "a new line; also a backslash before Enter", ("ctrl+j", "alt+enter")),
        KeyRow("Up  Down", "what you typed before", ("up", "down")),
        KeyRow("Ctrl+R", "search in it", ("ctrl+r",)),
        KeyRow("Tab", "complete a /command or an @file", ("tab",)),
        KeyRow("Ctrl+G", "write in your editor", ("ctrl+g",)),
    ),
    ASKED: (
        KeyRow("y", "run it, this once", ("y",)),
        KeyRow("s  a", "and all like it: in this session; always here", ("s", "a")),
        KeyRow("n  d  N", "do not run it; and say why; nor all like it", ("n", "d", "N")),
        KeyRow("e  E", "change the arguments first; in your editor", ("e", "E")),
        KeyRow("v  ?", "see all of it; help", ("v", "?")),
        KeyRow("Tab", "the next question that waits", ("tab",)),
    ),
    CONVERSATION: (
        KeyRow("Up  Down", "another part", ("up", "down")),
        KeyRow("Enter", "open or close it", ("enter",)),
        KeyRow("c  C", "copy it; of a call: its result, its arguments", ("c", "C")),
        KeyRow("End", "to the newest", ("end",)),
    ),
    WIRE: (
        KeyRow("Left  Right", "another request", ("left", "right")),
        KeyRow("Enter", "open or close a frame", ("enter",)),
        KeyRow("p  P", "the next problem; the one before", ("p", "P")),
        KeyRow("y", "copy the frame", ("y",)),
    ),
}
