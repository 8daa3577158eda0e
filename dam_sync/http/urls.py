"""Resolves URLs: which belong to the API, which to others, and which are refused."""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TypeAlias
from urllib.parse import parse_qsl, quote, urlencode, urljoin, urlsplit

from dam_sync.http.bounds import LONGEST_URL, PORTS
from dam_sync.http.messages import Request
from dam_sync.model.errors import ConfigError, ContractBroken, DamSyncError, Rejected
from dam_sync.model.hosts import is_loopback

_UNSENDABLE = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_SIGNED = re.compile(r"(?i)[?&](?:signature|sig|x-amz-signature|x-goog-signature)=")  # parameters of a signed link
_SIGNED_HEADERS = re.compile(r"(?i)x-(?:amz|goog|oss)-signedheaders")
_AUTHORITY = re.compile(r"[a-zA-Z]+://[^/?#]*")
_DOTTED = re.compile(r"[0-9]+(?:\.[0-9]+){3}")
_LOCAL_NAMES = (
    *(".local", ".localdomain", ".localhost", ".internal", ".intranet", ".lan", ".home", ".home.arpa", ".corp"),
    *(".private", ".test"),
)
_EXAMPLE = "a URL looks like https://dam.example"
_PLAIN_HOST = re.compile(
    r"(?i)https?://(?:[a-z0-9_-]+(?:\.[a-z0-9_-]+)*\.?|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?(?=[/?#]|$)"
)

_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_COMPATIBLE = ipaddress.IPv6Network("::/96")  # IPv4 addresses as IPv6 once wrote them
_NOT_PUBLIC = (  # which Python does not know as private
    ipaddress.IPv4Network("192.0.0.0/24"),  # also where a cloud keeps its metadata
    ipaddress.IPv6Network("64:ff9b:1::/48"),  # NAT64 inside a network (RFC 8215)
)

Origin: TypeAlias = tuple[str, str, int]
_Refused: TypeAlias = type[DamSyncError]
_Number: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address


@dataclass(frozen=True, slots=True)
class ResolvedUrl:
    """One absolute URL. api: on one of the base URLs. where: for any other, a text that names only the host."""

    url: str = field(repr=False)
    host: str
    origin: Origin
    api: bool
    where: str = ""


class BaseUrls:
    """The base URLs of one service. Raises ConfigError for plain http to another host, here and on every request."""

    def __init__(self, bases: Mapping[str, str]) -> None:
        if not bases:
            raise ConfigError("no URL was given")
        self._bases = {name: base.rstrip("/") for name, base in bases.items()}
        self._origin_of = {name: _origin(base, ConfigError) for name, base in self._bases.items()}
        self._origins = set(self._origin_of.values())
        self._reach = max(_reach(host) for _, host, _ in self._origins)

    def of(self, request: Request) -> ResolvedUrl:
        """The URL of a request. Raises ConfigError for a URL of the job file. A URL from a response raises Rejected if
        the request concerns one asset, otherwise ContractBroken."""
        path = request.path
        if path.lower().startswith(("http://", "https://")):
            return self._linked(_with(path, request), request)
        base = self._bases.get(request.base)
        if base is None:
            raise ConfigError(f"the service has no URL named {request.base!r}")
        path = base + (path if path.startswith(("/", "?")) or not path else f"/{path}")
        url = _with(path, request).partition("#")[0]
        _refuse_unsendable(url, refusal_of(request))
        return self._resolved(url, self._origin_of[request.base], request.bare)

    def named(self, request: Request) -> ResolvedUrl:
        """The URL of a request whose path is a URL of the job file. Raises ConfigError."""
        return self._address(_with(request.path, request), ConfigError)

    def moved(self, address: ResolvedUrl, location: str, request: Request) -> ResolvedUrl:
        """The target of a redirect; checked like any URL from a response, and never from https to plain http."""
        try:
            joined = urljoin(address.url, location)
        except ValueError:
            raise refusal_of(request)(f"{address.host} redirects to an invalid URL") from None
        target = self._linked(joined, request)
        if address.origin[0] == "https" and target.origin[0] == "http":
            raise refusal_of(request)(
                f"{address.host} redirects from https to plain http on {target.host}; refused", hint=_ASK
            )
        return target

    def _linked(self, url: str, request: Request) -> ResolvedUrl:
        """A URL from a response: never into a network that the service itself is not in."""
        refused = refusal_of(request)
        address = self._address(url, refused, request.bare or bool(_SIGNED.search(url)))
        if address.origin not in self._origins and _reach(address.host) > self._reach:
            raise refused(
                f"a link of the service leads to {address.host}, inside a private network; refused",
                hint=_ASK,
            )
        return address

    def _address(self, url: str, refused: _Refused, bare: bool = False) -> ResolvedUrl:
        url = url.partition("#")[0]
        return self._resolved(url, _origin(url, refused), bare)

    def _resolved(self, url: str, origin: Origin, bare: bool) -> ResolvedUrl:
        api = origin in self._origins and not bare
        return ResolvedUrl(url, origin[1], origin, api, "" if api else f"a signed link on host {origin[1]}")


