"""Providers as data: each row held against what the service's documents say, names and aliases, a row of one's own."""

from __future__ import annotations

import msgspec
import pytest

from catalog_rows import KEY, set_up
from toolwire.errors import ConfigError
from toolwire.messages import user
from toolwire.providers.catalog import PROVIDERS, find_provider, split_model
from toolwire.providers.dialects import ChatDialect
from toolwire.providers.endpoint import resolve
from toolwire.providers.provider import Provider
from toolwire.providers.wires import WIRES, detect_wire, wire_format

ROWS = pytest.mark.parametrize("row", PROVIDERS.values(), ids=list(PROVIDERS))


class Documented(msgspec.Struct, frozen=True):
    """What a service's documents say of a request: where it goes, and what it carries besides the body."""

    url: str
    headers: dict[str, str] = {}
    query: str = ""
    """The key's name in the query."""
    key: str = ""
    """The variable that its own client reads."""


BEARER = {"Authorization": f"Bearer {KEY}"}
VERTEX = "https://us-central1-aiplatform.googleapis.com/v1/projects/acme/locations/us-central1/publishers"
BEDROCK = "https://bedrock-runtime.us-east-1.amazonaws.com/model/m"
GEMINI_PATH = "models/m:streamGenerateContent?alt=sse"
DOCUMENTED = {
    "openai": Documented("https://api.openai.com/v1/chat/completions", BEARER, key="OPENAI_API_KEY"),
    "openai-responses": Documented("https://api.openai.com/v1/responses", BEARER, key="OPENAI_API_KEY"),
    "azure": Documented(
        "https://acme.openai.azure.com/openai/deployments/m/chat/completions?api-version=2025-01-01-preview",
        {"api-key": KEY},
        key="AZURE_OPENAI_API_KEY",
    ),
    "azure-responses": Documented(
        "https://acme.openai.azure.com/openai/v1/responses", {"api-key": KEY}, key="AZURE_OPENAI_API_KEY"
    ),
    "anthropic": Documented(
        "https://api.anthropic.com/v1/messages",
        {"x-api-key": KEY, "anthropic-version": "2023-06-01"},
        key="ANTHROPIC_API_KEY",
    ),
    "vertex-anthropic": Documented(
        f"{VERTEX}/anthropic/models/m:streamRawPredict", BEARER, key="GOOGLE_OAUTH_ACCESS_TOKEN"
    ),
    "bedrock-anthropic": Documented(
        f"{BEDROCK}/invoke-with-response-stream",
        {**BEARER, "Accept": "application/vnd.amazon.eventstream"},
        key="AWS_BEARER_TOKEN_BEDROCK",
    ),
    "gemini": Documented(
        f"https://generativelanguage.googleapis.com/v1beta/{GEMINI_PATH}",
        {"x-goog-api-key": KEY},
        key="GEMINI_API_KEY",
    ),
    "vertex": Documented(f"{VERTEX}/google/{GEMINI_PATH}", BEARER, key="GOOGLE_OAUTH_ACCESS_TOKEN"),
    "vertex-express": Documented(
        f"https://aiplatform.googleapis.com/v1/publishers/google/{GEMINI_PATH}", query="key", key="GOOGLE_API_KEY"
    ),
    "bedrock": Documented(
        f"{BEDROCK}/converse-stream",
        {**BEARER, "Accept": "application/vnd.amazon.eventstream"},
        key="AWS_BEARER_TOKEN_BEDROCK",
    ),
    "cohere": Documented("https://api.cohere.com/v2/chat", BEARER, key="CO_API_KEY"),
    "openrouter": Documented("https://openrouter.ai/api/v1/chat/completions", BEARER, key="OPENROUTER_API_KEY"),
    "copilot": Documented(
        "https://api.githubcopilot.com/chat/completions",
        {**BEARER, "Copilot-Integration-Id": "vscode-chat", "X-Initiator": "user"},
        key="GITHUB_COPILOT_TOKEN",
    ),
    "xai": Documented("https://api.x.ai/v1/chat/completions", BEARER, key="XAI_API_KEY"),
    "deepseek": Documented("https://api.deepseek.com/chat/completions", BEARER, key="DEEPSEEK_API_KEY"),
    "groq": Documented("https://api.groq.com/openai/v1/chat/completions", BEARER, key="GROQ_API_KEY"),
    "mistral": Documented("https://api.mistral.ai/v1/chat/completions", BEARER, key="MISTRAL_API_KEY"),
    "together": Documented("https://api.together.xyz/v1/chat/completions", BEARER, key="TOGETHER_API_KEY"),
    "fireworks": Documented("https://api.fireworks.ai/inference/v1/chat/completions", BEARER, key="FIREWORKS_API_KEY"),
    "cerebras": Documented("https://api.cerebras.ai/v1/chat/completions", BEARER, key="CEREBRAS_API_KEY"),
    "perplexity": Documented("https://api.perplexity.ai/chat/completions", BEARER, key="PERPLEXITY_API_KEY"),
    "huggingface": Documented("https://router.huggingface.co/v1/chat/completions", BEARER, key="HF_TOKEN"),
    "nvidia": Documented("https://integrate.api.nvidia.com/v1/chat/completions", BEARER, key="NVIDIA_API_KEY"),
    "databricks": Documented(
        "https://acme.cloud.databricks.com/serving-endpoints/chat/completions", BEARER, key="DATABRICKS_TOKEN"
    ),
    "writer": Documented("https://api.writer.com/v1/chat", BEARER, key="WRITER_API_KEY"),
    "moonshot": Documented("https://api.moonshot.ai/v1/chat/completions", BEARER, key="MOONSHOT_API_KEY"),
    "zai": Documented("https://api.z.ai/api/paas/v4/chat/completions", BEARER, key="ZAI_API_KEY"),
    "minimax": Documented("https://api.minimax.io/v1/chat/completions", BEARER, key="MINIMAX_API_KEY"),
    "alibaba": Documented(
        "https://dashscope-intl.aliyuncs.com/compatible-mode/v1/chat/completions", BEARER, key="DASHSCOPE_API_KEY"
    ),
    "ollama": Documented("http://127.0.0.1:11434/api/chat", BEARER, key="OLLAMA_API_KEY"),
    "lmstudio": Documented("http://127.0.0.1:1234/v1/chat/completions"),
    "vllm": Documented("http://127.0.0.1:8000/v1/chat/completions", BEARER, key="VLLM_API_KEY"),
    "llama.cpp": Documented("http://127.0.0.1:8080/v1/chat/completions", BEARER, key="LLAMA_API_KEY"),
    "openai-compatible": Documented("http://acme.example/v1/chat/completions", BEARER, key="TOOLWIRE_API_KEY"),
    "local": Documented("/chat/completions"),
}
SET_UP = {
    "AZURE_OPENAI_ENDPOINT": "https://acme.openai.azure.com/",
    "OPENAI_API_VERSION": "2025-01-01-preview",
    "GOOGLE_CLOUD_PROJECT": "acme",
    "GOOGLE_CLOUD_LOCATION": "us-central1",
    "AWS_REGION": "us-east-1",
    "DATABRICKS_HOST": "acme.cloud.databricks.com",
    "TOOLWIRE_BASE_URL": "http://acme.example/v1",
}


