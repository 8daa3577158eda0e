"""Addresses we talk to: https, or this machine."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

from dam_sync.model.errors import ConfigError


def checked_url(url: str, what: str = "address") -> str:
    """The address without a trailing slash. Raises ConfigError for anything but https, or http to this machine."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigError(f"the {what} is not an http address", hint="write it as https://host")
    if parts.scheme == "http" and not is_loopback(parts.hostname):
        raise ConfigError(f"plain http to {parts.hostname} is refused", hint="use https; http is for this machine only")
    return url.rstrip("/")


def is_loopback(host: str) -> bool:
    """Whether the host is this machine."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def origin_of(url: str) -> tuple[str, str, int]:
    """Scheme, host and port: what a credential belongs to."""
    parts = urlsplit(url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    return parts.scheme, (parts.hostname or "").lower(), port
