"""The page: all of the trace is in it, nothing in it runs or loads anything, and it can be used in a browser."""

from __future__ import annotations

import json
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from cli.chat_bytes import ANSWER, CALCULATE, call_deltas, sse
from inspection.browser import chromium, needs_chromium
from toolwire.inspection import page as page_module
from toolwire.inspection.harmless import harmless
from toolwire.inspection.page import page
from toolwire.inspection.trace import Happening, Span, Trace, TracedAnswer, TracedCall, Tracking
from toolwire.inspection.tracer import Tracer

EVIL = (
    (
        "<script>document.title='pwned'</script><img src=x onerror=\"document.title='pwned'\">"
        "<a href='javascript:document.title=1'>x</a></pre></article></style></script></title><!-- "
        "\u202eabc\u200b\0\x1b[31m\"' onmouseover=alert(1) &lt; http://evil.example/x.png \ud83e\udd9c"
    )
    .encode("utf-16", "surrogatepass")
    .decode("utf-16")
)


def traced(data: bytes, name: str = "answer.sse") -> Trace:
    trace = Trace(name=name, what="a recorded stream")
    tracking = Tracking(trace, TracedAnswer(number=1, wire="openai-chat"), Tracer("openai-chat"))
    tracking.feed(data)
    tracking.close()
    return trace


def hostile() -> Trace:
    """Evil words in every place where words of others stand."""
    data = (
        f": {EVIL}\n\nevent: {EVIL}\ndata: {{}}\n\n{EVIL}\n\n".encode()
        + sse(
            {"content": EVIL},
            {"reasoning_content": EVIL},
            *call_deltas(EVIL, json.dumps({"path": EVIL, EVIL: EVIL}), call_id=EVIL),
            *call_deltas("write_file", json.dumps({"path": EVIL, "content": EVIL}), index=1, call_id="w"),
            *call_deltas(
                "edit_file", json.dumps({"path": "a", "old_text": EVIL, "new_text": "b"}), index=2, call_id="e"
            ),
            *call_deltas(
                "edit_file", json.dumps({"path": "a", "patch": f"@@\n-{EVIL}\n+{EVIL}"}), index=3, call_id="p"
            ),
            *call_deltas("run_bash", json.dumps({"command": EVIL}), index=4, call_id="r"),
            *call_deltas(EVIL, '{"a": ', index=5, call_id="broken"),
            {"content": "x" * 1_000_000 + EVIL},
            stop="tool_calls",
        )
        + f"data: {EVIL}\n\n".encode()
    )
    trace = traced(data, EVIL)
    trace.what = EVIL
    trace.facts = [(EVIL, EVIL)]
    trace.happenings = [Happening(1.0, EVIL, EVIL)]
    trace.running = [Span(id=EVIL, kind="running", name=EVIL, problem=EVIL, end=1.0)]
    trace.answers[0].url = trace.answers[0].parser = EVIL
    trace.answers[0].spans[0].problem = EVIL
    trace.answers[0].calls.append(
        TracedCall(id="", name="", kind="tool_call", first=1, decision=EVIL, outcome=EVIL, result=EVIL, repairs=[EVIL])
    )
    return trace


class Elements(HTMLParser):
    """The elements of a page, and what may load or run something."""

    def __init__(self, data: bytes) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.loads: list[tuple[str, str | None]] = []
        self.ids: list[str | None] = []
        self.links: list[str | None] = []
        self.feed(data.decode())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        found = dict(attrs)
        self.ids += [found["id"]] if "id" in found else []
        self.links += [found["href"]] if tag == "a" else []
        self.loads += [
            (name, value)
            for name, value in attrs
            if name.startswith("on")
            or name in ("src", "srcset", "style", "action", "data", "xlink:href", "href", "ping")
            if not (name == "href" and (value or "").startswith(("#f", "data:,")))
        ]


