"""What each compatible service wants back and refuses: whole conversations, as each of them gets them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from encoding_alone import encode_alone
from feeding import bytewise, call, delta, merged, read, sse, whole
from toolwire.providers import dialects
from toolwire.providers.catalog import PROVIDERS
from toolwire.providers.dialects import (
    ALIBABA,
    CEREBRAS,
    COMPATIBLE,
    COPILOT,
    DATABRICKS,
    DEEPSEEK,
    FIREWORKS,
    GROQ,
    HUGGINGFACE,
    LLAMACPP,
    LMSTUDIO,
    MINIMAX,
    MISTRAL,
    MOONSHOT,
    OPENAI,
    OPENROUTER,
    PERPLEXITY,
    VLLM,
    XAI,
    ZAI,
    ChatDialect,
)

Json = dict[str, Any]

ALL: dict[str, ChatDialect] = {name: value for name, value in vars(dialects).items() if isinstance(value, ChatDialect)}
WEATHER = {"name": "f", "description": "", "parameters": {"type": "object", "properties": {"x": {"enum": ["a"]}}}}


def user(text: str) -> Json:
    return {"role": "user", "content": text}


def answer(thinking: str = "", text: str = "", *calls: str) -> Json:
    parts: list[Json] = [{"type": "thinking", "text": thinking}] if thinking else []
    parts += [{"type": "text", "text": text}] if text else []
    return {"role": "assistant", "content": parts + [{"type": "tool_call", "id": one, "name": "f"} for one in calls]}


def results(*calls: str) -> Json:
    return {
        "role": "tool",
        "content": [{"type": "tool_result", "id": one, "name": "f", "content": "ok"} for one in calls],
    }


def sent(dialect: ChatDialect, *messages: Any, **options: Any) -> list[Json]:
    body: list[Json] = encode_alone("openai-chat", messages, dialect=dialect, **options)["messages"]
    return body


# A turn without tools, one with them, and one that is under way.
TALK = (
    user("Hi"),
    answer("t1", "Hello"),
    user("Look it up"),
    answer("t2", "", "c1"),
    results("c1"),
    answer("t3", "Found"),
    user("Again"),
    answer("t4", "", "c2"),
    results("c2"),
)

REASONING: dict[str, tuple[ChatDialect, str, list[str | None]]] = {
    "DeepSeek: of turns with calls": (DEEPSEEK, "reasoning_content", [None, "t2", "t3", "t4"]),
    "Moonshot: all": (MOONSHOT, "reasoning_content", ["t1", "t2", "t3", "t4"]),
    "Z.ai: all": (ZAI, "reasoning_content", ["t1", "t2", "t3", "t4"]),
    "Fireworks: all": (FIREWORKS, "reasoning_content", ["t1", "t2", "t3", "t4"]),
    "llama.cpp: all": (LLAMACPP, "reasoning_content", ["t1", "t2", "t3", "t4"]),
    "vLLM: all, under its newer name": (VLLM, "reasoning", ["t1", "t2", "t3", "t4"]),
    "Copilot: all, under its own name": (COPILOT, "reasoning_text", ["t1", "t2", "t3", "t4"]),
    "Alibaba: of the turn under way": (ALIBABA, "reasoning_content", [None, None, None, "t4"]),
    "Groq: of the turn under way": (GROQ, "reasoning", [None, None, None, "t4"]),
    "Cerebras: of the turn under way": (CEREBRAS, "reasoning", [None, None, None, "t4"]),
}


@pytest.mark.parametrize("name", REASONING)
def test_reasoning_goes_back_where_the_service_reads_it(name: str) -> None:
    dialect, field, expected = REASONING[name]
    answers = [message for message in sent(dialect, *TALK) if message["role"] == "assistant"]
    assert [message.get(field) for message in answers] == expected
    others = {"reasoning", "reasoning_content", "reasoning_text", "reasoning_details"} - {field}
    assert not any(others & message.keys() for message in answers)


@pytest.mark.parametrize("dialect", [COMPATIBLE, OPENAI, XAI, HUGGINGFACE, DATABRICKS, LMSTUDIO, PERPLEXITY])
def test_reasoning_stays_here_where_no_member_is_known(dialect: ChatDialect) -> None:
    for message in sent(dialect, *TALK):
        assert message.keys() <= {"role", "content", "tool_calls", "tool_call_id"}


def test_mistral_gets_thoughts_as_parts_of_the_content() -> None:
    def thought(text: str) -> Json:
        return {"type": "thinking", "thinking": [{"type": "text", "text": text}]}

    answers = [message for message in sent(MISTRAL, *TALK) if message["role"] == "assistant"]
    assert [message["content"] for message in answers] == [
        [thought("t1"), {"type": "text", "text": "Hello"}],
        [thought("t2")],
        [thought("t3"), {"type": "text", "text": "Found"}],
        [thought("t4")],
    ]


@pytest.mark.parametrize(("dialect", "instead"), [(DEEPSEEK, ""), (MOONSHOT, " ")])
def test_calls_without_reasoning_say_so_where_the_member_must_be_there(dialect: ChatDialect, instead: str) -> None:
    told = sent(dialect, user("Hi"), answer("", "", "c1"), results("c1"), answer("", "Done"), user("Thanks"))
    assert told[1]["reasoning_content"] == instead
    assert told[3].get("reasoning_content") == ("" if dialect is DEEPSEEK else None)


def test_deepseek_wants_the_member_in_every_answer_of_a_turn_with_calls() -> None:
    """With `tools`, its thinking models refuse words without it that stand before calls in the same turn."""
    turn = (answer("", "I look."), answer("", "", "c1"), results("c1"), answer("", "Done"))
    told = sent(
        DEEPSEEK, user("Hi"), answer("", "Hello"), user("Look"), *turn, answer(), user("Thanks"), answer("", "!")
    )
    answers = [message for message in told if message["role"] == "assistant"]
    assert [message.get("reasoning_content") for message in answers] == [None, "", "", "", None]


def test_who_reads_the_reasoning_of_others() -> None:
    readers = {name for name, dialect in ALL.items() if dialect.reads_foreign_reasoning}
    assert readers == {"COPILOT", "DEEPSEEK", "MOONSHOT", "ZAI", "FIREWORKS", "MISTRAL", "VLLM", "LLAMACPP"}


@pytest.mark.parametrize("dialect", [OPENROUTER, MINIMAX])
def test_reasoning_details_go_back_block_by_block(dialect: ChatDialect) -> None:
    details = [
        {"type": "reasoning.text", "text": "hm", "index": 0, "format": "x"},
        {"type": "reasoning.encrypted", "data": "s"},
    ]
    stream, _ = read(
        whole(sse(delta(reasoning_details=details), delta(content="Hi"), delta(finish="stop"))),
    )
    assert sent(dialect, user("Hi"), stream.message)[1]["reasoning_details"] == details
    assert "reasoning_details" not in sent(dialect, *TALK)[1]


def test_what_copilot_seals_goes_back_to_it_alone() -> None:
    body = sse(
        delta(reasoning_text="h", content=None),
        delta(reasoning_text="m"),
        delta(reasoning_opaque="sealed"),
        delta(tool_calls=[call("{}", id="c1", name="f")]),
        delta(finish="tool_calls"),
    )
    stream, events = read(whole(body))
    assert list(merged(read(bytewise(body))[1])) == list(merged(events))
    assert stream.summary()["reasoning"] == "hm"
    told = sent(COPILOT, user("Hi"), stream.message)[1]
    assert (told["reasoning_text"], told["reasoning_opaque"]) == ("hm", "sealed")
    for name, dialect in ALL.items():
        if dialect is not COPILOT:
            assert "sealed" not in str(sent(dialect, user("Hi"), stream.message)), name


BODIES: dict[str, tuple[ChatDialect, Json]] = {
    "OpenAI": (
        OPENAI,
        {"max_completion_tokens": 9, "tool_choice": "required", "stream_options": {"include_usage": True}},
    ),
    "any other": (COMPATIBLE, {"max_tokens": 9, "tool_choice": "required", "stream_options": {"include_usage": True}}),
    "Mistral": (MISTRAL, {"max_tokens": 9, "tool_choice": "any"}),
    "Databricks": (DATABRICKS, {"max_tokens": 9, "tool_choice": "required"}),
    "Perplexity": (PERPLEXITY, {"max_tokens": 9, "tool_choice": "required"}),
}


@pytest.mark.parametrize("name", BODIES)
def test_members_of_the_request(name: str) -> None:
    dialect, expected = BODIES[name]
    body = encode_alone(
        "openai-chat", [user("Hi")], [WEATHER], tool_choice="required", max_tokens=9, dialect=dialect, model="m"
    )
    assert body.keys() == {"model", "messages", "tools", "stream", *expected}
    assert {key: body[key] for key in expected} == expected


def test_moonshot_gets_parameters_of_its_own_kind() -> None:
    for dialect, parameters in (
        (MOONSHOT, {"type": "object", "properties": {"x": {"type": "string", "enum": ["a"]}}}),
        (OPENAI, WEATHER["parameters"]),
    ):
        body = encode_alone("openai-chat", [user("Hi")], [WEATHER], dialect=dialect)
        assert body["tools"][0]["function"]["parameters"] == parameters


def test_mistral_never_hears_the_user_right_after_results() -> None:
    told = sent(MISTRAL, user("Hi"), answer("", "", "c1"), results("c1"), user("Never mind"))
    assert [message["role"] for message in told] == ["user", "assistant", "tool", "assistant", "user"]
    assert told[3]["content"]
    assert [message["role"] for message in sent(OPENAI, results("c1"), user("Never mind"))] == ["tool", "user"]


def test_mistral_gets_the_pictures_of_a_tool_after_a_word_between() -> None:
    picture = {"type": "media", "media_type": "image/png", "data": "AAAA"}
    shown = {"role": "tool", "content": [{"type": "tool_result", "id": "c1", "name": "f", "content": [picture]}]}
    told = sent(MISTRAL, user("Hi"), answer("", "", "c1"), shown)
    assert [message["role"] for message in told] == ["user", "assistant", "tool", "assistant", "user"]


def test_perplexity_hears_users_one_at_a_time() -> None:
    picture = {"type": "media", "media_type": "image/png", "data": "AAAA"}
    seen = {"role": "user", "content": [{"type": "text", "text": "c"}, picture]}
    assert sent(PERPLEXITY, user("a"), user("b")) == [{"role": "user", "content": "a\n\nb"}]
    (joined,) = sent(PERPLEXITY, user("a"), user("b"), seen)
    assert [part.get("text") for part in joined["content"]] == ["a\n\nb", "c", None]
    assert len(sent(OPENAI, user("a"), user("b"))) == 2


def test_no_words_beside_calls() -> None:
    for name, dialect in ALL.items():
        content = sent(dialect, answer("", "", "c1"))[0]["content"]
        assert content == ("" if dialect in (LMSTUDIO, DEEPSEEK) else None), name


STRICT = [MISTRAL, GROQ, CEREBRAS, HUGGINGFACE, DATABRICKS]


@pytest.mark.parametrize("dialect", STRICT)
def test_strict_services_get_no_member_that_they_do_not_know(dialect: ChatDialect) -> None:
    stream, _ = read(
        whole(
            sse(
                delta(tool_calls=[call("{}", id="c1", name="f", extra_content={"google": {"thought_signature": "s"}})]),
                delta(refusal="No."),
                delta(finish="tool_calls"),
            )
        )
    )
    (told,) = sent(dialect, stream.message)
    assert told.keys() == {"role", "content", "tool_calls"}
    assert told["content"] == "No."
    assert told["tool_calls"] == [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]
    (told,) = sent(COMPATIBLE, stream.message)
    assert told["refusal"] == "No."
    assert "extra_content" in told["tool_calls"][0]


def test_only_these_are_strict() -> None:
    assert [dialect for dialect in ALL.values() if dialect.known_members_only] == [
        dialect for dialect in ALL.values() if dialect in STRICT
    ]


@pytest.mark.parametrize("field", ChatDialect.__struct_fields__)
def test_every_field_is_set_by_some_service(field: str) -> None:
    usual = getattr(ChatDialect(), field)
    assert any(getattr(dialect, field) != usual for dialect in ALL.values())


def test_the_document_names_every_service() -> None:
    document = (Path(__file__).parents[2] / "docs" / "encoding.md").read_text(encoding="utf-8")
    _, _, section = document.partition("\n## Compatible services\n")
    told = section.partition("\n## ")[0]
    for provider in PROVIDERS.values():
        if provider.wire == "openai-chat" and provider.name not in ("openai-compatible", "local"):
            assert f"`{provider.name}`" in told
