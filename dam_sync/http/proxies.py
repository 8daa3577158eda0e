"""Proxy settings from the environment."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

from dam_sync.http.redaction import hide
from dam_sync.model.errors import ConfigError
from dam_sync.model.url_forms import is_loopback

HINT = "correct HTTPS_PROXY in the environment; it looks like http://user:password@proxy.example:3128"


@dataclass(frozen=True, slots=True)
class Proxy:
    """One proxy. url: without user and password; name: host and port for messages."""

    url: str
    name: str
    auth: tuple[str, str] | None = field(default=None, repr=False)

    @property
    def headers(self) -> dict[str, str]:
        """Headers sent to the proxy."""
        if self.auth is None:
            return {}
        return {"Proxy-Authorization": f"Basic {b64encode(':'.join(self.auth).encode()).decode()}"}


def proxy_to(address: str) -> Proxy | None:
    """The proxy for this URL by HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY, or by system settings; None for the
    local host. Raises ConfigError for an unusable one."""
    there, named = urlsplit(address), getproxies()
    url = named.get(there.scheme) or named.get("all")
    if not url or is_loopback(there.hostname or "") or proxy_bypass(there.netloc.rpartition("@")[2]):
        return None
    try:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        raise ConfigError("the environment names a proxy with an invalid URL", hint=HINT) from None
    if not usable:
        raise ConfigError(f"the environment names a proxy of an unsupported kind: {parts.scheme}", hint=HINT)
    name = parts.netloc.rpartition("@")[2]
    if parts.username is None:
        return Proxy(f"{parts.scheme}://{name}", name)
    auth = unquote(parts.username), unquote(parts.password or "")
    hide(auth[1])
    return Proxy(f"{parts.scheme}://{name}", name, auth)
