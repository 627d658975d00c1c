"""The libraries over several providers that people use, in an environment of their own, each optional."""

from __future__ import annotations

import asyncio
import os
from typing import Any

from .sdks import CHAT_MODEL, MESSAGES_MODEL, SAY, Reader, count


def _litellm(model: str, url: str) -> Reader:
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # else it asks the network for prices
    import litellm

    return lambda: count(
        litellm.completion(model=model, messages=SAY, api_base=url, api_key="none", stream=True, num_retries=0)
    )


def litellm_openai(wire: str, url: str, kind: str) -> Reader:
    return _litellm(f"openai/{CHAT_MODEL}", url)


def litellm_anthropic(wire: str, url: str, kind: str) -> Reader:
    return _litellm(f"anthropic/{MESSAGES_MODEL}", url)


def _pydantic_ai(model: Any) -> Reader:
    from pydantic_ai.direct import model_request_stream
    from pydantic_ai.messages import ModelRequest

    runner = asyncio.Runner()

    async def answer() -> int:
        items = 0
        async with model_request_stream(model, [ModelRequest.user_text_prompt("x")]) as stream:
            async for _ in stream:
                items += 1
        return items

    return lambda: runner.run(answer())


def pydantic_ai_chat(wire: str, url: str, kind: str) -> Reader:
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    return _pydantic_ai(OpenAIChatModel(CHAT_MODEL, provider=OpenAIProvider(base_url=url, api_key="none")))


def pydantic_ai_responses(wire: str, url: str, kind: str) -> Reader:
    from pydantic_ai.models.openai import OpenAIResponsesModel
    from pydantic_ai.providers.openai import OpenAIProvider

    return _pydantic_ai(OpenAIResponsesModel(CHAT_MODEL, provider=OpenAIProvider(base_url=url, api_key="none")))


def pydantic_ai_anthropic(wire: str, url: str, kind: str) -> Reader:
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.providers.anthropic import AnthropicProvider

    return _pydantic_ai(AnthropicModel(MESSAGES_MODEL, provider=AnthropicProvider(base_url=url, api_key="none")))


def _langchain(url: str, **more: Any) -> Reader:
    from langchain_openai import ChatOpenAI

    model = ChatOpenAI(model=CHAT_MODEL, base_url=url, api_key="none", max_retries=0, **more)
    return lambda: count(model.stream("x"))


def langchain_chat(wire: str, url: str, kind: str) -> Reader:
    return _langchain(url)


def langchain_responses(wire: str, url: str, kind: str) -> Reader:
    return _langchain(url, use_responses_api=True)
