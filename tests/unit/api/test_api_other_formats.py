"""Whatever reads text says what a file is that is none, and what to do with it."""

from __future__ import annotations

import gzip
import io
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from dam_sync.api.csv_rows import read_rows
from dam_sync.api.plans.plan_file import read_rows as read_plan
from dam_sync.mapping.document import mapping_of_file
from dam_sync.mapping.tables import TableFault, read_table
from dam_sync.model.errors import ConfigError, ContractBroken, DamSyncError
from dam_sync.model.other_formats import HEAD, other_format
from dam_sync.services.folder.api.catalogue import Catalogue
from dam_sync.services.folder.api.disk import Disk
from dam_sync.services.folder.api.sheet import Sheet
from dam_sync.services.folder.codec import field_of


def packed(*names: str, mimetype: str = "") -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        if mimetype:
            archive.writestr(zipfile.ZipInfo("mimetype"), mimetype)
        for name in names:
            archive.writestr(name, "<xml/>" * 50)
    return made.getvalue()


OPEN = "application/vnd.oasis.opendocument."
FILES = {
    "a spreadsheet": packed("[Content_Types].xml", "_rels/.rels", "xl/workbook.xml"),
    "a ZIP archive": packed("list.csv"),
    "a text document": packed("[Content_Types].xml", "word/document.xml"),
    "a PDF": b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\n",
    "a gzip file": gzip.compress(b"id,value\n", mtime=0),
    "a document of an old Office program": bytes.fromhex("d0cf11e0a1b11ae1") + bytes(600),
    "UTF-16": "id;value\n1;é\n".encode("utf-16"),
}


BEGINNINGS = [
    *((data, name) for name, data in FILES.items()),
    (packed("content.xml", mimetype=f"{OPEN}spreadsheet"), "a spreadsheet"),
    (packed("content.xml", mimetype=f"{OPEN}text"), "a text document"),
    (packed("docProps/app.xml", "xl/workbook.xml"), "a spreadsheet"),
    ("id;value\n".encode("utf-16-le"), "UTF-16"),
    ("id;value\n".encode("utf-16-be"), "UTF-16"),
    ("id;value\n".encode("utf-32"), "UTF-32"),
    (b"\xff\xd8\xff\xe0\x00\x10JFIF", "a picture"),
]


@pytest.mark.parametrize(("data", "name"), BEGINNINGS, ids=[name for _, name in BEGINNINGS])
def test_a_format_is_known_by_its_first_bytes(data: bytes, name: str) -> None:
    found = other_format(data[:HEAD])
    assert found is not None
    assert found.name == name
    assert found.remedy


@pytest.mark.parametrize(
    "data", [b"", b"id,value\n", b"\xef\xbb\xbfid;value\n", b"PK,value\n", "é;ü\n".encode("cp1252"), b"\0\0\0\0", b"a"]
)
def test_text_is_left_to_its_reader(data: bytes) -> None:
    assert other_format(data) is None


def as_list(path: Path) -> None:
    with read_rows(path, ("id", "value"), "") as rows:
        list(rows)


def as_sheet(path: Path) -> None:
    path.rename(path.with_name("catalogue.csv"))
    disk = Disk(path.parent)
    Sheet(disk, "catalogue.csv", Catalogue(disk, "catalogue.jsonl"), field_of, ()).asset_ids()


def as_catalogue(path: Path) -> None:
    with path.open("ab") as out:
        out.write(b"\n")
    path.rename(path.with_name("catalogue.jsonl"))
    Catalogue(Disk(path.parent), "catalogue.jsonl").asset_ids()


READERS: dict[str, tuple[Callable[[Path], object], type[Exception]]] = {
    "list": (as_list, ConfigError),
    "mapping": (mapping_of_file, ConfigError),
    "table": (lambda path: read_table(path.parent, path.name, "id", "value"), TableFault),
    "plan": (lambda path: list(read_plan(path)), ConfigError),
    "sheet": (as_sheet, ContractBroken),
    "catalogue": (as_catalogue, ContractBroken),
}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("reader", READERS)
def test_every_reader_of_text_says_what_it_got(reader: str, name: str, tmp_path: Path) -> None:
    path = tmp_path / "given.csv"
    path.write_bytes(FILES[name])
    read, error = READERS[reader]
    with pytest.raises(error) as told:
        read(path)
    assert f" {name}" in str(told.value)
    if reader in ("list", "sheet") and name == "a spreadsheet":
        assert isinstance(told.value, DamSyncError)
        assert "save it as CSV in the encoding UTF-8" in told.value.hint
