"""What a comparison has to know of the target, and of the mapping."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import Enum, auto

from dam_sync.mapping.crosswalk import Crosswalk
from dam_sync.model.asset import Asset, Draft
from dam_sync.model.audience import Audience, RestrictionKind
from dam_sync.model.capabilities import Capabilities
from dam_sync.model.conflict import DATES, FIELDS, PLACEMENTS
from dam_sync.model.exposure import is_wider
from dam_sync.model.schema import Schema
from dam_sync.model.unicode_forms import nfc
from dam_sync.model.values import Localized, Value

SECOND = timedelta(seconds=1)
ARRIVAL = timedelta(hours=1)  # within which a date may be set by the upload of the asset


@dataclass(frozen=True, slots=True)
class Scope:
    """What a mapping writes; only there does the target count as having additions. fields: keys; containers: kinds;
    tags, groups, dates: whether it has a rule for them (dates: `release`, `expiry`)."""

    fields: frozenset[str] = frozenset()
    containers: frozenset[str] = frozenset()
    tags: bool = False
    groups: bool = False
    dates: frozenset[str] = frozenset()

    def covers(self, path: str) -> bool:
        """Whether it has the part at this path; a name, a status and restrictions it has not."""
        if path.startswith(FIELDS):
            return path.removeprefix(FIELDS) in self.fields
        if path.startswith(PLACEMENTS):
            return path.removeprefix(PLACEMENTS) in self.containers
        return path in self.dates or (path == "tags" and self.tags) or (path == "groups" and self.groups)


def scope_of(crosswalk: Crosswalk) -> Scope:
    """What a mapping writes."""
    plan = crosswalk.plan
    return Scope(
        fields=frozenset(plan.fields),
        containers=frozenset(kind for _, kind in plan.placements),
        tags=plan.tags is not None,
        groups=plan.groups is not None,
        dates=frozenset(name for name, rule in (("release", plan.release), ("expiry", plan.expiry)) if rule),
    )


class Members(Enum):
    """What an asset says of containers that list their members: nothing, which ones it is in besides, because some may
    be missing, or all of them."""

    UNREAD = auto()
    MORE = auto()
    ALL = auto()


@dataclass(frozen=True, slots=True)
class TargetFacts:
    """audience: who sees an asset of a draft. now: the earliest that it may be. members: of containers that list their
    members, which are compared."""

    schema: Schema
    capabilities: Capabilities
    precision: timedelta
    audience: Callable[[Draft], Audience]
    now: datetime
    members: Members = Members.UNREAD

    def is_open(self, draft: Draft, groups: frozenset[str]) -> bool:
        """Whether these groups, or none, let everybody in who can use the tenant, on an asset of a draft. One that is
        hidden for having none is open to nobody."""
        given = self.audience(replace(draft, rights=replace(draft.rights, groups=groups)))
        return given.groups is None and given.hidden in ("", self.audience(draft).hidden)

    def shows_more(self, now: Draft, then: Draft) -> bool:
        """Whether somebody would see an asset of the target `then` who does not see it `now`."""
        return is_wider(self.audience(now), self.audience(then), self.now, self.precision)

    def default_groups(self, draft: Draft) -> frozenset[str]:
        """The groups that the target gives an asset of a draft that names none."""
        return self.audience(draft).groups or frozenset()

    def is_arrival_of_release(self, moment: datetime, seen: Asset) -> bool:
        """Whether the target itself set this release date: when the asset came, or later where nobody sees an asset
        without one."""
        late = self.now if self.schema.always_released else None
        return any(abs(moment - came) < ARRIVAL or (late and came <= moment <= late) for came in _arrivals(seen))


def given_value(value: Value, seen: Asset) -> Value | None:
    """The part of a value of the target that it may have given by itself where nothing was written: dates of its
    arrival, and texts that are the name of its file. None for nothing."""
    if isinstance(value, datetime):
        return value if any(abs(value - came) < ARRIVAL for came in _arrivals(seen)) else None
    names = {*spellings(seen.filename), *spellings(seen.file.name if seen.file else "")}
    match value:
        case str():
            return value if nfc(value) in names else None
        case Localized(texts):
            found = {locale: text for locale, text in texts.items() if nfc(text) in names}
            return Localized(found) if found else None
    return None


def without_given(seen: Asset, states: Sequence[Draft], facts: TargetFacts) -> Asset:
    """The asset without what the target may have given it by itself, where one of these states has nothing."""
    fields: dict[str, Value] = {}
    for key, value in seen.fields.items():
        written = all(key in state.fields for state in states)
        left = value if written else _less(value, given_value(value, seen))
        fields |= {} if left is None else {key: left}
    release, rights = seen.rights.release_at, seen.rights
    if release and facts.is_arrival_of_release(release, seen) and not all(state.rights.release_at for state in states):
        rights = replace(rights, release_at=None)
    return replace(seen, fields=fields, rights=rights)


def _less(value: Value, part: Value | None) -> Value | None:
    if isinstance(value, Localized) and isinstance(part, Localized):
        texts = {locale: text for locale, text in value.texts.items() if locale not in part.texts}
        return Localized(texts) if texts else None
    return value if part is None else None


def groups_of_everybody(drafts: Iterable[Draft], audience: Callable[[Draft], Audience]) -> list[frozenset[str]]:
    """The groups of these drafts that, once written, let everybody in who can use the tenant. An asset of such a group
    may be read as one that names none (see `may_be_everybodys`)."""
    return [draft.rights.groups for draft in drafts if draft.rights.groups and audience(draft).groups is None]


def may_be_everybodys(seen: Asset, *, hidden: bool = False) -> bool:
    """Whether an asset names no group and is seen. hidden: also if nobody sees it."""
    return not seen.rights.groups and (hidden or not is_seen_by_nobody(seen))


def is_seen_by_nobody(seen: Asset) -> bool:
    """Whether it has no release date, without which its service shows it to nobody."""
    return any(one.kind is RestrictionKind.UNRELEASED for one in seen.rights.restrictions)


def is_other_date(one: datetime | None, other: datetime | None, precision: timedelta) -> bool:
    """Whether two dates differ, or one is missing. precision: of the target; less than a second never counts."""
    if one is None or other is None:
        return one is not other
    return abs(one - other) >= max(precision, SECOND)


def date_of(side: Draft | Asset, path: str) -> datetime | None:
    """The date at this path, `release` or `expiry`."""
    moment: datetime | None = getattr(side.rights, DATES[path])
    return moment


def _arrivals(seen: Asset) -> Iterator[datetime]:
    return (came for came in (seen.imported_at, seen.created_at) if came is not None)


def spellings(name: str) -> frozenset[str]:
    """A file name with and without its extension."""
    return frozenset(nfc(each) for each in (name, name.rpartition(".")[0]) if each)
