"""Timestamps in headers and JSON."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import lru_cache

from dam_sync.model.errors import ContractBroken
from dam_sync.model.values import Json, parse_instant


@lru_cache(maxsize=16)
def http_date(text: str) -> datetime | None:
    """An HTTP date (RFC 9110, 5.6.7); None for any other text."""
    try:
        found = parsedate_to_datetime(text)
    except (ValueError, OverflowError):  # OverflowError: of a zone that no clock has
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def parse_timestamp(text: Json) -> datetime | None:
    """A timestamp in RFC 3339; None if missing. Raises ContractBroken for any other text."""
    if not text:
        return None
    try:
        return parse_instant(str(text))
    except ValueError:
        raise ContractBroken(f"{str(text)[:40]!r} is not a timestamp") from None
