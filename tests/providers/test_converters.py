"""Objects of SDKs into chunks, without any SDK: classes that only look like theirs."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, create_model

from feeding import check_shape
from toolwire import ChunkResponse, Limits, SdkDecoder, SdkStream, StopReason
from toolwire.errors import ConfigError, LimitExceeded, ProtocolError, ProviderError
from toolwire.providers.converters import sdk_wire
from toolwire.providers.sdk_errors import sdk_error
from toolwire.providers.wires import WIRES


class Model(BaseModel):
    """As the SDKs' models are: whatever comes is kept, nothing is checked."""

    model_config = ConfigDict(extra="allow")


def made(module: str, name: str = "Thing", /, **members: Any) -> Any:
    """An object of a class of this module."""
    return type(name, (Model,), {"__module__": module})(**members)


def chunk(**delta: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta}]}


FINISH = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}


def text_of(chunks: list[ChunkResponse]) -> str:
    return "".join(one.content for one in chunks)


@pytest.mark.parametrize(
    ("module", "wire"),
    [
        ("openai.types.chat.chat_completion_chunk", "openai-chat"),
        ("openai.lib.streaming.chat._events", "openai-chat"),
        ("openai.types.responses.response_text_delta_event", "openai-responses"),
        ("openai.lib.streaming.responses._events", "openai-responses"),
        ("anthropic.types.raw_content_block_delta_event", "anthropic"),
        ("anthropic.types.beta.beta_raw_message_start_event", "anthropic"),
        ("anthropic.lib.streaming._types", "anthropic"),
        ("google.genai.types", "gemini"),
        ("ollama._types", "ollama"),
        ("mistralai.client.models.completionevent", "openai-chat"),
        ("mistralai.models.completionevent", "openai-chat"),
        ("cohere.types.chat_tool_call_delta_event", "cohere"),
    ],
)
def test_the_wire_is_told_by_the_module(module: str, wire: str) -> None:
    assert sdk_wire(made(module)) == wire


@pytest.mark.parametrize("name", ["messageStart", "contentBlockDelta", "messageStop", "metadata", "chunk"])
def test_the_events_of_boto3_are_known_by_their_name(name: str) -> None:
    assert sdk_wire({name: {}}) == "bedrock"


@pytest.mark.parametrize(
    "sent",
    [
        *(made(module) for module in ("openai.types.beta.threads.run", "openaix.types.chat", "mine", "ollama_tools")),
        {"choices": []},
        {"metadata": {}, "messageStop": {}},
        {},
        ("choices", []),
        "data: {}",
        b"{}",
        None,
    ],
)
def test_what_is_of_no_known_sdk_is_an_error_that_lists_them(sent: Any) -> None:
    for refused in (sdk_wire, SdkDecoder().feed):
        with pytest.raises(ConfigError) as caught:
            refused(sent)
        assert "google-genai" in caught.value.hint
        assert type(sent).__qualname__ in caught.value.message


def test_with_a_wire_any_model_and_any_dict_will_do() -> None:
    decoder = SdkDecoder("openai-chat")
    chunks = [*decoder.feed(chunk(content="a")), *decoder.feed(made("groq.types.chat", **chunk(content="b")))]
    chunks += decoder.feed(FINISH)
    assert text_of(chunks) == "ab"
    assert [one.stop_reason for one in decoder.close()] == [StopReason.STOP]


@pytest.mark.parametrize("sent", ["data: {}", b"{}", None, ("choices", []), object()])
def test_with_a_wire_other_things_are_refused_all_the_same(sent: Any) -> None:
    with pytest.raises(ConfigError, match="cannot tell"):
        SdkDecoder("openai-chat").feed(sent)


def test_two_kinds_of_objects_in_one_answer_are_refused() -> None:
    decoder = SdkDecoder()
    decoder.feed(made("openai.types.chat", **chunk(content="a")))
    with pytest.raises(ConfigError, match="anthropic came in a stream of openai-chat"):
        decoder.feed(made("anthropic.types", type="ping"))


def test_an_unknown_wire_is_refused_at_once() -> None:
    with pytest.raises(ConfigError, match="no wire format"):
        SdkDecoder("openai")


