"""What others say of the same recordings: the recording clients, the index, the official SDKs.

The comparisons are those of the tests (tests/test_corpus.py, tests/test_sdk_agreement.py); here they are counted over
every recording.
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import msgspec

from .checks import decode
from .payloads import ROOT, corpus_body, corpus_rows, expected_calls
from .wires import Subject

sys.path.append(str(ROOT / "tests"))

import test_corpus
import test_sdk_agreement


class Agreement(msgspec.Struct):
    """How many bodies agree, how many are known not to and why, and which differ for no known reason."""

    bodies: int = 0
    equal: int = 0
    known: int = 0
    differ: list[str] = []
    refused: int = 0
    read_here: int = 0

    @property
    def holds(self) -> bool:
        """Every difference is understood."""
        return self.bodies > 0 and not self.differ and self.equal + self.known == self.bodies

    def note(self, case: str, differences: Any, *, known: bool = False) -> None:
        """Count one body."""
        self.bodies += 1
        if known:
            self.known += 1
        elif not differences:
            self.equal += 1
        else:
            self.differ.append(case)
            print(f"DIFFERS {case}: {str(differences)[:600]}")

    def words(self, file: str) -> str:
        """In words; the reasons for what is known to differ stand in a file of the tests."""
        made = f"{self.equal:,} of {self.bodies:,} bodies equal"
        if self.known:
            made += f", {self.known} known to differ (each with its reason in tests/data/{file})"
        if self.differ:
            made += f", {len(self.differ)} differ"
        return made


def with_clients(subject: Subject) -> Agreement:
    """The calls that the recording client sent back in its next request."""
    found = Agreement(differ=[])
    expected = expected_calls()
    for row in corpus_rows(subject.shape, core=False):
        if row["case"] in expected:
            theirs = expected[row["case"]]
            invocations = decode(subject.name, [corpus_body(row)])[1].invocations
            ids = [call["id"] and (one.call_id or one.id) for one, call in zip(invocations, theirs, strict=False)]
            # A client that did not send the id back says nothing of it.
            ours = [
                {"id": call_id, "name": one.tool_name, "args": one.arguments}
                for call_id, one in zip(ids, invocations, strict=False)
            ]
            found.note(row["case"], [] if ours == theirs else [ours, theirs])
    return found


def with_index(subject: Subject) -> Agreement:
    """The index: calls, names, ids, order, text length, reasoning, usage, finish reason."""
    found = Agreement(differ=[])
    for row in corpus_rows(subject.shape, core=False):
        try:
            test_corpus.check_against_index(row)
        except AssertionError as error:
            found.note(row["case"], [error])
        else:
            found.note(row["case"], [], known=row["case"] in test_corpus.INDEX_FAULTS)
    return found


def with_sdk(subject: Subject) -> Agreement:
    """The official SDK over loopback: text, calls, finish reason, output tokens."""
    rows = [row for row in test_sdk_agreement.servable(subject.name, core=False) if row["case"]]
    faults = test_sdk_agreement.SDK_FAULTS[subject.name]
    equal, differing, failed = asyncio.run(test_sdk_agreement.agreement(subject.name, rows))
    found = Agreement(bodies=equal, equal=equal, differ=[], refused=len(failed))
    for case, differences in differing.items():
        found.note(case, differences, known=case in faults)
    found.read_here = sum(decode(subject.name, [corpus_body(row)])[1].complete for row in rows if row["case"] in failed)
    return found
