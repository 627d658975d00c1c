"""Providers as data: a row says where a service is, which wire it speaks, which key it wants and how it departs.

Adding a compatible service is adding a row; CONTRIBUTING.md shows one. `"provider:model"` names a model everywhere.
"""

from __future__ import annotations

from ..errors import ConfigError
from . import dialects
from .departures import (
    azure_endpoint,
    bedrock_anthropic,
    copilot_initiator,
    databricks_host,
    ollama_url,
    region,
    vertex_anthropic,
    vertex_host,
)
from .provider import BEARER, Auth, Blank, Provider

_API_KEY = Auth("api-key")
_GOOGLE_TOKENS = ("GOOGLE_OAUTH_ACCESS_TOKEN", "VERTEX_ACCESS_TOKEN")
_AZURE_KEYS = ("AZURE_OPENAI_AD_TOKEN", "AZURE_OPENAI_API_KEY")
_AWS_REGION = Blank(("AWS_REGION", "AWS_DEFAULT_REGION"), form=region)
_AWS_STREAM = {"Accept": "application/vnd.amazon.eventstream"}

_OPENAI = (
    Provider(
        name="openai",
        title="OpenAI",
        base_url="https://api.openai.com/v1",
        base_url_variables=("OPENAI_BASE_URL",),
        keys=("OPENAI_API_KEY",),
        dialect=dialects.OPENAI,
        default_model="gpt-4.1-mini",
    ),
    Provider(
        name="openai-responses",
        title="OpenAI, Responses API",
        wire="openai-responses",
        base_url="https://api.openai.com/v1",
        base_url_variables=("OPENAI_BASE_URL",),
        keys=("OPENAI_API_KEY",),
        default_model="gpt-4.1-mini",
    ),
    Provider(
        name="azure",
        title="Azure OpenAI",
        aliases=("azure-openai",),
        base_url="{endpoint}/openai",
        path="/deployments/{model}/chat/completions?api-version={version}",
        blanks={
            "endpoint": Blank(("AZURE_OPENAI_ENDPOINT",), form=azure_endpoint),
            "version": Blank(("OPENAI_API_VERSION", "AZURE_OPENAI_API_VERSION"), "2024-10-21"),
        },
        keys=_AZURE_KEYS,
        auth=_API_KEY,
        auth_of={"AZURE_OPENAI_AD_TOKEN": BEARER},
        dialect=dialects.OPENAI,
    ),
    Provider(
        name="azure-responses",
        title="Azure OpenAI, Responses API",
        wire="openai-responses",
        base_url="{endpoint}/openai/v1",
        blanks={"endpoint": Blank(("AZURE_OPENAI_ENDPOINT",), form=azure_endpoint)},
        keys=_AZURE_KEYS,
        auth=_API_KEY,
        auth_of={"AZURE_OPENAI_AD_TOKEN": BEARER},
    ),
)

_ANTHROPIC = (
    Provider(
        name="anthropic",
        title="Anthropic",
        aliases=("claude",),
        wire="anthropic",
        base_url="https://api.anthropic.com",
        base_url_variables=("ANTHROPIC_BASE_URL",),
        path="/v1/messages",
        keys=("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"),
        auth=Auth("x-api-key"),
        auth_of={"ANTHROPIC_AUTH_TOKEN": BEARER},
        headers={"anthropic-version": "2023-06-01"},
        default_model="claude-sonnet-5",
    ),
    Provider(
        name="vertex-anthropic",
        title="Anthropic on Google Vertex AI",
        aliases=("anthropic-vertex",),
        wire="anthropic",
        shape=vertex_anthropic,
        base_url="https://{host}/v1",
        base_url_variables=("ANTHROPIC_VERTEX_BASE_URL",),
        path="/projects/{project}/locations/{location}/publishers/anthropic/models/{model}:streamRawPredict",
        blanks={
            "project": Blank(("ANTHROPIC_VERTEX_PROJECT_ID", "GOOGLE_CLOUD_PROJECT")),
            "location": Blank(("CLOUD_ML_REGION", "GOOGLE_CLOUD_LOCATION"), "global"),
            "host": Blank(("CLOUD_ML_REGION", "GOOGLE_CLOUD_LOCATION"), "global", vertex_host),
        },
        keys=_GOOGLE_TOKENS,
        credentials="google",
    ),
    Provider(
        name="bedrock-anthropic",
        title="Anthropic on Amazon Bedrock, its own format",
        aliases=("anthropic-bedrock",),
        wire="bedrock",
        request_wire="anthropic",
        shape=bedrock_anthropic,
        base_url="https://bedrock-runtime.{region}.amazonaws.com",
        base_url_variables=("ANTHROPIC_BEDROCK_BASE_URL", "AWS_ENDPOINT_URL_BEDROCK_RUNTIME"),
        path="/model/{model}/invoke-with-response-stream",
        blanks={"region": _AWS_REGION},
        keys=("AWS_BEARER_TOKEN_BEDROCK",),
        credentials="aws",
        headers=_AWS_STREAM,
    ),
)

