"""The lock of a session: it ends with its process, and is nobody's when its file goes away while somebody waits."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from toolwire.agent.events import RunStarted
from toolwire.agent.sessions import lock as lock_module
from toolwire.agent.sessions.lock import SessionLock, holder
from toolwire.agent.sessions.store import SessionStore
from toolwire.errors import ConfigError
from toolwire.messages import user


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SessionStore]:
    with SessionStore(tmp_path / "state" / "sessions.db") as store:
        yield store


def test_a_lock_that_was_let_go_meanwhile_is_nobodys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever lets go removes the file: who had opened it before that holds something that nobody else will look at."""
    first = SessionLock(tmp_path, "s")
    take = lock_module._take

    def let_go_first(descriptor: int, *seconds: float) -> None:
        first.release()
        take(descriptor, *seconds)

    monkeypatch.setattr(lock_module, "_take", let_go_first)
    second = SessionLock(tmp_path, "s")
    monkeypatch.undo()
    assert holder(tmp_path, "s").startswith("process ")
    with pytest.raises(BlockingIOError):
        SessionLock(tmp_path, "s")
    second.release()
    assert holder(tmp_path, "s") == ""


def test_a_lock_ends_with_its_process(store: SessionStore) -> None:
    session = store.create(model="m", cwd="/w")
    session.said(user("Save it"))
    session.noted(RunStarted("openai", "m", ""))
    session.close()
    code = (
        "import sys, time; from toolwire.agent.sessions.store import SessionStore\n"
        "from toolwire.agent.events import RunStarted\n"
        "session = SessionStore(sys.argv[1]).open(sys.argv[2]); session.noted(RunStarted('p', 'm', ''))\n"
        "print('open', flush=True); time.sleep(60)"
    )
    child = subprocess.Popen([sys.executable, "-c", code, str(store.path), session.id], stdout=subprocess.PIPE)
    try:
        assert child.stdout is not None
        assert child.stdout.readline() == b"open\n"
        assert store.list()[0].state == "running"
        with pytest.raises(ConfigError, match=f"open in process {child.pid}"):
            store.open(session.id)
    finally:
        child.kill()
        child.wait()
        assert child.stdout is not None
        child.stdout.close()
    assert store.list()[0].state == "cut off"
    assert store.open(session.id).info.state == "cut off"
