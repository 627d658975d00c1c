from __future__ import annotations

import pytest

from toolwire.errors import ConfigError, ToolDefinitionError
from toolwire.tools.definition import Risk, ToolDefinition
from toolwire.tools.function import tool
from toolwire.tools.registry import ToolRegistry


@tool(risk="read")
def get_weather(city: str) -> str:
    return city


def plain(a: int) -> int:
    return a


def test_order_and_look_up() -> None:
    registry = ToolRegistry([ToolDefinition("b"), get_weather, {"name": "a"}, plain])
    assert registry.names == ["b", "get_weather", "a", "plain"]
    assert [each.name for each in registry] == registry.names
    assert len(registry) == 4
    assert "get_weather" in registry
    assert registry["get_weather"] is registry.get("get_weather")
    assert registry["get_weather"].risk is Risk.READ
    assert registry["plain"].risk is None


def test_a_name_belongs_to_one_tool() -> None:
    registry = ToolRegistry([get_weather, get_weather])
    assert len(registry) == 1
    with pytest.raises(ToolDefinitionError, match="already another tool 'get_weather'"):
        registry.add({"name": "get_weather"})
    assert registry["get_weather"].risk is Risk.READ


@pytest.mark.parametrize(
    "name",
    [
        "Get_weather",
        "GET_WEATHER",
        "get_weather ",
        "get_weathеr",
        "ｇet_weather",
        "get\u200b_weather",
        "",
        "get_weather\0",
    ],
)
def test_only_the_exact_name_finds_a_tool(name: str) -> None:
    registry = ToolRegistry([get_weather])
    assert registry.get(name) is None
    assert name not in registry
    with pytest.raises(ConfigError, match="there is no tool"):
        registry[name]


def test_nearest() -> None:
    registry = ToolRegistry({"name": name} for name in ("get_weather", "get_time", "set_time", "get_timer", "zip"))
    assert registry.nearest("getweather")[0] == "get_weather"
    assert set(registry.nearest("get_times")) == {"get_time", "get_timer", "set_time"}
    assert registry.nearest("qqqq") == []
    assert ToolRegistry().nearest("a") == []


@pytest.mark.timeout(30)
def test_nearest_is_bounded() -> None:
    registry = ToolRegistry({"name": f"{n}{'ab' * 30}"} for n in range(128))
    assert registry.nearest(f"0{'ab' * 30}c")
    assert registry.nearest(f"0{'ab' * 30}cccc") == [], "longer than is looked for"
    assert registry.nearest("ab" * 4_000_000) == []
    registry.nearest("ba" * 32)
