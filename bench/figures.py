"""The figures behind the claims: each is obtained by this run, and a missed target is said and exits 1.

    python -m bench.figures [--quick] [--part P] [--wire W] [--mutations N]

The tables go to docs/reliability.md, -text and -families, unless `--quick` or `--wire` asked for a smaller run.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from time import monotonic

import msgspec

from . import agreement, apis, proofs, text_proofs
from .fuzz import READABLE, SLOWEST, fuzz_all
from .payloads import CORPUS
from .report import machine, table, write_document
from .text_fuzz import TAUGHT
from .wires import SUBJECTS, Subject

API_WORDS = """
Right: calls, ids, names, order, text, reasoning, usage and finish reason are those of the index, or where the index
errs, those that tests/data/index_faults.json gives with a reason. Matched: what Toolwire writes next is what the
recording client sent, as it is or under the rules of [encoding.md](encoding.md).
"""


class Figure(msgspec.Struct):
    """One row: what was found, whether the target is met."""

    wire: str
    figure: str
    holds: bool


class Proof(msgspec.Struct):
    """One promise: what it says, how it was tried, and what came out, for each wire format or for all at once."""

    title: str
    how: str
    run: Callable[[], Iterator[Figure]]


def split_invariance(subjects: Sequence[Subject], extent: proofs.Extent) -> Iterator[Figure]:
    """A1."""
    for subject in subjects:
        found = proofs.split_invariance(subject, extent)
        words = f"{found.runs:,} runs over {found.bodies:,} bodies, {len(found.faults)} differences"
        yield Figure(subject.name, words, not found.faults)


def mutations(names: Sequence[str], count: int) -> Iterator[Figure]:
    """A2."""
    seed = random.SystemRandom().randrange(2**31)
    folder = Path(tempfile.mkdtemp(prefix="toolwire-fuzz-"))
    for result in fuzz_all(names, seed, runs=count, seconds=None, folder=folder):
        for path, words in result.faults.items():
            print(f"FAULT {path}: {words}")
        slowest = f"the slowest {result.slowest * 1000:.1f} ms"
        yield Figure(
            result.wire,
            f"{result.runs:,} bodies, {len(result.faults)} broken promises, {slowest} (seed {seed})",
            not result.faults and result.runs >= count and result.slowest < SLOWEST,
        )


def truncation(subjects: Sequence[Subject], extent: proofs.Extent) -> Iterator[Figure]:
    """A3."""
    for subject in subjects:
        found = proofs.truncation(subject, extent)
        words = f"{found.runs:,} prefixes of {found.bodies:,} bodies, {len(found.faults)} wrong ends"
        yield Figure(subject.name, words, not found.faults)


def endless() -> Iterator[Figure]:
    """A5."""
    met = proofs.endless_bodies()
    for one in met:
        print(one)
    line = met[0]
    yield Figure(
        "all",
        f"{sum(one.holds for one in met)} of {len(met)} kinds end in a LimitExceeded within the bound and one read; "
        f"100 MB without a line end: {line.memory / 1e6:.1f} MB of memory, at most {line.memory_bound / 1e6:.1f}",
        all(one.holds for one in met),
    )


def linear(subjects: Sequence[Subject]) -> Iterator[Figure]:
    """A6."""
    for subject in subjects:
        growths = proofs.linear(subject)
        worst = max(growths, key=lambda growth: max(growth.factors))
        factor, paths = max(worst.factors), len(growths)
        words = f"t(2n)/t(n) at most {factor:.2f} on {paths} paths ({worst.name})"
        yield Figure(subject.name, words, factor <= 2.2)


def framing() -> Iterator[Figure]:
    """A7."""
    cases, wrong = proofs.framing_cases()
    yield Figure("all of SSE", f"{cases} cases, {len(wrong)} deviations", cases >= 40 and not wrong)


def strict_json() -> Iterator[Figure]:
    """A8."""
    passed, failed, seconds = proofs.strict_json()
    words = f"{passed} tests passed, {failed} failed; 100,000 levels deep refused in {seconds * 1000:.2f} ms"
    yield Figure("all", words, passed > 0 and not failed and seconds < 0.01)


def interleavings(subjects: Sequence[Subject]) -> Iterator[Figure]:
    """A11."""
    for subject in subjects:
        if subject.interleaved is not None:
            found = proofs.interleavings(subject)
            words = f"{found.runs:,} orders, {len(found.faults)} differences"
            yield Figure(subject.name, words, found.runs == 34_650 and not found.faults)


def text_cuts(formats: Sequence[str], extent: proofs.Extent) -> Iterator[Figure]:
    """B1."""
    for format_ in formats:
        found = text_proofs.splits(format_, extent)
        words = f"{found.runs:,} runs over {found.bodies:,} texts, {len(found.faults)} differences"
        yield Figure(format_, words, found.bodies > 0 and not found.faults)


def injections() -> Iterator[Figure]:
    """B2."""
    strings, passed, failed = text_proofs.injections()
    words = f"{strings} strings in every place and format: {passed} tests passed, {failed} failed"
    yield Figure("all text formats", words, strings >= 500 and passed > 0 and not failed)


def prompt_marks(extent: proofs.Extent) -> Iterator[Figure]:
    """Prompts."""
    layouts, tried, faults = text_proofs.prompt_marks(extent.prompt_attacks)
    for fault in faults[:20]:
        print(f"FAULT {fault}")
    yield Figure(
        "all layouts of prompts",
        f"{tried:,} attacks on {layouts} layouts, {len(faults)} got through",
        layouts > 50 and not faults,
    )


def look_alikes(formats: Sequence[str]) -> Iterator[Figure]:
    """B4."""
    texts, runs, faults = text_proofs.look_alikes(formats)
    for fault in faults[:20]:
        print(f"FAULT {fault}")
    words = f"{texts} texts, read {runs:,} times, {len(faults)} taken for a call"
    yield Figure("all text formats" if len(formats) > 1 else formats[0], words, texts >= 200 and not faults)


def hostile(formats: Sequence[str], size: int) -> Iterator[Figure]:
    """B5."""
    met = text_proofs.hostile(size, formats)
    for format_ in dict.fromkeys(one.format for one in met):
        found = [one for one in met if one.format == format_]
        for one in found:
            seconds, ends = " → ".join(f"{taken:.2f}" for taken in one.seconds), one.ends or "no error"
            print(f"{format_}, {one.pattern}: {seconds} s, × {one.factor:.2f}, {one.fault or ends}")
        steepest = max(found, key=lambda one: one.factor)
        slowest = max(found, key=lambda one: one.seconds[1])
        faults = [one for one in found if one.fault]
        words = (
            f"{len(found)} patterns of {size / 1e6:g} MB: t(2n)/t(n) at most {steepest.factor:.2f} "
            f"({steepest.pattern}), the slowest {slowest.seconds[1]:.1f} s ({slowest.pattern}), "
            f"{sum(bool(one.ends) for one in found)} ended by a LimitExceeded, {len(faults)} faults"
        )
        yield Figure(format_, words, not faults and steepest.factor <= 2.2)


def round_trip(formats: Sequence[str], count: int) -> Iterator[Figure]:
    """Random calls, written and read back."""
    for format_, (runs, faults) in text_proofs.round_trip(count, formats).items():
        for fault in faults[:5]:
            print(f"FAULT {fault}")
        yield Figure(format_, f"{runs:,} answers, {len(faults)} not read back exactly", runs > 0 and not faults)


def soups(formats: Sequence[str], count: int) -> Iterator[Figure]:
    """Marks of all families in any order."""
    for format_, (runs, faults) in text_proofs.soups(count, formats).items():
        for fault in faults[:5]:
            print(f"FAULT {fault}")
        yield Figure(format_, f"{runs:,} texts, {len(faults)} shares of them broke a promise", runs > 0 and not faults)


def recorded_calls(subjects: Sequence[Subject]) -> Iterator[Figure]:
    """Calls as the recording clients echoed them."""
    for subject in subjects:
        found = agreement.with_clients(subject)
        yield Figure(subject.name, f"{found.equal} of {found.bodies} bodies equal", found.equal == found.bodies > 0)


def index(subjects: Sequence[Subject]) -> Iterator[Figure]:
    """The index of the recordings."""
    for subject in subjects:
        found = agreement.with_index(subject)
        yield Figure(subject.name, found.words("index_faults.json"), found.holds)


def sdk(subjects: Sequence[Subject]) -> Iterator[Figure]:
    """The official SDKs on the same bytes."""
    for subject in subjects:
        found = agreement.with_sdk(subject)
        rest = f"; {found.refused} that it cannot read or put together, of which we read {found.read_here}"
        yield Figure(subject.name, found.words("sdk_faults.json") + rest, found.holds)


class Part(msgspec.Struct):
    """A part of the figures: the formats that it is about, its table's place and heading."""

    names: Sequence[str]
    document: str
    heading: str
    proofs: Callable[[Sequence[str], proofs.Extent], Iterator[Proof]]


