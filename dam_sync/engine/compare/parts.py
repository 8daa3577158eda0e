"""The parts of an asset: what each of them is, and how every side has it. The only place that lists them.

One more part of a known kind is one more line of `PARTS`: what an update writes of it, a repair, a rollback, the digest
of a plan, the ledger and the report follow from its kind.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from datetime import datetime
from enum import Enum, auto
from functools import partial
from itertools import permutations
from typing import Final

from dam_sync.engine.compare.atoms import (
    NOTHING,
    WHOLE,
    Atoms,
    atoms_of_fields,
    members,
    single,
    tag_key,
)
from dam_sync.engine.compare.expected import Expected, Stage
from dam_sync.engine.compare.facts import (
    Members,
    Scope,
    TargetFacts,
    date_of,
    given_value,
    groups_of_everybody,
    is_other_date,
    may_be_everybodys,
)
from dam_sync.model.asset import Asset, Draft, Placement
from dam_sync.model.capabilities import Capabilities, Feature, MembershipWrite, Operation
from dam_sync.model.conflict import DATES, FIELDS, PLACEMENTS
from dam_sync.model.schema import Field, Schema

EVERYBODY: Final = "everybody"
EQUAL: Final[Atoms] = {WHOLE: "equal"}
TAGS, GROUPS, RESTRICTIONS, STATUS, FILENAME = "tags", "groups", "restrictions", "status", "filename"


class PartKind(Enum):
    """How a part is written. CREATION: by a create alone; RIGHT: with the other rights, as a whole; APART: by calls of
    its own."""

    FIELDS = auto()  # by key
    VALUE = auto()  # one text
    NAMES = auto()  # a set of texts
    CONTAINERS = auto()  # a set, by kind
    RIGHTS = auto()
    CLOSED = auto()
    CREATION = auto()
    RIGHT = auto()
    APART = auto()


@dataclass(frozen=True, slots=True)
class AssetPart:
    """One part. name: in assets, drafts, patches, the ledger and reports; word: in sentences, if that is another one.
    silent: an empty value says nothing, and is never written; shows: it decides who sees the asset; later: digests and
    stored drafts have it only where it is not empty, because those of earlier releases have none. needs: without this
    the target neither stores nor returns it, so that it is not compared; of: what an asset has of it, if that is not
    under its name."""

    name: str
    kind: PartKind
    word: str = ""
    silent: bool = False
    shows: bool = False
    later: bool = False
    needs: Feature | Operation | None = None
    of: Callable[[Asset], object] | None = None

    def is_stored(self, able: Capabilities) -> bool:
        """Whether a target with these capabilities stores it."""
        match self.needs:
            case Feature():
                return able.writes(self.needs)
            case Operation():
                return self.needs in able
        return True

    def is_in(self, asset: Asset) -> bool:
        """Whether an asset has it."""
        return bool(getattr(asset, self.name) if self.of is None else self.of(asset))


PARTS: Final = (
    AssetPart("fields", PartKind.FIELDS),
    AssetPart(FILENAME, PartKind.VALUE, silent=True),
    AssetPart("profile", PartKind.CREATION),
    AssetPart(STATUS, PartKind.VALUE, silent=True, shows=True),
    AssetPart("closed", PartKind.CLOSED, "visibility", shows=True),
    AssetPart(TAGS, PartKind.NAMES, needs=Feature.TAGS),
    AssetPart("placements", PartKind.CONTAINERS),
    AssetPart("rights", PartKind.RIGHTS, shows=True),
)
"""What a draft says of an asset, in the order of the ledger."""
RIGHT_PARTS: Final = (
    AssetPart(GROUPS, PartKind.RIGHT, needs=Feature.GROUPS, of=lambda one: one.rights.groups),
    AssetPart(RESTRICTIONS, PartKind.RIGHT, of=lambda one: one.rights.restrictions),
    *(AssetPart(path, PartKind.RIGHT, of=partial(date_of, path=path)) for path in DATES),
)
PARTS_APART: Final = (
    AssetPart(
        "versions", PartKind.APART, "file versions", needs=Operation.REPLACE, of=lambda asset: asset.versions[1:]
    ),
    AssetPart("attachments", PartKind.APART, needs=Operation.ATTACH),
    AssetPart("relations", PartKind.APART, needs=Operation.RELATE),
)
VALUES: Final = tuple(part for part in PARTS if part.kind is PartKind.VALUE)
BY_NAME: Final[Mapping[str, AssetPart]] = {part.name: part for part in PARTS}


def part_of(path: str) -> AssetPart | None:
    """The part of a draft to which a path belongs, or the key of a row of the ledger."""
    name = path.partition(".")[0] if path.startswith((FIELDS, PLACEMENTS)) else path
    return BY_NAME.get(name)


def not_compared(asset: Asset, able: Capabilities) -> frozenset[str]:
    """The parts of an asset of the source that a target with these capabilities neither stores nor returns."""
    every = (*PARTS, *RIGHT_PARTS, *PARTS_APART)
    return frozenset(part.name for part in every if not part.is_stored(able) and part.is_in(asset))


@dataclass(frozen=True, slots=True)
class PartView:
    """One part. states: of each state that the target may hold, None if a state says nothing of it and allows anything;
    wanted: None if nothing is wanted; now: at the target. given: atoms that the target may have given by
    itself to a side that has nothing here; passing: atoms that it has for a time while an attempt of ours is under way;
    pending: keys of what is still to be written, which may be there or not.
    lacking: whether it may be missing for a time; more: only further atoms count; less: only missing ones; fixed: no
    call changes it of an asset that exists, so that others changed nothing either. stated: something is wanted, be it
    an empty value, such as `no`; by_member: the same member by member, where it is compared as one value."""

    path: str
    states: tuple[Atoms | None, ...]
    now: Atoms
    wanted: Atoms | None = None
    given: frozenset[tuple[Hashable, Hashable]] = frozenset()
    passing: frozenset[tuple[Hashable, Hashable]] = frozenset()
    pending: frozenset[Hashable] = frozenset()
    lacking: bool = False
    more: bool = False
    less: bool = False
    fixed: bool = False
    stated: bool = False
    by_member: PartView | None = None


@dataclass(frozen=True, slots=True)
class Sides:
    """The sides of a comparison. wanted: None if nothing is wanted, as for an asset that is to be removed."""

    expected: Expected
    seen: Asset
    facts: TargetFacts
    scope: Scope
    wanted: Draft | None = None

    @property
    def states(self) -> Sequence[Draft]:
        """What the target may hold; while it is created also nothing at all."""
        if self.expected.stage is Stage.COMPLETE:
            return self.expected.states
        return (*self.expected.states, Draft(None, ""))

    @property
    def drafts(self) -> Sequence[Draft]:
        """All states, and what is wanted."""
        return self.states if self.wanted is None else (*self.states, self.wanted)

    @property
    def masked(self) -> bool:
        """Whether status and rights are not compared."""
        return self.expected.masked or (self.wanted is not None and self.wanted.closed)

    def views(self) -> Iterator[PartView]:
        """Every part that is compared."""
        yield from self._fields()
        yield from self._values(shows=False)
        yield from self._tags()
        yield from self._placements()
        if not self.masked:
            yield from self._values(shows=True)
            yield from self._dates()
            yield from self._groups()
            yield from self._restrictions()

    def _view(self, path: str, sides: Sequence[Atoms | None], now: Atoms) -> PartView:
        """sides: of the states, then what is wanted if there is such."""
        number = len(self.states)
        wanted = sides[number] if self.wanted is not None else None
        return PartView(path, tuple(sides[:number]), now, wanted)

    def _equal(self, path: str) -> PartView:
        """A part that is the same at all sides, as most are."""
        return self._view(path, [EQUAL] * len(self.drafts), EQUAL)

    # -- values ---------------------------------------------------------------------------------------------------

    def _fields(self) -> Iterator[PartView]:
        keys = self.scope.fields.union(*(draft.fields for draft in self.drafts)) - self._marker
        for key in sorted(keys):
            field = self.facts.schema.fields.get(key)
            if field is not None:  # what the target no longer has cannot be compared
                yield self._field(key, field)

    @property
    def _marker(self) -> frozenset[str]:
        """The field of the marker, which is written first and may be missing until then."""
        if self.expected.stage is Stage.COMPLETE:
            return frozenset()
        return frozenset(draft.marker.field for draft in self.drafts if draft.marker is not None)

    def _field(self, key: str, field: Field) -> PartView:
        held = self.seen.fields.get(key)
        if all(draft.fields.get(key) == held for draft in self.drafts):
            return self._equal(f"{FIELDS}{key}")
        own = None if held is None else given_value(held, self.seen)
        values = [draft.fields.get(key) for draft in self.drafts]
        *sides, now, given = atoms_of_fields([*values, held, own], field, self.facts.schema)
        stated = self.wanted is not None and key in self.wanted.fields
        return replace(self._view(f"{FIELDS}{key}", sides, now), given=frozenset(given.items()), stated=stated)

    def _values(self, *, shows: bool) -> Iterator[PartView]:
        """Parts that are one value. Two of them have more to say."""
        more = {FILENAME: self._filename, STATUS: self._status}
        for part in VALUES:
            if part.shows == shows and part.is_stored(self.facts.capabilities):
                yield from more.get(part.name, self._as_it_is)(part)

    def _as_it_is(self, part: AssetPart) -> Iterator[PartView]:
        sides = [single(getattr(draft, part.name)) or (None if part.silent else NOTHING) for draft in self.drafts]
        yield self._view(part.name, sides, single(getattr(self.seen, part.name)))

    def covers(self, path: str) -> bool:
        """Whether additions of others count here: the mapping has the part, or every draft has it without a rule."""
        part = part_of(path)
        plain = part is not None and part.kind is PartKind.VALUE and not part.silent
        return plain or self.scope.covers(path)

    def _filename(self, part: AssetPart) -> Iterator[PartView]:
        """An asset without a file has no name, for which some services invent one; a target that cannot rename has the
        name that the file came with."""
        if self.seen.file is None or self.expected.stage is not Stage.COMPLETE:
            return
        passing = frozenset((WHOLE, name) for name in self.expected.names)
        fixed = not self.facts.capabilities.writes(Feature.FILENAME)
        yield from (replace(view, passing=passing, fixed=fixed) for view in self._as_it_is(part))

    # -- sets -----------------------------------------------------------------------------------------------------

    def _tags(self) -> Iterator[PartView]:
        if all(draft.tags == self.seen.tags for draft in self.drafts):
            yield self._equal(TAGS)
        elif self.scope.tags or any(draft.tags for draft in self.drafts):
            sides = [self._tag_atoms(draft.tags) for draft in self.drafts]
            yield self._view(TAGS, sides, self._tag_atoms(self.seen.tags))

    def _tag_atoms(self, tags: Iterable[str]) -> Atoms:
        return members(tag_key(tag, self.facts.schema) for tag in tags)

    def _placements(self) -> Iterator[PartView]:
        """By kind. Where an asset was created it stays; what only the container lists is known if that was read."""
        kinds = self.scope.containers.union(*({place.kind for place in draft.placements} for draft in self.drafts))
        able = self.facts.capabilities
        same = all(draft.placements == self.seen.placements for draft in self.drafts)
        for kind in sorted(kinds):
            how = able.membership(kind)
            apart = how is MembershipWrite.IN_BULK and Operation.MEMBERS in able
            if apart and self.facts.members is Members.UNREAD:
                continue
            more = apart and self.facts.members is Members.MORE
            if same:
                yield self._equal(f"{PLACEMENTS}{kind}")
                continue
            yield replace(self._places(kind), more=more, fixed=how is MembershipWrite.AT_CREATION)

    def _places(self, kind: str) -> PartView:
        schema = self.facts.schema
        held = [_of_kind(draft.placements, kind) for draft in self.drafts]
        sides = [members(_place_key(each, schema) for each in one) for one in held]
        view = self._view(f"{PLACEMENTS}{kind}", sides, members(self._keys_there(kind).values()))
        given = members(_place_key(place, schema) for place in _of_kind(schema.container_default, kind))
        staging = NOTHING
        if self.expected.stage is not Stage.COMPLETE:
            staging = members(_place_key(place, schema) for place in _of_kind(schema.container_staging, kind))
        pending = frozenset(self._pending_keys(kind)) if self.expected.pending else frozenset()
        return replace(view, given=frozenset(given.items()), passing=frozenset(staging.items()), pending=pending)

    def _pending_keys(self, kind: str) -> Iterator[Hashable]:
        """One that the asset is in, or that a draft has, is known by its id."""
        places = (place for draft in self.drafts for place in _of_kind(draft.placements, kind))
        known: dict[str, Hashable] = {place.id: _place_key(place, self.facts.schema) for place in places}
        known |= {place.id: key for place, key in self._keys_there(kind).items()}
        for place in _of_kind(self.expected.pending, kind):
            yield (place.id and known.get(place.id)) or _place_key(place, self.facts.schema)

    def _keys_there(self, kind: str) -> dict[Placement, Hashable]:
        """The containers of the target, with the keys of their atoms: one that a draft names by its id has its key."""
        schema = self.facts.schema
        places = (place for draft in self.drafts for place in _of_kind(draft.placements, kind))
        known = {place.id: _place_key(place, schema) for place in places if place.id}
        there = _of_kind(self.seen.placements, kind)
        return {place: known.get(place.id) or _place_key(place, schema) for place in there}

    def places_there(self, kind: str, keys: Set[Hashable]) -> frozenset[Placement]:
        """The containers of the target whose atoms have these keys."""
        return frozenset(place for place, key in self._keys_there(kind).items() if key in keys)

    def places_wanted(self, kind: str, keys: Set[Hashable]) -> frozenset[Placement]:
        """The containers of the draft whose atoms have these keys."""
        places = _of_kind(self.wanted.placements, kind) if self.wanted is not None else []
        return frozenset(place for place in places if _place_key(place, self.facts.schema) in keys)

    # -- who sees it ----------------------------------------------------------------------------------------------

    def _status(self, part: AssetPart) -> Iterator[PartView]:
        """A draft may name a status, or one of the tenant's own below it. While an asset is created it has others."""
        if self.expected.stage is not Stage.COMPLETE:
            return
        names = [self.seen.substatus.casefold(), self.seen.status.casefold()]
        sides = [draft.status.casefold() for draft in self.drafts]
        now = next((name for name in names if name and name in sides), names[0] or names[1])
        between = {name for name in statuses_between(sides[: len(self.states)], self.facts.schema) if name in names}
        passing = frozenset((WHOLE, now) for _ in between)
        yield replace(self._view(part.name, [single(side) or None for side in sides], single(now)), passing=passing)

    def _dates(self) -> Iterator[PartView]:
        for path in DATES:
            sides = [date_of(draft, path) for draft in self.drafts]
            if path in self.scope.dates or any(sides):
                yield self._date(path, sides, date_of(self.seen, path))

    def _date(self, path: str, sides: Sequence[datetime | None], held: datetime | None) -> PartView:
        *near, now = [
            next((one for one in sides if not is_other_date(one, side, self.facts.precision)), side)
            for side in (*sides, held)
        ]
        view = self._view(path, [single(side) for side in near], single(now))
        if path != "release":
            return view
        own = held is not None and self.facts.is_arrival_of_release(held, self.seen)
        lacking = self.expected.is_withheld(self.seen, self.facts.schema)
        return replace(view, given=frozenset(view.now.items()) if own else frozenset(), lacking=lacking)

    def _groups(self) -> Iterator[PartView]:
        """As one value as soon as a side is open to everybody, the target included, else by member: with plain members,
        two groups beside "everybody" would count as an addition of people, and no group at all as between two
        states."""
        if not self.scope.groups and not any(draft.rights.groups for draft in self.drafts):
            return
        there = self.seen.rights.groups
        if there and all(draft.rights.groups == there for draft in self.drafts):
            yield self._equal(GROUPS)
            return
        open_to = groups_of_everybody(self.drafts, self.facts.audience)
        unnamed = may_be_everybodys(self.seen, hidden=self.expected.is_withheld(self.seen, self.facts.schema))
        if open_to:
            is_open = there in open_to or unnamed
        else:
            is_open = (bool(there) or unnamed) and self.facts.is_open(self.wanted or self.drafts[0], there)
        if not (open_to or is_open):
            yield self._group_members(there)
            return
        now = single(EVERYBODY) if is_open else single(there)
        view = self._view(GROUPS, [_open_or(draft.rights.groups, open_to) for draft in self.drafts], now)
        by_itself = frozenset(now.items()) if there <= self._given_groups else frozenset()
        passing = self._staging_groups(there, now)
        last = open_to[0] if open_to and is_open and not there else there  # those that were written last
        yield replace(view, given=by_itself, passing=passing, by_member=self._group_members(last))

    def _group_members(self, there: frozenset[str]) -> PartView:
        now = members(there)
        view = self._view(GROUPS, [members(draft.rights.groups) for draft in self.drafts], now)
        given = frozenset(members(self._given_groups).items())
        return replace(view, given=given, passing=self._staging_groups(there, now))

    @property
    def _given_groups(self) -> frozenset[str]:
        """Those that an asset has whose draft names none, or whose own are not written yet: its profile gives them."""
        profile = next((draft.profile for draft in self.drafts if draft.profile), "")
        silent = [replace(draft, profile=draft.profile or profile) for draft in self.drafts if not draft.rights.groups]
        return self.seen.inherited_groups.union(*map(self.facts.default_groups, silent))

    def _staging_groups(self, there: frozenset[str], now: Atoms) -> frozenset[tuple[Hashable, Hashable]]:
        """Groups that alone may see an asset until its create is complete, or while an attempt gives it others."""
        staging = self.facts.schema.group_staging
        if self.expected.stage is Stage.COMPLETE:
            between = self.expected.is_between_groups(self.seen, self.facts.schema)
            return frozenset(now.items()) if between else frozenset()
        return frozenset(now.items()) if there <= staging else frozenset(members(staging).items())

    def _restrictions(self) -> Iterator[PartView]:
        """Only missing ones count: those of others are not taken away."""
        sides = [members(f"{one.kind} {one.detail}" for one in draft.rights.restrictions) for draft in self.drafts]
        if any(sides):
            now = members(f"{one.kind} {one.detail}" for one in self.seen.rights.restrictions)
            yield replace(self._view(RESTRICTIONS, sides, now), less=True)


def statuses_between(statuses: Iterable[str], schema: Schema) -> frozenset[str]:
    """Statuses that an asset has while it is given one of these in place of another, in lower case: a killed attempt
    may have left it with one of them."""
    known = {status.casefold() for status in statuses}
    passed = (schema.status_ways.get(way, ()) for way in permutations(known, 2))
    return frozenset(status.casefold() for each in passed for status in each)


def _open_or(groups: frozenset[str], everybody: Sequence[frozenset[str]]) -> Atoms:
    """Groups as one value; those that stand for everybody are that."""
    return single(EVERYBODY if groups in everybody else groups) if groups else NOTHING


def _of_kind(places: Iterable[Placement], kind: str) -> list[Placement]:
    return [place for place in places if place.kind == kind]


def _place_key(place: Placement, schema: Schema) -> tuple[str, ...]:
    """By what a container is known: its path under the name that the target accepts."""
    return (place if schema.naming is None else schema.naming.place(place)).path
