"""AWS's signature, against botocore's own client and against a server that works it out anew; Google's tokens."""

from __future__ import annotations

import builtins
import hashlib
import hmac
import json
import logging
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import boto3
import pytest
from aiohttp import web
from botocore.awsrequest import AWSResponse

from model_host import serving_app
from toolwire import Agent, signing
from toolwire.agent.endpoint import Connection
from toolwire.agent.events import RunFailed, RunFinished
from toolwire.errors import AuthenticationFailed, ConfigError
from toolwire.messages import user
from toolwire.signing import AwsSigner, GoogleSigner
from toolwire.transport import HttpRequest
from wire_bodies import End, Text, body

ID = "AKIACANARY7F3KQ9ZX2L"
SECRET = "canary/secret+8Vb4N2Lm7f3Kq9Zx"
TOKEN = "canary-session-token-Zx81kQmv0a7Lr93TbnW4=="
TIME = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
MODELS = [
    "amazon.nova-lite-v1:0",
    "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
    "arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.amazon.nova-lite-v1:0",
    "a b/ü~%2F*(x)",
]


@pytest.fixture(autouse=True)
def _aws(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No credentials but those that a test sets, and no network to look for more."""
    import os

    for name in [name for name in os.environ if name.startswith(("AWS_", "GOOGLE_", "CLOUDSDK_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AWS_REGION", "eu-west-1")


@pytest.fixture
def _keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", ID)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("AWS_SESSION_TOKEN", TOKEN)


@pytest.fixture
def _clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signing, "now", lambda: TIME)
    monkeypatch.setattr("botocore.auth.get_current_datetime", lambda: TIME.replace(tzinfo=None))


def sent_by_boto(operation: Callable[[Any], Any]) -> Any:
    """The request that botocore's client would send; it gets an empty answer."""
    sent: list[Any] = []

    def catch(request: Any, **_: Any) -> AWSResponse:
        sent.append(request)
        return AWSResponse(request.url, 200, {}, None)

    client = boto3.client("bedrock-runtime", region_name="eu-west-1")
    client.meta.events.register("before-send.bedrock-runtime", catch)
    try:
        operation(client)
    except Exception:
        assert sent
    return sent[0]


def said(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


@pytest.mark.usefixtures("_keys", "_clock")
@pytest.mark.parametrize("model", MODELS)
def test_the_signature_is_that_of_botocores_own_client(model: str) -> None:
    messages = [{"role": "user", "content": [{"text": "Hello"}]}]
    theirs = sent_by_boto(lambda client: client.converse_stream(modelId=model, messages=messages))
    ours = Connection(f"bedrock:{model}").request(messages=[user("Hello")])
    assert ours.url == theirs.url
    assert json.loads(ours.body) == json.loads(theirs.body)
    copied = HttpRequest(url=ours.url, headers={"Content-Type": "application/json"}, body=said(theirs.body).encode())
    made = AwsSigner("eu-west-1").sign(copied).headers
    for name in ("Authorization", "X-Amz-Date", "X-Amz-Security-Token"):
        assert made[name] == said(theirs.headers[name]), name


def recomputed(method: str, raw_path: str, headers: dict[str, str], sent: bytes) -> str:
    """The signature as the specification has it, worked out from nothing but what arrived and the secret."""
    scheme, _, rest = headers["authorization"].partition(" ")
    fields = dict(part.strip().split("=", 1) for part in rest.split(","))
    key_id, date, region, service, end = fields["Credential"].split("/")
    assert (scheme, key_id, service, end) == ("AWS4-HMAC-SHA256", ID, "bedrock", "aws4_request")
    names = fields["SignedHeaders"].split(";")
    assert {"host", "x-amz-date", "x-amz-security-token"} <= set(names)
    path, _, query = raw_path.partition("?")
    canonical = "\n".join(
        [
            method,
            "/".join(quote(part, safe="-_.~") for part in path.split("/")),
            query,
            *(f"{name}:{headers[name].strip()}" for name in names),
            "",
            fields["SignedHeaders"],
            hashlib.sha256(sent).hexdigest(),
        ]
    )
    scope = "/".join([date, region, service, end])
    digest = hashlib.sha256(canonical.encode()).hexdigest()
    words = "\n".join([scheme, headers["x-amz-date"], scope, digest])
    signed = f"AWS4{SECRET}".encode()
    for part in (date, region, service, end, words):
        signed = hmac.new(signed, part.encode(), hashlib.sha256).digest()
    assert signed.hex() == fields["Signature"]
    return region


@pytest.mark.usefixtures("_keys")
@pytest.mark.parametrize("provider", ["bedrock", "bedrock-anthropic"])
@pytest.mark.parametrize("model", MODELS)
async def test_a_server_that_checks_the_signature_is_content(provider: str, model: str) -> None:
    seen: list[tuple[str, str, bytes]] = []

    async def answer(request: web.Request) -> web.Response:
        headers = {name.lower(): value for name, value in request.headers.items()}
        sent = await request.read()
        region = recomputed(request.method, request.raw_path, headers, sent)
        seen.append((request.raw_path, region, sent))
        return web.Response(body=body("bedrock", Text("Hello"), End()))

    async with serving_app(answer) as url, Agent(f"{provider}:{model}", base_url=url) as agent:
        end = [event async for event in agent.run("Hi")][-1]
    assert isinstance(end, RunFinished), end
    ((path, region, sent),) = seen
    assert region == "eu-west-1"
    assert unquote(path.split("/")[2]) == model
    assert "model" not in json.loads(sent)


@pytest.mark.usefixtures("_keys")
def test_any_change_breaks_the_signature() -> None:
    request = Connection(f"bedrock:{MODELS[0]}").request(messages=[user("Hello")])
    headers = {name.lower(): value for name, value in request.headers.items()}
    headers["host"] = "bedrock-runtime.eu-west-1.amazonaws.com"
    path = request.url.partition(".com")[2]
    assert recomputed("POST", path, headers, request.body) == "eu-west-1"
    for changed in (
        ("GET", path, headers, request.body),
        ("POST", path + "x", headers, request.body),
        ("POST", path, headers, b"{}"),
    ):
        with pytest.raises(AssertionError):
            recomputed(*changed)


@pytest.mark.usefixtures("_keys")
def test_nothing_of_the_credentials_is_shown_or_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    signer = AwsSigner("eu-west-1")
    request = signer.sign(HttpRequest(url="http://127.0.0.1/model/m/x", headers={}, body=b"{}"))
    signature = request.headers["Authorization"].rpartition("=")[2]
    shown = caplog.text + repr(signer) + repr(request) + repr(vars(signer))
    for secret in (SECRET, TOKEN, signature):
        assert secret not in shown


async def test_no_credentials_are_told_before_anything_is_sent() -> None:
    with pytest.raises(AuthenticationFailed, match="no AWS credentials") as error:
        await AwsSigner("eu-west-1").prepare()
    assert "AWS_ACCESS_KEY_ID" in error.value.hint
    events = [event async for event in Agent("bedrock:m").run("Hi")]
    assert isinstance(events[-1], RunFailed)
    assert events[-1].error.type == "AuthenticationFailed"


async def test_a_profile_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_PROFILE", "nobody")
    with pytest.raises(AuthenticationFailed, match="nobody") as error:
        await AwsSigner("eu-west-1").prepare()
    assert error.value.__context__ is None


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ("credential_process = {nowhere}", "No such file"),
        (f"credential_process = /bin/echo {SECRET}", "JSONDecodeError"),
        ("credential_process = /bin/echo []", "AttributeError"),
        ("web_identity_token_file = {nowhere}\nrole_arn = arn:aws:iam::1:role/x", "No such file"),
    ],
)
async def test_a_profile_that_leads_nowhere(config: str, words: str, tmp_path: Path) -> None:
    (tmp_path / ".aws").mkdir()
    (tmp_path / ".aws" / "config").write_text("[default]\n" + config.replace("{nowhere}", f"{tmp_path}/nowhere"))
    with pytest.raises(AuthenticationFailed, match=f"no AWS credentials: .*{words}") as error:
        await AwsSigner("eu-west-1").prepare()
    assert error.value.__context__ is None
    assert SECRET not in str(error.value)


