"""Names and IP addresses of hosts."""

from __future__ import annotations

import ipaddress
from functools import lru_cache


@lru_cache(maxsize=256)
def is_loopback(host: str) -> bool:
    """Whether this name or IP address is the local host."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
