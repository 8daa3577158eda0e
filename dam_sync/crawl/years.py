"""Assets by year, from a service that counts those created before a moment."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

CountBefore = Callable[[datetime], Awaitable[int]]
FIRST = 1900


async def by_year(before: CountBefore, total: int, last: int) -> dict[str, int]:
    """Assets by year up to `last`, of `total`; those before 1900 and after `last` are left out. One call for each year
    that has assets and a few more: years without any are found by halves."""
    found: dict[str, int] = {}

    async def split(low: int, start: int, high: int, end: int) -> None:
        """The years from `low` to before `high`, of which `start` and `end` assets are before each."""
        if end <= start:
            return
        if high - low == 1:
            found[str(low)] = end - start
            return
        middle = (low + high) // 2
        at = await before(datetime(middle, 1, 1, tzinfo=UTC))
        await split(low, start, middle, at)
        await split(middle, at, high, end)

    if total:
        early = await before(datetime(FIRST, 1, 1, tzinfo=UTC))
        await split(FIRST, early, last + 1, await before(datetime(last + 1, 1, 1, tzinfo=UTC)))
    return found
