"""Damage to the rows of a listing, such as comes of changes between two pages; what it says of totals stays."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tests.support.virtual.reply import Reply

DAMAGES = frozenset(
    {
        "skips_row",  # one row is missing
        "repeats_row",  # one row comes twice
        "shifts_rows",  # one row comes twice, another not at all
        "no_rows",  # there are none, though the total says otherwise
        "no_library",  # there are none, and none in all
    }
)
TOTALS = frozenset({"totalcount", "total_count", "total", "resultscount", "totalsize", "totalelements", "count"})
DEEP = 4


def damaged(reply: Reply, action: str) -> bool:
    """Damage the longest list of objects in a JSON response; whether there was one to damage."""
    try:
        data = json.loads(b"".join(reply.blocks))
    except ValueError:
        return False
    lists = list(lists_of(data, DEEP))
    rows: list[Any] = max(lists, key=len, default=[])
    match action:
        case "skips_row":
            del rows[len(rows) // 2 : len(rows) // 2 + 1]
        case "repeats_row":
            rows[:] = rows + rows[:1]
        case "shifts_rows":
            rows[:] = rows[:1] + rows[:-1]
        case "no_rows" | "no_library":
            rows.clear()
    if action == "no_library":
        none_in_all(data, DEEP)
    body = json.dumps(data).encode()
    reply.blocks = [body]
    reply.headers = [(key, value) for key, value in reply.headers if key.lower() != b"content-length"]
    reply.headers.append((b"content-length", str(len(body)).encode()))
    return bool(lists)


def lists_of(data: Any, deep: int) -> Iterator[list[Any]]:
    """Lists of objects, not those inside of rows."""
    if isinstance(data, list) and data and all(isinstance(each, dict) for each in data):
        yield data
    elif isinstance(data, dict) and deep:
        for each in data.values():
            yield from lists_of(each, deep - 1)


def none_in_all(data: Any, deep: int) -> None:
    """Every number that tells how many there are becomes 0."""
    if isinstance(data, dict) and deep:
        for key, each in data.items():
            if isinstance(each, int) and key.lower() in TOTALS:
                data[key] = 0
            none_in_all(each, deep - 1)
