"""Where calls go: which addresses are the API's own, which are somebody else's, and which are refused."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from urllib.parse import quote, urlencode, urljoin, urlsplit

from dam_sync.model.errors import ConfigError, ContractBroken
from dam_sync.net.call import Request

_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Address:
    """One absolute address. `api`: on one of the bases. `where`: what texts say of any other, the host alone."""

    url: str = field(repr=False)
    host: str
    origin: tuple[str, str, int]
    api: bool
    where: str = ""


class Addresses:
    """The bases of one service. Raises ConfigError for plain http beyond this machine, here and on every call."""

    def __init__(self, bases: Mapping[str, str]) -> None:
        if not bases:
            raise ConfigError("no address was given")
        self._bases = {name: base.rstrip("/") for name, base in bases.items()}
        self._origins = {_origin(base, ConfigError) for base in self._bases.values()}

    def of(self, request: Request) -> Address:
        """The address of a request. Raises ConfigError, and ContractBroken for an address of an unknown kind."""
        path = request.path
        if not path.lower().startswith(("http://", "https://")):
            base = self._bases.get(request.base)
            if base is None:
                raise ConfigError(f"the service has no address named {request.base!r}")
            path = base + (path if path.startswith(("/", "?")) or not path else f"/{path}")
        if request.params:
            path += ("&" if "?" in path else "?") + urlencode(request.params, quote_via=quote)
        return self._address(path)

    def moved(self, address: Address, location: str) -> Address:
        """Where a redirect leads. Raises ConfigError for one to plain http, also from https to this machine."""
        target = self._address(urljoin(address.url, location))
        if address.origin[0] == "https" and target.origin[0] == "http":
            raise ConfigError(f"{address.host} redirects from https to plain http on {target.host}; refused")
        return target

    def _address(self, url: str) -> Address:
        url = url.partition("#")[0]
        origin = _origin(url, ContractBroken)
        api = origin in self._origins
        return Address(url, origin[1], origin, api, "" if api else f"a signed link on host {origin[1]}")


def _origin(url: str, error: type[ConfigError | ContractBroken]) -> tuple[str, str, int]:
    """Scheme, host and port."""
    try:
        parts = urlsplit(url)
        host, port = (parts.hostname or "").lower(), parts.port
    except ValueError:
        raise error("an address cannot be read", hint="an address looks like https://dam.example") from None
    if parts.scheme not in _PORTS or not host:
        raise error(
            f"an address is no http or https one ({parts.scheme or 'no scheme'})",
            hint="an address looks like https://dam.example",
        )
    if parts.username or parts.password:
        raise error(f"the address on {host} carries a user or password", hint="put the credential under `auth`")
    if parts.scheme == "http" and not is_loopback(host):
        raise ConfigError(f"plain http to {host} is refused: the credential could be read on the way", hint="use https")
    return parts.scheme, host, port or _PORTS[parts.scheme]


@lru_cache(maxsize=256)
def is_loopback(host: str) -> bool:
    """Whether this name or number means this machine itself."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