def mutation_proof(names: Sequence[str], extent: proofs.Extent) -> Proof:
    """A2, for wire and text formats alike."""
    return Proof(
        "A2 mutated streams and texts",
        "`bench.fuzz`: bytes, lines, events and JSON values changed, marks of calls added, lost, doubled and moved, "
        "odd answers made up; each whole and cut, with and without tools and live arguments, and sent back by the "
        "encoder; texts also broken off, and with tight bounds. Target: 0 broken promises, none over 50 ms",
        lambda: mutations(names, extent.mutations),
    )


def cut_proof(formats: Sequence[str], extent: proofs.Extent) -> Proof:
    """B1, for all text formats alike."""
    return Proof(
        "B1 the same text gives the same events wherever it is cut",
        "every text of tests/data/text: character by character, every cut in two, in three up to "
        f"{extent.cut_in_three // 3} characters, {extent.random_cuts} random cuts, and every prefix: all content "
        "joined is the text that was fed, and no prefix runs what the whole does not",
        lambda: text_cuts(formats, extent),
    )


def look_alike_proof(formats: Sequence[str]) -> Proof:
    """B4, for all text formats alike."""
    return Proof(
        "B4 look-alikes",
        "other brackets, other letters, characters nobody sees, in the marks and in the tools' names; alone, in a "
        "sentence and in a code fence. Target: 200, 0 taken for a call",
        lambda: look_alikes(formats),
    )


