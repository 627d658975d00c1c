"""Which addresses on the network are public: all but those that IANA, or a cloud, gives to this machine and its site.

Written out as tables, because Python's own `is_global` changed between releases and looks into no address that carries
another one. IPv6 is closed by default: only what is given out as global unicast can be public, and an IPv6 address
that leads to an IPv4 one is as public as that one. Pure: nothing is looked up here.
"""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

Address = IPv4Address | IPv6Address

NAME_LENGTH = 253
LABEL_LENGTH = 63

NOT_PUBLIC_4 = tuple(
    IPv4Network(each)
    for each in (
        "0.0.0.0/8",  # this host on this network; many systems take 0.0.0.0 for loopback
        "10.0.0.0/8",  # private
        "100.64.0.0/10",  # shared by a carrier's customers; metadata of one cloud at 100.100.100.200
        "127.0.0.0/8",  # loopback
        "168.63.129.16/32",  # looks public, is the host of every machine in one cloud
        "169.254.0.0/16",  # link-local; metadata of most clouds at 169.254.169.254
        "172.16.0.0/12",  # private
        "192.0.0.0/24",  # protocol assignments; metadata of one cloud at 192.0.0.192
        "192.0.2.0/24",  # documentation
        "192.88.99.0/24",  # relays from IPv6, no longer in use
        "192.168.0.0/16",  # private
        "198.18.0.0/15",  # benchmarks
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, and broadcast
    )
)

GLOBAL_UNICAST = IPv6Network("2000::/3")
"""What can be public in IPv6. Outside are loopback, unique local (fc00::/7), link-local (fe80::/10), site-local
(fec0::/10), multicast (ff00::/8), discard (100::/64), segment routing (5f00::/16), local translation
(64:ff9b:1::/48), and what nobody was given yet."""

NOT_PUBLIC_6 = tuple(
    IPv6Network(each)
    for each in (
        "2001::/23",  # protocol assignments, Teredo tunnels among them
        "2001:db8::/32",  # documentation
        "3fff::/20",  # documentation
    )
)

_CARRIERS: tuple[tuple[IPv6Network, int], ...] = (
    (IPv6Network("::ffff:0:0/96"), 0),
    (IPv6Network("64:ff9b::/96"), 0),
    (IPv6Network("2002::/16"), 80),
)
"""IPv6 networks whose addresses lead to the IPv4 address inside (mapped, translated, 6to4), and where it stands:
how many bits lie to the right of it."""

_ISATAP = frozenset((0x00005EFE, 0x02005EFE))
"""The left half of an interface id whose right half is an IPv4 address inside a site."""

LOCAL_NAMES = ("localhost", "local", "internal", "localdomain", "home.arpa", "lan", "intranet")
"""Names, and ends of names, that mean this machine or this site whatever they resolve to."""


def is_public(address: Address) -> bool:
    """Whether this address is one of the open internet. One with a scope is of a link, so it is not."""
    if isinstance(address, IPv4Address):
        return not any(address in network for network in NOT_PUBLIC_4)
    if address.scope_id is not None:
        return False
    for network, right in _CARRIERS:
        if address in network:
            return is_public(IPv4Address(int(address) >> right & 0xFFFFFFFF))
    if address not in GLOBAL_UNICAST or any(address in network for network in NOT_PUBLIC_6):
        return False
    if int(address) >> 32 & 0xFFFFFFFF in _ISATAP:
        return is_public(IPv4Address(int(address) & 0xFFFFFFFF))
    return True


def read_host(host: str) -> Address | None:
    """The address that a host of a URL is (an IPv6 one without its brackets), None for a name to look up.

    A `ValueError` says in a sentence what is wrong with it. An address is written in one way only: programs read
    `127.1`, `0177.0.0.1`, `0x7f000001` and `2130706433` differently, so none of these is taken, by name or by number.
    """
    if ":" in host:
        if "%" in host:
            raise ValueError("an address with a zone is of one link only")
        return _read(IPv6Address, host)
    if not host.isascii() or not host.replace("-", "").replace("_", "").replace(".", "").isalnum():
        raise ValueError("a host name has letters, digits, dots and hyphens only")
    name = host.lower().removesuffix(".")
    labels = name.split(".")
    if _is_number(labels[-1]):
        return _read(IPv4Address, host)
    if len(name) > NAME_LENGTH or not all(0 < len(label) <= LABEL_LENGTH for label in labels):
        raise ValueError("it is no host name: a part of it is empty or too long")
    if any(name == local or name.endswith(f".{local}") for local in LOCAL_NAMES):
        raise ValueError("it is a name of this machine or its local network")
    return None


def _read(kind: Callable[[str], Address], host: str) -> Address:
    try:
        return kind(host)
    except ValueError:
        raise ValueError("an address is four decimal numbers, such as 93.184.216.34, or IPv6 in brackets") from None


def _is_number(label: str) -> bool:
    """Whether a last label makes a host an address: digits, or `0x` with hexadecimal ones or none."""
    if label.isdigit():
        return True
    return label.startswith("0x") and all(char in "0123456789abcdef" for char in label[2:])
