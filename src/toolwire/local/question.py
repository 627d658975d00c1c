"""A question taken apart into plain facts: its words, numbers, units, file names, places and arithmetic.

The embedded model is far too small to be trusted with choosing a tool or copying a value. What can be read off the
question by plain rules is read here; `fitting` uses it to choose the tool and `narrowing` to bound the arguments.
Everything looks at the first 600 characters and 80 words only, so the cost is bounded whatever is asked.
"""

from __future__ import annotations

from functools import cached_property

MAX_CHARACTERS = 600
MAX_WORDS = 80
_OPENING_QUOTES = "\"'“‘„«`"
_CLOSING_QUOTES = "\"'”’“»`"
_TRIM = "?!,;:\"'`()[]{}<>…“”‘’„«»"

STOP_WORDS = frozenset(
    "a about am an and any are as at be by can could did do does for from give had has have hello her here hi his how i if "
    "in is it its just know let like look make many may me might much my need no not now of off ok on or our out over "
    "please right say see she should show so some tell than thank thanks that the their them then there these they "
    "thing this those to us use using want was we were what when where which who whose why will with would yes you "
    "your what's it's i'd i'm whats".split()
)

OPERATOR_WORDS = {
    "plus": "+",
    "add": "+",
    "minus": "-",
    "less": "-",
    "times": "*",
    "x": "*",
    "×": "*",
    "·": "*",
    "multiplied": "*",
    "divided": "/",
    "over": "/",
    "÷": "/",
    "mod": "%",
    "modulo": "%",
}
_OPERATORS = frozenset("+-*/%^")
ARITHMETIC_WORDS = frozenset(
    "plus minus times multiplied multiply divided divide sum product difference percent % squared cubed "
    "subtract".split()
)

_UNITS = (
    "mm cm m km nm inch inches in foot feet ft yard yards yd mile miles mi meter meters metre metres kilometer "
    "kilometers kilometre kilometres centimeter centimeters centimetre centimetres millimeter millimeters millimetre "
    "millimetres mg g kg t gram grams kilogram kilograms kilo kilos milligram milligrams tonne tonnes ton tons ounce "
    "ounces oz pound pounds lb lbs stone stones ml cl dl l liter liters litre litres milliliter milliliters "
    "millilitre millilitres gallon gallons gal pint pints pt quart quarts qt cup cups tablespoon tablespoons tbsp "
    "teaspoon teaspoons tsp c f k celsius fahrenheit kelvin °c °f s sec second seconds ms millisecond milliseconds "
    "min minute minutes h hr hrs hour hours day days week weeks month months year years bit bits byte bytes kb mb gb "
    "tb kib mib gib tib mph kph km/h m/s knot knots joule joules j kj cal kcal calorie calories watt watts w kw pa "
    "kpa bar psi atm acre acres hectare hectares ha degree degrees radian radians rad deg"
)
UNITS = frozenset(_UNITS.split())
_AMBIGUOUS_UNITS = frozenset(
    {"in", "m", "c", "f", "k", "s", "h", "l", "t", "g", "w", "j", "second", "bar", "stone", "pa"}
)
_FILLER_UNITS = frozenset({"degree", "degrees"})

_BARE_FILES = frozenset({"readme", "license", "licence", "makefile", "dockerfile", "changelog", "todo", "notice"})


def tidy(word: str) -> str:
    """A word without the punctuation around it; a path keeps its dots, a sentence loses its full stop."""
    word = word.strip(_TRIM)
    while word.endswith(".") and word.strip("."):
        word = word[:-1]
    return word.strip(_TRIM)