@ROWS
def test_every_row_is_whole(row: Provider) -> None:
    assert row.wire in WIRES
    assert row.asks_in in WIRES
    assert row.title
    assert row.base_url or row.name in ("openai-compatible", "local")
    assert not row.is_local or row.base_url.startswith("http://127.0.0.1:")
    assert row.is_local or row.name == "local" or row.keys
    assert set(row.auth_of) <= set(row.keys)
    written = row.base_url + row.path
    assert {name for name in row.blanks if f"{{{name}}}" in written} == set(row.blanks)
    assert written.count("{") == len([name for name in row.blanks if f"{{{name}}}" in written]) + ("{model}" in written)
    assert all(name == name.lower() and ":" not in name for name in (row.name, *row.aliases))


RETIRED = {
    "claude-sonnet-4-20250514",
    "deepseek-chat",
    "deepseek-reasoner",
    "gemini-2.0-flash",
    "gemini-2.5-flash",
    "grok-4-fast",
    "kimi-latest",
    "llama-3.3-70b-versatile",
}
"""Not answered any more, as the services say, or others who build on them."""


@ROWS
def test_no_usual_model_is_one_that_is_gone(row: Provider) -> None:
    assert row.default_model not in RETIRED


def test_no_name_is_used_twice() -> None:
    names = [name for row in PROVIDERS.values() for name in (row.name, *row.aliases)]
    assert len(names) == len(set(names))


