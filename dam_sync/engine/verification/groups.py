"""Differences grouped by place and pattern, with a few examples of each; memory does not grow with the library."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, field
from datetime import datetime

from dam_sync.engine.compare.differences import Difference
from dam_sync.model.values import Json

SHOWN = 3  # examples of a group
MEMBERS = 50  # assets of a group that are looked at for its cause
MOST = 500  # groups; further patterns of a place are counted as one
REST = "other patterns"
_VERSION = re.compile(r"^version \d+")
_ATTACHMENT = re.compile(r"^attachment .*?(\.\w+)?$", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Found:
    """One difference of one asset; see `Judgement.changed_at`."""

    source: str
    target: str
    difference: Difference
    changed_at: datetime | None = None


@dataclass(slots=True)
class DifferenceGroup:
    """Differences of one pattern at one place. number: of them; examples: (source id, target id, expected, found);
    cause: what is known of who wrote the values, remedy: what to do; in a sentence each, if anything is known.
    members: the first of them."""

    path: str
    pattern: str
    extra: bool
    number: int = 0
    examples: list[tuple[str, str, str, str]] = field(default_factory=list)
    cause: str = ""
    remedy: str = ""
    members: list[Found] = field(default_factory=list)

    def add(self, found: Found) -> None:
        """One more."""
        self.number += 1
        if len(self.members) < MEMBERS:
            self.members.append(found)
        if len(self.examples) < SHOWN:
            self.examples.append((found.source, found.target, found.difference.expected, found.difference.found))

    def as_json(self) -> dict[str, Json]:
        """For a report: without the members."""
        facts = asdict(self)
        return {key: facts[key] for key in ("path", "pattern", "extra", "number", "examples", "cause", "remedy")}


@dataclass(slots=True)
class DifferenceGroups:
    """All groups, by place, pattern and whether they are additions."""

    groups: dict[tuple[str, str, bool], DifferenceGroup] = field(default_factory=dict)

    def add(self, found: Found) -> None:
        """Count a difference in its group."""
        path, pattern = place_of(found.difference.path), found.difference.pattern
        key = path, pattern, found.difference.extra
        if key not in self.groups and len(self.groups) >= MOST:
            key = path if len(self.groups) < 2 * MOST else "", REST, found.difference.extra
        self.groups.setdefault(key, DifferenceGroup(*key)).add(found)

    def most_frequent(self) -> list[DifferenceGroup]:
        """The groups, the largest first; additions last."""
        return sorted(self.groups.values(), key=lambda group: (group.extra, -group.number, group.path, group.pattern))

    def as_json(self) -> list[dict[str, Json]]:
        """For a report."""
        return [group.as_json() for group in self.most_frequent()]


def place_of(path: str) -> str:
    """Where a difference is, without the number of a version and the name of an attachment."""
    if path.startswith("attachment "):
        found = _ATTACHMENT.match(path)
        return f"attachments{(found and found[1]) or ''}"
    return _VERSION.sub("versions", path)
