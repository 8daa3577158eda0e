"""A catalogue made of the real museum data and camera files, where they are present; they never join the tree."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

DATA = Path(os.environ.get("DAM_SYNC_DATA", Path(__file__).parents[4] / "shared" / "data"))
MUSEUM_MAPPING = Path(__file__).parent / "museum-a-to-e.yaml"
Record = dict[str, Any]

TEXTS: Sequence[tuple[str, str, Record]] = (
    ("title", "long_text", {"required": True}),
    ("accession", "text", {"max_length": 100}),
    ("artists", "long_text", {}),
    ("date_text", "text", {"max_length": 255}),
    ("medium", "long_text", {}),
    ("dimensions", "long_text", {}),
    ("classification", "text", {"max_length": 255}),
    ("credit_line", "long_text", {}),
    ("copyright", "long_text", {}),
    ("acquired", "number", {}),
    ("movements", "text", {"multiple": True}),
    ("subjects", "term", {"vocabulary": "subjects", "multiple": True}),
)


def has_museum_data() -> bool:
    """Whether it can be used."""
    return (DATA / "tate" / "artworks.jsonl.gz").exists()


def need_museum_data() -> None:
    """Skips the calling test, saying so, where the data is absent."""
    if not has_museum_data():
        pytest.skip(f"the museum data is not there: {DATA}")


def photos() -> list[Path]:
    """The camera files, in a fixed order."""
    return sorted(path for path in (DATA / "photos").rglob("*") if path.is_file())


def write_museum(folder: Path, records: int) -> Path:
    """The source's catalogue: `records` artworks with the whole thesaurus, each backed by one of the camera files."""
    return _write(folder / "museum.jsonl", _museum(records))


def write_receiving_tenant(folder: Path) -> Path:
    """The target's catalogue: one type with text fields, no assets."""
    return _write(folder / "receiving.jsonl", _receiving())


def subjects() -> Iterator[Record]:
    """The thesaurus, parents before children."""
    for row in sorted(lines("subjects"), key=lambda row: len(row["path"])):
        yield {
            "record": "term",
            "vocabulary": "subjects",
            "id": str(row["id"]),
            "parent": str(row["parent"] or ""),
            "labels": {"en": row["name"][:100]},
        }


def _museum(records: int) -> Iterator[Record]:
    yield {"record": "type", "name": "Artwork", "media": ["PICTURE", "OTHER"]}
    yield {"record": "vocabulary", "key": "subjects", "label": "Subjects", "hierarchical": True, "localized": True}
    terms = list(subjects())
    yield from terms
    labels = {term["id"]: term["labels"]["en"] for term in terms}
    for key, kind, more in TEXTS:
        yield {"record": "field", "key": key, "label": key, "kind": kind, "types": ["Artwork"], **more}
    yield {"record": "container", "kind": "folder", "path": ["Collection"]}
    files = photos()
    for number, row in enumerate(islice(lines("artworks"), records)):
        yield _artwork(row, files[number % len(files)], labels)


def _artwork(row: Record, photo: Path, labels: dict[str, str]) -> Record:
    texts = {
        "title": row.get("title") or row["accession_number"],
        "accession": row["accession_number"],
        "artists": row.get("all_artists"),
        "date_text": row.get("date_text"),
        "medium": row.get("medium"),
        "dimensions": row.get("dimensions"),
        "classification": row.get("classification"),
        "credit_line": row.get("credit_line"),
        "copyright": row.get("copyright"),
        "acquired": row.get("acquisition_year"),
        "movements": [str(m["name"] if isinstance(m, dict) else m) for m in row.get("movements") or ()],
        "subjects": [{"id": str(s), "label": labels[str(s)]} for s in row.get("subjects") or () if str(s) in labels],
    }
    name = f"{row['accession_number']}{photo.suffix}"
    return {
        "record": "asset",
        "id": str(row["id"]),
        "filename": name,
        "status": "published",
        "form_type": "PICTURE",
        "type": "Artwork",
        "fields": {key: value for key, value in texts.items() if value not in (None, "", [])},
        "versions": [{"name": name, "file": str(photo.relative_to(DATA / "photos"))}],
        "placements": [{"kind": "folder", "path": ["Collection", row.get("classification") or "other"]}],
        "created_at": "2015-01-01T00:00:00Z",
        "imported_at": _imported(row["id"]),
        "changed_at": "2024-05-01T12:00:00Z",
    }


def _imported(number: int) -> str:
    """Spread over most of a year, as a real import would be."""
    moment = datetime(2023, 1, 1, tzinfo=UTC) + timedelta(minutes=7 * (number % 40_000), seconds=number % 60)
    return moment.isoformat(timespec="seconds").replace("+00:00", "Z")


def lines(name: str) -> Iterator[Record]:
    """The records of one file of the data."""
    with gzip.open(DATA / "tate" / f"{name}.jsonl.gz", "rt", encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)


def _receiving() -> Iterator[Record]:
    yield {"record": "type", "name": "Artworks"}
    yield {"record": "group", "name": "public"}
    yield {"record": "profile", "name": "artworks", "type": "Artworks", "groups": ["public"], "version_policy": "none"}
    yield {"record": "vocabulary", "key": "subjects", "label": "Subjects"}
    yield {
        "record": "field",
        "key": "srckey",
        "label": "Source key",
        "kind": "text",
        "types": ["Artworks"],
        "max_length": 255,
    }
    for key, kind, more in TEXTS:
        kind, more = ("long_text", {}) if key == "movements" else (kind, more)
        yield {"record": "field", "key": key, "label": key, "kind": kind, "types": ["Artworks"], **more}


def _write(path: Path, records: Iterator[Record]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as out:
        for record in records:
            out.write(json.dumps(record, ensure_ascii=False) + "\n")
    return path
