"""A row filled with an environment: keys that nobody sees, addresses that nothing bends, bodies as each wants them."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

import pytest

from catalog_rows import KEY, set_up
from toolwire.errors import AuthenticationFailed, ConfigError
from toolwire.messages import Message, TextPart, ThinkingPart, ToolCallPart, ToolResultPart, tool_results, user
from toolwire.providers.catalog import PROVIDERS
from toolwire.providers.endpoint import Endpoint, encode_for, joined, key_variable, missing, quoted, resolve
from toolwire.tools.definition import ToolDefinition

ADD = ToolDefinition("add", "Adds.", {"type": "object", "properties": {"a": {"type": "integer"}}})


def test_the_key_comes_from_the_environment_or_the_caller() -> None:
    assert resolve("openai:x", {"OPENAI_API_KEY": KEY}).headers["Authorization"] == f"Bearer {KEY}"
    assert resolve("openai:x", {"OPENAI_API_KEY": "other"}, api_key=KEY).headers["Authorization"] == f"Bearer {KEY}"
    assert resolve("openai:x", {"OPENAI_API_KEY": f"{KEY}\n"}).headers["Authorization"] == f"Bearer {KEY}"
    assert "Authorization" not in resolve("ollama:x", {"OPENAI_API_KEY": KEY}).headers


@pytest.mark.parametrize(
    ("name", "env", "header", "value"),
    [
        ("anthropic", {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_AUTH_TOKEN": "t"}, "x-api-key", KEY),
        ("anthropic", {"ANTHROPIC_AUTH_TOKEN": KEY}, "Authorization", f"Bearer {KEY}"),
        (
            "azure-responses",
            {"AZURE_OPENAI_AD_TOKEN": KEY, "AZURE_OPENAI_API_KEY": "k"},
            "Authorization",
            f"Bearer {KEY}",
        ),
        ("azure-responses", {"AZURE_OPENAI_API_KEY": KEY}, "api-key", KEY),
        ("gemini", {"GOOGLE_API_KEY": KEY, "GEMINI_API_KEY": "k"}, "x-goog-api-key", KEY),
        ("cohere", {"COHERE_API_KEY": KEY}, "Authorization", f"Bearer {KEY}"),
        ("vertex", {"VERTEX_ACCESS_TOKEN": KEY, "GOOGLE_CLOUD_PROJECT": "p"}, "Authorization", f"Bearer {KEY}"),
    ],
)
def test_the_variables_are_read_as_the_services_own_client_does(
    name: str, env: dict[str, str], header: str, value: str
) -> None:
    headers = resolve(f"{name}:m", {"AZURE_OPENAI_ENDPOINT": "https://h", **env}).headers
    assert headers[header] == value
    assert sum(KEY in each for each in headers.values()) == 1


def test_a_key_that_the_caller_gives_is_sent_in_the_usual_way() -> None:
    env = {"AZURE_OPENAI_ENDPOINT": "https://h", "AZURE_OPENAI_AD_TOKEN": "token"}
    headers = resolve("azure:m", env, api_key=KEY).headers
    assert headers["api-key"] == KEY
    assert "Authorization" not in headers


@pytest.mark.parametrize(
    ("name", "variable"),
    [("openai", "OPENAI_API_KEY"), ("gemini", "GOOGLE_API_KEY or GEMINI_API_KEY"), ("cohere", "CO_API_KEY")],
)
def test_no_key_is_told_before_anything_is_sent(name: str, variable: str) -> None:
    with pytest.raises(AuthenticationFailed, match="no key for") as error:
        resolve(f"{name}:x", {variable.partition(" ")[0]: " "})
    assert variable in error.value.hint


@pytest.mark.parametrize(
    ("name", "env", "variable"),
    [
        ("azure", {}, "AZURE_OPENAI_ENDPOINT"),
        ("databricks", {}, "DATABRICKS_HOST"),
        ("vertex", {}, "GOOGLE_CLOUD_PROJECT"),
        ("vertex-anthropic", {}, "ANTHROPIC_VERTEX_PROJECT_ID"),
        ("bedrock", {}, "AWS_REGION"),
        ("bedrock-anthropic", {"AWS_REGION": ""}, "AWS_REGION"),
    ],
)
def test_what_is_missing_in_an_address_is_named(name: str, env: dict[str, str], variable: str) -> None:
    with pytest.raises(ConfigError, match=f"needs {variable}") as error:
        resolve(f"{name}:m", env, api_key=KEY)
    assert f"Set {variable}" in error.value.hint
    assert error.value.variable == variable


@pytest.mark.parametrize("name", PROVIDERS)
def test_what_is_missing_is_what_resolve_asks_for(name: str) -> None:
    row = PROVIDERS[name]
    assert missing(row, set_up(row)) == []
    lacks = missing(row, {})
    if not lacks:
        resolve(f"{name}:m", {})
        return
    env: dict[str, str] = {}
    while lacks:
        with pytest.raises((ConfigError, AuthenticationFailed)) as error:
            resolve(f"{name}:m", env)
        asked = next(choice for choice in lacks if any(each in error.value.hint for each in choice))
        env[asked[0]] = set_up(row).get(asked[0], KEY)
        lacks = missing(row, env)
    assert key_variable(row, set_up(row)) == (row.keys[0] if row.keys else "")


def test_a_key_of_one_provider_never_goes_to_another_address() -> None:
    endpoint = resolve("openai-compatible:x", {"OPENAI_API_KEY": KEY}, base_url="http://127.0.0.1:9/v1")
    assert KEY not in str(endpoint.headers)


@pytest.mark.parametrize(
    ("name", "env", "url"),
    [
        ("openai", {"OPENAI_BASE_URL": "http://proxy/v1/"}, "http://proxy/v1/chat/completions"),
        ("anthropic", {"ANTHROPIC_BASE_URL": "https://proxy"}, "https://proxy/v1/messages"),
        ("anthropic", {"ANTHROPIC_BASE_URL": "https://proxy/v1"}, "https://proxy/v1/messages"),
        ("cerebras", {"CEREBRAS_BASE_URL": "https://proxy/v1/"}, "https://proxy/v1/chat/completions"),
        ("cohere", {"CO_API_URL": "https://proxy"}, "https://proxy/v2/chat"),
        ("ollama", {"OLLAMA_HOST": "0.0.0.0"}, "http://127.0.0.1:11434/api/chat"),
        ("ollama", {"OLLAMA_BASE_URL": "http://h:1/v1", "OLLAMA_HOST": "x"}, "http://h:1/api/chat"),
        ("vertex", {"GOOGLE_CLOUD_LOCATION": ""}, "https://aiplatform.googleapis.com/v1/projects/acme/locations/global/"),
        ("vertex", {"GOOGLE_CLOUD_LOCATION": "eu"}, "https://aiplatform.eu.rep.googleapis.com/v1/projects/acme/locations/eu/"),
        ("azure", {"AZURE_OPENAI_ENDPOINT": "https://h/openai/v1/"}, "https://h/openai/deployments/m/chat/completions?"),
        ("azure", {"OPENAI_API_VERSION": ""}, "https://acme.openai.azure.com/openai/deployments/m/chat/completions?api-version=2024-10-21"),
        ("azure", {"OPENAI_API_VERSION": "", "AZURE_OPENAI_API_VERSION": "v"}, "https://acme.openai.azure.com/openai/deployments/m/chat/completions?api-version=v"),
        ("bedrock", {"AWS_REGION": "", "AWS_DEFAULT_REGION": "eu-west-1"}, "https://bedrock-runtime.eu-west-1.amazonaws.com/"),
        ("bedrock", {"AWS_ENDPOINT_URL_BEDROCK_RUNTIME": "http://h"}, "http://h/model/m/converse-stream"),
        ("vertex-anthropic", {"CLOUD_ML_REGION": "us-east5"}, "https://us-east5-aiplatform.googleapis.com/v1/projects/acme/locations/us-east5/publishers/anthropic/"),
    ],
)  # fmt: skip
def test_addresses_from_the_environment(name: str, env: dict[str, str], url: str) -> None:
    made = resolve(f"{name}:m", {**set_up(PROVIDERS[name]), **env}).url
    assert made == url or (url[-1] in "/?" and made.startswith(url))


def test_an_address_of_the_callers_goes_before_all() -> None:
    env = {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": "http://proxy/v1"}
    assert resolve("openai:x", env, base_url="http://h/v1/").url == "http://h/v1/chat/completions"
    assert resolve("anthropic:x", {}, base_url="http://h/v1", api_key=KEY).url == "http://h/v1/messages"
    with pytest.raises(ConfigError, match="no address") as error:
        resolve("openai-compatible:x", {})
    assert "--base-url" in error.value.hint


@pytest.mark.parametrize("base_url", ["", "  "])
def test_an_empty_address_is_not_taken_for_the_usual_one(base_url: str) -> None:
    """A script's `--base-url "$PROXY"` with nothing in it would send the key past the proxy."""
    with pytest.raises(ConfigError, match="base URL is empty"):
        resolve("openai:x", {"OPENAI_API_KEY": KEY}, base_url=base_url)


