from __future__ import annotations

import time
from email.utils import formatdate

import msgspec
import pytest

from toolwire.errors import ModelNotFound, ProtocolError, ProviderError, RateLimited
from toolwire.refusals import clean, hide_secrets, mask, refusal, shown_url, what_is_refused
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


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after-ms": "494", "retry-after": "1"}, 0.494),
        ({"Retry-After-Ms": "soon", "retry-after": "1"}, 1.0),
        ({"retry-after-ms": "-1"}, None),
    ],
)
def test_retry_after_in_milliseconds(headers: dict[str, str], seconds: float | None) -> None:
    assert refusal(request(), 429, headers, b"").facts.get("retry_after") == seconds


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


NO_TOOLS = [
    (400, "registry.ollama.ai/library/gemma3:1b does not support tools"),
    (400, '"gemma3:1b" does not support tools'),
    (404, "No endpoints found that support tool use. To learn more about routing, visit: https://example.org"),
    (404, "No endpoints found that support tool use for this model."),
    (400, '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'),
    (500, "tools param requires --jinja flag"),
    (400, "tools param requires --jinja flag"),
    (500, "Unsupported param: tools"),
    (400, "This model doesn't support tool use."),
    (400, "This model doesn’t support tool use in streaming mode."),
    (400, "Function calling is not enabled for models/gemma-3-12b-it"),
    (400, "Function calling is not enabled for this model"),
    (400, "Tool use with function calling is unsupported"),
    (400, "`tool calling` is not supported with this model"),
    (400, "Unsupported parameter: 'tools' is not supported with this model."),
    (400, "tools is not supported in this model. For a list of supported models, see the documentation"),
    (400, "deepseek-reasoner does not support Function Calling"),
    (400, "'claude-2.1' does not support tool use."),
    (400, "Function call is not supported for this model."),
    (400, "model features function calling not support"),
    (422, "Tool calls are not supported by restricted-7b"),
]

TOO_LONG = [
    (
        400,
        "context_length_exceeded",
        "This model's maximum context length is 128000 tokens. However, your messages ...",
    ),
    (400, "context_length_exceeded", "x"),
    (400, "", "Your input exceeds the context window of this model. Please adjust your input and try again."),
    (400, "invalid_request_error", "prompt is too long: 207791 tokens > 200000 maximum"),
    (400, "", "input length and `max_tokens` exceed context limit: 174167 + 64000 > 200000, decrease input length"),
    (413, "request_too_large", "Request exceeds the maximum size"),
    (413, "", ""),
    (400, "", "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575)."),
    (400, "ValidationException", "Input is too long for requested model."),
    (400, "", "Input Tokens Exceeded: Number of input tokens exceeds maximum length. Please update the input."),
    (400, "", "prompt too long; exceeded max context length by 5000 tokens"),
    (400, "", "This model's maximum context length is 16384 tokens. However, you requested 19591 tokens"),
    (400, "", "You passed 1015 input tokens. However, the model's context length is only 1024 tokens, resulting in"),
    (400, "exceed_context_size_error", "request (14429 tokens) exceeds the available context size (8192 tokens)"),
    (500, "", "the request exceeds the available context size. try increasing the context size"),
    (400, "", "Requested tokens (2285) exceed context window of 2048"),
    (
        400,
        "",
        "Prompt contains 140000 tokens and 0 draft tokens, too large for model with 131072 maximum context length",
    ),
    (400, "", "Please reduce the length of the messages or completion."),
    (400, "", "too many tokens: size limit exceeded by 11326 tokens. Try using shorter or fewer inputs."),
    (400, "", "This endpoint's maximum context length is 200000 tokens. However, you requested about 250000 tokens"),
    (400, "", "This model's maximum prompt length is 131072 but the request contains 537812 tokens"),
    (400, "", "prompt token count of 93854 exceeds the limit of 90000"),
    (400, "", "tokens to keep from the initial prompt is greater than the context length"),
    (400, "", "The input (140000 tokens) is longer than the model's context length (131072 tokens)."),
    (400, "", "invalid params, context window exceeds limit"),
    (400, "", "Your request exceeded model token limit: 262144 (requested: 300000)"),
    (400, "", "Range of input length should be [1, 129024]"),
    (422, "", "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000"),
    (
        413,
        "rate_limit_exceeded",
        "Request too large for model `m` on tokens per minute (TPM): Limit 6000, Requested 7000",
    ),
    (429, "rate_limit_exceeded", "Request too large for gpt-4 on tokens per min (TPM): Limit 10000, Requested 12000."),
]

