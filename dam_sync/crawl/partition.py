"""Cutting a library into shards that are disjoint, cover the window and stay within the reach of a query."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Protocol, TypeAlias

from dam_sync.model.asset import Placement
from dam_sync.model.errors import ContractBroken, TruncatedListing
from dam_sync.model.service import Shard, Window
from dam_sync.model.values import Json, instant_text, parse_instant

Count: TypeAlias = Callable[[Window], Awaitable[int]]
CountIn: TypeAlias = Callable[[Window, Placement], Awaitable[int]]

EARLIEST = datetime(1970, 1, 1, tzinfo=UTC)


class Partitioner(Protocol):
    """Cuts a window into shards; `count` requests the number of rows in a window, with one call each."""

    def shards(self, window: Window, count: Count) -> AsyncIterator[Shard]:
        """Half-open; their union is the window. `window_of(shard)` is what each has to request."""
        ...


def window_of(shard: Shard) -> Window:
    """The window a shard was cut for."""
    since, until = shard.params.get("since"), shard.params.get("until")
    return Window(parse_instant(since) if since else None, parse_instant(until) if until else None)


def container_of(shard: Shard) -> Placement | None:
    """The container a shard was cut for, if any."""
    found = shard.params.get("container")
    return Placement(found["kind"], tuple(found["path"]), found["id"]) if found else None


@dataclass(frozen=True, slots=True)
class Whole:
    """One shard, uncounted unless `counted`: for services whose listings have no reach."""

    counted: bool = False

    async def shards(self, window: Window, count: Count) -> AsyncIterator[Shard]:
        yield _shard(window, await count(window) if self.counted else None)


@dataclass(frozen=True, slots=True)
class ByContainer:
    """One shard per container, in the given order; an asset in several containers is in several shards.

    `containers` is a sequence or a function that lists them. With `count_in` each is counted: empty ones are left out,
    and TruncatedListing is raised if one has more than `reach` rows, or all together have fewer rows than the window.
    """

    containers: Sequence[Placement] | Callable[[], AsyncIterator[Placement]]
    count_in: CountIn | None = None
    reach: int | None = None

    async def shards(self, window: Window, count: Count) -> AsyncIterator[Shard]:
        """See `Partitioner.shards`; `count` is called once, and only with `count_in`."""
        found = 0
        async for container in self._listed():
            rows = None if self.count_in is None else await self.count_in(window, container)
            if rows == 0:
                continue
            if rows is not None and self.reach is not None and rows > self.reach:
                raise _overfull(f"{container.kind} {container.text}", rows, self.reach)
            found += rows or 0
            yield _shard(window, rows, container)
        if self.count_in is not None and found < (total := await count(window)):
            raise TruncatedListing(
                f"there are {total} rows, but only {found} of them are in the containers by which the library is read",
                hint="put the remaining assets into a container, or give the credential access to all containers",
            )

    async def _listed(self) -> AsyncIterator[Placement]:
        if isinstance(self.containers, Sequence):
            for container in self.containers:
                yield container
            return
        async for container in self.containers():
            yield container


@dataclass(frozen=True, slots=True)
class ByDate:
    """Bisects time until each shard holds at most `reach` rows, and merges neighbours that fit together.

    `since` and `until` bound the bisection of a window that is open at that end; the outermost shard stays open, so a
    row dated beyond is not lost (rows without a date are left to the service). `precision` is the grid of the service's
    timestamps: boundaries lie on it, and one step is never split; a step that is still too full goes to `then`,
    otherwise TruncatedListing is raised. `overlap`, for services whose range ends may be inclusive or not, lowers the
    start of the requested range; one step of `precision` is enough. Rows at a boundary then come twice.
    """

    since: datetime
    until: datetime | None
    precision: timedelta
    reach: int
    then: Partitioner | None = None
    overlap: timedelta = timedelta(0)

    async def shards(self, window: Window, count: Count) -> AsyncIterator[Shard]:
        """See `Partitioner.shards`; oldest first. Raises ContractBroken if the counts are contradictory."""
        cut = _Cut(self, window, count)
        async for piece in cut.joined():
            if piece.rows <= self.reach:
                yield _shard(cut.asked(piece), piece.rows)
            elif self.then is None:
                raise _overfull(f"the timestamp {instant_text(piece.low)}", piece.rows, self.reach)
            else:
                async for shard in self.then.shards(cut.asked(piece), count):
                    yield shard


@dataclass(frozen=True, slots=True)
class _Slice:
    """[low, high) and its number of rows."""

    low: datetime
    high: datetime
    rows: int = 0


class _Cut:
    """One bisection. The upper half is not counted but computed from the whole, unless the halves share rows."""

    _TRUST = 0.9  # of the reach: a computed count above it is verified by a call, because the library may change

    def __init__(self, by: ByDate, window: Window, count: Count) -> None:
        self._by, self._window, self._count = by, window, count
        until = window.until or by.until
        if until is None:
            raise ValueError("a window without an end needs `until`")
        since = window.since or min(by.since, until - by.precision)
        grid = by.precision
        self._root = _Slice(since - (since - EARLIEST) % grid, until + (EARLIEST - until) % grid)
        self._calls_left = 1

    async def joined(self) -> AsyncIterator[_Slice]:
        """Merge neighbours into slices as full as possible, oldest first."""
        last: _Slice | None = None
        async for piece in self._leaves():
            if last is not None and last.rows + piece.rows <= self._by.reach:
                last = _Slice(last.low, piece.high, last.rows + piece.rows)
                continue
            if last is not None:
                yield last
            last = piece
        if last is not None:
            yield last

    def asked(self, piece: _Slice) -> Window:
        """The window to request; an open end of the whole stays open."""
        first = self._window.since is None and piece.low == self._root.low
        last = self._window.until is None and piece.high == self._root.high
        return Window(None if first else piece.low - self._by.overlap, None if last else piece.high)

    async def _leaves(self) -> AsyncIterator[_Slice]:
        if self._root.low >= self._root.high:
            return
        whole = await self._counted(self._root)
        self._calls_left = self._most_calls(whole)
        waiting = [whole]
        while waiting:
            piece = waiting.pop()
            if self._is_leaf(piece):
                yield piece
            else:
                lower, upper = await self._halves(piece)
                waiting += [upper, lower]

    def _is_leaf(self, piece: _Slice) -> bool:
        return piece.rows <= self._by.reach or piece.high - piece.low <= self._by.precision

    async def _halves(self, piece: _Slice) -> tuple[_Slice, _Slice]:
        grid = self._by.precision
        middle = piece.low + (piece.high - piece.low) // grid // 2 * grid
        lower = await self._counted(_Slice(piece.low, middle))
        upper = _Slice(middle, piece.high, piece.rows - lower.rows)
        return lower, upper if self._may_reckon(lower, upper) else await self._counted(upper)

    def _may_reckon(self, lower: _Slice, upper: _Slice) -> bool:
        if upper.rows < 0 or (self._by.overlap and lower.rows):
            return False
        return upper.rows <= self._by.reach * self._TRUST or not self._is_leaf(upper)

    async def _counted(self, piece: _Slice) -> _Slice:
        if self._calls_left <= 0:
            hint = "the service may ignore the date range; run again with -v and report the counting call"
            raise ContractBroken(
                "the counts by date are contradictory: parts contain more rows than the whole", hint=hint
            )
        self._calls_left -= 1
        return _Slice(piece.low, piece.high, await self._count(self.asked(piece)))

    def _most_calls(self, whole: _Slice) -> int:
        """Each level has at most rows / reach slices to split, up to three times that if they overlap."""
        depth = ((whole.high - whole.low) // self._by.precision).bit_length() + 1
        return 8 + 8 * depth * (whole.rows // max(1, self._by.reach) + 1)


def _shard(window: Window, rows: int | None, container: Placement | None = None) -> Shard:
    since, until = (instant_text(end) if end else None for end in (window.since, window.until))
    params: dict[str, Json] = {"since": since, "until": until}
    name = f"{since or '*'}..{until or '*'}"
    if container is not None:
        params["container"] = {"kind": container.kind, "path": list(container.path), "id": container.id}
        name += f" {container.kind} {container.id or container.text}"
    return Shard(name, params, rows)


def _overfull(what: str, rows: int, reach: int) -> TruncatedListing:
    return TruncatedListing(
        f"{what} has {rows} assets and the service returns only the first {reach} of a listing",
        hint="change some of these assets so that their dates or containers differ, or ask for a larger result window",
    )
