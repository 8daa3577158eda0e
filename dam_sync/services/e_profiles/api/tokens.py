"""What an access token of service E contains: the tenant it belongs to (wire E 1). Pure functions."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from urllib.parse import urlsplit


def tenant_of(headers: Mapping[str, str], tenant_url: str) -> str:
    """The tenant's name, from the token, else from its URL (wire E 1)."""
    token = _token(headers.get("Authorization") or headers.get("authorization") or "")
    if token.startswith("wat_") and token.count("_") >= 2:
        return token.split("_")[1]
    if "/" in token:
        return token.partition("/")[0]
    return (urlsplit(tenant_url).hostname or "").partition(".")[0]


def _token(header: str) -> str:
    scheme, _, rest = header.partition(" ")
    if scheme.lower() != "basic":
        return rest
    try:
        return base64.b64decode(rest).decode().partition(":")[0]
    except (binascii.Error, UnicodeDecodeError):
        return ""
