"""Media: the table of what each wire takes says the same as its encoder, and a mention says what was there."""

from __future__ import annotations

from base64 import b64encode

import pytest

from encoding_alone import encode_alone
from toolwire.errors import ConfigError
from toolwire.messages import MediaPart, Message, Part, ToolCallPart, ToolResultPart, user
from toolwire.providers.media import MEDIA, mention
from toolwire.providers.wires import WIRES

DATA = b64encode(b"some data").decode()
TYPES = (
    "image/png",
    "image/jpeg",
    "image/tiff",
    "audio/wav",
    "audio/ogg",
    "video/mp4",
    "application/pdf",
    "application/zip",
    "text/plain",
    "text/x-python",
)
FORMS = {
    f"{kind} {form}": part
    for kind in TYPES
    for form, part in (
        ("as data", MediaPart(kind, data=DATA)),
        ("as data in an address", MediaPart(kind, url=f"data:{kind};base64,{DATA}")),
        ("by address", MediaPart(kind, url="https://a.example/b")),
        ("in S3", MediaPart(kind, url="s3://a/b")),
    )
}


def is_taken(wire: str, *messages: Message) -> bool:
    try:
        encode_alone(wire, messages, model="gemini-3")
    except ConfigError:
        return False
    return True


ADDRESSES_OF_OTHERS = {wire: "in S3" for wire in WIRES if wire != "bedrock"}
"""Most encoders write any address down; only the service knows whether it can read it."""


@pytest.mark.parametrize("wire", WIRES)
def test_the_table_is_what_the_encoders_do(wire: str) -> None:
    rule = MEDIA[wire]
    call = Message("assistant", [ToolCallPart("c", "f")])
    for name, part in FORMS.items():
        if wire in ADDRESSES_OF_OTHERS and name.endswith(ADDRESSES_OF_OTHERS[wire]):
            assert not rule.takes(part)
            continue
        assert rule.takes(part) == is_taken(wire, Message("user", [part])), name
        result: list[Part] = [ToolResultPart("c", "f", [part])]
        assert rule.takes(part, "result") == is_taken(wire, user("x"), call, Message("tool", result)), name
        if rule.takes(part, "answer"):
            assert is_taken(wire, user("x"), Message("assistant", [part]), user("y")), name


@pytest.mark.parametrize("wire", WIRES)
def test_what_is_no_media_at_all_is_taken_by_none(wire: str) -> None:
    for part in (MediaPart("image/png"), MediaPart("image/png", url="data:image/png,plain")):
        assert not any(MEDIA[wire].takes(part, place) for place in ("user", "result", "answer"))


@pytest.mark.parametrize(
    ("part", "words"),
    [
        (MediaPart("image/png", data="A" * 16000), "[image/png, 12 kB: cannot be shown here]"),
        (MediaPart("image/png", data="AAAA"), "[image/png, 3 bytes: cannot be shown here]"),
        (MediaPart("x", url="data:video/mp4;base64," + "A" * 4_000_000), "[x, 3.0 MB: cannot be shown here]"),
        (
            MediaPart("application/pdf", url="https://a/b", name="a.pdf"),
            "[a.pdf, application/pdf: cannot be shown here]",
        ),
        (MediaPart(""), "[media: cannot be shown here]"),
    ],
)
def test_mentions(part: MediaPart, words: str) -> None:
    assert mention(part) == words
