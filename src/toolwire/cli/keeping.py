"""The session that a run of the command is written to: a new one, or an earlier one that goes on."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Self

from ..errors import ConfigError, SessionFailed
from ..folders import state_folder
from .faults import say
from .inputs import NEWEST, as_text
from .telling import call_words
from .visible import one_line

if TYPE_CHECKING:
    from ..agent.sessions.store import Session

_QUESTION = 100
"""Characters of the last question by which a person knows where they were."""


def check_resume(*, no_session: bool, system: str, has_question: bool) -> None:
    """What does not go together with `--resume`, said before anything is opened."""
    if no_session:
        raise ConfigError(
            "--resume goes on with a session, which --no-session rules out", hint="Leave one of them out."
        )
    if system:
        raise ConfigError(
            "--system stands before a conversation, and this one has begun", hint="Leave it out, or begin a new one."
        )
    if not has_question:
        raise ConfigError(
            "there is nothing to ask, and no terminal to ask at",
            hint='Give the next question: toolwire run "Go on" --resume',
        )


def check_state_folder(*, sessions: bool, audit: bool) -> None:
    """Report a state folder that cannot be written before anything is asked.

    Without sessions it is a warning: the model can still answer, but a tool runs only if its call can be audited.
    """
    if not (sessions or audit):
        return
    folder = state_folder(os.environ)
    there = next(each for each in (folder, *folder.parents) if os.path.lexists(each))
    if there.is_dir() and os.access(there, os.W_OK | os.X_OK):
        return
    problem = f"cannot write to {as_text(str(folder))}"
    hint = "Set XDG_STATE_HOME to a folder that you can write"
    if sessions:
        raise SessionFailed(f"{problem}, where sessions and the audit trail are kept", hint=f"{hint}.")
    say(f"warning: {problem}, where the audit trail is kept, so no tool will run", f"{hint}, or give --no-audit.")


class Keeping:
    """The store, open as long as the command runs, and the session in it. Without `keep` there is neither."""

    def __init__(self, folder: str, *, keep: bool, resume: str | None) -> None:
        from ..agent.sessions.store import SessionStore, sessions_path

        self._folder = folder
        self.store = SessionStore(sessions_path(os.environ)) if keep else None
        self._session: Session | None = None
        if self.store is not None and resume is not None:
            self._session = self.store.open(self._newest() if resume == NEWEST else as_text(resume))
        self._resumed = self._session.info if self._session is not None else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.store is not None:
            self.store.close()

    @property
    def model(self) -> str:
        """The model that the session was begun with; empty for a new one."""
        return self._resumed.model if self._resumed is not None else ""

    @property
    def base_url(self) -> str | None:
        """Where its server was, if that was said. A password in it was not kept."""
        url = self._resumed.base_url if self._resumed is not None else ""
        if "***" in url:
            raise ConfigError(
                f"the address of the session's server held a secret, which was not kept: {url}",
                hint="Give it again: --model and --base-url",
            )
        return url or None

    def session_for(self, model: str, base_url: str | None) -> Session | None:
        """The session that goes on, or a new one with this model."""
        if self._session is None and self.store is not None:
            self._session = self.store.create(model=model, cwd=self._folder, base_url=base_url or "")
        return self._session

    def resumed_words(self) -> list[str]:
        """Where an earlier conversation stands; nothing for a new one."""
        session, info = self._session, self._resumed
        if session is None or info is None:
            return []
        count = len(session.messages)
        words = [f"Session {info.id}, {count} message{'' if count == 1 else 's'}. {_ENDS.get(info.state, '')}".rstrip()]
        if not info.is_in(self._folder):
            words.append(f"It was begun in {one_line(info.cwd)}; tools work here.")
        asked = next((each for each in reversed(session.messages) if each.role == "user"), None)
        if asked is not None:
            question = one_line(asked.text)
            words.append(f"The last question: {question[:_QUESTION]}{'…' * (len(question) > _QUESTION)}")
        return words + [
            f"Look out: {''.join(call_words(call.name, call.arguments))} was running when the program ended. Whether "
            "it did its work is not known; it is not repeated, and the model is told so."
            for call in session.unknown
        ]

    def tell(self) -> None:
        """Says how to go on, where something was asked."""
        if self._session is not None and self._session.info.title:
            id = self._session.id
            say(f"session {id}; go on with: toolwire run --resume {id}")

    def _newest(self) -> str:
        assert self.store is not None
        found = self.store.latest(self._folder)
        if found is None:
            raise ConfigError(
                "there is no earlier session in this folder",
                hint="toolwire sessions list shows those of all folders; go on with one by its id.",
            )
        return found


_ENDS = {
    "finished": "",
    "failed": "Its last run failed.",
    "interrupted": "Its last run was interrupted.",
    "cut off": "The program ended in the middle of its last run.",
}
