from __future__ import annotations

import time
from email.utils import formatdate

import pytest

from toolwire.errors import ModelNotFound, ProtocolError, ProviderError, RateLimited
from toolwire.refusals import clean, hide_secrets, mask, refusal, shown_url
from toolwire.transport import HttpRequest

KEY = "sk-proj-Zx81kQmv0a7Lr93TbnW4"


def request(headers: dict[str, str] | None = None, url: str = "http://127.0.0.1:1/v1/chat") -> HttpRequest:
    sent = {"Authorization": f"Bearer {KEY}"} if headers is None else headers
    return HttpRequest(url=url, headers=sent, body=b"{}", provider="acme", model="m-1")


def words_of(body: str, content_type: str = "application/json") -> str:
    message = refusal(request(), 400, {"content-type": content_type}, body.encode()).message
    return message.removeprefix("acme refused the request (400)").removeprefix(": ")


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ('{"error": {"message": "bad", "code": "c"}}', "bad"),
        ('{"error": "bad"}', "bad"),
        ('{"message": "bad"}', "bad"),
        ('{"statusCode": 400, "error": "Bad Request", "message": "model is required"}', "model is required"),
        ('{"detail": "bad"}', "bad"),
        ('{"detail": [{"loc": ["body", "messages", 0], "msg": "Field required"}]}', "body.messages.0: Field required"),
        ('{"detail": ["one", "two"]}', "one; two"),
        ('[{"error": {"code": 400, "message": "bad", "status": "INVALID_ARGUMENT"}}]', "bad"),
        ('{"errors": [{"message": "bad"}]}', "bad"),
        ('{"error": {"message": {"detail": "bad"}}}', "bad"),
        ('\ufeff{"error": {"message": "bad"}}', "bad"),
        ('{"error": {"message": "two\\nlines\\u001b[31m red"}}', "two lines [31m red"),
        ('{"error": null, "message": "bad"}', "bad"),
        ('{"what": 1}', '{"what": 1}'),
        ('{"error": {"message": "cut', '{"error": {"message": "cut'),
        ("[" * 10_000, "[" * 300),
        ("plain  text\n", "plain text"),
        ("x" * 1000, "x" * 300),
        ("  <!DOCTYPE HTML><html>secret</html>", "an HTML page"),
        ("<html>", "an HTML page"),
        ("", ""),
        ("17", "17"),
        ("null", "null"),
        ("\x00\x01", ""),
    ],
)
def test_the_words_are_found_in_every_shape(body: str, words: str) -> None:
    assert words_of(body) == words


def test_html_is_known_by_its_content_type_too() -> None:
    assert words_of("<p>Bad gateway</p>", "text/html; charset=utf-8") == "an HTML page"


def test_words_are_bounded() -> None:
    assert words_of('{"message": "' + "y" * 50_000 + '"}') == "y" * 1000


@pytest.mark.parametrize(
    ("body", "headers", "code"),
    [
        ('{"error": {"message": "x", "code": "c", "type": "t"}}', {}, "c"),
        ('{"error": {"message": "x", "code": null, "type": "t"}}', {}, "t"),
        ('{"error": {"message": "x", "code": 404, "status": "NOT_FOUND"}}', {}, "NOT_FOUND"),
        ('{"error": {"message": "x", "code": 402}}', {}, "402"),
        ('{"type": "error", "error": {"type": "overloaded_error", "message": "x"}}', {}, "overloaded_error"),
        ('{"message": "x"}', {"X-Amzn-ErrorType": "ThrottlingException:http://a/"}, "ThrottlingException"),
        ('{"error": {"message": "", "code": "c"}}', {}, "c"),
    ],
)
def test_the_code_is_a_fact(body: str, headers: dict[str, str], code: str) -> None:
    assert refusal(request(), 400, headers, body.encode()).code == code


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (404, '{"error": "model \'m-1\' not found"}'),
        (404, '{"type":"error","error":{"type":"not_found_error","message":"model: m-1"}}'),
        (404, '{"error":{"code":404,"message":"models/m-1 is not found for API version v1","status":"NOT_FOUND"}}'),
        (404, "M-1 does not exist"),
        (403, '{"error":{"code":"model_not_found","message":"no access"}}'),
        (400, '{"message":"Invalid model: m-1","type":"invalid_model","code":"1500"}'),
    ],
)
def test_a_missing_model_is_told_apart(status: int, body: str) -> None:
    error = refusal(request(), status, {}, body.encode())
    assert type(error) is ModelNotFound
    assert (error.status, error.model, error.provider) == (status, "m-1", "acme")
    assert error.message.startswith(f'acme has no model "m-1" ({status}): ')


