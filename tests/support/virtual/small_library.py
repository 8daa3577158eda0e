"""A few assets that between them make a service do everything it can: the least that a crash can fall between."""

from __future__ import annotations

from dam_sync.model.values import Json
from tests.conformance.catalogue import FULL, LINK, SCHEMA, asset
from tests.support.libraries.every_feature import OWN_MARKS

PARTS = 2.5  # parts that the large file is


def receiving() -> list[Json]:
    """The tenant to be filled."""
    return list(SCHEMA)


def library(part: int) -> list[Json]:
    """One asset with everything, one related with attachments, one of three versions whose newest goes in parts of
    `part` bytes, and two of one name."""
    full = {**FULL, "fields": {key: value for key, value in FULL["fields"].items() if key != OWN_MARKS}}
    related = asset(
        2,
        fields=_titled(2, rating=3, keywords=["one", "dawn"]),
        relations=[{"kind": LINK, "target": "1"}],
        attachments=[{"name": "a.pdf", "generate": {"size": 400, "seed": 40}}],
    )
    sizes = (600, 601, int(part * PARTS))
    versions = [{"name": "later.jpg", "generate": {"size": size, "seed": 60 + n}} for n, size in enumerate(sizes)]
    later = asset(3, filename="later.jpg", fields=_titled(3), versions=versions, tags=["sea"])
    twins = [
        asset(number, filename="twin.jpg", fields=_titled(number), placements=_folder(*path), versions=_twin(number))
        for number, path in ((4, ("Press",)), (5, ("New", "Deeper")))
    ]
    places = [{"record": "container", "kind": "folder", "path": path} for path in (["New"], ["New", "Deeper"])]
    return [*SCHEMA, *places, full, related, later, *twins]


def _titled(number: int, **fields: Json) -> Json:
    return {"title": {"texts": {"en": f"Picture {number}", "fr": f"Image {number}"}}, **fields}


def _twin(number: int) -> list[Json]:
    return [{"name": "twin.jpg", "generate": {"size": 700, "seed": number}}]


def _folder(*path: str) -> list[Json]:
    return [{"kind": "folder", "path": list(path)}]