@ROWS
def test_a_request_is_as_the_services_documents_say(row: Provider) -> None:
    told = DOCUMENTED[row.name]
    endpoint = resolve(f"{row.name}:m", {**SET_UP, told.key: KEY} if told.key else SET_UP)
    headers = endpoint.headers_for([user("Hello")])
    assert endpoint.url == told.url
    assert {name: headers.get(name) for name in told.headers} == told.headers
    assert headers["Content-Type"] == "application/json"
    carries = sum(KEY in value for value in headers.values())
    if told.query:
        assert endpoint.keyed_url == f"{told.url}&{told.query}={KEY}"
        assert carries == 0
    else:
        assert endpoint.keyed_url == told.url
        assert carries == (1 if told.key else 0)


@ROWS
def test_every_row_is_set_up_by_its_own_variables(row: Provider) -> None:
    endpoint = resolve(f"{row.name}:m", set_up(row))
    assert bool(endpoint.key) is bool(row.keys)
    assert "{" not in endpoint.url


@pytest.mark.parametrize(
    ("name", "provider", "model"),
    [
        ("openai:gpt-4.1", "openai", "gpt-4.1"),
        ("openai", "openai", "gpt-4.1-mini"),
        ("openrouter:openai/gpt-4.1:free", "openrouter", "openai/gpt-4.1:free"),
        ("ollama:qwen3:0.6b", "ollama", "qwen3:0.6b"),
        ("bedrock:us.anthropic.claude-sonnet-4-5-20250929-v1:0", "bedrock", None),
        ("local", "local", "smollm2-135m"),
        ("local:/a/b.gguf", "local", "/a/b.gguf"),
        ("grok:grok-4", "xai", "grok-4"),
        ("kimi:k2", "moonshot", "k2"),
        ("glm:glm-4.6", "zai", "glm-4.6"),
        ("qwen:qwen-max", "alibaba", "qwen-max"),
        ("google:gemini-x", "gemini", "gemini-x"),
        ("claude:claude-x", "anthropic", "claude-x"),
    ],
)
def test_names(name: str, provider: str, model: str | None) -> None:
    found, found_model = split_model(name)
    assert (found.name, found_model) == (provider, model or name.partition(":")[2])


@pytest.mark.parametrize(
    ("name", "words", "hint"),
    [
        ("opnai:x", "no provider 'opnai'", "openai"),
        ("gogle:x", "no provider 'gogle'", "google"),
        ("Groq:x", "no provider 'Groq'", "groq"),
        ("grokk:x", "no provider 'grokk'", "grok"),
        ("bedrok:x", "no provider 'bedrok'", "bedrock"),
        ("gpt-4.1", "no provider 'gpt-4.1'", "provider:model"),
        ("", "no provider", "Known: openai"),
        ("ollama", "which model of ollama", "ollama:MODEL"),
        ("x" * 10_000, "no provider", "provider:model"),
    ],
)
def test_wrong_names(name: str, words: str, hint: str) -> None:
    with pytest.raises(ConfigError, match=words) as error:
        split_model(name)
    assert hint in error.value.hint
    assert len(str(error.value)) < 200


def test_adding_a_provider_is_adding_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """As CONTRIBUTING.md shows it."""
    row = Provider(
        name="example",
        title="Example Inc.",
        aliases=("ex",),
        base_url="https://api.example.com/v1",
        keys=("EXAMPLE_API_KEY",),
        dialect=ChatDialect(stream_usage=False),
        default_model="example-large",
    )
    monkeypatch.setitem(PROVIDERS, row.name, row)
    assert find_provider("ex") is row
    endpoint = resolve("ex", {"EXAMPLE_API_KEY": KEY})
    assert endpoint.url == "https://api.example.com/v1/chat/completions"
    assert endpoint.headers["Authorization"] == f"Bearer {KEY}"
    body = endpoint.encode(messages=[user("Hello")], max_tokens=5)
    assert body == {
        "model": "example-large",
        "messages": [{"role": "user", "content": "Hello"}],
        "stream": True,
        "max_tokens": 5,
    }


def test_wires_by_name_and_by_look() -> None:
    assert wire_format("openai-chat").name == "openai-chat"
    with pytest.raises(ConfigError, match="'nonsense'") as error:
        wire_format("nonsense")
    assert "openai-chat" in error.value.hint
    assert detect_wire(b'data: {"id":"x","object":"chat.completion.chunk"}') == "openai-chat"
    with pytest.raises(ConfigError, match="cannot tell"):
        detect_wire(b"<html>")