NEITHER = [
    (400, "", "messages.2: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1."),
    (400, "", "tools.0.custom.name: String should have at most 64 characters"),
    (400, "", "tools.0.custom.name: too long"),
    (400, "string_above_max_length", "Invalid 'tools[0].function.name': string too long. Expected maximum length 64"),
    (400, "", "tools.0.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level"),
    (400, "", "This model doesn't support the toolConfig.toolChoice.any field. Remove toolConfig.toolChoice.any"),
    (400, "", "Unsupported parameter: 'parallel_tool_calls' is not supported with this model."),
    (400, "", "Parallel tool calls are not supported by this model"),
    (400, "", "strict tools are not supported"),
    (400, "", 'tool_choice="required" is not supported!'),
    (400, "", "Invalid schema for function 'f': unsupported keyword in tools"),
    (400, "", "Tool messages with image content are not supported"),
    (400, "", "Thinking may not be enabled when tool_choice forces tool use."),
    (400, "tool_use_failed", "Failed to call a function. Please adjust your prompt."),
    (400, "", "the tool x has no name"),
    (400, "", "max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens"),
    (429, "ThrottlingException", "Too many tokens, please wait before trying again."),
    (
        429,
        "rate_limit_exceeded",
        "Rate limit reached for m on tokens per min (TPM): Limit 30000, Used 29900, Requested 200",
    ),
    (401, "", "this key does not support tools"),
    (403, "", "your plan does not support tools"),
    (500, "server_error", "The server had an error while processing your request"),
    (400, "", ""),
]


def refused(status: int, code: str, words: str) -> ProviderError:
    return refusal(request(), status, {}, msgspec.json.encode({"error": {"message": words, "code": code or None}}))


@pytest.mark.parametrize(("status", "words"), NO_TOOLS)
def test_a_service_that_takes_no_tools_can_be_asked_in_text(status: int, words: str) -> None:
    error = refused(status, "", words)
    assert type(error) is ProviderError
    assert error.refused == "tools"
    assert "(--stream-parser xml)" in error.hint


@pytest.mark.parametrize(("status", "code", "words"), TOO_LONG)
def test_a_conversation_that_is_too_long_is_told_apart(status: int, code: str, words: str) -> None:
    error = refused(status, code, words)
    assert error.refused == "length"
    assert type(error) is (RateLimited if status == 429 else ProviderError)


@pytest.mark.parametrize(("status", "code", "words"), NEITHER)
def test_what_is_wrong_with_one_tool_or_passes_is_neither(status: int, code: str, words: str) -> None:
    error = refused(status, code, words)
    assert "refused" not in error.facts
    assert "--stream-parser" not in error.hint


def test_what_is_refused_is_seen_whatever_the_case_and_the_lines() -> None:
    assert what_is_refused("Does  NOT\nsupport 'TOOLS'") == "tools"
    assert what_is_refused("x", codes=["context_length_exceeded"]) == "length"
    assert what_is_refused("") is None


def test_a_full_service_says_when() -> None:
    assert refusal(request(), 503, {"retry-after": "7"}, b"").hint == "Try again in 7 s."
    assert refusal(request(), 503, {}, b"").hint == "Try again later."


def test_a_limit_of_money_is_a_code_of_its_own() -> None:
    body = {"error": {"type": "rate_limit_error", "details": {"error_code": "enforced_spend_limit_reached"}}}
    assert refusal(request(), 429, {}, msgspec.json.encode(body)).code == "enforced_spend_limit_reached"


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


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (400, "messages.1.content.0: Invalid `signature` in `thinking` block"),
        (400, "messages.1.content.0.thinking.signature: Field required"),
        (400, "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified."),
        (400, "Corrupted thought signature."),
        (400, "Thought signature is not valid"),
        (400, "Item 'rs_1' of type 'reasoning' was provided without its required following item."),
        (400, "Item 'fc_1' of type 'function_call' was provided without its required 'reasoning' item: 'rs_1'."),
        (404, "Item with id 'rs_1' not found. Items are not persisted when `store` is set to false. Try again"),
        (400, "The encrypted content for item rs_0f26 could not be verified."),
    ],
)
def test_reasoning_that_is_not_taken_back_is_told_apart(status: int, words: str) -> None:
    error = refused(status, "", words)
    assert type(error) is ProviderError
    assert error.refused == "reasoning"
    assert "leave that out" in error.hint
