"""What the suite writes: values for any kind of field, drafts with everything a target can hold, and their checks."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from datetime import UTC, date, datetime
from fnmatch import fnmatchcase
from itertools import count
from typing import Any, TypeVar

from dam_sync.model.asset import AssetId, Draft, Marker, Placement, Rights
from dam_sync.model.capabilities import Feature, MembershipWrite, Operation
from dam_sync.model.errors import DamSyncError, Disposition
from dam_sync.model.schema import Field, FieldKind, Schema
from dam_sync.model.service import Service
from dam_sync.model.values import GeoPoint, Json, Localized, Scalar, Term, Value
from tests.conformance.catalogue import MARKER
from tests.conformance.tenant import Tenant, content, own_fields, true_fields
from tests.conformance.wiring import WIRED
from tests.support.state.memory_journal import MemoryJournal

T = TypeVar("T")
NUMBERS = count(1)
RIGHTS = Rights(datetime(2020, 5, 1, tzinfo=UTC), datetime(2040, 5, 1, tzinfo=UTC), frozenset({"staff"}))
TRIES = 6  # what a worker would do for one asset at most

FIRST: Mapping[FieldKind, Scalar] = {
    FieldKind.TEXT: "L’été à “Œuvre” & <co>, 100 %",
    FieldKind.LONG_TEXT: 'First line\nsecond line, with ; and | and "quotes"',
    FieldKind.HTML: "<p>Été <b>gras</b></p>",
    FieldKind.NUMBER: 12.5,
    FieldKind.FLAG: True,
    FieldKind.DATE: date(2022, 6, 19),
    FieldKind.INSTANT: datetime(2022, 6, 19, 8, 15, tzinfo=UTC),
    FieldKind.PLACE: GeoPoint(48.382, -4.495, "Brest, France"),
    FieldKind.EMAIL: "desk@example.org",
    FieldKind.URL: "https://example.org/a?b=c&d=%20e",
}
OTHER: Mapping[FieldKind, Scalar] = {
    FieldKind.TEXT: "Другой текст",
    FieldKind.LONG_TEXT: "Other",
    FieldKind.HTML: "<p>Other</p>",
    FieldKind.NUMBER: 7,
    FieldKind.FLAG: False,
    FieldKind.DATE: date(1999, 12, 31),
    FieldKind.INSTANT: datetime(1999, 12, 31, 23, 0, tzinfo=UTC),
    FieldKind.PLACE: GeoPoint(-33.9, 151.2, "Sydney"),
    FieldKind.EMAIL: "other@example.org",
    FieldKind.URL: "https://example.org/other",
}
LABELS = {"subject": ("Sea", "City"), "country": ("Spain",), "keywords": ("harbour", "dawn")}
OTHER_LABELS = {"subject": ("Wood",), "country": ("France",), "keywords": ("dusk",)}
KEYS = (
    *("title", "legend", "note", "body", "shot", "seen", "rating", "cleared", "keywords", "subject", "country"),
    *("spot", "mail", "web"),
)


def spell(service: Service, name: str) -> str:
    """How a service spells a field of the catalogue."""
    return WIRED[service.kind].prefix + name


def vocabulary_of(service: Service, schema: Schema, name: str) -> str:
    """The key of the vocabulary behind a field of the catalogue."""
    return schema.fields[spell(service, name)].vocabulary


def names_in(service: Service, schema: Schema) -> list[str]:
    """The catalogue's fields that this service has, by the catalogue's names."""
    return [name for name in KEYS if spell(service, name) in schema.fields]


async def values_for(
    service: Service, schema: Schema, names: Iterable[str], *, other: bool = False
) -> dict[str, Value]:
    """Values for several fields, under the service's own keys."""
    return {spell(service, name): await value_for(service, schema, name, other=other) for name in names}


async def value_for(service: Service, schema: Schema, name: str, *, other: bool = False) -> Value:
    """A value of the field's kind; terms exist in the target, made where they are missing and can be."""
    field = schema.fields[spell(service, name)]
    if field.kind is FieldKind.TERM:
        terms = tuple(await _terms(service, schema, field, name, other=other))
        return terms if field.multiple else terms[0]
    if name == "keywords":
        labels = (OTHER_LABELS if other else LABELS)[name]
        return labels if field.multiple else labels[0]
    scalar = (OTHER if other else FIRST)[field.kind]
    if field.localized:
        texts = {locale: f"{scalar} {locale}" for locale in schema.locales[: 1 if other else 2]}
        return Localized(texts)
    return scalar


async def _terms(service: Service, schema: Schema, field: Field, name: str, *, other: bool) -> list[Term]:
    known = {term.label: term async for term in service.terms(field.vocabulary)}
    labels = (OTHER_LABELS if other else LABELS).get(name) or list(known)[-1 if other else 0 :][:1]
    wanted = [known.get(label, Term(label)) for label in labels]
    if Operation.ENSURE_TERM not in service.capabilities or schema.vocabularies[field.vocabulary].closed:
        return wanted
    return [await service.ensure_term(field.vocabulary, term) for term in wanted]


async def places(tenant: Tenant, service: Service) -> dict[str, Placement]:
    """Containers of the catalogue by `kind text`."""
    return {f"{place.kind} {place.text}": place async for place in service.containers()}


