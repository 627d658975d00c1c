"""Texts that look like calls to a person and are none: other brackets, other letters, characters nobody sees."""

from __future__ import annotations

from typing import NamedTuple


class LookAlike(NamedTuple):
    """`near`: the name in it, where it is a well-formed call of a tool that there is not."""

    format: str
    text: str
    near: str = ""


LETTERS = {
    "t": "ｔτт\u1d40",
    "o": "ｏοо\u0585",
    "l": "ｌӏⅼ1I",
    "s": "ｓѕſ",
    "e": "ｅеҽ",
    "a": "ａаɑ",
    "r": "ｒгᴦ",
    "c": "ｃсϲ",
    "h": "ｈһ",
    "n": "ｎոп",
    "m": "ｍⅿ",
    "i": "ｉіıİ",
    "k": "ｋк\u212a",
    "S": "ＳЅ",
    "E": "ＥЕ",
    "G": "ＧԌ",
    "T": "ＴТ",
}
UNSEEN = "\u200b\u200c\u200d\u2060\ufeff\u00ad\u202e\u202d\u2066\u0301\u034f\u180e\u2800\x00\x7f"
"""Zero width, byte order mark, soft hyphen, directions, combining marks, blanks that are no space."""

BRACKETS = {
    "<": "＜‹〈⟨﹤≺˂",
    ">": "＞›〉⟩﹥≻˃",
    "[": "［〔⟦【",
    "]": "］〕⟧】",
    "{": "｛❴﹛",
    "}": "｝❵﹜",
    '"': "＂“”″ʺ\u201f",
    "'": "＇‘’′",
    ":": "：꞉∶",
    "=": "＝꞊﹦",
}


def changed(word: str) -> list[str]:
    """The word with one letter exchanged for its like, or with something unseen in it."""
    made = [word[:at] + like + word[at + 1 :] for at, letter in enumerate(word) for like in LETTERS.get(letter, "")]
    middle = len(word) // 2
    return made + [word[:middle] + mark + word[middle:] for mark in UNSEEN] + [word + "\u200b", "\u2060" + word]


def xml(tool: str = "tool", name: str = "search") -> str:
    return f'<{tool} name="{name}"><arg name="query">x</arg></{tool}>'


def sentinel(start: str = "SEG_START", kind: str = "tool", name: str = "search") -> str:
    return f'[[{start} {{"type":"{kind}","tool_name":"{name}","arguments":{{"query":"x"}}}}]][[SEG_END]]'


def json_default(tool: str = "tool", name: str = "search") -> str:
    return f'{{"{tool}": "{name}", "args": {{"query": "x"}}}}'


def json_openai(key: str = "name", name: str = "search") -> str:
    return f'{{"{key}": "{name}", "arguments": {{"query": "x"}}}}'


def json_list(key: str = "tool_calls") -> str:
    return f'{{"{key}": [{json_openai()}]}}'


def json_gemini(key: str = "name", name: str = "search") -> str:
    return f'{{"{key}": "{name}", "args": {{"query": "x"}}}}'


def _all() -> list[LookAlike]:
    made: list[LookAlike] = []
    for word in changed("tool"):
        made.append(LookAlike("xml", xml(word)))
        made.append(LookAlike("sentinel", sentinel(kind=word)))
        made.append(LookAlike("json", json_default(word)))
    made += [LookAlike("sentinel", sentinel(word)) for word in changed("SEG_START")]
    made += [LookAlike("xml", f"<{word}>ls</{word}>") for word in changed("run_bash")]
    # What is in a list is a call by itself, unless all of it is JSON that means something else.
    made += [LookAlike("json-openai", json_list(word)) for word in changed("tool_calls") if "\x00" not in word]
    made += [LookAlike("json-openai", json_openai(word)) for word in changed("name")]
    made += [LookAlike("json-gemini", json_gemini(word)) for word in changed("name")]
    for word in changed("search"):
        made.append(LookAlike("xml", xml(name=word), word))
        # A raw control character makes a JSON string none.
        near = "" if "\x00" in word else word
        made.append(LookAlike("sentinel", sentinel(name=word), near))
        made.append(LookAlike("json", json_default(name=word), near))
        made.append(LookAlike("json-openai", json_openai(name=word), near))
        made.append(LookAlike("json-gemini", json_gemini(name=word), near))
    for format_, call in (
        ("xml", xml()),
        ("sentinel", sentinel()),
        ("json", json_default()),
        ("json-openai", json_openai()),
        ("json-gemini", json_gemini()),
    ):
        for mark, others in BRACKETS.items():
            if mark in call:
                made += [LookAlike(format_, call.replace(mark, other)) for other in others]
                made += [LookAlike(format_, call.replace(mark, other, 1)) for other in others]
        for unseen in UNSEEN:
            made.append(LookAlike(format_, call[0] + unseen + call[1:]))
    for name in (
        "Search",
        "SEARCH",
        "search ",
        " search",
        "se arch",
        "search\t",
        "search()",
        "search;",
        "functions.search",
    ):
        made.append(LookAlike("xml", xml(name=name), name))
        made.append(LookAlike("sentinel", sentinel(name=name.replace("\t", "\\t")), name))
        made.append(LookAlike("json", json_default(name=name.replace("\t", "\\t")), name))
    return made


LOOK_ALIKES = _all()