def test_credentials_and_region_of_a_profile(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    files = tmp_path / ".aws"
    files.mkdir()
    (files / "credentials").write_text(f"[work]\naws_access_key_id = {ID}\naws_secret_access_key = {SECRET}\n")
    (files / "config").write_text("[profile work]\nregion = ap-south-1\n")
    monkeypatch.setenv("AWS_PROFILE", "work")
    monkeypatch.delenv("AWS_REGION")
    request = Connection("bedrock:m").request(messages=[user("Hi")])
    assert request.url.startswith("https://bedrock-runtime.ap-south-1.amazonaws.com/")
    assert f"Credential={ID}/" in request.headers["Authorization"]
    assert "X-Amz-Security-Token" not in request.headers


@pytest.mark.usefixtures("_keys")
async def test_a_bedrock_key_goes_before_a_signature(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", "bedrock-key")
    connection = Connection("bedrock:m")
    await connection.open()
    headers = connection.request(messages=[user("Hi")]).headers
    assert headers["Authorization"] == "Bearer bedrock-key"
    assert "X-Amz-Date" not in headers


@pytest.fixture
def _bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without the vendors' packages."""
    real = builtins.__import__

    def without(name: str, *rest: Any, **more: Any) -> Any:
        if name.split(".")[0] in ("botocore", "google"):
            raise ModuleNotFoundError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)


@pytest.mark.usefixtures("_bare", "_keys")
async def test_what_to_install_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match="botocore") as error:
        await Connection("bedrock:m").open()
    assert "pip install 'toolwire[bedrock]'" in error.value.hint
    monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "p")
    with pytest.raises(ConfigError, match="google-auth") as error:
        await Connection("vertex:m").open()
    assert "pip install" in error.value.hint
    monkeypatch.delenv("AWS_REGION")
    with pytest.raises(ConfigError, match="AWS_REGION"):
        Connection("bedrock:m")


