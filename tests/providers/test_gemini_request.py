"""Gemini, encoding: the body that goes out, and the recorded clients' own follow-ups as the oracle."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from corpus import body, needs_corpus, rows, story
from encoding_alone import encode_alone
from feeding import read, whole
from toolwire.errors import ConfigError
from toolwire.messages import ToolResultPart, tool_results
from toolwire.providers.gemini_parts import camel_case
from toolwire.providers.gemini_request import UNSIGNED, encode_gemini_request, is_strict

CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
WEATHER = {"name": "get_weather", "description": "Weather for a city.", "parameters": CITY}
SIGNED = {"wire": "gemini", "thoughtSignature": "c2ln"}


def encode(messages: list[dict[str, Any]], model: str = "gemini-2.5-flash", **options: Any) -> dict[str, Any]:
    return encode_alone("gemini", messages, model=model, **options)


def contents(*messages: dict[str, Any], **options: Any) -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = encode(list(messages), **options)["contents"]
    return made


def said(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": list(parts)}


def call(id: str = "c1", name: str = "get_weather", **more: Any) -> dict[str, Any]:
    return {"type": "tool_call", "id": id, "name": name, "arguments": {"city": "Paris"}, **more}


def result(id: str = "c1", content: Any = "18 °C", name: str = "get_weather", **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "id": id, "name": name, "content": content, **more}


def results(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"role": "tool", "content": list(parts)}


CALL = {"functionCall": {"name": "get_weather", "args": {"city": "Paris"}}}
ANSWER = {"functionResponse": {"name": "get_weather", "response": {"output": "18 °C"}}}


def test_a_whole_request() -> None:
    assert encode(
        [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Weather in Paris?"},
            said(
                {"type": "thinking", "text": "hm"},
                {"type": "text", "text": "Let me look."},
                call(provider_data={**SIGNED, "id": "g1"}),
                call("c2"),
            ),
            results(result(), result("c2", "no data", is_error=True)),
        ],
        tools=[WEATHER],
        tool_choice="required",
        max_tokens=100,
        temperature=0.5,
        include_thoughts=True,
        stream=True,
    ) == {
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "contents": [
            {"role": "user", "parts": [{"text": "Weather in Paris?"}]},
            {
                "role": "model",
                "parts": [
                    {"text": "Let me look."},
                    {
                        "functionCall": {"name": "get_weather", "args": {"city": "Paris"}, "id": "g1"},
                        "thoughtSignature": "c2ln",
                    },
                    CALL,
                ],
            },
            {
                "role": "user",
                "parts": [
                    {"functionResponse": {"name": "get_weather", "response": {"output": "18 °C"}, "id": "g1"}},
                    {"functionResponse": {"name": "get_weather", "response": {"error": "no data"}}},
                ],
            },
        ],
        "tools": [
            {
                "functionDeclarations": [
                    {
                        "name": "get_weather",
                        "description": "Weather for a city.",
                        "parameters": {
                            "type": "OBJECT",
                            "properties": {"city": {"type": "STRING"}},
                            "required": ["city"],
                        },
                    }
                ]
            }
        ],
        "toolConfig": {"functionCallingConfig": {"mode": "ANY"}},
        "generationConfig": {
            "maxOutputTokens": 100,
            "temperature": 0.5,
            "thinkingConfig": {"includeThoughts": True},
        },
    }


def test_the_least_request() -> None:
    assert encode([{"role": "user", "content": "Hi"}]) == {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]}


@pytest.mark.parametrize(
    ("choice", "encoded"),
    [
        ("auto", None),
        ("none", {"mode": "NONE"}),
        ("required", {"mode": "ANY"}),
        ("get_weather", {"mode": "ANY", "allowedFunctionNames": ["get_weather"]}),
    ],
)
def test_tool_choice(choice: str, encoded: Any) -> None:
    config = encode([], tools=[WEATHER], tool_choice=choice).get("toolConfig")
    assert (config and config["functionCallingConfig"]) == encoded


def test_tool_choice_that_names_no_tool() -> None:
    with pytest.raises(ConfigError, match="'get_time'"):
        encode([], tools=[WEATHER], tool_choice="get_time")
    with pytest.raises(ConfigError, match="required"):
        encode([], tool_choice="required")
    assert "toolConfig" not in encode([], tool_choice="none")


@pytest.mark.parametrize(
    ("tool", "declared"),
    [
        ({"name": "now"}, {"name": "now", "description": ""}),
        (
            {"name": "now", "description": "D", "parameters": {"type": "object", "additionalProperties": False}},
            {"name": "now", "description": "D"},
        ),
        (
            {
                "name": "any",
                "description": "D",
                "parameters": {"type": "object", "additionalProperties": {}, "minProperties": 1},
            },
            {"name": "any", "description": 'D\n\nArguments: {"minProperties":1}'},
        ),
        (
            {"name": "any", "parameters": {"type": "object", "additionalProperties": {"type": "string"}}},
            {"name": "any", "description": 'Arguments: Other names hold: {"type":"string"}.'},
        ),
    ],
)
def test_declarations(tool: dict[str, Any], declared: dict[str, Any]) -> None:
    assert encode([], tools=[tool])["tools"] == [{"functionDeclarations": [declared]}]


def test_a_name_that_gemini_refuses_is_the_same_everywhere() -> None:
    tool = {**WEATHER, "name": "2nd-weather"}
    request = encode(
        [said(call(name="2nd-weather")), results(result(name="2nd-weather"))], tools=[tool], tool_choice="2nd-weather"
    )
    name = request["tools"][0]["functionDeclarations"][0]["name"]
    assert name.startswith("_2nd-weather_")
    assert request["toolConfig"]["functionCallingConfig"]["allowedFunctionNames"] == [name]
    assert request["contents"][0]["parts"][0]["functionCall"]["name"] == name
    assert request["contents"][1]["parts"][0]["functionResponse"]["name"] == name


def test_signatures_go_back_with_their_parts() -> None:
    (content,) = contents(
        said(
            {"type": "thinking", "text": "hm", "provider_data": SIGNED},
            {"type": "thinking", "text": "not signed"},
            {"type": "text", "text": "a"},
            {"type": "text", "text": "b", "provider_data": SIGNED},
            {"type": "text", "text": "", "provider_data": SIGNED},
            {"type": "text", "text": ""},
            call(provider_data=SIGNED),
            {"type": "media", "media_type": "image/png", "data": "AA==", "provider_data": SIGNED},
            {"type": "media", "media_type": "image/png", "data": "BB==", "provider_data": {**SIGNED, "thought": True}},
            {
                "type": "media",
                "media_type": "image/png",
                "data": "CC==",
                "provider_data": {"wire": "gemini", "thought": True},
            },
        )
    )
    signature = {"thoughtSignature": "c2ln"}
    assert content["parts"] == [
        {"text": "hm", "thought": True, **signature},
        {"text": "a"},
        {"text": "b", **signature},
        {"text": "", **signature},
        {**CALL, **signature},
        {"inlineData": {"mimeType": "image/png", "data": "AA=="}, **signature},
        {"inlineData": {"mimeType": "image/png", "data": "BB=="}, "thought": True, **signature},
    ]


def test_what_another_provider_gave_does_not_go_to_gemini() -> None:
    other = {"wire": "anthropic", "signature": "x", "id": "y", "thoughtSignature": "z", "part": {"text": "no"}}
    (content,) = contents(
        said(
            {"type": "thinking", "text": "hm", "provider_data": other},
            {"type": "text", "text": "a", "provider_data": other},
            {"type": "opaque", "provider_data": other},
            call(provider_data=other),
        )
    )
    assert content["parts"] == [{"text": "a"}, CALL]


def test_parts_of_googles_tools_go_back_whole() -> None:
    part = {"executableCode": {"code": "1", "language": "PYTHON"}, "thoughtSignature": "c2ln"}
    (content,) = contents(said({"type": "opaque", "provider_data": {"wire": "gemini", "part": part}}))
    assert content["parts"] == [part]


@pytest.mark.parametrize("model", ["gemini-3-flash-preview", "gemini-3.5-flash", "models/gemini-3-pro", "gemini-10"])
def test_gemini_3_wants_the_first_call_of_a_turn_signed(model: str) -> None:
    made = contents(
        said(call(), call("c2")),
        results(result(), result("c2")),
        said(call("c3", provider_data=SIGNED), call("c4")),
        results(result("c3"), result("c4")),
        model=model,
    )
    assert [part.get("thoughtSignature") for part in made[0]["parts"]] == [UNSIGNED, None]
    assert [part.get("thoughtSignature") for part in made[2]["parts"]] == ["c2ln", None]


@pytest.mark.parametrize("model", ["gemini-2.5-flash", "gemini-flash-latest", "gemini-", "", "gemma-3", "gemini-²"])
def test_others_do_not(model: str) -> None:
    assert not is_strict(model)
    assert contents(said(call()), model=model)[0]["parts"] == [CALL]


def test_media_of_users() -> None:
    (content,) = contents(
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "see"},
                {"type": "media", "media_type": "image/png", "data": "AA=="},
                {"type": "media", "media_type": "image", "url": "data:image/gif;base64,BB=="},
                {"type": "media", "media_type": "video/mp4", "url": "gs://a/b"},
                {"type": "text", "text": ""},
            ],
        }
    )
    assert content["parts"] == [
        {"text": "see"},
        {"inlineData": {"mimeType": "image/png", "data": "AA=="}},
        {"inlineData": {"mimeType": "image/gif", "data": "BB=="}},
        {"fileData": {"mimeType": "video/mp4", "fileUri": "gs://a/b"}},
    ]


def test_media_of_models_go_back_as_they_came() -> None:
    file = {"mimeType": "image/png", "fileUri": "gs://a"}
    (content,) = contents(
        said(
            {
                "type": "media",
                "media_type": "image",
                "url": "gs://a",
                "provider_data": {"wire": "gemini", "fileData": file},
            }
        )
    )
    assert content["parts"] == [{"fileData": file}]


@pytest.mark.parametrize("media", [{"media_type": "image/png"}, {"media_type": "image/png", "url": "data:image/png,x"}])
def test_media_that_hold_nothing(media: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="image/png"):
        contents({"role": "user", "content": [{"type": "media", **media}]})


PICTURE = [{"type": "text", "text": "ok"}, {"type": "media", "media_type": "image/png", "data": "AA=="}]
INLINE = {"inlineData": {"mimeType": "image/png", "data": "AA=="}}


def test_media_in_results() -> None:
    answer = {"functionResponse": {"name": "get_weather", "response": {"output": "ok"}}}
    turn = (said(call(), call("c2")), results(result(content=PICTURE), result("c2")))
    (strict,) = contents(*turn, model="gemini-3-pro")[1:]
    assert strict["parts"] == [{"functionResponse": {**answer["functionResponse"], "parts": [INLINE]}}, ANSWER]
    old, beside = contents(*turn)[1:]
    assert old == {"role": "user", "parts": [answer, ANSWER]}
    assert beside == {"role": "user", "parts": [{"text": "Result of get_weather:"}, INLINE]}


def test_one_content_for_each_side_and_for_the_results() -> None:
    made = contents(
        {"role": "user", "content": "a"},
        {"role": "system", "content": "s"},
        {"role": "user", "content": "b"},
        {"role": "user", "content": ""},
        said({"type": "text", "text": "c"}),
        said(call()),
        results(result()),
        results(result("c2")),
        {"role": "user", "content": "d"},
        said(),
        {"role": "user", "content": "e"},
    )
    assert [(one["role"], len(one["parts"])) for one in made] == [("user", 2), ("model", 2), ("user", 2), ("user", 2)]


def test_an_id_is_that_of_the_last_call_under_it() -> None:
    made = contents(
        said(call(provider_data={"wire": "gemini", "id": "g1"})),
        results(result()),
        said(call()),
        results(result()),
        said(call(provider_data={"wire": "gemini", "id": "g2"})),
        results(result()),
    )
    assert [one["parts"][0]["functionResponse"].get("id") for one in made[1::2]] == ["g1", None, "g2"]


@pytest.mark.parametrize(
    ("role", "part"), [("user", call()), ("assistant", result()), ("tool", {"type": "text", "text": "x"})]
)
def test_a_part_in_the_wrong_message(role: str, part: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=role):
        contents({"role": role, "content": [part]})


# What the recording clients sent next

OTHER_ANSWER = "lingua/"
"""Its follow-ups echo another answer to the same question, recorded without streaming."""
WITHOUT_IDS = "newrelic/gemini-generatecontent/mlmodel_langchain"
"""This client leaves the service's ids out."""
SCRUBBED = "mirascope-py/gemini-generatecontent/test_structured_output_with_tools-google_gemini_2_5_flash-stream__00"
"""The signature was taken out of the recorded request."""


