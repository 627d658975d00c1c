"""Every API in the index of the recordings: how many of its bodies are read right, and of its follow-ups matched.

    python -m bench.apis

A body is right when calls, ids, names, order, text, reasoning, usage and finish reason are those of the index, or where
the index errs, those that tests/data/index_faults.json gives with a reason. A follow-up is matched when what Toolwire
writes is what the recording client sent next, as it is or under the rules of docs/encoding.md.
"""

from __future__ import annotations

import sys
from collections import Counter

import msgspec

from .payloads import ROOT
from .report import table

sys.path.append(str(ROOT / "tests"))

import corpus
import recorded_requests
import test_corpus
import test_followups
from followup_rules import RULES
from followups import KNOWN_DIFFERENT


class Api(msgspec.Struct):
    """What was found for one API of one format."""

    wire: str
    name: str
    bodies: int = 0
    right: int = 0
    index_errs: int = 0
    followups: int = 0
    matched: int = 0
    wrong: list[str] = []

    @property
    def holds(self) -> bool:
        """Every body is right, and every follow-up matched or understood."""
        return self.bodies > 0 and not self.wrong

    @property
    def cells(self) -> list[str]:
        """One row of the table."""
        matched = f"{self.matched} of {self.followups}" if self.followups else ""
        errs = f" ({self.index_errs} where the index errs)" if self.index_errs else ""
        return [self.name, self.wire, str(self.bodies), f"{self.right}{errs}", matched]


def every_api() -> list[Api]:
    """All of them, in the order of the formats and then of their names."""
    found: dict[tuple[str, str], Api] = {}
    api_of: dict[str, Api] = {}
    for row in corpus.every_row(core=False):
        key = test_corpus.wire_of(row), row["api"]
        api = found.setdefault(key, Api(*key, wrong=[]))
        api_of[row["case"]] = api
        api.bodies += 1
        try:
            test_corpus.check_against_index(row)
        except AssertionError as error:
            api.wrong.append(row["case"])
            print(f"WRONG {row['case']}: {str(error)[:600]}")
        else:
            api.right += 1
            api.index_errs += row["case"] in test_corpus.INDEX_FAULTS
    known = KNOWN_DIFFERENT["followups"]
    for wire in recorded_requests.CLIENTS:
        for pair in test_followups.compared(wire, "followups")[0]:
            api = api_of[pair.case]
            api.followups += 1
            if pair.verdict(RULES) != "different":
                api.matched += 1
            elif pair.case not in known:
                api.wrong.append(pair.case)
    order = list(dict.fromkeys(corpus.WIRES.values()))
    return sorted(found.values(), key=lambda api: (order.index(api.wire), api.name))


def api_table(apis: list[Api]) -> str:
    """The table, with the sum at its end and what of the index is of no format that is read."""
    rows = [api.cells for api in apis]
    total = Api("", "all", wrong=[])
    for field in ("bodies", "right", "index_errs", "followups", "matched"):
        setattr(total, field, sum(getattr(api, field) for api in apis))
    rows.append(total.cells)
    return table(["api", "wire", "bodies", "right", "follow-ups matched"], rows)


def unread_shapes() -> str:
    """The bodies of the index that are of other formats, in words."""
    others = Counter(row["shape"] for row in corpus.index() if row["shape"] not in corpus.WIRES)
    return ", ".join(f"{shape} {count}" for shape, count in others.most_common())


def main() -> int:
    """Print the table; 1 when a body is wrong."""
    apis = every_api()
    print(api_table(apis))
    print(f"\nOf other formats, not read: {unread_shapes()}.")
    return 0 if all(api.holds for api in apis) else 1


if __name__ == "__main__":
    sys.exit(main())