_CLOUDS = (
    Provider(
        name="gemini",
        title="Google Gemini",
        aliases=("google",),
        wire="gemini",
        base_url="https://generativelanguage.googleapis.com/v1beta",
        keys=("GOOGLE_API_KEY", "GEMINI_API_KEY"),
        auth=Auth("x-goog-api-key"),
        default_model="gemini-3.5-flash",
    ),
    Provider(
        name="vertex",
        title="Google Vertex AI",
        aliases=("google-vertex", "vertexai"),
        wire="gemini",
        base_url="https://{host}/v1",
        path="/projects/{project}/locations/{location}/publishers/google/models/{model}:streamGenerateContent?alt=sse",
        blanks={
            "project": Blank(("GOOGLE_CLOUD_PROJECT",)),
            "location": Blank(("GOOGLE_CLOUD_LOCATION",), "global"),
            "host": Blank(("GOOGLE_CLOUD_LOCATION",), "global", vertex_host),
        },
        keys=_GOOGLE_TOKENS,
        credentials="google",
        default_model="gemini-3.5-flash",
    ),
    Provider(
        name="vertex-express",
        title="Google Vertex AI with an express mode key",
        wire="gemini",
        base_url="https://aiplatform.googleapis.com/v1",
        path="/publishers/google/models/{model}:streamGenerateContent?alt=sse",
        keys=("VERTEX_API_KEY", "GOOGLE_API_KEY"),
        auth=Auth(query="key"),
        default_model="gemini-3.5-flash",
    ),
    Provider(
        name="bedrock",
        title="Amazon Bedrock, Converse",
        aliases=("amazon-bedrock", "aws"),
        wire="bedrock",
        base_url="https://bedrock-runtime.{region}.amazonaws.com",
        base_url_variables=("AWS_ENDPOINT_URL_BEDROCK_RUNTIME",),
        blanks={"region": _AWS_REGION},
        keys=("AWS_BEARER_TOKEN_BEDROCK",),
        credentials="aws",
        headers=_AWS_STREAM,
    ),
    Provider(
        name="cohere",
        title="Cohere",
        wire="cohere",
        base_url="https://api.cohere.com",
        base_url_variables=("CO_API_URL",),
        keys=("CO_API_KEY", "COHERE_API_KEY"),
        default_model="command-a-03-2025",
    ),
)

