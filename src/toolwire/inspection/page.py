"""A trace as one page that needs nothing else: no other file, no network, and no scripts to be read.

What comes from models and servers is text in it and nothing more: it is escaped, and the page's own rules (a content
security policy) let only the one style and the one script run that Toolwire wrote, by their hashes.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Iterator
from hashlib import sha256
from importlib.resources import files

from ..limits import KIB, MIB
from .frames import TracedFrame
from .harmless import harmless
from .page_calls import call_parts
from .trace import Span, Trace, TracedAnswer
from .words import counted, ending_words, event_words, seconds_words, shortened, size_words, usage_words

PAGE_FRAMES = 50_000
PAGE_BYTES = 32 * MIB
"""Of frames, as text; after these only frames with problems are in the page."""
RAW_SHOWN = 16 * KIB
"""Characters of one frame."""
RAW_OPEN = 2_000
"""A longer frame is folded."""
LANES = 300
_GROUP = 100
_STEP, _STEPS = 500, 100
_TICKS = 5
_WIDTH = 1000


def page(trace: Trace) -> bytes:
    """The page, in UTF-8."""
    style, script = _asset("page.css") + _heights(), _asset("page.js")
    policy = (
        f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    name = harmless(trace.name)
    parts = [
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        '<meta name="viewport" content="width=device-width,initial-scale=1">',
        '<meta name="referrer" content="no-referrer">',
        f'<link rel="icon" href="data:,"><title>{name} · Toolwire</title><style>{style}</style></head><body>',
        f'<header class="top"><h1>{name}</h1><p class="sub">{harmless(trace.what)} · {_totals(trace)}</p></header>',
        "<main>",
        *_facts(trace),
        *_problems(trace),
        *_timeline(trace),
        *_calls(trace),
        *_happenings(trace),
        *_frames(trace),
        "<footer><kbd>j</kbd> <kbd>k</kbd> next and previous frame · <kbd>n</kbd> <kbd>p</kbd> problems · "
        "<kbd>/</kbd> search · <kbd>Enter</kbd> or a click lays JSON out · made by toolwire inspect</footer>",
        f"</main><script>{script}</script></body></html>\n",
    ]
    return "".join(parts).encode("utf-8", "replace")


def _asset(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def _heights() -> str:
    """How high a group of frames is before a browser has laid it out, in steps: no element may have a style of its own
    by the page's rules.
    """
    return "".join(f".h{step}{{contain-intrinsic-size:auto {step * _STEP}px}}" for step in range(1, _STEPS + 1))


def _totals(trace: Trace) -> str:
    words = [counted(trace.frame_count, "frame"), size_words(trace.bytes)]
    if trace.timed:
        words.append(seconds_words(trace.end))
    return " · ".join(words)


def _card(title: str, rows: Iterable[tuple[str, str, str]]) -> str:
    """`rows`: a name, its value as text, and the class of it."""
    cells = "".join(
        f'<dt>{harmless(name)}</dt><dd class="{style}">{harmless(value)}</dd>' for name, value, style in rows
    )
    return f'<div class="card"><h3>{harmless(title)}</h3><dl>{cells}</dl></div>'


def _facts(trace: Trace) -> Iterator[str]:
    yield '<div class="facts">'
    if trace.facts:
        yield _card("Recording", [(name, value, "") for name, value in trace.facts])
    for answer in trace.answers[:LANES]:
        yield _card(f"Answer {answer.number}" if len(trace.answers) > 1 else "Answer", _answer_facts(trace, answer))
    yield "</div>"
    if not trace.timed:
        yield '<p class="mute">There are no times in this file: places are bytes from its beginning.</p>'
    if trace.cut:
        yield '<p class="bad">! The recording breaks off.</p>'
    if trace.left_out:
        yield f'<p class="bad">! {counted(trace.left_out, "frame")} of a very large file: counted, and not kept.</p>'


def _answer_facts(trace: Trace, answer: TracedAnswer) -> Iterator[tuple[str, str, str]]:
    yield "wire", answer.wire, ""
    if answer.url:
        yield "request", f"{answer.url} · {size_words(answer.sent or 0)}", ""
    if answer.parser not in ("", "api_tool_call"):
        yield "calls", f"in the text, as {answer.parser}", ""
    yield "frames", f"{answer.frame_count:,}, {size_words(answer.bytes)}", ""
    if trace.timed:
        first = "" if answer.first_at is None else f", first after {seconds_words(answer.first_at)}"
        yield "took", f"{seconds_words(answer.ended - answer.began)}{first}", ""
    yield "ended", f"{'! ' if answer.error else ''}{ending_words(answer)}", "bad" if answer.error else ""
    if answer.usage is not None:
        yield "usage", usage_words(answer.usage), ""
    if answer.quirks:
        yield "departures", ", ".join(f"{name} ×{count}" for name, count in answer.quirks.items()), "note"


def _problems(trace: Trace) -> Iterator[str]:
    found = trace.findings()
    if not found:
        return
    yield "<h2>Problems</h2><ul>"
    for frame, finding in found[:200]:
        yield f'<li>{_link(frame)} <span class="bad">{harmless(finding.words)}</span></li>'
    if len(found) > 200:
        yield f"<li>… {len(found) - 200:,} more</li>"
    yield "</ul>"


def _timeline(trace: Trace) -> Iterator[str]:
    rows = sorted(
        [
            *(span for answer in trace.answers for span in answer.spans),
            *trace.running,
            *_answer_spans(trace),
        ],
        key=lambda span: (span.start, span.first),
    )
    if not rows:
        return
    end = trace.end or 1.0
    words = "Timeline" if trace.timed else "Segments over the bytes"
    yield f'<section id="timeline" data-end="{end:.6f}" data-timed="{int(trace.timed)}"><h2>{words}</h2>'
    yield '<div class="zoom"><button id="nearer">+ nearer</button><button id="farther">− farther</button>'
    yield '<button id="all">all</button><span class="mute">drag over a part to see it alone</span></div>'
    places = (end * tick / (_TICKS - 1) for tick in range(_TICKS))
    ticks = "".join(f"<span>{f'{place:.2f} s' if trace.timed else f'{place:,.0f} B'}</span>" for place in places)
    yield f'<div class="lane axis"><span></span><span class="ticks">{ticks}</span><span></span></div>'
    for span in rows[:LANES]:
        yield _lane(trace, span, end)
    if len(rows) > LANES:
        yield f'<p class="mute">… {counted(len(rows) - LANES, "more segment")}</p>'
    yield "</section>"


def _answer_spans(trace: Trace) -> Iterator[Span]:
    """Whole answers, where there are several."""
    if len(trace.answers) > 1:
        for answer in trace.answers:
            first = answer.frames[0].number if answer.frames else 0
            yield Span(
                id=f"answer {answer.number}",
                kind="answer",
                first=first,
                start=answer.began,
                end=answer.ended,
                problem="" if answer.error is None else answer.error.message,
            )


def _lane(trace: Trace, span: Span, end: float) -> str:
    first, last = span.start / end * _WIDTH, span.end / end * _WIDTH
    exact = 1 if len(span.marks) <= _WIDTH // 2 else 0
    marks = sorted({round(mark / end * _WIDTH, exact) for mark in span.marks})
    path = "".join(f"M{mark:g} 0h1.5v10h-1.5z" for mark in marks)
    bad = " bad" if span.problem else ""
    label = {"running": f"{span.name} runs", "answer": span.id}.get(span.kind, f"{span.name or span.kind} {span.id}")
    figures = [seconds_words(span.end - span.start)] if trace.timed else []
    if span.characters:
        figures.append(f"{span.characters:,} chars")
    title = harmless(f"{label}{f': {span.problem}' if span.problem else ''}")
    name = f"{'! ' if bad else ''}{harmless(label)}"
    link = (
        f'<a class="{bad}" href="#f{span.first}" title="{title}">{name}</a>'
        if span.first
        else f'<span class="{bad}">{name}</span>'
    )
    return (
        f'<div class="lane">{link}<svg class="k-{harmless(span.kind)}{bad}" viewBox="0 0 {_WIDTH} 10" '
        f'preserveAspectRatio="none" role="img" aria-label="{title}"><rect class="o" x="{first:.2f}" y="2" '
        f'width="{max(last - first, 3):.2f}" height="6"/><path class="m" d="{path}"/></svg>'
        f"<span>{', '.join(figures)}</span></div>"
    )


def _calls(trace: Trace) -> Iterator[str]:
    calls = [call for answer in trace.answers for call in answer.calls]
    if calls:
        yield "<h2>Calls</h2>"
        for place, call in enumerate(calls):
            yield from call_parts(call, is_open=place < 20)


def _happenings(trace: Trace) -> Iterator[str]:
    if trace.happenings:
        yield '<h2>What else happened</h2><table class="happen">'
        for each in trace.happenings[:2_000]:
            bad = each.level == "problem"
            words = f"{'! ' if bad else ''}{harmless(shortened(each.words, 1_000))}"
            yield f'<tr><td>{each.at:.3f} s</td><td class="{"bad" if bad else ""}">{words}</td></tr>'
        yield "</table>"


def _frames(trace: Trace) -> Iterator[str]:
    yield '<h2>Frames</h2><div class="tool" role="search">'
    yield '<input type="search" id="search" placeholder="search in frames and events ( / )" aria-label="search">'
    yield '<select id="kind" aria-label="kind"><option value="">all kinds</option>'
    kinds = ("text", "reasoning", "call", "server_tool", "media", "done", "error", "nothing", "comment")
    yield "".join(f'<option value="{kind}">{kind.replace("_", " ")}</option>' for kind in kinds)
    yield '</select><label><input type="checkbox" id="only"> problems only</label>'
    yield '<button id="previous">↑ problem</button><button id="next">↓ problem</button>'
    yield '<span id="count" class="mute"></span></div>'
    size = shown = left = 0
    for answer in trace.answers:
        if len(trace.answers) > 1:
            yield f'<h3 class="mute">Answer {answer.number} {harmless(answer.url)}</h3>'
        kinds_of = {span.id: _kind(span) for span in answer.spans}
        group: list[TracedFrame] = []
        for frame in answer.frames:
            size += min(frame.size, RAW_SHOWN)
            if (shown >= PAGE_FRAMES or size > PAGE_BYTES) and not frame.has_problem:
                left += 1
                continue
            group.append(frame)
            shown += 1
            if len(group) == _GROUP:
                yield from _group(group, kinds_of)
                group = []
        if group:
            yield from _group(group, kinds_of)
    if not shown:
        yield '<p class="mute">There are none.</p>'
    if left:
        yield f'<p class="bad">! {counted(left, "more frame")} without problems: too many for a page. '
        yield "See them with toolwire inspect --frames.</p>"


def _group(frames: list[TracedFrame], kinds_of: dict[str, str]) -> Iterator[str]:
    """Frames that a browser lays out together when they come into sight."""
    height = sum(45 + 19 * max(min(frame.size, RAW_OPEN) // 75, len(frame.events)) for frame in frames)
    yield f'<div class="g h{min(max(round(height / _STEP), 1), _STEPS)}">'
    for frame in frames:
        yield from _frame(frame, kinds_of)
    yield "</div>"


def _link(frame: TracedFrame) -> str:
    return f'<a href="#f{frame.number}">#{frame.number}</a>'


def _kind(span: Span) -> str:
    return "call" if span.kind.startswith(("tool_", "write_", "edit_", "run_")) else span.kind


def _frame(frame: TracedFrame, kinds_of: dict[str, str]) -> Iterator[str]:
    when = f"+{frame.at:.3f} s" if frame.at is not None else f"byte {frame.offset:,}"
    kinds = {kinds_of.get(event.segment_id, str(event.type)) for event in frame.events}
    if not frame.events:
        kinds.add("nothing" if frame.carries else "comment")
    style = "f p" if frame.has_problem else "f"
    yield f'<article class="{style}" id="f{frame.number}" data-k="{" ".join(sorted(kinds))}">'
    yield f"<h3>{_link(frame)} {when} · {size_words(frame.size)} <b>{harmless(frame.name)}</b></h3>"
    text = frame.text
    raw = f"<pre>{harmless(shortened(text, RAW_SHOWN))}</pre>"
    if len(text) > RAW_OPEN:
        raw = f"<div><details><summary>{harmless(text[:200])} … {size_words(frame.size)}</summary>{raw}</details></div>"
    yield f"{raw}<ul>"
    for event in frame.events:
        kind, segment, words, is_problem = event_words(event)
        style = "bad" if is_problem else f"k-{kinds_of.get(segment, '').replace('call', 'tool_call')}"
        mark = "! " if is_problem else ""
        yield f'<li><b class="{style}">{mark}{kind}</b> {harmless(f"{segment} {words}".strip())}</li>'
    if not frame.events and frame.carries:
        yield '<li class="mute">no event</li>'
    for finding in frame.findings:
        if not finding.told:
            bad = finding.level == "problem"
            mark = "! problem" if bad else "note"
            yield f'<li class="{"bad" if bad else "note"}">{mark}: {harmless(finding.words)}</li>'
    yield "</ul></article>"
