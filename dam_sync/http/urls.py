"""Resolves URLs: which belong to the API, which to others, and which are refused."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TypeAlias
from urllib.parse import parse_qsl, quote, unquote, urlencode, urljoin, urlsplit

from dam_sync.http.bounds import LONGEST_URL, PORTS
from dam_sync.http.messages import Request
from dam_sync.http.reach import ANYWHERE, ASK, THIS_HOST, Networks, Origin, Reach, canonical_host, inside, reach_of
from dam_sync.model.errors import ConfigError, ContractBroken, DamSyncError, Rejected
from dam_sync.model.url_forms import is_loopback

_UNSENDABLE = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_SIGNED = re.compile(r"(?i)[?&](?:signature|sig|x-amz-signature|x-goog-signature)=")  # parameters of a signed link
_SIGNED_HEADERS = re.compile(r"(?i)x-(?:amz|goog|oss)-signedheaders")
_AUTHORITY = re.compile(r"([a-zA-Z]+)://([^/?#]*)")
_HOST_AND_PORT = re.compile(r"(\[[^\]]*\]|[^:]*)(?::([0-9]{0,5}))?")
_EXAMPLE = "a URL looks like https://dam.example"

_Refused: TypeAlias = type[DamSyncError]


@dataclass(frozen=True, slots=True)
class ResolvedUrl:
    """One absolute URL. api: on one of the base URLs. where: for any other, a text that names only the host. networks:
    where the address of its host may be."""

    url: str = field(repr=False)
    host: str
    origin: Origin
    api: bool
    where: str = ""
    networks: Networks = ANYWHERE


class BaseUrls:
    """The base URLs of one service. Raises ConfigError for plain http to another host, here and on every request."""

    def __init__(self, bases: Mapping[str, str]) -> None:
        if not bases:
            raise ConfigError("no URL was given")
        found = {name: _usable(base.rstrip("/"), ConfigError) for name, base in bases.items()}
        self._bases = {name: url.rstrip("/") for name, (url, _) in found.items()}
        self._origin_of = {name: origin for name, (_, origin) in found.items()}
        self._origins = set(self._origin_of.values())
        self._reach = max(reach_of(host) for _, host, _ in self._origins)
        self._is_located = False

    async def locate(self, farthest: Callable[[str, Origin], Awaitable[Reach]]) -> None:
        """Learn into which network the base URLs lead by their addresses, before a link is judged by it. Safe to
        repeat."""
        if not self._is_located:
            found = [await farthest(self._bases[name], origin) for name, origin in self._origin_of.items()]
            self._reach = max(self._reach, *found)
            self._is_located = True

    def of(self, request: Request) -> ResolvedUrl:
        """The URL of a request. Raises ConfigError for a URL of the job file. A URL from a response raises Rejected if
        the request concerns one asset, otherwise ContractBroken."""
        path = request.path
        if is_absolute(path):
            return self._linked(_with(path, request), request)
        base = self._bases.get(request.base)
        if base is None:
            raise ConfigError(f"the service has no URL named {request.base!r}")
        if "." in path or "%" in path:
            _refuse_dots(path.partition("?")[0], request)
        path = base + (path if path.startswith(("/", "?")) or not path else f"/{path}")
        url = _with(path, request).partition("#")[0]
        _refuse_unsendable(url, refusal_of(request))
        return self._resolved(url, self._origin_of[request.base], request.bare)

    def named(self, request: Request) -> ResolvedUrl:
        """The URL of a request whose path is a URL of the job file. Raises ConfigError."""
        return self._resolved(*_usable(_with(request.path, request), ConfigError), bare=False)

    def moved(self, address: ResolvedUrl, location: str, request: Request) -> ResolvedUrl:
        """The target of a redirect; checked like any URL from a response, and never from https to plain http."""
        try:
            joined = urljoin(address.url, location)
        except ValueError:
            raise refusal_of(request)(f"{address.host} redirects to an invalid URL") from None
        target = self._linked(joined, request, before=address)
        if address.origin[0] == "https" and target.origin[0] == "http":
            raise refusal_of(request)(
                f"{address.host} redirects from https to plain http on {target.host}; refused", hint=ASK
            )
        return target

    def _linked(self, url: str, request: Request, before: ResolvedUrl | None = None) -> ResolvedUrl:
        """A URL from a response: never into a network that the service itself is not in. before: whose host redirects
        to it."""
        refused = refusal_of(request)
        address = self._resolved(*_usable(url, refused), request.bare or bool(_SIGNED.search(url)))
        if address.origin in self._origins:
            return address
        if before is not None and before.origin == address.origin:
            return replace(address, networks=before.networks)
        if reach_of(address.host) > self._reach:
            raise refused(inside(address.host), hint=ASK)
        if address.networks == ANYWHERE:
            address = replace(address, networks=Networks(nearest=self._reach))
        return address

    def _resolved(self, url: str, origin: Origin, bare: bool) -> ResolvedUrl:
        api = origin in self._origins and not bare
        networks = ANYWHERE if origin[0] == "https" else THIS_HOST  # plain http goes to this computer alone
        return ResolvedUrl(url, origin[1], origin, api, "" if api else f"a signed link on host {origin[1]}", networks)


def is_absolute(path: str) -> bool:
    """Whether the path of a request is a URL of its own."""
    return path.lower().startswith(("http://", "https://"))


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


def _refuse_dots(path: str, request: Request) -> None:
    """Refuse a path with an id that leads to another call: we, proxies and servers resolve dots, also encoded ones."""
    if any(part in (".", "..") for part in re.split(r"[/\\]", unquote(path))):
        raise refusal_of(request)(
            f"{request.operation}: an id with `.` or `..` in its path would lead to another call; not sent",
            hint="rename what has such a name at the service",
        )


class InvalidUrl(ValueError):
    """A URL that cannot be sent, with a hint."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.message, self.hint = message, hint