async def placed(tenant: Tenant, service: Service) -> frozenset[Placement]:
    """Where drafts go, for kinds of container that `create` fills: a nested container, and a flat one if there is."""
    kinds = tenant.wired.containers
    known = await places(tenant, service)
    schema = await service.schema()
    wanted = [folder(tenant, "Press", "2024")]
    wanted += [f"{kinds[name]} /Highlight" for name in ("label", "collection") if name in kinds]
    return frozenset(known[name] for name in wanted if creates_in(service, schema, name.split()[0]))


def creates_in(service: Service, schema: Schema, kind: str) -> bool:
    """Whether `create` and `update` put assets into containers of this kind."""
    bulk = service.capabilities.membership(kind) is MembershipWrite.IN_BULK
    return kind in schema.container_kinds and not bulk


def folder(tenant: Tenant, *path: str) -> str:
    """A folder of the catalogue by `kind text`, in the words of `places`: flat services join the levels."""
    kind = tenant.wired.containers["folder"]
    flat = "nested" in tenant.absent
    return f"{kind} {Placement(kind, (' / '.join(path),) if flat else path).text}"


async def full_draft(tenant: Tenant, service: Service, **more: Any) -> Draft:
    """Everything this target can hold."""
    schema = await service.schema()
    fields = await values_for(service, schema, names_in(service, schema))
    given: dict[str, Any] = {"placements": await placed(tenant, service)}
    given |= {"tags": frozenset({"sea", "été", "two words"})} if service.capabilities.writes(Feature.TAGS) else {}
    given |= {"rights": RIGHTS} if service.capabilities.parts >= {"release", "expiry", "groups"} else {}
    given |= {"status": "published"} if service.capabilities.writes(Feature.STATUS) else {}
    return await plain_draft(service, **{"fields": fields, **given, **more})


async def plain_draft(service: Service, key: str = "", **more: Any) -> Draft:
    """The least a target takes: a marker, the required title, the type."""
    schema = await service.schema()
    marker = Marker(spell(service, MARKER), key or f"m-{next(NUMBERS)}")
    field = spell(service, "title")
    title = Localized({schema.locales[0]: "New"}) if schema.fields[field].localized else "New"
    profile = next((each.profile for each in schema.types if each.name == "Photo"), "")
    fields = {field: title, **more.pop("fields", {}), marker.field: marker.value}
    return Draft(marker, **{"filename": f"{marker.value}.jpg", "profile": profile, "fields": fields, **more})


async def made(tenant: Tenant, service: Service, draft: Draft, size: int = 700) -> tuple[AssetId, str]:
    """Create it; its id, and the MD5 of its bytes."""
    async with content(tenant, draft.filename, size, seed=str(draft.marker)) as (given, digest):
        return await service.create(draft, given, MemoryJournal()), digest


async def marked(tenant: Tenant, service: Service, key: str = "") -> tuple[AssetId, Marker]:
    """Create an asset; its id, and its marker."""
    draft = await plain_draft(service, key)
    assert draft.marker is not None
    return (await made(tenant, service, draft))[0], draft.marker


async def worked(attempt: Callable[[], Awaitable[T]], journal: MemoryJournal) -> T:
    """As a worker retries: after an error that may pass, from the start where a session ended; others are raised."""
    for _ in range(TRIES):
        try:
            return await attempt()
        except DamSyncError as error:
            if error.disposition is Disposition.RESTART:
                await journal.discard("*")
            elif error.disposition is not Disposition.RETRY:
                raise
    return await attempt()


def check_made(tenant: Tenant, schema: Schema, draft: Draft, digest: str = "") -> Json:
    """Exactly one asset carries the marker, and it has all that the draft says; its row of the truth."""
    assert draft.marker is not None
    (row,) = tenant.marked(draft.marker.value)
    found, wanted = true_fields(row, schema), own_fields(draft.fields)
    assert {key: found.get(key) for key in wanted} == wanted
    assert row["type"] == ("Photo" if "types" not in tenant.absent else row["type"])
    assert set(draft.tags) == set(row["tags"])
    kinds = {place.kind for place in draft.placements}
    assert {(place.kind, place.path) for place in draft.placements} == {
        (place["kind"], tuple(place["path"])) for place in row["placements"] if place["kind"] in kinds
    }
    if draft.rights != Rights():
        assert set(row["rights"]["groups"]) == draft.rights.groups
        assert row["rights"]["release_at"] == "2020-05-01T00:00:00Z"
        assert row["rights"]["expires_at"] == "2040-05-01T00:00:00Z"
    if draft.status:
        assert row["status"] == draft.status
    if digest:
        assert row["filename"] == draft.filename
        assert [file["digests"]["md5"] for file in row["versions"]] == [digest]
    return row


def writes(spent: Mapping[str, int]) -> list[tuple[str, int]]:
    """The write calls among these, as globs for faults, each with how often it was sent."""
    reads = {"GET *", "HEAD *"}.union(*(wired.reads for wired in WIRED.values()))
    found = [(name, number) for name, number in spent.items() if not any(fnmatchcase(name, read) for read in reads)]
    return sorted((name.replace("{}", "*"), number) for name, number in found)


async def one(tenant: Tenant, service: Service, *, full: bool = False, **more: Any) -> AssetId:
    """A new asset, looked at by the service."""
    draft = await (full_draft(tenant, service, **more) if full else plain_draft(service, **more))
    identity, _ = await made(tenant, service, draft)
    tenant.advance(30)
    return identity


def state(tenant: Tenant, identity: AssetId) -> Json:
    """The truth of one asset but for when it changed."""
    return {key: value for key, value in tenant.truth()[identity].items() if key != "changed_at"}
