"""A program that stays connected: what it writes is read as it comes, and it is written to as long as it runs.

It is held as `run_process` holds its programs: on Linux by a supervisor, so that nothing of its tree outlives it or
Toolwire, elsewhere by its process group. Its standard error comes apart, and is always read: a program that nobody
listens to would stop at a full pipe.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from ..errors import ProgramError
from .captured import Captured
from .pipe_ends import ReadEnd, WriteEnd
from .process import DRAIN_SECONDS, GRACE_SECONDS, certainly, ended
from .process_group import ProcessGroup
from .program import Program
from .supervised import Supervised

LEAVE_SECONDS = 2.0
"""How long a program has to end by itself after its input was closed, before its tree is told to by SIGTERM."""

_KEPT_CHARACTERS = 100


class Attached:
    """One running program. Whoever makes it calls `close`, whatever happened; after that nothing of it lives.

    `on_error_output` is given its standard error as text. The environment is the whole of what it sees. Raises
    `ProgramError` where it cannot be started; what only the system can tell is in `refused` when it is `gone`.
    """

    def __init__(
        self,
        argv: Sequence[str],
        *,
        cwd: str | Path,
        environment: Mapping[str, str],
        on_error_output: Callable[[str], object],
    ) -> None:
        self._program = Program.checked(argv, cwd, environment, b"")
        self._loop = asyncio.get_running_loop()
        start = Supervised if sys.platform == "linux" else ProcessGroup
        with ExitStack() as ours, ExitStack() as theirs:
            try:
                (stdin, given), (taken, stdout) = _pipe(theirs, ours), _pipe(ours, theirs)
            except OSError as error:
                raise self._program.refused("start", error.errno or 0) from error
            self._child = start(
                self._program,
                Captured(_KEPT_CHARACTERS, on_error_output),
                grace=GRACE_SECONDS,
                drain=DRAIN_SECONDS,
                stdin=stdin,
                stdout=stdout,
            )
            ours.pop_all()
        self._given = WriteEnd(given)
        self._taken = ReadEnd(taken)
        self.gone.add_done_callback(lambda _: self._last())

    @property
    def gone(self) -> asyncio.Future[None]:
        """Done when no process of its tree lives."""
        return self._child.gone

    @property
    def refused(self) -> ProgramError | None:
        """Why it never ran."""
        return self._program.refused(*self._child.failed) if self._child.failed else None

    @property
    def ending(self) -> str:
        """How it ended, in words; empty while it runs."""
        if self._child.status is None:
            return ""
        code, name = ended(self._child.status)
        return f"exit code {code}" if name is None else name

    @property
    def left(self) -> int:
        """How many processes of the tree could not be ended."""
        return self._child.left

    async def read(self) -> bytes:
        """The next bytes of its standard output, none at the end. Nothing is read ahead."""
        return await self._taken.read()

    async def write(self, data: bytes) -> None:
        """Returns when it, or the pipe to it, has taken all; `OSError` when it takes nothing more."""
        await self._given.write(data)

    def drop_output(self) -> None:
        """Ends the reading: what it writes from now on is thrown away."""
        self._taken.drop()

    def end(self) -> None:
        """Begins to end the tree: SIGTERM, and SIGKILL after a grace."""
        self._child.end()

    async def close(self, leave: float = LEAVE_SECONDS) -> None:
        """Closes its input, gives it so many seconds to end, ends what is left. Returns when all of it is gone.

        However often it is cancelled, it does so; and in bounded time, whatever the program does.
        """
        self._taken.drop()
        self._given.close()
        ending = self._loop.call_later(leave, self._child.end)
        try:
            await certainly(self.gone)
        finally:
            ending.cancel()
            self._taken.close()

    def _last(self) -> None:
        self._given.close()
        self._taken.end()


def _pipe(reader: ExitStack, writer: ExitStack) -> tuple[int, int]:
    """A pipe, each end closed with the side that has it."""
    taken, given = os.pipe()
    reader.callback(os.close, taken)
    writer.callback(os.close, given)
    return taken, given
