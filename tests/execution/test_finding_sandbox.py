"""Which sandbox is found on a machine, what cannot be asked of one, and its private folder and hidden files."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path

import pytest

from toolwire import hidden_paths
from toolwire.errors import ConfigError
from toolwire.execution.sandbox import temporary
from toolwire.execution.sandbox.sandbox import Means, Profile, Sandbox, default_hidden, find_sandbox, private_temp

NAMESPACES: Means = "landlock and namespaces"


def test_the_best_is_found_and_kept() -> None:
    sandbox = find_sandbox()
    assert sandbox is find_sandbox()
    assert sandbox.words
    if find_sandbox(NAMESPACES).holds:
        assert sandbox.means == NAMESPACES


def test_an_old_landlock_alone_is_not_enough() -> None:
    sandbox = find_sandbox("landlock", 2)
    assert not sandbox.holds
    assert "too old (version 2)" in sandbox.words
    with pytest.raises(ConfigError, match="cannot be confined here"):
        sandbox.command(["true"], Profile())


def test_a_bubblewrap_that_is_missing_is_named_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("toolwire.execution.sandbox.sandbox.landlock_abi", lambda: 7)
    assert find_sandbox.__wrapped__("bubblewrap").words == "bubblewrap is not installed"


@pytest.mark.parametrize("linked", [False, True])
def test_a_bubblewrap_that_came_with_the_project_is_not_run(
    linked: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder that one works in holds what anybody wrote, and an environment in it is first on the search path."""
    project = tmp_path / "project"
    (project / "bin").mkdir(parents=True)
    planted = project / "bin" / "bwrap"
    planted.write_text(f"#!/bin/sh\necho ran > {tmp_path}/ran\n")
    planted.chmod(0o755)
    if linked:
        (tmp_path / "bin").mkdir()
        os.symlink(planted, tmp_path / "bin" / "bwrap")
    monkeypatch.chdir(project)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin" if linked else f"{project}/bin")
    assert find_sandbox.__wrapped__("bubblewrap", 0).words.endswith("bubblewrap is not installed")
    assert not (tmp_path / "ran").exists()


def test_what_an_older_landlock_leaves_open_is_told() -> None:
    sandbox = find_sandbox("landlock", 4)
    if not sandbox.holds:
        pytest.skip(f"there is no Landlock here: {sandbox.words}")
    assert "signals to your other processes" in sandbox.gaps


