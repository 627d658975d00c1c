"""Tables of plain words that the rules of this folder match against. English, like the model."""

from __future__ import annotations


def word_set(*lines: str) -> frozenset[str]:
    """Words written out with blanks between them."""
    return frozenset(" ".join(lines).split())


STOP_WORDS = word_set(
    "a about am an and any are as at be by can could did do does for from give had has",
    "have hello her here hi his how",
    "i i'd i'm if in is it it's its just know let like look make many may me might much my",
    "need no not now of off ok on",
    "or our out over please right say see she should show so some tell than thank thanks",
    "that the their them then there",
    "these they thing this those to us use using want was we were what what's whats when",
    "where which who whose why will",
    "with would yes you your",
)
"""Words that say nothing of what a question is about."""

TALK_WORDS = word_set("joke poem story haiku riddle song limerick essay why")
"""Words of questions that want talk, not a tool."""

ABOUT_ITSELF = word_set(
    "able ai bot called chatbot chatgpt exactly help human introduce kind language llm made",
    "makes model name real robot",
    "smollm smollm2 tool tools version work you your you're yours yourself",
)
"""Words of questions about the model itself, besides stop words."""

WEAK_NAME_WORDS = word_set(
    "add call check create current do execute fetch find get go help list make new open read run set show start stop",
    "update write",
)
"""Words in names of tools that say little of what the tool is for."""

NOT_FOLDERS = STOP_WORDS | word_set(
    "all content contents current dir directories directory display file files folder folders inside list local ls",
    "names print project there working",
)
"""Words that may follow "in" or "the" without naming a folder."""

NOT_IN_SUBJECT = word_set(
    "are calculate can compute convert could did display do does find get give how i is it",
    "list many me much my now",
    "open please print read show tell was were what what's whats when where which who why will would you your",
)
"""Words of a question that its answer does not take up."""

BEFORE_VERBS = word_set("and can could just let's must now please should then to will would you")
"""Words after which a verb may begin what a person wants done."""

FILE_WORDS = word_set("directory directories file files folder folders script")
"""Words that show that a verb such as "delete" is about files."""

COMPOSED_WORDS = word_set("command content contents patch")
"""Words in names of parameters whose text a model has to compose."""

BARE_FILES = word_set("changelog dockerfile licence license makefile notice readme todo")
"""Files that people name without an ending."""

NOT_PATHS = word_set("and/or ft/s he/she i/o km/h m/s n/a s/he w/o yes/no")
"""Words with a slash that name no file."""

WEB_ENDINGS = word_set("com edu gov net org www")
"""Endings of addresses, not of files."""

OPERATORS = {
    "plus": "+",
    "minus": "-",
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
    "^": "**",
    "power": "**",
    "squared": "** 2",
    "cubed": "** 3",
}
"""Operators as people write them, to operators as calculators read them."""

NUMBER_WORDS = {
    "two": "2",
    "three": "3",
    "four": "4",
    "five": "5",
    "six": "6",
    "seven": "7",
    "eight": "8",
    "nine": "9",
    "ten": "10",
    "eleven": "11",
    "twelve": "12",
    "twenty": "20",
    "hundred": "100",
    "thousand": "1000",
}
"""Numbers as words. Not "one", which is seldom a number."""

ARITHMETIC_WORDS = word_set(
    "add cubed difference divide divided minus multiplied multiply percent plus product subtract sum times total"
)
"""Words that, beside two numbers, ask for arithmetic."""

UNITS = word_set(
    "mm cm m km nm inch inches in foot feet ft yard yards yd mile miles mi",
    "meter meters metre metres kilometer kilometers",
    "kilometre kilometres centimeter centimeters centimetre centimetres millimeter",
    "millimeters millimetre millimetres",
    "mg g kg t gram grams kilogram kilograms kilo kilos milligram milligrams tonne tonnes ton",
    "tons ounce ounces oz pound",
    "pounds lb lbs stone stones ml cl dl l liter liters litre litres milliliter milliliters millilitre millilitres",
    "gallon gallons gal pint pints pt quart quarts qt cup cups tablespoon tablespoons tbsp teaspoon",
    "teaspoons tsp c f k",
    "celsius fahrenheit kelvin °c °f s sec second seconds ms millisecond milliseconds min minute",
    "minutes h hr hrs hour",
    "hours day days week weeks month months year years bit bits byte bytes kb mb gb tb kib",
    "mib gib tib mph kph kmh knot",
    "knots joule joules j kj cal kcal calorie calories watt watts w kw pa kpa bar psi",
    "atm acre acres hectare hectares ha",
    "radian radians rad deg km/h m/s ft/s",
)
"""Units of measure, as people write them in lower case."""

SHORT_UNITS = word_set("in m c f k s h l t g w j second bar stone pa")
"""Units that are other words too: units only after a number, or after "to", "into", "in", "many"."""
