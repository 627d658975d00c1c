"""`LocalModel`: llama.cpp in a child process, as an OpenAI-compatible server on loopback.

A child, because a fault in native code must not take the user's program with it, and because loading and computing hold
the interpreter's lock. It ends with its parent, however the parent ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import sys
import tempfile
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

import msgspec

from ..errors import LocalModelError, ToolwireError
from ..extras import missing_extra, require
from ..redaction import NO_SECRET, Secret
from .library import import_failed
from .weights import SMOLLM2, installed_weights

START_SECONDS = 60.0
STOP_SECONDS = 2.0
CONTEXT = 4096
"""Tokens. Shaped requests stay under 1,500; the rest is room for unshaped ones and for other models."""

_HERE = Path(__file__).parent
_LOG_BYTES = 4096
_KEPT_VARIABLES = frozenset(
    ("PATH", "HOME", "LANG", "TMPDIR", "TEMP", "TMP", "SYSTEMROOT", "LD_LIBRARY_PATH", "PYTHONPATH", "PYTHONHOME")
)


class LocalModel:
    """A model served on this machine while the context lasts.

        async with LocalModel() as model:
            model.base_url      # "http://127.0.0.1:41234/v1"
            model.key           # what requests carry: Authorization: Bearer …

    Without `path` it is the embedded default, whose requests should go through `shape_request` (`needs_shaping`); any
    other GGUF file is served with its own chat template and unshaped. Raises `LocalModelError`.
    """

    def __init__(self, path: str | Path | None = None, *, context: int = CONTEXT) -> None:
        default = installed_weights()
        self.path = None if path is None else Path(path)
        self.needs_shaping = self.path is None or (default is not None and self.path.resolve() == default.resolve())
        self.model = SMOLLM2.name if self.path is None or self.needs_shaping else self.path.stem
        self.base_url = ""
        self.key = NO_SECRET
        """Another one at every start."""
        self._context = context
        self._process: asyncio.subprocess.Process | None = None

    @property
    def pid(self) -> int | None:
        """The child's process id while it runs."""
        process = self._process
        return process.pid if process is not None and process.returncode is None else None

    async def start(self, *, seconds: float = START_SECONDS) -> Self:
        """Start the child and wait until it answers; a second start of a running model does nothing."""
        if self.pid is not None:
            return self
        path = _checked(self.path or installed_weights())
        with tempfile.TemporaryFile() as log:
            self._process = process = await asyncio.create_subprocess_exec(
                *self._command(path),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
                env=_environment(),
                start_new_session=True,
            )
            self.key = Secret(secrets.token_urlsafe(32))
            try:
                await _tell(process, self.key)
                answer = await _first_answer(process, seconds, path)
            except BaseException:
                with contextlib.suppress(ProcessLookupError):
                    process.kill()  # it has nothing to put in order yet, and hears nothing while it loads
                await self.stop()
                raise
            if "base_url" not in answer:
                # It ends by itself. `kill` could reap it before asyncio does, which then prints a warning.
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(process.wait(), STOP_SECONDS)
                await self.stop()
                raise _start_failed(answer, process.returncode, log, path)
            self.base_url = str(answer["base_url"])
        return self

    async def stop(self) -> None:
        """End the child: ask by closing its input, then terminate, then kill. Safe to call twice."""
        process, self._process = self._process, None
        self.base_url, self.key = "", NO_SECRET
        if process is None:
            return
        if process.stdin is not None:
            process.stdin.close()
        for push in (process.terminate, process.kill):
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(process.wait(), STOP_SECONDS)
                break
            with contextlib.suppress(ProcessLookupError):
                push()
        await process.wait()

    async def __aenter__(self) -> Self:
        return await self.start()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    def _command(self, path: Path) -> list[str]:
        template = ["--template", str(_HERE / "template.jinja")] if self.needs_shaping else []
        return [
            sys.executable,
            "-P",
            str(_HERE / "child.py"),
            *("--model", str(path)),
            *("--name", self.model),
            *("--context", str(self._context)),
            *template,
        ]


async def _tell(process: asyncio.subprocess.Process, key: Secret) -> None:
    """Tell the child the key, where nobody else can read it."""
    assert process.stdin is not None
    process.stdin.write(f"{key.reveal()}\n".encode())
    with contextlib.suppress(ConnectionError):  # it has ended already: its answer says why
        await process.stdin.drain()


async def _first_answer(process: asyncio.subprocess.Process, seconds: float, path: Path) -> dict[str, Any]:
    """What the child says once it has loaded the model or failed; nothing if it ends without a word."""
    assert process.stdout is not None
    try:
        line = await asyncio.wait_for(process.stdout.readline(), seconds)
    except TimeoutError:
        raise LocalModelError(
            f"{path.name} was not ready after {seconds:g} seconds",
            hint="A large model needs more time or a faster disk; a smaller one starts at once.",
            path=str(path),
        ) from None
    answer: dict[str, Any] = msgspec.json.decode(line) if line else {}
    return answer


def _start_failed(answer: dict[str, Any], status: int | None, log: IO[bytes], path: Path) -> ToolwireError:
    if answer.get("error") == "missing":
        return missing_extra("local", LocalModelError)
    if answer.get("error") == "import":
        return import_failed(str(answer["detail"]))
    return LocalModelError(
        f"{path.name} could not be started: {answer.get('detail') or f'the process ended with status {status}'}",
        hint=f"llama.cpp said:\n{_tail(log)}",
        path=str(path),
        status=status,
    )


def _environment() -> dict[str, str]:
    """What the child needs of our environment, and no key that may lie in it."""
    kept = {name: value for name, value in os.environ.items() if name in _KEPT_VARIABLES or name.startswith("LC_")}
    return kept | {"OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "passive"}


def _checked(path: Path | None) -> Path:
    """The path, if a GGUF file lies there."""
    if path is None:
        require("local", LocalModelError)
        raise LocalModelError(
            "the weights of the embedded model are not installed", hint="Install them once: toolwire local install"
        )
    try:
        with path.open("rb") as file:
            magic = file.read(4)
    except OSError as error:
        raise LocalModelError(
            f"the model file cannot be read: {error.strerror or error}",
            hint=f"Check the path: {path}",
            path=str(path),
        ) from None
    if magic != b"GGUF":
        raise LocalModelError(
            f"{path.name} is not a GGUF file",
            hint="Give a file that llama.cpp can load; its name usually ends in .gguf.",
            path=str(path),
        )
    return path


def _tail(log: IO[bytes]) -> str:
    size = log.seek(0, os.SEEK_END)
    log.seek(max(0, size - _LOG_BYTES))
    lines = log.read().decode(errors="replace").splitlines()
    return "\n".join(lines[-8:]) or "nothing"
