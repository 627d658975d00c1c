"""`TypedLines`: what was sent and is not understood yet, since files and servers may take their time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

from ..chat.talk import Talk
from ..chat.typed import QuestionLine, ShellLine, SlashLine, read_typed
from ..tasks import create_lazy_task

Sent = tuple[str, Mapping[str, str]]
"""What was typed, and what stands behind labels in it."""


class TypedLines:
    """Reads one line after the other, in their order; the keys and the screen do not wait for what they mention.

    `do` is called for each that is understood, `refuse` for each that is not.
    """

    def __init__(
        self,
        talk: Talk,
        do: Callable[[SlashLine | ShellLine | QuestionLine, Sent], None],
        refuse: Callable[[Exception, Sent], None],
    ) -> None:
        self._talk = talk
        self._do = do
        self._refuse = refuse
        self._unread: list[Sent] = []
        self._reading: asyncio.Task[None] | None = None

    @property
    def busy(self) -> bool:
        """Whether something is being read."""
        return self._reading is not None

    def add(self, text: str, pasted: Mapping[str, str] | None = None) -> None:
        """One more line."""
        self._unread.append((text, pasted or {}))
        if self._reading is None:
            self._reading = create_lazy_task(self._read())

    def stop(self) -> list[Sent]:
        """Gives back what is not understood yet."""
        unread, self._unread = self._unread, []
        if self._reading is not None:
            self._reading.cancel()
        return unread

    async def _read(self) -> None:
        try:
            while self._unread:
                text, pasted = sent = self._unread[0]
                root, servers = self._talk.assembly.workspace.root, self._talk.made.servers
                try:
                    line = await read_typed(text, root=root, servers=servers, pasted=pasted)
                except Exception as error:
                    del self._unread[0]
                    self._refuse(error, sent)
                    continue
                del self._unread[0]
                self._do(line, sent)
        finally:
            self._reading = None