_COMPATIBLE = (
    Provider(
        name="openrouter",
        title="OpenRouter",
        base_url="https://openrouter.ai/api/v1",
        keys=("OPENROUTER_API_KEY",),
        dialect=dialects.OPENROUTER,
        default_model="openai/gpt-4.1-mini",
    ),
    Provider(
        name="copilot",
        title="GitHub Copilot",
        aliases=("github-copilot",),
        base_url="https://api.githubcopilot.com",
        base_url_variables=("GITHUB_COPILOT_API_BASE",),
        keys=("GITHUB_COPILOT_TOKEN", "GITHUB_COPILOT_API_KEY", "COPILOT_API_KEY"),
        headers={
            "Editor-Version": "vscode/1.104.1",
            "Editor-Plugin-Version": "copilot-chat/0.26.7",
            "Copilot-Integration-Id": "vscode-chat",
            "Openai-Intent": "conversation-panel",
            "X-GitHub-Api-Version": "2025-04-01",
        },
        headers_for=copilot_initiator,
        dialect=dialects.COPILOT,
        default_model="gpt-5-mini",
    ),
    Provider(
        name="xai",
        title="xAI",
        aliases=("grok",),
        base_url="https://api.x.ai/v1",
        keys=("XAI_API_KEY",),
        dialect=dialects.XAI,
        default_model="grok-4.3",
    ),
    Provider(
        name="deepseek",
        title="DeepSeek",
        base_url="https://api.deepseek.com",
        keys=("DEEPSEEK_API_KEY",),
        dialect=dialects.DEEPSEEK,
        default_model="deepseek-flash",
    ),
    Provider(
        name="groq",
        title="Groq",
        base_url="https://api.groq.com/openai/v1",
        keys=("GROQ_API_KEY",),
        dialect=dialects.GROQ,
        default_model="openai/gpt-oss-120b",
    ),
    Provider(
        name="mistral",
        title="Mistral",
        aliases=("mistralai",),
        base_url="https://api.mistral.ai/v1",
        keys=("MISTRAL_API_KEY",),
        dialect=dialects.MISTRAL,
        default_model="mistral-small-latest",
    ),
    Provider(
        name="together",
        title="Together AI",
        aliases=("togetherai",),
        base_url="https://api.together.xyz/v1",
        base_url_variables=("TOGETHER_BASE_URL",),
        keys=("TOGETHER_API_KEY",),
        dialect=dialects.TOGETHER,
    ),
    Provider(
        name="fireworks",
        title="Fireworks AI",
        base_url="https://api.fireworks.ai/inference/v1",
        keys=("FIREWORKS_API_KEY",),
        dialect=dialects.FIREWORKS,
    ),
    Provider(
        name="cerebras",
        title="Cerebras",
        base_url="https://api.cerebras.ai",
        base_url_variables=("CEREBRAS_BASE_URL",),
        path="/v1/chat/completions",
        keys=("CEREBRAS_API_KEY",),
        dialect=dialects.CEREBRAS,
        default_model="gpt-oss-120b",
    ),
    Provider(
        name="perplexity",
        title="Perplexity",
        aliases=("pplx", "sonar"),
        base_url="https://api.perplexity.ai",
        keys=("PERPLEXITY_API_KEY", "PPLX_API_KEY"),
        dialect=dialects.PERPLEXITY,
        native_tools=False,
        default_model="sonar",
    ),
    Provider(
        name="huggingface",
        title="Hugging Face Inference Providers",
        aliases=("hf",),
        base_url="https://router.huggingface.co/v1",
        keys=("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"),
        dialect=dialects.HUGGINGFACE,
    ),
    Provider(
        name="nvidia",
        title="NVIDIA NIM",
        aliases=("nim",),
        base_url="https://integrate.api.nvidia.com/v1",
        base_url_variables=("NVIDIA_BASE_URL",),
        keys=("NVIDIA_API_KEY",),
        dialect=dialects.NVIDIA,
    ),
    Provider(
        name="databricks",
        title="Databricks Model Serving",
        base_url="{host}/serving-endpoints",
        blanks={"host": Blank(("DATABRICKS_HOST",), form=databricks_host)},
        keys=("DATABRICKS_TOKEN",),
        dialect=dialects.DATABRICKS,
    ),
    Provider(
        name="writer",
        title="Writer",
        base_url="https://api.writer.com",
        base_url_variables=("WRITER_BASE_URL",),
        path="/v1/chat",
        keys=("WRITER_API_KEY",),
        dialect=dialects.WRITER,
        default_model="palmyra-x5",
    ),
    Provider(
        name="moonshot",
        title="Moonshot AI (Kimi)",
        aliases=("kimi", "moonshotai"),
        base_url="https://api.moonshot.ai/v1",
        base_url_variables=("MOONSHOT_BASE_URL",),
        keys=("MOONSHOT_API_KEY",),
        dialect=dialects.MOONSHOT,
        default_model="kimi-k2.6",
    ),
    Provider(
        name="zai",
        title="Z.ai (GLM)",
        aliases=("glm", "zhipu"),
        base_url="https://api.z.ai/api/paas/v4",
        base_url_variables=("ZAI_BASE_URL",),
        keys=("ZAI_API_KEY",),
        dialect=dialects.ZAI,
        default_model="glm-4.6",
    ),
    Provider(
        name="minimax",
        title="MiniMax",
        base_url="https://api.minimax.io/v1",
        base_url_variables=("MINIMAX_BASE_URL",),
        keys=("MINIMAX_API_KEY",),
        dialect=dialects.MINIMAX,
        default_model="MiniMax-M2",
    ),
    Provider(
        name="alibaba",
        title="Alibaba Cloud Model Studio (Qwen)",
        aliases=("qwen", "dashscope"),
        base_url="https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
        base_url_variables=("DASHSCOPE_BASE_URL",),
        keys=("DASHSCOPE_API_KEY", "ALIBABA_API_KEY"),
        dialect=dialects.ALIBABA,
        default_model="qwen-plus",
    ),
)

