"""Secrets that nothing shows, and texts that they are taken out of."""

from __future__ import annotations

import copy
import gc
import json
import logging
import pickle
import random
import traceback
import tracemalloc
from base64 import b64encode
from typing import Any

import msgspec
import pytest
from bench.trust import secrets as proofs
from rich.pretty import pretty_repr

from toolwire import redaction
from toolwire.key_shapes import is_secret_variable
from toolwire.redaction import NO_SECRET, Redactor, Secret

KEY = "canary-7f3Kq9Zx2Lm8Vb4N"
BODY = "7f3Kq9Zx2Lm8Vb4NcR5tYw"
NONE = Redactor()


class Holder(msgspec.Struct):
    key: Secret


@pytest.mark.parametrize(
    "show",
    [
        repr,
        str,
        ascii,
        "{}".format,
        "{!r}".format,
        "%s".__mod__,
        pretty_repr,
        lambda secret: pretty_repr({"key": [secret]}),
        lambda secret: repr(Holder(secret)),
        lambda secret: pretty_repr(Holder(secret)),
        lambda secret: json.dumps({"key": secret}, default=str),
        lambda secret: msgspec.json.encode(Holder(secret), enc_hook=str).decode(),
        lambda secret: repr(copy.deepcopy([secret])),
        lambda secret: logging.LogRecord("x", 10, "p", 1, "key %s %r", (secret, secret), None).getMessage(),
        lambda secret: str(KeyError(secret)) + repr(ValueError(secret)),
        lambda secret: str(dir(secret)),
    ],
)
def test_a_secret_shows_nothing(show: Any) -> None:
    shown = show(Secret(KEY))
    assert shown
    assert KEY[:8] not in shown


@pytest.mark.parametrize(
    "write",
    [
        msgspec.json.encode,
        json.dumps,
        pickle.dumps,
        vars,
        "{:>40}".format,
        lambda secret: msgspec.json.encode(Holder(secret)),
        lambda secret: msgspec.to_builtins(Holder(secret)),
        lambda secret: pickle.dumps(Holder(secret)),
    ],
)
def test_what_would_write_a_secret_fails_without_it(write: Any) -> None:
    with pytest.raises(TypeError) as caught:
        write(Secret(KEY))
    assert KEY[:8] not in "".join(traceback.format_exception(caught.value))


def test_a_secret_is_itself() -> None:
    assert Secret(KEY).reveal() == KEY
    assert Secret(KEY) == Secret(KEY)
    assert Secret(KEY) != Secret(KEY + "x")
    assert Secret("é\ud800") == Secret("é\ud800")
    assert Secret(KEY) != KEY
    assert len({Secret(KEY), Secret(KEY), Secret("other")}) == 2
    assert copy.copy(Secret(KEY)).reveal() == copy.deepcopy(Secret(KEY)).reveal() == KEY
    assert Secret(KEY)
    assert not NO_SECRET
    assert not hasattr(Secret(KEY), "__dict__")


def test_canaries_written_in_every_way_are_taken_out() -> None:
    found = proofs.hidden(150, seed=2)
    assert (found.runs, found.faults) == (150 * len(proofs.WRITTEN), [])


def test_time_is_in_proportion_to_the_text() -> None:
    found = proofs.linear(10_000, seed=1)
    assert found.faults == []


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"{KEY}", "***"),
        (f"a {KEY} b {KEY}", "a *** b ***"),
        (f"{KEY}{KEY}", "***"),
        (KEY[:8], "***"),
        (KEY[:7], KEY[:7]),
        (f"x{KEY[3:12]}y", "x***y"),
        (KEY.upper(), KEY.upper()),
        (b64encode(f"a{KEY}".encode()).decode(), "YW***"),
        ("nothing here", "nothing here"),
        ("", ""),
    ],
)
def test_what_was_given_is_taken_out(text: str, shown: str) -> None:
    assert Redactor([Secret(KEY)]).text(text) == shown


def test_short_secrets_are_found_whole() -> None:
    redactor = Redactor(["hunter2", "abcd", "abc", ""])
    assert redactor.text("hunter2 hunter abcde abc") == "*** hunter ***e abc"


