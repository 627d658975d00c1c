"""E5: no URL, redirect or answer of a name server leads `fetch_url` to this machine or a private network.

Listeners on every address of this machine count who comes, and a hook of Python itself sees every attempt to connect.
One listener, on a loopback address of its own, plays the open internet: it is the only one that may be reached.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import socket
import sys
from collections.abc import AsyncIterator, Callable
from ipaddress import IPv4Address, IPv6Address, ip_network
from typing import Any

from toolwire.builtin.addresses import Address
from toolwire.builtin.web import Fetcher, may_reach
from toolwire.errors import ToolwireError

from . import Found

FRONT = "127.77.0.1"
"""The address that plays the open internet."""


def _words(text: str) -> list[str]:
    return text.split()


# The registries of IANA, and what clouds use, as a list of its own: the code's tables are not asked here.
CLOSED = _words("""
0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 192.88.99.0/24
192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4 255.255.255.255/32
169.254.169.254/32 100.100.100.200/32 168.63.129.16/32 192.0.0.192/32
::/128 ::1/128 ::/96 100::/64 2001::/32 2001:2::/48 2001:10::/28 2001:db8::/32 3fff::/20 5f00::/16 64:ff9b:1::/48
fc00::/7 fd00:ec2::254/128 fe80::/10 fec0::/10 ff00::/8
""")

HOSTS = _words("""
127.0.0.1 127.0.0.2 127.1 127.0.1 0 0.0.0.0 0x7f000001 0x7f.0.0.1 0x7f.1 0177.0.0.1 017700000001 0177.1 2130706433
127.0.0.1. 127.0.0.1.. 00000127.0.0.1 127.0.0.01 0x7F000001 0X7f.0X0.0.1 127.00.00.1 4294967295 32512.1 6425673729
１２７.０.０.１ 127。0。0。1 127．0．0．1 127｡0｡0｡1 ①②⑦.⓪.⓪.① %31%32%37.0.0.1 127%2e0%2e0%2e1 127.0.0.1%00.test
[::1] [::] [0:0:0:0:0:0:0:1] [::ffff:127.0.0.1] [::ffff:7f00:1] [::127.0.0.1] [0000::0001] [::ffff:0:127.0.0.1]
[64:ff9b::127.0.0.1] [64:ff9b::7f00:1] [64:ff9b:1::7f00:1] [2002:7f00:1::] [2002:7f00:0001::1] [2002:a00:1::]
[2001:0:7f00:1::1] [2001::1] [2001:db8::1] [fe80::1] [fe80::1%25eth0] [fe80::1%eth0] [fe80::1%251] [::1%251] [fec0::1]
[fd00::1] [fd00:ec2::254] [fc00::1] [ff02::1] [100::1] [5f00::1] [3fff::1] [2606:4700::5efe:127.0.0.1] [v1.x]
[127.0.0.1] [::ffff:10.0.0.1] [::ffff:169.254.169.254] [0:0:0:0:0:ffff:a9fe:a9fe] [::ffff:192.168.0.1]
10.0.0.1 10.255.255.255 172.16.0.1 172.31.255.255 192.168.1.1 169.254.169.254 169.254.0.1 100.100.100.200 100.64.0.1
0xa9fea9fe 2852039166 0251.0376.0251.0376 0xa9.0xfe.0xa9.0xfe 169.254.43518 168.63.129.16 192.0.0.192 192.0.2.2
198.18.0.1 198.51.100.1 203.0.113.1 224.0.0.1 239.255.255.250 240.0.0.1 255.255.255.255 192.88.99.1
localhost LOCALHOST localhost. LocalHost.. ⓛocalhost localhost%00 a.localhost a.b.localhost. ｌｏｃａｌｈｏｓｔ
loc%61lhost
printer.local router.lan db.internal metadata.google.internal metadata.google.internal. intranet host.docker.internal
localhost.localdomain localhost6 ip6-localhost ip6-loopback router.home.arpa
localtest.test private.test ula.test metadata.test mapped.test nat64.test sixtofour.test scoped.test zero.test
mixed.test mixed-last.test mixed6.test alias.test none.test many.test swapped.test
""")

URLS = _words("""
http://user@127.0.0.1:{port}/ http://user:word@127.0.0.1:{port}/ http://front.test:{port}@127.0.0.1:{port}/
http://front.test@127.0.0.1:{port}/ http://@127.0.0.1:{port}/ http://:@127.0.0.1:{port}/
http://front.test:80#@127.0.0.1:{port}/ http://127.0.0.1:{port}#@front.test/ http://127.0.0.1:{port}?@front.test/
http://127.0.0.1:{port}\\@front.test/ http://front.test\\@127.0.0.1:{port}/ http:\\\\127.0.0.1:{port}/
http:/127.0.0.1:{port}/ http:127.0.0.1:{port}/ http:///127.0.0.1:{port}/ http:////127.0.0.1:{port}/
//127.0.0.1:{port}/ 127.0.0.1:{port} HTTP://127.0.0.1:{port}/ hTTp://LOCALHOST:{port} http://127.0.0.1:0{port}/
http://127.0.0.1:{port}:{port}/ http://127.0.0.1:00000{port}/x file:///etc/passwd file://127.0.0.1/etc/passwd
file:/etc/passwd ftp://127.0.0.1:{port}/ gopher://127.0.0.1:{port}/_x data:text/plain,hello javascript:alert(1)
about:blank ws://127.0.0.1:{port}/ wss://127.0.0.1:{port}/ dict://127.0.0.1:{port}/ ldap://127.0.0.1:{port}/
unix:///var/run/docker.sock jar:http://127.0.0.1:{port}!/ blob:http://localhost/x
view-source:http://127.0.0.1:{port}/ feed:http://127.0.0.1:{port}/ http+unix://%2Fvar%2Frun%2Fdocker.sock/
tftp://127.0.0.1:{port}/ http://front.test:22/ http://front.test:25/ http://front.test:0/ http://front.test:6000/
http://front.test:6667/ http://front.test:99999/ http://front.test:-1/ http:// https:// http://./ http://../
http://[]/ http://[::1 http://%/
""")

NAMES: dict[str, list[str]] = {
    "front.test": [FRONT],
    "localtest.test": ["127.0.0.1"],
    "localhost6": ["::1"],
    "ip6-localhost": ["::1"],
    "ip6-loopback": ["::1"],
    "private.test": ["10.0.0.1"],
    "ula.test": ["fd00::1"],
    "metadata.test": ["169.254.169.254"],
    "mapped.test": ["::ffff:127.0.0.1"],
    "nat64.test": ["64:ff9b::7f00:1"],
    "sixtofour.test": ["2002:7f00:1::1"],
    "scoped.test": ["fe80::1%1"],
    "zero.test": ["0.0.0.0"],
    "mixed.test": ["127.0.0.1", FRONT],
    "mixed-last.test": [FRONT, FRONT, "127.0.0.1"],
    "mixed6.test": [FRONT, "::1"],
    "alias.test": [FRONT, "10.0.0.1", FRONT],
    "none.test": [],
    "many.test": [FRONT] * 40,
}
TURNS = {"rebind.test": [FRONT, "127.0.0.1"], "rebind6.test": [FRONT, "::1"], "swapped.test": ["127.0.0.1", FRONT]}
"""Names that have another answer at each look-up."""

REBINDING = ("rebind.test", "rebind6.test")
STATUSES = (301, 302, 303, 307, 308)


class _Watch:
    """Every attempt of this process to connect anywhere but to the front, while `on`. A hook stays for good."""

    def __init__(self) -> None:
        self.on = False
        self.seen: list[str] = []
        sys.addaudithook(self._hook)

    def _hook(self, event: str, arguments: tuple[Any, ...]) -> None:
        # What asks the routing table "connects" too, for datagrams, and sends none.
        if self.on and event == "socket.connect" and arguments[0].type == socket.SOCK_STREAM:
            address = arguments[1]
            if not isinstance(address, tuple) or address[0] != FRONT:
                self.seen.append(str(address))


_WATCH: list[_Watch] = []


def _watch() -> _Watch:
    if not _WATCH:
        _WATCH.append(_Watch())
    return _WATCH[0]


class _World:
    """The front, which redirects as it is told, the listeners that nobody may reach, and the names."""

    def __init__(self, allows: Callable[[Address], bool]) -> None:
        self.port = 0
        self.reached = 0
        self.served = 0
        self.lookups: dict[str, int] = {}
        self.redirects: list[tuple[int, str]] = []
        """What the next requests to the front are answered with; a page when there is none left."""
        self.public: list[Address] = []
        """Addresses that were judged public."""
        self.listened: list[str] = []
        self._allows = allows

    def allows(self, address: Address) -> bool:
        if str(address) == FRONT:
            return True
        if not self._allows(address):
            return False
        self.public.append(address)
        # Only what ends at a listener is tried, whatever the judge says: nothing leaves this machine.
        return str(address) in self.listened or address.is_loopback

    async def resolve(self, host: str, port: int) -> list[str]:
        count = self.lookups[host] = self.lookups.get(host, 0) + 1
        name = host.lower().rstrip(".")
        if name in TURNS:
            return [TURNS[name][(count - 1) % 2]]
        if name in NAMES:
            return NAMES[name]
        # As the C library reads numbers: 127.1 and the like.
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
        return [str(each[4][0]) for each in found]

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            await reader.readuntil(b"\r\n\r\n")
            self.served += 1
            if self.redirects:
                status, location = self.redirects.pop(0)
                head = f"HTTP/1.1 {status} Moved\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n"
                writer.write(head.encode("utf-8", "surrogateescape"))
            else:
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nfront")
            await writer.drain()
        writer.close()

    async def count(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reached += 1
        writer.close()


def own_addresses() -> list[str]:
    """Loopback, and what this machine has beside it."""
    found = ["127.0.0.1", "::1"]
    for family, far in ((socket.AF_INET, "10.255.255.254"), (socket.AF_INET6, "fd00::ffff")):
        with contextlib.suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((far, 9))
            found.append(str(probe.getsockname()[0]))
    return list(dict.fromkeys(found))


@contextlib.asynccontextmanager
async def _listening(world: _World) -> AsyncIterator[list[str]]:
    """Runs the front and the listeners, all at one port; gives the addresses that are listened on."""
    servers: list[asyncio.Server] = []
    try:
        front = await asyncio.start_server(world.answer, FRONT, 0)
        servers.append(front)
        world.port = front.sockets[0].getsockname()[1]
        for address in own_addresses():
            with contextlib.suppress(OSError):
                servers.append(await asyncio.start_server(world.count, address, world.port))
                world.listened.append(address)
        yield world.listened
    finally:
        for server in servers:
            server.close()
            await server.wait_closed()


def urls(count: int, seed: int) -> Found:
    """All that is written above, directly and by redirects, then `count` at random. The plan: 30,000, some 30 s."""
    return asyncio.run(_urls(count, seed, may_reach))


def urls_with(allows: Callable[[Address], bool]) -> Found:
    """The same without the random ones, for another judge of addresses: a bad one must be found out."""
    return asyncio.run(_urls(0, 1, allows))


async def _urls(count: int, seed: int, allows: Callable[[Address], bool]) -> Found:
    found, chance, world, watch = Found(), random.Random(seed), _World(allows), _watch()
    fetcher = Fetcher(allows=world.allows, resolve=world.resolve, connect_seconds=5, total_seconds=10)
    async with _listening(world) as listened:
        if "127.0.0.1" not in listened:
            found.fault("nobody listens on 127.0.0.1: this proves nothing")
        written = [*_written(world.port), *(_url(_host(each), world.port) for each in listened)]
        watch.seen.clear()
        watch.on = True
        try:
            for url in written:
                await _try(fetcher, world, found, url)
            directly = found.runs
            for number, url in enumerate(written):
                await _redirect(fetcher, world, found, url, [STATUSES[number % 5]])
            for location in _locations(world.port):
                for status in STATUSES:
                    await _redirect(fetcher, world, found, location, [status])
                await _redirect(fetcher, world, found, location, list(STATUSES[:4]))
            await _rebind(fetcher, world, found)
            for number in range(count):
                url = _random_url(world.port, written, chance)
                if number % 10:
                    await _try(fetcher, world, found, url)
                else:
                    await _redirect(fetcher, world, found, url, chance.choices(STATUSES, k=chance.randint(1, 4)))
        finally:
            watch.on = False
    for attempt in watch.seen:
        found.fault(f"a connection to {attempt} was tried")
    for address in world.public:
        if not _is_open(address):
            found.fault(f"{address} was taken for public")
    found.words = f"{directly} URLs by hand, {len(listened)} addresses listened on, {world.reached} reached"
    return found


async def _try(fetcher: Fetcher, world: _World, found: Found, url: str) -> None:
    """One URL: it must be refused, and nobody reached."""
    before = world.reached
    found.runs += 1
    world.lookups.clear()
    try:
        page = await fetcher.fetch(url)
    except ToolwireError:
        page = None
    except Exception as error:
        found.fault(f"{url!r}: {type(error).__name__} {error}")
        return
    if page is not None and page.text != "front":
        found.fault(f"{url!r} gave a page")
    elif page is not None and "front" not in url.lower() and "rebind" not in url.lower():
        found.fault(f"{url!r} was fetched from the front")
    if world.reached != before:
        found.fault(f"{url!r} reached this machine")


async def _redirect(fetcher: Fetcher, world: _World, found: Found, location: str, statuses: list[int]) -> None:
    """The front redirects, some times to itself and then to a place that must be refused."""
    location = "".join(char for char in location if char not in "\r\n")
    world.redirects = [(status, f"/{status}") for status in statuses[:-1]] + [(statuses[-1], location)]
    before, served = world.reached, world.served
    found.runs += 1
    try:
        page = await fetcher.fetch(f"http://front.test:{world.port}/")
    except ToolwireError:
        page = None
    except Exception as error:
        found.fault(f"a redirect to {location!r}: {type(error).__name__} {error}")
        return
    if world.reached != before or (page is not None and page.text != "front"):
        found.fault(f"a redirect to {location!r} was followed to this machine")
    if world.served - served < len(statuses):
        found.fault(f"the redirect to {location!r} was never given")
    world.redirects = []


async def _rebind(fetcher: Fetcher, world: _World, found: Found) -> None:
    """Names that change between look-ups are looked up once for a request, and followed to where that led."""
    for name in REBINDING:
        world.lookups.clear()
        before, served = world.reached, world.served
        found.runs += 1
        page = await fetcher.fetch(f"http://{name}:{world.port}/")
        if page.text != "front" or world.lookups[name] != 1 or world.reached != before or world.served != served + 1:
            found.fault(f"{name} was looked up {world.lookups[name]} times, {world.reached - before} reached")
        await _redirect(fetcher, world, found, f"http://{name}:{world.port}/", [302])
        # The second answer for the same name, met on a redirect to itself, is refused.
        world.lookups.clear()
        world.redirects = [(302, "/again")]
        found.runs += 1
        with contextlib.suppress(ToolwireError):
            await fetcher.fetch(f"http://{name}:{world.port}/")
            found.fault(f"{name} was followed to its second address")
        world.redirects = []


def _host(address: str) -> str:
    return f"[{address.partition('%')[0]}]" if ":" in address else address


def _url(host: str, port: int) -> str:
    return f"http://{host}:{port}/"


def _written(port: int) -> list[str]:
    return [
        *(_url(host, port) for host in HOSTS),
        *(f"https://{host}/latest/meta-data/" for host in HOSTS[::4]),
        *(url.replace("{port}", str(port)) for url in URLS),
    ]


def _locations(port: int) -> list[str]:
    """What only a redirect can say."""
    return [
        f"//127.0.0.1:{port}/",
        f"//[::1]:{port}/",
        f"///127.0.0.1:{port}/",
        f"\\\\127.0.0.1:{port}\\",
        f"/\\127.0.0.1:{port}/",
        f"http:127.0.0.1:{port}",
        f"  http://127.0.0.1:{port}/",
        f"http://127.0.0.1:{port}/\t",
        f"ht\ttp://127.0.0.1:{port}/",
        f"@127.0.0.1:{port}/",
        f"http://front.test@127.0.0.1:{port}/",
        f"http://localhost:{port}/%0d%0aX: y",
        "file:///etc/passwd",
        "ftp://127.0.0.1/",
        "gopher://127.0.0.1/",
        "data:text/plain,x",
        "http://169.254.169.254/latest/",
        f"http://mixed.test:{port}/",
        f"http://swapped.test:{port}/",
    ]


def _random_url(port: int, written: list[str], chance: random.Random) -> str:
    if chance.random() < 0.6:
        network = ip_network(chance.choice(CLOSED))
        address = network[chance.randrange(network.num_addresses)]
        host = _write_4(address, chance) if isinstance(address, IPv4Address) else _write_6(address, chance)
        return f"{chance.choice(['http', 'https', 'HTTP'])}://{host}:{port}{chance.choice(['', '/', '/a?b#c'])}"
    url = chance.choice(written)
    for _ in range(chance.randint(1, 3)):
        place = chance.randrange(len(url) + 1)
        insert = chance.choice([".", "0", "%2e", "@", "\\", "/", "\t", "\u200b", "。", "１", "%00", "[", ":", " ", "#"])
        url = chance.choice([url[:place] + insert + url[place:], url[:place] + url[place + 1 :], url.swapcase()])
    return url


def _write_4(address: IPv4Address, chance: random.Random) -> str:
    number, parts = int(address), [int(part) for part in str(address).split(".")]
    inside = f"{number >> 16:x}:{number & 0xFFFF:x}"
    return chance.choice(
        [
            str(address),
            f"{address}.",
            str(number),
            hex(number),
            f"0{number:o}",
            ".".join(chance.choice([str(part), hex(part), f"0{part:o}"]) for part in parts),
            f"{parts[0]}.{number & 0xFFFFFF}",
            f"{parts[0]}.{parts[1]}.{number & 0xFFFF}",
            "".join(chr(ord(char) + 0xFEE0) if char.isdigit() else char for char in str(address)),
            str(address).replace(".", chance.choice("。．｡")),
            "".join(f"%{ord(char):02x}" for char in str(address)),
            f"[::ffff:{address}]",
            f"[::ffff:{inside}]",
            f"[64:ff9b::{inside}]",
            f"[2002:{inside}::{chance.randrange(0xFFFF):x}]",
            f"[::{address}]",
        ]
    )


def _write_6(address: IPv6Address, chance: random.Random) -> str:
    return f"[{chance.choice([address.compressed, address.exploded, address.compressed.upper(), f'{address}%251'])}]"


def _is_open(address: Address) -> bool:
    """What the list above says: neither closed, nor the carrier of something that is."""
    if any(address in ip_network(each) for each in CLOSED):
        return False
    if isinstance(address, IPv4Address):
        return True
    carried = address.ipv4_mapped or address.sixtofour
    if address in ip_network("64:ff9b::/96"):
        carried = IPv4Address(int(address) & 0xFFFFFFFF)
    return _is_open(carried) if carried is not None else address in ip_network("2000::/3")


if __name__ == "__main__":
    result = urls(int(sys.argv[1]), 1)
    print(result.runs, result.words, *result.faults, sep="\n")