def test_another_404_points_at_the_base_url() -> None:
    error = refusal(request(), 404, {}, b'{"detail": "Not Found"}')
    assert type(error) is ProviderError
    assert "http://127.0.0.1:1/v1/chat" in error.hint


@pytest.mark.parametrize(
    ("header", "body", "seconds"),
    [
        ("20", "", 20.0),
        ("1.5", "", 1.5),
        ("-3", "", None),
        ("nan", "", None),
        ("1e999", "", None),
        ("soon", "", None),
        ("", '{"error": {"message": "x", "details": [{}, {"retryDelay": "34s"}]}}', 34.0),
        ("2", '{"error": {"message": "x", "details": [{"retryDelay": "34s"}]}}', 2.0),
        ("Thu, 01 Jan 1970 00:00:00 GMT", "", 0.0),
        ("", '{"error": {"details": [{"retryDelay": 7}, 3]}}', 7.0),
    ],
)
def test_retry_after(header: str, body: str, seconds: float | None) -> None:
    error = refusal(request(), 429, {"retry-after": header}, body.encode())
    assert type(error) is RateLimited
    assert error.facts.get("retry_after") == seconds


def test_retry_after_a_date() -> None:
    error = refusal(request(), 503, {"Retry-After": formatdate(time.time() + 60, usegmt=True)}, b"")
    assert 55 < error.retry_after <= 60


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        (f"Incorrect API key provided: {KEY}. See", "Incorrect API key provided: ***. See"),
        (f"got 'Bearer {KEY}'", "got 'Bearer ***'"),
        (f"{KEY}{KEY}", "***"),
        (f"cut {KEY[:12]}", "cut ***"),
        (f"tail {KEY[9:]}!", "tail ***!"),
        (f"key {KEY[:8]}****************{KEY[-4:]}.", "key ***"),
        (f"key: {KEY[:4]}...{KEY[-4:]}", "key: ***"),
        (f"key: ****{KEY[-4:]} is invalid", "key: *** is invalid"),
        ("wait... 2**3 is **fine** Bearer", "wait... 2**3 is **fine** Bearer"),
        ("the model m-1 wants application/json", "the model m-1 wants application/json"),
    ],
)
def test_mask(text: str, masked: str) -> None:
    sent = request({"authorization": f"Bearer {KEY}", "content-type": "application/json"})
    assert mask(text, sent) == masked


@pytest.mark.parametrize(
    ("headers", "url", "secret"),
    [
        ({"x-api-key": "k-123456"}, "http://h/", "k-123456"),
        ({"x-goog-api-key": "abcd"}, "http://h/", "abcd"),
        ({"Cookie": "session=qwertzuiop"}, "http://h/", "qwertzuiop"),
        ({"OpenAI-Organization": "org-777777"}, "http://h/", "org-777777"),
        ({}, "http://h/v1?alt=sse&key=AIzaSyFAKE123", "AIzaSyFAKE123"),
        ({}, "http://h/v1?api-version=1&key=a%2Fb%2Bc-secret", "a%2Fb%2Bc-secret"),
        ({}, "http://h/v1?api-version=1&key=a%2Fb%2Bc-secret", "a/b+c-secret"),
        ({}, "http://user:hunter2@h/", "hunter2"),
        ({}, "http://user:hunter%212@h/", "hunter!2"),
        ({}, "http://user:hunter%212@h/", "dXNlcjpodW50ZXIhMg=="),
        ({}, "http://sk-123456@h/", "sk-123456"),
        ({"X-Amz-Security-Token": "FwoGZXIvYXdzE"}, "http://h/", "FwoGZXIvYXdzE"),
    ],
)
def test_every_place_of_a_secret_is_masked(headers: dict[str, str], url: str, secret: str) -> None:
    body = f'{{"error": {{"message": "bad {secret}", "code": "{secret}"}}}}'.encode()
    sent = request(headers, url)
    error = refusal(sent, 307, {"location": f"http://x/{secret}?{secret}"}, body)
    for shown in (str(error), repr(error), error.hint, str(error.facts), repr(sent)):
        assert secret not in shown


