"""Event streams and what the WHATWG standard makes of them: bytes in, (event, data, id) out.

Where a body ends inside an event, the answer is the decoder's one deviation: the event counts (`cut=True`), while
the standard would drop it.
"""

from __future__ import annotations

from typing import NamedTuple


class Case(NamedTuple):
    name: str
    body: bytes
    events: list[tuple[str, str, str]]
    retry: int | None = None
    cut: bool = False
    stray: int = 0


def msg(data: str, event_id: str = "") -> tuple[str, str, str]:
    return ("message", data, event_id)


BOM = b"\xef\xbb\xbf"

CASES = [
    # The examples of the standard
    Case(
        "standard-three-messages",
        b"data: This is the first message.\n\n"
        b"data: This is the second message, it\ndata: has two lines.\n\n"
        b"data: This is the third message.\n\n",
        [
            msg("This is the first message."),
            msg("This is the second message, it\nhas two lines."),
            msg("This is the third message."),
        ],
    ),
    Case(
        "standard-event-types",
        b"event: add\ndata: 73857293\n\nevent: remove\ndata: 2153\n\nevent: add\ndata: 113411\n\n",
        [("add", "73857293", ""), ("remove", "2153", ""), ("add", "113411", "")],
    ),
    Case("standard-stock", b"data: YHOO\ndata: +2\ndata: 10\n\n", [msg("YHOO\n+2\n10")]),
    Case(
        "standard-four-blocks",
        b": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n",
        [msg("first event", "1"), msg("second event"), msg(" third event")],
        cut=True,
    ),
    Case("standard-empty-data", b"data\n\ndata\ndata\n\ndata:", [msg(""), msg("\n"), msg("")], cut=True),
    Case("standard-space-after-colon", b"data:test\n\ndata: test\n\n", [msg("test"), msg("test")]),
    # Line ends
    Case("lf", b"data: a\n\ndata: b\n\n", [msg("a"), msg("b")]),
    Case("crlf", b"data: a\r\n\r\ndata: b\r\n\r\n", [msg("a"), msg("b")]),
    Case("cr", b"data: a\r\rdata: b\r\r", [msg("a"), msg("b")]),
    Case("lf-then-crlf", b"data: a\n\r\ndata: b\n\r\n", [msg("a"), msg("b")]),
    Case("crlf-then-lf", b"data: a\r\n\ndata: b\r\n\n", [msg("a"), msg("b")]),
    Case("lf-then-cr", b"data: a\n\rdata: b\n\r", [msg("a"), msg("b")]),
    Case("cr-then-crlf", b"data: a\r\r\ndata: b\r\r\n", [msg("a"), msg("b")]),
    Case("cr-lf-is-one-end", b"data: a\r\ndata: b\r\n\r\n", [msg("a\nb")]),
    Case("lf-cr-are-two-ends", b"data: a\n\rdata: b\n\n", [msg("a"), msg("b")]),
    Case("all-ends-in-one-event", b"data: a\ndata: b\rdata: c\r\ndata: d\n\n", [msg("a\nb\nc\nd")]),
    Case("cr-at-the-end-of-the-body", b"data: a\r\n\r", [msg("a")]),
    Case("many-blank-lines", b"\n\n\r\n\rdata: a\n\n\n\n\r\n\r\n\r\rdata: b\n\n", [msg("a"), msg("b")]),
    Case("blank-lines-only", b"\n\r\n\r\r\n\n", []),
    Case("nothing", b"", []),
    Case("nel-is-text", b"data: a\xc2\x85b\n\n", [msg("a\x85b")]),
    Case("line-separator-is-text", b"data: a\xe2\x80\xa8b\n\n", [msg("a\u2028b")]),
    Case("paragraph-separator-is-text", b"data: a\xe2\x80\xa9b\n\n", [msg("a\u2029b")]),
    Case(
        "vertical-tab-form-feed-and-separators-are-text",
        b"data: a\x0bb\x0cc\x1cd\x1de\x1ef\n\n",
        [msg("a\x0bb\x0cc\x1cd\x1de\x1ef")],
    ),
    # Byte order mark
    Case("bom", BOM + b"data: a\n\n", [msg("a")]),
    Case("bom-before-comment", BOM + b": hi\ndata: a\n\n", [msg("a")]),
    Case("bom-and-nothing-else", BOM, []),
    Case("only-one-bom-is-dropped", BOM + BOM + b"data: a\n\n", [], stray=1),
    Case("bom-later-is-part-of-the-name", b"\n" + BOM + b"data: a\n\n", [], stray=1),
    Case("bom-in-data-is-text", b"data: " + BOM + b"a\n\n", [msg("\ufeffa")]),
    Case("bom-before-blank-line", BOM + b"\r\n\r\ndata: a\r\n\r\n", [msg("a")]),
    Case("bom-after-cr-lf-is-part-of-the-name", b"\r\n" + BOM + b"data: a\n\n", [], stray=1),
    # Comments
    Case("comment-only", b": nothing\n\n", []),
    Case("comment-empty", b":\n\ndata: a\n\n", [msg("a")]),
    Case("comment-between-data-lines", b"data: a\n: OPENROUTER PROCESSING\ndata: b\n\n", [msg("a\nb")]),
    Case("comment-that-looks-like-data", b":data: a\n\ndata: b\n\n", [msg("b")]),
    Case("comment-with-bad-utf-8", b": \xff\xfe\ndata: a\n\n", [msg("a")]),
    Case("comment-at-the-end-of-the-body", b"data: a\n\n: bye", [msg("a")]),
    # Data
    Case("no-space", b"data:a\n\n", [msg("a")]),
    Case("two-spaces", b"data:  a\n\n", [msg(" a")]),
    Case("tab-is-kept", b"data:\ta\n\n", [msg("\ta")]),
    Case("space-only", b"data: \n\n", [msg("")]),
    Case("space-only-crlf", b"data: \r\n\r\n", [msg("")]),
    Case("two-spaces-only", b"data:  \n\n", [msg(" ")]),
    Case("trailing-spaces-are-kept", b"data: a  \n\n", [msg("a  ")]),
    Case("empty-data", b"data:\n\n", [msg("")]),
    Case("data-without-colon", b"data\n\n", [msg("")]),
    Case("data-without-colon-crlf", b"data\r\n\r\n", [msg("")]),
    Case("empty-then-text", b"data:\ndata: a\n\n", [msg("\na")]),
    Case("text-then-empty", b"data: a\ndata\n\n", [msg("a\n")]),
    Case("three-empty", b"data\ndata:\ndata: \n\n", [msg("\n\n")]),
    Case("colons-in-the-value", b"data: a: b:c\n\n", [msg("a: b:c")]),
    Case("value-starts-with-a-colon", b"data::a\n\n", [msg(":a")]),
    Case("nul-in-data", b"data: a\0b\n\n", [msg("a\0b")]),
    Case("two-byte-character", "data: é\n\n".encode(), [msg("é")]),
    Case("four-byte-character", "data: 🦊\r\n\r\n".encode(), [msg("🦊")]),
    Case("characters-over-lines", "data: é\ndata: 漢\ndata: 🦊\n\n".encode(), [msg("é\n漢\n🦊")]),
    Case("no-data-no-event", b"event: ping\nid: 1\n\n", []),
    Case("two-objects-in-one-event", b'data: {"a":1}\ndata: {"b":2}\n\n', [msg('{"a":1}\n{"b":2}')]),
    Case("done", b"data: {}\n\ndata: [DONE]\n\n", [msg("{}"), msg("[DONE]")]),
    # Event types
    Case("event-after-data", b"data: a\nevent: x\n\n", [("x", "a", "")]),
    Case("last-event-type-wins", b"event: x\nevent: y\ndata: a\n\n", [("y", "a", "")]),
    Case("event-type-is-reset", b"event: x\ndata: a\n\ndata: b\n\n", [("x", "a", ""), msg("b")]),
    Case("event-type-is-reset-without-data", b"event: x\n\ndata: b\n\n", [msg("b")]),
    Case("empty-event-type", b"event:\ndata: a\n\n", [msg("a")]),
    Case("event-without-colon", b"event: x\nevent\ndata: a\n\n", [msg("a")]),
    Case("event-type-keeps-a-second-space", b"event:  x \ndata: a\n\n", [(" x ", "a", "")]),
    Case("event-type-beyond-ascii", "event: naïve\ndata: a\n\n".encode(), [("naïve", "a", "")]),
    # Ids
    Case("id-persists", b"id: 7\ndata: a\n\ndata: b\n\n", [msg("a", "7"), msg("b", "7")]),
    Case("id-after-data", b"data: a\nid: 7\n\n", [msg("a", "7")]),
    Case("id-is-reset-by-an-empty-one", b"id: 7\ndata: a\n\nid:\ndata: b\n\n", [msg("a", "7"), msg("b")]),
    Case("id-without-colon-resets", b"id: 7\ndata: a\n\nid\ndata: b\n\n", [msg("a", "7"), msg("b")]),
    Case("id-of-an-event-without-data-persists", b"id: 7\n\ndata: b\n\n", [msg("b", "7")]),
    Case("id-with-nul-is-ignored", b"id: 7\nid: 8\x009\ndata: a\n\n", [msg("a", "7")]),
    Case("id-of-nul-only-is-ignored", b"id: \0\ndata: a\n\n", [msg("a")]),
    Case("id-with-nul-and-bad-utf-8-is-ignored", b"id: \0\xff\ndata: a\n\n", [msg("a")]),
    Case("last-id-wins", b"id: 1\nid: 2\ndata: a\n\n", [msg("a", "2")]),
    # Retry
    Case("retry", b"retry: 1500\n\n", [], retry=1500),
    Case("retry-without-space", b"retry:15\ndata: a\n\n", [msg("a")], retry=15),
    Case("retry-zero", b"retry: 0\n\n", [], retry=0),
    Case("retry-leading-zeros", b"retry: 007\n\n", [], retry=7),
    Case("retry-last-valid-wins", b"retry: 1\nretry: 2\nretry: x\n\n", [], retry=2),
    Case("retry-empty", b"retry:\n\n", []),
    Case("retry-without-colon", b"retry\n\n", []),
    Case("retry-sign", b"retry: +5\nretry: -5\n\n", []),
    Case("retry-fraction", b"retry: 1.5\nretry: 1e3\nretry: 1_0\n\n", []),
    Case("retry-second-space", b"retry:  5\nretry: 5 \n\n", []),
    Case("retry-digits-beyond-ascii", "retry: ٣\n\n".encode(), []),
    Case("retry-bad-utf-8", b"retry: \xff\n\n", []),
    # Names that are none of the four
    Case("unknown-field", b"foo: bar\ndata: a\n\n", [msg("a")], stray=1),
    Case("unknown-field-without-colon", b"foo\ndata: a\n\n", [msg("a")], stray=1),
    Case("unknown-field-inside-an-event", b"data: a\nfoo: bar\ndata: b\n\n", [msg("a\nb")], stray=1),
    Case("blank-before-the-name", b" data: a\n\n", [], stray=1),
    Case("blank-before-the-colon", b"data : a\n\n", [], stray=1),
    Case("name-in-capitals", b"Data: a\nDATA: b\n\n", [], stray=2),
    Case("name-too-long", b"dataset: a\nevents: b\nids: c\nretrys: 1\nretryx\n\n", [], stray=5),
    Case("name-too-short", b"dat: a\neven: b\ni: c\nretr: 1\nd\n\n", [], stray=5),
    Case("blanks-only", b" \n\t\n  \n\n", [], stray=3),
    Case("unknown-field-with-bad-utf-8", b"foo: \xff\ndata: a\n\n", [msg("a")], stray=1),
    Case("html", b"<html>\n<p>Bad gateway: 502</p>\n</html>", [], stray=3),
    Case("json", b'{"error": {"code": 500}}\n', [], stray=1),
    # Ends inside an event
    Case("no-blank-line-at-the-end", b"data: a\n\ndata: b\n", [msg("a"), msg("b")], cut=True),
    Case("no-line-end-at-the-end", b"data: a\n\ndata: b", [msg("a"), msg("b")], cut=True),
    Case("cr-and-no-blank-line", b"data: b\r", [msg("b")], cut=True),
    Case("crlf-and-no-blank-line", b"data: b\r\n", [msg("b")], cut=True),
    Case("last-field-is-no-data", b"data: a\nid: 3\nevent: x", [("x", "a", "3")], cut=True),
    Case("ends-in-an-event-without-data", b"data: a\n\nevent: x\nid: 9", [msg("a")]),
    Case("ends-in-a-name", b"data: a\nda", [msg("a")], cut=True, stray=1),
    Case("ends-in-a-comment", b"data: a\n:", [msg("a")], cut=True),
]
