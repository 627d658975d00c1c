"""Logins against a real OAuth server: once, kept, renewed, asked for again; and never where nobody is there."""

from __future__ import annotations

import asyncio
import json
import logging
import stat
import threading
import time
import webbrowser
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from mcp.client._probe import negotiate_auto
from mcp.client.session import ClientSession

from over_mcp.oauth_server import Accounts, guarded
from toolwire.errors import McpFailed
from toolwire.mcp.callback import Callback
from toolwire.mcp.config import ServerConfig
from toolwire.mcp.http import http_transport
from toolwire.mcp.login import Login, resource, tokens_path
from waiting import until

HEADER = "hdr-5521-canary-aa90"


class Browser:
    """Goes where it is told, and back to where it is sent from there."""

    def __init__(self) -> None:
        self.opened: list[str] = []
        self.told: list[str] = []
        self.before: Callable[[str], None] = lambda url: None

    def open(self, url: str) -> bool:
        self.opened.append(url)
        threading.Thread(target=self._visit, args=(url,), daemon=True).start()
        return True

    def _visit(self, url: str) -> None:
        self.before(url)
        with httpx.Client(trust_env=False, verify=False, follow_redirects=True, timeout=5) as client:
            client.get(url)


@pytest.fixture
def browser(monkeypatch: pytest.MonkeyPatch) -> Iterator[Browser]:
    it, before = Browser(), set(threading.enumerate())
    monkeypatch.setattr(webbrowser, "open", it.open)
    monkeypatch.setenv("BROWSER", "any")
    yield it
    for thread in set(threading.enumerate()) - before:
        thread.join(2)


def login(path: Path, browser: Browser, *, interactive: bool = True) -> Login:
    return Login(path / "state" / "tokens.json", interactive=interactive, tell=browser.told.append)


def config(url: str, **more: Any) -> ServerConfig:
    return ServerConfig(name="far", url=url, oauth=True, start_timeout=5.0, timeout=5.0, **more)


async def shouted(server: ServerConfig, who: Login) -> str:
    async with http_transport(server, login=who) as (read, write), ClientSession(read, write) as it:
        await negotiate_auto(it)
        answer = await it.call_tool("shout", {"word": "hi"})
        return answer.content[0].text  # type: ignore[union-attr]


def kept(path: Path) -> dict[str, Any]:
    entries: dict[str, Any] = json.loads((path / "state" / "tokens.json").read_text())["entries"]["far"]
    [(_, entry)] = entries.items()
    return entry  # type: ignore[no-any-return]


async def test_a_person_logs_in_once_and_the_next_start_needs_nobody(tmp_path: Path, browser: Browser) -> None:
    accounts = Accounts()
    async with guarded(accounts) as (url, _, _):
        assert await shouted(config(url), login(tmp_path, browser)) == "HI"
        assert accounts.done == ["register", "authorize", "exchange"]
        assert await shouted(config(url), login(tmp_path, browser, interactive=False)) == "HI"
        assert accounts.done == ["register", "authorize", "exchange"]
    [page] = browser.opened
    [told] = browser.told
    assert told.endswith(f"\n{page}")
    assert "code_challenge_method=S256" in page
    file = tmp_path / "state" / "tokens.json"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize("apart", [False, True])
async def test_a_token_that_ended_is_renewed_by_the_server_that_gave_it_after_a_new_start(
    tmp_path: Path, browser: Browser, apart: bool
) -> None:
    accounts = Accounts()
    accounts.seconds = 11
    async with guarded(accounts, apart=apart) as (url, here, there):
        await shouted(config(url), login(tmp_path, browser))
        first = kept(tmp_path)
        accounts.seconds = 3600
        _change(tmp_path, until=time.time() - 1)
        here.asked.clear()
        there.asked.clear()
        assert await shouted(config(url), login(tmp_path, browser, interactive=False)) == "HI"
        assert accounts.done[3:] == ["refresh"]
        assert [path for _, path, _ in there.asked if path != "/mcp"] == ["/token"]
        assert len(browser.opened) == 1
        second = kept(tmp_path)
        assert second["tokens"]["access_token"] != first["tokens"]["access_token"]
        assert second["until"] > time.time() + 3000


@pytest.mark.parametrize("begins_well", [False, True])
async def test_a_token_that_was_taken_back_is_renewed_without_a_person(
    tmp_path: Path, browser: Browser, begins_well: bool
) -> None:
    accounts = Accounts()
    async with guarded(accounts) as (url, _, _):
        await shouted(config(url), login(tmp_path, browser))
        who = login(tmp_path, browser, interactive=False)
        async with http_transport(config(url), login=who) as (read, write), ClientSession(read, write) as it:
            if not begins_well:
                accounts.access.clear()
            await negotiate_auto(it)
            accounts.access.clear()
            await it.call_tool("shout", {"word": "hi"})
    assert accounts.done[3:] == ["refresh"] * (1 if begins_well else 2)


