"""1,000 canary secrets: none in anything that a `Redactor` lets through, however they are written, in linear time."""

from __future__ import annotations

import json
import random
import string
import time
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable
from urllib.parse import quote, quote_plus

from bench.trust import Found
from toolwire.redaction import PIECE, Redactor

ALPHABET = string.ascii_letters + string.digits + "_-+/=.%&\"'\\ é€😀"
WORDS = ("the", "quick", "brown", "fox", "jumps", "over", "17", "lazy", "dogs,", "token", "by", "token.", "key-board")


def canaries(count: int, seed: int, alphabet: str = string.ascii_letters + string.digits) -> list[str]:
    """Made-up secrets of 16 to 60 characters that look like nothing known."""
    dice = random.Random(seed)
    return ["".join(dice.choices(alphabet, k=dice.randint(16, 60))) for _ in range(count)]


def _in_base64(encode: Callable[[bytes], bytes]) -> Callable[[str], str]:
    return lambda secret: encode(f"user:{secret}!".encode()).decode()


WRITTEN: dict[str, Callable[[str], str]] = {
    "as it is": str,
    "its first half": lambda secret: secret[: len(secret) // 2],
    "its last half": lambda secret: secret[len(secret) // 2 :],
    "JSON": lambda secret: json.dumps(secret),
    "JSON in JSON": lambda secret: json.dumps(json.dumps({"x": secret}, ensure_ascii=False)),
    "Python": repr,
    "Python bytes": lambda secret: repr(secret.encode()),
    "a URL": lambda secret: f"http://h/?q={quote(secret, safe='')}&x=1",
    "a form": lambda secret: f"q={quote_plus(secret)}&x=1",
    "Base64": _in_base64(b64encode),
    "Base64 for URLs": _in_base64(urlsafe_b64encode),
}
"""How a secret may stand in a text."""


def hidden(count: int, seed: int) -> Found:
    """Each of `count` canaries, plain ones and ones with quotes, blanks and letters of other scripts in turn, written
    in every way among words: no eight characters of it are left, and the words are. Plan: 1,000 (three seconds).
    """
    found = Found()
    dice = random.Random(seed)
    pairs = zip(canaries(count, seed), canaries(count, seed + 1, ALPHABET), strict=True)
    secrets = [pair[number % 2] for number, pair in enumerate(pairs)]
    redactor = Redactor(secrets)
    for secret in secrets:
        for name, write in WRITTEN.items():
            written = write(secret)
            words = " ".join(dice.choices(WORDS, k=5))
            shown = redactor.text(f"{words}\n{written}\n{words}")
            found.runs += 1
            if not (shown.startswith(words) and shown.endswith(words)):
                found.fault(f"{name}: the words around {written!r} are gone: {shown!r}")
            left = shown.replace(words, "")
            for piece in _pieces(secret) | (_pieces(written) if "Base64" in name else set()):
                if piece in left:
                    found.fault(f"{name}: {piece!r} of {written!r} is left: {shown!r}")
    return found


def _pieces(text: str) -> set[str]:
    return {text[i : i + PIECE] for i in range(len(text) - PIECE + 1)}


HOSTILE = (
    *("sk-", "sk-a1", "://", "://a:b@", "-----BEGIN ", "-----BEGIN PRIVATE KEY", "-----BEGIN PRIVATE KEY-----END "),
    *("key='", "password=", 'password="', "Bearer ", "eyJ", "eyJ.eyJ", "--token ", "a", "key: ", 'secret"\\"', "SG.a."),
)
"""Texts that would take a careless search long when they are repeated."""


def linear(count: int, seed: int) -> Found:
    """Seconds of work for ten times the text, with 1,000 secrets: about ten times as many. `count` is the size of the
    smaller text. Plan: 1,000,000 characters (40 seconds).
    """
    found = Found()
    dice = random.Random(seed)
    secrets = canaries(1000, seed)
    redactor = Redactor(secrets)
    usual = " ".join(dice.choices([*(WORDS * 50), *secrets[:2]], k=count // 5))
    slowest = 0.0
    for unit in (usual, *HOSTILE, secrets[0], secrets[0][: PIECE - 1]):
        small, large = (_seconds(redactor, (unit * (size // len(unit) + 1))[:size]) for size in (count, 10 * count))
        found.runs += 1
        slowest = max(slowest, large)
        # Twice as much as in proportion is the noise of a busy machine; a square would be ten times as much.
        if large > 20 * small + 0.5:
            found.fault(f"{unit[:20]!r}: {small:.2f} s and {large:.2f} s for ten times as much")
    found.words = f"{10 * count / 1e6:g} million characters in {slowest:.1f} s at most"
    return found


def _seconds(redactor: Redactor, text: str) -> float:
    start = time.process_time()
    redactor.text(text)
    return time.process_time() - start
