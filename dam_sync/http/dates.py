"""Instants as services tell them, in headers and in JSON."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from dam_sync.model.errors import ContractBroken
from dam_sync.model.values import Json, parse_instant


def http_date(text: str) -> datetime | None:
    """An HTTP date (RFC 9110, 5.6.7), or None where the text is none."""
    try:
        found = parsedate_to_datetime(text)
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def parse_timestamp(text: Json) -> datetime | None:
    """An instant in RFC 3339, None where nothing is told. Raises ContractBroken on a text that is none."""
    if not text:
        return None
    try:
        return parse_instant(str(text))
    except ValueError:
        raise ContractBroken(f"{str(text)[:40]!r} is no instant") from None
