"""What a comparison found, as it is reported: differences, then what the target has in addition."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, TypeAlias

from dam_sync.engine.compare.atoms import WHOLE, Atoms, tag_key
from dam_sync.engine.compare.comparison import Comparison, PartComparison
from dam_sync.engine.compare.facts import TargetFacts, is_seen_by_nobody
from dam_sync.engine.compare.parts import GROUPS, RESTRICTIONS, STATUS, TAGS, PartView
from dam_sync.engine.compare.patterns import ADDED, MISSING, OTHER, pattern_of
from dam_sync.model.asset import Asset, Draft, path_text
from dam_sync.model.conflict import FIELDS, PLACEMENTS
from dam_sync.model.schema import Schema
from dam_sync.model.values import Localized, Value, instant_text

NAMED_BY_KEYS: Final[Mapping[str, str]] = {}


@dataclass(frozen=True, slots=True)
class Difference:
    """One place where the target is not as expected; texts are truncated for reports. extra: it has everything that is
    expected there, and `found` in addition. pattern: in what way it differs, in a few words."""

    path: str
    expected: str
    found: str
    extra: bool = False
    pattern: str = OTHER


def differences_of(found: Comparison, draft: Draft, seen: Asset, schema: Schema) -> list[Difference]:
    """Everything in a draft that the asset does not have, then what the asset has in addition, in the parts that the
    mapping writes. found: their comparison; files are not among them."""
    parts = {path: part for path, part in found.parts.items() if not part.same}
    places = [part for path, part in parts.items() if path.startswith(PLACEMENTS)]
    rows = [_of_places(places, seen)] if places else []
    for path, part in parts.items():
        if part.view is None or part.view.wanted is None or path.startswith(PLACEMENTS):
            continue
        if path.startswith(FIELDS):
            rows.append(_of_field(part, part.view, draft, seen))
        elif path == TAGS:
            rows.append(_of_tags(part, draft, seen, schema))
        elif path == GROUPS:
            rows.append(_of_sets(part, draft.rights.groups, seen.rights.groups))
        else:
            rows.append(_of_one(part, part.view, seen))
    return [one for row in rows for one in row[0]] + [one for row in rows for one in row[1]]


Found: TypeAlias = tuple[list[Difference], list[Difference]]
"""Differences, and additions."""


def _of_field(part: PartComparison, view: PartView, draft: Draft, seen: Asset) -> Found:
    path, want, have = part.path, _texts(view.wanted or {}), _texts(view.now)
    if part.change.lacks:
        key = path.removeprefix(FIELDS)
        pattern = pattern_of(want, have, localized=_is_localized(draft.fields.get(key), seen.fields.get(key)))
        return [Difference(path, _cut(want), _cut(have), pattern=pattern)], []
    more = [text for text in have if text not in want]
    return [], [Difference(path, _cut(want), _cut(more), extra=True, pattern=ADDED)]


def _texts(atoms: Atoms) -> list[str]:
    """The atoms of a value as texts, languages before their texts."""
    if WHOLE in atoms:
        whole = atoms[WHOLE]
        return [str(each) for each in whole] if isinstance(whole, tuple) else [str(whole)]
    return sorted(str(key) if token is True else f"{key}:{token}" for key, token in atoms.items())


def _of_tags(part: PartComparison, draft: Draft, seen: Asset, schema: Schema) -> Found:
    ours, theirs = ({tag_key(tag, schema): tag for tag in sorted(tags)} for tags in (draft.tags, seen.tags))
    names = theirs | ours
    return _of_sets(part, ours.values(), [names[key] for key in theirs], names)


def _of_places(parts: Sequence[PartComparison], seen: Asset) -> Found:
    """Of all kinds of containers together."""
    missing, more, wanted = list[str](), list[str](), list[str]()
    for part in parts:
        kind = part.path.removeprefix(PLACEMENTS)
        missing += [_place(kind, key) for key in part.change.missing]
        more += [_place(kind, key) for key in part.change.added]
        wanted += [_place(kind, key) for key in (part.view.wanted if part.view else None) or {}]
    there = [f"{place.kind}:{place.text}" for place in seen.placements]
    return _sets(PLACEMENTS.rstrip("."), missing, wanted, more, there)


def _place(kind: str, key: Hashable) -> str:
    return f"{kind}:{path_text(key)}" if isinstance(key, tuple) else f"{kind}:{key}"


def _of_sets(
    part: PartComparison, wanted: Iterable[str], there: Iterable[str], names: Mapping[str, str] = NAMED_BY_KEYS
) -> Found:
    missing, added = (
        [names.get(str(key), str(key)) for key in keys] for keys in (part.change.missing, part.change.added)
    )
    return _sets(part.path, missing, wanted, added, there)


def _sets(path: str, missing: Iterable[str], wanted: Iterable[str], more: Iterable[str], there: Iterable[str]) -> Found:
    lacks, besides = frozenset(missing), frozenset(more)
    pattern = _of_members(MISSING, path, lacks), _of_members(ADDED, path, besides)
    found = [Difference(path, _cut(sorted(lacks)), _cut(sorted(there)), pattern=pattern[0])] if lacks else []
    extra = Difference(path, _cut(sorted(wanted)), _cut(sorted(besides)), extra=True, pattern=pattern[1])
    return found, [extra] if besides else []


def _of_members(pattern: str, path: str, members: frozenset[str]) -> str:
    """The pattern of memberships names the kinds of container."""
    kinds = sorted({member.partition(":")[0] for member in members}) if path == "placements" else []
    return f"{', '.join(kinds)} {pattern}" if kinds else pattern


def _of_one(part: PartComparison, view: PartView, seen: Asset) -> Found:
    """Of a value that is one: a file name, a status, a date; and of restrictions, of which only missing ones count."""
    path = part.path
    if path == RESTRICTIONS:
        return _of_sets(part, (), map(str, view.now))
    want, have = (_shown((atoms or {}).get(WHOLE)) for atoms in (view.wanted, view.now))
    if path == STATUS:
        have = seen.substatus or seen.status
        return [Difference(path, want, have, pattern=f"{have} instead of {want}")], []
    if not want:
        return [], [Difference(path, "", have, extra=True, pattern=ADDED)]
    return [Difference(path, want, have, pattern=pattern_of([want], [have] if have else []))], []


def _shown(value: Hashable) -> str:
    return instant_text(value) if isinstance(value, datetime) else str(value or "")


def _is_localized(*values: Value | None) -> bool:
    return any(isinstance(value, Localized) for value in values)


def _cut(texts: Sequence[str]) -> str:
    joined = "; ".join(texts)
    return joined if len(joined) <= 200 else joined[:197] + "…"


def hidden_instead(facts: TargetFacts, draft: Draft, seen: Asset) -> list[Difference]:
    """What is said of an asset that is to be seen by everybody and is seen by nobody, in place of its groups."""
    if draft.rights.release_at is not None:  # then the date is missing
        return []
    if not is_seen_by_nobody(seen) or seen.rights.groups or facts.audience(draft).groups is not None:
        return []
    return [Difference("release", "released", "no release date: nobody sees it", pattern="hidden")]
