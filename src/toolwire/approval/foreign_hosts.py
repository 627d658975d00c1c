"""Names of hosts that are not in plain ASCII, and the ASCII that programs look up instead: `xn--…`.

Such a name may look like another one letter by letter, also where all its letters are of one script.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from .commands.options import names
from .hidden import marked

_TOLD = 3
"""How many hosts are listed for one argument."""
_LONGEST = 253
_DOTS = str.maketrans(dict.fromkeys("\u3002\uff0e\uff61", "."))
"""Characters that stand for a dot in the name of a host."""
_ENDS = frozenset("/?#\\ \t\r\n\"'`<>|;&(){}[],")
"""What ends a host in an address, or a word of a command."""
_PROGRAMS = names(
    "curl wget ssh scp sftp rsync ping ping6 nc ncat netcat telnet dig nslookup host whois ftp http https xh aria2c "
    "openssl socat traceroute mtr nmap lynx w3m"
)
"""Programs whose words may be bare names of hosts. Elsewhere a name with a dot is mostly one of a file."""


def foreign_hosts(name: str, texts: Iterable[str]) -> Iterator[str]:
    """A sentence for each host in these texts of an argument that is not in plain ASCII."""
    hosts = dict.fromkeys(host for text in texts if not text.isascii() for host in _hosts(text))
    for host in list(hosts)[:_TOLD]:
        yield f"{name} names the host {marked(host)}, which is {marked(ascii_host(host))}"
    if len(hosts) > _TOLD:
        yield f"{name} names {len(hosts) - _TOLD} more such hosts"


def ascii_host(host: str) -> str:
    """The name that is looked up for a host."""
    return ".".join(map(_ascii_label, host.translate(_DOTS).split(".")))


def _ascii_label(label: str) -> str:
    try:
        return label.encode("idna").decode()
    except UnicodeError:
        return label if label.isascii() else f"xn--{label.lower().encode('punycode').decode()}"


def _hosts(text: str) -> Iterator[str]:
    """The hosts in a text that are not in plain ASCII: in addresses, behind an `@`, and bare ones of commands."""
    for behind in text.split("://")[1:]:
        yield from _foreign(_word(behind, 0).rpartition("@")[2])
    words = set(_words(text))
    is_network = not _PROGRAMS.isdisjoint(words)
    for word in words:
        user, at, host = word.rpartition("@")
        if (at and user) or (is_network and "." in word.translate(_DOTS)):
            yield from _foreign(host)


def _foreign(host: str) -> Iterator[str]:
    host = host.partition(":")[0]
    if host and not host.isascii() and len(host) <= _LONGEST and any(char.isalnum() for char in host):
        yield host


def _word(text: str, at: int) -> str:
    end = at
    while end < len(text) and end - at <= 2 * _LONGEST and text[end] not in _ENDS:
        end += 1
    return text[at:end]


def _words(text: str) -> Iterator[str]:
    start = 0
    for at, char in enumerate(text):
        if char in _ENDS:
            if at > start:
                yield text[start:at]
            start = at + 1
    if start < len(text):
        yield text[start:]
