"""A small library that uses every feature of the neutral model, and the schema of a tenant that can receive it."""

from __future__ import annotations

from dam_sync.model.values import Json
from tests.conformance.catalogue import FULL, LINK, SCHEMA, asset

OWN_MARKS = "srckey"  # the conformance catalogue's field for marks: kept free for ours


def receiving() -> list[Json]:
    """The tenant to be filled."""
    return list(SCHEMA)


def everything() -> list[Json]:
    """Types, fields, vocabularies, containers, and assets of every sort."""
    rows = [FULL, plain(2), related(3, 1), many_values(4), awkward(5), later(6), unicode(7), plain(8)]
    return [*SCHEMA, *[{**row, "fields": _unmarked(row["fields"])} for row in rows]]


def _unmarked(fields: Json) -> Json:
    return {key: value for key, value in fields.items() if key != OWN_MARKS}


def titled(number: int, **fields: Json) -> Json:
    return {"title": {"texts": {"en": f"Picture {number}", "fr": f"Image {number}"}}, **fields}


def plain(number: int) -> Json:
    """The least: a title, one file, one folder."""
    return asset(number, fields=titled(number))


def related(number: int, other: int) -> Json:
    return asset(
        number,
        fields=titled(number, rating=3, cleared=True),
        relations=[{"kind": LINK, "target": str(other)}],
        attachments=[{"name": f"{name}.pdf", "generate": {"size": 400, "seed": 40 + n}} for n, name in enumerate("ab")],
    )


def many_values(number: int) -> Json:
    terms = [{"id": n, "label": label} for n, label in (("1", "Nature"), ("3", "Wood"), ("4", "City"))]
    fields = titled(number, keywords=["one", "two", "three"], subject=terms, country={"id": "12", "label": "Spain"})
    return asset(number, fields=fields, tags=["one", "two"], placements=[{"kind": "folder", "path": ["Archive"]}])


def awkward(number: int) -> Json:
    """Names and texts that trip the careless."""
    name = "Œuvre d’été – 100 % “vrai”.jpg"
    files = [{"name": name, "generate": {"size": 1 << 16, "seed": number}}]
    fields = titled(number, note='=1+1; "quoted" | piped, \\ back', legend={"texts": {"en": "two\nlines & <more>"}})
    return asset(number, filename=name, fields=fields, versions=files)


def later(number: int) -> Json:
    """Published later, gone even later; three versions."""
    versions = [{"name": "later.jpg", "generate": {"size": 600 + n, "seed": 60 + n}} for n in range(3)]
    rights = {"groups": ["public"], "release_at": "2021-06-01T00:00:00Z", "expires_at": "2045-06-01T00:00:00Z"}
    return asset(number, filename="later.jpg", fields=titled(number), versions=versions, rights=rights)


def unicode(number: int) -> Json:
    texts = {"en": "海辺 and море", "fr": "ה ים"}
    fields = {"title": {"texts": texts}, "note": "e\u0301te\u0301", "body": "<p>Ünïcode</p>", "mail": "a@example.org"}
    return asset(number, filename="海辺.jpg", fields=fields, placements=[{"kind": "folder", "path": ["Press"]}])
