"""Plain libraries of any size, for tests that count and measure; every asset is like the next one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

Record = dict[str, Any]
START = datetime(2020, 1, 1, tzinfo=UTC)
TINY = "tiny.txt"
MAPPING = """\
version: 1
locales: [{locales}]
profile: {{default: images}}
fields:
  srckey: {{marker: true}}
  title: {{from: [{title}, filename], required: true}}
  note: {{from: fields.note}}
tags: {{from: "fields.keywords[]"}}
placements: {{from: "placements.folder[].path", pipe: [{{strip_prefix: /Library}}], as: category}}
security:
  groups: {{const: [public]}}
ignore: [stat_views, stat_downloads, annotation, point_of_interest, latitude, longitude, address]
unmapped: report
"""

BACK = """\
version: 1
locales: [en]
profile: {default: Picture}
fields:
  srckey: {marker: true}
  title: {from: [fields.title, filename], required: true}
  note: {from: fields.note}
  place: {from: fields.place}
  medium: {from: fields.medium}
  credit: {from: fields.credit}
  keywords: {from: "tags[]"}
asset:
  status: {const: published}
placements: {from: "placements.category[].path", as: folder}
unmapped: report
"""


@dataclass(frozen=True, slots=True)
class Bulk:
    """What a library is like. tagged, versioned: every nth asset has tags, a second file version; 0 is none."""

    assets: int
    folders: int = 0
    tagged: int = 0
    versioned: int = 0
    localized: bool = False
    size: int | None = None  # bytes of each file, generated; None: all share one tiny file
    stored: bool = False  # each asset has a file of its own by its name, in the folder of files

    def has_tags(self, number: int) -> bool:
        return bool(self.tagged) and number % self.tagged == 0

    def kept_versions(self, number: int) -> int:
        return 2 if self.versioned and number % self.versioned == 0 else 1

    @property
    def tags(self) -> int:
        """Assets with tags."""
        return sum(self.has_tags(number) for number in range(1, self.assets + 1))

    @property
    def older_versions(self) -> int:
        """File versions besides the current ones."""
        return sum(self.kept_versions(number) - 1 for number in range(1, self.assets + 1))

    def members(self) -> list[int]:
        """Assets in each folder."""
        return [len(range(start, self.assets, self.folders)) for start in range(self.folders)]


@dataclass(frozen=True, slots=True)
class Written:
    """Where a library's files are."""

    source: Path
    target: Path
    mapping: Path
    files: Path


def write_bulk(folder: Path, bulk: Bulk) -> Written:
    """The source's catalogue, the receiving tenant's, the mapping and the tiny file."""
    files = folder / "files"
    files.mkdir(parents=True, exist_ok=True)
    (files / TINY).write_bytes(b"the same few bytes for every asset\n")
    mapping = folder / "mapping.yaml"
    mapping.write_text(_mapping(bulk), encoding="utf-8")
    source = _write(folder / "source.jsonl", _source(bulk))
    return Written(source, _write(folder / "target.jsonl", _target()), mapping, files)


def write_bulk_back(folder: Path, bulk: Bulk) -> Written:
    """The same from service E to service A: six fields beside the marker, no older versions."""
    files = folder / "files"
    files.mkdir(parents=True, exist_ok=True)
    (files / TINY).write_bytes(b"the same few bytes for every asset\n")
    mapping = folder / "mapping.yaml"
    mapping.write_text(BACK, encoding="utf-8")
    source = _write(folder / "source.jsonl", _source_of_e(bulk))
    return Written(source, _write(folder / "target.jsonl", _target_of_a()), mapping, files)


