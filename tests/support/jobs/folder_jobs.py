"""Folders as source and target of jobs: filled from a catalogue's records, and read as the disk has them."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

from dam_sync.api.emulation.sandbox import Emulated, write_job, write_suggested_mapping
from dam_sync.emulators.kit.object_store import Blob
from tests.support.jobs.accepted_exposure import ACCEPTED
from tests.support.jobs.tenants import Tenant
from tests.support.services.profiles import FOLDER

Row = Mapping[str, Any]
PARTS = ("versions", "attachments")


@dataclass(frozen=True)
class InFolder:
    """A folder as source or target of a job; goes where `Emulated` goes."""

    path: Path
    options: Mapping[str, Any] = field(default_factory=dict)
    kind: str = FOLDER

    def as_job(self) -> dict[str, Any]:
        return {"kind": self.kind, "options": {"path": str(self.path), **self.options}}

    @property
    def records(self) -> list[dict[str, Any]]:
        """Records of the catalogue, the last of each."""
        path = self.path / "data" / "catalogue.jsonl"
        if not path.exists():
            return []
        found = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines(keepends=True)]
        return list({(row["record"], row.get("id", row.get("key", str(row)))): row for row in found}.values())

    @property
    def assets(self) -> list[dict[str, Any]]:
        """Records of assets."""
        return [row for row in self.records if row["record"] == "asset"]

    def bytes_of(self, file: Row) -> bytes:
        """A file of an asset, wherever it is."""
        return self.place_of(file).read_bytes()

    def place_of(self, file: Row) -> Path:
        """Where it is."""
        name = str(file["file"])
        path = self.path / "data" / "files" / name
        return path if path.exists() else self.path / "data" / "trash" / name

    def rows(self) -> Iterator[Row]:
        """Assets as the emulated services give the ground truth of theirs: digests and sizes are those of the bytes."""
        records = self.records
        localized = {row["key"] for row in records if row["record"] == "vocabulary" and row.get("localized")}
        terms = {row["id"]: row for row in records if row["record"] == "term"}
        spoken = {term for term, row in terms.items() if row["vocabulary"] in localized}
        for row in records:
            if row["record"] == "asset":
                files = {part: [self._file(file) for file in row.get(part, ())] for part in PARTS}
                fields = {key: _whole(value, terms, spoken) for key, value in row.get("fields", {}).items()}
                yield {**MISSING, **row, **files, "fields": fields, "catalogue_id": row["id"]}

    def _file(self, file: Row) -> dict[str, Any]:
        path = self.place_of(file)
        found = path.stat()
        return {**file, "id": file["file"], "size": found.st_size, "digests": _digests(path, found.st_mtime_ns)}

    def fill(self, records: Sequence[Row], *, digests: bool = False) -> None:
        """Write a catalogue and the files that its records ask for. digests: whether the catalogue names theirs."""
        files = self.path / "data" / "files"
        files.mkdir(parents=True, exist_ok=True)
        with (self.path / "data" / "catalogue.jsonl").open("a", encoding="utf-8") as out:
            for record in records:
                made: dict[str, list[dict[str, Any]]] = {
                    part: [_made(files, record, part, file) for file in record.get(part, ())] for part in PARTS
                }
                if made["versions"] and record.get("filename"):
                    made["versions"][-1]["name"] = record["filename"]  # the current file has the asset's name
                if digests:
                    made = {part: [self._file(file) for file in several] for part, several in made.items()}
                out.write(json.dumps({**record, **made} if record["record"] == "asset" else record) + "\n")


MISSING: Row = {"machine_tags": [], "tags": [], "relations": [], "placements": [], "rights": {}, "fields": {}}


@lru_cache(1000)
def _digests(path: Path, changed: int) -> dict[str, str]:
    data = path.read_bytes()
    return {name: hashlib.new(name, data).hexdigest() for name in ("md5", "sha256")}


def _whole(value: Any, terms: Mapping[str, Row], spoken: Container[str]) -> Any:
    """A value whose terms have what the vocabulary says of them. spoken: terms that have languages."""
    if isinstance(value, list):
        return [_whole(each, terms, spoken) for each in value]
    term = terms.get(value.get("id", "")) if isinstance(value, dict) else None
    if term is None:
        return value
    labels = {key: label for key, label in term["labels"].items() if key != "und" and term["id"] in spoken}
    more = {"labels": labels, "synonyms": term.get("synonyms", {}), "path": _path(term, terms)}
    return {**value, **more, "label": next(iter(term["labels"].values()))}


def _path(term: Row, terms: Mapping[str, Row]) -> list[str]:
    above = terms.get(term.get("parent") or "")
    return [*(_path(above, terms) if above else ()), next(iter(term["labels"].values()))]


def _made(files: Path, record: Row, part: str, file: Row) -> dict[str, str]:
    wanted = file["generate"]
    path = f"{record['id']}/{part}-{wanted['seed']}-{file['name']}"
    (files / path).parent.mkdir(exist_ok=True)
    (files / path).write_bytes(Blob("", wanted["size"], seed=wanted["seed"]).read())
    return {"name": file["name"], "file": path}


class FolderTenant(Tenant):
    """A folder where a suite expects an emulated tenant; nobody calls it, and nobody looks into it."""

    def __init__(self, path: Path) -> None:
        super().__init__(path.as_uri())
        self.side = InFolder(path, {"bag": "off"})

    def ask(self, path: str, body: Any = None) -> Any:
        """What the control pages of an emulator would return."""
        if path == "/_emulator/assets":
            return list(self.side.rows())
        if path == "/_emulator/audience":
            return {"now": {row["id"]: _viewers(row) for row in self.side.rows()}, "opened": []}
        return {"api": {}, "refused": {}}


def _viewers(row: Row) -> list[str]:
    """Who would see an asset in a service that gave it the rights of the record."""
    rights, now = row["rights"], datetime.now(UTC).isoformat()
    out_of_time = (rights.get("release_at") or "") > now or (rights.get("expires_at") or "9") < now
    unreleased = any(one["kind"] == "unreleased" for one in rights.get("restrictions", ()))
    if row["status"] != "published" or out_of_time or unreleased:
        return []
    names = rights.get("groups") or [one["detail"] for one in rights.get("restrictions", ()) if one["kind"] == "timed"]
    return [f"group:{name}" for name in names] or ["user"]


Side = Emulated | InFolder


def side_of(kind: str, tenant: Tenant, options: Mapping[str, Any]) -> Side:
    """A tenant as source or target of a job."""
    return tenant.side if isinstance(tenant, FolderTenant) else Emulated(kind, tenant.url, options)


def job_between(folder: Path, source: Side, target: Side, marker: str = "", **more: Any) -> Path:
    """A job file with a suggested mapping."""
    folder.mkdir(parents=True, exist_ok=True)
    mapping = folder / "mapping.yaml"
    job = write_job(folder / "job.yaml", folder.name, source, target, mapping, **{"policy": ACCEPTED, **more})
    asyncio.run(write_suggested_mapping(job, mapping, marker))
    return job
