"""A question taken apart into plain facts: its words, numbers, units, file names, places and arithmetic.

The embedded model is far too small to be trusted with choosing a tool or copying a value. What can be read off the
question by plain rules is read here; `fitting` uses it to choose the tool and `narrowing` to bound the arguments.
Everything looks at the first 600 characters and 80 words only, so the cost is bounded whatever is asked.
"""

from __future__ import annotations

from functools import cached_property

from .vocabulary import BARE_FILES, NOT_PATHS, NUMBER_WORDS, OPERATORS, SHORT_UNITS, STOP_WORDS, UNITS, WEB_ENDINGS

MAX_CHARACTERS = 600
MAX_WORDS = 80
_OPENING_QUOTES = "\"'“‘„«`"
_CLOSING_QUOTES = "\"'”’“»`"
_QUOTES = {'"': '"', "“": "”", "„": "“", "«": "»", "`": "`"}
_SIGNS = frozenset({"+", "-", "*", "/", "%", "**", "(", ")"})
_TRIM = "?!,;:\"'`()[]{}<>…“”‘’„«»"


def tidy(word: str) -> str:
    """A word without the punctuation around it; a path keeps its dots, a sentence loses its full stop."""
    word = word.strip(_TRIM)
    while word.endswith(".") and word.strip("."):
        word = word[:-1]
    return word.strip(_TRIM)


def as_number(word: str) -> int | float | None:
    """`"12"`, `"2.5"`, `"1,000"`, `"-3"` as numbers; anything else, also `"1,5"`, is None."""
    if len(word) > 24 or not word.isascii():
        return None
    sign, body = (word[0], word[1:]) if word[:1] in {"+", "-"} else ("", word)
    whole, dot, fraction = body.partition(".")
    first, *groups = whole.split(",")
    if any(len(group) != 3 for group in groups) or (groups and not first):
        return None
    digits = first + "".join(groups)
    if not (digits + fraction).isdigit():
        return None
    if fraction:
        return float(f"{sign}{digits or 0}.{fraction}")
    return None if dot else int(sign + digits)


def is_path_name(parameter: str) -> bool:
    """Whether a parameter of this name holds a file: `path`, `file_name`, `filePath`."""
    return bool({"path", "file", "filename", "filepath"} & set(parameter.lower().replace("-", "_").split("_")))