@pytest.fixture(scope="module")
def private_key() -> str:
    from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    made = generate_private_key(65537, 2048)
    return made.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()


@pytest.fixture
def account(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, private_key: str) -> Callable[[str], None]:
    """Sets up a service account whose tokens come from a server of ours."""

    def write(token_uri: str) -> None:
        file = tmp_path / "account.json"
        file.write_text(
            json.dumps(
                {
                    "type": "service_account",
                    "client_email": "me@acme.iam.gserviceaccount.com",
                    "private_key": private_key,
                    "private_key_id": "k",
                    "token_uri": token_uri,
                    "project_id": "acme",
                }
            )
        )
        monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(file))
        monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "acme")

    return write


async def test_googles_default_credentials(account: Callable[[str], None]) -> None:
    asked: list[str] = []

    async def answer(request: web.Request) -> web.Response:
        asked.append(request.path)
        if request.path == "/token":
            return web.json_response({"access_token": "ya29.canary", "expires_in": 3600, "token_type": "Bearer"})
        assert request.headers["Authorization"] == "Bearer ya29.canary"
        return web.Response(body=body("gemini", Text("Hello"), End()))

    async with serving_app(answer) as url:
        account(f"{url}/token")
        async with Agent("vertex:m", base_url=url) as agent:
            for _ in range(2):
                end = [event async for event in agent.run("Hi")][-1]
                assert isinstance(end, RunFinished), end
    model = "/projects/acme/locations/global/publishers/google/models/m:streamGenerateContent"
    assert asked == ["/token", model, model]


async def test_googles_refusal_is_told(account: Callable[[str], None]) -> None:
    async def answer(request: web.Request) -> web.Response:
        return web.json_response({"error": "invalid_grant", "error_description": "Bad account"}, status=400)

    async with serving_app(answer) as url:
        account(f"{url}/token")
        with pytest.raises(AuthenticationFailed, match=r"no Google credentials: .*Bad account") as error:
            await GoogleSigner().prepare()
    assert error.value.__context__ is None


@pytest.mark.parametrize("written", ["[]", '"x"', '{"type": "impersonated_service_account"}'])
async def test_a_google_file_that_holds_no_credentials(
    written: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "account.json").write_text(written)
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "account.json"))
    with pytest.raises(AuthenticationFailed, match="no Google credentials"):
        await GoogleSigner().prepare()
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path))
    with pytest.raises(AuthenticationFailed, match="Is a directory"):
        await GoogleSigner().prepare()


async def test_no_google_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_GCE_CHECK", "true")
    with pytest.raises(AuthenticationFailed, match="no Google credentials") as error:
        await GoogleSigner().prepare()
    assert "GOOGLE_OAUTH_ACCESS_TOKEN" in error.value.hint
