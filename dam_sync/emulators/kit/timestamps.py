"""Timestamps in texts."""

from __future__ import annotations

from datetime import UTC, datetime


def milliseconds(text: object) -> int | None:
    """Epoch milliseconds of an ISO timestamp or date, None for none. Raises ValueError or TypeError."""
    if text is None or text == "":
        return None
    if not isinstance(text, str):
        raise TypeError("an instant is a string")
    moment = datetime.fromisoformat(text)
    return round((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)
