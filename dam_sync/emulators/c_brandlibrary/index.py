"""The search index: assets as searches see them, some seconds behind the truth (wire C 12, line 27)."""

from __future__ import annotations

from collections.abc import Iterable

from dam_sync.emulators.c_brandlibrary.agenda import Agenda
from dam_sync.emulators.c_brandlibrary.records import Asset


class Index:
    """Assets by id; `generation` moves with every change that has arrived."""

    def __init__(self, agenda: Agenda) -> None:
        self.docs: dict[str, Asset] = {}
        self.generation = 0
        self._agenda = agenda
        self._sent = 0
        self._newest: dict[str, int] = {}

    def load(self, docs: Iterable[Asset]) -> None:
        """Take in many at once, visible immediately."""
        self.docs.update((doc.id, doc) for doc in docs)
        self.generation += 1

    def put(self, doc: Asset, due: int) -> None:
        """An asset's new state, seen by searches from `due` on; an older state that comes later is not heeded."""
        self._sent += 1
        number = self._sent

        def arrive(at: int) -> None:
            if self._newest.get(doc.id, 0) > number:
                return
            self._newest[doc.id] = number
            self.generation += 1
            if doc.deleted is None:
                self.docs[doc.id] = doc
            else:
                self.docs.pop(doc.id, None)

        self._agenda.at(due, arrive)
