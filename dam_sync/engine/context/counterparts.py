"""Which term and container of the target stands for each of the source, and by what name it goes now."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeAlias

from dam_sync.engine.compare.name_paths import Path
from dam_sync.mapping.vocabulary import fold, normal
from dam_sync.model.asset import Asset, Draft, Placement
from dam_sync.model.conflict import FIELDS, PLACEMENTS
from dam_sync.model.counterpart import CONTAINER, TERM, Counterpart
from dam_sync.model.schema import Schema
from dam_sync.model.shared_target import UNSHARED, SharedTarget
from dam_sync.model.values import Json, Scalar, Term, Value

if TYPE_CHECKING:  # a job file is checked without a database layer
    from dam_sync.store.store import SqlStore

Key: TypeAlias = tuple[str, str, str]
EXAMPLES = 3


@dataclass(slots=True)
class RenameNotes:
    """What a run did not rename, for the report. kept: by kind, reason and detail; examples: old and new names."""

    kept: Counter[tuple[str, str]] = field(default_factory=Counter)
    examples: dict[tuple[str, str], list[str]] = field(default_factory=dict)

    def add(self, kind: str, why: str, old: str, new: str) -> None:
        """Note one, once."""
        some, example = self.examples.setdefault((kind, why), []), f"{old} (now {new})"
        if example in some:
            return
        self.kept[kind, why] += 1
        some += [example] if len(some) < EXAMPLES else []


@dataclass(frozen=True, slots=True)
class RestoredName:
    """A term or container that has its former name again. below: it and all below it, by the ids that are known, with
    their paths now; before, now: its own path at the target; id: its own, if that changed, too, with the one before."""

    part: str
    place: str
    below: Mapping[str, Path]
    before: Path
    now: Path
    id: tuple[str, str] = ("", "")

    def row(self, row: Counterpart) -> Counterpart | None:
        """What is known of one that stands for something of the source; None if it is another one."""
        path = self.below.get(row.target) if (row.part, row.place) == (self.part, self.place) else None
        if path is None:
            return None
        deeper = len(path) - len(self.now)
        name, wanted, origin = (self._at(each, deeper) for each in (row.name, row.wanted, row.origin))
        if self.before[:-1] != self.now[:-1]:
            wanted, origin = (*self.now, *row.wanted[len(row.wanted) - deeper :]), row.origin
        elif not self._is_called(row.origin, deeper):
            origin = row.origin
        old, new = self.id
        if old == new or row.target != old:
            return replace(row, origin=origin, wanted=wanted, name=path if row.part == CONTAINER else name, run=0)
        former = (*(each for each in row.former if each != new), old)
        return replace(row, origin=origin, wanted=wanted, name=name, target=new, former=former, run=0)

    def _is_called(self, path: Path, deeper: int) -> bool:
        """Whether a path of the source has the other name at the level of this one."""
        level = len(path) - deeper - 1
        return level >= 0 and fold(path[level]) == fold(self.before[-1])

    def _at(self, path: Path, deeper: int) -> Path:
        """The path with its name at the level of this one, which has so many levels below it there."""
        level = len(path) - deeper - 1
        return path if level < 0 else (*path[:level], self.now[-1], *path[level + 1 :])


@dataclass(slots=True)
class Counterparts:
    """Those of one job, in memory; `keep` stores changes. store: None keeps them in memory only."""

    store: SqlStore | None = None
    rows: dict[Key, Counterpart] = field(default_factory=dict)
    notes: RenameNotes = field(default_factory=RenameNotes)
    stored: list[Counterpart] = field(default_factory=list)  # by this run, in order: what other processes lack
    shared: SharedTarget = UNSHARED
    mixed_up: frozenset[tuple[str, str]] = (
        frozenset()
    )  # terms, by rule and id, of which another one was made: forgotten
    _users: dict[tuple[str, str, str], set[Key]] = field(default_factory=dict)
    _former: dict[tuple[str, str, str], Key] = field(default_factory=dict)

    @classmethod
    async def load(cls, store: SqlStore, *, dry: bool, shared: SharedTarget = UNSHARED) -> Counterparts:
        """Those of earlier runs. dry: nothing is stored; shared: with other jobs that write into the target."""
        made, rows = cls(None if dry else store, shared=shared), await store.counterparts()
        suspects = {row.target for row in rows if row.may_be_misplaced}
        misplaced = await store.misplaced_terms(suspects) if suspects else frozenset()
        mixed_up = {row.key for row in rows if row.is_mixed_up or (row.target, "/".join(row.origin)) in misplaced}
        made.mixed_up = frozenset((scope, source) for part, scope, source in mixed_up if part == TERM)
        for row in rows:
            if row.key not in mixed_up:
                made._put(row)
        return made

    def learn(self, rows: Iterable[Counterpart]) -> None:
        """Take over what another process stored."""
        for row in rows:
            self._put(row)

    def of(self, part: str, scope: str, source: str) -> Counterpart | None:
        """What stands for a term, by its rule and id, or for a container, by its kind and id."""
        return self.rows.get((part, scope, source))

    def containers(self) -> Iterator[Counterpart]:
        """Those of containers."""
        return (row for row in self.rows.values() if row.part == CONTAINER)

    def alike(self, kind: str, target: str, origin: Placement) -> list[Counterpart]:
        """Other containers of the source that had the path of this one, and lead to the same one of the target."""
        users = (self.rows[key] for key in sorted(self._users.get((CONTAINER, kind, target), ())))
        return [
            row for row in users if row.scope == origin.kind and row.source != origin.id and row.origin == origin.path
        ]

    async def is_shared(self, row: Counterpart) -> bool:
        """Whether something else of the source, or of that of another job, leads to the same one of the target."""
        own = len(self._users.get((row.part, row.place, row.target), ())) > 1
        return own or await self.shared.is_used_elsewhere(row.part, row.place, row.target)

    async def keep(self, row: Counterpart) -> None:
        """Store one, if it changed. Others of the same one of the target learn its name."""
        known = self.rows.get(row.key)
        if known == row:
            return
        users = self._users.get((row.part, row.place, row.target), set()) - {row.key}
        changed = [row, *(replace(self.rows[key], name=row.name) for key in users if self.rows[key].name != row.name)]
        for one in changed:
            self._put(one)
        if self.store is not None:
            await self.store.keep_counterparts(changed)
            self.stored += changed

    async def moved(self, place: str, below: Mapping[str, Path], wanted: Path) -> None:
        """A container of this kind at the target has another path, and all below it. below: their paths by ids; wanted:
        that of the source for the first of them."""
        top, changed = min(map(len, below.values())), list[Counterpart]()
        for row in self.containers():
            if row.place == place and row.target in below:
                name = below[row.target]
                rest = row.wanted[len(row.wanted) - (len(name) - top) :]
                changed.append(replace(row, name=name, wanted=(*wanted, *rest)))
        for row in changed:
            self._put(row)
        if self.store is not None:
            await self.store.keep_counterparts(changed)
            self.stored += changed

    def restored(self, back: RestoredName) -> list[Counterpart]:
        """What is known of terms or containers now that one of them has its former name again: what runs gave is that
        one, so that a run gives the other one again. It is to be stored by the caller."""
        changed = [row for each in self.rows.values() if (row := back.row(each)) is not None]
        self.learn(changed)
        return changed

    def _put(self, row: Counterpart) -> None:
        known = self.rows.get(row.key)
        if known is not None:
            self._users[known.part, known.place, known.target].discard(row.key)
        self.rows[row.key] = row
        self._users.setdefault((row.part, row.place, row.target), set()).add(row.key)
        for old in row.former:
            self._former[row.part, row.place, old] = row.key

    def present(self, draft: Json, schema: Schema) -> Json:
        """A draft as JSON, as it was written, with the names that its terms and containers have now, so that a rename
        is no change of the assets."""
        if not self.rows or draft is None:
            return draft
        places = [self._place(place) for place in draft["placements"]]
        fields = {
            key: self._value(schema.fields[key].vocabulary, value)
            if key in schema.fields and schema.fields[key].vocabulary
            else value
            for key, value in draft["fields"].items()
        }
        return {**draft, "placements": places, "fields": fields}

    def present_values(self, values: Mapping[str, Json], schema: Schema) -> dict[str, Json]:
        """Values that the target keeps, by path, in the same way."""
        return {path: self._present_value(path, value, schema) for path, value in values.items()}

    def _present_value(self, path: str, value: Json, schema: Schema) -> Json:
        if path.startswith(PLACEMENTS) and value is not None:
            return [self._place(place) for place in value]
        known = schema.fields.get(path.removeprefix(FIELDS)) if path.startswith(FIELDS) else None
        return value if known is None or not known.vocabulary else self._value(known.vocabulary, value)

    def has_term(self, vocabulary: str, target: str) -> bool:
        """Whether a term of the target stands for one of the source."""
        return self._by_target(TERM, vocabulary, target) is not None

    def as_known(self, actual: Asset, schema: Schema, wanted: Draft | None = None) -> Asset:
        """An asset of the target with its terms and containers by the names that drafts have for them, so that one that
        others renamed there is the same. wanted: a draft; what it has by the same id is the same by whatever name, also
        where nothing is remembered of it, because the source has words without ids."""
        named = {} if wanted is None else {key: _labels(value) for key, value in wanted.fields.items()}
        if not self.rows and not any(named.values()):
            return actual
        fields = {
            key: self._known_value(schema.fields[key].vocabulary, value, named.get(key, {}))
            for key, value in actual.fields.items()
            if key in schema.fields and schema.fields[key].vocabulary
        }
        return replace(
            actual,
            placements=frozenset(map(self._known_place, actual.placements)),
            fields={**actual.fields, **fields},
        )

    def _known_place(self, place: Placement) -> Placement:
        row = self._by_target(CONTAINER, place.kind, place.id) if place.id else None
        return place if row is None else replace(place, path=row.wanted)

    def _known_value(self, vocabulary: str, value: Value, named: Mapping[str, str]) -> Value:
        if isinstance(value, tuple):
            return tuple(self._known_term(vocabulary, each, named) for each in value)
        return self._known_term(vocabulary, value, named)

    def _known_term(self, vocabulary: str, value: Scalar, named: Mapping[str, str]) -> Scalar:
        if not isinstance(value, Term) or not value.id:
            return value
        row = self._by_target(TERM, vocabulary, value.id)
        label = _named(row, value.label) if row is not None else named.get(value.id, value.label)
        return replace(value, label=label)

    def _place(self, place: Mapping[str, Json]) -> Mapping[str, Json]:
        row = self._by_target(CONTAINER, place["kind"], str(place.get("id", "")))
        return place if row is None else {**place, "path": list(row.wanted)}

    def _value(self, vocabulary: str, value: Json) -> Json:
        if isinstance(value, list):
            return [self._value(vocabulary, each) for each in value]
        if not isinstance(value, dict) or not value.get("id"):
            return value
        row = self._by_target(TERM, vocabulary, str(value["id"]))
        return value if row is None else {**value, "id": row.target, "label": _named(row, value["label"])}

    def _by_target(self, part: str, place: str, target: str) -> Counterpart | None:
        users = self._users.get((part, place, target))
        if users:
            return self.rows[min(users)]
        key = self._former.get((part, place, target))
        return self.rows.get(key) if key is not None else None


def _labels(value: Value) -> dict[str, str]:
    """Of the terms of a value, by their ids."""
    several = value if isinstance(value, tuple) else (value,)
    return {each.id: each.label for each in several if isinstance(each, Term) and each.id}


def _named(row: Counterpart, label: str) -> str:
    """The name that a term has now, as it was read where it is the same one: names are kept in their normal form."""
    return label if normal(label) == normal(row.name[-1]) else row.name[-1]
