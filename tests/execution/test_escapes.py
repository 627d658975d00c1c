"""Ways out of the sandbox, tried by real programs; and that a trial can fail."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import pytest
from bench.trust.escapes import escapes, sandboxes

from toolwire.execution.environment import child_environment
from toolwire.execution.process import run_process
from toolwire.execution.sandbox.escapes import ESCAPES, Escape
from toolwire.execution.sandbox.outside import Outside
from toolwire.execution.sandbox.sandbox import Profile, Sandbox
from toolwire.execution.sandbox.trials import try_escape, try_escapes

if sys.platform != "linux":
    pytest.skip("there is no sandbox but on Linux", allow_module_level=True)

BY_NAME = {escape.name: escape for escape in ESCAPES}


class Nothing:
    """A sandbox that holds nothing, and tells of a gap."""

    gaps = ("modes, owners and times of files elsewhere",)

    def __init__(self, prefix: Sequence[str] = ()) -> None:
        self._prefix = prefix

    def command(self, argv: Sequence[str], profile: Profile) -> list[str]:
        return [*self._prefix, *argv]


NOTHING = cast(Sandbox, Nothing())


def test_the_table() -> None:
    assert len(BY_NAME) == len(ESCAPES) > 100
    assert len({escape.shell or escape.python for escape in ESCAPES}) == len(ESCAPES)
    assert min(Counter(escape.kind for escape in ESCAPES).values()) >= 10
    assert all(bool(escape.shell) != bool(escape.python) for escape in ESCAPES)
    assert {escape.kind for escape in ESCAPES if escape.quick} == {escape.kind for escape in ESCAPES}


@pytest.mark.skipif(not sandboxes(), reason="nothing can confine a program here")
def test_nothing_gets_out() -> None:
    found = escapes(5, 3)
    assert found.faults == []
    assert found.runs > 0


SEEN = {
    "bash /dev/tcp": "a TCP connection came",
    "bash /dev/udp": "a datagram came",
    "a Unix socket": "a Unix connection came",
    "an abstract Unix socket": "an abstract connection came",
    "a netlink socket": "it was granted",
    "> outside": "kept.txt outside was changed",
    "mkdir outside": "made outside was changed",
    "mv of the folder": "a secret was read",
    "a hard link to a secret": "a secret was read",
    "the environment of another process": "a secret was read",
    "shared memory": "a secret was read",
    "kill -9": "a process outside was ended",
    "kill -STOP": "a process outside was stopped",
    "renice": "a process outside was changed",
    "a terminal": "a terminal was written to",
    "open files without end": "it grew to",
}


async def test_what_gets_out_is_seen_from_outside() -> None:
    trials = {trial.name: trial async for trial in try_escapes(NOTHING, [BY_NAME[name] for name in SEEN])}
    for name, words in SEEN.items():
        assert trials[name].state == "got out", trials[name]
        assert words in trials[name].why


async def test_a_gap_is_told() -> None:
    trial = await try_escape(NOTHING, BY_NAME["chmod"])
    assert trial.state == "got out"
    assert "known" in trial.why


async def test_what_is_not_tried_is_never_held() -> None:
    missing = Escape(name="x", kind="network", shell="true", needs=("toolwire-is-no-program",))
    trial = await try_escape(NOTHING, missing)
    assert (trial.state, trial.why) == ("not tried", "there is no toolwire-is-no-program")
    trial = await try_escape(NOTHING, Escape(name="x", kind="write", shell="echo cannot >&2; false"))
    assert (trial.state, trial.why) == ("not tried", "it gets nowhere without the sandbox either: cannot")


async def test_a_sandbox_that_cannot_start_holds_nothing() -> None:
    broken = cast(Sandbox, Nothing(["sh", "-c", "echo no such call; exit 126", "sh"]))
    trial = await try_escape(broken, BY_NAME["> outside"])
    assert (trial.state, trial.why) == ("not started", "no such call")


@pytest.mark.parametrize("sandbox", sandboxes(), ids=lambda sandbox: sandbox.means)
async def test_no_descriptor_is_handed_on(sandbox: Sandbox, tmp_path: Path) -> None:
    """What was opened before the sandbox could be used in it. The fourth is that of the listing itself."""
    argv = sandbox.command(["ls", "/proc/self/fd"], Profile(writable=(str(tmp_path),)))
    result = await run_process(argv, cwd=tmp_path, environment=child_environment(os.environ), timeout=10)
    assert result.output.split() == ["0", "1", "2", "3"]


async def test_nothing_of_a_world_is_left() -> None:
    async with Outside.made() as outside:
        there = [outside.workspace, Path(outside.names["SOCKET"]), Path(f"/proc/{outside.names['OTHER']}")]
        assert all(path.exists() for path in there)
        assert outside.signs("") == []
        (outside.workspace / "closed" / "within").mkdir(parents=True)
        (outside.workspace / "closed").chmod(0)
    assert not any(path.exists() for path in there)