@pytest.mark.parametrize(
    "body", ["exit 1", "while [ $# -gt 0 ] && [ $1 != -- ]; do shift; done; shift; exec /bin/sh -c 'true'"]
)
def test_a_bubblewrap_that_does_not_work_holds_nothing(
    body: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "bwrap"
    broken.write_text(f"#!/bin/sh\n{body}\n")
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    found = find_sandbox.__wrapped__("bubblewrap", 0)
    assert not found.holds
    assert "a first try of bubblewrap failed" in found.words


def test_a_bubblewrap_that_only_runs_the_program_is_found_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Inside is the filter of system calls, but no file is held by that."""
    broken = tmp_path / "bwrap"
    broken.write_text('#!/bin/bash\nwhile [ "$1" != -- ]; do shift; done\nshift\nexec "$@"\n')
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    found = find_sandbox.__wrapped__("bubblewrap", 0)
    assert not found.holds
    chroot = "a mount on /: Invalid argument" in found.words  # where the program inside already fails
    assert chroot or found.words == "bubblewrap starts here but holds nothing"


@pytest.mark.parametrize("means", ["landlock", NAMESPACES])
def test_profiles_that_make_no_sense(means: Means, tmp_path: Path) -> None:
    sandbox = Sandbox(means, "as if")
    with pytest.raises(ConfigError, match="absolute paths"):
        sandbox.command(["true"], Profile(writable=("here",)))
    with pytest.raises(ConfigError, match="absolute paths"):
        sandbox.command(["true"], Profile(hidden=("/a\0b",)))
    with pytest.raises(ConfigError, match="no program"):
        sandbox.command([], Profile())
    for limits in (Profile(open_files=0), Profile(processes=0), Profile(file_size=0), Profile(open_files=-1)):
        with pytest.raises(ConfigError, match="from 1 on"):
            sandbox.command(["true"], limits)
    link = tmp_path / "link"
    link.symlink_to(tmp_path)
    with pytest.raises(ConfigError, match="not the real path"):
        sandbox.command(["true"], Profile(writable=(str(link),)))
    for path in ("/", "/proc", "/proc/sys", "/sys", "/dev", "/dev/pts"):
        with pytest.raises(ConfigError, match="cannot be worked in by confined commands"):
            sandbox.command(["true"], Profile(writable=(path,)))
    with pytest.raises(ConfigError, match="hidden from commands"):
        sandbox.command(["true"], Profile(writable=(str(tmp_path),), hidden=(str(tmp_path.parent),)))


def test_a_private_folder_is_private_and_goes() -> None:
    with private_temp() as folder:
        assert stat.S_IMODE(os.stat(folder).st_mode) == 0o700
        assert os.path.realpath(folder) == folder
        kept = Path(folder, "a", "b", "c")
        kept.mkdir(parents=True)
        (kept / "file").write_text("text")
        kept.chmod(0)
        kept.parent.chmod(0o500)
        Path(folder, "moved-1").touch()
        deep = Path(folder, "deep")
        deep.mkdir()
        for _ in range(3):
            # Deeper than a path can be long.
            inner = Path(folder, "/".join(["d" * 50] * 60))
            inner.mkdir(parents=True)
            os.rename(deep, inner / "deep")
            os.rename(Path(folder, "d" * 50), deep)
    assert not os.path.exists(folder)


def test_only_the_private_folder_goes(tmp_path: Path) -> None:
    """Not what a link in it leads to, nor what has come into its place."""
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "file").touch()
    above = os.stat(tempfile.gettempdir()).st_mode
    with private_temp() as folder:
        Path(folder, "link").symlink_to(kept)
    assert not os.path.exists(folder)
    with private_temp() as folder:
        os.rmdir(folder)
        os.symlink(kept, folder)
    assert os.path.islink(folder)
    os.unlink(folder)
    with private_temp() as folder:
        os.rmdir(folder)
    assert (kept / "file").exists()
    assert os.stat(tempfile.gettempdir()).st_mode == above


def test_what_a_killed_one_left_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not what is in use, nor what is too young to tell, nor what only has such a name."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    (tmp_path / "kept").mkdir()
    left = tmp_path / f"{temporary.PREFIX}left"
    (left / "closed/deep").mkdir(parents=True)
    (left / "closed").chmod(0)
    (tmp_path / f"{temporary.PREFIX}link").symlink_to(tmp_path / "kept")
    (tmp_path / f"{temporary.PREFIX}file").touch()
    with private_temp() as used:
        assert left.exists()
        monkeypatch.setattr(temporary, "YOUNG_SECONDS", -1.0)
        with private_temp() as second:
            assert os.path.isdir(used)
            assert os.path.isdir(second)
            assert not left.exists()
    assert sorted(os.listdir(tmp_path)) == ["kept", f"{temporary.PREFIX}file", f"{temporary.PREFIX}link"]


def test_what_lies_in_the_homes_of_others_is_hidden_from_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "her/.ssh").mkdir(parents=True)
    monkeypatch.setattr(hidden_paths, "HOMES", str(tmp_path))
    for user, expected in ((0, True), (1000, False)):
        monkeypatch.setattr(os, "geteuid", lambda user=user: user)
        assert (str(tmp_path / "her/.ssh") in default_hidden("/home/me")) == expected
        assert str(tmp_path / "her/.aws") not in default_hidden("/home/me")


def test_of_very_many_homes_only_some_are_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hidden_paths, "HOMES", str(tmp_path))
    monkeypatch.setattr(hidden_paths, "MOST_HOMES", 2)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    for name in "abc":
        (tmp_path / name / ".ssh").mkdir(parents=True)
    found = [path for path in default_hidden("/home/me") if path.startswith(str(tmp_path))]
    assert found == [str(tmp_path / "a/.ssh"), str(tmp_path / "b/.ssh")]


def test_what_is_hidden_by_default() -> None:
    hidden = default_hidden("/home/me", ["/home/me/.config/toolwire"])
    assert {"/home/me/.ssh", "/home/me/.aws", "/etc/shadow", "/home/me/.config/toolwire"} <= set(hidden)
    assert "/etc/ssh/ssh_host_ed25519_key" in hidden
    assert all(os.path.isabs(path) and os.path.normpath(path) == path for path in hidden)
    assert len(set(hidden)) == len(hidden)
    assert not any(path.startswith("relative") for path in default_hidden("relative"))