def stem(word: str) -> str:
    """One form for `file` and `files`, `convert` and `converted`: enough for matching, no linguistics."""
    for ending in ("ies", "ing", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            root = word[: -len(ending)]
            return root + ("y" if ending == "ies" else "")
    return word.rstrip("e") if len(word) > 3 else word


class Question:
    """What can be read off one question without understanding it."""

    def __init__(self, text: str) -> None:
        self.text = " ".join(text[:MAX_CHARACTERS].split()[:MAX_WORDS])

    @cached_property
    def words(self) -> list[str]:
        """The words as written, tidied, empty ones dropped."""
        return [word for word in map(tidy, self.text.split()) if word]

    @cached_property
    def stems(self) -> frozenset[str]:
        """Lower-case stems of the words that carry meaning."""
        found = set()
        for word in self.words:
            low = word.lower()
            if low not in STOP_WORDS and low not in OPERATORS and as_number(low) is None:
                found.add(stem(low))
        return frozenset(found)

    @cached_property
    def lower(self) -> frozenset[str]:
        """All words in lower case."""
        return frozenset(word.lower() for word in self.words)

    @cached_property
    def tokens(self) -> list[str]:
        """Words, numbers and operators each apart: `"3km*(two"` → `3 km * ( 2`; `a mile` → `1 mile`."""
        tokens: list[str] = []
        for word in self.text.split():
            whole = tidy(word)
            if _is_path(whole) or whole.lower() in UNITS:
                tokens.append(whole)
            else:
                tokens += [NUMBER_WORDS.get(token.lower(), token) for token in _split(word)]
        for position, following in enumerate(tokens[1:]):
            if tokens[position].lower() in {"a", "an", "one"} and following.lower() in UNITS - SHORT_UNITS:
                tokens[position] = "1"
        return tokens

    @cached_property
    def numbers(self) -> list[int | float]:
        """The numbers, in order, each once."""
        found: list[int | float] = []
        for token in self.tokens:
            number = as_number(token)
            if number is not None and number not in found:
                found.append(number)
        return found

    @cached_property
    def paths(self) -> list[str]:
        """Words that look like files or folders: `notes.txt`, `src/app`, `LICENSE`."""
        return [word for word in self.words if _is_path(word)]

    @property
    def files(self) -> list[str]:
        """The paths that name a file rather than a folder: those with an ending, and those known without."""
        return [path for path in self.paths if "." in path.rpartition("/")[2].strip(".") or path.lower() in BARE_FILES]

    @cached_property
    def units(self) -> tuple[list[str], list[str]]:
        """Units of measure, in order: those right after a number, and the others."""
        measured: list[str] = []
        others: list[str] = []
        after_number = False
        for position, token in enumerate(self.tokens):
            low = token.lower()
            if low in {"degree", "degrees"}:
                continue
            if low in UNITS:
                if after_number:
                    measured.append(token)
                elif low not in SHORT_UNITS or self._stands_as_unit(position):
                    others.append(token)
            after_number = as_number(token) is not None
        return measured, others

    def _stands_as_unit(self, position: int) -> bool:
        """Short words (`in`, `m`, `F`) are units only after "to", "in", "into" or "many"."""
        before = self.tokens[position - 1].lower() if position else ""
        return self.tokens[position].lower() != "in" and before in {"to", "in", "into", "many", "is"}

    @cached_property
    def arithmetic(self) -> str:
        """The longest stretch of numbers and operators that can be worked out as it stands, or `""`."""
        best: list[str] = []
        run: list[str] = []
        passed_over = {"by", "to", "the", "of", "raised"} if "power" in self.lower else {"by"}
        for token in [*self.tokens, ""]:
            sign = OPERATORS.get(token.lower(), token)
            if sign in _SIGNS or as_number(token) is not None:
                run.append(sign)
            elif sign in {"** 2", "** 3"}:
                run += sign.split()
            elif token.lower() not in passed_over:
                run = _trimmed(run)
                if len(run) > len(best) and _is_arithmetic(run):
                    best = run
                run = []
        return _join(best)

    @property
    def asks_root(self) -> bool:
        """ "The square root of 144"."""
        return len(self.numbers) == 1 and {"square", "root"} <= self.lower

    @cached_property
    def places(self) -> list[str]:
        """Names of places, as far as capitals and prepositions show them: `New York`, `tokyo`."""
        found: list[str] = []
        run: list[str] = []
        for position, word in enumerate([*self.words, ""]):
            capital = word[:1].isupper() and word.lower() not in STOP_WORDS and position > 0
            follows = not run and position > 0 and self.words[position - 1].lower() in {"in", "for", "at"}
            if capital or (follows and word.isalpha() and word.lower() not in STOP_WORDS):
                run.append(word)
            elif run:
                found.append(" ".join(run[:4]))
                run = []
        return found

    def spans(self, longest: int = 6) -> list[str]:
        """Every stretch of up to `longest` words and every longer one that runs to the end; a quotation is one word."""
        words = self._quoted_words
        found: dict[str, None] = {}
        for start in range(len(words)):
            for end in range(start + 1, min(start + longest, len(words)) + 1):
                stretch = words[start:end]
                if stretch[0].lower() not in STOP_WORDS and stretch[-1].lower() not in STOP_WORDS:
                    found[" ".join(stretch)] = None
            found[" ".join(words[start:])] = None
        return list(found)

    @cached_property
    def quotations(self) -> list[str]:
        """What stands between quotation marks, letter by letter. Not single ones, which are apostrophes too."""
        found: list[str] = []
        opened = 0
        closing = ""
        for place, character in enumerate(self.text):
            if closing and character == closing:
                found.append(self.text[opened:place])
                closing = ""
            elif not closing and character in _QUOTES and self.text[place - 1 : place].strip() == "":
                opened, closing = place + 1, _QUOTES[character]
        return [quotation for quotation in found if quotation]

    @cached_property
    def _quoted_words(self) -> list[str]:
        """The words, with what stands between quotation marks joined into one."""
        words: list[str] = []
        quoted: list[str] = []
        for raw in self.text.split():
            if quoted or raw[0] in _OPENING_QUOTES:
                quoted.append(tidy(raw))
                if raw.rstrip(".,;:?!")[-1:] in _CLOSING_QUOTES and (len(quoted) > 1 or len(raw) > 1):
                    words.append(" ".join(quoted))
                    quoted = []
            elif tidy(raw):
                words.append(tidy(raw))
        return words + quoted

    @cached_property
    def subject(self) -> str:
        """What follows the first "for" or "about": what a search is for."""
        for position, word in enumerate(self._quoted_words[:-1]):
            if word.lower() in {"for", "about"}:
                return " ".join(self._quoted_words[position + 1 :])
        return ""


def _is_path(word: str) -> bool:
    """`notes.txt`, `src/app`, `LICENSE`; not `12/4`, `and/or`, `e.g`, `example.com` or an address."""
    low = word.lower()
    if low in BARE_FILES or low in {".", ".."}:
        return True
    if low in NOT_PATHS or "://" in low or any(sign in low for sign in "*+=%@()"):
        return False
    if "/" in low:
        return any(part[:1].isalpha() or part[:1] in {".", "_", "~"} for part in low.split("/"))
    _, dot, ending = low.rpartition(".")
    return (
        bool(dot)
        and ending[:1].isalpha()
        and ending.isalnum()
        and len(ending) <= 8
        and ending not in WEB_ENDINGS
        and any(len(part) > 1 for part in low.split("."))
    )


def _split(word: str) -> list[str]:
    """Cut a word where digits, letters and signs meet. A digit's own dot and comma stay with it."""
    pieces: list[str] = []
    kind = ""
    for position, character in enumerate(word):
        before_digit = word[position + 1 : position + 2].isdigit()
        if character.isdigit() or (character in ".," and before_digit and kind != "letter"):
            now = "digit"
        elif character.isalpha() or character in "'_°":
            now = "letter"
        elif character in _SIGNS or character in OPERATORS:
            now = "sign"
        else:
            kind = ""
            continue
        if now == kind and (now != "sign" or pieces[-1] + character == "**"):
            pieces[-1] += character
        else:
            pieces.append(character)
        kind = now
    return pieces


def _trimmed(run: list[str]) -> list[str]:
    """Without the operators and open parentheses that lead nowhere at both ends; a last percent sign is not one."""
    while run and run[-1] in {"+", "-", "*", "/", "**", "("}:
        run = run[:-1]
    while run and run[0] in {"*", "/", "%", "**", ")"}:
        run = run[1:]
    return run


def _is_arithmetic(run: list[str]) -> bool:
    """Values with operators between them, every parenthesis closed."""
    operators = depth = 0
    after_value = False
    for token in run:
        number = as_number(token) is not None
        if token == ")":
            depth -= 1
            if depth < 0 or not after_value:
                return False
        elif number or token == "(":
            if after_value:
                return False
            depth += token == "("
            after_value = number
        else:
            if not after_value and token not in {"+", "-"}:
                return False
            operators += after_value
            after_value = False
    return operators > 0 and depth == 0 and after_value


def _join(run: list[str]) -> str:
    """With blanks, but none inside parentheses nor after the sign of a number."""
    text = ""
    glued = True
    after_value = False
    for token in run:
        text += ("" if glued or token == ")" else " ") + token.replace(",", "")
        is_sign = token in {"+", "-"} and not after_value
        glued = token == "(" or is_sign
        after_value = token == ")" or as_number(token) is not None
    return text
