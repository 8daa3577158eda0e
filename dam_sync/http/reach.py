"""Hosts as they are connected to, and which network one is in: by its name as far as that says, and by its address."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from typing import TypeAlias

import httpx

from dam_sync.model.url_forms import IpAddress, number_of

Origin: TypeAlias = tuple[str, str, int]
"""Scheme, host and port."""

ASK = "ask the operator of the service why its responses contain such a link"

_NAME = re.compile(r"(?=.{1,254}$)[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*\.?")
_NOT_IN_HOSTS = re.compile(r"[/?#@:\\\[\]]")
_ENDS_IN_NUMBER = re.compile(r"(?:.*\.)?(?:[0-9]+|0x[0-9a-f]*)")  # which programs take for an IPv4 address
_OCTAL = re.compile(r"0[0-9]+(?:\.|$)|.*\.0[0-9]+(?:\.|$)")  # which some programs read as a decimal number
_LOCAL_NAMES = (
    *(".local", ".localdomain", ".internal", ".intranet", ".lan", ".home", ".home.arpa", ".corp", ".private", ".test"),
)

_THIS_NETWORK = ipaddress.IPv4Network("0.0.0.0/8")
_RESERVED = ipaddress.IPv4Network("240.0.0.0/4")
_GLOBAL_UNICAST = ipaddress.IPv6Network("2000::/3")  # the only part of IPv6 that is assigned to the internet (RFC 4291)
_NOT_PUBLIC = (  # which Python does not know as private
    ipaddress.IPv4Network("192.0.0.0/24"),
    ipaddress.IPv4Network("192.88.99.0/24"),  # relays of 6to4 (RFC 7526)
    ipaddress.IPv6Network("2001::/23"),
    ipaddress.IPv6Network("3fff::/20"),  # documentation (RFC 9637)
)
_METADATA = frozenset(  # where clouds keep credentials of the computer, besides link-local addresses
    map(
        ipaddress.ip_address,
        (
            *("168.63.129.16", "100.100.100.200", "192.0.0.192"),
            *("fd00:ec2::254", "fd20:ce::254", "fd00:c1::a9fe:a9fe", "fd00:42::42"),
        ),
    )
)
_TRANSLATED = (  # networks of IPv6 whose addresses end with the address of IPv4 that they stand for
    ipaddress.IPv6Network("::/96"),  # as IPv6 once wrote them
    ipaddress.IPv6Network("::ffff:0:0/96"),
    ipaddress.IPv6Network("::ffff:0:0:0/96"),  # SIIT (RFC 7915)
    ipaddress.IPv6Network("64:ff9b::/96"),  # NAT64 (RFC 6052)
)
_LOCAL_NAT64 = ipaddress.IPv6Network("64:ff9b:1::/48")  # the same inside a network (RFC 8215)
_ISATAP = 0x5EFE  # bits 32 to 63 of an address that ends with that of a host in a network of IPv4 (RFC 5214)


class Reach(IntEnum):
    """From where a host can be reached; each next one is nearer to this computer."""

    PUBLIC = 0
    PRIVATE = 1
    ADJACENT = 2  # link-local, multicast, and where clouds keep credentials of the computer
    OWN = 3  # this computer alone


@dataclass(frozen=True, slots=True)
class Networks:
    """Into which networks a connection may lead."""

    farthest: Reach = Reach.PUBLIC
    nearest: Reach = Reach.OWN

    def has(self, reach: Reach) -> bool:
        """Whether a host of this reach is in one of them."""
        return self.farthest <= reach <= self.nearest


ANYWHERE = Networks()
INTERNET = Networks(nearest=Reach.PUBLIC)
THIS_HOST = Networks(farthest=Reach.OWN)


def inside(host: str) -> str:
    """What is wrong with a link that leads too near."""
    return f"a link of the service leads to {host}, inside a private network; refused"


@lru_cache(maxsize=256)
def canonical_host(text: str) -> str:
    """The host of a URL in the one form in which it is judged, sent and looked up: lower case, IDNA as `httpx` encodes
    it, an IP address in the usual form and without brackets. Raises ValueError for any other text, also one that
    programs read differently."""
    if text.startswith("["):
        if not text.endswith("]") or "%" in text:
            raise ValueError("not an IPv6 address")
        return str(ipaddress.IPv6Address(text[1:-1]))
    host = text.lower() if text.isascii() else _encoded(text)
    if not _NAME.fullmatch(host) or not all(map(_is_decodable, host.split("."))):
        raise ValueError("not a host")
    if not _ENDS_IN_NUMBER.fullmatch(host.removesuffix(".")):
        return host
    number = number_of(host.removesuffix("."))
    if number is None or _OCTAL.match(host):
        raise ValueError("not an IPv4 address")
    return str(number)


def _encoded(text: str) -> str:
    """A name with characters outside ASCII as it is looked up. Raises ValueError."""
    if _NOT_IN_HOSTS.search(text):
        raise ValueError("not a host")
    try:
        return httpx.URL(f"https://{text}").raw_host.decode("ascii")
    except httpx.InvalidURL:
        raise ValueError("not a host") from None


def _is_decodable(label: str) -> bool:
    """Whether a label that says that it is encoded is."""
    if not label.startswith("xn--"):
        return True
    try:
        return not label[4:].encode().decode("punycode").isascii()
    except UnicodeError:
        return False


@lru_cache(maxsize=256)
def reach_of(host: str) -> Reach:
    """The network that a host is in, as far as its name or IP address says itself. One that is written in no form that
    can be judged counts as this computer."""
    number = number_of(host.partition("%")[0])
    if number is not None:
        return max(map(_reach, _meant(number)))
    try:
        name = canonical_host(host)
    except ValueError:
        return Reach.OWN
    if name != host:
        return reach_of(name)
    name = name.removesuffix(".")
    if name == "localhost" or name.endswith(".localhost"):
        return Reach.OWN
    return Reach.PRIVATE if "." not in name or name.endswith(_LOCAL_NAMES) else Reach.PUBLIC


def _meant(number: IpAddress) -> Iterator[IpAddress]:
    """The addresses to which packets may go: that of IPv4 which one of IPv6 stands for, or the address itself, or both
    where it depends on routers."""
    if isinstance(number, ipaddress.IPv4Address):
        yield number
        return
    low = ipaddress.IPv4Address(int(number) & 0xFFFFFFFF)
    if number.sixtofour:
        yield number.sixtofour
    elif number.teredo:
        yield from number.teredo
    elif int(number) > 1 and any(number in network for network in _TRANSLATED):
        yield low
    else:
        yield number
        if number in _LOCAL_NAT64 or (int(number) >> 32) & 0xFDFFFFFF == _ISATAP:
            yield low


def _reach(number: IpAddress) -> Reach:
    if number.is_loopback or number.is_unspecified or number in _THIS_NETWORK:
        return Reach.OWN
    if number.is_link_local or number.is_multicast or number in _METADATA or number in _RESERVED:
        return Reach.ADJACENT
    is_known = any(number in network for network in _NOT_PUBLIC)
    is_assigned = number.version == 4 or number in _GLOBAL_UNICAST
    return Reach.PUBLIC if number.is_global and is_assigned and not is_known else Reach.PRIVATE