def proofs_of_taught(formats: Sequence[str], extent: proofs.Extent) -> Iterator[Proof]:
    """Calls in the formats that Toolwire teaches."""
    readers = [format_ for format_ in formats if format_ in text_proofs.READERS]
    yield mutation_proof(formats, extent)
    yield cut_proof(formats, extent)
    yield Proof(
        "B2 only the answer's own text is read",
        "tests/embedded/test_injections.py: every format's own marks in results, errors, user text, reasoning, "
        "refusals, file contents, arguments and tool names. Target: 500 strings, 0 invocations",
        injections,
    )
    yield Proof(
        "A prompt has only the marks of its layout",
        "tests/embedded/prompt_attacks.py: every mark of the layout and of other tokenizers, whole, in halves at every "
        "place, doubled and nested, in all places of a conversation that hold content, and in one alone; counted "
        "beside harmless content of the same characters. Target: 0 got through",
        lambda: prompt_marks(extent),
    )
    yield look_alike_proof(formats)
    yield Proof(
        "B5 hostile text",
        "openers without end, unclosed quotes, near-markers, brackets, fences, blanks, in reads of 16 KiB; half of it "
        "and all of it. Target: 2.2, typed errors alone, 0 calls",
        lambda: hostile(readers, extent.hostile) if readers else iter(()),
    )
    yield Proof(
        "What is written is read back",
        "random tools (unions, references, enumerations, nested), arguments that fit them (quotes, marks of every "
        "format, blanks at the ends), written as the format teaches it, in prose, read at random cuts",
        lambda: round_trip(formats, extent.round_trips),
    )


