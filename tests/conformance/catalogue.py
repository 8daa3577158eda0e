"""One small tenant in neutral form that every service can load, each as far as it can hold it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from dam_sync.model.values import Json

MARKER = "srckey"
START = datetime(2024, 3, 1, 12, tzinfo=UTC)
NESTED = (("Press",), ("Press", "2024"), ("Archive",))
FLAT = (("Highlight",), ("Best of",))
GROUPS = ("public", "staff")
LINK = "Views of the object"


def field(key: str, kind: str, **more: Json) -> Json:
    return {"record": "field", "key": key, "label": key.title(), "kind": kind, "types": ["Photo"], **more}


SCHEMA: tuple[Json, ...] = (
    {"record": "type", "name": "Photo", "media": ["PICTURE"]},
    *({"record": "group", "name": name} for name in GROUPS),
    {"record": "profile", "name": "Photo", "type": "Photo", "groups": ["public"], "version_policy": "file_only"},
    {"record": "vocabulary", "key": "subjects", "label": "Subjects", "hierarchical": True, "localized": True},
    {"record": "vocabulary", "key": "countries", "label": "Countries", "closed": True},
    {"record": "term", "vocabulary": "subjects", "id": "1", "labels": {"en": "Nature", "fr": "La nature"}},
    {"record": "term", "vocabulary": "subjects", "id": "2", "parent": "1", "labels": {"en": "Sea", "fr": "Mer"}},
    {"record": "term", "vocabulary": "subjects", "id": "3", "parent": "1", "labels": {"en": "Wood", "fr": "Bois"}},
    {"record": "term", "vocabulary": "subjects", "id": "4", "labels": {"en": "City", "fr": "Ville"}},
    {"record": "term", "vocabulary": "countries", "id": "11", "labels": {"en": "France"}},
    {"record": "term", "vocabulary": "countries", "id": "12", "labels": {"en": "Spain"}},
    field(MARKER, "text", max_length=255),
    field("title", "text", localized=True, required=True, max_length=255),
    field("legend", "long_text", localized=True),
    field("note", "text", max_length=255),
    field("body", "html"),
    field("shot", "date"),
    field("seen", "instant"),
    field("rating", "number"),
    field("cleared", "flag"),
    field("keywords", "text", multiple=True),
    field("subject", "term", multiple=True, vocabulary="subjects"),
    field("country", "term", vocabulary="countries"),
    field("spot", "place"),
    field("mail", "email"),
    field("web", "url"),
    *({"record": "container", "kind": "folder", "path": list(path)} for path in NESTED),
    *({"record": "container", "kind": kind, "path": list(path)} for kind in ("label", "collection") for path in FLAT),
    {"record": "status", "name": "Internal", "status": "published"},
    {"record": "relation_kind", "name": LINK},
)


def asset(number: int, **more: Json) -> Json:
    at = moment(START + timedelta(hours=number))
    return {
        "record": "asset",
        "id": str(number),
        "filename": f"photo {number}.jpg",
        "status": "published",
        "form_type": "PICTURE",
        "type": "Photo",
        "fields": {MARKER: f"old-{number}", "title": {"texts": {"en": f"Photo {number}"}}, "rating": number},
        "versions": [{"name": f"photo {number}.jpg", "generate": {"size": 1000 + number, "seed": number}}],
        "placements": [{"kind": "folder", "path": ["Press", "2024"]}],
        "created_at": at,
        "imported_at": at,
        "changed_at": at,
        **more,
    }


def moment(at: datetime) -> str:
    return at.isoformat().replace("+00:00", "Z")


FULL = asset(
    1,
    fields={
        MARKER: "old-1",
        "title": {"texts": {"en": "Harbour at dawn", "fr": "Port à l’aube"}},
        "legend": {"texts": {"en": "First light <over> the “sea” & more"}},
        "note": "12.50",
        "body": "<p>Été à Œuvre</p>",
        "shot": {"date": "2025-02-06"},
        "seen": {"instant": "2025-02-06T10:30:00Z"},
        "rating": 12.5,
        "cleared": True,
        "keywords": ["harbour", "dawn"],
        "subject": [{"id": "2", "label": "Sea"}, {"id": "4", "label": "City"}],
        "country": {"id": "11", "label": "France"},
        "spot": {"latitude": 48.382, "longitude": -4.495, "address": "Brest, France"},
        "mail": "desk@example.org",
        "web": "https://example.org/a?b=c",
    },
    versions=[{"name": "photo 1.jpg", "generate": {"size": 900 + n, "seed": 100 + n}} for n in range(3)],
    attachments=[{"name": "plan.pdf", "generate": {"size": 300, "seed": 102}}],
    placements=[
        {"kind": "folder", "path": ["Press", "2024"]},
        {"kind": "folder", "path": ["Archive"]},
        {"kind": "label", "path": ["Highlight"]},
        {"kind": "collection", "path": ["Highlight"]},
    ],
    tags=["sea", "été"],
    rights={"groups": ["staff"], "release_at": "2020-01-01T00:00:00Z", "expires_at": "2050-01-01T00:00:00Z"},
    relations=[{"kind": LINK, "target": "2"}],
)
TRASHED, ARCHIVED = asset(6, status="trash"), asset(7, status="archived")


def library() -> list[Json]:
    """Eight assets: one with everything, plain ones, one archived, one in the trash."""
    return [*SCHEMA, FULL, *(asset(number) for number in (2, 3, 4, 5)), TRASHED, ARCHIVED, asset(8, fields={})]


def crowd(size: int, *, apart: timedelta = timedelta(0)) -> Iterator[Json]:
    """Metadata-only rows, uploaded `apart` from each other, one in four in a folder of its own."""
    yield from SCHEMA
    for number in range(1, 4):
        yield {"record": "container", "kind": "folder", "path": [f"Box {number}"]}
    for number in range(1, size + 1):
        at = moment(START + apart * number)
        path = [f"Box {number % 4}"] if number % 4 else ["Press", "2024"]
        dates = {"created_at": at, "imported_at": at, "changed_at": at}
        yield asset(number, versions=[], placements=[{"kind": "folder", "path": path}], **dates)