async def test_a_login_that_was_taken_back_is_asked_for_again(tmp_path: Path, browser: Browser) -> None:
    accounts = Accounts()
    async with guarded(accounts) as (url, _, _):
        await shouted(config(url), login(tmp_path, browser))
        accounts.access.clear()
        accounts.refresh.clear()
        assert await shouted(config(url), login(tmp_path, browser)) == "HI"
        assert accounts.done[3:] == ["authorize", "exchange"], "the registration, and its port, are used again"
        accounts.access.clear()
        accounts.refresh.clear()
        with pytest.raises(McpFailed) as caught:
            await shouted(config(url), login(tmp_path, browser, interactive=False))
    assert caught.value.facts == {"server": "far", "why": "login"}
    assert len(browser.opened) == 2


async def test_where_nobody_is_there_a_login_is_an_error_that_says_what_to_do(tmp_path: Path, browser: Browser) -> None:
    accounts = Accounts()
    async with guarded(accounts) as (url, here, _):
        with pytest.raises(McpFailed, match="'far' wants a login") as caught:
            await shouted(config(url), login(tmp_path, browser, interactive=False))
        assert {path for _, path, _ in here.asked} == {"/mcp"}
    assert caught.value.facts == {"server": "far", "why": "login"}
    assert caught.value.hint == "Log in once: toolwire mcp test far"
    assert (accounts.done, browser.opened, browser.told) == ([], [], [])


async def test_calls_side_by_side_make_one_login_and_do_not_wait_for_each_other(
    tmp_path: Path, browser: Browser
) -> None:
    accounts = Accounts()
    async with guarded(accounts) as (url, _, _):
        who = login(tmp_path, browser)
        async with http_transport(config(url), login=who) as (read, write), ClientSession(read, write) as it:
            await negotiate_auto(it)
            accounts.access.clear()
            accounts.refresh.clear()
            await asyncio.gather(*(it.call_tool("shout", {"word": str(n)}) for n in range(5)))
    assert accounts.done.count("authorize") == 2


async def test_who_gives_up_while_another_logs_in_does_not_end_the_login(tmp_path: Path, browser: Browser) -> None:
    accounts = Accounts()
    go = threading.Event()

    def held(_: str) -> None:
        go.wait(5)

    async with guarded(accounts) as (url, _, _):
        who = login(tmp_path, browser)
        async with http_transport(config(url), login=who) as (read, write), ClientSession(read, write) as it:
            await negotiate_auto(it)
            accounts.access.clear()
            accounts.refresh.clear()
            browser.before = held
            first = asyncio.ensure_future(it.call_tool("shout", {"word": "first"}))
            assert await asyncio.to_thread(until, lambda: len(browser.opened) == 2)
            second = asyncio.ensure_future(it.call_tool("shout", {"word": "second"}))
            await asyncio.sleep(0.05)
            second.cancel()
            await asyncio.sleep(0.05)
            go.set()
            answer = await asyncio.wait_for(first, 3)
    assert answer.content[0].text == "FIRST"  # type: ignore[union-attr]


@pytest.mark.parametrize("begins_well", [False, True])
async def test_another_program_that_renews_the_token_first_is_believed(
    tmp_path: Path, browser: Browser, monkeypatch: pytest.MonkeyPatch, begins_well: bool
) -> None:
    accounts = Accounts()
    renew = accounts.exchange_refresh_token

    async def quicker(client: Any, token: Any, scopes: list[str]) -> Any:
        if accounts.done.count("refresh") == 0:
            theirs = (await renew(client, token, scopes)).model_dump(mode="json", exclude_none=True)
            _change(tmp_path, tokens=theirs, until=time.time() + 3600)
        return await renew(client, token, scopes)

    async with guarded(accounts) as (url, _, _):
        await shouted(config(url), login(tmp_path, browser))
        monkeypatch.setattr(accounts, "exchange_refresh_token", quicker)
        accounts.access.clear()
        if not begins_well:
            _change(tmp_path, until=time.time() - 1)
        assert await shouted(config(url), login(tmp_path, browser, interactive=False)) == "HI"
    assert len(browser.opened) == 1


