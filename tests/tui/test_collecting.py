"""What outlives a full collection is set aside, and looked at again when nothing is waited for."""

from __future__ import annotations

import subprocess
import sys

_PROGRAM = """
import gc, weakref
from toolwire.tui.collecting import collect_all, collect_quietly

class Thing: pass

assert not collect_all()
collect_quietly()
collect_quietly()
assert gc.get_freeze_count() > 1_000
thing = Thing()
thing.itself = thing
seen = weakref.ref(thing)
gc.collect()
del thing
gc.collect()
assert seen() is not None, "it was set aside"
assert not collect_all(), "too early"
for _ in range(8):
    gc.collect()
assert collect_all()
assert seen() is None
assert gc.get_freeze_count() > 1_000
"""


def test_in_a_process_of_its_own() -> None:
    ended = subprocess.run([sys.executable, "-c", _PROGRAM], capture_output=True, text=True, timeout=60)
    assert ended.returncode == 0, ended.stderr
