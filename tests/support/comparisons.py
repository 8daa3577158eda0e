"""Random drafts of one target, what an interrupted attempt may leave of two of them, and edits of other people."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final, TypeVar

from hypothesis import strategies as st

from dam_sync.engine.compare.comparison import compare
from dam_sync.engine.compare.differences import Difference, differences_of
from dam_sync.engine.compare.expected import NOTHING_EXPECTED, Expected, ExpectedFiles
from dam_sync.engine.compare.facts import Members, Scope, TargetFacts
from dam_sync.engine.compare.parts import VALUES
from dam_sync.model.asset import Asset, AssetId, Draft, FileRef, Placement, Revision, Rights
from dam_sync.model.audience import Audience
from dam_sync.model.capabilities import YES, Capabilities, Feature, Operation
from dam_sync.model.limits import Limits
from dam_sync.model.schema import Field, FieldKind, Schema
from dam_sync.model.values import Localized, Value

T = TypeVar("T")
NOW: Final = datetime(2026, 3, 1, tzinfo=UTC)
LONG_AGO: Final = NOW - timedelta(days=99)
ABLE: Final = Capabilities(
    operations=frozenset(Operation) - {Operation.PLACE, Operation.MEMBERS},
    features=dict.fromkeys(Feature, YES),
    limits=Limits(),
)
FIELDS: Final = (
    Field("title", FieldKind.TEXT),
    Field("caption", FieldKind.TEXT, localized=True),
    Field("words", FieldKind.TEXT, multiple=True),
    Field("number", FieldKind.NUMBER),
    Field("flag", FieldKind.FLAG),
    Field("day", FieldKind.DATE),
)
SCHEMA: Final = Schema(
    fields={each.key: each for each in FIELDS},
    locales=("en", "de"),
    container_kinds=frozenset({"folder", "category"}),
    container_most={"folder": 1},
    status_ways={("draft", "published"): frozenset({"review"})},
    capabilities=ABLE,
)
SCOPE: Final = Scope(
    frozenset(SCHEMA.fields), frozenset({"folder", "category"}), True, True, frozenset({"release", "expiry"})
)
FILE: Final = FileRef("1", "a.jpg", 10, digests={"md5": "0"})


def facts(**changes: Any) -> TargetFacts:
    """Of a target where the group `all` is everybody. changes: of the schema."""

    def audience(draft: Draft) -> Audience:
        return Audience(groups=None if "all" in draft.rights.groups else draft.rights.groups or None)

    return TargetFacts(replace(SCHEMA, **changes), ABLE, timedelta(0), audience, NOW)


def expected(*states: Draft, **changes: Any) -> Expected:
    """These states, the file of all of them, and changes to that."""
    return replace(Expected(states, ExpectedFiles((FILE,), versions=1, attachments=0)), **changes)


def asset_of(draft: Draft, **changes: Any) -> Asset:
    """An asset of the target that is exactly as a draft says."""
    made = Asset(
        AssetId("X"),
        Revision("1"),
        **{part.name: getattr(draft, part.name) for part in VALUES},
        fields=dict(draft.fields),
        versions=(FILE,),
        placements=draft.placements,
        tags=draft.tags,
        rights=draft.rights,
        created_at=LONG_AGO,
        imported_at=LONG_AGO,
    )
    return replace(made, **changes)


def differing(
    draft: Draft,
    seen: Asset,
    schema: Schema,
    scope: Scope = SCOPE,
    *,
    groups: frozenset[str] = frozenset(),
    precision: timedelta = timedelta(0),
    now: datetime = NOW,
) -> list[Difference]:
    """Where an asset is not as a draft says, then what it has in addition. groups: those that the target gives by
    itself; every group of a draft is one of a few people."""

    def audience(draft: Draft) -> Audience:
        return Audience(groups=draft.rights.groups or groups)

    about = TargetFacts(schema, ABLE, precision, audience, now, Members.ALL)
    return differences_of(compare(NOTHING_EXPECTED, seen, about, scope, draft), draft, seen, schema)


def folder(name: str) -> Placement:
    """The only folder of an asset."""
    return Placement("folder", (name,), name)


def category(name: str) -> Placement:
    """One of its categories."""
    return Placement("category", (name,), name)


TEXTS: Final = st.fixed_dictionaries({}, optional={"en": st.sampled_from("xy"), "de": st.sampled_from("xy")})
WORDS: Final = st.frozensets(st.sampled_from("abcd"))
DATES: Final = st.none() | st.sampled_from([NOW + timedelta(days=10), NOW + timedelta(days=20)])


@st.composite
def drafts(draw: st.DrawFn) -> Draft:
    """Any draft for the target, without a marker and not hidden."""
    fields: dict[str, Value] = draw(
        st.fixed_dictionaries(
            {},
            optional={
                "title": st.sampled_from(["T1", "T2", "T3"]),
                "number": st.sampled_from([1, 2]),
                "flag": st.booleans(),
                "day": st.sampled_from([LONG_AGO.date(), NOW.date()]),
            },
        )
    )
    texts, words = draw(TEXTS), draw(WORDS)
    fields |= {"caption": Localized(texts)} if texts else {}
    fields |= {"words": tuple(sorted(words))} if words else {}
    places = {category(name) for name in draw(st.frozensets(st.sampled_from("pq")))}
    places |= {folder(name) for name in draw(st.sampled_from([(), ("f",), ("g",)]))}
    return Draft(
        None,
        draw(st.sampled_from(["a.jpg", "b.jpg"])),
        status=draw(st.sampled_from(["draft", "published"])),
        fields=fields,
        placements=frozenset(places),
        tags=draw(st.frozensets(st.sampled_from("tu"))),
        rights=Rights(draw(DATES), draw(DATES), draw(st.sampled_from([frozenset("g"), frozenset("gh")]))),
    )


@st.composite
def mixtures(draw: st.DrawFn, one: Draft, other: Draft) -> Asset:
    """What an update from one draft to the other that was killed may leave: each part old or new, sets and lists
    anything between, texts language by language."""

    def either(first: T, second: T) -> T:
        return draw(st.sampled_from([first, second]))

    def between(first: frozenset[T], second: frozenset[T]) -> frozenset[T]:
        return (first & second) | frozenset(each for each in first ^ second if draw(st.booleans()))

    fields = {key: _mixed(key, one, other, either, between) for key in sorted({*one.fields, *other.fields})}
    ways = [one.status, other.status, *SCHEMA.status_ways.get((one.status, other.status), ())]
    return asset_of(
        one,
        filename=either(one.filename, other.filename),
        status=draw(st.sampled_from(ways)),
        fields={key: value for key, value in fields.items() if value is not None},
        placements=between(one.placements, other.placements),
        tags=between(one.tags, other.tags),
        rights=either(one.rights, other.rights),
    )


def _mixed(key: str, one: Draft, other: Draft, either: Any, between: Any) -> Value | None:
    first, second = one.fields.get(key), other.fields.get(key)
    if key == "words":
        lists = [each if isinstance(each, tuple) else () for each in (first, second)]
        return tuple(sorted(between(*(frozenset(each) for each in lists)))) or None
    if key != "caption":
        value: Value | None = either(first, second)
        return value
    sides: list[Mapping[str, str]] = [each.texts if isinstance(each, Localized) else {} for each in (first, second)]
    texts = {locale: either(sides[0].get(locale), sides[1].get(locale)) for locale in ("en", "de")}
    left = {locale: text for locale, text in texts.items() if text}
    return Localized(left) if left else None


Edited = tuple[str, Asset]


@st.composite
def edited(draw: st.DrawFn, seen: Asset) -> Edited:
    """One part that other people gave a value which no draft here has: its path, and the asset then."""
    later = NOW + timedelta(days=77)
    others: dict[str, dict[str, Any]] = {
        "fields.title": {"fields": {**seen.fields, "title": "by hand"}},
        "fields.caption": {"fields": {**seen.fields, "caption": Localized({"en": "by hand"})}},
        "fields.words": {"fields": {**seen.fields, "words": ("by hand",)}},
        "fields.number": {"fields": {**seen.fields, "number": 7}},
        "fields.day": {"fields": {**seen.fields, "day": later.date()}},
        "filename": {"filename": "by hand.jpg"},
        "status": {"status": "archived"},
        "tags": {"tags": seen.tags | {"by hand"}},
        "placements.folder": {"placements": frozenset({folder("by hand")})},
        "placements.category": {"placements": seen.placements | {category("by hand")}},
        "release": {"rights": replace(seen.rights, release_at=later)},
        "expiry": {"rights": replace(seen.rights, expires_at=later)},
        "groups": {"rights": replace(seen.rights, groups=frozenset({"others"}))},
        "file": {"versions": (replace(FILE, size=11, digests={"md5": "1"}),)},
        "versions": {"versions": (FILE, FILE)},
    }
    path = draw(st.sampled_from(sorted(others)))
    return path, replace(seen, **others[path])