def test_an_answer_that_stops_without_an_end_is_not_complete() -> None:
    decoder = SdkDecoder()
    assert decoder.close() == []
    decoder.feed(made("openai.types.chat", **chunk(content="a")))
    assert decoder.close() == []


def test_only_what_was_sent_counts() -> None:
    """A default that an SDK fills in, such as Mistral's `index: 0`, would make one call of two."""
    function = create_model("Function", name=(str, ...), arguments=(str, ""))
    call_of = create_model("ToolCall", function=(function, ...), id=(str, "null"), index=(int, 0))
    calls = [call_of(function={"name": name, "arguments": "{}"}) for name in "ab"]
    sent = made("mistralai.models", data=made("mistralai.models", **chunk(tool_calls=calls)))
    (only,) = SdkDecoder().feed(sent)
    assert [call.name for call in only.tool_calls] == ["a", "b"]


def test_members_go_by_the_names_they_were_sent_with() -> None:
    signature = bytes(range(240, 256))

    class Part(BaseModel):
        model_config = ConfigDict(populate_by_name=True, ser_json_bytes="base64")
        text: str | None = None
        thought_signature: bytes | None = Field(None, alias="thoughtSignature")

    sent = made(
        "google.genai.types",
        candidates=[{"content": {"parts": [Part(text="a", thoughtSignature=signature)]}, "finishReason": "STOP"}],
        create_time=datetime(2026, 1, 1, tzinfo=UTC),
    )
    decoder = SdkDecoder()
    chunks = [*decoder.feed(sent), *decoder.close()]
    (end,) = [one.part_end for one in chunks if one.part_end is not None and one.part_end.provider_data]
    # The alphabet of the API, not the one for URLs that pydantic writes.
    assert end.provider_data == {"wire": "gemini", "thoughtSignature": base64.b64encode(signature).decode()}
    assert "/" in base64.b64encode(signature).decode()
    assert chunks[-1].is_complete


def test_helpers_of_openai_do_not_count_twice() -> None:
    module = "openai.lib.streaming.chat._events"
    decoder = SdkDecoder()
    chunks = decoder.feed(
        made(module, type="chunk", chunk=made("openai.types.chat", **chunk(content="a")), snapshot={"x": 1})
    )
    chunks += decoder.feed(made(module, type="content.delta", delta="a", snapshot="a"))
    chunks += decoder.feed(made(module, type="content.done", content="a"))
    assert text_of(chunks) == "a"


def test_helpers_of_anthropic_do_not_count_twice() -> None:
    helper, raw = "anthropic.lib.streaming._types", "anthropic.types"
    block = {"type": "tool_use", "id": "t1", "name": "f", "input": {}}
    decoder = SdkDecoder()
    chunks = [
        found
        for sent in (
            made(raw, type="message_start", message={"content": []}),
            made(raw, type="content_block_start", index=0, content_block=block),
            made(raw, type="content_block_delta", index=0, delta={"type": "input_json_delta", "partial_json": "{}"}),
            made(helper, type="input_json", partial_json="{}", snapshot={}),
            made(helper, type="content_block_stop", index=0, content_block=block),
            made(helper, type="text", text="never", snapshot="never"),
            made(helper, type="something_new", text="never"),
            made(raw, type="message_delta", delta={"stop_reason": "tool_use"}),
            made(helper, type="message_stop", message={"content": [block]}),
        )
        for found in decoder.feed(sent)
    ]
    calls = [call for one in chunks for call in one.tool_calls]
    assert "".join(call.arguments_delta for call in calls) == "{}"
    assert [call.done for call in calls][-1] is True
    assert text_of(chunks) == ""
    assert chunks[-1].stop_reason is StopReason.TOOL_CALLS
    assert decoder.quirks == {}


@pytest.mark.parametrize("member", ["snapshot", "parsed", "sdk_http_response", "automatic_function_calling_history"])
def test_what_an_sdk_adds_is_never_written(member: str) -> None:
    """It grows with the answer, so that to write it with every event would cost quadratic time."""
    event = {"type": "response.output_text.delta", "item_id": "m", "output_index": 0, "content_index": 0, "delta": "a"}
    sent = made("openai.lib.streaming.responses._events", **event, **{member: object()})
    assert text_of(SdkDecoder().feed(sent)) == "a"


