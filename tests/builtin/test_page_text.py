"""HTML as readable text, in time that grows with the page only; and its encoding."""

from __future__ import annotations

import pytest
from bench.trust.pages import HOSTILE, hostile_pages

from toolwire.builtin.charsets import decode_text
from toolwire.builtin.page_text import TEXT_CHARACTERS, page_text

BASE = "https://example.com/docs/page"

CASES = {
    "paragraphs": ("<p>one\n  two<p>three", "one two\n\nthree"),
    "headings": ("<h1>A <i>b</i></h1>text<h3>c</h3>", "# A b\n\ntext\n\n### c"),
    "empty heading": ("<h2></h2><p>text", "text"),
    "lists": (
        "<ul><li>one<li>two<ol><li>a</li><li>b</li></ol></li><li>three</ul>",
        "- one\n- two\n  1. a\n  2. b\n- three",
    ),
    "definitions": ("<dl><dt>word<dd>meaning</dl>", "word\n  meaning"),
    "link": ('see <a href="/x?a=1&amp;b=2">the  page</a>, now', "see [the page](https://example.com/x?a=1&b=2), now"),
    "link in page": ('<a href="#top">top</a> <a href="javascript:x()">run</a> <a href="data:,x">d</a>', "top run d"),
    "link to elsewhere": ("<a href=//o.test/(a)>o</a>", "[o](https://o.test/%28a%29)"),
    "link around a block": ("<a href=a><h3>Card</h3></a><p>more", "### [Card](https://example.com/docs/a)\n\nmore"),
    "link without end": (
        "<a href=a>one <a href=b>two",
        "[one](https://example.com/docs/a) [two](https://example.com/docs/b)",
    ),
    "link without text": ("a<a href=b><img src=c></a>d", "ad"),
    "base": ("<head><base href='/else/'></head><a href=a>b</a>", "[b](https://example.com/else/a)"),
    "code": ("<p>call <code>f(x)</code> now", "call `f(x)` now"),
    "pre": (
        "a<pre><code>\ndef f():\n    return 1 &lt; 2\n</code></pre>b",
        "a\n\n```\ndef f():\n    return 1 < 2\n```\n\nb",
    ),
    "pre of lines": ("<pre><div>one</div><div>two</div></pre>", "```\none\ntwo\n```"),
    "table": (
        "<table><thead><tr><th>a</th><th>b</th></tr></thead><tbody><tr><td>1<td>2</tbody></table>",
        "a | b\n1 | 2",
    ),
    "quote": ("<blockquote>said<br>so</blockquote>x", "> said\n> so\n\nx"),
    "image": ('<img src=a alt="A  cat"> here', "[image: A cat] here"),
    "rule": ("a<hr>b", "a\n\n---\n\nb"),
    "line breaks": ("a<br><br><br><br>b", "a\n\nb"),
    "script and style": ("a<script>if (1 < 2) '</p>'</script ><STYLE>p{}</sTyLe>b", "ab"),
    "script without end": ("a<script>b</scrip>c", "a"),
    "navigation": ("<nav><ul><li>x</ul></nav>text<nav>y</nav>", "text"),
    "navigation without end": ("<div><nav>x</div>text", "text"),
    "hidden": (
        "<p hidden>no</p>a<div style='color:red; Display : NONE'>no<div>no</div>no</div>b<i hidden='until-found'>c</i>",
        "abc",
    ),
    "a page that is hidden": ("<body style='visibility:hidden'>text", "text"),
    "comments": ("a<!-- <p>no --> b<!--> c<!---> d<!-- - -- --!> e<!x> f<?x?> g</ x>h", "a b c d e f gh"),
    "a comment without end": ("a<!-- b", "a"),
    "not a tag": ("1 < 2 <3 a<", "1 < 2 <3 a<"),
    "a tag without end": ("a<p b='>c", "a"),
    "a bracket in a value": ("<p title='a>b' data-x=\">\">c", "c"),
    "quotes outside of values": ("""<p a"b='c'>d<p '>e""", "d\n\ne"),
    "characters": ("&eacute;&#233;&#xe9; &amp;lt; &nosuch; &copy", "ééé &lt; &nosuch; ©"),
    "an endless number": (f"a &#{'9' * 5000}; b", f"a &#{'9' * 5000}; b"),
    "head without end": ("<head><title>t</title><meta x><p>text", "text"),
    "nothing": ("", ""),
}


@pytest.mark.parametrize(("source", "text"), CASES.values(), ids=CASES)
def test_text(source: str, text: str) -> None:
    assert page_text(source, BASE).text == text


def test_title() -> None:
    page = page_text("<svg><title>no</title></svg><title> A &amp;\n B</title><title>no</title><p>text")
    assert (page.title, page.text) == ("A & B", "text")
    assert len(page_text(f"<title>{'x' * 9999}</title>").title) == 300


def test_hostile_pages_take_linear_time() -> None:
    found = hostile_pages(24_000, 1)
    assert found.runs == len(HOSTILE)
    assert not found.faults


def test_text_is_bounded_where_links_grow_it() -> None:
    page = page_text("<a href=x>y</a> " * 2_000, "https://example.com/" + "p" * 1900 + "/")
    assert page.cut
    assert len(page.text) == TEXT_CHARACTERS


ENCODED = [
    (b"\xef\xbb\xbf\xc3\xa9", "latin-1", "é"),
    ("é".encode("utf-16"), "", "é"),
    (b"\xfe\xff\x00\xe9", "utf-8", "é"),
    (b"\xe9", "ISO-8859-1", "é"),
    (b"\x80", '"latin1"', "€"),
    (b"\x83e", "Shift_JIS", "テ"),
    (b"\xc3\xa9", "", "é"),
    (b"\xe9", "", "\ufffd"),
    (b"\xc3\xa9", "no-such", "é"),
    (b"+ADw-", "utf-7", "+ADw-"),
    (b"\\x41", "unicode_escape", "\\x41"),
    (b"abc", "punycode", "abc"),
    (b"abc", "hex", "abc"),
    (b"abc", "a\0b", "abc"),
    (b"abc", "é" * 100, "abc"),
]


@pytest.mark.parametrize(("data", "charset", "text"), ENCODED)
def test_encoding_by_mark_or_header(data: bytes, charset: str, text: str) -> None:
    assert decode_text(data, charset) == text


@pytest.mark.parametrize(
    "markup",
    [
        "<meta charset=windows-1252>",
        "<META CHARSET = 'windows-1252' />",
        '<meta http-equiv=Content-Type content="text/html; charset=windows-1252">',
        '<?xml version="1.0" encoding="windows-1252"?>',
        "<meta name=charset><meta charset=windows-1252>",
    ],
)
def test_encoding_by_markup(markup: str) -> None:
    data = markup.encode() + b"\xe9"
    assert decode_text(data, markup=True).endswith("é")
    assert decode_text(data, "utf-8", markup=True).endswith("\ufffd")
    assert decode_text(data).endswith("\ufffd")


def test_markup_cannot_say_that_it_is_utf_16() -> None:
    assert decode_text("<meta charset=utf-16>é".encode(), markup=True).endswith("é")
