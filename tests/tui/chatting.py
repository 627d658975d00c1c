"""The whole chat, headless, against a provider on loopback that sends what it is given, as slowly as a test wants."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from aiohttp import web
from textual.pilot import Pilot

from toolwire.agent.sessions.store import SessionStore, sessions_path
from toolwire.approval.files import policy_paths
from toolwire.approval.places import Workspace
from toolwire.chat.talk import Talk
from toolwire.chat.typed_history import TypedHistory
from toolwire.cli.assembly import Assembly, Options
from toolwire.tui.app import ChatApp
from toolwire.tui.prompt import Prompt
from toolwire.tui.questions.person import ScreenPerson

if TYPE_CHECKING:
    from toolwire.durable.client import Runs

SIZE = (100, 36)


class Slow:
    """An answer in pieces: each goes out when the one before was let through."""

    def __init__(self, *pieces: bytes) -> None:
        self.pieces = pieces
        self._through = asyncio.Semaphore(0)

    def go_on(self, pieces: int = 1) -> None:
        for _ in range(pieces):
            self._through.release()

    async def wait(self) -> None:
        await self._through.acquire()


class Provider:
    """Gives each request the next answer; keeps the bodies of the requests."""

    def __init__(self, answers: Sequence[bytes | Slow]) -> None:
        self.answers = list(answers)
        self.bodies: list[bytes] = []
        self.url = ""

    @asynccontextmanager
    async def serve(self) -> AsyncIterator[str]:
        app = web.Application(client_max_size=1 << 24)
        app.router.add_post("/{path:.*}", self._answer)
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        host, port = runner.addresses[0][:2]
        self.url = f"http://{host}:{port}/v1"
        try:
            yield self.url
        finally:
            await runner.cleanup()

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        self.bodies.append(await request.read())
        answer = self.answers.pop(0)
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        for piece in (answer,) if isinstance(answer, bytes) else answer.pieces:
            await response.write(piece)
            if isinstance(answer, Slow):
                await answer.wait()
        await response.write_eof()
        return response


class Chat:
    """A chat that is open: its parts, and what a test does with them."""

    def __init__(self, app: ChatApp, pilot: Pilot[int], provider: Provider, talk: Talk) -> None:
        self.app, self.pilot, self.provider, self.talk = app, pilot, provider, talk

    async def type(self, text: str) -> None:
        """Types a line and sends it."""
        self.app.query_one(Prompt).put(text)
        await self.pilot.press("enter")

    async def until(self, holds: Callable[[], object], words: str = "") -> None:
        """Waits until something holds."""
        for _ in range(600):
            if holds():
                return
            await self.pilot.pause(0.01)
        raise AssertionError(f"never: {words or holds}\n{self.screen()}")

    async def until_seen(self, *words: str) -> None:
        await self.until(lambda: all(word in self.screen() for word in words), " and ".join(words))

    async def until_ready(self) -> None:
        app = self.app
        await self.until(lambda: not (app._answering or app._typed.busy or app._showing), "the answer ends")
        await self.app.conversation.draw()
        await self.pilot.pause()

    def screen(self) -> str:
        """What is on the screen, as lines of text."""
        width, height = self.app.size
        lines = self.app.screen._compositor.render_strips()
        return "\n".join("".join(segment.text for segment in line).rstrip()[:width] for line in lines[:height])


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A person with nothing set up, in an empty folder."""
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("TOOLWIRE_DISCOVER", "0")
    for name in ("OPENAI_API_KEY", "OPENAI_COMPATIBLE_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    work = tmp_path / "project"
    work.mkdir()
    monkeypatch.chdir(work)
    return work


@asynccontextmanager
async def chat(
    home: Path,
    *answers: bytes | Slow,
    model: str = "openai-compatible:test",
    options: Options | None = None,
    resume: str = "",
    size: tuple[int, int] = SIZE,
    theme: str = "",
    runs: Callable[[], Runs] | None = None,
) -> AsyncIterator[Chat]:
    """The chat against these answers, in this folder."""
    import os

    provider = Provider(answers)
    files = policy_paths(os.environ)
    workspace = Workspace(str(home))
    person = ScreenPerson(kept_in=str(files.always))
    assembly = Assembly(workspace, files, person=person, fill_in=person.fill_in)
    async with provider.serve() as url:
        base_url = url.removesuffix("/v1") if model.startswith("ollama") else url
        with SessionStore(sessions_path(os.environ)) as store:
            session = store.open(resume) if resume else store.create(model=model, cwd=str(home), base_url=base_url)
            wanted = options or Options(no_mcp=True)
            talk = Talk(assembly, wanted, model, base_url, store=store, session=session, runs=runs)
            async with talk:
                app = ChatApp(talk, person, history=TypedHistory.of(os.environ, str(home)), theme=theme)
                async with app.run_test(size=size) as pilot:
                    yield Chat(app, pilot, provider, talk)
