"""Records of a museum for tenants of a virtual world: real ones if their data is present, otherwise generated ones."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import islice
from typing import Any

from dam_sync.model.values import Json
from tests.conformance.catalogue import LINK, SCHEMA, asset
from tests.support.libraries.museum import DATA, lines

WORDS = ("harbour", "dawn", "figure", "seated", "study", "mountain", "river", "sketch", "portrait", "storm", "castle")
GROUPS = ("Works on paper", "Paintings", "Sculpture", "Prints / Etchings")
LONGEST = 255
FILE = 700  # bytes of the smallest file


def museum_library(assets: int, seed: int = 0) -> list[Json]:
    """A source with so many records: titles in one or two languages, terms, folders, tags, relations, versions, and
    values that do not fit everywhere."""
    places = [{"record": "container", "kind": "folder", "path": ["Collection", name]} for name in GROUPS]
    rows = (_record(number, row, seed) for number, row in enumerate(islice(_records(seed), assets), 1))
    return [*SCHEMA, {"record": "container", "kind": "folder", "path": ["Collection"]}, *places, *rows]


def _record(number: int, row: Json, seed: int) -> Json:
    rng = random.Random(f"{seed} {number}")
    title, name = row["title"][:LONGEST], f"{row['accession']}.jpg"
    texts = {"en": title, **({"fr": f"Étude: {title}"[:LONGEST]} if number % 3 == 0 else {})}
    fields: dict[str, Any] = {"title": {"texts": texts}, "rating": number % 6, "note": row["medium"][:LONGEST]}
    fields |= {"keywords": rng.sample(WORDS, rng.randrange(4))} if number % 2 else {}
    fields |= {"subject": [{"id": "2", "label": "Sea"}]} if number % 4 == 0 else {}
    fields |= {"legend": {"texts": {"en": row["credit"]}}} if row["credit"] else {}
    fields |= {"cleared": number % 2 == 0, "shot": {"date": f"19{number % 90 + 10}-0{number % 9 + 1}-11"}}
    fields |= {"body": f"<p>{title}</p>"} if number % 7 == 0 else {}
    versions = [_file(name, number, part) for part in range(2 if number % 11 == 0 else 1)]
    made: dict[str, Any] = asset(
        number,
        filename=name,
        fields={key: value for key, value in fields.items() if value not in ([], "")},
        versions=versions,
        placements=[{"kind": "folder", "path": ["Collection", GROUPS[number % len(GROUPS)]]}],
        tags=rng.sample(WORDS, number % 3),
        relations=[{"kind": LINK, "target": str(number - 1)}] if number % 13 == 0 else [],
        rights={"expires_at": "2050-01-01T00:00:00Z"} if number % 17 == 0 else {},
    )
    return made


def _file(name: str, number: int, part: int) -> Json:
    return {"name": name, "generate": {"size": FILE + number % 400, "seed": 10 * number + part}}


def _records(seed: int) -> Iterator[dict[str, str]]:
    if (DATA / "tate" / "artworks.jsonl.gz").exists():
        for row in lines("artworks"):
            medium, credit = row.get("medium") or "unknown", row.get("credit_line") or ""
            accession = row["accession_number"]
            yield {"accession": accession, "title": row.get("title") or accession, "medium": medium, "credit": credit}
    rng = random.Random(f"museum {seed}")
    for number in range(1, 1_000_000):
        title = " ".join(rng.sample(WORDS, 4)).capitalize()
        yield {"accession": f"G{number:06}", "title": title, "medium": rng.choice(WORDS), "credit": "Bequest"}
