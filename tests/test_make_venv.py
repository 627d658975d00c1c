"""`scripts/make_venv.sh`, which `make` runs first: which Python it takes, and when it makes .venv anew."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SCRIPT = ROOT / "scripts" / "make_venv.sh"

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="make and sh are not on Windows")

FAKE = """#!/bin/sh
case "$1$2" in
-c*ensurepip*) echo "{name} {major} {minor} {threads} {tools}" ;;
-c*version_info*) echo "{major}.{minor}" ;;
-mvenv)
    mkdir -p "$3/bin"
    cp "$0" "$3/bin/python"
    echo "command = $0 -m venv $(pwd -P)/$3" > "$3/pyvenv.cfg" ;;
esac
"""
"""An interpreter that answers the script's questions, and makes an environment that holds a copy of itself."""


class Checkout:
    """An empty checkout, and a PATH with no Python but those that the test puts there."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "Prüf stand"
        self.bin = folder / "bin"
        self.root.mkdir()
        self.bin.mkdir()
        for tool in ("sh", "bash", "cat", "cp", "mkdir", "mv", "rm", "sed", "touch", "make"):
            if found := shutil.which(tool):
                (self.bin / tool).symlink_to(found)

    def python(
        self,
        name: str,
        version: str,
        *,
        implementation: str = "cpython",
        threads: str = "default",
        tools: str = "venv",
    ) -> Path:
        major, minor = version.split(".")
        path = self.bin / name
        path.write_text(FAKE.format(name=implementation, major=major, minor=minor, threads=threads, tools=tools))
        path.chmod(0o755)
        return path

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        environment = {"PATH": str(self.bin), "LC_ALL": "C"}
        return subprocess.run(command, cwd=self.root, env=environment, capture_output=True, encoding="utf-8")

    def make_venv(self, python: str = "") -> subprocess.CompletedProcess[str]:
        return self.run("sh", str(SCRIPT), ".venv", python)

    @property
    def version(self) -> str:
        """Version of the Python in .venv."""
        return self.run(".venv/bin/python", "-c", "version_info").stdout.strip()


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path)


def test_the_first_suitable_python_is_taken(checkout: Checkout) -> None:
    checkout.python("python3", "3.10")
    checkout.python("python3.14", "3.14", threads="free")
    checkout.python("python3.13", "3.13", tools="no-venv")
    checkout.python("python3.12", "3.12")
    checkout.python("python3.11", "3.11")
    made = checkout.make_venv()
    assert (made.returncode, made.stderr) == (0, "")
    assert made.stdout == "Making .venv with python3.12 …\n"
    assert checkout.version == "3.12"


UNSUITABLE = [
    ({"version": "3.10"}, "is Python 3.10; Toolwire needs 3.11 to 3.14"),
    ({"version": "3.15"}, "is Python 3.15; Toolwire needs 3.11 to 3.14"),
    ({"version": "2.7", "implementation": "python"}, "is Python 2.7; Toolwire needs 3.11 to 3.14"),
    ({"version": "3.11", "implementation": "pypy"}, "is pypy; Toolwire needs CPython"),
    ({"version": "3.14", "threads": "free"}, "is a free-threaded build"),
    ({"version": "3.13", "tools": "no-venv"}, "has no venv module (Debian and Ubuntu: apt install python3.13-venv)"),
]


@pytest.mark.parametrize(("facts", "words"), UNSUITABLE)
def test_an_unsuitable_python_is_refused(checkout: Checkout, facts: dict[str, str], words: str) -> None:
    named = checkout.python("python3", **facts)
    refused = checkout.make_venv(str(named))
    assert refused.returncode == 1
    assert refused.stderr.startswith(f"{named} {words}")
    assert "make PYTHON=/path/to/python3" in refused.stderr
    refused = checkout.make_venv()
    assert refused.returncode == 1
    assert f"  python3 {words}" in refused.stderr
    assert "make PYTHON=/path/to/python3" in refused.stderr
    assert not (checkout.root / ".venv").exists()


def test_no_python_at_all_is_said(checkout: Checkout) -> None:
    refused = checkout.make_venv()
    assert refused.returncode == 1
    assert refused.stderr.startswith("No suitable Python was found. Toolwire needs CPython 3.11 to 3.14")
    refused = checkout.make_venv("/nowhere/python3")
    assert refused.returncode == 1
    assert refused.stderr.startswith("/nowhere/python3 cannot be run.\n")


def test_an_environment_that_is_usable_stays(checkout: Checkout) -> None:
    checkout.python("python3", "3.11")
    other = checkout.python("other", "3.12")
    checkout.make_venv(str(other))
    kept = checkout.root / ".venv" / "kept"
    kept.touch()
    for python in ("", str(other), "other"):
        again = checkout.make_venv(python)
        assert (again.returncode, again.stdout, again.stderr) == (0, "", "")
    assert kept.exists()
    assert checkout.version == "3.12"


def test_another_version_is_made_anew(checkout: Checkout) -> None:
    checkout.python("python3", "3.11")
    checkout.make_venv()
    (checkout.root / ".venv" / ".run").touch()
    checkout.python("other", "3.12")
    made = checkout.make_venv("other")
    assert made.stdout == "Making .venv anew with other: it has Python 3.11, and other is Python 3.12.\n"
    assert checkout.version == "3.12"
    assert not (checkout.root / ".venv" / ".run").exists()


def test_an_unsuitable_environment_is_made_anew(checkout: Checkout) -> None:
    checkout.python("python3", "3.11")
    checkout.make_venv()
    shutil.copy(checkout.python("old", "3.10"), checkout.root / ".venv" / "bin" / "python")
    made = checkout.make_venv()
    assert made.stdout == "Making .venv anew with python3: it has Python 3.10.\n"
    assert checkout.version == "3.11"


def test_an_environment_whose_python_is_gone_is_made_anew(checkout: Checkout) -> None:
    checkout.python("python3", "3.11")
    checkout.make_venv()
    inside = checkout.root / ".venv" / "bin" / "python"
    inside.unlink()
    inside.symlink_to(checkout.bin / "gone")
    made = checkout.make_venv()
    assert made.stdout == "Making .venv anew with python3: its Python cannot be run.\n"
    assert checkout.version == "3.11"


def test_an_environment_that_was_moved_is_made_anew(checkout: Checkout) -> None:
    checkout.python("python3", "3.11")
    checkout.make_venv()
    before = checkout.root.resolve() / ".venv"
    checkout.root = checkout.root.rename(checkout.root.with_name("moved"))
    made = checkout.make_venv()
    assert made.stdout == f"Making .venv anew with python3: it was made for {before}.\n"
    assert checkout.make_venv().stdout == ""


def test_a_usable_environment_stays_when_the_python_asked_for_is_not_suitable(checkout: Checkout) -> None:
    checkout.python("python3", "3.11")
    checkout.make_venv()
    assert checkout.make_venv("/nowhere/python3").returncode == 1
    assert checkout.version == "3.11"


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_make_installs_again_only_into_a_new_environment(checkout: Checkout) -> None:
    checkout.python("python3", "3.11")
    checkout.python("other", "3.12")
    (checkout.root / "scripts").mkdir()
    shutil.copy(SCRIPT, checkout.root / "scripts")
    rules = (ROOT / "Makefile").read_text(encoding="utf-8")
    (checkout.root / "Makefile").write_text(f"{rules}\n$(VENV)/.probe: $(VENV)/.made\n\t@echo installed\n\ttouch $@\n")
    first, again = (checkout.run("make", ".venv/.probe").stdout for _ in range(2))
    assert first == "Making .venv with python3 …\ninstalled\n"
    assert "installed" not in again
    assert "Making" not in again
    other = checkout.run("make", ".venv/.probe", "PYTHON=other").stdout
    assert other.endswith("it has Python 3.11, and other is Python 3.12.\ninstalled\n")


def test_the_versions_are_those_of_the_package() -> None:
    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["requires-python"]
    script = SCRIPT.read_text(encoding="utf-8")
    oldest, newest = (int(re.findall(rf"^{name}=(\d+)$", script, re.MULTILINE)[0]) for name in ("oldest", "newest"))
    assert wanted == f">=3.{oldest},<3.{newest + 1}"
