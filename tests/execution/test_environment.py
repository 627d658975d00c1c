"""Children see the variables that programs need, those that were given on purpose, and nothing else."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from bench.trust.children import canaries

from programs import needs
from toolwire.errors import ConfigError
from toolwire.execution.environment import CAREFUL_GIT, child_environment
from toolwire.execution.process import run_process


def test_a_thousand_secrets_in_the_environment_reach_no_child() -> None:
    found = canaries(1_000, 1)
    assert (found.runs, found.faults) == (1_000, [])


def test_a_secret_that_is_given_on_purpose_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bench.trust.children.child_environment", lambda env: dict(env))
    assert len(canaries(20, 1).faults) > 20


NEEDED = {"PATH": "/bin", "HOME": "/home/a", "USER": "a", "LANG": "C.UTF-8", "LC_ALL": "C", "TZ": "UTC", "TERM": "dumb"}


def test_what_programs_need_comes_through() -> None:
    assert child_environment(NEEDED) == NEEDED | CAREFUL_GIT


REFUSED = [
    ("OPENAI_API_KEY", "sk"),
    ("SSH_AUTH_SOCK", "/tmp/agent"),
    ("https_proxy", "http://user:word@host"),
    ("LD_PRELOAD", "/tmp/x.so"),
    ("BASH_ENV", "/tmp/x"),
    ("PYTHONPATH", "/tmp"),
    ("LC_SECRET", "x"),
    ("LC_", "x"),
    ("path", "/bin"),
    ("PATH ", "/bin"),
    ("HOME\n", "x"),
    ("BASH_FUNC_ls%%", "() { rm -rf /; }"),
    ("LANG", "() { :; }; echo shellshock"),
    ("LANG", " \t() { :; }"),
    ("TOOLWIRE_CALL", "of the call around this one"),
]


@pytest.mark.parametrize(("name", "value"), REFUSED)
def test_anything_else_stays(name: str, value: str) -> None:
    assert child_environment({name: value}) == {"PATH": os.defpath} | CAREFUL_GIT


def test_what_is_given_on_purpose_wins() -> None:
    given = {"API_KEY": "k", "LANG": "C"}
    assert child_environment(NEEDED, given) == NEEDED | CAREFUL_GIT | given
    own = {"GIT_CONFIG_COUNT": "0"}
    assert child_environment(NEEDED, own) == NEEDED | own


PATHS = [
    ("/usr/bin:/bin", "/usr/bin:/bin"),
    ("/usr/bin::/bin", "/usr/bin:/bin"),
    (":/usr/bin:", "/usr/bin"),
    (".:/usr/bin:bin:./x:../y:~/bin", "/usr/bin"),
    ("", os.defpath),
    (".", os.defpath),
]


@pytest.mark.parametrize(("path", "kept"), PATHS)
def test_a_path_has_absolute_folders_alone(path: str, kept: str) -> None:
    assert child_environment({"PATH": path})["PATH"] == kept
    assert child_environment({"PATH": "/nowhere"}, {"PATH": path})["PATH"] == kept


WRONG = [
    ("", "x"),
    ("A=B", "x"),
    ("A\0", "x"),
    ("A", "x\0y"),
    ("BASH_FUNC_ls%%", "() { :; }"),
    ("A", "() { :; }"),
]


@pytest.mark.parametrize(("name", "value"), WRONG)
def test_what_cannot_be_given_is_an_error_that_says_so(name: str, value: str) -> None:
    with pytest.raises(ConfigError) as raised:
        child_environment({}, {name: value})
    assert raised.value.hint


def test_windows_needs_more_names_in_any_case(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolwire.execution.environment.sys.platform", "win32")
    given = {"SystemRoot": r"C:\Windows", "PathExt": ".EXE", "Path": "/bin", "Api_Key": "x"}
    assert child_environment(given) == {"SystemRoot": r"C:\Windows", "PathExt": ".EXE", "Path": "/bin"} | CAREFUL_GIT


@needs("git")
async def test_git_runs_nothing_from_files_that_pose_as_a_repository(tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    (bare / "objects").mkdir(parents=True)
    (bare / "refs").mkdir()
    (bare / "HEAD").write_text("ref: refs/heads/main\n")
    config = '[core]\n\trepositoryformatversion = 0\n\tworktree = "."\n\tfsmonitor = "touch ran; false"\n'
    (bare / "config").write_text(config)
    for extra, ran in (({"GIT_CONFIG_COUNT": "0"}, True), (None, False)):
        environment = child_environment(os.environ, extra)
        await run_process(["git", "status"], cwd=str(bare), environment=environment, timeout=60)
        assert (bare / "ran").exists() is ran
        (bare / "ran").unlink(missing_ok=True)