def as_number(word: str) -> int | float | None:
    """`"12"`, `"2.5"`, `"1,000"`, `"-3"` as numbers; anything else is None."""
    digits = word.replace(",", "") if word.count(",") and not word.endswith(",") else word
    body = digits[1:] if digits[:1] in "+-" else digits
    if not body.isascii() or not body or len(body) > 24:
        return None
    if body.isdigit():
        return int(digits)
    left, dot, right = body.partition(".")
    if dot and (left or right) and (left + right).isdigit():
        return float(digits)
    return None


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
            if low not in STOP_WORDS and as_number(low) is None:
                found.add(stem(low))
        return frozenset(found)

    @cached_property
    def lower(self) -> frozenset[str]:
        """All words in lower case."""
        return frozenset(word.lower() for word in self.words)

    @cached_property
    def tokens(self) -> list[str]:
        """Words, numbers, operators and parentheses each apart: `"3km*(2+x)"` → `3 km * ( 2 + x )`."""
        tokens: list[str] = []
        for word in self.text.split():
            if _is_path(tidy(word)):
                tokens.append(tidy(word))
            else:
                tokens += _split(word)
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

    @cached_property
    def units(self) -> tuple[list[str], list[str]]:
        """Units of measure, in order: those right after a number, and the others."""
        measured: list[str] = []
        others: list[str] = []
        after_number = False
        for position, token in enumerate(self.tokens):
            low = token.lower()
            if low in _FILLER_UNITS:
                continue
            if low in UNITS:
                if after_number:
                    measured.append(token)
                elif low not in _AMBIGUOUS_UNITS or self._stands_as_unit(position):
                    others.append(token)
            after_number = as_number(token) is not None
        return measured, others

    def _stands_as_unit(self, position: int) -> bool:
        """Short words (`in`, `m`, `F`) are units only after "to", "in", "into" or "many"."""
        before = self.tokens[position - 1].lower() if position else ""
        return self.tokens[position].lower() != "in" and before in {"to", "in", "into", "many", "is"}

    @cached_property
    def arithmetic(self) -> str:
        """The one stretch of numbers and operators that can be worked out as it stands, or `""`."""
        best: list[str] = []
        run: list[str] = []
        for token in [*self.tokens, ""]:
            low = token.lower()
            operator = OPERATOR_WORDS.get(low, token)
            if operator in _OPERATORS or operator in {"(", ")", "**"} or as_number(token) is not None:
                run.append(operator)
            elif low == "by" and run[-1:] in (["*"], ["/"]):
                continue
            else:
                run = _balanced(run)
                if _is_arithmetic(run) and len(run) > len(best):
                    best = run
                run = []
        return _join(best)

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
        """Every stretch of up to `longest` words, then every longer one that runs to the end; a quotation is one word."""
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
    if word.lower() in _BARE_FILES or word in {".", ".."}:
        return True
    if len(word) < 3 or as_number(word) is not None or any(sign in word for sign in "*+=%@"):
        return False
    if "/" in word:
        parts = [part for part in word.split("/") if part]
        return any(part[0].isalpha() or part[0] in "._~" for part in parts) and word.lower() not in UNITS
    _, dot, ending = word.rpartition(".")
    return bool(dot) and ending.isalnum() and ending[0].isalpha() and len(ending) <= 8


def _split(word: str) -> list[str]:
    """Cut a word where digits, letters and signs meet. A digit's own dot and comma stay with it."""
    pieces: list[str] = []
    kind = ""
    for position, character in enumerate(word):
        following = word[position + 1 : position + 2]
        if character.isdigit() or (character in ".," and kind == "digit" and following.isdigit()):
            now = "digit"
        elif character == "." and following.isdigit() and kind != "letter":
            now = "digit"
        elif character.isalpha() or (character in "'_°" and following.isalpha()):
            now = "letter"
        elif character == "*" and pieces and pieces[-1] == "*":
            pieces[-1] = "**"
            continue
        elif character in "+-*/%^()×÷·":
            now = "sign"
        else:
            kind = ""
            continue
        if now == kind and now != "sign":
            pieces[-1] += character
        else:
            pieces.append(character)
        kind = now
    return pieces


def _balanced(run: list[str]) -> list[str]:
    """Drop operators and unmatched parentheses at both ends."""
    while run and (
        run[-1] in _OPERATORS or run[-1] in {"(", "**"} or run.count(")") > run.count("(") and run[-1] == ")"
    ):
        run = run[:-1]
    while run and (run[0] in "*/%^)" or run[0] == "**" or run.count("(") > run.count(")") and run[0] == "("):
        run = run[1:]
    return run


def _is_arithmetic(run: list[str]) -> bool:
    """At least one operator between values, and no two values side by side."""
    value_before = False
    operators = 0
    for token in run:
        if as_number(token) is not None:
            if value_before:
                return False
            value_before = True
        elif token == "(":
            if value_before:
                return False
        elif token == ")":
            if not value_before:
                return False
        else:
            operators += value_before
            if not value_before and token not in "+-":
                return False
            value_before = False
    return operators > 0 and value_before and run.count("(") == run.count(")")


def _join(run: list[str]) -> str:
    text = ""
    for position, token in enumerate(run):
        token = token.replace(",", "") if as_number(token) is not None else token
        glue = not text or token == ")" or text.endswith("(") or (position == 1 and run[0] in "+-")
        text += token if glue else f" {token}"
    return text
