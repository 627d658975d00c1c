from __future__ import annotations

import pytest

from toolwire.errors import ConfigError
from toolwire.tools.demo_math import _NAMES, _UNITS, calculate, convert_units


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("12 * 7", "12 * 7 = 84"),
        ("12*7", "12 * 7 = 84"),
        ("12 x 7", "12 * 7 = 84"),
        ("12x7", "12 * 7 = 84"),
        ("12 X 7", "12 * 7 = 84"),
        ("12 × 7", "12 * 7 = 84"),
        ("84 ÷ 7", "84 / 7 = 12"),
        ("5 − 3", "5 - 3 = 2"),
        ("12*7=", "12 * 7 = 84"),
        ("12 * 7 = ?", "12 * 7 = 84"),
        ("2^10", "2 ** 10 = 1024"),
        ("2**10", "2 ** 10 = 1024"),
        ("2 + 3 * 4", "2 + 3 * 4 = 14"),
        ("(2 + 3) * 4", "(2 + 3) * 4 = 20"),
        ("10 / 4", "10 / 4 = 2.5"),
        ("10 / 5", "10 / 5 = 2"),
        ("7 // 2", "7 // 2 = 3"),
        ("7 % 3", "7 % 3 = 1"),
        ("-3 ** 2", "-3 ** 2 = -9"),
        ("(-3) ** 2", "(-3) ** 2 = 9"),
        ("--3", "--3 = 3"),
        ("+3", "+3 = 3"),
        ("2 ** -1", "2 ** (-1) = 0.5"),
        ("0.1 + 0.2", "0.1 + 0.2 = 0.3"),
        (".5 * 2", "0.5 * 2 = 1"),
        ("1 / 3", "1 / 3 = 0.333333333333"),
        ("1e3 + 1", "1000.0 + 1 = 1001"),
        ("2.5E-1", "0.25 = 0.25"),
        ("1,234 + 1", "1234 + 1 = 1235"),
        ("1,000,000 / 4", "1000000 / 4 = 250000"),
        ("1,000.5 * 2", "1000.5 * 2 = 2001"),
        ("007 + 1", "7 + 1 = 8"),
        ("sqrt(16)", "sqrt(16) = 4"),
        ("sqrt(2)", "sqrt(2) = 1.41421356237"),
        ("SQRT(2.25)", "sqrt(2.25) = 1.5"),
        ("sqrt(10 ** 40)", "sqrt(10 ** 40) = 100000000000000000000"),
        ("abs(-3)", "abs(-3) = 3"),
        ("round(2.567, 2)", "round(2.567, 2) = 2.57"),
        ("round(2.6)", "round(2.6) = 3"),
        ("max(1,200)", "max(1, 200) = 200"),
        ("min(3, 1, 2)", "min(3, 1, 2) = 1"),
        ("max(1, (2 + 3) x 2)", "max(1, (2 + 3) * 2) = 10"),
        ("2 * pi", "2 * pi = 6.28318530718"),
        ("π", "pi = 3.14159265359"),
        ("e", "e = 2.71828182846"),
        ("2 ** 0.5", "2 ** 0.5 = 1.41421356237"),
        ("2 ** 64 + 1", "2 ** 64 + 1 = 18446744073709551617"),
        ("1e300 * 1", "1e+300 * 1 = 1e+300"),
        ("1\n+\t1", "1 + 1 = 2"),
        ("(" * 150 + "1" + ")" * 150, "1 = 1"),
    ],
)
def test_calculate(expression: str, expected: str) -> None:
    assert calculate(expression) == expected