_HERE = (
    Provider(
        name="ollama",
        title="Ollama",
        wire="ollama",
        base_url="http://127.0.0.1:11434",
        base_url_variables=("OLLAMA_BASE_URL", "OLLAMA_HOST"),
        base_url_form=ollama_url,
        keys=("OLLAMA_API_KEY",),
        key_needed=False,
        is_local=True,
    ),
    Provider(
        name="lmstudio",
        title="LM Studio",
        aliases=("lm-studio",),
        base_url="http://127.0.0.1:1234/v1",
        dialect=dialects.LMSTUDIO,
        key_needed=False,
        is_local=True,
    ),
    Provider(
        name="vllm",
        title="vLLM",
        base_url="http://127.0.0.1:8000/v1",
        keys=("VLLM_API_KEY",),
        dialect=dialects.VLLM,
        key_needed=False,
        is_local=True,
    ),
    Provider(
        name="llama.cpp",
        title="llama.cpp server",
        aliases=("llamacpp", "llama-cpp"),
        base_url="http://127.0.0.1:8080/v1",
        keys=("LLAMA_API_KEY",),
        dialect=dialects.LLAMACPP,
        key_needed=False,
        is_local=True,
    ),
    Provider(
        name="openai-compatible",
        title="Any OpenAI-compatible server",
        base_url_variables=("TOOLWIRE_BASE_URL",),
        keys=("TOOLWIRE_API_KEY",),
        key_needed=False,
    ),
    Provider(name="local", title="The embedded model", key_needed=False, default_model="smollm2-135m"),
)

PROVIDERS: dict[str, Provider] = {
    provider.name: provider for group in (_OPENAI, _ANTHROPIC, _CLOUDS, _COMPATIBLE, _HERE) for provider in group
}
"""Every provider of this version, by name."""


def find_provider(name: str) -> Provider | None:
    """The provider of this name or alias, if there is one."""
    return PROVIDERS.get(name) or next((row for row in PROVIDERS.values() if name in row.aliases), None)


def split_model(name: str) -> tuple[Provider, str]:
    """The provider and the model that `"provider:model"` names; without a model, the provider's default."""
    provider_name, _, model = name.partition(":")
    provider = find_provider(provider_name)
    if provider is None:
        raise _unknown(provider_name[:64])
    model = model or provider.default_model
    if not model:
        raise ConfigError(
            f"which model of {provider.name}?",
            hint=f"Name it: {provider.name}:MODEL.",
            provider=provider.name,
        )
    return provider, model


def near_names(name: str, likeness: float = 0.5) -> list[str]:
    """The names and aliases that somebody may have meant."""
    import difflib

    names = [each for row in PROVIDERS.values() for each in (row.name, *row.aliases)]
    return difflib.get_close_matches(name.lower(), names, 3, likeness)


def _unknown(name: str) -> ConfigError:
    near = near_names(name)
    known = f"Did you mean {', '.join(near)}?" if near else f"Known: {', '.join(PROVIDERS)}."
    return ConfigError(
        f"there is no provider {name!r}",
        hint=f"Models are named provider:model. {known}",
        provider=name,
    )
