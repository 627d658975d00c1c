"""For every row of the catalog: the key reaches the server, and nobody else, however the server repeats it."""

from __future__ import annotations

import json
import logging
import os
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from aiohttp import web

from catalog_rows import KEY, set_up
from cli.model_server import ModelServer
from model_host import serving_app
from toolwire import Agent
from toolwire.agent.events import RunFailed
from toolwire.cli.app import run_command
from toolwire.errors import ToolwireError
from toolwire.providers.catalog import PROVIDERS
from toolwire.providers.provider import Provider
from wire_bodies import Error, Text, body

ROWS = [row for row in PROVIDERS.values() if row.keys]
WIRES = {row.wire: row for row in reversed(ROWS)}
"""The first provider of each wire: the others run with `make test-all`."""
each_row = pytest.mark.parametrize(
    "row",
    [pytest.param(row, id=row.name, marks=() if row in WIRES.values() else pytest.mark.thorough) for row in ROWS],
)


@pytest.fixture(autouse=True)
def _clean(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    variables = {name for row in PROVIDERS.values() for name in (*row.keys, *row.base_url_variables)}
    for name in [name for name in os.environ if name in variables or name.startswith(("AWS_", "GOOGLE_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("HOME", str(tmp_path))


def set_environment(row: Provider, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in set_up(row).items():
        monkeypatch.setenv(name, value)


def echo(request: web.Request) -> str:
    """Everything that a server knows of a request, in its words and half of them starred."""
    known = json.dumps({"url": request.path_qs, **request.headers})
    return f"bad request: {known} the key {KEY[:6]}***{KEY[-4:]} or …{KEY[8:]} is wrong"


def refusing(status: int) -> Callable[[web.Request], Any]:
    async def answer(request: web.Request) -> web.Response:
        error = {"message": echo(request), "code": KEY, "type": f"Bearer {KEY}"}
        return web.json_response({"error": error}, status=status, headers={"X-Amzn-ErrorType": KEY})

    return answer


def failing_within(wire: str) -> Callable[[web.Request], Any]:
    async def answer(request: web.Request) -> web.Response:
        return web.Response(body=body(wire, Text("So "), Error(echo(request))))

    return answer


async def no_stream(request: web.Request) -> web.Response:
    return web.Response(text=f"{KEY} {echo(request)}")


async def redirecting(request: web.Request) -> web.Response:
    return web.Response(status=307, headers={"Location": f"http://127.0.0.1:1/{KEY}?key={KEY}"})


async def shown_by_agent(row: Provider, answer: Callable[[web.Request], Any], logged: pytest.LogCaptureFixture) -> str:
    """Everything that anyone gets to see of a run that fails; the request did carry the key."""
    arrived: list[str] = []

    async def keep(request: web.Request) -> Any:
        arrived.append(json.dumps({"url": request.path_qs, **request.headers}))
        return await answer(request)

    logged.set_level(logging.DEBUG)
    async with serving_app(keep) as url:
        agent = Agent(f"{row.name}:m", base_url=url)
        events = [event async for event in agent.run("Hi")]
        await agent.close()
    assert isinstance(events[-1], RunFailed), events
    assert arrived
    error = agent.failure
    assert isinstance(error, ToolwireError)
    asked = agent._connection.request(messages=agent.messages)
    parts = [
        *(repr(event) for event in events),
        *(msgspec.json.encode(event).decode() for event in events),
        str(error),
        repr(error),
        repr(error.args),
        repr(vars(error)),
        repr(error.info()),
        "".join(traceback.format_exception(error)),
        repr(error.__cause__),
        repr(error.__context__),
        repr(agent._connection._endpoint),
        repr(vars(agent._connection)),
        repr(asked),
        msgspec.json.encode([*agent.messages]).decode(),
        "\n".join(record.getMessage() for record in logged.records if record.name != "aiohttp.access"),
    ]
    return "\n".join(parts) + f"\narrived:{KEY in arrived[0]}"


def assert_hidden(shown: str, *secrets: str) -> None:
    for secret in secrets:
        for piece in (secret, secret[:12], secret[-8:]):
            assert piece not in shown


@each_row
@pytest.mark.parametrize("status", [401, 404])
async def test_a_refusal(
    row: Provider, status: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    set_environment(row, monkeypatch)
    shown = await shown_by_agent(row, refusing(status), caplog)
    assert shown.endswith("arrived:True")
    assert "bad request" in shown
    assert_hidden(shown, KEY)


@each_row
async def test_an_error_in_the_stream(
    row: Provider, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    set_environment(row, monkeypatch)
    shown = await shown_by_agent(row, failing_within(row.wire), caplog)
    assert shown.endswith("arrived:True")
    assert "bad request" in shown
    assert_hidden(shown, KEY)


@each_row
@pytest.mark.parametrize("answer", [no_stream, redirecting], ids=["no stream", "a redirect"])
async def test_what_is_no_answer(
    row: Provider,
    answer: Callable[[web.Request], Any],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    set_environment(row, monkeypatch)
    assert_hidden(await shown_by_agent(row, answer, caplog), KEY)


@pytest.mark.parametrize("name", ["bedrock", "bedrock-anthropic"])
@pytest.mark.parametrize("kind", ["refused", "in the stream", "no stream"])
async def test_a_signature_and_its_session_token(
    name: str, kind: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    secret, token, key_id = f"{KEY}/secret", f"{KEY[::-1]}-session", "AKIACANARY7F3KQ9ZX2L"
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", key_id)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", secret)
    monkeypatch.setenv("AWS_SESSION_TOKEN", token)
    signatures: list[str] = []
    answers = {"refused": refusing(403), "in the stream": failing_within("bedrock"), "no stream": no_stream}

    async def answer(request: web.Request) -> Any:
        assert request.headers["X-Amz-Security-Token"] == token
        signatures.append(request.headers["Authorization"].rpartition("=")[2])
        return await answers[kind](request)

    shown = await shown_by_agent(PROVIDERS[name], answer, caplog)
    assert_hidden(shown, token, key_id, *signatures)
    if kind != "no stream":
        # What the error talks about stays readable.
        assert "us-east-1" in shown
        assert "x-amz-security-token" in shown


@each_row
@pytest.mark.parametrize("kind", ["refused", "in the stream"])
def test_the_command(
    row: Provider, kind: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    set_environment(row, monkeypatch)
    words = f"the key {KEY} is wrong, {KEY[:6]}***{KEY[-4:]}"
    refusal = (401, {"error": {"message": words, "code": KEY}})
    answer = refusal if kind == "refused" else body(row.wire, Text("So "), Error(words))
    with ModelServer([answer]) as server:
        for options in (["--json"], []):
            asked = ["run", "Hi", "--model", f"{row.name}:m", "--base-url", server.url, "--no-tools", *options]
            assert run_command(asked) == 1
    said = capsys.readouterr()
    assert "is wrong" in said.out + said.err
    assert_hidden(said.out + said.err, KEY)
    assert KEY in str(server.headers) + str(server.paths)


@each_row
def test_the_list(row: Provider, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    set_environment(row, monkeypatch)
    monkeypatch.setenv("TOOLWIRE_DISCOVER", "0")
    assert run_command(["providers"]) == 0
    assert run_command(["providers", "--json"]) == 0
    said = capsys.readouterr()
    assert row.is_local or f"{row.keys[0]} is set" in said.out
    assert_hidden(said.out + said.err, KEY)
