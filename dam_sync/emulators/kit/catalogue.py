"""Catalogues: a tenant's schema, vocabularies, containers and assets as JSON lines, in the neutral form."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from dam_sync.emulators.kit.environment import Json
from dam_sync.emulators.kit.object_store import Blob, ObjectStore

Record = Mapping[str, Json]

NEEDED: Mapping[str, tuple[str, ...]] = {
    "type": ("name",),
    "field": ("key", "kind"),
    "vocabulary": ("key",),
    "term": ("vocabulary", "id", "labels"),
    "container": ("kind", "path"),
    "status": ("name",),
    "group": ("name",),
    "profile": ("name",),
    "relation_kind": ("name",),
    "asset": ("id",),
}
"""What a record of a catalogue file must have. `rights` of assets and containers: groups, release_at, expires_at,
restrictions (`restrictions`); a container may be `public` or `stealth`, a group say whom it `opens` to, see
`audience_oracle.py` of each emulator."""
OWN_FIELDS = frozenset({"title", "name", "description"})  # some services have these without a field record
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
        """Take a record that is not an asset. Raises ValueError on an unknown kind."""
        name = _LISTS.get(str(record.get("record")))
        if name is None:
            raise ValueError(f"unknown record {record.get('record')!r}")
        getattr(self, name).append(record)


def read_catalogue(path: Path) -> Catalogue:
    """A catalogue file (`.gz` or plain). Raises OSError, or ValueError naming file and line of what is not a record."""
    catalogue = Catalogue()
    for number, line in _lines(path):
        try:
            record = _record(line)
            if record["record"] != "asset":
                catalogue.add(record)
        except (ValueError, TypeError) as problem:
            raise ValueError(f"{path}:{number}: {problem}") from None
    catalogue.assets = CatalogueAssets(path, OWN_FIELDS.union(str(field["key"]) for field in catalogue.fields))
    return catalogue


def _record(line: str) -> Record:
    """One line. Raises ValueError for what is not a record, or lacks something."""
    record = json.loads(line)
    if not isinstance(record, dict):
        raise ValueError("a line is a JSON object")
    kind = str(record.get("record"))
    if kind not in NEEDED:
        raise ValueError(f"unknown record {record.get('record')!r}; there are {', '.join(NEEDED)}")
    missing = [key for key in NEEDED[kind] if record.get(key) in (None, "")]
    if missing:
        raise ValueError(f"the record {kind!r} lacks {', '.join(missing)}")
    return record


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
    return objects.file(_inside(files, str(item["file"])))


def _inside(files: Path, name: str) -> Path:
    """The file of a catalogue, wherever links lead. Raises ValueError for one outside the folder, OSError for none."""
    folder = files.resolve(strict=True)
    path = (folder / name).resolve(strict=True)
    if not path.is_relative_to(folder):
        raise ValueError(f"the file {name!r} lies outside the folder {files}")
    return path


def restrictions(record: Record, kind: str) -> list[Record]:
    """The restrictions of one kind (`denied`, `timed`, `download`, `container`, `sensitive`) of an asset's `rights`."""
    rows = (record.get("rights") or {}).get("restrictions") or ()
    return [row for row in rows if row.get("kind") == kind]


class CatalogueAssets:
    """The assets of a file; `where` names the line that was returned last, for whoever cannot make sense of it."""

    def __init__(self, path: Path, fields: frozenset[str]) -> None:
        self._path, self._fields = path, fields
        self.where = str(path)

    def __iter__(self) -> Iterator[Record]:
        for number, line in _lines(self._path):
            if '"asset"' not in line:
                continue
            record = _record(line)
            if record["record"] == "asset":
                self.where = f"{self._path}:{number}"
                self._check(record)
                yield record
        self.where = str(self._path)

    def _check(self, record: Record) -> None:
        unknown = sorted(set(record.get("fields") or {}) - self._fields)
        if unknown:
            raise ValueError(
                f"asset {record['id']!r} has the field {unknown[0]!r}, which no record of the file declares"
            )


def unloaded(asset: Record, problem: Exception) -> ValueError:
    """Why the record of an asset cannot be loaded."""
    why = f"{problem.args[0]!r} is missing, or no record of the file declares it" if _is_missing(problem) else problem
    return ValueError(f"asset {asset.get('id')!r}: {why}")


def _is_missing(problem: Exception) -> bool:
    return isinstance(problem, KeyError) and bool(problem.args)


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if line.strip():
                yield number, line