PREFIXES = ["sk-", "sk-proj-", "sk-ant-api03-", "sk-or-v1-", "ghp_", "gho_", "github_pat_", "glpat-", "gsk_", "hf_"]
PREFIXES += ["xoxb-", "xoxp-", "AIza", "AKIA", "ASIA", "nvapi-", "pplx-", "npm_", "ya29."]


@pytest.mark.parametrize("prefix", PREFIXES)
@pytest.mark.parametrize("frame", ["{}", "key {}.", '"{}"', "echo {}|sh", "x={}&y", "({})", "é{}é", "/{}/", "\n{}\n"])
def test_keys_of_known_shapes(prefix: str, frame: str) -> None:
    assert NONE.text(frame.format(prefix + BODY)) == frame.format("***")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"Authorization: Bearer {BODY}", "Authorization: Bearer ***"),
        ("authorization: basic dXNlcjpwYXNzd29yZA==", "authorization: basic ***"),
        ("Basic dXNlcjpwYXNz", "Basic ***"),
        ("x eyJhbGciOi.eyJzdWIiOi.c2ln_-x y", "x *** y"),
        ("eyJhbGciOi.eyJzdWIiOi, y", "***, y"),
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc\n-----END RSA PRIVATE KEY-----\nso", "***\nso"),
        ("a -----BEGIN PRIVATE KEY-----\nMIIE cut", "a ***"),
        ("git clone https://me:pa:ss@h.example/x?a=b", "git clone https://me:***@h.example/x?a=b"),
        (f"postgres://{BODY}@h/db", "postgres://***@h/db"),
        ("curl 'https://h/v1?alt=sse&key=abc12345&x=1'", "curl 'https://h/v1?alt=sse&key=***&x=1'"),
        ("export OPENAI_API_KEY=abc123def456 x", "export OPENAI_API_KEY=*** x"),
        ("PASSWORD='a b c' next", "PASSWORD='***' next"),
        ("password: hunter2\nuser: me", "password: ***\nuser: me"),
        ("--password hunter2 --db-password=hunter2", "--password *** --db-password=***"),
        ("deploy --api-token abc12345 prod", "deploy --api-token *** prod"),
        ('{"password": "hun\\"ter2", "n": 1}', '{"password": "***", "n": 1}'),
        ('"{\\"secret\\": \\"hunter2\\", \\"n\\": 1}"', '"{\\"secret\\": \\"***\\", \\"n\\": 1}"'),
        ('secret="never closed and more', 'secret="*** closed and more'),
    ],
)
def test_what_stands_in_the_place_of_a_key(text: str, shown: str) -> None:
    assert NONE.text(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "a task-force-2024-of-experts, risk-assessment-no-12",
        "sk-learn and sk-image, sk-learn-estimator-compat-2, npm_config_cache_folder_2",
        "sorted(rows, key=lambda row: row[1])",
        "max_tokens: 4096, prompt tokens=12345678",
        "press key: Enter; the key word",
        "Basic understanding, bearer of news, Bearer realm",
        "https://h.example:8080/a@b?c=d#e ssh://git@h/x user@h:path",
        "-----BEGIN CERTIFICATE-----\nMIIE\n-----END CERTIFICATE-----",
        "eyJust a word. eyJ",
        "the password is asked for; secrets are kept",
        "token=abc AKIA AIza ghp_short",
        "0123456789abcdef" * 4,
    ],
)
def test_ordinary_words_stay(text: str) -> None:
    assert NONE.text(text) == text


@pytest.mark.parametrize(
    ("name", "value", "is_secret"),
    [
        ("OPENAI_API_KEY", KEY, True),
        ("github_token", KEY, True),
        ("AWS_SECRET_ACCESS_KEY", f"/{KEY}/x", True),
        ("PGPASSWORD", KEY, True),
        ("MYSQL_PWD", KEY, True),
        ("npm_config__authToken", KEY, True),
        ("GOOGLE_APPLICATION_CREDENTIALS", "/home/me/key.json", False),
        ("DB_PASSWORD_FILE", "/run/secrets/db", False),
        ("SSH_AUTH_SOCK", "/tmp/agent.1", False),
        ("PWD", "/home/me/work", False),
        ("PATH", "/usr/bin:/bin", False),
        ("LANG", "en_GB.UTF-8", False),
    ],
)
def test_variables_that_hold_secrets(name: str, value: str, is_secret: bool) -> None:
    assert is_secret_variable(name, value) is is_secret
    shown = Redactor(environment={name: value}).text(f"so <{value}> so")
    assert shown == ("so <***> so" if is_secret else f"so <{value}> so")