def test_what_was_parsed_does_not_go_back() -> None:
    item = {"type": "function_call", "id": "i", "call_id": "c", "name": "f", "arguments": "{}"}
    parsed = {**item, "parsed_arguments": object()}
    decoder = SdkDecoder()
    chunks = decoder.feed(
        made(
            "openai.lib.streaming.responses._events",
            type="response.completed",
            response={"status": "completed", "output": [parsed]},
        )
    )
    assert chunks[-1].is_complete
    assert "parsed" not in repr(chunks)


def test_a_picture_of_ollama_is_never_taken_for_a_file(tmp_path: Path) -> None:
    """Its SDK reads the file of that name when it writes the object."""
    import ollama

    secret = tmp_path / "key"
    secret.write_bytes(b"a secret of this machine")
    message = ollama.Message(role="assistant", images=[ollama.Image(value=str(secret))])
    sent = ollama.ChatResponse(message=message, done=True)
    (first, *_) = SdkDecoder().feed(sent)
    assert base64.b64encode(b"a secret of this machine").decode() not in repr(first)
    assert first.image_urls == [f"data:image/png;base64,{secret}"]
    # It would look for this one, and raise.
    message = ollama.Message(role="assistant", images=[ollama.Image(value="no-such-file.png")])
    assert SdkDecoder().feed(ollama.ChatResponse(message=message, done=True))[0].image_urls


def test_what_is_no_chat_of_ollama_is_not_taken_for_an_empty_one() -> None:
    import ollama

    with pytest.raises(ProtocolError, match="no attribute 'message'"):
        SdkDecoder().feed(ollama.GenerateResponse(response="Hello", done=True))


DEEP: Any = json.loads("[" * 600 + "]" * 600)


@pytest.mark.parametrize(
    ("sent", "words"),
    [
        (made("openai.types.chat", choices=[{"delta": {"content": object()}}]), "is no JSON"),
        (made("openai.types.chat", choices=[{"delta": {"content": {1}}}]), "is no JSON"),
        (made("openai.types.chat", choices="none"), "not of this format"),
        (made("openai.types.chat", choices=[{"delta": {"reasoning": DEEP}}]), "nested too deeply"),
        (made("openai.types.chat", choices=[{"delta": {"content": "\ud800"}}]), "not of this format"),
        (made("openai.types.chat", choices=[{"index": float("nan")}]), "not of this format"),
        (made("anthropic.lib.streaming"), "cannot be written"),
    ],
    ids=["object", "set", "no-choices", "deep", "half-a-character", "nan", "no-type"],
)
def test_objects_that_make_no_sense_are_a_typed_error(sent: Any, words: str) -> None:
    with pytest.raises(ProtocolError, match=words) as caught:
        SdkDecoder().feed(sent)
    assert "position" not in caught.value.facts


def test_long_whole_numbers_and_any_character_go_through() -> None:
    arguments = {"n": 2**80, "s": "π 🌍"}
    message = {"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": arguments}}]}
    (whole, *_) = SdkDecoder().feed(made("ollama._types", message=message, done=True, done_reason="stop"))
    assert json.loads(whole.tool_calls[0].arguments_delta) == arguments
    assert "🌍" in whole.tool_calls[0].arguments_delta


def test_one_object_is_bounded() -> None:
    decoder = SdkDecoder("openai-chat", Limits(event=500))
    decoder.feed(chunk(content="a" * 50))
    with pytest.raises(LimitExceeded, match="event"):
        decoder.feed(chunk(content="a" * 500))


def test_all_objects_together_are_bounded() -> None:
    decoder = SdkDecoder("openai-chat", Limits(stream=500))
    decoder.feed(chunk(content="a" * 200))
    with pytest.raises(LimitExceeded, match="stream"):
        decoder.feed(chunk(content="a" * 300))