def test_blanks_around_what_the_caller_gives_do_not_count() -> None:
    endpoint = resolve("openai:x", {}, base_url=" http://h/v1/\n", api_key=f"{KEY}\n")
    assert endpoint.url == "http://h/v1/chat/completions"
    assert endpoint.headers["Authorization"] == f"Bearer {KEY}"
    with pytest.raises(AuthenticationFailed, match="no key"):
        resolve("openai:x", {}, api_key="\n")


def test_a_part_that_stands_in_both_stands_there_once() -> None:
    assert joined("https://h", "/v1/x") == "https://h/v1/x"
    assert joined("https://h/v1", "/v1/x") == "https://h/v1/x"
    assert joined("https://h/v1/", "/v1/x") == "https://h/v1/x"
    assert joined("https://h/av1", "/v1/x") == "https://h/av1/v1/x"
    assert joined("https://h/v1", "/v2/x") == "https://h/v1/v2/x"


@pytest.mark.parametrize(
    "model", ["../../evil", "x?key=y", "x#y", "x y", "é", "a:b", "x/../../../y", "..", ".", "@evil.example", "x%2Fy"]
)
@pytest.mark.parametrize("name", ["gemini", "azure", "bedrock", "vertex-anthropic"])
def test_a_models_name_cannot_change_the_address(name: str, model: str) -> None:
    env = set_up(PROVIDERS[name])
    plain, bent = (urlsplit(resolve(f"{name}:{each}", env).url) for each in ("NAME", model))
    assert (bent.netloc, bent.query) == (plain.netloc, plain.query)
    assert bent.path == plain.path.replace("NAME", quoted(model))
    assert bent.path.count("/") == plain.path.count("/")
    assert not {".", ".."} & set(bent.path.split("/"))