def test_a_short_value_of_the_environment_is_a_word() -> None:
    assert Redactor(environment={"USE_TOKEN": "always", "KEYS": "\n"}).text("always") == "always"


def test_values_keep_their_form() -> None:
    redactor = Redactor([KEY])
    value = {
        "command": f"echo {KEY}",
        KEY: [1, 2.5, True, None, f"x{KEY}", ("a", {"b": KEY})],
        "password": "pw",
        "client_secret": "s",
        "api_key": "abc12345",
        "key": "Enter",
        "max_tokens": 4096,
        "token": {"deep": KEY},
    }
    assert redactor.value(value) == {
        "command": "echo ***",
        "***": [1, 2.5, True, None, "x***", ["a", {"b": "***"}]],
        "password": "***",
        "client_secret": "***",
        "api_key": "***",
        "key": "Enter",
        "max_tokens": 4096,
        "token": {"deep": "***"},
    }


def test_a_value_without_end_has_one() -> None:
    endless: list[Any] = [KEY]
    endless.append(endless)
    assert KEY not in repr(Redactor([KEY]).value(endless))
    assert Redactor().value([object(), {1: b"x"}]) == ["***", {"1": "***"}]


def test_a_model_sees_what_only_looks_like_a_key() -> None:
    redactor = Redactor([f"sk-ant-api03-{BODY}"])
    words = f"keys begin with sk-ant-api03- and password=hunter2 and ghp_{BODY[::-1]}"
    assert redactor.held(words) == words
    assert redactor.held(f"{words} sk-ant-api03-{BODY}!") == f"{words} ***!"
    assert redactor.held(f"cut sk-ant-api03-{BODY[:5]}") == "cut ***"


def test_no_text_is_too_odd_and_none_grows_by_more_than_a_third() -> None:
    dice = random.Random(3)
    redactor = Redactor([KEY, "abcd", "é\ud800x" * 4])
    parts = [
        KEY,
        KEY[:9],
        "abcd",
        "\ud800",
        "é\ud800x",
        "\x00",
        "://",
        "@",
        ":",
        "=",
        "key",
        "password",
        '"',
        "\\",
        " ",
    ]
    parts += ["Bearer ", "eyJ", ".", "-----BEGIN ", "PRIVATE KEY", "-----END ", "sk-", "1", "\n", "--", "😀", *"aA_-"]
    for _ in range(4000):
        text = "".join(dice.choices(parts, k=dice.randint(0, 30)))
        shown = redactor.text(text)
        assert len(shown) * 3 <= len(text) * 4
        assert KEY[:9] not in shown
        assert "abcd" not in shown
        assert len(redactor.held(text)) <= len(text)


def test_the_secrets_of_the_environment_are_learnt_once() -> None:
    """What they are found by is a thousand times as long as they are: with one for each agent, many would not fit."""
    environment = {f"SERVICE_{number}_API_KEY": f"{number}{KEY}{BODY[number:]}" * 2 for number in range(10)}
    first = Redactor([KEY], environment)
    tracemalloc.start()
    try:
        others = [Redactor([KEY], environment) for _ in range(100)]
        taken, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert taken / len(others) < 1_000
    assert {each.text(f"a {KEY} b {environment['SERVICE_7_API_KEY']}") for each in (first, *others)} == {"a *** b ***"}


def test_a_key_is_forgotten_with_the_last_who_knew_it() -> None:
    given = "only-here-5Rt8Wq1Zx7Lm3Vb9N"
    redactors = [Redactor([given]), Redactor([given])]
    assert frozenset({given}) in redaction._KNOWN
    redactors.pop()
    assert redactors[0].held(given) == "***"
    redactors.clear()
    gc.collect()
    assert frozenset({given}) not in redaction._KNOWN
