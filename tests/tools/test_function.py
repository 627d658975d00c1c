"""The annotations of this module are text (see the first import), as in most modules that define tools."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NotRequired, Optional
from uuid import UUID

import pytest
from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from typing_extensions import TypedDict

from toolwire.errors import IncompleteCall, ToolDefinitionError
from toolwire.tools.definition import Risk, ToolDefinition
from toolwire.tools.function import as_definition, is_async, tool

if TYPE_CHECKING:
    from fractions import Fraction


class Unit(Enum):
    CELSIUS = "c"
    FAHRENHEIT = "f"


class City(BaseModel):
    """A place."""

    title: str
    near: list[City] = []


class Strict(BaseModel):
    model_config = ConfigDict(strict=True)
    day: date
    pair: tuple[int, str]


@dataclass
class Point:
    x: int
    y: int = 0


class Options(TypedDict):
    deep: bool
    limit: NotRequired[int]


def run(function: Callable[..., Any], arguments: dict[str, Any]) -> Any:
    """As an executor would: the schema first, then the call."""
    definition = as_definition(function)
    assert definition.problem(arguments) is None
    assert definition.call is not None
    return definition.call(arguments)


def properties(function: Callable[..., Any]) -> dict[str, Any]:
    schema = as_definition(function).parameters
    assert schema["type"] == "object"
    assert schema["additionalProperties"] is False
    found: dict[str, Any] = schema["properties"]
    return found


def test_a_decorated_function_stays_itself() -> None:
    def get_weather(city: str) -> str:
        """Weather for a city."""
        return f"18 °C in {city}"

    decorated = tool(get_weather)
    assert decorated is get_weather
    assert decorated("Paris") == "18 °C in Paris"
    definition = as_definition(get_weather)
    assert definition is as_definition(decorated)
    assert definition.as_json() == {
        "name": "get_weather",
        "description": "Weather for a city.",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}},
            "required": ["city"],
            "additionalProperties": False,
        },
    }
    assert (definition.risk, definition.timeout) == (None, None)
    assert run(get_weather, {"city": "Rome"}) == "18 °C in Rome"


def test_what_the_decorator_is_told_wins() -> None:
    @tool(risk="network", name="weather-now", description="Words.", timeout=2.5)
    def get_weather() -> str:
        """Other words."""
        return "sun"

    definition = as_definition(get_weather)
    assert (definition.name, definition.description) == ("weather-now", "Words.")
    assert (definition.risk, definition.timeout) == (Risk.NETWORK, 2.5)
    assert definition.parameters == {"type": "object", "properties": {}, "additionalProperties": False}
    assert run(get_weather, {}) == "sun"


def test_as_definition_takes_what_is_one_already() -> None:
    definition = ToolDefinition("a")
    assert as_definition(definition) is definition
    assert as_definition({"name": "b", "inputSchema": {}}).name == "b"


async def test_an_async_function_gives_an_awaitable() -> None:
    @tool
    async def double(n: int) -> int:
        return 2 * n

    assert inspect.iscoroutinefunction(double)
    assert await run(double, {"n": 4}) == 8


def typed(
    text: str,
    whole: int,
    number: float,
    yes: bool,
    many: list[int],
    table: dict[str, float],
    pair: tuple[int, str],
    unit: Unit,
    choice: Literal["a", "b", 3],
    city: City,
    point: Point,
    options: Options,
    when: datetime,
    day: date,
    where: Path,
    key: UUID,
    money: Decimal,
    maybe: Optional[int],  # noqa: UP045
    either: int | list[str],
    anything: Any,
    bounded: Annotated[int, Field(ge=1, le=9, description="one to nine")],
    strict: Strict,
) -> dict[str, Any]:
    return dict(locals())


VALUES: list[tuple[str, Any, Any]] = [
    ("text", "x", "x"),
    ("whole", 3, 3),
    ("whole", 3.0, 3),
    ("number", 2, 2.0),
    ("yes", True, True),
    ("many", [1, 2], [1, 2]),
    ("table", {"a": 1}, {"a": 1.0}),
    ("pair", [1, "x"], (1, "x")),
    ("unit", "f", Unit.FAHRENHEIT),
    ("choice", 3, 3),
    ("city", {"title": "P", "near": [{"title": "Q"}]}, City(title="P", near=[City(title="Q")])),
    ("point", {"x": 1}, Point(1, 0)),
    ("options", {"deep": True}, {"deep": True}),
    ("when", "2025-01-02T03:04", datetime(2025, 1, 2, 3, 4)),
    ("day", "2025-01-02", date(2025, 1, 2)),
    ("where", "a/b", Path("a/b")),
    ("key", "00000000-0000-0000-0000-000000000001", UUID(int=1)),
    ("money", "1.10", Decimal("1.10")),
    ("maybe", None, None),
    ("either", ["x"], ["x"]),
    ("anything", {"a": [None]}, {"a": [None]}),
    ("bounded", 9, 9),
    ("strict", {"day": "2025-01-02", "pair": [1, "x"]}, Strict(day=date(2025, 1, 2), pair=(1, "x"))),
]


def only(name: str) -> Callable[..., Any]:
    """A function with the one parameter of `typed` that is asked for."""

    def one(value: Any) -> Any:
        return value

    one.__annotations__ = {"value": typed.__annotations__[name]}
    return one


@pytest.mark.parametrize(("name", "given", "expected"), VALUES)
def test_values_arrive_typed(name: str, given: Any, expected: Any) -> None:
    value = run(only(name), {"value": given})
    assert value == expected
    assert type(value) is type(expected)


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("text", 3),
        ("whole", "3"),
        ("whole", True),
        ("number", "2"),
        ("yes", "true"),
        ("many", "1"),
        ("many", ["1"]),
        ("pair", [1]),
        ("unit", "k"),
        ("choice", "c"),
        ("city", {}),
        ("city", {"title": "P", "near": [{}]}),
        ("point", {"y": 1}),
        ("options", {"deep": 1}),
        ("maybe", "x"),
        ("either", "x"),
        ("bounded", 0),
        ("bounded", 10),
    ],
)
def test_values_that_the_schema_refuses(name: str, given: Any) -> None:
    found = as_definition(only(name)).problem({"value": given})
    assert found is not None
    assert found.startswith("value")


def test_schema_of_many_types() -> None:
    schema = as_definition(typed).parameters
    assert "title" not in schema
    assert schema["properties"]["bounded"] == {
        "type": "integer",
        "minimum": 1,
        "maximum": 9,
        "description": "one to nine",
    }
    city = schema["$defs"]["City"]
    assert city["properties"]["title"] == {"type": "string"}, "a property that is called title stays"
    assert city["description"] == "A place."
    assert not any("title" in part for part in schema["$defs"].values())
    assert schema["required"] == list(schema["properties"])


def test_defaults() -> None:
    missing = object()
    shared: list[int] = []

    @tool
    def search(  # type: ignore[no-untyped-def]
        text: str = "x",
        unit: Unit = Unit.CELSIUS,
        loose=3,
        none: int = None,  # type: ignore[assignment] # noqa: RUF013
        short: Annotated[str, Field(max_length=2)] = None,  # type: ignore[assignment] # noqa: RUF013
        field: int = Field(7, description="seven"),
        odd: Any = missing,
        items: list[int] = shared,
        *,
        flag: bool = False,
    ) -> dict[str, Any]:
        return dict(locals())

    found = properties(search)
    assert "required" not in as_definition(search).parameters
    assert found["text"] == {"type": "string", "default": "x"}
    assert found["unit"] == {"$ref": "#/$defs/Unit", "default": "c"}
    assert found["loose"] == {"default": 3}
    assert found["none"] == {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None}
    assert found["field"] == {"type": "integer", "default": 7, "description": "seven"}
    assert found["odd"] == {}
    values = run(search, {})
    assert values["odd"] is missing
    assert values["items"] is shared
    assert (values["field"], values["none"], values["short"], values["unit"]) == (7, None, None, Unit.CELSIUS)
    assert run(search, {"none": None, "short": None, "field": 8, "flag": True})["field"] == 8
    assert as_definition(search).problem({"short": "abc"}) is not None


AWKWARD = [
    "_x", "__x", "model_config", "model_fields", "model_dump", "schema", "json", "copy", "dict", "validate", "fields",
    "p0", "p1", "self", "cls", "arguments", "kwargs", "args", "function", "type", "description", "größe",
]  # fmt: skip


@pytest.mark.parametrize("name", AWKWARD)
def test_a_parameter_may_have_any_name(name: str) -> None:
    names: dict[str, Any] = {}
    exec(f"def awkward({name}: int, p0_: str = 'y'): return ({name}, p0_)", names)
    assert list(properties(names["awkward"])) == [name, "p0_"]
    assert run(names["awkward"], {name: 3}) == (3, "y")


def test_all_awkward_names_together() -> None:
    names: dict[str, Any] = {}
    exec(f"def awkward({', '.join(f'{name}: int' for name in AWKWARD)}): return locals()", names)
    given = {name: n for n, name in enumerate(AWKWARD)}
    assert run(names["awkward"], given) == given


def google(city: str, days: int = 3) -> None:
    """Weather for a city.

    Where it is really needed.

    Args:
        city: The city,
            in English.
        days (int): How many. Defaults to 3.

    Returns:
        Nothing.
    """


def numpy(city: str, days: int = 3) -> None:
    """Weather for a city.

    Where it is really needed.

    Parameters
    ----------
    city : str
        The city,
        in English.
    days : int, optional
        How many. Defaults to 3.

    Returns
    -------
    None
        Nothing.
    """


def rest(city: str, days: int = 3) -> None:
    """Weather for a city.

    Where it is really needed.

    :param city: The city,
        in English.
    :param int days: How many. Defaults to 3.
    :return: Nothing.
    """


@pytest.mark.parametrize("function", [google, numpy, rest])
def test_words_come_from_the_docstring(function: Callable[..., Any]) -> None:
    definition = as_definition(function)
    assert definition.description == "Weather for a city.\n\nWhere it is really needed."
    found = properties(function)
    assert found["city"]["description"] == "The city, in English."
    assert found["days"]["description"] == "How many. Defaults to 3."


def test_words_of_a_field_win_over_the_docstring() -> None:
    def search(
        a: Annotated[str, Field(description="field")], b: str = Field("x", description="field"), c: str = Field("y")
    ) -> None:
        """Search.

        Args:
            a: docstring
            b: docstring
            c: docstring
        """

    assert [each["description"] for each in properties(search).values()] == ["field", "field", "docstring"]


def test_a_function_without_words() -> None:
    assert as_definition(only("text")).description == ""


def untyped(city) -> None: ...  # type: ignore[no-untyped-def]
def starred(*cities: str) -> None: ...
def keywords(**options: str) -> None: ...
def positional(city: str, /) -> None: ...
def hidden(part: Fraction) -> None: ...
def broken(part: 1 + 1) -> None: ...  # type: ignore[valid-type]
def unfit(go: Callable[[], None]) -> None: ...
def unknown_type(fine: int, it: functools.partial[int]) -> None: ...
def backtracking(text: Annotated[str, Field(pattern="(?=a)b")]) -> None: ...


@pytest.mark.parametrize(
    ("function", "parameter", "reason"),
    [
        (untyped, "city", "has no type"),
        (starred, "cities", "any number of values"),
        (keywords, "options", "any number of values"),
        (positional, "city", "positional-only"),
        (hidden, "part", "cannot be found: name 'Fraction' is not defined"),
        (broken, "part", "cannot be given as JSON"),
        (unfit, "go", "cannot be given as JSON"),
        (unknown_type, "it", "cannot be given as JSON"),
        (backtracking, "text", "cannot be given as JSON"),
    ],
)
def test_parameters_that_cannot_be_told_to_a_model(function: Callable[..., Any], parameter: str, reason: str) -> None:
    for define in (tool, as_definition):
        with pytest.raises(ToolDefinitionError) as caught:
            define(function)
        assert caught.value.message.startswith(f"tool {function.__name__!r}: parameter {parameter!r} ")
        assert reason in caught.value.message
        assert caught.value.hint


class Service:
    def __init__(self, prefix: str) -> None:
        self.prefix = prefix

    def plain(self, text: str) -> str:
        return self.prefix + text

    @tool(risk="read", timeout=9)
    def search(self, text: str) -> str:
        """Search it."""
        return self.prefix + text

    @classmethod
    @tool(risk="write")
    def store(cls, text: str) -> str:
        return cls.__name__ + text

    @staticmethod
    @tool(risk="execute")
    def start(text: str) -> str:
        return text

    @tool
    async def fetch(self, text: str) -> str:
        return self.prefix + text


async def stream_async() -> Any:
    yield 1


def stream() -> Any:
    yield 1


@pytest.mark.parametrize(
    ("thing", "reason"),
    [
        (City, "cannot become a tool"),
        (functools.partial(google, days=3), "cannot become a tool"),
        (staticmethod(google), "cannot become a tool"),
        (Service.__dict__["store"], "cannot become a tool"),
        (3, "cannot become a tool"),
        (None, "cannot become a tool"),
        ("google", "cannot become a tool"),
        (lambda: 1, "'<lambda>' is no tool name"),
        (len, "parameter 'obj' is positional-only"),
        (max, "signature cannot be read"),
    ],
)
def test_things_that_are_no_tools(thing: Any, reason: str) -> None:
    with pytest.raises(ToolDefinitionError) as caught:
        as_definition(thing)
    assert reason in caught.value.message
    assert caught.value.hint


def test_generators_are_tools() -> None:
    assert list(run(stream, {})) == [1]


def test_what_is_async_belongs_on_the_loop() -> None:
    service = Service("1:")
    calls = [as_definition(each).call for each in (service.fetch, stream_async, service.search, stream, google)]
    assert [is_async(call) for call in calls if call] == [True, True, False, False, False]


def test_bound_methods() -> None:
    one, two = Service("1:"), Service("2:")
    assert run(one.plain, {"text": "x"}) == "1:x"
    assert (run(one.search, {"text": "x"}), run(two.search, {"text": "x"})) == ("1:x", "2:x")
    definition = as_definition(one.search)
    assert (definition.name, definition.description, definition.timeout) == ("search", "Search it.", 9)
    assert definition.risk is Risk.READ
    assert list(definition.parameters["properties"]) == ["text"]
    assert one.search("y") == "1:y"
    assert as_definition(one.plain).risk is None


def test_class_and_static_methods() -> None:
    assert as_definition(Service.store).risk is Risk.WRITE
    assert run(Service.store, {"text": "x"}) == "Servicex"
    assert as_definition(Service.start).risk is Risk.EXECUTE
    assert run(Service("").start, {"text": "x"}) == "x"


async def test_async_methods() -> None:
    assert await run(Service("1:").fetch, {"text": "x"}) == "1:x"


def test_a_method_without_its_object_is_refused() -> None:
    with pytest.raises(ToolDefinitionError, match="without its object") as caught:
        as_definition(Service.search)
    assert "thing.search" in caught.value.hint
    with pytest.raises(ToolDefinitionError, match="without its object"):
        as_definition(Service.__dict__["search"])
    unbound: Any = Service.search
    with pytest.raises(ToolDefinitionError, match="without its object"):
        unbound.__toolwire__.call({"text": "x"})


async def test_decorating_a_bound_method() -> None:
    service = Service("1:")
    plain = tool(risk="read")(service.plain)
    assert plain("x") == "1:x"
    assert as_definition(plain).risk is Risk.READ
    assert run(plain, {"text": "y"}) == "1:y"
    fetch = tool(risk="dangerous", name="get")(service.fetch)
    assert as_definition(fetch).risk is Risk.DANGEROUS
    assert as_definition(service.fetch).risk is None
    assert await run(fetch, {"text": "y"}) == "1:y"


def test_wrapped_functions_keep_their_signature() -> None:
    @tool(risk="read")
    @functools.lru_cache
    def cached(city: City | str) -> str:
        """Words."""
        return f"{city}!"

    assert run(cached, {"city": "x"}) == "x!"
    assert as_definition(cached).description == "Words."

    def shout(function: Callable[..., str]) -> Callable[..., str]:
        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> str:
            return function(*args, **kwargs).upper()

        return wrapper

    assert run(tool(shout(Service("a").plain)), {"text": "b"}) == "AB"


def test_local_types_while_their_function_runs() -> None:
    class Local(BaseModel):
        x: int

    Alias = list[Local]

    @tool
    def local(one: Local, many: Alias | None = None) -> int:
        return one.x

    assert run(local, {"one": {"x": 3}, "many": [{"x": 4}]}) == 3

    class Inner:
        @tool
        def method(self, one: Local) -> int:
            return one.x + 1

    assert run(Inner().method, {"one": {"x": 3}}) == 4


def make() -> tuple[Callable[..., Any], Callable[..., Any]]:
    class Kept(BaseModel):
        x: int

    class Lost(BaseModel):
        x: int

    def keeps(one: Kept) -> str:
        return Kept.__name__

    def loses(one: Lost) -> int:
        return one.x

    return keeps, loses


def test_local_types_after_their_function_has_returned() -> None:
    keeps, loses = make()
    assert run(keeps, {"one": {"x": 3}}) == "Kept"
    with pytest.raises(ToolDefinitionError, match="name 'Lost' is not defined"):
        as_definition(loses)


def test_a_local_name_of_somebody_else_is_not_taken() -> None:
    City = int  # noqa: F841
    assert properties(only("city"))["value"] == {"$ref": "#/$defs/City"}


def test_the_return_type_does_not_matter() -> None:
    def half(n: int) -> Fraction:
        raise NotImplementedError

    assert list(properties(half)) == ["n"]


def positive(n: int) -> int:
    if n < 0:
        raise ValueError("must not be negative")
    return n


def picky(n: Annotated[int, AfterValidator(positive)], city: City | None = None) -> int:
    return n


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"n": -1}, "n: Value error, must not be negative"),
        ({}, "n: Field required"),
        ({"n": 1, "x": 2}, "x: Extra inputs are not permitted"),
        ({"n": 1, "city": {}}, "city.title: Field required"),
        ({"n": "\ud800"}, "arguments: Invalid JSON"),
        ({"n": object()}, "the arguments are not JSON"),
        ({"n": 10**5000}, "the arguments are not JSON"),
        ({"n": 1, **{f"x{i}": 1 for i in range(9)}}, "and 4 more"),
        ({"n": 1, "x" * 1_000_000: 1}, "Extra inputs are not permitted"),
    ],
    ids=range(9),
)
def test_what_the_types_refuse_is_one_sentence(arguments: dict[str, Any], sentence: str) -> None:
    call = as_definition(picky).call
    assert call is not None
    with pytest.raises(IncompleteCall) as caught:
        call(arguments)
    assert sentence in caught.value.message
    assert len(caught.value.message) < 2500
    assert caught.value.tool == "picky"


def test_an_error_of_the_function_is_its_own() -> None:
    def fails(n: int) -> None:
        City.model_validate({})

    with pytest.raises(ValueError, match="1 validation error for City"):
        run(fails, {"n": 1})


def test_arguments_are_never_shared_with_the_function() -> None:
    def spoil(data: Any, items: list[Any]) -> None:
        data["a"].append(1)
        items.clear()

    given: dict[str, Any] = {"data": {"a": []}, "items": [1]}
    run(spoil, given)
    assert given == {"data": {"a": []}, "items": [1]}


def test_patterns_that_only_a_backtracking_engine_reads_are_left_to_pydantic() -> None:
    class Code(BaseModel):
        model_config = ConfigDict(regex_engine="python-re")
        code: Annotated[str, Field(pattern="^(?!x)[a-z]+$")]

    @tool
    def use(code: Code) -> str:
        return code.code

    assert run(use, {"code": {"code": "abc"}}) == "abc"
    call = as_definition(use).call
    assert call is not None
    with pytest.raises(IncompleteCall):
        call({"code": {"code": "xbc"}})


def test_an_alias_is_what_the_model_is_told() -> None:
    def find(text: Annotated[str, Field(alias="query")], limit: int = Field(3, alias="max")) -> tuple[str, int]:
        return text, limit

    assert list(properties(find)) == ["query", "max"]
    assert run(find, {"query": "x", "max": 4}) == ("x", 4)
    assert run(find, {"query": "x"}) == ("x", 3)


LAZY = """
from typing import TYPE_CHECKING
import toolwire
if TYPE_CHECKING:
    from fractions import Fraction

@toolwire.tool
def half(number: int) -> Fraction:
    "Halve a number."

class Halves:
    @toolwire.tool
    def half(self, number: int) -> list[Fraction]:
        "Halve a number."

def part(number: list[Fraction]) -> str:
    "Take a part."
"""


def test_a_type_for_type_checkers_alone_is_as_a_string_on_every_python() -> None:
    # Before Python 3.14, annotations are evaluated at once unless they are strings.
    future = "" if sys.version_info >= (3, 14) else "from __future__ import annotations\n"
    names: dict[str, Any] = {"__name__": "lazy"}
    exec(compile(future + LAZY, "lazy.py", "exec", dont_inherit=True), names)
    for each in (names["half"], names["Halves"]().half):
        assert as_definition(each).parameters["properties"] == {"number": {"type": "integer"}}
    with pytest.raises(ToolDefinitionError, match=r"parameter 'number' has a type that cannot be found: .*Fraction"):
        as_definition(names["part"])
