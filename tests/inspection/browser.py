"""A real Chromium, spoken to over its debugging protocol: for pages that are to be seen and used, not only written."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

PROGRAM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

needs_chromium = pytest.mark.skipif(PROGRAM is None, reason="no Chromium is installed here")


class Page:
    """One page, the requests that it made and the errors that it logged."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._number = 0
        self.requests: list[str] = []
        self.errors: list[Any] = []

    async def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """The answer to one command."""
        self._number += 1
        await self._socket.send_json({"id": self._number, "method": method, "params": parameters})
        while True:
            told = await self._socket.receive_json(timeout=20)
            if told.get("id") == self._number:
                assert "error" not in told, told
                result: dict[str, Any] = told["result"]
                return result
            self._note(told)

    async def value(self, script: str) -> Any:
        """What an expression is there."""
        told = await self.send("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in told, told
        return told["result"].get("value")

    async def press(self, key: str) -> None:
        """A key goes down and up."""
        text = {"text": key} if len(key) == 1 else {}
        await self.send("Input.dispatchKeyEvent", type="keyDown", key=key, **text)
        await self.send("Input.dispatchKeyEvent", type="keyUp", key=key)

    async def open(self, path: Path) -> None:
        """Loads a file, and waits until its script has run to the end or failed."""
        await self.send("Page.enable")
        await self.send("Network.enable")
        await self.send("Log.enable")
        await self.send("Runtime.enable")
        await self.send("Page.navigate", url=path.as_uri())
        for _ in range(200):
            if (
                await self.value("document.readyState") == "complete"
                and await self.value("location.protocol") == "file:"
            ):
                return
            await asyncio.sleep(0.02)
        raise AssertionError("the page did not load")

    def _note(self, told: dict[str, Any]) -> None:
        if told.get("method") == "Network.requestWillBeSent":
            self.requests.append(told["params"]["request"]["url"])
        elif told.get("method") in ("Runtime.exceptionThrown", "Log.entryAdded", "Page.javascriptDialogOpening"):
            self.errors.append(told["params"])


@asynccontextmanager
async def chromium(folder: Path, *, width: int = 1200, height: int = 900) -> AsyncIterator[Page]:
    """A browser with one empty page, ended with all of its children."""
    assert PROGRAM is not None
    home = folder / "chromium"
    process = await asyncio.create_subprocess_exec(
        PROGRAM,
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--no-first-run",
        "--disable-extensions",
        "--disable-background-networking",
        "--remote-debugging-port=0",
        f"--user-data-dir={home}",
        f"--window-size={width},{height}",
        "about:blank",
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        port = home / "DevToolsActivePort"
        for _ in range(500):
            if port.exists() and port.read_text().count("\n"):
                break
            await asyncio.sleep(0.02)
        number = port.read_text().split("\n")[0]
        async with aiohttp.ClientSession() as session:
            async with session.get(f"http://127.0.0.1:{number}/json") as answer:
                targets = await answer.json(content_type=None)
            (target,) = [target for target in targets if target["type"] == "page"]
            async with session.ws_connect(target["webSocketDebuggerUrl"], max_msg_size=0) as socket:
                page = Page(socket)
                yield page
                await page.send("Browser.close")
    finally:
        try:
            await asyncio.wait_for(process.wait(), 1)
        except TimeoutError:
            process.kill()
            await process.wait()