def normal(parts: list[dict[str, Any]], *, ids: bool) -> list[dict[str, Any]]:
    """Parts without what makes no difference: spelling, defaults, the alphabet of base64, empty text, result words."""
    made = []
    for part in camel_case(parts):
        if part.get("thought") is False:
            del part["thought"]
        if part == {"text": ""}:
            continue
        if "thoughtSignature" in part:
            part["thoughtSignature"] = part["thoughtSignature"].replace("-", "+").replace("_", "/")
        for inner in (part.get("functionCall"), part.get("functionResponse")):
            if inner is not None:
                inner.pop("response", None)
                inner.pop("parts", None)
                if not ids:
                    inner.pop("id", None)
        made.append(part)
    return made


@needs_corpus
def test_follow_ups_are_those_of_the_recording_clients() -> None:
    compared = 0
    for row in rows("generatecontent", core=False):
        recorded = story(row)
        chain = (recorded.get("chain") or {}).get("followup") or {}
        if "case" not in chain or row["case"].startswith(OTHER_ANSWER) or row["case"] == SCRUBBED:
            continue
        sent = story({"case": chain["case"]})["request"]["contents"][len(recorded["request"]["contents"]) :]
        message = read(whole(body(row)), wire="gemini")[0].message
        answered = tool_results(ToolResultPart(part.id, part.name, "x") for part in message.tool_calls)
        made = encode_gemini_request(model=row["model"], messages=[message, answered])["contents"]
        ids = not row["case"].startswith(WITHOUT_IDS)
        assert [one["role"] for one in made] == [one["role"] for one in sent[:2]]
        for ours, theirs in zip(msgspec.json.decode(msgspec.json.encode(made)), sent, strict=False):
            assert normal(ours["parts"], ids=ids) == normal(theirs["parts"], ids=ids), row["case"]
        compared += 1
    assert compared >= 28