@pytest.mark.timeout(30)
@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("9**9**9", "too large"),
        ("9**9**9**9**9**9", "too large"),
        ("10**1000000000", "too large"),
        ("(-9)**999999999", "too large"),
        ("10**600*10**600", "too large"),
        ("1e308 * 10", "too large"),
        ("1e400", "too large"),
        ("10.0**400", "too large"),
        ("10**500 / 3", "too large"),
        ("2**0.1**-99", "too large"),
        ("1 / 0", "division by zero"),
        ("1 // 0", "division by zero"),
        ("1 % 0", "division by zero"),
        ("0 ** -1", "division by zero"),
        ("1.5 % 0.0", "division by zero"),
        ("sqrt(-1)", "no result that is a number"),
        ("(-8) ** 0.5", "no result that is a number"),
        ("round(5, -1000000000)", "round does not take"),
        ("round(5, 1.5)", "round does not take"),
        ("min()", "min does not take 0"),
        ("abs(1, 2)", "abs does not take 2"),
        ("-" * 300 + "1", "over 100 steps"),
        ("1+" * 200 + "1", "over 100 steps"),
        ("(" * 240 + "1" + ")" * 240, "not complete arithmetic"),
        ("(" * 400, "not complete arithmetic"),
        ("1" * 501, "over 500 characters"),
        ("1+" * 4_000_000, "over 500 characters"),
        ("", "not complete arithmetic"),
        ("=", "not complete arithmetic"),
        ("()", "not complete arithmetic"),
        ("1 +", "not complete arithmetic"),
        ("1 2", "not complete arithmetic"),
        ("2(3)", "not complete arithmetic"),
        ("2pi", "not complete arithmetic"),
        ("pi(2)", "not complete arithmetic"),
        ("sqrt", "not complete arithmetic"),
        ("1..2", "not complete arithmetic"),
        ("50%", "not complete arithmetic"),
        ("max(1, 2", "not complete arithmetic"),
        ("max(*(1))", "not complete arithmetic"),
        ("max(1,)*(2,3)", "a comma stands only"),
        ("max((1,2))", "not complete arithmetic"),
        (")(", "not complete arithmetic"),
        (".", "not complete arithmetic"),
        ("1,23", "a comma stands only"),
        ("1,5 + 1", "a comma stands only"),
        ("10,00,000", "a comma stands only"),
        ("1234,567", "a comma stands only"),
        ("1,000,", "a comma stands only"),
        ("max(1,000, 5)", "the comma is not clear"),
        ("(1, 2)", "a comma stands only"),
        (", 1", "',' is not known"),
        ("0x10", "not clear"),
        ("0b11", "not clear"),
        ("__import__('os').system('x')", "'_' is not known"),
        ("lambda: 0", "'lambda' is not known"),
        ("(1).real", "'real' is not known"),
        ("1if 1else 2", "'if' is not known"),
        ("[1] * 9", "'[' is not known"),
        ("'a' * 9", "is not known"),
        ("1 == 1", "'=' is not known"),
        ("1 << 99", "'<' is not known"),
        ("1_000", "'_' is not known"),
        ("5!", "'!' is not known"),
        ("a := 3", "'a' is not known"),
        ("2j", "'j' is not known"),
        ("True + 1", "'true' is not known"),
        ("٣ + 1", "is not known"),
        ("1 + ²", "is not known"),
        ("\x00", "is not known"),
        ("\ud800", "is not known"),
        ("1 # 2", "'#' is not known"),
        ("𝟏 + 1", "is not known"),
    ],
)
def test_calculate_refuses_at_once(expression: str, reason: str) -> None:
    with pytest.raises(ConfigError) as caught:
        calculate(expression)
    assert reason in caught.value.message
    assert len(caught.value.message) < 250


