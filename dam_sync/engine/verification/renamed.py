"""What a verification finds of terms and containers that have another name at the target: the same ones, renamed there
by others, or kept under the old name by a target that cannot rename them. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace

from dam_sync.engine.compare.differences import Difference
from dam_sync.engine.compare.name_paths import Path, PathRenaming
from dam_sync.engine.compare.name_verdict import NamePurpose, NameVerdict
from dam_sync.engine.compare.patterns import OTHER_NAME, RENAMED
from dam_sync.engine.context.libraries import Target
from dam_sync.mapping.crosswalk import Crosswalk, Drafted
from dam_sync.mapping.vocabulary import TermIndex
from dam_sync.model.asset import Asset, Draft, Placement
from dam_sync.model.conflict import FIELDS, PLACEMENTS
from dam_sync.model.counterpart import CONTAINER, TERM, Counterpart
from dam_sync.model.values import Scalar, Term, Value


@dataclass(frozen=True, slots=True)
class Renamed:
    """Of one asset: at the source, and at the target. terms: those of the target, by vocabulary."""

    target: Target
    crosswalk: Crosswalk
    asset: Asset
    actual: Asset
    terms: Mapping[str, TermIndex]

    def of(self, drafted: Drafted, kept: Collection[str] = ()) -> tuple[Draft, list[Difference]]:
        """The draft with the names that the target has, and each of these as a difference. kept: paths where the target
        keeps its own value, of which nothing is a difference."""
        draft = drafted.draft
        if not self.target.counterparts.rows:
            return draft, []
        found = list[Difference]()
        places = {place: (now, pattern) for place, now, pattern in self._places(draft.placements)}
        for one, (now, pattern) in sorted(places.items(), key=str):
            if f"{PLACEMENTS}{one.kind}" in kept:
                continue
            texts = [f"{each.kind}:{each.text}" for each in (one, now)]
            found.append(Difference("placements", texts[0], texts[1], pattern=pattern))
        fields = dict(draft.fields)
        for (key, position), (vocabulary, path) in drafted.unmade.items():
            term, row = self._standing(key, vocabulary, path)
            if term is not None and row is not None:
                value = fields[key]
                fields[key] = (*value[:position], term, *value[position + 1 :]) if isinstance(value, tuple) else term
                has = term.path or (term.label,)
                if has != tuple(path) and f"{FIELDS}{key}" not in kept:  # a tree may be listed without its lower levels
                    pattern = _pattern(row.wanted, tuple(path), has, renames=True)
                    found.append(Difference(f"fields.{key}", path[-1], term.label, pattern=pattern))
        placements = frozenset(places[place][0] if place in places else place for place in draft.placements)
        return replace(draft, placements=placements, fields=fields), found

    def named(self, draft: Draft, kept: Collection[str]) -> Draft:
        """The draft with the kept terms and containers by the names that the target has now: they are known by their
        ids."""
        fields = {
            key: _named(value, self.actual.fields.get(key)) if f"{FIELDS}{key}" in kept else value
            for key, value in draft.fields.items()
        }
        there = {(place.kind, place.id): place for place in self.actual.placements if place.id}
        placements = (
            there.get((place.kind, place.id), place) if f"{PLACEMENTS}{place.kind}" in kept else place
            for place in draft.placements
        )
        return replace(draft, fields=fields, placements=frozenset(placements))

    def _places(self, wanted: frozenset[Placement]) -> Iterator[tuple[Placement, Placement, str]]:
        """Containers of the draft that have another name at the target, that one, and whose doing it is."""
        known, naming, there = (
            self.target.counterparts,
            self.target.schema.naming,
            self.actual.placements,
        )
        named = {(place.kind, place.id): place if naming is None else naming.place(place) for place in there}
        missing = wanted - frozenset(named.values())
        for origin in self.asset.placements if missing else ():
            row = known.of(CONTAINER, origin.kind, origin.id)
            now = named.get((row.place, row.target)) if row is not None else None
            if row is not None and now is not None:
                renames = now.kind in self.target.service.capabilities.renames
                for place in self.crosswalk.placed(origin):
                    if place in missing:
                        given = row.wanted if naming is None else naming.path(row.wanted)
                        yield place, now, _pattern(given, place.path, now.path, renames=renames)

    def _standing(self, key: str, vocabulary: str, path: Path) -> tuple[Term | None, Counterpart | None]:
        """What stands for a term of this path in a field of the asset at the target, and what is known of it."""
        value = self.actual.fields.get(key, ())
        there = {each.id: each for each in (value if isinstance(value, tuple) else (value,)) if isinstance(each, Term)}
        for met in self.terms[vocabulary].sources(tuple(path)):
            row = self.target.counterparts.of(TERM, met.rule.name, met.source)
            if row is not None and row.target in there:
                return there[row.target], row
        return None, None


def _named(value: Value, actual: Value | None) -> Value:
    there = {each.id: each for each in _members(actual) if isinstance(each, Term) and each.id}
    now = tuple(there.get(each.id, each) if isinstance(each, Term) else each for each in _members(value))
    return now if isinstance(value, tuple) else now[0]


def _members(value: Value | None) -> tuple[Scalar, ...]:
    if value is None:
        return ()
    return value if isinstance(value, tuple) else (value,)


def _pattern(given: Path, wanted: Path, now: Path, *, renames: bool) -> str:
    """Others renamed it at the target; or the source has another name since, or one that the target has no call for."""
    verdict = PathRenaming(given, wanted, NamePurpose.VERIFY).verdict(now)
    return OTHER_NAME if verdict is NameVerdict.OURS or not renames else RENAMED
