"""Which addresses are public, and how a host may be written."""

from __future__ import annotations

from ipaddress import ip_address, ip_network

import pytest
from bench.trust.urls import CLOSED

from toolwire.builtin.addresses import is_public, read_host

PUBLIC = (
    "1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.0 93.184.216.34 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.0 "
    "168.63.129.15 168.63.129.17 169.253.255.255 169.255.0.0 172.15.255.255 172.32.0.0 191.255.255.255 192.0.1.0 "
    "192.0.3.0 192.31.196.1 192.52.193.1 192.88.98.255 192.88.100.0 192.167.255.255 192.169.0.0 198.17.255.255 "
    "198.20.0.0 198.51.99.255 198.51.101.0 203.0.112.255 203.0.114.0 223.255.255.255 "
    "2000:: 2001:200:: 2001:4860:4860::8888 2001:db7:ffff:: 2001:db9:: 2606:4700:4700::1111 2a00:1450:4001::200e "
    "3ffe:: 3fff:1000:: 3fff:ffff:: ::ffff:8.8.8.8 64:ff9b::8.8.8.8 2002:808:808::1 2606:4700::200:5efe:8.8.8.8"
)
"""Among them the neighbours of every closed network."""

CARRIERS = (
    "::ffff:127.0.0.1 ::ffff:0:127.0.0.1 ::127.0.0.1 64:ff9b::127.0.0.1 64:ff9b::10.1.2.3 64:ff9b:1::808:808 "
    "2002:7f00:1:: 2002:a9fe:a9fe::1 2002:a00:5db8:d822:: 2001:0:808:808::1 2606:4700::5efe:10.0.0.1 "
    "2606:4700::200:5efe:192.168.0.1"
)
CLOSED_EDGES = [str(network[place]) for network in map(ip_network, CLOSED) for place in (0, -1)]
METADATA = "169.254.169.254 fd00:ec2::254 100.100.100.200 192.0.0.192 168.63.129.16 ::ffff:169.254.169.254"


@pytest.mark.parametrize("address", PUBLIC.split())
def test_public(address: str) -> None:
    assert is_public(ip_address(address))


@pytest.mark.parametrize("address", [*CLOSED_EDGES, *CARRIERS.split(), *METADATA.split()])
def test_not_public(address: str) -> None:
    assert not is_public(ip_address(address))


def test_an_address_with_a_scope_is_not_public() -> None:
    assert is_public(ip_address("2606:4700::1"))
    assert not is_public(ip_address("2606:4700::1%eth0"))


@pytest.mark.parametrize("host", ["93.184.216.34", "2606:4700::1", "::ffff:7f00:1", "127.0.0.1"])
def test_an_address_is_read(host: str) -> None:
    assert read_host(host) == ip_address(host)


@pytest.mark.parametrize(
    "host", ["example.com", "EXAMPLE.com.", "xn--9ca.fr", "a_b.example", "0x7f.example", "1.2.3.4.example", "x", "0xg"]
)
def test_a_name_is_to_be_looked_up(host: str) -> None:
    assert read_host(host) is None


NUMBERS = (
    "127.1 0 2130706433 0x7f000001 0x7f.1 0x 0177.0.0.1 127.0.0.01 127.0.0.1. 127.0.0.256 1.2.3.4.5 a.1 a.0x1 a.09 "
    "1.2.3. ::1%1 fe80::1%25eth0 :: ::: 1:2"
)
LOCAL = (
    "localhost LOCALHOST localhost. a.localhost a.b.localhost. printer.local metadata.google.internal intranet x.lan "
    "router.home.arpa localhost.localdomain internal local"
)
BROKEN = [
    *("", ".", "..", "a..b", ".a", "a b", "a%62", "%31.0.0.1", "é.fr", "a/b", "a\\b", "a@b", "a\0b", "127。0。0。1"),
    *("a" * 64 + ".com", ".".join(["a" * 60] * 5), "ａ.com", "a:b", "-\n"),
]


@pytest.mark.parametrize("host", [*(host for host in NUMBERS.split() if host != "::"), *LOCAL.split(), *BROKEN])
def test_a_host_is_refused(host: str) -> None:
    with pytest.raises(ValueError, match=r"[a-z]"):
        read_host(host)


def test_a_name_of_the_greatest_length() -> None:
    longest = f"{'a' * 61}." * 4 + "a" * 5
    assert (len(longest), read_host(longest)) == (253, None)
    with pytest.raises(ValueError, match="too long"):
        read_host(f"{longest}a")
