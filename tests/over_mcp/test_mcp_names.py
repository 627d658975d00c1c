"""Names of servers' tools: valid, never one for two."""

from __future__ import annotations

import pytest
from bench.trust import mcp_definitions as proofs

from toolwire.errors import ConfigError
from toolwire.mcp.config import ServerConfig
from toolwire.mcp.names import SLUG_LENGTH, check_names, request_name, server_slug, tool_name
from toolwire.tools.definition import NAME_LENGTH, is_tool_name


@pytest.mark.parametrize("name", ["git", "my-files", "a_b", "GitHub", "x" * SLUG_LENGTH])
def test_a_plain_server_keeps_its_name(name: str) -> None:
    assert server_slug(name) == name


@pytest.mark.parametrize(
    "name", ["a__b", "_a", "a_", "a b", "é", "", "a.b", "x" * 33, "x" * 5000, "git_0123456789", "0123456789", "\ud800"]
)
def test_any_other_gets_a_short_one_with_a_mark(name: str) -> None:
    slug = server_slug(name)
    assert slug != name
    assert is_tool_name(slug)
    assert len(slug) <= SLUG_LENGTH
    assert "__" not in slug
    assert not slug.startswith("_")
    assert server_slug(slug) != slug, "what looks like a mark gets one"


@pytest.mark.parametrize("tool", ["read_file", "files.read", "get-sum", "a__b", "_x", "t" * (NAME_LENGTH - 10)])
def test_a_plain_tool_keeps_its_name(tool: str) -> None:
    assert tool_name("git", tool) == f"mcp__git__{tool}"


@pytest.mark.parametrize("tool", ["löschen", "a b", "", "t" * (NAME_LENGTH - 9), "日本", "x_0123456789", "sampling"])
def test_any_other_tool_gets_a_mark(tool: str) -> None:
    name = tool_name("git", tool)
    assert is_tool_name(name)
    assert name.startswith("mcp__git__")
    assert name != f"mcp__git__{tool}"


def test_what_a_server_asks_has_a_name_that_none_of_its_tools_has() -> None:
    for request in ("sampling", "elicitation"):
        assert request_name("git", request) == f"mcp__git__{request}" != tool_name("git", request)


def test_random_pairs_have_different_names() -> None:
    found = proofs.names(5_000, 7)
    assert not found.faults
    assert found.runs == 5_000


def test_two_servers_of_one_name_are_told_apart_by_an_error() -> None:
    check_names([ServerConfig(name="a"), ServerConfig(name="A"), ServerConfig(name="a b"), ServerConfig(name="a_b")])
    with pytest.raises(ConfigError, match=r"'a' and 'a' in /p/\.mcp\.json"):
        check_names([ServerConfig(name="a"), ServerConfig(name="a", source="/p/.mcp.json")])