@pytest.mark.parametrize(
    ("value", "from_unit", "to_unit", "expected"),
    [
        (10, "km", "miles", "10 km = 6.21371 miles"),
        (1, "mile", "m", "1 mile = 1609.34 m"),
        (5, "feet", "inches", "5 feet = 60 inches"),
        (1, "inch", "cm", "1 inch = 2.54 cm"),
        (1, "Kilometers", "METRES", "1 Kilometers = 1000 METRES"),
        (1, "nautical miles", "km", "1 nautical miles = 1.852 km"),
        (2.5, "lbs", "kg", "2.5 lbs = 1.13398 kg"),
        (1, "tonne", "kg", "1 tonne = 1000 kg"),
        (8, "oz", "grams", "8 oz = 226.796 grams"),
        (100, "F", "C", "100 F = 37.7778 C"),
        (100, "°C", "°F", "100 °C = 212 °F"),
        (37, "degrees Celsius", "fahrenheit", "37 degrees Celsius = 98.6 fahrenheit"),
        (0, "kelvin", "celsius", "0 kelvin = -273.15 celsius"),
        (-40, "c", "f", "-40 c = -40 f"),
        (1, "gallon", "liters", "1 gallon = 3.78541 liters"),
        (1, "US gallons", "l", "1 US gallons = 3.78541 l"),
        (1, "fl. oz.", "ml", "1 fl. oz. = 29.5735 ml"),
        (2, "cups", "tablespoons", "2 cups = 32 tablespoons"),
        (60, "mph", "km/h", "60 mph = 96.5606 km/h"),
        (60, "miles per hour", "kph", "60 miles per hour = 96.5606 kph"),
        (1, "m/s", "km/h", "1 m/s = 3.6 km/h"),
        (3, "hours", "min", "3 hours = 180 min"),
        (1, "week", "seconds", "1 week = 604800 seconds"),
        (1, "GB", "MB", "1 GB = 1000 MB"),
        (1, "GiB", "bytes", "1 GiB = 1073741824 bytes"),
        (100, "Mbit", "MB", "100 Mbit = 12.5 MB"),
        (8, "bits", "byte", "8 bits = 1 byte"),
        (123456789.123, "m", "km", "123456789.123 m = 123457 km"),
        (1e-9, "m", "km", "1e-09 m = 1e-12 km"),
        (0.5, "mm", "km", "0.5 mm = 5e-07 km"),
        (1.5, "km", "mm", "1.5 km = 1500000 mm"),
        (-5, "m", "cm", "-5 m = -500 cm"),
    ],
)
def test_convert_units(value: float, from_unit: str, to_unit: str, expected: str) -> None:
    assert convert_units(value, from_unit, to_unit) == expected


@pytest.mark.parametrize(
    ("value", "from_unit", "to_unit", "reason"),
    [
        (1, "furlong", "km", "'furlong' is no known unit; known are m, km, cm, mm, mile"),
        (1, "km", "furlong", "'furlong' is no known unit; known are m, km, cm, mm, mile"),
        (1, "C", "X", "known are celsius, fahrenheit, kelvin"),
        (1, "foo", "bar", "'foo' is no known unit; known are m, km"),
        (1, "kg", "km", "kg is a unit of mass and km of length; units of mass are kg, g"),
        (1, "", "km", "'' is no known unit"),
        (1, "s" * 100, "km", "no known unit"),
        (1, "km" + " " * 200, "m", "no known unit"),
        (1, "x" * 1_000_000, "km", "no known unit"),
        (1, "\n\x1b", "km", "no known unit"),
        (1, "Mb", "MB", "'Mb' is not clear"),
        (1, "b", "B", "'b' is not clear"),
        (-300, "C", "K", "-300 celsius is below absolute zero"),
        (-1, "K", "C", "below absolute zero"),
        (1e308, "km", "mm", "too large"),
        (float("inf"), "km", "m", "not a finite number"),
        (float("nan"), "km", "m", "not a finite number"),
    ],
    ids=range(17),
)
def test_convert_units_refuses(value: float, from_unit: str, to_unit: str, reason: str) -> None:
    with pytest.raises(ConfigError) as caught:
        convert_units(value, from_unit, to_unit)
    assert reason in caught.value.message
    assert caught.value.message.isprintable()
    assert len(caught.value.message) < 700


@pytest.mark.parametrize("kind", list(_UNITS))
def test_every_unit_converts_there_and_back(kind: str) -> None:
    names = [name for name, (_, its_kind, _) in _NAMES.items() if its_kind == kind and name != "b"]
    base = names[0]
    for name in names:
        there = float(convert_units(300, base, name).split(" = ")[1].split(" ")[0])
        back = float(convert_units(there, name, base).split(" = ")[1].split(" ")[0])
        assert back == pytest.approx(300, rel=1e-4)


def test_no_two_units_share_a_spelling() -> None:
    spellings = [name.lower() for units in _UNITS.values() for names in units for name in names.split()]
    assert len(spellings) == len(set(spellings))
