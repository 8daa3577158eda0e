"""What the suite writes: values for any kind of field, drafts with everything a target can hold, and their checks."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, date, datetime
from itertools import count
from typing import Any, TypeVar

from dam_sync.model.asset import AssetId, Draft, Marker, Placement, Rights
from dam_sync.model.errors import DamSyncError, Disposition
from dam_sync.model.schema import Field, FieldKind, Schema
from dam_sync.model.service import Operation, Service
from dam_sync.model.values import Json, Localized, Place, Scalar, Term, Value
from tests.conformance.catalogue import MARKER
from tests.conformance.tenant import Tenant, content, own_fields, true_fields
from tests.support.steps import MemorySteps

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
    FieldKind.PLACE: Place(48.382, -4.495, "Brest, France"),
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
    FieldKind.PLACE: Place(-33.9, 151.2, "Sydney"),
    FieldKind.EMAIL: "other@example.org",
    FieldKind.URL: "https://example.org/other",
}
LABELS = {"subject": ("Sea", "City"), "country": ("Spain",), "keywords": ("harbour", "dawn")}
OTHER_LABELS = {"subject": ("Wood",), "country": ("France",), "keywords": ("dusk",)}
KEYS = (
    *("title", "legend", "note", "body", "shot", "seen", "rating", "cleared", "keywords", "subject", "country"),
    *("spot", "mail", "web"),
)


async def value_for(service: Service, schema: Schema, key: str, *, other: bool = False) -> Value:
    """A value of the field's kind; terms exist in the target, made where they are missing."""
    field = schema.fields[key]
    if field.kind is FieldKind.TERM:
        labels = (OTHER_LABELS if other else LABELS)[key]
        terms = tuple(
            [await service.ensure_term(field.vocabulary, await _term(service, field, text)) for text in labels]
        )
        return terms if field.multiple else terms[0]
    if key == "keywords":
        return (OTHER_LABELS if other else LABELS)[key]
    scalar = (OTHER if other else FIRST)[field.kind]
    if field.localized:
        texts = {locale: f"{scalar} {locale}" for locale in schema.locales[: 1 if other else 2]}
        return Localized(texts)
    return scalar


async def _term(service: Service, field: Field, label: str) -> Term:
    known = {term.label: term async for term in service.terms(field.vocabulary)}
    return known.get(label, Term(label))


async def places(tenant: Tenant, service: Service) -> dict[str, Placement]:
    """Containers of the catalogue by `kind text`."""
    return {f"{place.kind} {place.text}": place async for place in service.containers()}


async def placed(tenant: Tenant, service: Service) -> frozenset[Placement]:
    """Where drafts go, for services that place in `create`: a nested container, and a flat one if there is."""
    if Operation.PLACE in service.operations:
        return frozenset()
    kinds = tenant.wired.containers
    known = await places(tenant, service)
    wanted = [f"{kinds['folder']} /Press/2024", *(f"{kinds[name]} /Highlight" for name in ("label",) if name in kinds)]
    return frozenset(known[name] for name in wanted)


async def full_draft(tenant: Tenant, service: Service, **more: Any) -> Draft:
    """Everything this target can hold."""
    schema = await service.schema()
    fields = {key: await value_for(service, schema, key) for key in KEYS}
    given: dict[str, Any] = {"placements": await placed(tenant, service)}
    given |= {"tags": frozenset({"sea", "été", "two words"})} if "tags" in schema.holds else {}
    given |= {"rights": RIGHTS} if {"release", "expiry", "groups"} <= schema.holds else {}
    given |= {"status": "published"} if "status" in schema.holds else {}
    return await plain_draft(service, **{"fields": fields, **given, **more})


async def plain_draft(service: Service, key: str = "", **more: Any) -> Draft:
    """The least a target takes: a marker, the required title, the type."""
    schema = await service.schema()
    marker = Marker(MARKER, key or f"m-{next(NUMBERS)}")
    title = Localized({schema.locales[0]: "New"}) if schema.fields["title"].localized else "New"
    profile = next(each.profile for each in schema.types if each.name == "Photo")
    fields = {"title": title, **more.pop("fields", {}), MARKER: marker.value}
    return Draft(marker, **{"filename": f"{marker.value}.jpg", "profile": profile, "fields": fields, **more})


async def made(tenant: Tenant, service: Service, draft: Draft, size: int = 700) -> tuple[AssetId, str]:
    """Create it; its id, and the MD5 of its bytes."""
    async with content(tenant, draft.filename, size, seed=str(draft.marker)) as (given, digest):
        return await service.create(draft, given, MemorySteps()), digest


async def worked(attempt: Callable[[], Awaitable[T]], steps: MemorySteps) -> T:
    """As a worker goes on: again after what may pass, anew where a session has ended; anything else is an error."""
    for _ in range(TRIES):
        try:
            return await attempt()
        except DamSyncError as error:
            if error.disposition is Disposition.RESTART:
                await steps.forget("*")
            elif error.disposition is not Disposition.RETRY:
                raise
    return await attempt()


def check_made(tenant: Tenant, schema: Schema, draft: Draft, digest: str = "") -> Json:
    """Exactly one asset carries the marker, and it has all that the draft says; its row of the truth."""
    assert draft.marker is not None
    (row,) = tenant.marked(draft.marker.value)
    found, wanted = true_fields(row, schema), own_fields(draft.fields)
    assert {key: found.get(key) for key in wanted} == wanted
    assert row["type"] == "Photo"
    assert set(draft.tags) == set(row["tags"])
    assert {(place.kind, place.path) for place in draft.placements} == {
        (place["kind"], tuple(place["path"])) for place in row["placements"]
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
    found = [
        (name.replace("{}", "*"), number) for name, number in spent.items() if not name.startswith(("GET", "HEAD"))
    ]
    return sorted(found)
