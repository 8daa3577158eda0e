"""Conflicts: values that changed at the source, and are at the target no longer what was last written there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from dam_sync.model.canonical import canonical
from dam_sync.model.values import Json, value_from_json

CONFLICT = "conflict"
"""The path of such losses, and the cause by which such assets are parked."""
FIELDS = "fields."
FILE = "file"
PLACEMENTS = "placements."
DATES: Mapping[str, str] = {"release": "release_at", "expiry": "expires_at"}
RIGHTS = frozenset({*DATES, "groups"})


class ConflictPolicy(StrEnum):
    """Which value stands after a conflict."""

    PARK = "park"  # none: the asset is set aside until a person decides
    SOURCE = "source"
    TARGET = "target"
    NEWEST = "newest"  # that of the asset that was modified later
    MERGE = "merge"  # both, for lists and texts in several languages; anything else is parked


class Take(StrEnum):
    """The result of one conflict."""

    SOURCE = "source"
    TARGET = "target"
    MERGED = "merged"
    NONE = "parked"


DECISION, EXPOSURE_RULE = "decision", "exposure"
"""What decides about a conflict besides a policy: a person, or that more people would see the asset."""


@dataclass(frozen=True, order=True, slots=True)
class ConflictResult:
    """How one conflict was settled, or that it was not: the rule of a loss whose path is `CONFLICT`. by: the policy, or
    `DECISION` or `EXPOSURE_RULE`."""

    path: str
    take: Take
    by: str

    def __str__(self) -> str:
        return f"{self.path} {self.take} {self.by}"

    @classmethod
    def read(cls, text: str) -> ConflictResult:
        """The inverse of `str`; a path may contain spaces."""
        path, take, by = text.rsplit(" ", 2)
        return cls(path, Take(take), by)


@dataclass(frozen=True, slots=True)
class ConflictRules:
    """The policy of each value. parts: `fields.KEY`, `filename`, `status`, `rights`, `placements` and `file` where they
    have a policy of their own."""

    default: ConflictPolicy = ConflictPolicy.PARK
    parts: Mapping[str, ConflictPolicy] = field(default_factory=dict)

    def of(self, path: str) -> ConflictPolicy:
        """The policy of the value at this path."""
        part = "rights" if path in RIGHTS else path
        if path.startswith(PLACEMENTS):
            part = PLACEMENTS.rstrip(".")
        return self.parts.get(part, self.default)

    @property
    def fields(self) -> frozenset[str]:
        """The fields with a policy of their own."""
        return frozenset(part.removeprefix(FIELDS) for part in self.parts if part.startswith(FIELDS))


def shown(path: str, value: Json) -> str:
    """One side of a conflict (a part of a draft, as JSON) in one line, for people."""
    if value is None:
        return ""
    if path == FILE:
        parts = [value["name"], *([] if value["size"] is None else [f"{value['size']:,} bytes"])]
        return ", ".join([*parts, *(f"{name} {digest}" for name, digest in sorted(value["digests"].items()))])
    if path.startswith(PLACEMENTS):
        return "; ".join(sorted("/" + "/".join(place["path"]) for place in value))
    if path.startswith(FIELDS):
        return "; ".join(canonical(value_from_json(value)))
    return "; ".join(value) if isinstance(value, list) else str(value)
