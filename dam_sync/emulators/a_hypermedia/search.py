"""The search index: sorted ids and dates for ranges, words by field for the rest; it trails the library by the lag."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections import OrderedDict, deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Protocol

from dam_sync.emulators.a_hypermedia.lexicon import Lexicon, words
from dam_sync.emulators.a_hypermedia.records import Media
from dam_sync.emulators.kit.environment import Environment

AXES = ("id", "updateDate", "importDate", "creationDate", "statusUpdateDate", "trashDate")
_REMEMBERED = 16
"""Queries whose hits are kept until the next change, so that paging through one costs it once."""


class Clause(Protocol):
    """One condition of a query."""

    def count(self, index: Index) -> int | None:
        """About how many media it leaves, where the index knows at little cost; None if it must look at each."""
        ...

    def ids(self, index: Index) -> Iterable[int]:
        """The media it may leave; only asked after a `count`."""
        ...

    def holds(self, index: Index, media: Media) -> bool:
        """Whether the media fulfils it."""
        ...


class Axis:
    """Media in the order of one number."""

    def __init__(self, rows: Iterable[tuple[float, int]]) -> None:
        self.rows = sorted(rows)

    def add(self, row: tuple[float, int]) -> None:
        """Put a media in its place."""
        if not self.rows or self.rows[-1] < row:
            self.rows.append(row)
        else:
            insort(self.rows, row)

    def remove(self, row: tuple[float, int]) -> None:
        """Take it out; it must be in."""
        del self.rows[bisect_left(self.rows, row)]

    def span(self, low: float | None, high: float | None) -> tuple[int, int]:
        """The part of `rows` with numbers in [low, high], open where None."""
        start = 0 if low is None else bisect_left(self.rows, (low, -1))
        stop = len(self.rows) if high is None else bisect_right(self.rows, (high, 1 << 62))
        return start, max(start, stop)


class Hits(Protocol):
    """The ids a query found, in order."""

    def __len__(self) -> int:
        """How many."""
        ...

    def part(self, start: int, stop: int) -> list[int]:
        """Those from `start` up to, not including, `stop`."""
        ...


class Listed:
    """Hits at hand."""

    def __init__(self, numbers: list[int]) -> None:
        self._numbers = numbers

    def __len__(self) -> int:
        return len(self._numbers)

    def part(self, start: int, stop: int) -> list[int]:
        return self._numbers[start:stop]


class Span:
    """The ids of a part of an axis, forwards or backwards, without copying them."""

    def __init__(self, rows: Sequence[tuple[float, int]], start: int, stop: int, *, backwards: bool) -> None:
        self._rows, self._start, self._stop, self._backwards = rows, start, stop, backwards

    def __len__(self) -> int:
        return self._stop - self._start

    def part(self, start: int, stop: int) -> list[int]:
        stop = min(stop, len(self))
        if self._backwards:
            return [row[1] for row in reversed(self._rows[max(self._start, self._stop - stop) : self._stop - start])]
        return [row[1] for row in self._rows[self._start + start : self._start + stop]]


class Index:
    """The media one kind of search sees, as they were when last indexed."""

    def __init__(self, lexicon: Lexicon) -> None:
        self.lexicon = lexicon
        self.docs: dict[int, Media] = {}
        self._axes: dict[str, Axis] = {}
        self._postings: dict[str, dict[str, set[int]]] = {}
        self._found: OrderedDict[tuple[tuple[Clause, ...], str, bool], Hits] = OrderedDict()

    def put(self, media: Media) -> None:
        """Index a media again."""
        self.remove(media.id)
        self._found.clear()
        self.docs[media.id] = media
        for name, axis in self._axes.items():
            number = self.lexicon.number(media, name)
            if number is not None:
                axis.add((number, media.id))
        for name, postings in self._postings.items():
            for word in self.words(media, name):
                postings.setdefault(word, set()).add(media.id)

    def remove(self, number: int) -> None:
        """Forget a media; nothing happens if it is not known."""
        media = self.docs.pop(number, None)
        if media is None:
            return
        self._found.clear()
        for name, axis in self._axes.items():
            at = self.lexicon.number(media, name)
            if at is not None:
                axis.remove((at, number))
        for name, postings in self._postings.items():
            for word in self.words(media, name):
                postings.get(word, set()).discard(number)

    def words(self, media: Media, name: str) -> set[str]:
        """The words of a media under an index name."""
        return {word for text in self.lexicon.texts(media, name) for word in words(text)}

    def axis(self, name: str) -> Axis:
        """The axis of that name, made at its first use."""
        found = self._axes.get(name)
        if found is None:
            numbers = ((self.lexicon.number(media, name), media.id) for media in self.docs.values())
            found = self._axes[name] = Axis((number, at) for number, at in numbers if number is not None)
        return found

    def postings(self, name: str) -> Mapping[str, set[int]]:
        """The media by word under an index name, made at its first use."""
        found = self._postings.get(name)
        if found is None:
            found = self._postings[name] = {}
            for media in self.docs.values():
                for word in self.words(media, name):
                    found.setdefault(word, set()).add(media.id)
        return found

    def search(self, clauses: Sequence[Clause], sort: str = "", *, backwards: bool = False) -> Hits:
        """The ids that fulfil all clauses, in order; without `sort` the last changed come first."""
        if not sort:
            sort, backwards = "updateDate", True
        span = self._span(clauses, sort)
        if span is not None:
            return Span(self.axis(sort).rows, *span, backwards=backwards)
        asked = (tuple(clauses), sort, backwards)
        if asked not in self._found:
            self._found[asked] = self._sorted(self._left(clauses), sort, backwards=backwards)
            while len(self._found) > _REMEMBERED:
                self._found.popitem(last=False)
        return self._found[asked]

    def _sorted(self, left: Collection[int], sort: str, *, backwards: bool) -> Hits:
        if sort == "id":
            return Listed(sorted(left, reverse=backwards))
        key, docs = self.lexicon.sort_key, self.docs
        return Listed(sorted(left, key=lambda number: (key(docs[number], sort), number), reverse=backwards))

    def _span(self, clauses: Sequence[Clause], sort: str) -> tuple[int, int] | None:
        if sort not in AXES:
            return None
        if not clauses:
            return (0, len(self.docs)) if len(self.axis(sort).rows) == len(self.docs) else None
        span = getattr(clauses[0], "span", None)
        return span(self) if len(clauses) == 1 and span and getattr(clauses[0], "name", "") == sort else None

    def _left(self, clauses: Sequence[Clause]) -> Collection[int]:
        counted = [(number, at) for at, clause in enumerate(clauses) if (number := clause.count(self)) is not None]
        if not counted:
            return [number for number, media in self.docs.items() if all(c.holds(self, media) for c in clauses)]
        best = min(counted)[1]
        rest = [clause for at, clause in enumerate(clauses) if at != best]
        docs = self.docs
        return [n for n in clauses[best].ids(self) if n in docs and all(c.holds(self, docs[n]) for c in rest)]


class Indexer:
    """Keeps the two indexes, of living and of trashed media, `lag` seconds behind the library."""

    def __init__(
        self, world: Environment, lexicon: Lexicon, lag: float, current: Callable[[int], Media | None]
    ) -> None:
        self.world, self.lag, self.current = world, lag, current
        self.live, self.trash = Index(lexicon), Index(lexicon)
        self._pending: deque[tuple[float, int]] = deque()

    def changed(self, number: int) -> None:
        """A media was made, changed or purged; search will see it after the lag."""
        self._pending.append((self.world.elapsed() + self.lag, number))

    def at_once(self, media: Media) -> None:
        """Index without lag, for what was there before the world began."""
        (self.trash if media.trashed else self.live).put(media)

    def refresh(self) -> None:
        """Index what is due."""
        now = self.world.elapsed()
        while self._pending and self._pending[0][0] <= now:
            number = self._pending.popleft()[1]
            media = self.current(number)
            self.live.remove(number)
            self.trash.remove(number)
            if media is not None:
                self.at_once(media)