_ASK = "ask the operator of the service why its responses contain such a link"


def refusal_of(request: Request) -> _Refused:
    """What a URL from a response raises: that of one asset never stops a run."""
    return Rejected if request.asset else ContractBroken


def _with(path: str, request: Request) -> str:
    if not request.params:
        return path
    try:
        query = urlencode(request.params, quote_via=quote)
    except UnicodeEncodeError:
        raise refusal_of(request)("a parameter of the request is not valid text") from None
    return path + ("&" if "?" in path else "?") + query


def _refuse_unsendable(url: str, error: _Refused) -> None:
    if len(url) > LONGEST_URL or _UNSENDABLE.search(url):
        what = "is too long" if len(url) > LONGEST_URL else "contains invalid characters"
        raise error(f"a URL {what}", hint=_EXAMPLE)


def _origin(url: str, error: _Refused) -> Origin:
    """Scheme, host and port."""
    _refuse_unsendable(url, error)
    found = _AUTHORITY.match(url)
    try:
        return _origin_of(found[0] if found else url)
    except _Unusable as problem:
        raise error(problem.message, hint=problem.hint) from None


class _Unusable(ValueError):
    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.message, self.hint = message, hint


@lru_cache(maxsize=256)
def _origin_of(url: str) -> Origin:
    """The same of a URL up to its path. Raises _Unusable."""
    try:
        parts = urlsplit(url)
        host, port = (parts.hostname or "").lower(), parts.port
        host.encode("idna").decode("idna")
        if _DOTTED.fullmatch(host):
            ipaddress.IPv4Address(host)
    except ValueError:
        raise _Unusable("a URL is invalid", hint=_EXAMPLE) from None
    if parts.scheme not in PORTS or not host:
        raise _Unusable(f"a URL is not http or https ({parts.scheme[:20] or 'no scheme'})", hint=_EXAMPLE)
    if parts.username or parts.password:
        raise _Unusable(f"the URL on {host} contains a user or password", hint="put the credential under `auth`")
    if parts.scheme == "http" and not is_loopback(host):
        raise _Unusable(f"plain http to {host} is refused: the credential could be read on the way", hint="use https")
    return parts.scheme, host, port or PORTS[parts.scheme]


def is_public(host: str) -> bool:
    """Whether a name or IP address may be one of the public internet, as far as it says itself."""
    return _reach(host) == _PUBLIC


def has_signed_headers(url: str) -> bool:
    """Whether a signed URL opens only with more headers than `Host`."""
    signed = [value for name, value in parse_qsl(urlsplit(url).query) if _SIGNED_HEADERS.fullmatch(name)]
    return any(value.lower() != "host" for value in signed)


def can_be_given(base: str, url: str) -> bool:
    """Whether the service at a base URL may be given this URL to open. Programs read a host with other characters than
    letters, digits, hyphens and dots differently: some resolve it to an address in the service's private network."""
    return bool(_PLAIN_HOST.match(url)) and can_reach(base, url)


def can_reach(base: str, url: str) -> bool:
    """Whether the service at a base URL may be able to open this one, as far as both say themselves: nobody on the
    internet reaches a private network."""
    try:
        service, host = (_origin(each, Rejected)[1] for each in (base, url))
    except Rejected:
        return False
    return _reach(host) <= _reach(service)


_PUBLIC, _PRIVATE, _OWN = 0, 1, 2


@lru_cache(maxsize=256)
def _reach(host: str) -> int:
    """Which network a host is in: public, private, or the local host and what only it can reach."""
    name = host.rstrip(".")
    if name == "localhost" or name.endswith(".localhost"):
        return _OWN
    number = _number(name)
    if number is None:
        return _PRIVATE if "." not in name or name.endswith(_LOCAL_NAMES) else _PUBLIC
    number = _translated(number)
    if number.is_loopback or number.is_link_local or number.is_unspecified:
        return _OWN
    known = any(number in network for network in _NOT_PUBLIC if network.version == number.version)
    return _PUBLIC if number.is_global and not number.is_multicast and not known else _PRIVATE


def _translated(number: _Number) -> _Number:
    """The IPv4 address that an IPv6 address stands for: mapped, 6to4, Teredo, or translated by a gateway (NAT64)."""
    if isinstance(number, ipaddress.IPv4Address):
        return number
    teredo = number.teredo[1] if number.teredo else None
    inside = number in _NAT64 or (number in _COMPATIBLE and int(number) > 1)
    translated = ipaddress.IPv4Address(int(number) & 0xFFFFFFFF) if inside else None
    return number.ipv4_mapped or number.sixtofour or teredo or translated or number


def _number(name: str) -> _Number | None:
    """The IP address of a host, also in the short, hexadecimal and octal forms that resolvers accept."""
    try:
        return ipaddress.ip_address(name.partition("%")[0])
    except ValueError:
        pass
    try:
        return ipaddress.IPv4Address(socket.inet_aton(name)) if name[:1].isdigit() else None
    except OSError:
        return None