def proofs_of_families(formats: Sequence[str], extent: proofs.Extent) -> Iterator[Proof]:
    """Calls as models were trained to write them."""
    # There are ten times as many of them as of the formats that are taught.
    fewer = {"random_cuts": -(-extent.random_cuts // 10), "cut_in_three": extent.cut_in_three // 2}
    yield cut_proof(formats, msgspec.structs.replace(extent, **fewer))
    yield look_alike_proof(formats)
    yield Proof(
        "C1 what a family's models write is read back",
        "tests/embedded/family_writers.py writes answers from the formats' tables and the models' chat templates, not "
        "with our own code: random tools, arguments that fit them and that the syntax can say, text and reasoning "
        "around; read at random cuts. Names, arguments, ids, text and reasoning must be those that were written",
        lambda: round_trip(formats, extent.round_trips),
    )
    yield Proof(
        "C2 mutated answers of the families",
        "as A2, a fiftieth as many of each family; some in reasoning, some with repair",
        lambda: mutations(formats, -(-extent.mutations // 50)),
    )
    yield Proof(
        "C3 soups",
        "calls and halves of calls, marks of all families and ordinary text in any order, at random cuts, broken off, "
        "with tight bounds. Target: 0 broken promises",
        lambda: soups(formats, extent.round_trips // 10),
    )
    yield Proof(
        "C4 hostile text",
        "beginnings of calls, marks, reasoning that never ends, repeated, in reads of 16 KiB; half of it and all of "
        "it. Target: 2.2, typed errors alone",
        lambda: hostile(formats, extent.hostile // 10),
    )


def wire_proofs(names: Sequence[str], extent: proofs.Extent) -> Iterator[Proof]:
    """Answers as the providers send them."""
    subjects = [SUBJECTS[name] for name in names]
    yield Proof(
        "A1 the same bytes give the same events wherever they are cut",
        "every recorded stream and one made for each known oddity: byte by byte, every cut in two up to "
        f"{extent.cut_in_two:,} bytes, in three up to {extent.cut_in_three}, and {extent.random_cuts} random cuts of "
        "each; adjacent text merged, everything else equal",
        lambda: split_invariance(subjects, extent),
    )
    yield mutation_proof(names, extent)
    yield Proof(
        "A3 streams that break off",
        f"every prefix of bodies up to {extent.every_prefix:,} bytes, 50 of each larger one; a prefix without the "
        "provider's own end is an ERROR with 0 invocations, and none makes an invocation that the whole does not make",
        lambda: truncation(subjects, extent),
    )
    yield Proof(
        "A5 input without end",
        "lines, events, comments, arguments, calls, blocks, names, ids … without end; memory is the growth of a "
        "process of its own",
        endless,
    )
    yield Proof(
        "A6 time in proportion to the input",
        "arguments, text and reasoning in small pieces up to 2 MB, live arguments, one long line in 16-byte reads up "
        "to 4 MB; least of 3 runs each. Target: 2.2",
        lambda: linear(subjects),
    )
    yield Proof(
        "A7 the SSE standard on bytes",
        "the table in tests/wire/sse_cases.py, whole and byte by byte. Target: 40 cases, 0 deviations",
        framing,
    )
    yield Proof(
        "A8 strict JSON for arguments",
        "tests/test_strict_json.py, and the time by the clock here. Target: all, 10 ms",
        strict_json,
    )
    yield Proof(
        "A11 parallel calls interleaved",
        "all interleavings of 3 calls of 4 deltas each give the same 3 invocations, where the format can mix calls",
        lambda: interleavings(subjects),
    )
    if CORPUS.is_dir():
        yield Proof(
            "Calls that the recording clients sent back",
            "expected_calls.jsonl: id, name and arguments of every call, in order",
            lambda: recorded_calls(subjects),
        )
        yield Proof(
            "The index of the recordings",
            "calls, ids, names and their order, text length, reasoning, usage, finish reason; the index was made by "
            "another program",
            lambda: index(subjects),
        )
        yield Proof(
            "The official SDKs on the same bytes",
            "over loopback: text, calls (id, name, arguments), finish reason and output tokens of the first choice",
            lambda: sdk(subjects),
        )


PARTS = {
    "wires": Part(list(SUBJECTS), "reliability.md", "Reliability", wire_proofs),
    "text": Part(TAUGHT, "reliability-text.md", "Reliability: calls in text", proofs_of_taught),
    "families": Part(
        [name for name in READABLE if name not in SUBJECTS and name not in TAUGHT],
        "reliability-families.md",
        "Reliability: the syntaxes of model families",
        proofs_of_families,
    ),
}


def main() -> int:
    """Obtain all figures, print and write them; 1 when one misses its target."""
    reader = argparse.ArgumentParser(prog="python -m bench.figures", description="The figures behind the claims.")
    reader.add_argument("--quick", action="store_true", help="a few minutes; nothing is written")
    reader.add_argument("--part", choices=PARTS, help="one part alone, with its document")
    reader.add_argument("--wire", choices=READABLE, help="one wire or text format alone; nothing is written")
    reader.add_argument("--mutations", type=int, help="bodies or texts of each format for A2 (default 100,000)")
    reader.add_argument("--only", help="only rows whose title begins so; nothing is written")
    given = reader.parse_args()
    quick = given.quick or not CORPUS.is_dir()
    if quick and not given.quick:
        print("The recordings are not here: a quick run over the streams made for the purpose, and nothing is written.")
    extent = proofs.QUICK if quick else proofs.FULL
    if given.mutations is not None:
        extent = msgspec.structs.replace(extent, mutations=given.mutations)
    missed = False
    for name, part in PARTS.items():
        names = [each for each in part.names if given.wire in (None, each)]
        if given.part not in (None, name) or not names:
            continue
        rows, holds = obtain(part.proofs(names, extent), given.only or "")
        whole = not (quick or given.wire or given.only)
        found = [] if not whole or name != "wires" else apis.every_api()
        missed |= not holds or not all(api.holds for api in found)
        parts = [
            f"# {part.heading}",
            "Written by `make figures` (`python -m bench.figures`): every figure is the result of that run, which "
            f"fails when one misses its target. On {machine()}.",
            table(["row", "format", "figure", "target", "how it was obtained"], rows),
        ]
        if found:
            parts += ["## Every API of the recordings", API_WORDS, apis.api_table(found)]
            parts.append(f"Of other formats, not read: {apis.unread_shapes()}.")
        if whole:
            write_document(part.document, parts)
        else:
            print("\n\n".join(parts))
    return 1 if missed else 0


def obtain(proofs_of_part: Iterator[Proof], beginning: str) -> tuple[list[list[str]], bool]:
    """The rows of the proofs whose title begins so, and whether all of them meet their targets."""
    rows: list[list[str]] = []
    holds = True
    for proof in proofs_of_part:
        if not proof.title.startswith(beginning):
            continue
        started = monotonic()
        for number, one in enumerate(proof.run()):
            title, how = ("", "") if number else (proof.title, proof.how)
            rows.append([title, one.wire, one.figure, "met" if one.holds else "**MISSED**", how])
            holds &= one.holds
            state = "" if one.holds else "MISSED "
            print(f"[{monotonic() - started:5.0f} s] {state}{proof.title}, {one.wire}: {one.figure}", flush=True)
    return rows, holds


if __name__ == "__main__":
    sys.exit(main())