@pytest.mark.parametrize(
    "region", ["evil.example/", "x@evil.example", "us east", "us-east-1.evil.example", "../x", "{x}"]
)
@pytest.mark.parametrize(
    ("name", "variable"),
    [("bedrock", "AWS_REGION"), ("vertex", "GOOGLE_CLOUD_LOCATION"), ("vertex-anthropic", "CLOUD_ML_REGION")],
)
def test_a_region_cannot_change_the_server(name: str, variable: str, region: str) -> None:
    with pytest.raises(ConfigError, match="is no region"):
        resolve(f"{name}:m", {**set_up(PROVIDERS[name]), variable: region})


def test_a_project_cannot_change_the_path() -> None:
    env = {**set_up(PROVIDERS["vertex"]), "GOOGLE_CLOUD_PROJECT": "a/../../b?x{model}"}
    assert "/projects/a%2F..%2F..%2Fb%3Fx%7Bmodel%7D/locations/" in resolve("vertex:m", env).url


@pytest.mark.parametrize("name", PROVIDERS)
def test_keys_are_not_shown(name: str) -> None:
    endpoint = resolve(f"{name}:x", set_up(PROVIDERS[name]), base_url=f"http://user:{KEY}@127.0.0.1/v1")
    from rich.pretty import pretty_repr

    for shown in (repr(endpoint), str(endpoint), pretty_repr(endpoint), pretty_repr([endpoint])):
        assert KEY not in shown
        assert endpoint.provider.name in shown


def test_a_key_in_the_query_is_quoted() -> None:
    endpoint = resolve("vertex-express:m", {}, api_key="a&b=c#d e")
    assert endpoint.keyed_url.endswith("?alt=sse&key=a%26b%3Dc%23d%20e")
    assert endpoint.url.endswith("?alt=sse")


