"""Requests to a provider, kept under its limits by all workers of a database together.

Each request takes the next free place in time from one row per account, so that no two workers take the same, and waits
until it is there. The clock is the database's own: those of the workers may differ.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import defaultdict
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import sqlalchemy as sa

from ..errors import ConfigError
from ..providers.catalog import find_provider, near_names
from ..refusals import secrets_of
from ..transport import HttpRequest, Transport
from .database import Database, rates

_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_DIGITS = 9
_BURST = 10
"""At most so many at once, and no more than a tenth of what the rate allows."""
_SLACK = 0.25
_AWS_SIGNATURE = "AWS4-HMAC-SHA256 "


class Rate(NamedTuple):
    """So many requests in any time of so many seconds, and never more, wherever that time begins.

    They go at an even pace, save that up to a tenth of them, at most ten, may go at once after a rest. What these can
    take from a window the pace gives back: 50 in 60 s are up to 5 at once and then one every 1.3 s. It also gives room
    for requests that leave a little late (`slack`), since those crowd the window that they come into.
    """

    requests: int
    seconds: float

    @property
    def burst(self) -> int:
        """How many may go at once."""
        return max(1, min(_BURST, self.requests // 10))

    @property
    def pace(self) -> float:
        """Seconds between two that do not."""
        return (self.seconds + self.slack) / (self.requests - self.burst + 1)

    @property
    def slack(self) -> float:
        """How many seconds late a request may leave, and no window holds more for it."""
        return min(_SLACK, self.seconds / 20)

    @classmethod
    def parse(cls, text: str) -> Rate:
        """A rate as people write it: `50/60s`, `10/s`, `1000/1h`. Raises a `ConfigError`."""
        requests, slash, time = text.replace(" ", "").partition("/")
        count, unit = time[:-1] or "1", _UNITS.get(time[-1:])
        if not slash or unit is None or not (_is_count(requests) and _is_count(count)):
            raise ConfigError(
                f"{text[:80]!r} is no rate",
                hint="Write requests and a time: 50/60s, 10/s, 1000/1h. The units are s, m, h and d.",
            )
        return cls(int(requests), int(count) * unit)


class RateLimits:
    """The limits of one process, for the accounts that it shares with all others of the database.

    Rates are by `provider:model`, `provider` or `*`, for each provider without one of its own; the first of these that
    is there holds, and alone. Each key of a provider is an account of its own. Requests of one process go in their
    order, and processes take turns: none takes more than one place ahead, so that no more than that is lost with it.

    Raises a `ConfigError` for a rate that nothing can keep, and for a provider that there is not: it would never hold.
    """

    def __init__(self, database: Database, rates: Mapping[str, Rate]) -> None:
        self._database = database
        self._rates = {_checked(name, rate): rate for name, rate in rates.items()}
        self._lines: WeakKeyDictionary[asyncio.AbstractEventLoop, defaultdict[str, asyncio.Lock]] = WeakKeyDictionary()

    async def wait(self, provider: str, model: str, key: str) -> float:
        """Waits until a request may go to this model with this key; gives the seconds that it took.

        Of a key the database gets a digest alone. A wait that is cancelled leaves its place empty.
        """
        found = self._find(provider, model)
        if found is None:
            return 0.0
        name, rate = found
        loop = asyncio.get_running_loop()
        began = loop.time()
        account = f"{name} {_digest(key)}"
        async with self._lines.setdefault(loop, defaultdict(asyncio.Lock))[account]:
            await asyncio.sleep(await self._database.use(lambda connection: self._take(connection, account, rate)))
        return loop.time() - began

    def _find(self, provider: str, model: str) -> tuple[str, Rate] | None:
        """What is counted together, and its rate."""
        provider = _named(provider)
        if rate := self._rates.get(f"{provider}:{model}"):
            return f"{provider}:{model}", rate
        rate = self._rates.get(provider) or self._rates.get("*")
        return None if rate is None else (provider, rate)

    def _take(self, connection: sa.Connection, account: str, rate: Rate) -> float:
        """Takes the next place; gives the seconds until then.

        `next` is when the one after it would be due at an even pace. A clock that was set back takes `next` with it.
        """
        if self._database.is_sqlite:
            clock: Any = sa.literal_column("((julianday('now') - 2440587.5) * 86400.0)")
            later: Any = sa.func.max
        else:
            # Not now(): that is when the transaction began, maybe long before it was its turn.
            clock = sa.literal_column("extract(epoch from clock_timestamp())::float8")
            later = sa.func.greatest
        due = sa.case((clock < rates.c.seen, rates.c.next - (rates.c.seen - clock)), else_=rates.c.next)
        first = self._database.insert(rates).values(key=account, next=clock + rate.pace, seen=clock)
        taken = first.on_conflict_do_update(
            index_elements=[rates.c.key], set_={"next": later(due, clock) + rate.pace, "seen": clock}
        ).returning(rates.c.next, rates.c.seen)
        row = connection.execute(taken).one()
        return max(0.0, float(row.next) - rate.burst * rate.pace - float(row.seen))


class LimitedTransport:
    """A transport whose requests wait until they may go."""

    def __init__(self, inner: Transport, limits: RateLimits) -> None:
        self._inner = inner
        self._limits = limits

    async def stream(self, request: HttpRequest) -> AsyncGenerator[bytes, None]:
        """As `Transport.stream`."""
        await self._limits.wait(request.provider, request.model, account_of(request))
        async with aclosing(self._inner.stream(request)) as body:
            async for data in body:
                yield data

    async def aclose(self) -> None:
        """As `Transport.aclose`."""
        await self._inner.aclose()


def account_of(request: HttpRequest) -> str:
    """What tells one account at a provider from another: the key.

    Credentials of the machine differ from worker to worker and change by the hour: there it is the address that they
    are for, with its region or project.
    """
    provider = find_provider(request.provider)
    signature = next((value for name, value in request.headers.items() if name.lower() == "authorization"), "")
    if signature.startswith(_AWS_SIGNATURE) or (provider is not None and provider.credentials == "google"):
        return request.url.partition("/model/")[0].partition("/publishers/")[0]
    return "\n".join(sorted(secrets_of(request)))


def _named(name: str) -> str:
    """A provider, alone or before its model, by the name that requests have."""
    provider, colon, model = name.strip().partition(":")
    found = find_provider(provider)
    return f"{provider if found is None else found.name}{colon}{model}"


def _checked(name: str, rate: Rate) -> str:
    if rate.requests < 1 or not 0 < rate.seconds < float("inf"):
        raise ConfigError(
            f"{rate.requests} requests in {rate.seconds:g} s are no rate", hint="Give one request at least."
        )
    provider, colon, _ = name.strip().partition(":")
    if (provider == "*" and not colon) or find_provider(provider) is not None:
        return _named(name)
    near = near_names(provider)
    raise ConfigError(
        f"there is no provider {provider[:64]!r} to limit the requests to",
        hint=f"Did you mean {', '.join(near)}?" if near else "Name one, or one of its models, or * for each: *=10/s.",
        provider=provider[:64],
    )


def _digest(key: str) -> str:
    return hashlib.blake2b(key.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()


def _is_count(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= _DIGITS and int(text) > 0
