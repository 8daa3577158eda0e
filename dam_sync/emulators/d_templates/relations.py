"""Directed links between records: no duplicates, no cycles of one type (wire D 3.4, 6.7)."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace

from dam_sync.emulators.d_templates.records import Link

UNDERSCORE, HYPHEN = "placed_graphic", "placed-graphic"


class Relations:
    """All links of a tenant by their deterministic id, and by both ends."""

    def __init__(self, now: Callable[[], int], plays: Collection[str]) -> None:
        self._now = now
        placed = {HYPHEN} if "hyphen" in plays else {UNDERSCORE}
        self.kinds = frozenset(
            {"child", "derivative"} | ({HYPHEN, UNDERSCORE} if "both_spellings" in plays else placed)
        )
        self.links: dict[str, Link] = {}
        self._ends: dict[str, dict[str, None]] = {}

    def of(self, record: str) -> list[Link]:
        """Links that begin or end at the record, in order of their making."""
        return [self.links[each] for each in self._ends.get(record, ())]

    def add(self, primary: str, secondary: str, kind: str) -> Link | str:
        """The new link, or the words of its refusal."""
        if kind not in self.kinds:
            return "Invalid link type"
        if f"{primary}-{secondary}" in self.links:
            return "Relationship exists"
        if primary == secondary or self._leads(secondary, primary, kind):
            return "Circular dependency"
        return self._keep(Link(primary, secondary, kind, self._now()))

    def remove(self, link: str) -> bool:
        """Take a link away; whether there was one."""
        found = self.links.pop(link, None)
        if found is None:
            return False
        for end in (found.primary, found.secondary):
            self._ends.get(end, {}).pop(link, None)
        return True

    def drop(self, record: str) -> None:
        """The record is gone, and its links with it."""
        for link in self.of(record):
            self.remove(link.id)
        self._ends.pop(record, None)

    def move(self, old: str, new: str) -> None:
        """The links of one record become those of another."""
        for link in self.of(old):
            self.remove(link.id)
            primary = new if link.primary == old else link.primary
            self._keep(replace(link, primary=primary, secondary=new if link.secondary == old else link.secondary))

    def _keep(self, link: Link) -> Link:
        self.links[link.id] = link
        for end in (link.primary, link.secondary):
            self._ends.setdefault(end, {})[link.id] = None
        return link

    def _leads(self, start: str, goal: str, kind: str) -> bool:
        """Whether links of the kind lead from one record to another."""
        seen, waiting = {start}, [start]
        while waiting:
            at = waiting.pop()
            if at == goal:
                return True
            for link in self.of(at):
                if link.primary == at and link.kind == kind and link.secondary not in seen:
                    seen.add(link.secondary)
                    waiting.append(link.secondary)
        return False