async def test_a_login_whose_mark_would_not_be_asked_for_is_none(
    tmp_path: Path, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mcp.shared.auth import OAuthMetadata

    validate = OAuthMetadata.model_validate_json

    def moved(data: bytes) -> OAuthMetadata:
        said = json.loads(data)
        return validate(json.dumps({**said, "authorization_endpoint": f"{said['authorization_endpoint']}#"}))

    monkeypatch.setattr(OAuthMetadata, "model_validate_json", moved)
    async with guarded(Accounts()) as (url, _, _):
        with pytest.raises(McpFailed, match="no room for its mark"):
            await shouted(config(url), login(tmp_path, browser))
    assert browser.opened == []


async def test_a_port_that_is_taken_means_a_new_registration(tmp_path: Path, browser: Browser) -> None:
    accounts = Accounts()
    async with guarded(accounts) as (url, _, _):
        await shouted(config(url), login(tmp_path, browser))
        port = int(kept(tmp_path)["client"]["redirect_uris"][0].split(":")[2].split("/")[0])
        taken = Callback(port)
        accounts.access.clear()
        accounts.refresh.clear()
        assert await shouted(config(url), login(tmp_path, browser)) == "HI"
        taken.close()
    assert accounts.done[3:] == ["register", "authorize", "exchange"]


async def test_a_refusal_is_told_and_the_registration_is_not_kept(tmp_path: Path, browser: Browser) -> None:
    accounts = Accounts()
    accounts.lets_in = False
    async with guarded(accounts) as (url, _, _):
        with pytest.raises(McpFailed, match="refused the login: access_denied Not you"):
            await shouted(config(url), login(tmp_path, browser))
        accounts.lets_in = True
        assert await shouted(config(url), login(tmp_path, browser)) == "HI"
    assert accounts.done == ["register", "authorize", "register", "authorize", "exchange"]


async def test_only_the_browser_that_knows_the_state_is_the_answer(tmp_path: Path, browser: Browser) -> None:
    def others(url: str) -> None:
        back = httpx.URL(url).params["redirect_uri"]
        for query in ("code=evil&state=guess", "code=evil", "error=access_denied&state=", "state=a&state=b"):
            assert httpx.get(f"{back}?{query}", trust_env=False, verify=False).status_code == 404
        state = httpx.URL(url).params["state"]
        for path, headers in ((f"/else?state={state}", {}), (f"?state={state}", {"Host": "evil.example"})):
            assert httpx.get(back + path, headers=headers, trust_env=False, verify=False).status_code == 404
        assert httpx.post(f"{back}?state={state}", trust_env=False, verify=False).status_code == 404

    browser.before = others
    async with guarded(Accounts()) as (url, _, _):
        assert await shouted(config(url), login(tmp_path, browser)) == "HI"


async def test_nobody_comes_back(tmp_path: Path, browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolwire.mcp.oauth.LOGIN_SECONDS", 0.2)
    monkeypatch.delenv("BROWSER")
    monkeypatch.setenv("DISPLAY", "")
    monkeypatch.setenv("WAYLAND_DISPLAY", "")
    monkeypatch.setattr("sys.platform", "linux")
    async with guarded(Accounts()) as (url, _, _):
        with pytest.raises(McpFailed, match=r"none came in 0\.2 s") as caught:
            await shouted(config(url), login(tmp_path, browser))
    assert caught.value.facts["why"] == "login"
    assert (len(browser.told), browser.opened) == (1, []), "no browser in text mode takes the terminal"


async def test_a_server_that_never_has_enough_gets_no_window_each_time(tmp_path: Path, browser: Browser) -> None:
    accounts = Accounts()
    who = login(tmp_path, browser)
    async with guarded(accounts) as (url, _, _):
        for _ in range(3):
            await shouted(config(url), who)
            accounts.access.clear()
            accounts.refresh.clear()
        with pytest.raises(McpFailed, match="again and again"):
            await shouted(config(url), who)
    assert len(browser.opened) == 3


async def test_tokens_are_for_one_server_at_one_address(tmp_path: Path, browser: Browser) -> None:
    accounts = Accounts()
    nobody = login(tmp_path, browser, interactive=False)
    async with guarded(accounts) as (url, here, _):
        await shouted(config(url), login(tmp_path, browser))
        here.asked.clear()
        others = [
            ServerConfig(name="other", url=url, oauth=True),
            ServerConfig(name="far", url=url, oauth=True, scope="project", source="/p/.mcp.json"),
            ServerConfig(name="far", url=url.replace("127.0.0.1", "localhost"), oauth=True),
            ServerConfig(name="far", url=f"{url}/x", oauth=True),
        ]
        for other in others:
            with pytest.raises(McpFailed):
                await shouted(other, nobody)
        assert here.asked
        assert not any("authorization" in headers for _, _, headers in here.asked)
        assert await shouted(config(url), nobody) == "HI"
        nobody.forget(config(url))
        with pytest.raises(McpFailed, match="wants a login"):
            await shouted(config(url), nobody)


async def test_no_token_is_in_a_log_and_no_header_goes_to_the_login(
    tmp_path: Path, browser: Browser, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    accounts = Accounts()
    async with guarded(accounts, apart=True) as (url, here, there):
        server = config(url, headers={"X-Key": HEADER})
        await shouted(server, login(tmp_path, browser))
        _change(tmp_path, until=1.0)
        await shouted(server, login(tmp_path, browser))
        at_login = str(there.asked)
        assert len(there.asked) >= 4
        assert HEADER not in at_login
        assert "access-" not in at_login
        assert "refresh-" not in str(here.asked)
        assert HEADER in str(here.asked)
    for token in (*accounts.access, *accounts.refresh, HEADER):
        assert token not in caplog.text


@pytest.mark.parametrize(
    "entry",
    [
        {"tokens": {"access_token": 5}},
        {"tokens": [], "client": "x", "metadata": 3, "until": "soon"},
        {"client": {"client_id": "a", "redirect_uris": ["http://127.0.0.1:99999/callback"]}},
        {"client": {"client_id": "gone"}},
    ],
)
async def test_what_was_kept_and_is_damaged_means_one_more_login(
    tmp_path: Path, browser: Browser, entry: dict[str, Any]
) -> None:
    accounts = Accounts()
    async with guarded(accounts) as (url, _, _):
        who = login(tmp_path, browser)
        who.keep(config(url), **entry)
        assert await shouted(config(url), who) == "HI"
    assert accounts.done == ["register", "authorize", "exchange"]


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("https://10.0.0.7/.well-known/x", "on this machine or its local network"),
        ("https://169.254.169.254/latest", "on this machine or its local network"),
        ("https://router.local/x", "on this machine or its local network"),
        ("http://login.example/x", "not protected by TLS"),
        ("http://127.0.0.1:80/x", "not protected by TLS"),
    ],
)
async def test_a_server_far_away_cannot_have_us_knock_at_doors_near_by(url: str, words: str) -> None:
    import httpx2

    from toolwire.mcp.http_bodies import BoundedTransport

    transport = BoundedTransport("far", httpx2.URL("https://mcp.example/mcp"), 1.0)
    with pytest.raises(McpFailed, match=words) as caught:
        await transport.handle_async_request(httpx2.Request("GET", url))
    assert caught.value.facts["why"] == "refused"


def test_what_a_token_is_for_holds_no_secret() -> None:
    url = "HTTPS://me:secret@Example.org:8443/A/mcp?key=secret#x"
    assert resource(config(url)) == "https://example.org:8443/A/mcp"
    assert tokens_path({"XDG_STATE_HOME": "/s"}) == Path("/s/toolwire/mcp/tokens.json")


def test_a_window_opens_so_often_in_so_long(tmp_path: Path, browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1_000.0]
    monkeypatch.setattr("toolwire.mcp.login.time", SimpleNamespace(monotonic=lambda: now[0]))
    monkeypatch.setattr(webbrowser, "open", browser.told.append)
    who, server = login(tmp_path, browser), config("https://a.example/mcp")
    assert [who.begin(server, "https://login.example/") for _ in range(4)] == [True, True, True, False]
    assert len(browser.told) == 6
    assert who.begin(ServerConfig(name="other", url=server.url), "https://login.example/")
    now[0] += 599
    assert not who.begin(server, "https://login.example/")
    now[0] += 1
    assert who.begin(server, "https://login.example/")


def test_what_is_kept_is_of_one_address_and_is_forgotten_with_all_of_its_server(
    tmp_path: Path, browser: Browser
) -> None:
    who = login(tmp_path, browser)
    one, two = config("https://a.example/mcp"), config("https://b.example/mcp")
    who.keep(one, token="1", client="c")
    who.keep(two, token="2")
    who.keep(one, token=None)
    assert (who.kept(one), who.kept(two)) == ({"client": "c"}, {"token": "2"})
    file = tmp_path / "state" / "tokens.json"
    whole = json.loads(file.read_text())
    whole["entries"]["far"][resource(one)] = ["c"]
    file.write_text(json.dumps(whole))
    assert login(tmp_path, browser).kept(one) == {}
    login(tmp_path, browser).keep(one, token="3")
    assert login(tmp_path, browser).kept(one) == {"token": "3"}
    login(tmp_path, browser).forget(one)
    assert login(tmp_path, browser).kept(two) == {}


def _change(path: Path, **parts: Any) -> None:
    file = path / "state" / "tokens.json"
    whole = json.loads(file.read_text())
    for entry in whole["entries"]["far"].values():
        entry.update(parts)
    file.write_text(json.dumps(whole))
