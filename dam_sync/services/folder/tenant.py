"""What is known about this folder: where its catalogue lies, who it is, and its schema."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from dam_sync.http.parsing import InvalidJson, parsed
from dam_sync.model.asset import digest_of
from dam_sync.model.clock import Clock
from dam_sync.model.errors import ContractBroken, InvalidValue, NotFound
from dam_sync.model.schema import AssetType, Field, FieldKind, Schema
from dam_sync.services.folder import codec, facts
from dam_sync.services.folder.api.alike import AlikeNames, ComparedFiles, compared
from dam_sync.services.folder.api.bag import SEALED
from dam_sync.services.folder.api.catalogue import IN_SHEET, LONGEST_LINE, SCRATCH, Catalogue, Record
from dam_sync.services.folder.api.disk import Disk
from dam_sync.services.folder.api.foreign_bag import DECLARATION, PAYLOAD, ForeignBag
from dam_sync.services.folder.api.sheet import Sheet, write
from dam_sync.services.folder.api.unplaced import UnplacedTerms
from dam_sync.services.folder.api.walk import FileTree

ABOUT = "archive.json"
SHEET = "catalogue.csv"
FORMAT = "dam-sync folder, version 1"
MOST = 1_000_000
LOOKED_AT = 50_000
LOCALES = "the source has too many languages to list; name those of its fields that are needed in the mapping"
OWN_FIELDS: Final = (
    Field(facts.SOURCE_KEY, FieldKind.TEXT, "Key of the asset at its source"),
    Field(facts.CREATED, FieldKind.INSTANT, "Date of creation"),
)


@dataclass(slots=True)
class Tenant:
    """One folder. sheet: whether the assets are read from a CSV file, and written to one. sidecars: whether these are
    assets where there is no catalogue. base: `data/` in a bag, nothing in a folder whose catalogue lies at its top.
    bag: if another program made one of the folder. tree: what is read instead of the catalogue. spelled: the path as
    the job file leads to it; known_as: the same without steps up, by which a folder without a name is known."""

    disk: Disk
    clock: Clock
    read_only: bool
    sheet: bool = False
    sidecars: bool = False
    base: str = ""
    spelled: str = field(init=False)
    known_as: str = field(init=False)
    catalogue: Catalogue = field(init=False)
    unplaced: UnplacedTerms = field(init=False)
    alike: AlikeNames = field(init=False)
    bag: ForeignBag | None = None
    tree: FileTree | None = None
    rows: Sheet | None = None
    _adopted: Schema | None = None

    def __post_init__(self) -> None:
        self.spelled, self.known_as = str(self.disk.root), _without_steps_up(self.disk.root)
        self.look(self.disk)

    def look(self, disk: Disk) -> None:
        """See what lies in a folder."""
        self.disk = disk
        self.base = "" if self._is_at("catalogue.jsonl") or self._is_at(SHEET) else "data/"
        self.catalogue = Catalogue(
            disk, f"{self.base}catalogue.jsonl", longest=LONGEST_LINE // IN_SHEET if self.sheet else LONGEST_LINE
        )
        self.unplaced, self.alike = UnplacedTerms(self.catalogue), AlikeNames(disk)
        if not self.read_only or not disk.root.is_dir():
            return
        if self._is_at(DECLARATION) and (disk.root / PAYLOAD).is_dir() and not self._is_at(ABOUT):
            self.bag = ForeignBag(disk)
        if self.sheet or (not self.catalogue.exists and self._is_at(f"{self.base}{SHEET}")):
            self.rows = Sheet(disk, f"{self.base}{SHEET}", self.catalogue, codec.field_of, OWN_FIELDS)
        elif not self.catalogue.exists and not self._is_at(ABOUT):
            self.tree = FileTree(disk, sidecars=self.sidecars, bag=self.bag)

    @property
    def listing(self) -> Catalogue | FileTree | Sheet:
        """What is read."""
        return self.tree or self.rows or self.catalogue

    def write_sheet(self) -> None:
        """Write the assets as CSV, where that is requested."""
        if self.sheet:
            known = [codec.field_of(record) for record in self.catalogue.records("field")]
            write(self.disk, f"{self.base}{SHEET}", self.catalogue, {each.key: each for each in (*OWN_FIELDS, *known)})

    def _is_at(self, path: str) -> bool:
        return self.disk.root.is_dir() and self.disk.size(path) is not None

    def files(self, path: str) -> str:
        """The path of a file in the folder, by its path in the catalogue."""
        return path if self.tree is not None else f"{self.base}files/{path}"

    def place_of(self, path: str) -> str:
        """The same of a file to be read, which may be there in another form of Unicode or in another case. Raises
        NotFound, InvalidValue."""
        place = self.files(path)
        if self.tree is not None or self.disk.is_there(place):
            return place
        return self.alike.find(place)

    def digests_of(self, place: str) -> Mapping[str, str]:
        """Those that the manifests of a bag have of a file; none if another program made no bag of the folder."""
        return self.bag.manifests.digests.get(place, {}) if self.bag is not None else {}

    def trash(self, path: str) -> str:
        """The same for a file of an asset in the trash."""
        return f"{self.base}trash/{path}"

    # -- who it is ------------------------------------------------------------------------------------------------

    def identity(self) -> str:
        """A name that stays when the folder is moved. Of a folder that dam-sync did not make, its path."""
        return str(self._about().get("id") or self.unnamed)

    @property
    def unnamed(self) -> str:
        """The name of a folder that dam-sync did not make, or did not make yet: of its path."""
        return f"folder-{digest_of(self.known_as)[:16]}"

    @property
    def former(self) -> str:
        """The same of the path as the job file spells it, by which earlier releases knew the folder."""
        return f"folder-{digest_of(self.spelled)[:16]}"

    @property
    def is_ours(self) -> bool:
        """Whether dam-sync made the folder."""
        return bool(self._about())

    def found(self) -> None:
        """Make the folder and give it a name, if it has none. Raises DiskFull, Denied."""
        if self._about():
            return
        with self.catalogue.exclusive():
            if not self._about():
                self._tell({"format": FORMAT, "id": f"folder-{self.clock.token()[:16]}", "locales": []})

    def _about(self) -> Record:
        try:
            about = parsed(self.disk.read(ABOUT, MOST))
        except NotFound:
            return {}
        except InvalidJson:
            raise ContractBroken(f"{ABOUT} is not JSON", hint="restore it from a backup of the folder") from None
        if not isinstance(about, dict) or about.get("format") != FORMAT:
            raise ContractBroken(f"{ABOUT} is not of the format “{FORMAT}”", hint="update dam-sync")
        return about

    def _tell(self, about: Record) -> None:
        data = json.dumps(about, indent=1).encode() + b"\n"
        if len(data) > MOST:
            raise InvalidValue(f"{ABOUT} would have {len(data):,} bytes, more than are read of it", hint=LOCALES)
        self.disk.write(ABOUT, [data], f"{SCRATCH}/{self.clock.token()}")

    def is_behind(self, *, bag: bool) -> bool:
        """Whether the catalogue was written after what a run makes of it at its end, by a run that was killed."""
        made = [f"{self.base}{SHEET}"] * self.sheet + [SEALED] * bag
        return self.catalogue.exists and any(self._is_older(path) for path in made)

    def _is_older(self, path: str) -> bool:
        if not self.disk.size(path):  # it is torn, or not there
            return True
        return self.disk.changed_at(path) <= self.disk.changed_at(f"{self.base}catalogue.jsonl")

    def compare_files(self) -> ComparedFiles:
        """The files below `files` and those that assets name, in a folder that people made and that has not too many
        assets to look at each; blocks."""
        ids = () if self.tree is not None or self.is_ours else self.listing.asset_ids()
        if not 0 < len(ids) <= LOOKED_AT:
            return ComparedFiles()
        named = {str(file.get("file") or "") for each in ids for file in self._files_of(each)}
        try:
            found = set(FileTree(Disk(self.disk.root / self.base / "files"), sidecars=True).asset_ids())
        except NotFound:
            return ComparedFiles()
        return compared(named, found)

    def _files_of(self, identity: str) -> Iterator[Record]:
        try:
            record = self.listing.asset(identity)
            yield from (file for part in ("versions", "attachments") for file in record.get(part) or ())
        except (InvalidValue, NotFound, AttributeError, TypeError):  # reading it alone says what is wrong
            return

    # -- what it can hold -------------------------------------------------------------------------------------------

    def adopt(self, source: Schema) -> None:
        """Take the source's fields and vocabularies for our own where we lack them, but for fields that a service
        keeps itself; written with the first asset."""
        self._adopted = source

    def schema(self) -> Schema:
        """What the catalogue declares, what was adopted, and the fields that every folder has."""
        source = self._adopted
        records = [*self._declared(), *self._undeclared(source)]
        fields = [codec.field_of(record) for record in records if record["record"] == "field"]
        by_key = {known.key: known for known in (*filter(self._has, OWN_FIELDS), *fields)}
        vocabularies = [codec.vocabulary_of(record) for record in records if record["record"] == "vocabulary"]
        types = [str(record["name"]) for record in records if record["record"] == "type"]
        adopted = source.locales if source is not None else ()
        return Schema(
            fields=by_key,
            vocabularies={each.key: each for each in vocabularies},
            types=tuple(AssetType(name, profile=name) for name in types),
            locales=tuple(dict.fromkeys((*self._about().get("locales", ()), *adopted))),
            container_kinds=facts.CONTAINERS,
        )

    def _has(self, own: Field) -> bool:
        """Whether assets can have a field that we give to every folder: what others made, and is a source, has no
        marker of ours, and a list of theirs has dates only in a column for them."""
        if self._adopted is not None or not self.read_only or self.is_ours:
            return True
        named = self.rows.names(own.key) if self.rows is not None else False
        listed = self.rows is not None and not self.catalogue.exists
        return named or (own.key == facts.CREATED and not listed)

    def _declared(self) -> Iterator[Record]:
        for kind in ("type", "vocabulary", "field"):
            yield from self.listing.records(kind)

    def lacking(self) -> list[Record]:
        """Records that declare what was adopted and is not in the catalogue."""
        return self._undeclared(self._adopted)

    def _undeclared(self, source: Schema | None) -> list[Record]:
        if source is None:
            return []
        known = {(record["record"], str(record.get("key") or record.get("name"))) for record in self._declared()}
        wanted: list[Record] = [{"record": "type", "name": each.name} for each in source.types]
        wanted += [codec.vocabulary_record(each) for each in source.vocabularies.values()]
        kept = [each for each in source.fields.values() if not (each.system or each.derived)]
        wanted += [codec.field_record(each) for each in kept]
        return [each for each in wanted if (each["record"], str(each.get("key") or each.get("name"))) not in known]

    def declare(self) -> None:
        """Write down what was adopted. Safe to repeat, and for several workers at once."""
        source = self._adopted
        if source is None:
            return
        about, locales = self._about(), list(self.schema().locales)
        if about and about.get("locales") != locales:
            self._tell({**about, "locales": locales})
        self.catalogue.change(lambda: self._undeclared(source))
        if self._adopted is source:
            self._adopted = None


def _without_steps_up(path: Path) -> str:
    """`jobs/../archive` is `archive`, from whichever folder a job file leads to it; links are followed only where a
    step up leads elsewhere otherwise."""
    plain = os.path.normpath(path)
    real = os.path.realpath(path)
    return plain if os.path.realpath(plain) == real else real
