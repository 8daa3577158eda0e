"""Names and IP addresses of hosts, and which spellings of a URL lead to the same place."""

from __future__ import annotations

import ipaddress
import posixpath
import socket
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple, TypeAlias
from urllib.parse import quote, unquote, urlsplit

from dam_sync.model.unicode_forms import nfc, nfkd

IpAddress: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address

LOCAL = "localhost"
_DEFAULT_PORTS = frozenset({80, 443})
_KEPT_BY_IDNA = frozenset("ßς\u200c\u200d")  # which IDNA 2003 replaced: domains of their own since
_LOCAL_NUMBERS = (ipaddress.IPv4Address("127.0.0.1"), ipaddress.IPv6Address("::1"))
_PLAIN = "/:@!$&'()*+,;=~"


class Address(NamedTuple):
    """Where a service is reached. port: 0 for the usual one of http and of https; path: without a slash at its end."""

    host: str
    port: int
    path: str = ""

    @property
    def text(self) -> str:
        """As people write it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}{f':{self.port}' if self.port else ''}{self.path}"


@lru_cache(maxsize=256)
def is_loopback(host: str) -> bool:
    """Whether this name or IP address is the local host."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def address_of(url: str) -> Address:
    """One form for all spellings of a URL: case, port, slashes, dots, percent-encoding, international names, the forms
    of an IP address, http beside https. Raises ValueError."""
    parts = urlsplit(url.strip())
    port = parts.port or 0
    path = posixpath.normpath("/" + quote(unquote(parts.path), safe=_PLAIN).lstrip("/"))
    return Address(host_of(parts.hostname or ""), 0 if port in _DEFAULT_PORTS else port, path.rstrip("/"))


def without_api_path(url: str, paths: Iterable[str]) -> str:
    """A URL, or its path, without slashes at its end and without the path of the API that is below the base URL of a
    service. It is taken away once, so that a proxy whose own path is called the same can be named with both."""
    bare = url.rstrip("/")
    ends = sorted(paths, key=len, reverse=True)
    found = next((end for end in ends if bare.casefold().endswith(end)), "")
    return bare[: len(bare) - len(found)].rstrip("/")


def is_local(host: str) -> bool:
    """Whether a host, in the form of `host_of`, is this computer."""
    return host == LOCAL or host.endswith(f".{LOCAL}") or is_loopback(host)


@lru_cache(maxsize=256)
def host_of(name: str) -> str:
    """One form for all spellings of a host; `localhost` also for the IP addresses that it has by itself. Further names
    and IP addresses of this computer are hosts of their own: others may listen there."""
    name = nfc(nfkd(unquote(name))).casefold() if _is_mapped(name) else nfc(unquote(name)).lower()
    name = ".".join(_label(one) for one in name.replace("。", ".").rstrip(".").split("."))
    number = number_of(name.partition("%")[0])
    if number is None:
        return name
    mapped = number.ipv4_mapped if isinstance(number, ipaddress.IPv6Address) else None
    number = mapped or number
    return LOCAL if number in _LOCAL_NUMBERS or number.is_unspecified else str(number)


def _is_mapped(name: str) -> bool:
    return not _KEPT_BY_IDNA.intersection(name)


def _label(label: str) -> str:
    """One part of a name, as it is looked up."""
    if label.isascii():
        return label
    try:
        return label.encode("idna").decode("ascii") if _is_mapped(label) else f"xn--{label.encode('punycode').decode()}"
    except UnicodeError:
        return label


def number_of(name: str) -> IpAddress | None:
    """The IP address that a text is, also in the short, hexadecimal and octal forms that resolvers accept."""
    try:
        return ipaddress.ip_address(name)
    except ValueError:
        pass
    try:
        return ipaddress.IPv4Address(socket.inet_aton(name)) if name[:1].isdigit() and name.isascii() else None
    except (OSError, ValueError):
        return None
