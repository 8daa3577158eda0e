"""Our marker on an asset while it is created: a token in its description (wire C 6.9). Pure."""

from __future__ import annotations

import base64
import hashlib
import re

from dam_sync.model.asset import Marker
from dam_sync.model.errors import InvalidValue

_MARK = re.compile(r"\n?\[dam_sync (c[a-z2-7]{26})\]\s*$")
_SAFE = re.compile(r"[A-Za-z0-9_-]+")
_RESERVED = frozenset('><(){}[]":*&')


def token_of(marker: Marker) -> str:
    """One index term: lower-case characters and digits."""
    digest = hashlib.sha256(f"{marker.field}\n{marker.value}".encode()).digest()
    return "c" + base64.b32encode(digest).decode().lower()[:26]


def marked(description: str, marker: Marker) -> str:
    """The description with the token appended."""
    return f"{description}\n[dam_sync {token_of(marker)}]"


def token_in(description: object) -> str:
    """The token in a description; empty if there is none."""
    found = _MARK.search(str(description or ""))
    return found[1] if found else ""


def unmarked(description: object) -> str:
    """The description without our token."""
    return _MARK.sub("", str(description or ""))


def by_token(marker: Marker) -> str:
    """A search for the token."""
    return f'description:"{token_of(marker)}"'


def by_value(marker: Marker) -> str:
    """A search for the value of the field. Raises InvalidValue for characters with a meaning in queries."""
    if not _SAFE.fullmatch(marker.value):
        raise InvalidValue(
            f"cannot search for {marker.value!r}",
            hint="keys for searching may contain ASCII letters, digits, - and _",
        )
    if not searchable(marker.field):
        raise InvalidValue(
            f"the field {marker.field!r} cannot be searched", hint="use a marker field without > < ( ) : …"
        )
    return f'custom_fields.{marker.field.replace(" ", chr(92) + " ")}:"{marker.value}"'


def searchable(key: str) -> bool:
    """Whether a key can be used in a search (wire C 2.4, 6.7)."""
    return not _RESERVED & set(key)
