"""Shards are disjoint and half-open, cover the window, stay within the reach and cost few counting calls."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dam_sync.crawl.partition import ByContainer, ByDate, Count, Partitioner, Whole, container_of, window_of
from dam_sync.model.asset import Placement
from dam_sync.model.errors import ContractBroken, TruncatedListing
from dam_sync.model.service import Shard, Window

START = datetime(2020, 1, 1, tzinfo=UTC)
END = START + timedelta(days=1)
SECOND = timedelta(seconds=1)
DAY = 24 * 3600


class Library:
    """Timestamps in seconds after START, counted half-open or by ends that are taken in or left out."""

    def __init__(self, seconds: Sequence[float], *, low_in: bool = True, high_in: bool = False) -> None:
        self.moments = [START + timedelta(seconds=second) for second in seconds]
        self.low_in, self.high_in = low_in, high_in
        self.calls = 0

    def select(self, window: Window) -> list[int]:
        return [number for number, moment in enumerate(self.moments) if self._within(moment, window)]

    async def count(self, window: Window) -> int:
        self.calls += 1
        return len(self.select(window))

    def _within(self, moment: datetime, window: Window) -> bool:
        after = window.since is None or moment > window.since or (self.low_in and moment == window.since)
        before = window.until is None or moment < window.until or (self.high_in and moment == window.until)
        return after and before


def by_date(reach: int, **more: object) -> ByDate:
    return ByDate(START, END, SECOND, reach, **more)  # type: ignore[arg-type]


async def cut(partitioner: Partitioner, count: Count, window: Window = Window()) -> list[Shard]:  # noqa: B008 - frozen
    return [shard async for shard in partitioner.shards(window, count)]


distinct = st.lists(st.integers(0, DAY - 1), max_size=60, unique=True)
windows = st.builds(
    lambda low, span, no_low, no_high: Window(
        None if no_low else START + timedelta(seconds=low), None if no_high else START + timedelta(seconds=low + span)
    ),
    st.integers(0, DAY // 2),
    st.integers(1, DAY // 2),
    st.booleans(),
    st.booleans(),
)


@given(seconds=distinct, reach=st.integers(1, 12), window=windows)
async def test_each_row_of_the_window_is_in_exactly_one_shard(seconds: list[int], reach: int, window: Window) -> None:
    library = Library(seconds)
    shards = await cut(by_date(reach), library.count, window)
    found = [library.select(window_of(shard)) for shard in shards]
    assert sorted(number for rows in found for number in rows) == sorted(library.select(window))
    assert all(len(rows) <= reach for rows in found)
    assert [shard.expected for shard in shards] == [len(rows) for rows in found]


@given(seconds=distinct, reach=st.integers(1, 12), window=windows)
async def test_windows_touch_and_reach_from_end_to_end(seconds: list[int], reach: int, window: Window) -> None:
    shards = [window_of(shard) for shard in await cut(by_date(reach), Library(seconds).count, window)]
    assert (shards[0].since, shards[-1].until) == (window.since, window.until)
    assert all(earlier.until == later.since is not None for earlier, later in pairwise(shards))
    assert all(one.since is None or one.until is None or one.since < one.until for one in shards)


@given(
    seconds=st.lists(st.integers(0, 400), max_size=40, unique=True),
    reach=st.integers(3, 12),
    low_in=st.booleans(),
    high_in=st.booleans(),
)
async def test_overlap_loses_nothing_whether_ends_are_inclusive_or_not(
    seconds: list[int], reach: int, low_in: bool, high_in: bool
) -> None:
    library = Library(seconds, low_in=low_in, high_in=high_in)
    shards = await cut(by_date(reach, overlap=SECOND), library.count)
    found = [library.select(window_of(shard)) for shard in shards]
    assert {number for rows in found for number in rows} == set(range(len(seconds)))
    assert all(len(rows) <= reach for rows in found)


async def test_without_overlap_a_service_with_exclusive_ends_loses_rows() -> None:
    library = Library(range(0, DAY, 60), low_in=False)
    shards = await cut(by_date(10), library.count)
    assert sum(len(library.select(window_of(shard))) for shard in shards) < len(library.moments)


@given(seconds=st.lists(st.integers(0, DAY - 1), min_size=1, max_size=300, unique=True), reach=st.integers(5, 40))
@settings(max_examples=40)
async def test_counting_is_bounded_by_the_shards_it_makes(seconds: list[int], reach: int) -> None:
    library = Library(seconds)
    shards = await cut(by_date(reach), library.count)
    assert library.calls <= 1 + len(shards) * (DAY.bit_length() + 1)


async def test_an_even_library_costs_about_a_call_and_a_half_a_shard() -> None:
    library = Library(range(0, DAY, 30))
    shards = await cut(by_date(100), library.count)
    assert len(shards) <= 48
    assert library.calls <= 1.6 * len(shards)


async def test_empty_years_before_the_first_asset_are_cheap() -> None:
    library = Library(range(0, DAY, 600))
    cut_by = ByDate(datetime(1990, 1, 1, tzinfo=UTC), END, SECOND, 100, overlap=SECOND)
    assert len(await cut(cut_by, library.count)) == 2
    assert library.calls <= 1 + (END - cut_by.since).days.bit_length() + 6


async def test_small_neighbours_are_joined() -> None:
    library = Library([*range(50), *range(DAY - 50, DAY)])
    assert len(await cut(by_date(60), library.count)) == 2
    assert len(await cut(by_date(100), Library(range(0, DAY, 900)).count)) == 1


async def test_an_open_window_keeps_rows_dated_beyond_its_bounds() -> None:
    library = Library([-9e6, *range(0, 500), 9e6])
    shards = await cut(by_date(100), library.count)
    assert sum(len(library.select(window_of(shard))) for shard in shards) == 502


async def test_timestamps_finer_than_the_grid_stay_inside() -> None:
    library = Library([0.25, 10.5, 99.999])
    window = Window(START + timedelta(milliseconds=250), START + timedelta(seconds=99, milliseconds=999.5))
    shards = await cut(by_date(1), library.count, window)
    assert sum(len(library.select(window_of(shard))) for shard in shards) == 3


@pytest.mark.parametrize("span", [0, -5])
async def test_a_window_that_holds_no_time_costs_nothing(span: int) -> None:
    library = Library([1])
    window = Window(START, START + timedelta(seconds=span))
    assert await cut(by_date(1), library.count, window) == []
    assert library.calls == 0


async def test_a_window_without_end_needs_one() -> None:
    with pytest.raises(ValueError, match="until"):
        await cut(ByDate(START, None, SECOND, 5), Library([]).count)


async def test_one_overfull_timestamp_is_reported() -> None:
    library = Library([5] * 30 + [7])
    with pytest.raises(TruncatedListing, match="timestamp 2020-01-01T00:00:05Z has 30 assets and the service returns"):
        await cut(by_date(10), library.count)
    assert library.calls <= 2 * DAY.bit_length()


async def test_one_overfull_timestamp_goes_to_the_next_partitioner() -> None:
    library = Library([5] * 30 + [7, 8])
    rooms = {"a": 12, "b": 18}

    async def count_in(window: Window, container: Placement) -> int:
        return rooms[container.id]

    then = ByContainer([Placement("folder", ("A",), "a"), Placement("folder", ("B",), "b")], count_in, reach=20)
    shards = await cut(by_date(20, then=then), library.count)
    inner = [shard for shard in shards if container_of(shard)]
    assert [(container_of(shard).id, shard.expected) for shard in inner] == [("a", 12), ("b", 18)]  # type: ignore[union-attr]
    instant = Window(START + 5 * SECOND, START + 6 * SECOND)
    assert {window_of(shard) for shard in inner} == {instant}
    assert sum(shard.expected or 0 for shard in shards) == 32
    assert len({shard.id for shard in shards}) == len(shards)


async def test_a_service_that_ignores_the_range_is_noticed() -> None:
    calls = 0

    async def count(window: Window) -> int:
        nonlocal calls
        calls += 1
        return 5000

    with pytest.raises(ContractBroken, match="contradictory"):
        await cut(by_date(100, overlap=SECOND, then=Whole()), count)
    assert calls < 20_000
    calls = 0
    with pytest.raises(TruncatedListing):
        await cut(by_date(100), count)
    assert calls < 50


async def test_a_library_that_moves_while_it_is_counted() -> None:
    library = Library(range(0, DAY, 30))

    async def count(window: Window) -> int:
        library.moments.append(END - SECOND * (library.calls + 1))
        return await library.count(window)

    shards = await cut(by_date(100), count)
    assert {number for shard in shards for number in library.select(window_of(shard))} == set(
        range(len(library.moments))
    )


async def test_whole_is_one_shard() -> None:
    library = Library([1, 2])
    assert await cut(Whole(), library.count) == [Shard("*..*", {"since": None, "until": None})]
    assert library.calls == 0
    [shard] = await cut(Whole(counted=True), library.count, Window(START))
    assert (shard.id, shard.expected, window_of(shard)) == ("2020-01-01T00:00:00Z..*", 2, Window(START))


async def test_containers_may_be_listed_on_the_way() -> None:
    places = [Placement("section", (name,), name.lower()) for name in "ABC"]

    async def listed() -> AsyncIterator[Placement]:
        for place in places:
            yield place

    library = Library([1, 2])
    shards = await cut(ByContainer(listed), library.count)
    assert [container_of(shard) for shard in shards] == places
    assert library.calls == 0


@pytest.mark.parametrize(
    ("inside", "rows", "words"),
    [
        pytest.param(1, [1, 2], "2 rows, but only 1 of them", id="rows outside all containers"),
        pytest.param(11, [], "section /A has 11 assets", id="more than can be listed"),
    ],
)
async def test_a_container_that_cannot_have_all_rows_is_noticed(inside: int, rows: list[int], words: str) -> None:
    async def count_in(window: Window, container: Placement) -> int:
        return inside

    with pytest.raises(TruncatedListing, match=words):
        await cut(ByContainer([Placement("section", ("A",), "a")], count_in, reach=10), Library(rows).count)