def test_credentials_stand_in_for_a_key() -> None:
    env = {"AWS_REGION": "us-east-1", "GOOGLE_CLOUD_PROJECT": "p"}
    assert resolve("bedrock:m", env).credentials == "aws"
    assert resolve("bedrock:m", env).region == "us-east-1"
    assert resolve("vertex:m", env).credentials == "google"
    assert resolve("bedrock:m", {**env, "AWS_BEARER_TOKEN_BEDROCK": KEY}).credentials == ""
    assert resolve("bedrock:m", {}, base_url="http://h", api_key=KEY).region == ""


HISTORY = [
    user("2 + 3?"),
    Message("assistant", [ToolCallPart("call_abcdefghijklmnop", "add", {"a": 2})]),
    tool_results([ToolResultPart("call_abcdefghijklmnop", "add", "5")]),
]


def endpoint(name: str) -> Endpoint:
    return resolve(f"{name}:m", set_up(PROVIDERS[name]))


@pytest.mark.parametrize("name", PROVIDERS)
def test_every_provider_encodes(name: str) -> None:
    row = PROVIDERS[name]
    tools = [ADD] if row.native_tools else []
    body = endpoint(name).encode(messages=HISTORY, tools=tools, max_tokens=7)
    assert "add" in str(body)
    assert "7" in str(body)
    assert body == encode_for(row, model="m", messages=HISTORY, tools=tools, max_tokens=7)


def test_tools_may_be_written_in_every_way() -> None:
    written = {"name": "add", "description": "Adds.", "parameters": ADD.parameters}
    bodies = [endpoint("openai").encode(messages=[user("Hi")], tools=[tool]) for tool in (ADD, written)]
    assert bodies[0] == bodies[1]


def test_a_provider_without_tools_says_so() -> None:
    with pytest.raises(ConfigError, match="Perplexity has no tool calls") as error:
        endpoint("perplexity").encode(messages=[user("Hi")], tools=[ADD])
    assert "--no-tools" in error.value.hint


def test_ids_follow_the_providers_rule() -> None:
    def ids(name: str) -> tuple[Any, Any]:
        messages = endpoint(name).encode(messages=HISTORY)["messages"]
        return messages[1]["tool_calls"][0]["id"], messages[2]["tool_call_id"]

    assert ids("openai") == ("call_abcdefghijklmnop",) * 2
    called, answered = ids("mistral")
    assert called == answered
    assert len(called) == 9


def test_anthropic_on_other_platforms() -> None:
    plain = endpoint("anthropic").encode(messages=HISTORY, tools=[ADD], tool_choice="required")
    rest = {name: value for name, value in plain.items() if name not in ("model", "stream")}
    on_bedrock = endpoint("bedrock-anthropic").encode(messages=HISTORY, tools=[ADD], tool_choice="required")
    assert on_bedrock == {"anthropic_version": "bedrock-2023-05-31", **rest}
    on_vertex = endpoint("vertex-anthropic").encode(messages=HISTORY, tools=[ADD], tool_choice="required")
    assert on_vertex == {"anthropic_version": "vertex-2023-10-16", "stream": True, **rest}


def test_signatures_go_between_the_platforms_of_one_maker() -> None:
    data = {"wire": "anthropic", "block": {"type": "thinking", "thinking": "hm", "signature": "sig"}}
    thought = Message("assistant", [ThinkingPart("hm", data), TextPart("5")], origin="bedrock-anthropic")
    history = [user("2 + 3?"), thought, user("Sure?")]
    assert "sig" in str(endpoint("bedrock-anthropic").encode(messages=history))
    assert "sig" in str(endpoint("anthropic").encode(messages=history))
    assert "sig" not in str(endpoint("openai").encode(messages=history))


def test_notes_tell_what_was_lost() -> None:
    notes: list[str] = []
    foreign = Message(
        "assistant", [ThinkingPart("hm", {"wire": "gemini", "signature": "s"}), TextPart("5")], origin="gemini"
    )
    endpoint("anthropic").encode(messages=[user("2 + 3?"), foreign, user("Sure?")], notes=notes)
    assert notes
    assert all(isinstance(note, str) for note in notes)
