"""Catalogues: a tenant's schema, vocabularies, containers and assets as JSON lines, in the neutral form."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from dam_sync.emulation.object_store import Blob, ObjectStore
from dam_sync.emulation.world import Json

Record = Mapping[str, Json]

_LISTS = {
    "type": "types",
    "field": "fields",
    "vocabulary": "vocabularies",
    "term": "terms",
    "container": "containers",
    "status": "statuses",
    "group": "groups",
    "profile": "profiles",
    "relation_kind": "relation_kinds",
}


@dataclass(slots=True)
class Catalogue:
    """The records of a catalogue by their kind; `assets` may be iterated more than once and is not held in memory."""

    types: list[Record] = field(default_factory=list)
    fields: list[Record] = field(default_factory=list)
    vocabularies: list[Record] = field(default_factory=list)
    terms: list[Record] = field(default_factory=list)
    containers: list[Record] = field(default_factory=list)
    statuses: list[Record] = field(default_factory=list)
    groups: list[Record] = field(default_factory=list)
    profiles: list[Record] = field(default_factory=list)
    relation_kinds: list[Record] = field(default_factory=list)
    assets: Iterable[Record] = ()

    def add(self, record: Record) -> None:
        """Take a record that is no asset. Raises ValueError on an unknown kind."""
        name = _LISTS.get(str(record.get("record")))
        if name is None:
            raise ValueError(f"unknown record {record.get('record')!r}")
        getattr(self, name).append(record)


def read_catalogue(path: Path) -> Catalogue:
    """A catalogue file (`.gz` or plain). Raises ValueError naming file and line on a line that is no record."""
    catalogue = Catalogue(assets=_Assets(path))
    for number, line in _lines(path):
        if '"asset"' in line[:40] and json.loads(line).get("record") == "asset":
            continue
        try:
            record = json.loads(line)
            if record.get("record") != "asset":
                catalogue.add(record)
        except (ValueError, AttributeError) as problem:
            raise ValueError(f"{path}:{number}: {problem}") from None
    return catalogue


def catalogue_of(records: Iterable[Record]) -> Catalogue:
    """A catalogue of records at hand."""
    assets: list[Record] = []
    catalogue = Catalogue(assets=assets)
    for record in records:
        if record.get("record") == "asset":
            assets.append(record)
        else:
            catalogue.add(record)
    return catalogue


def blob_of(item: Record, files: Path | None, objects: ObjectStore) -> Blob:
    """The bytes of one of an asset's `versions` or `attachments`: a file below `files`, or generated.

    Raises ValueError for an item with neither, or a file when there is no folder of files.
    """
    made = item.get("generate")
    if made is not None:
        return objects.generated(int(made["size"]), made.get("seed", 0))
    if "file" not in item or files is None:
        raise ValueError(f"no bytes for {item.get('name')!r}: neither a generated blob nor a file in a given folder")
    return objects.file(files / item["file"])


def restrictions(record: Record, kind: str) -> list[Record]:
    """The restrictions of one kind (`denied`, `timed`, `download`, `container`, `sensitive`) of an asset's `rights`."""
    rows = (record.get("rights") or {}).get("restrictions") or ()
    return [row for row in rows if row.get("kind") == kind]


class _Assets:
    def __init__(self, path: Path) -> None:
        self._path = path

    def __iter__(self) -> Iterator[Record]:
        for number, line in _lines(self._path):
            if '"asset"' not in line:
                continue
            try:
                record = json.loads(line)
            except ValueError as problem:
                raise ValueError(f"{self._path}:{number}: {problem}") from None
            if record.get("record") == "asset":
                yield record


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if line.strip():
                yield number, line
