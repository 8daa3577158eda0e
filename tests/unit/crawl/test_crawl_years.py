"""Assets by year, from a service that only counts those before a moment."""

from __future__ import annotations

from collections import Counter
from datetime import datetime

from hypothesis import given
from hypothesis import strategies as st

from dam_sync.crawl.years import FIRST, by_year

YEARS = st.lists(st.integers(FIRST - 5, 2035), max_size=40)


@given(YEARS)
async def test_every_asset_of_the_years_is_counted_once(years: list[int]) -> None:
    calls = 0

    async def before(moment: datetime) -> int:
        nonlocal calls
        calls += 1
        return sum(year < moment.year for year in years)

    found = await by_year(before, len(years), 2030)
    assert found == {str(year): number for year, number in Counter(years).items() if FIRST <= year <= 2030}
    assert calls <= 2 + 8 * len(found) if years else calls == 0
