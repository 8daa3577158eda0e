"""The search index: what searches see, some seconds behind the truth. Dates by bisection, values by postings that are
built when a query first asks for them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections import deque
from collections.abc import Collection, Iterable, Iterator

from dam_sync.emulators.e_profiles.records import Asset
from dam_sync.emulators.e_profiles.targets import Target

Ids = Collection[str]


class Dates:
    """Ids in order of a timestamp in epoch seconds."""

    def __init__(self) -> None:
        self.rows: list[tuple[int, str]] = []

    def add(self, at: int, asset: str) -> None:
        """Take one in."""
        insort(self.rows, (at, asset))

    def drop(self, at: int, asset: str) -> None:
        """Take one out."""
        place = bisect_left(self.rows, (at, asset))
        if place < len(self.rows) and self.rows[place] == (at, asset):
            del self.rows[place]

    def within(self, first: int | None, last: int | None) -> tuple[int, int]:
        """The slice of rows whose timestamp lies in [first, last]; None is open."""
        start = 0 if first is None else bisect_left(self.rows, (first, ""))
        stop = len(self.rows) if last is None else bisect_right(self.rows, (last, "￿"))
        return start, max(start, stop)


class Postings:
    """Ids by folded value of one target; a lone id is kept as itself."""

    def __init__(self, target: Target, docs: Iterable[Asset]) -> None:
        self._values = target.values
        self._ids: dict[str, str | set[str]] = {}
        for doc in docs:
            self.add(doc)

    def add(self, doc: Asset) -> None:
        """Take an asset's values in."""
        for value in self._values(doc):
            folded = value.casefold()
            held = self._ids.get(folded)
            if held is None:
                self._ids[folded] = doc.id
            elif isinstance(held, set):
                held.add(doc.id)
            elif held != doc.id:
                self._ids[folded] = {held, doc.id}

    def drop(self, doc: Asset) -> None:
        """Take an asset's values out."""
        for value in self._values(doc):
            folded = value.casefold()
            held = self._ids.get(folded)
            if isinstance(held, set):
                held.discard(doc.id)
            elif held == doc.id:
                del self._ids[folded]

    def find(self, value: str) -> Ids:
        """Ids of the assets with exactly this value, characters of any case."""
        held = self._ids.get(value.casefold())
        if held is None:
            return ()
        return (held,) if isinstance(held, str) else held


class Index:
    """Assets as searches see them; `generation` moves with every change that has arrived."""

    def __init__(self) -> None:
        self.docs: dict[str, Asset] = {}
        self.created = Dates()
        self.updated = Dates()
        self.generation = 0
        self._postings: dict[str, Postings] = {}
        self._coming: deque[tuple[float, str, Asset | None]] = deque()

    def load(self, docs: Iterable[Asset]) -> None:
        """Take in many at once, visible immediately."""
        for doc in docs:
            self.docs[doc.id] = doc
        self.created.rows = sorted((doc.created, doc.id) for doc in self.docs.values())
        self.updated.rows = sorted((doc.updated, doc.id) for doc in self.docs.values())
        self.forget()

    def put(self, asset: str, doc: Asset | None, due: float) -> None:
        """An asset's new state, or None when it is gone; searches see it from `due` on (see `Environment.elapsed`)."""
        self._coming.append((due, asset, doc))

    def settle(self, now: float) -> None:
        """Let everything arrive whose time has come."""
        while self._coming and self._coming[0][0] <= now:
            _, asset, doc = self._coming.popleft()
            self._replace(asset, doc)

    def forget(self) -> None:
        """Drop what was derived: names behind ids have changed."""
        self._postings.clear()
        self.generation += 1

    def find(self, target: Target, value: str) -> Ids:
        """Ids by exact value of a target."""
        postings = self._postings.get(target.name)
        if postings is None:
            postings = self._postings[target.name] = Postings(target, self.docs.values())
        return postings.find(value)

    def of(self, ids: Iterable[str]) -> Iterator[Asset]:
        """The assets of ids."""
        docs = self.docs
        return (docs[asset] for asset in ids if asset in docs)

    def _replace(self, asset: str, doc: Asset | None) -> None:
        self.generation += 1
        old = self.docs.pop(asset, None)
        if old is not None:
            self.created.drop(old.created, asset)
            self.updated.drop(old.updated, asset)
            for postings in self._postings.values():
                postings.drop(old)
        if doc is not None and not doc.conflicted:
            self.docs[asset] = doc
            self.created.add(doc.created, asset)
            self.updated.add(doc.updated, asset)
            for postings in self._postings.values():
                postings.add(doc)
