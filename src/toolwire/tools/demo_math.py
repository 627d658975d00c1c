"""The demo tools that compute: a calculator that cannot be made to run code or to run long, and units."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable
from decimal import Decimal

from ..errors import ConfigError
from .check import quote
from .function import tool

MAX_EXPRESSION = 500
MAX_NESTING = 100
MAX_BITS = 2048
"""Of a whole number: some 600 digits."""

_DIGITS = frozenset("0123456789")
_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz")
_SIGNS = {"×": "*", "·": "*", "⋅": "*", "÷": "/", "−": "-", "–": "-", "^": "**", "**": "**", "//": "//"} | {
    sign: sign for sign in "+-*/%"
}
_CONSTANTS = {"pi": math.pi, "e": math.e}
_FUNCTIONS = ("sqrt", "round", "abs", "min", "max")
_ALLOWED = "numbers, + - * / // % ** ( ), sqrt, round, abs, min, max, pi and e"


@tool(risk="read")
def calculate(expression: str) -> str:
    """Do arithmetic.

    Args:
        expression: What to calculate, like 12 * 7
    """
    if len(expression) > MAX_EXPRESSION:
        raise ConfigError(f"the expression is over {MAX_EXPRESSION} characters long")
    try:
        tree = ast.parse(" ".join(_tokens(expression)), mode="eval").body
        result = _value(tree, MAX_NESTING)
        return f"{ast.unparse(tree)} = {_number(result)}"
    except SyntaxError:
        raise ConfigError(f"{quote(expression)} is not complete arithmetic; write it like (2 + 3) * 4") from None
    except ZeroDivisionError:
        raise ConfigError("division by zero") from None
    except (OverflowError, MemoryError, RecursionError):
        raise ConfigError("the result is too large") from None
    except (TypeError, ValueError):
        raise ConfigError(f"{quote(expression)} has no result that is a number") from None


def _tokens(expression: str) -> list[str]:
    """The expression in Python's spelling, made of known parts only; nothing else ever reaches Python's parser."""
    text = expression.lower().rstrip(" \t\n=?")
    tokens: list[str] = []
    calls: list[bool] = []
    at = 0
    while at < len(text):
        char, start = text[at], at
        if char.isspace():
            at += 1
        elif char in _DIGITS or char == ".":
            at = _end_of_number(text, at, in_call=True in calls)
            if tokens[-1:] == [","] and text[start : start + 2] == "00":
                raise ConfigError("the comma is not clear here; write 1000, not 1,000, between ( and )")
            tokens.append(_literal(text[start:at]))
            if tokens[-1] == "0" and text[at : at + 1] in ("x", "b", "o"):
                raise ConfigError(f"{quote(text[start : at + 4])} is not clear; write decimal numbers and * for times")
        elif char in _LETTERS or char == "π":
            while at < len(text) and (text[at] in _LETTERS or text[at] == "π"):
                at += 1
            word = text[start:at].replace("π", "pi")
            if word not in _CONSTANTS and word not in _FUNCTIONS and word != "x":
                raise ConfigError(f"{quote(word)} is not known here; use {_ALLOWED}")
            tokens.append("*" if word == "x" else word)
        elif char == "(":
            calls.append(bool(tokens) and tokens[-1] in _FUNCTIONS)
            tokens.append(char)
            at += 1
        elif char == ")":
            if calls:
                calls.pop()
            tokens.append(char)
            at += 1
        elif char == "," and True in calls:
            tokens.append(char)
            at += 1
        else:
            sign = text[at : at + 2] if text[at : at + 2] in _SIGNS else char
            if sign not in _SIGNS:
                raise ConfigError(f"{quote(char)} is not known here; use {_ALLOWED}")
            tokens.append(_SIGNS[sign])
            at += len(sign)
    return tokens


def _end_of_number(text: str, at: int, *, in_call: bool) -> int:
    def digits(at: int) -> int:
        while at < len(text) and text[at] in _DIGITS:
            at += 1
        return at

    start = at
    at = digits(at)
    while not in_call and text[at : at + 1] == ",":
        end = digits(at + 1)
        if end - at != 4 or not 1 <= (text.find(",", start) - start) <= 3:
            raise ConfigError("a comma stands only before three digits, as in 1,000; write 1.5 with a point")
        at = end
    if text[at : at + 1] == ".":
        at = digits(at + 1)
    if text[at : at + 1] == "e":
        exponent = at + 2 if text[at + 1 : at + 2] in ("+", "-") else at + 1
        if digits(exponent) > exponent:
            at = digits(exponent)
    return at


def _literal(text: str) -> str:
    text = text.replace(",", "")
    return text.lstrip("0") or "0" if _DIGITS.issuperset(text) else text


_OPERATORS: dict[type[ast.operator], Callable[[int | float, int | float], int | float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}


def _value(node: ast.expr, nesting: int) -> int | float:
    if nesting == 0:
        raise ConfigError(f"the expression has over {MAX_NESTING} steps inside each other; do it in parts")
    match node:
        case ast.Constant(value=int() | float() as value):
            result: int | float = value
        case ast.Name(id=name) if name in _CONSTANTS:
            result = _CONSTANTS[name]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            result = -_value(operand, nesting - 1)
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            result = _value(operand, nesting - 1)
        case ast.BinOp(left=left, op=sign, right=right):
            a, b = _value(left, nesting - 1), _value(right, nesting - 1)
            match sign:
                case ast.Pow():
                    result = _power(a, b)
                case ast.Div():
                    exact = isinstance(a, int) and isinstance(b, int) and b != 0 and a % b == 0
                    result = a // b if exact else a / b
                case _:
                    result = _OPERATORS[type(sign)](a, b)
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in _FUNCTIONS:
            result = _apply(name, [_value(each, nesting - 1) for each in args])
        case _:
            raise SyntaxError
    if result.bit_length() > MAX_BITS if isinstance(result, int) else not math.isfinite(result):
        raise OverflowError
    return result


def _power(base: int | float, exponent: int | float) -> int | float:
    if isinstance(base, int) and isinstance(exponent, int) and exponent >= 0:
        if abs(base) > 1 and base.bit_length() * exponent > 2 * MAX_BITS:
            raise OverflowError
        return int(base**exponent)
    result: float | complex = float(base) ** float(exponent)
    if isinstance(result, complex):
        raise ValueError
    return result


def _apply(name: str, values: list[int | float]) -> int | float:
    match name, values:
        case "sqrt", [value]:
            root = math.isqrt(value) if isinstance(value, int) and value >= 0 else -1
            return root if root * root == value else math.sqrt(value)
        case "abs", [value]:
            return abs(value)
        case "round", [value]:
            return round(value)
        case "round", [value, int() as places] if abs(places) <= 100:
            return round(value, places)
        case "min", [_, *_]:
            return min(values)
        case "max", [_, *_]:
            return max(values)
    raise ConfigError(f"{name} does not take {len(values)} such values")


def _number(value: int | float) -> str:
    """A result for reading: whole numbers exactly, others to 12 significant digits."""
    if isinstance(value, int):
        return str(value)
    if value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return f"{value:.12g}"


_UNITS: dict[str, dict[str, float]] = {
    "length": {
        "m metre meter": 1,
        "km kilometre kilometer": 1000,
        "cm centimetre centimeter": 0.01,
        "mm millimetre millimeter": 0.001,
        "mile mi": 1609.344,
        "yard yd": 0.9144,
        "foot feet ft": 0.3048,
        "inch inches in": 0.0254,
        "nautical_mile nmi": 1852,
    },
    "mass": {
        "kg kilogram kilo": 1,
        "g gram": 0.001,
        "mg milligram": 1e-6,
        "tonne t metric_ton": 1000,
        "pound lb lbs": 0.45359237,
        "ounce oz": 0.028349523125,
        "stone st": 6.35029318,
    },
    "volume": {
        "litre liter l": 1,
        "ml millilitre milliliter": 0.001,
        "m3 cubic_metre cubic_meter": 1000,
        "gallon gal": 3.785411784,
        "quart qt": 0.946352946,
        "pint pt": 0.473176473,
        "cup": 0.2365882365,
        "fluid_ounce fl_oz floz": 0.0295735295625,
        "tablespoon tbsp": 0.01478676478125,
        "teaspoon tsp": 0.00492892159375,
    },
    "speed": {
        "m/s mps metres_per_second meters_per_second": 1,
        "km/h kmh kph kilometres_per_hour kilometers_per_hour": 1 / 3.6,
        "mph miles_per_hour": 0.44704,
        "knot kn kt": 1852 / 3600,
        "ft/s fps feet_per_second": 0.3048,
    },
    "time": {
        "second s sec": 1,
        "ms millisecond": 0.001,
        "minute min": 60,
        "hour h hr": 3600,
        "day d": 86400,
        "week wk": 604800,
        "year yr": 31536000,
    },
    "data": {
        "byte": 1,
        "bit": 0.125,
        "kB kilobyte": 1000,
        "MB megabyte": 1e6,
        "GB gigabyte": 1e9,
        "TB terabyte": 1e12,
        "KiB kibibyte": 1024,
        "MiB mebibyte": 1024**2,
        "GiB gibibyte": 1024**3,
        "TiB tebibyte": 1024**4,
        "kbit kilobit": 125,
        "Mbit megabit": 125e3,
        "Gbit gigabit": 125e6,
    },
    "temperature": {"celsius c centigrade": 1, "fahrenheit f": 5 / 9, "kelvin k": 1},
}
_ZERO = {"celsius": 273.15, "fahrenheit": 459.67 * 5 / 9, "kelvin": 0.0}
_NAMES = {
    name.lower(): (names.split()[0], kind, factor)
    for kind, units in _UNITS.items()
    for names, factor in units.items()
    for name in names.split()
}


@tool(risk="read")
def convert_units(value: float, from_unit: str, to_unit: str) -> str:
    """Convert a value to another unit.

    Args:
        value: The number
        from_unit: Unit it has, like km
        to_unit: Unit you want, like miles
    """
    value = float(value)
    found, wanted = _unit(from_unit), _unit(to_unit)
    if found is None or wanted is None:
        unknown, beside = (from_unit, wanted) if found is None else (to_unit, found)
        kinds = [beside[1]] if beside else list(_UNITS)
        raise ConfigError(f"{quote(unknown)} is no known unit; known are {', '.join(map(_known, kinds))}")
    source, kind, factor = found
    target, other, divisor = wanted
    if kind != other:
        raise ConfigError(f"{source} is a unit of {kind} and {target} of {other}; units of {kind} are {_known(kind)}")
    if not math.isfinite(value):
        raise ConfigError("the value is not a finite number")
    if kind == "temperature":
        kelvin = value * factor + _ZERO[source]
        if kelvin < -1e-9:
            raise ConfigError(f"{_digits(value, 12)} {source} is below absolute zero")
        result = (kelvin - _ZERO[target]) / divisor
    else:
        result = value * factor / divisor
    if not math.isfinite(result):
        raise ConfigError("the result is too large")
    return f"{_digits(value, 12)} {_as_written(from_unit)} = {_digits(result, 6)} {_as_written(to_unit)}"


def _as_written(unit: str) -> str:
    return " ".join(unit.split())


def _unit(text: str) -> tuple[str, str, float] | None:
    if text.strip() in ("Kb", "Mb", "Gb", "b", "B"):
        raise ConfigError(f"{quote(text.strip())} is not clear; write bit, byte, kbit, Mbit, Gbit, kB, MB or GB")
    if len(text) > 100:
        return None
    name = text.lower().replace("°", " ").replace(".", "").replace("-", " ").replace("³", "3")
    words = [word for word in name.split() if word not in ("degree", "degrees", "deg", "us")]
    name = "_".join(words)
    first, _, rest = name.partition("_")
    spellings = (name, name.removesuffix("s"), name.removesuffix("es"), f"{first.removesuffix('s')}_{rest}")
    for spelling in spellings:
        if spelling in _NAMES:
            return _NAMES[spelling]
    return None


def _known(kind: str) -> str:
    return ", ".join(names.split()[0] for names in _UNITS[kind])


def _digits(value: float, significant: int) -> str:
    """So many significant digits, without an exponent where that is readable; whole numbers exactly."""
    if value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    short = f"{value:.{significant}g}"
    return f"{Decimal(short):f}" if 1e-6 <= abs(value) < 1e15 else short
