"""What a person is shown of a call goes back to exactly its arguments, and a terminal obeys nothing in it (C6)."""

from __future__ import annotations

import json
import random
import unicodedata
from typing import Any

from bench.trust import Found
from toolwire.approval.misreading import warnings
from toolwire.approval.shown import SHOWN_CHARACTERS, read_arguments, show_arguments, whole_text
from toolwire.strict_json import NotStrict

MIB = 1024 * 1024
LARGE_EVERY = 2_000
"""One call in so many has a text of 1 MiB, the first one too."""

_UNSEEN = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Me")

ALPHABETS = (
    "abc XYZ_-./:09",
    " \n",
    "\t\r\n\x00\x07\x08\x1b\x7f\x85\x9b\x9d",
    "\u202a\u202b\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c",
    "\u200b\u200c\u200d\u2060\ufeff\u00ad\u034f\u115f\u3164\uffa0\u2800",
    "\ufe0f\U000e0041\U000e0100\u00a0\u2003\u3000\u2028\u2029",
    "‹›<>U+2039│|┊…",
    '"\\[]{}:,#-0159eEtruefalsn ',
    "аеорсуɑα é日本🦜👍🏽שלאب",
    "e\u0301\u0323\u20dd\u0338",
    "\ud800\udfff\U0010ffff\uffff",
)
PIECES = (
    "\x1b[2J\x1b[H",
    "\x1b]52;c;cm0gLXJmIC8=\x07",
    "\x1b]0;title\x1b\\",
    "\nRun it? [y/n] y\n",
    "\n| more\npath: /etc/passwd",
    "‹U+202E›",
    "… 5 characters left out …",
    "(no arguments)",
    "true",
    "null",
    "-5",
    "5.0",
    "1e5",
    '{"a": 1}',
    '""',
    "rm -rf /tmp/x" + " " * 90 + "# ok",
)


def shown_and_read_back(count: int, seed: int) -> Found:
    """Random arguments, shown and read back. The plan's count is 100,000; it takes about three minutes."""
    chance = random.Random(seed)
    found = Found()
    cut = 0
    for number in range(count):
        large = number % LARGE_EVERY == 0
        arguments = {"content": _text(chance, MIB)} if large else _arguments(chance)
        found.runs += 1
        for problem in problems(arguments):
            found.fault(f"{problem}: {json.dumps(arguments)[:500]}")
        cut += not show_arguments(arguments).complete
    found.words = f"{cut:,} too long to be shown whole"
    return found


def problems(arguments: dict[str, Any]) -> list[str]:
    """What is wrong with how these are shown."""
    found = []
    whole = whole_text(arguments)
    shown, complete = show_arguments(arguments)
    try:
        if json.dumps(read_arguments(whole)) != json.dumps(arguments):
            found.append("it reads back as something else")
    except NotStrict as error:
        found.append(f"it does not read back ({error})")
    if complete is not (shown == whole):
        found.append("what is shown is not what it says it is")
    if not complete and not _is_cut_rightly(shown, whole, len(arguments)):
        found.append("the number of characters left out is wrong")
    if len(shown) > SHOWN_CHARACTERS + 100 * (len(arguments) + 1):
        found.append("it is too long")
    characters = set().union(whole, shown, *warnings(arguments)) - {"\n"}
    if unseen := sorted(ascii(char) for char in characters if _is_unseen(char)):
        found.append(f"it holds {unseen[:5]}")
    return found


def _is_unseen(char: str) -> bool:
    category = unicodedata.category(char)
    return category in _UNSEEN or (category == "Zs" and char != " ")


def _is_cut_rightly(shown: str, whole: str, arguments: int) -> bool:
    """Whether putting back as many characters as it says makes the whole text again. For a single cut."""
    pieces = [line for line in shown.split("\n") if line.startswith("… ") and line.endswith(" characters left out …")]
    if len(pieces) != 1 or arguments > 1:
        return len(pieces) >= 1
    head, _, tail = shown.partition(f"\n{pieces[0]}\n")
    left = int(pieces[0].split(" ")[1].replace(",", ""))
    return any(
        whole.startswith(head) and whole.endswith(end) and len(head) + left + len(end) == len(whole)
        for end in (tail, tail.removeprefix("…"))
    )


def _arguments(chance: random.Random) -> dict[str, Any]:
    made = {_name(chance): _value(chance, 0) for _ in range(chance.randrange(5))}
    if chance.random() < 0.01:
        made["long"] = _text(chance, chance.randrange(30_000))
    return made


def _name(chance: random.Random) -> str:
    return chance.choice(("path", "command", "a.b", "größe", "")) if chance.random() < 0.6 else _text(chance, 8)


def _value(chance: random.Random, depth: int) -> Any:
    kind = chance.random()
    if kind < 0.6 or depth > 4:
        return _text(chance, chance.choice((0, 1, 5, 40, 200)))
    if kind < 0.8:
        return chance.choice((None, True, False, 0, 5, -1, 10**30, 5.0, -0.0, 1e-300, 0.1, 2**53))
    items = [_value(chance, depth + 1) for _ in range(chance.randrange(4))]
    return items if kind < 0.9 else {_name(chance): item for item in items}


def _text(chance: random.Random, size: int) -> str:
    """About `size` characters of a few alphabets, any code point now and then, and pieces that look like the form."""
    letters = "".join(chance.sample(ALPHABETS, chance.randrange(1, 4)))
    if chance.random() < 0.2:
        letters += "".join(chr(chance.randrange(0x110000)) for _ in range(8))
    made = "".join(chance.choices(letters, k=size))
    while chance.random() < 0.3:
        at = chance.randrange(len(made) + 1)
        made = made[:at] + chance.choice(PIECES) + made[at:]
    return made
