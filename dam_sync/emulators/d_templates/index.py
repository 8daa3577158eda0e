"""The search index: records as searches see them, some seconds behind the store (wire D 6.9, 12.2)."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Collection, Iterable

from dam_sync.emulators.d_templates.records import Record

Values = Callable[[Record, str], Iterable[str]]
"""The folded texts of a record under a name: of an attribute by its id."""


class Index:
    """Record states by object id; `generation` moves with every change that has arrived."""

    def __init__(self, values: Values) -> None:
        self.docs: dict[str, Record] = {}
        self.generation = 0
        self._values = values
        self._coming: deque[tuple[float, str, Record | None]] = deque()
        self._postings: dict[str, dict[str, set[str]]] = {}

    def load(self, docs: Iterable[Record]) -> None:
        """Take in many at once, visible immediately."""
        for doc in docs:
            self.docs[doc.object_id] = doc
        self.forget()

    def put(self, key: str, doc: Record | None, due: float) -> None:
        """A record's new state, or None when it is gone; searches see it from `due` on (see `Environment.elapsed`)."""
        self._coming.append((due, key, doc))

    def settle(self, now: float) -> None:
        """Let everything arrive whose time has come."""
        while self._coming and self._coming[0][0] <= now:
            _, key, doc = self._coming.popleft()
            self._replace(key, doc)

    def forget(self) -> None:
        """Drop what was derived: names behind ids have changed."""
        self._postings.clear()
        self.generation += 1

    def find(self, attribute: str, value: str) -> Collection[str]:
        """Object ids of the records with exactly this folded value."""
        postings = self._postings.get(attribute)
        if postings is None:
            postings = self._postings[attribute] = {}
            for doc in self.docs.values():
                self._add(attribute, doc)
        return postings.get(value, ())

    def match(self, attribute: str, pattern: re.Pattern[str]) -> set[str]:
        """Object ids of the records with a folded value that matches."""
        self.find(attribute, "")
        return set().union(*(ids for value, ids in self._postings[attribute].items() if pattern.match(value)))

    def _add(self, attribute: str, doc: Record) -> None:
        for value in self._values(doc, attribute):
            self._postings[attribute].setdefault(value, set()).add(doc.object_id)

    def _replace(self, key: str, doc: Record | None) -> None:
        self.generation += 1
        old = self.docs.pop(key, None)
        for attribute, postings in self._postings.items():
            if old is not None:
                for value in self._values(old, attribute):
                    postings.get(value, set()).discard(key)
            if doc is not None:
                self._add(attribute, doc)
        if doc is not None:
            self.docs[key] = doc