@pytest.mark.parametrize("trace", [hostile(), traced(CALCULATE), traced(b""), Trace(name="nothing", what="nothing")])
def test_nothing_but_our_own_script_and_style(trace: Trace) -> None:
    data = page(trace)
    elements = Elements(data)
    assert elements.loads == []
    assert [elements.tags.count(tag) for tag in ("script", "style", "title", "link")] == [1, 1, 1, 1]
    assert not {"img", "iframe", "object", "embed", "form", "base", "video", "audio"} & set(elements.tags)
    assert len(elements.ids) == len(set(elements.ids))
    assert set(elements.links) <= {f"#{each}" for each in elements.ids}
    text = data.decode()
    for kind in ("script", "style"):
        inside = text.partition(f"<{kind}>")[2].partition(f"</{kind}>")[0]
        digest = b64encode(sha256(inside.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in text.partition("<style>")[0]
    assert "default-src 'none'" in text


def test_hidden_characters_are_marks() -> None:
    text = page(hostile()).decode()
    assert not {"\u202e", "\u200b", "\0", "\x1b"} & set(text)
    assert "‹U+202E›abc‹U+200B›" in text
    assert harmless("a\tb\r\nc\x00<'\">") == "a\tb\nc‹U+0000›&lt;&#x27;&quot;&gt;"


def test_all_of_it_is_there() -> None:
    text = page(traced(CALCULATE[: CALCULATE.index(b"* 23")])).decode()
    assert text.count("<article") == 6
    assert "IncompleteStream: the stream broke off before its end" in text
    assert "! will not run" in text
    assert 'class="f p" id="f6"' in text
    assert "places are bytes" in text
    whole = page(traced(CALCULATE)).decode()
    assert "expression: 17 * 23" in whole
    assert "Problems" not in whole


def test_files_and_edits_are_shown_as_such() -> None:
    arguments = {"path": "a.py", "content": "def f():\n    return 1 < 2\n"}
    written = page(traced(sse(*call_deltas("write_file", json.dumps(arguments)), stop="tool_calls"))).decode()
    assert "<h4>a.py</h4><pre>def f():\n    return 1 &lt; 2\n</pre>" in written
    edit = {"path": "a.py", "old_text": "one\ntwo\n", "new_text": "one\nthree\n"}
    edited = page(traced(sse(*call_deltas("edit_file", json.dumps(edit)), stop="tool_calls"))).decode()
    assert "<del>-two</del><ins>+three</ins>" in edited
    bash = page(traced(sse(*call_deltas("run_bash", '{"command": "ls"}'), stop="tool_calls"))).decode()
    assert "<h4>command</h4><pre>ls</pre>" in bash


def test_a_page_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_module, "PAGE_FRAMES", 5)
    text = page(traced(sse(*({"content": "x"} for _ in range(30))) + ANSWER[:60] + b"\n\n")).decode()
    assert text.count("<article") == 6
    assert "28 more frames without problems" in text
    long = page(traced(sse({"content": "x" * 3_000_000})))
    assert len(long) < 200_000


@needs_chromium
async def test_a_browser_runs_our_script_and_nothing_else(tmp_path: Path) -> None:
    trace = hostile()
    path = tmp_path / "page.html"
    path.write_bytes(page(trace))
    async with chromium(tmp_path) as browser:
        await browser.open(path)
        assert await browser.value("document.documentElement.dataset.ready") == str(trace.frame_count)
        assert await browser.value("document.documentElement.dataset.error ?? ''") == ""
        assert "pwned" not in (await browser.value("document.title")).partition("<script>")[0]
        assert (await browser.value("document.title")).startswith("<script>document.title=")
        assert await browser.value("document.querySelectorAll('img, script:not(body > script), iframe').length") == 0
        assert browser.errors == []
        assert browser.requests == [path.as_uri()]
        # An element that got in all the same would not run: the page's own rules forbid it.
        script = (
            "const e = document.createElement('script'); e.textContent = 'window.ran = 1'; document.body.append(e);"
        )
        assert await browser.value(f"{script} window.ran ?? 0") == 0


_STRANGE = b'"needle \\u202e \\"{,", "a": 1e400, "a": 12345678901234567890, "e": [], "o": { }'
_STRANGE_LAID_OUT = [
    '"content": "needle \\u202e \\"{,",',
    '"a": 1e400,',
    '"a": 12345678901234567890,',
    '"e": [],',
    '"o": {}',
]
_LAID_OUT = (
    "((lines) => lines.slice(lines.findIndex((line) => line.startsWith('\"content\"'))).slice(0, 5))"
    "(document.querySelector('#f301 pre').textContent.split('\\n').map((line) => line.trim()))"
)


@needs_chromium
async def test_a_browser_finds_filters_and_jumps(tmp_path: Path) -> None:
    data = sse(*({"content": f"word {number} "} for number in range(300)), {"content": "needle"}, stop="length")
    data = data.replace(b'"needle"', _STRANGE)
    path = tmp_path / "page.html"
    path.write_bytes(page(traced(data)))

    async def shown() -> list[Any]:
        found = await browser.value("[...document.querySelectorAll('.f:not([hidden])')].map((f) => f.id)")
        return list(found)

    async with chromium(tmp_path, width=500) as browser:
        await browser.open(path)
        assert len(await shown()) == 304
        assert await browser.value("document.getElementById('count').textContent") == "304 frames"
        await browser.press("/")
        assert await browser.value("document.activeElement.id") == "search"
        await browser.send("Input.insertText", text="NEEDLE")
        await browser.value("new Promise((done) => setTimeout(done, 300))")
        assert await shown() == ["f301"]
        await browser.press("Escape")
        assert len(await shown()) == 304
        for key in "jjk":
            await browser.press(key)
        assert await browser.value("document.querySelector('.at').id") == "f1"
        await browser.press("n")
        problem = await browser.value("document.querySelector('.at').id")
        assert await browser.value(f"document.getElementById('{problem}').classList.contains('p')")
        place = await browser.value(f"document.getElementById('{problem}').getBoundingClientRect().top")
        assert 0 <= place <= 900
        await browser.value("document.getElementById('only').click()")
        assert await shown() == [problem]
        before = await browser.value("document.querySelector('#timeline svg').getAttribute('viewBox')")
        await browser.value("document.getElementById('nearer').click()")
        assert await browser.value("document.querySelector('#timeline svg').getAttribute('viewBox')") != before
        await browser.value("document.getElementById('only').click(); document.querySelector('#f2 pre').click()")
        assert await browser.value("document.querySelector('.at').id") == "f2"
        laid_out = await browser.value("document.querySelector('#f2 pre').textContent")
        assert json.loads(laid_out)["choices"][0]["delta"] == {"content": "word 1 "}
        await browser.press("Enter")
        assert (await browser.value("document.querySelector('#f2 pre').textContent")).startswith("data: {")
        assert await browser.value(f"document.querySelector('#f301 pre').click(), {_LAID_OUT}") == _STRANGE_LAID_OUT
        await browser.value("document.getElementById('only').click(); location.hash = '#f150'")
        await browser.value("new Promise((done) => setTimeout(done, 100))")
        assert await browser.value("document.querySelector('.at').id") == "f150"
        assert len(await shown()) == 304
        assert await browser.value("document.documentElement.scrollWidth <= innerWidth")
        assert await browser.value("document.documentElement.dataset.error ?? ''") == ""