def _source_of_e(bulk: Bulk) -> Iterator[Record]:
    yield from _target()
    for key in ("place", "medium", "credit"):
        yield {"record": "field", "key": key, "label": key, "kind": "text", "types": ["Images"], "max_length": 255}
    for number in range(bulk.folders):
        yield {"record": "container", "kind": "category", "path": [f"Category {number}"]}
    for number in range(1, bulk.assets + 1):
        asset = _asset(bulk, number)
        keywords = asset["fields"].pop("keywords", [])
        asset["fields"] |= {"place": "Quay", "medium": "Oil on canvas", "credit": f"Gift no. {number}"}
        path = [f"Category {(number - 1) % bulk.folders}"] if bulk.folders else []
        places = [{"kind": "category", "path": path}] if path else []
        yield {**asset, "type": "Images", "tags": keywords, "placements": places, "rights": {"groups": ["public"]}}


def _target_of_a() -> Iterator[Record]:
    yield {"record": "type", "name": "Picture", "media": ["PICTURE"]}
    for key, more in (
        ("srckey", {}),
        ("title", {"required": True}),
        *((key, {}) for key in ("note", "place", "medium", "credit")),
        ("keywords", {"multiple": True}),
    ):
        kind = "long_text" if key == "note" else "text"
        yield {"record": "field", "key": key, "label": key, "kind": kind, "types": ["Picture"], **more}


def _mapping(bulk: Bulk) -> str:
    if bulk.localized:
        return MAPPING.format(locales="en, fr", title="fields.title.en")
    return MAPPING.format(locales="en", title="fields.title")


def _source(bulk: Bulk) -> Iterator[Record]:
    yield {"record": "type", "name": "Picture", "media": ["PICTURE"]}
    for key, kind, more in (
        ("title", "text", {"required": True, "localized": bulk.localized, "max_length": 255}),
        ("note", "long_text", {}),
        ("keywords", "text", {"multiple": True}),
    ):
        yield {"record": "field", "key": key, "label": key, "kind": kind, "types": ["Picture"], **more}
    for number in range(bulk.folders):
        yield {"record": "container", "kind": "folder", "path": ["Library", f"Folder {number}"]}
    for number in range(1, bulk.assets + 1):
        yield _asset(bulk, number)


def _asset(bulk: Bulk, number: int) -> Record:
    title = f"Picture no. {number}"
    fields: Record = {"title": {"texts": {"en": title, "fr": f"Image n° {number}"}} if bulk.localized else title}
    fields["note"] = f"What is told of number {number}, at some length. " * 4
    if bulk.has_tags(number):
        fields["keywords"] = ["bulk", f"decade {number // 10}"]
    stored = (START + timedelta(seconds=31 * number)).isoformat().replace("+00:00", "Z")
    name = f"picture-{number:06d}.jpg"
    folder = ["Library", f"Folder {(number - 1) % bulk.folders}"] if bulk.folders else []
    return {
        "record": "asset",
        "id": str(number),
        "filename": name,
        "status": "published",
        "form_type": "PICTURE",
        "type": "Picture",
        "fields": fields,
        "versions": [_version(bulk, name, 10 * number + index) for index in range(bulk.kept_versions(number))],
        "placements": [{"kind": "folder", "path": folder}] if folder else [],
        "created_at": stored,
        "imported_at": stored,
        "changed_at": stored,
    }


def _version(bulk: Bulk, name: str, seed: int) -> Record:
    if bulk.size is None:
        return {"name": name, "file": TINY}
    return {"name": name, "generate": {"size": bulk.size, "seed": seed}}


def _target() -> Iterator[Record]:
    yield {"record": "type", "name": "Images"}
    yield {"record": "group", "name": "public"}
    yield {"record": "profile", "name": "images", "type": "Images", "groups": ["public"], "version_policy": "file_only"}
    for key, kind, more in (
        ("srckey", "text", {"max_length": 255}),
        ("title", "text", {"required": True, "max_length": 255}),
        ("note", "long_text", {}),
    ):
        yield {"record": "field", "key": key, "label": key, "kind": kind, "types": ["Images"], **more}


def _write(path: Path, records: Iterator[Record]) -> Path:
    with path.open("w", encoding="utf-8") as out:
        for record in records:
            out.write(json.dumps(record, ensure_ascii=False) + "\n")
    return path
