"""Every test here has a person with nothing set up, in an empty folder."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("TOOLWIRE_DISCOVER", "0")
    work = tmp_path / "project"
    work.mkdir()
    monkeypatch.chdir(work)
    return work