SIGNED = (
    "AWS4-HMAC-SHA256 Credential=AKIACANARY7F3KQ9ZX2L/20260304/us-east-1/bedrock/aws4_request, "
    "SignedHeaders=content-type;host;x-amz-date, Signature=5f2a9c0d7be81346"
)


def test_of_a_signature_only_the_secret_parts_are_masked() -> None:
    sent = request({"Authorization": SIGNED, "X-Amz-Date": "20260304T050607Z", "content-type": "application/json"})
    words = "AWS4-HMAC-SHA256 for bedrock in us-east-1 at 20260304T050607Z over content-type;host;x-amz-date"
    assert mask(words, sent) == words
    masked = mask(f"got {SIGNED}", sent)
    assert "us-east-1/bedrock" in masked
    for secret in ("AKIACANARY7F3KQ9ZX2L", "5f2a9c0d7be81346"):
        assert secret not in masked
        assert secret[:10] not in masked


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (400, "registry.ollama.ai/library/gemma3:1b does not support tools"),
        (404, "No endpoints found that support tool use."),
        (400, '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'),
    ],
)
def test_a_service_that_takes_no_tools_can_be_asked_in_text(status: int, words: str) -> None:
    error = refusal(request(), status, {}, b'{"error": {"message": "%b"}}' % words.replace('"', "'").encode())
    assert type(error) is ProviderError
    assert "(--stream-parser xml)" in error.hint
    assert "--stream-parser" not in refusal(request(), 400, {}, b'{"error": "the tool x has no name"}').hint


@pytest.mark.parametrize(
    ("headers", "url", "hint"),
    [
        ({"Authorization": f"Bearer {KEY}"}, "http://h/", "sent as Authorization."),
        ({}, f"http://h/?alt=sse&key={KEY}", "sent as key= in the URL."),
        ({}, "http://h/?alt=sse", "none was sent"),
    ],
)
def test_it_is_said_how_the_key_was_sent(headers: dict[str, str], url: str, hint: str) -> None:
    assert hint in refusal(request(headers, url), 401, {}, b"").hint


def test_what_copilot_is_told_stays_readable() -> None:
    sent = request({"Authorization": f"Bearer {KEY}", "Editor-Version": "vscode/1.104.1", "X-Initiator": "agent"})
    assert mask("vscode/1.104.1 is too old for an agent", sent) == "vscode/1.104.1 is too old for an agent"


def test_an_error_of_the_answer_is_cleaned_whole() -> None:
    error = ProtocolError(f"it begins with {KEY}", hint=f"try {KEY}", code=f"bad {KEY}", position=7)
    try:
        raise error from ValueError(KEY)
    except ProtocolError:
        hide_secrets(error, request())
    assert (error.message, error.hint, error.facts) == (
        "it begins with ***",
        "try ***",
        {"code": "bad ***", "position": 7},
    )
    assert error.__cause__ is error.__context__ is None
    for shown in (str(error), repr(error), repr(error.info())):
        assert KEY not in shown


@pytest.mark.timeout(30)
def test_masking_is_linear() -> None:
    sent = request({"authorization": "Bearer " + "a" * 5000 + "b"})
    assert mask("a" * 100_000, sent) == "***"


def test_a_shown_url_holds_no_secret() -> None:
    assert shown_url("https://user:pw@host:8/a/b?key=1#f") == "https://host:8/a/b"
    assert shown_url("localhost:1234/v1") == "localhost:1234/v1"
    assert shown_url("http://h/\x1b[31m") == "http://h/ [31m"


def test_clean_leaves_nothing_to_a_terminal() -> None:
    assert clean("a\x1b[2J\r\n\x07b\u202ec\u00a0d é") == "a [2J b c d é"