def canonical_url(url: str) -> tuple[str, Origin]:
    """The URL without a fragment, its scheme, host and port in the one form in which they are judged and sent; and
    these. Raises InvalidUrl."""
    url = url.partition("#")[0]
    found = _AUTHORITY.match(url)
    scheme = found[1].lower() if found else ""
    if found is None or scheme not in PORTS:
        raise InvalidUrl(f"a URL is not http or https ({scheme[:20] or 'no scheme'})", _EXAMPLE)
    written, origin = _canonical(scheme, found[2])
    return written + url[found.end() :], origin


def one_spelling(url: str) -> str:
    """The key of a URL of a job file, by which processes and jobs know what they share: the same however it is written.
    One of another scheme stays as it is."""
    try:
        return canonical_url(url)[0].rstrip("/")
    except InvalidUrl:
        return url.rstrip("/")


def _usable(url: str, error: _Refused) -> tuple[str, Origin]:
    """The same of a URL that may be sent."""
    _refuse_unsendable(url, error)
    try:
        written, origin = canonical_url(url)
    except InvalidUrl as problem:
        raise error(problem.message, hint=problem.hint) from None
    scheme, host, _ = origin
    if scheme == "http" and not is_loopback(host):
        raise error(f"plain http to {host} is refused: the credential could be read on the way", hint="use https")
    return written, origin


@lru_cache(maxsize=256)
def _canonical(scheme: str, authority: str) -> tuple[str, Origin]:
    """The same of a URL up to its path."""
    if "@" in authority:
        host = authority.rpartition("@")[2]
        raise InvalidUrl(f"the URL on {host} contains a user or password", "put the credential under `auth`")
    found = _HOST_AND_PORT.fullmatch(authority)
    try:
        if found is None:
            raise ValueError("not a host with a port")
        host, port = canonical_host(found[1]), int(found[2] or PORTS[scheme])
        if not 0 < port < 65536:
            raise ValueError("not a port")
    except ValueError:
        raise InvalidUrl("a URL is invalid", _EXAMPLE) from None
    written = f"{scheme}://[{host}]" if ":" in host else f"{scheme}://{host}"
    return written if port == PORTS[scheme] else f"{written}:{port}", (scheme, host, port)


def has_signed_headers(url: str) -> bool:
    """Whether a signed URL opens only with more headers than `Host`."""
    signed = [value for name, value in parse_qsl(urlsplit(url).query) if _SIGNED_HEADERS.fullmatch(name)]
    return any(value.lower() != "host" for value in signed)


def can_be_given(base: str, url: str) -> bool:
    """Whether the service at a base URL may be given this URL to open. Programs read a host with other characters than
    letters, digits, hyphens and dots differently: some resolve it to an address in the service's private network."""
    found = _AUTHORITY.match(url)
    return found is not None and found[2].isascii() and can_reach(base, url)


def can_reach(base: str, url: str) -> bool:
    """Whether the service at a base URL may be able to open this one, as far as both say themselves: nobody on the
    internet reaches a private network."""
    try:
        service, host = (_usable(each, Rejected)[1][1] for each in (base, url))
    except Rejected:
        return False
    return reach_of(host) <= reach_of(service)
