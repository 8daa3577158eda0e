"""Random states of one asset: what was written, what interrupted attempts meant to write, what is wanted, and what the
target has: any mixture of those, with edits of other people. Chance is a `random.Random`, also one of hypothesis."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cache, cached_property
from random import Random
from typing import Any, Final, TypeAlias, TypeVar

from dam_sync.engine.compare.facts import Scope
from dam_sync.model.asset import Asset, AssetId, Draft, FileRef, Revision, Rights
from dam_sync.model.audience import Audience, Restriction, RestrictionKind
from dam_sync.model.capabilities import Capabilities, Feature, Operation, Support
from dam_sync.model.counterpart import CONTAINER, TERM, Counterpart
from dam_sync.model.schema import Field, FieldKind, Schema, Vocabulary
from dam_sync.model.values import Localized, Term, Value
from tests.support import comparisons
from tests.support.comparisons import FILE, LONG_AGO, NOW, SCOPE, category, folder

T = TypeVar("T")
Atoms: TypeAlias = Mapping[str, object]
SENT: Final = FileRef("2", "a.jpg", 20, digests={"md5": "2"})
OTHERS_FILE: Final = FileRef("9", "a.jpg", 99, digests={"md5": "9"})
KIND: Final = Field("kind", FieldKind.TERM, vocabulary="kinds")
FIELDS: Final = {each.key: each for each in (*comparisons.FIELDS, KIND)}
EVERYBODY: Final = frozenset({"all"})
STAGING: Final = frozenset({"staging"})
UNRELEASED: Final = frozenset({Restriction(RestrictionKind.UNRELEASED)})
DATES: Final = {"release": "release_at", "expiry": "expires_at"}
RIGHTS: Final = {**DATES, "groups": "groups"}
OWN_TITLE: Final = "a"  # the name of the file, which a target gives an asset as its title
RENAMED: Final = "renamed "


@dataclass(frozen=True)
class Target:
    """One target. named: it can rename assets; shown: an asset for everybody names their group, else none; released:
    nobody sees an asset without a release date; given: groups of an asset that names none; renamed: others renamed the
    terms and containers; staged: an asset has groups of its own while it is given others."""

    named: bool = True
    shown: bool = True
    released: bool = False
    given: frozenset[str] = frozenset()
    renamed: bool = False
    staged: bool = False

    @cached_property
    def able(self) -> Capabilities:
        able = comparisons.ABLE
        without = {} if self.named else {Feature.FILENAME: Support("no")}
        operations = able.operations - {Operation.RELATE}
        return replace(able, operations=operations, features={**able.features, **without})

    @cached_property
    def schema(self) -> Schema:
        schema = comparisons.SCHEMA
        return replace(
            schema,
            fields=FIELDS,
            vocabularies={"kinds": Vocabulary("kinds")},
            always_released=self.released,
            group_staging=STAGING if self.staged else frozenset(),
            capabilities=self.able,
        )

    @cached_property
    def scope(self) -> Scope:
        return replace(SCOPE, fields=frozenset(FIELDS))

    def audience(self, draft: Draft) -> Audience:
        """Who sees an asset of a draft."""
        rights = draft.rights
        hidden = "closed" if draft.closed else "" if draft.status == "published" else draft.status
        groups = None if rights.groups & EVERYBODY else rights.groups or self.given or None
        return Audience(hidden, rights.release_at, rights.expires_at, groups)

    def counterparts(self) -> Iterator[Counterpart]:
        """Of terms and containers that others renamed."""
        if self.renamed:
            for name in "fgpq":
                kind = "folder" if name in "fg" else "category"
                yield Counterpart(CONTAINER, kind, name, (name,), kind, name, (name,), (f"{RENAMED}{name}",))
            for name in "mn":
                yield Counterpart(TERM, "kinds", name, (name,), "kinds", name, (name,), (f"{RENAMED}{name}",))


@dataclass(frozen=True, slots=True)
class State:
    """One asset. before: drafts that the target may hold, the one written last first; earlier: the one before the run
    that wrote that, or before the attempts that were interrupted. real: what the target has, without what it gives by
    itself and with the names that drafts have; seen: as it is read. withheld: a killed attempt took its release date
    away. fresh: the source has another file than was written; edited: paths of what others did."""

    target: Target
    before: tuple[Draft, ...]
    wanted: Draft
    real: Asset
    seen: Asset
    earlier: Draft
    fresh: bool = False
    withheld: bool = False
    edited: tuple[str, ...] = ()

    @property
    def begun(self) -> bool:
        """Whether attempts were interrupted."""
        return len(self.before) > 1


def random_state(chance: Random, edits: int) -> State:
    """A state with so many edits of others."""
    target = _target(chance)
    drafts = [_draft(chance, target) for _ in range(chance.choice([1, 1, 2, 2, 3]))]
    earlier = drafts[0] if len(drafts) > 1 else _near(chance, target, drafts[0])
    wanted = drafts[-1] if len(drafts) > 1 and chance.random() < 0.6 else _near(chance, target, drafts[-1])
    fresh = chance.random() < 0.2
    real = _mixture(chance, drafts, fresh and len(drafts) > 1)
    edited: list[str] = []
    for number in range(edits):
        path, real = _edit(chance, target, real, number)
        edited.append(path)
    every = [*drafts, wanted, earlier]
    hides = target.released and "release" not in edited and len({draft.rights for draft in drafts}) > 1
    withheld = hides and chance.random() < 0.5
    seen = _as_read(chance, target, real, every, edited, withheld=withheld)
    ways = [way for way in comparisons.SCHEMA.status_ways if {*way} <= {draft.status for draft in drafts}]
    if ways and "status" not in edited and chance.random() < 0.3:
        seen = replace(seen, status=chance.choice(sorted(comparisons.SCHEMA.status_ways[ways[0]])))
    return State(target, tuple(drafts), wanted, real, seen, earlier, fresh, withheld, tuple(edited))


def _target(chance: Random) -> Target:
    given = frozenset({"everyone"}) if chance.random() < 0.2 else frozenset[str]()
    named, shown = chance.random() < 0.8, bool(given) or chance.random() < 0.4
    return _target_of(named, shown, chance.random() < 0.2, given, chance.random() < 0.3)


_target_of = cache(Target)  # each makes its schema once


def _some(chance: Random, names: str) -> frozenset[str]:
    return frozenset(name for name in names if chance.random() < 0.5)


def _draft(chance: Random, target: Target) -> Draft:
    fields: dict[str, Value] = {}
    if chance.random() < 0.8:
        fields["title"] = chance.choice(["T1", "T2", "T3"])
    if texts := {each: chance.choice("xy") for each in ("en", "de") if chance.random() < 0.6}:
        fields["caption"] = Localized(texts)
    if words := tuple(sorted(_some(chance, "abc"))):
        fields["words"] = words
    if chance.random() < 0.5:
        fields["number"] = chance.choice([1, 2])
    if chance.random() < 0.5:
        fields["flag"] = chance.choice([True, False])
    if chance.random() < 0.5:
        fields["day"] = chance.choice([LONG_AGO.date(), NOW.date()])
    if chance.random() < 0.6:
        name = chance.choice("mn")
        fields["kind"] = Term(name, name)
    places = {category(name) for name in _some(chance, "pq")}
    places |= {folder(name) for name in chance.choice(["", "f", "g"])}
    return Draft(
        None,
        chance.choice(["a.jpg", "b.jpg"]) if target.named else "a.jpg",
        status=chance.choice(["draft", "published", "published"]),
        fields=fields,
        placements=frozenset(places),
        tags=_some(chance, "tu"),
        rights=_rights(chance),
        closed=chance.random() < 0.05,
    )


def _rights(chance: Random) -> Rights:
    dates = [chance.choice([None, NOW + timedelta(days=10), NOW + timedelta(days=20)]) for _ in DATES]
    return Rights(dates[0], dates[1], chance.choice([frozenset("g"), frozenset("gh"), frozenset("h"), EVERYBODY]))


def _near(chance: Random, target: Target, draft: Draft) -> Draft:
    """A draft that differs in some parts."""
    other, share = _draft(chance, target), chance.choice([0.0, 0.2, 0.5, 1.0])

    def chosen(ours: T, theirs: T) -> T:
        return theirs if chance.random() < share else ours

    keys = sorted({*draft.fields, *other.fields})
    fields = {key: chosen(draft.fields.get(key), other.fields.get(key)) for key in keys}
    rights = Rights(
        chosen(draft.rights.release_at, other.rights.release_at),
        chosen(draft.rights.expires_at, other.rights.expires_at),
        chosen(draft.rights.groups, other.rights.groups),
    )
    return replace(
        draft,
        filename=chosen(draft.filename, other.filename),
        status=chosen(draft.status, other.status),
        fields={key: value for key, value in fields.items() if value is not None},
        placements=chosen(draft.placements, other.placements),
        tags=chosen(draft.tags, other.tags),
        rights=rights,
        closed=chosen(draft.closed, other.closed),
    )


def _mixture(chance: Random, drafts: list[Draft], sent: bool) -> Asset:
    """What attempts that were killed leave: each part of any draft, sets and lists anything between, texts language by
    language."""
    first = drafts[0]

    def any_of(sides: list[frozenset[T]]) -> frozenset[T]:
        common, every = frozenset.intersection(*sides), frozenset[T]().union(*sides)
        return common | frozenset(each for each in sorted(every - common, key=str) if chance.random() < 0.5)

    fields: dict[str, Value | None] = {}
    for key in sorted({key for draft in drafts for key in draft.fields}):
        held = [draft.fields.get(key) for draft in drafts]
        if key == "words":
            lists = [frozenset(map(str, each if isinstance(each, tuple) else ())) for each in held]
            fields[key] = tuple(sorted(any_of(lists))) or None
        elif key == "caption":
            sides: list[Mapping[str, str]] = [each.texts if isinstance(each, Localized) else {} for each in held]
            texts = {each: chance.choice(sides).get(each) for each in ("en", "de")}
            fields[key] = (
                Localized({each: text for each, text in texts.items() if text}) if any(texts.values()) else None
            )
        else:
            fields[key] = chance.choice(held)
    rights = [draft.rights for draft in drafts]
    places = any_of([frozenset(each for each in draft.placements if each.kind == "category") for draft in drafts])
    homes = [frozenset(each for each in draft.placements if each.kind == "folder") for draft in drafts]
    return Asset(
        AssetId("X"),
        Revision("1"),
        filename=chance.choice(drafts).filename,
        status=chance.choice(drafts).status,
        fields={key: value for key, value in fields.items() if value is not None},
        versions=(FILE, SENT) if sent and chance.random() < 0.5 else (FILE,),
        placements=places | chance.choice(homes),
        tags=any_of([draft.tags for draft in drafts]),
        rights=Rights(
            chance.choice(rights).release_at,
            chance.choice(rights).expires_at,
            chance.choice(rights).groups if chance.random() < 0.5 else first.rights.groups,
        ),
        created_at=LONG_AGO,
        imported_at=LONG_AGO,
    )


def _edit(chance: Random, target: Target, real: Asset, number: int) -> tuple[str, Asset]:
    """One part as other people gave it: a value that no draft has, one that some draft may have, or nothing."""
    made = _edits(chance, target, real, f"by hand {number}", NOW + timedelta(days=77 + number))
    path = chance.choice(sorted(made))
    value = chance.choice(made[path])
    if path.startswith("fields."):
        return path, _with_field(real, path.removeprefix("fields."), value)
    if path in RIGHTS:
        return path, replace(real, rights=replace(real.rights, **{RIGHTS[path]: value}))
    return path, replace(real, **{{"file": "versions"}.get(path, path.partition(".")[0]): value})


def _edits(chance: Random, target: Target, real: Asset, hand: str, later: datetime) -> dict[str, list[Any]]:
    """By path, the values that people may give it."""
    soon, groups, words, caption = NOW + timedelta(days=10), real.rights.groups, real.fields.get("words"), _texts(real)
    caption[chance.choice(["en", "de"])] = chance.choice([hand, "x", ""])
    held = words if isinstance(words, tuple) else ()
    texts = {each: text for each, text in caption.items() if text}
    homes = frozenset(each for each in real.placements if each.kind == "folder")
    rest, never = real.placements - homes, [] if target.released else [None]
    return {
        "fields.title": [hand, "T1", None],
        "fields.caption": [Localized(texts) if texts else None],
        "fields.words": [(*held, hand), held[1:] or None, (hand,)],
        "fields.number": [later.day, 1, None],
        "fields.day": [later.date(), NOW.date(), None],
        "fields.kind": [Term(hand, hand), Term("m", "m"), None],
        "placements.folder": [rest | {folder(hand)}, rest | {folder("f")}, rest],
        "placements.category": [real.placements | {category(hand)}, homes | {category(hand)}, homes],
        **({"filename": [f"{hand}.jpg"]} if target.named else {}),
        "status": ["archived", "draft", "published"],
        "tags": [real.tags | {hand}, frozenset({hand}), frozenset()],
        "release": [later, soon, *never],
        "expiry": [later, soon, None],
        "groups": [frozenset({"others"}), groups - EVERYBODY | {"others"}, frozenset("g"), EVERYBODY],
        "file": [(*real.versions, OTHERS_FILE)],
    }


def _texts(side: Draft | Asset) -> dict[str, str]:
    value = side.fields.get("caption")
    return dict(value.texts) if isinstance(value, Localized) else {}


def _with_field(real: Asset, key: str, value: Value | None) -> Asset:
    fields = {each: held for each, held in real.fields.items() if each != key}
    return replace(real, fields=fields if value is None else {**fields, key: value})


def _as_read(
    chance: Random, target: Target, real: Asset, drafts: list[Draft], edited: list[str], *, withheld: bool
) -> Asset:
    """The asset as its service returns it: with what that gives by itself, and with other names."""
    seen, rights = real, real.rights
    if "fields.title" not in (*edited, *(f"fields.{key}" for one in drafts for key in one.fields)):
        seen = _with_field(seen, "title", OWN_TITLE) if chance.random() < 0.5 else seen
    if "flag" not in seen.fields and chance.random() < 0.5:
        seen = _with_field(seen, "flag", False)
    if rights.groups == EVERYBODY and not target.shown:
        rights = replace(rights, groups=frozenset())
    if withheld:
        rights = replace(rights, release_at=None, restrictions=UNRELEASED)
    elif target.released and rights.release_at is None:
        rights = replace(rights, release_at=LONG_AGO)
    seen = replace(seen, rights=rights)
    return as_renamed(seen) if target.renamed else seen


def as_renamed(real: Asset) -> Asset:
    """With the names that others gave."""
    kind = real.fields.get("kind")
    if isinstance(kind, Term) and kind.id in ("m", "n"):
        real = _with_field(real, "kind", replace(kind, label=f"{RENAMED}{kind.id}"))
    places = {replace(each, path=(f"{RENAMED}{each.id}",)) if len(each.id) == 1 else each for each in real.placements}
    return replace(real, placements=frozenset(places))


# -- what it means ------------------------------------------------------------------------------------------------


def atoms_of(side: Draft | Asset) -> dict[str, Atoms]:
    """The parts of one side, each by its pieces: independent of what the product does."""
    found: dict[str, Atoms] = {}
    for key in FIELDS:
        value = side.fields.get(key)
        if key == "words":
            found["fields.words"] = dict.fromkeys(map(str, value), True) if isinstance(value, tuple) else {}
        elif key == "caption":
            found["fields.caption"] = dict(value.texts) if isinstance(value, Localized) else {}
        elif isinstance(value, Term):
            found[f"fields.{key}"] = {"": value.id}
        else:
            found[f"fields.{key}"] = {} if value is None or value is False else {"": value}
    found |= {
        name: {"": value} if value else {} for name, value in (("filename", side.filename), ("status", side.status))
    }
    found["tags"] = dict.fromkeys(side.tags, True)
    for kind in ("folder", "category"):
        found[f"placements.{kind}"] = {each.id: True for each in side.placements if each.kind == kind}
    for path, name in DATES.items():
        moment = getattr(side.rights, name)
        found[path] = {"": moment} if moment else {}
    found["groups"] = dict.fromkeys(side.rights.groups, True)
    return found


def parts_of(*sides: Draft | Asset) -> list[dict[str, Atoms]]:
    """Of several sides; groups as one value as soon as one is for everybody."""
    found = [atoms_of(side) for side in sides]
    if any(side.rights.groups == EVERYBODY for side in sides):
        for parts, side in zip(found, sides, strict=True):
            parts["groups"] = {"": side.rights.groups}
    return found


def plain(state: State, seen: Asset) -> Asset:
    """What the target has without what it gives by itself."""
    rights, fields = seen.rights, dict(seen.fields)
    if fields.get("title") == OWN_TITLE:
        del fields["title"]
    if not rights.groups and not state.target.shown:
        rights = replace(rights, groups=EVERYBODY)
    if rights.release_at == LONG_AGO:
        rights = replace(rights, release_at=None)
    return replace(seen, fields=fields, rights=rights)


def foreign_of(now: Mapping[str, Atoms], states: list[dict[str, Atoms]]) -> dict[str, frozenset[str]]:
    """By path, the pieces that others changed: which no state has."""
    found = {path: _foreign([state[path] for state in states], atoms) for path, atoms in now.items()}
    return {path: keys for path, keys in found.items() if keys}


def _foreign(states: list[Atoms], now: Atoms) -> frozenset[str]:
    keys = {*now, *(key for state in states for key in state)}
    return frozenset(key for key in keys if all(now.get(key) != state.get(key) for state in states))
