"""The real command at a real terminal: what is typed, what is on the screen."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import subprocess
import sys
import termios
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Self

from cli.command import clean_environment
from waiting import until

CTRL_C, CTRL_D = "\x03", "\x04"


class Terminal:
    """`program` is a file to run instead of the command, `size` the columns and lines."""

    def __init__(
        self,
        *arguments: str,
        env: Mapping[str, str] | None = None,
        program: Path | None = None,
        size: tuple[int, int] = (0, 0),
    ) -> None:
        self._master, slave = pty.openpty()
        termios.tcsetwinsize(slave, size[::-1])
        self._process = subprocess.Popen(
            [sys.executable, *(["-m", "toolwire"] if program is None else [str(program)]), *arguments],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env=clean_environment(env),
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(slave)
        self.screen = ""

    @property
    def process(self) -> int:
        """Its id."""
        return self._process.pid

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        if self._master >= 0:
            os.close(self._master)

    def type(self, text: str) -> None:
        os.write(self._master, text.encode())

    def wait_for(self, text: str, seconds: float = 20.0) -> str:
        """What came until `text` was on the screen; it is taken off what later calls look at."""
        end = time.monotonic() + seconds
        while text not in self.screen:
            ready, _, _ = select.select([self._master], [], [], max(0.0, end - time.monotonic()))
            if not ready or not (data := self._read()):
                raise AssertionError(f"{text!r} did not come; the screen ends with:\n{self.screen[-600:]}")
            self.screen += data.decode("utf-8", "replace")
        before, _, self.screen = self.screen.partition(text)
        return before + text

    def wait_for_editor(self) -> None:
        """The prompt is there a moment before the line editor behind it, which then sleeps until something is typed."""
        time.sleep(0.1)
        stat = Path(f"/proc/{self.process}/stat")
        assert not stat.exists() or until(lambda: stat.read_text().rpartition(")")[2].split()[0] == "S")

    def end(self) -> int:
        """Reads on until the command has ended; its exit code."""
        while data := self._read():
            self.screen += data.decode("utf-8", "replace")
        return self._process.wait(20)

    def hang_up(self) -> int:
        """Closes the window; the exit code of the command, which must end then."""
        os.close(self._master)
        self._master = -1
        return self._process.wait(20)

    def _read(self) -> bytes:
        try:
            return os.read(self._master, 65536)
        except OSError:
            return b""
