from __future__ import annotations

import pytest

from toolwire.messages import MediaPart, Message, ToolResultPart, tool_results, user
from toolwire.providers.departures import (
    azure_endpoint,
    copilot_initiator,
    databricks_host,
    ollama_url,
    region,
    vertex_host,
)

PICTURE = MediaPart("image/png", data="AAAA")


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1:11434", "http://127.0.0.1:11434"),
        ("localhost", "http://localhost:11434"),
        (":8080", "http://127.0.0.1:8080"),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        ("0.0.0.0:8080", "http://127.0.0.1:8080"),
        ("http://h", "http://h:80"),
        ("https://ollama.com", "https://ollama.com:443"),
        ("https://h:8443/base/", "https://h:8443/base"),
        ("[::1]", "http://[::1]:11434"),
        ("[::1]:8080", "http://[::1]:8080"),
        ("[::]:8080", "http://127.0.0.1:8080"),
        ("http://h:1/v1", "http://h:1"),
        ("h/base", "http://h:11434/base"),
    ],
)
def test_what_ollama_host_may_hold(host: str, url: str) -> None:
    """The addresses are those that Ollama's own client makes of the same words."""
    assert ollama_url(host) == url
    from ollama._client import _parse_host

    if "0.0.0.0" not in host and "[::]" not in host and not host.endswith("/v1"):
        assert _parse_host(host).rstrip("/") == url


@pytest.mark.parametrize(
    ("location", "host"),
    [
        ("global", "aiplatform.googleapis.com"),
        ("us", "aiplatform.us.rep.googleapis.com"),
        ("eu", "aiplatform.eu.rep.googleapis.com"),
        ("europe-west4", "europe-west4-aiplatform.googleapis.com"),
    ],
)
def test_google_has_a_server_for_each_location(location: str, host: str) -> None:
    assert vertex_host(location) == host


def test_regions() -> None:
    assert region("us-gov-west-1") == "us-gov-west-1"


@pytest.mark.parametrize(
    "written",
    [
        "https://r.openai.azure.com",
        "https://r.openai.azure.com/",
        "r.openai.azure.com",
        "https://r.openai.azure.com/openai/v1/",
        "https://r.openai.azure.com/openai/deployments/x/chat/completions?api-version=1",
    ],
)
def test_an_azure_endpoint_as_people_copy_it(written: str) -> None:
    assert azure_endpoint(written) == "https://r.openai.azure.com"


@pytest.mark.parametrize(
    ("written", "url"),
    [
        ("https://openai-eastus.openai.azure.com/", "https://openai-eastus.openai.azure.com"),
        ("openai.example.com", "https://openai.example.com"),
        ("https://openai.example.com/openai/v1", "https://openai.example.com"),
        ("https://gateway.example.com/openai-proxy", "https://gateway.example.com/openai-proxy"),
        ("https://gateway.example.com/team/openai/", "https://gateway.example.com/team"),
    ],
)
def test_an_azure_resource_may_be_named_so_too(written: str, url: str) -> None:
    assert azure_endpoint(written) == url


@pytest.mark.parametrize(
    "written",
    [
        "adb-1.azuredatabricks.net",
        "https://adb-1.azuredatabricks.net/",
        "https://adb-1.azuredatabricks.net/?o=123",
        "https://adb-1.azuredatabricks.net?o=123",
        "https://adb-1.azuredatabricks.net/browse/folders/1",
    ],
)
def test_a_databricks_host_as_people_copy_it(written: str) -> None:
    assert databricks_host(written) == "https://adb-1.azuredatabricks.net"


@pytest.mark.parametrize(
    ("messages", "initiator", "pictures"),
    [
        ([], "user", False),
        ([user("Hi")], "user", False),
        ([user("Hi"), tool_results([ToolResultPart("c", "f", "x")])], "agent", False),
        ([user("Hi"), Message("assistant", "so far")], "agent", False),
        ([Message("user", [PICTURE])], "user", True),
        ([user("Hi"), tool_results([ToolResultPart("c", "f", [PICTURE])])], "agent", True),
    ],
)
def test_copilot_is_told_who_asks(messages: list[Message], initiator: str, pictures: bool) -> None:
    headers = copilot_initiator(messages)
    assert headers["X-Initiator"] == initiator
    assert ("Copilot-Vision-Request" in headers) is pictures
