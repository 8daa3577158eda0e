"""Rights and expiry risks of the assets that were read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from dam_sync.engine.inventory.tallies import MOST_SHOWN, scalars_of
from dam_sync.mapping.results import empty
from dam_sync.mapping.similarity import bare, words_of
from dam_sync.model.asset import Asset
from dam_sync.model.capabilities import Capabilities, Feature
from dam_sync.model.exposure import VISIBLE
from dam_sync.model.inventory import Risk
from dam_sync.model.schema import Field

SOON = timedelta(days=90)
RIGHTS_WORDS = frozenset(
    {"copyright", "rights", "license", "licence", "licensing", "usage", "credit", "droits", "rechte"}
)
"""Words in the keys and labels of fields that say who owns an asset, or how it may be used."""


@dataclass(slots=True)
class RiskCounter:
    """How many assets a finding concerns, and the first of them."""

    number: int = 0
    examples: list[str] = field(default_factory=list)

    def add(self, asset: Asset) -> None:
        """Count one asset."""
        self.number += 1
        if len(self.examples) < MOST_SHOWN:
            self.examples.append(f"{asset.id} ({asset.filename})" if asset.filename else str(asset.id))


@dataclass(slots=True)
class RightsTally:
    """Findings of one library, at `now`. fields: those that hold rights, by their names; unread: parts of assets that
    the service does not return, so that nothing can be said of them."""

    now: datetime
    fields: frozenset[str]
    unread: frozenset[Feature] = frozenset()
    counters: dict[str, RiskCounter] = field(default_factory=dict)

    @classmethod
    def of(cls, fields: Iterable[Field], now: datetime, capabilities: Capabilities) -> RightsTally:
        """Counters for a library with these fields, of a service that can do this."""
        known = capabilities.features  # the schema of a source may say nothing
        unread = frozenset(part for part in RESTRICTING if known and not capabilities.reads(part))
        return cls(now, frozenset(each.key for each in fields if holds_rights(each)), unread)

    def add(self, asset: Asset) -> None:
        """Count the findings of one asset."""
        for what in self._findings(asset):
            self.counters.setdefault(what, RiskCounter()).add(asset)

    def risks(self) -> tuple[Risk, ...]:
        """The findings, those that were not found with 0 assets."""
        found = {what: self.counters.get(what, RiskCounter()) for what in self._possible()}
        return tuple(
            Risk(f"{what}: not known, because no {unread} read", None)
            if (unread := self._unread_of(what))
            else Risk(what, each.number, tuple(each.examples))
            for what, each in found.items()
        )

    def _unread_of(self, what: str) -> str:
        """What would have to be read to know this, if none of it is."""
        needed = NEEDED.get(what, ())
        if not needed or not self.unread.issuperset(needed):
            return ""
        *first, last = (part.value for part in needed)
        return f"{', '.join(first)} and {last} are" if first else f"{last} is"

    def _possible(self) -> tuple[str, ...]:
        return (EXPIRED, EXPIRING, UNRELEASED, HIDDEN, OPEN, *((self._unfilled(),) if self.fields else ()))

    def _unfilled(self) -> str:
        return f"no value in a field of rights ({', '.join(sorted(self.fields))})"

    def _findings(self, asset: Asset) -> Iterator[str]:
        rights, public = asset.rights, asset.status.casefold() in VISIBLE
        if rights.expires_at is not None:
            if rights.expires_at <= self.now and public:
                yield EXPIRED
            elif self.now < rights.expires_at <= self.now + SOON:
                yield EXPIRING
        if rights.release_at is not None and rights.release_at > self.now:
            yield UNRELEASED
        if not public:
            yield HIDDEN
        if not (rights.expires_at or rights.release_at or rights.groups or rights.restrictions):
            yield OPEN
        if self.fields and not any(self._filled(asset, key) for key in self.fields):
            yield self._unfilled()

    def _filled(self, asset: Asset, key: str) -> bool:
        value = asset.fields.get(key)
        return value is not None and not all(map(empty, scalars_of(value)))


EXPIRED = "expired, but still published"
EXPIRING = f"expires within {SOON.days} days"
UNRELEASED = "not released yet"
HIDDEN = "not published (draft, archived, pending, …)"
OPEN = "no restriction: neither release, expiry nor groups"
RESTRICTING = (Feature.RELEASE, Feature.EXPIRY, Feature.GROUPS)
NEEDED = {
    EXPIRED: (Feature.EXPIRY,),
    EXPIRING: (Feature.EXPIRY,),
    UNRELEASED: (Feature.RELEASE,),
    OPEN: RESTRICTING,
}
"""What of an asset each finding is about."""


def holds_rights(known: Field) -> bool:
    """Whether a field says by its name who owns an asset or how it may be used."""
    names = (*words_of(bare(known.key)), *words_of(known.label))
    return not known.system and not known.derived and not RIGHTS_WORDS.isdisjoint(names)