class Hostile(Model):
    def model_dump(self, **_: Any) -> Any:
        raise LookupError("whatever a serializer may raise")


def test_an_object_that_cannot_be_written_is_a_typed_error() -> None:
    with pytest.raises(ProtocolError, match="LookupError"):
        SdkDecoder("openai-chat").feed(Hostile())


WORDS = (
    "type",
    "delta",
    "index",
    "choices",
    "message",
    "content",
    "text",
    "tool_calls",
    "usage",
    "candidates",
    "parts",
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.sampled_from(WORDS),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(WORDS) | st.text(), inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.thorough
@pytest.mark.parametrize("wire", WIRES)
@given(sent=st.lists(st.dictionaries(st.sampled_from(WORDS), VALUES, max_size=4), max_size=4))
@settings(max_examples=40)
def test_whatever_comes_the_errors_are_ours(wire: str, sent: list[dict[str, Any]]) -> None:
    stream = SdkStream(wire=wire)
    check_shape(list(stream.events(sent)))
    assert stream.invocations == [] or stream.complete


def test_an_error_within_an_object_is_the_providers() -> None:
    decoder = SdkDecoder("openai-chat")
    with pytest.raises(ProviderError, match="overloaded") as caught:
        decoder.feed({**chunk(content="a"), "error": {"message": "overloaded"}})
    assert text_of(list(caught.value.before)) == "a"


def test_boto3_events_are_read_as_bedrock() -> None:
    decoder = SdkDecoder()
    chunks = [
        found
        for sent in (
            {"messageStart": {"role": "assistant"}},
            {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": "Let me see."}}},
            {"contentBlockStop": {"contentBlockIndex": 0}},
            {"contentBlockStart": {"contentBlockIndex": 1, "start": {"toolUse": {"toolUseId": "t1", "name": "f"}}}},
            {"contentBlockDelta": {"contentBlockIndex": 1, "delta": {"toolUse": {"input": '{"a":1}'}}}},
            {"contentBlockStop": {"contentBlockIndex": 1}},
            {"messageStop": {"stopReason": "tool_use"}},
            {"metadata": {"usage": {"inputTokens": 3, "outputTokens": 4, "totalTokens": 7}}},
        )
        for found in decoder.feed(sent)
    ]
    chunks += decoder.close()
    assert text_of(chunks) == "Let me see."
    assert "".join(call.arguments_delta for one in chunks for call in one.tool_calls) == '{"a":1}'
    assert [one.stop_reason for one in chunks if one.is_complete] == [StopReason.TOOL_CALLS]
    assert [one.usage.total_tokens for one in chunks if one.usage is not None] == [7]


def test_boto3_bytes_are_base64_again() -> None:
    hidden = {"reasoningContent": {"redactedContent": b"\xff\xfe\xfd"}}
    decoder = SdkDecoder()
    chunks = decoder.feed({"contentBlockDelta": {"contentBlockIndex": 0, "delta": hidden}})
    chunks += decoder.feed({"contentBlockStop": {"contentBlockIndex": 0}})
    assert base64.b64encode(b"\xff\xfe\xfd").decode() in repr(chunks)


@pytest.mark.parametrize("sent", [{}, {"messageStart": {}, "messageStop": {}}, {"messageStop": 1}])
def test_dicts_that_are_no_event_of_boto3(sent: dict[str, Any]) -> None:
    with pytest.raises(ProtocolError, match="cannot be written"):
        SdkDecoder("bedrock").feed(sent)


SDKS = ("openai", "anthropic", "google.genai", "ollama", "mistralai", "cohere", "boto3", "botocore", "pydantic")


def test_no_sdk_is_imported() -> None:
    script = (
        "import sys, toolwire\n"
        "stream = toolwire.SdkStream()\n"
        "stream.feed({'messageStart': {'role': 'assistant'}})\n"
        "stream.close()\n"
        f"print(*[name for name in {SDKS!r} if name in sys.modules])\n"
    )
    output = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert output.strip() == ""


def test_an_error_of_ours_stays_what_it_is() -> None:
    error = ProviderError("x")
    assert sdk_error(error) is error
    assert error.__cause__ is None
