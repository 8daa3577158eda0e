"""The service `folder`: CSV and the JSON Schema."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import replace
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import Any

import bagit
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dam_sync.help import text_of
from dam_sync.model.asset import AssetId, FileRef
from dam_sync.model.errors import ContractBroken, IntegrityError, InvalidValue
from dam_sync.model.safe_text import unguarded
from dam_sync.model.schema import FieldKind
from dam_sync.services.folder import codec
from dam_sync.services.folder.api.records import RECORD, json_schema
from dam_sync.services.folder.api.sheet import cells_of, joined, parted, record_of, safe
from dam_sync.services.folder.uploads import home
from tests.support.jobs.folder_jobs import InFolder
from tests.support.libraries.every_feature import everything as library
from tests.support.state.memory_journal import MemoryJournal
from tests.unit.services.test_folder_service import DRAFT, bytes_of, connect, content, everything, opened

ROWS = library()
FIELDS = {row["key"]: codec.field_of(row) for row in ROWS if row["record"] == "field"}


# -- CSV ---------------------------------------------------------------------------------------------------------------


@given(st.text())
def test_what_is_escaped_for_a_spreadsheet_is_read_back_the_same(text: str) -> None:
    cell = safe(text)
    assert unguarded(cell) == text
    assert not cell.startswith(("=", "+", "@", "\t", "\r", "\uff1d", "\uff0b", "\uff0d", "\uff20"))
    assert not cell.startswith("-") or float(cell) <= 0


def test_a_name_that_begins_with_an_apostrophe_is_written_to_its_cell_as_it_is() -> None:
    assert safe("'s-Hertogenbosch") == "'s-Hertogenbosch"


@given(st.lists(st.text(min_size=1)))
def test_several_values_share_a_cell(texts: list[str]) -> None:
    assert parted(joined(texts)) == texts


def test_every_value_is_read_from_its_cells_as_it_was() -> None:
    for row in (row for row in ROWS if row["record"] == "asset"):
        files = {part: [{"file": f"f/{file['name']}", **file} for file in row.get(part, ())] for part in PARTS}
        asset = codec.asset_of({**row, **files})
        cells = cells_of({**row, **files}, FIELDS)
        again = codec.asset_of(record_of(cells, {"id": row["id"]}, FIELDS))
        kinds = {key: FIELDS[key].kind for key in asset.fields}
        for key, value in asset.fields.items():
            assert kinds[key] is FieldKind.TERM or again.fields[key] == value
        assert (again.tags, again.placements, again.rights) == (asset.tags, asset.placements, asset.rights)
        assert (again.relations, again.status, again.filename) == (asset.relations, asset.status, asset.filename)
        assert [file.id for file in again.versions] == [file.id for file in asset.versions]
        assert record_of(cells, {**row, **files}, FIELDS)["fields"] == row["fields"], "unchanged cells change nothing"


PARTS = ("versions", "attachments")


async def exported(path: Path) -> Path:
    service = await opened(path, format="csv", bag="on")
    await service.create(DRAFT, content(), MemoryJournal())
    await service.close()
    return path / "data" / "catalogue.csv"


def changed(sheet: Path, column: str, cell: str, *, delimiter: str = ",") -> None:
    """Somebody edits the sheet."""
    text = sheet.read_text(encoding="utf-8-sig")
    rows = list(csv.DictReader(io.StringIO(text), delimiter=text[2]))
    out = io.StringIO()
    writer = csv.DictWriter(out, dict.fromkeys([*rows[0], column]), delimiter=delimiter)
    writer.writeheader()
    writer.writerows([{**row, column: cell} for row in rows])
    sheet.write_text(out.getvalue(), encoding="utf-8")


async def test_assets_are_written_as_csv_and_read_again(tmp_path: Path) -> None:
    sheet = await exported(tmp_path / "f")
    assert sheet.read_bytes().startswith(b"\xef\xbb\xbfid,filename,")
    assert bagit.Bag(str(tmp_path / "f")).validate()
    (plain,) = await everything(connect(tmp_path / "f", read_only=True))
    (row,) = await everything(connect(tmp_path / "f", read_only=True, format="csv"))
    assert row.asset.fields == plain.asset.fields
    assert (row.asset.rights, row.asset.placements) == (plain.asset.rights, plain.asset.placements)
    changed(sheet, "fields.title[fr]", "Mer", delimiter=";")
    service = connect(tmp_path / "f", read_only=True, format="csv")
    (row,) = await everything(service)
    assert row.asset.fields["title"].texts == {"en": "Sea", "fr": "Mer"}
    assert row.asset.versions == plain.asset.versions
    assert await bytes_of(service, row.asset.versions[0]) == b"bytes"
    changed(sheet, "fields.word", "New term")
    assert (await service.fetch(row.id)).fields["word"].label == "New term"  # the file is looked at again


async def test_the_fields_that_every_folder_has_keep_their_kind_in_a_sheet(tmp_path: Path) -> None:
    stored = datetime(2020, 5, 6, 7, 8, 9, tzinfo=UTC)
    service = await opened(tmp_path / "f", format="csv")
    await service.create(replace(DRAFT, fields={**DRAFT.fields, "created": stored}), content(), MemoryJournal())
    before = (await service.schema()).fields
    await service.close()
    again = connect(tmp_path / "f", read_only=True, format="csv")
    assert (await again.schema()).fields == before
    (entry,) = await everything(again)
    assert entry.asset.fields["created"] == stored


@pytest.mark.parametrize(
    ("kind", "cell", "message"),
    [
        (
            "date",
            "12.03.1998",
            "the cell of fields.x cannot be read: “12.03.1998” is not a date; write it as 2025-02-06",
        ),
        (
            "number",
            "12,5",
            "the cell of fields.x cannot be read: “12,5” is not a number; write it with a decimal point, 12.5",
        ),
        ("flag", "Ja", "the cell of fields.x cannot be read: “Ja” is neither yes nor no; write one of them"),
        ("instant", "12.03.1998", "the cell of fields.x cannot be read: “12.03.1998” is not a timestamp; write it as "),
    ],
)
def test_a_cell_of_another_form_is_shown_with_the_form_that_is_read(kind: str, cell: str, message: str) -> None:
    fields = {"x": codec.field_of({"key": "x", "kind": kind})}
    with pytest.raises(InvalidValue) as raised:
        record_of({"id": "1", "fields.x": cell}, {"id": "1"}, fields)
    assert raised.value.message.startswith(message)
    assert "errors JOB --retry" in raised.value.hint


async def test_a_cell_that_cannot_be_read_concerns_its_asset_alone(tmp_path: Path) -> None:
    sheet = await exported(tmp_path / "f")
    changed(sheet, "placements", "nothing")
    service = connect(tmp_path / "f", read_only=True, format="csv")
    (entry,) = await everything(service)
    assert entry.asset is None
    with pytest.raises(InvalidValue, match="colon"):
        await service.fetch(entry.id)


async def test_a_sheet_by_hand_is_a_library(tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "a.jpg").write_bytes(b"abc")
    text = "id;versions;fields.title;fields.note[fr];placements\n1;a.jpg;'=1+1;Été;folder:/Press/A\n2;;-5;;\n"
    (tmp_path / "catalogue.csv").write_text(text, encoding="utf-8")
    service = connect(tmp_path, read_only=True)
    assert (await service.probe()).total == 2
    first, second = [entry.asset for entry in await everything(service)]
    assert (first.fields["title"], first.fields["note"].texts, first.versions[0].size) == ("=1+1", {"fr": "Été"}, 3)
    assert second.fields["title"] == "-5"
    schema = await service.schema()
    assert (schema.fields["note"].localized, schema.fields["title"].kind) == (True, FieldKind.TEXT)
    assert [place.path async for place in service.containers()] == [("Press",), ("Press", "A")]


@pytest.mark.parametrize("separator", [";", ",", "\t", "|"])
async def test_a_first_line_that_names_the_separator_is_no_header(tmp_path: Path, separator: str) -> None:
    text = f"\ufeffsep={separator}\r\nid;fields.a\r\n1;x\r\n1;y\r\n".replace(";", separator)
    (tmp_path / "catalogue.csv").write_text(text.removesuffix(f"1{separator}y\r\n"), encoding="utf-8")
    (entry,) = await everything(connect(tmp_path, read_only=True))
    assert (entry.id, dict(entry.asset.fields)) == ("1", {"a": "x"})
    (tmp_path / "catalogue.csv").write_text(text, encoding="utf-8")
    with pytest.raises(ContractBroken, match=r"catalogue\.csv:4: the row has the id 1"):
        await connect(tmp_path, read_only=True).probe()


async def test_files_that_no_row_names_are_counted(tmp_path: Path) -> None:
    (tmp_path / "files" / "Press").mkdir(parents=True)
    for name in ("a.jpg", "Press/b.jpg", "Press/c.jpg", ".hidden"):
        (tmp_path / "files" / name).write_bytes(b"abc")
    text = "id,versions,placements\n1,a.jpg,\n2,Press/missing.jpg,\n3,Press/b.jpg,wrong\n"
    (tmp_path / "catalogue.csv").write_text(text, encoding="utf-8")
    notes = (await connect(tmp_path, read_only=True).probe()).notes
    assert [note for note in notes if "left out" in note] == [
        "files below `files` that the catalogue names at no asset, and that are left out: 2"
    ]
    (tmp_path / "catalogue.csv").write_text("id,versions\n1,a.jpg;Press/b.jpg;Press/c.jpg\n", encoding="utf-8")
    assert not any("left out" in note for note in (await connect(tmp_path, read_only=True).probe()).notes)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("id,fields.a\n1,x\n2,\xfc\n", "catalogue.csv:3: the row is not in UTF-8"),
        ('id,fields.a\n1,"x\ny"\n1,z\n', "catalogue.csv:4: the row has the id 1 of a row above"),
        ("id,tags\n1,x,y\n", "catalogue.csv:2: the row has more cells than the header"),
        ("id,tags\n,x\n", "catalogue.csv:2: the row has no id"),
    ],
)
async def test_the_line_of_a_row_that_cannot_be_read_is_named(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "catalogue.csv").write_text(text, encoding="latin-1")
    with pytest.raises(ContractBroken) as raised:
        await connect(tmp_path, read_only=True).probe()
    assert raised.value.message == said


@pytest.mark.parametrize(
    "text", ["", "title\n", "id,id\n", "id,wrong\n", "id\n1\n1\n", 'id\n"', "id,tags\n,x\n", "id\n\xff\n"]
)
async def test_what_is_not_a_sheet_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "catalogue.csv").write_text(text, encoding="latin-1")
    with pytest.raises(ContractBroken, match=r"catalogue\.csv"):
        await connect(tmp_path, read_only=True).probe()


async def test_columns_that_nobody_reads_are_named(tmp_path: Path) -> None:
    (tmp_path / "catalogue.csv").write_text("id,expires,tags,tags\n1,2030-01-01,a,b\n", encoding="utf-8")
    with pytest.raises(ContractBroken) as raised:
        await connect(tmp_path, read_only=True).probe()
    assert str(raised.value).endswith("unknown columns: expires; columns that are there twice: tags")
    assert raised.value.hint.startswith("rename or remove them")


async def test_columns_as_people_name_them_are_refused_with_the_names_to_write(tmp_path: Path) -> None:
    (tmp_path / "catalogue.csv").write_text("Nummer;Stücktitel;Expires;Maß [cm]\n1;;;\n", encoding="utf-8")
    with pytest.raises(ContractBroken) as raised:
        await connect(tmp_path, read_only=True).probe()
    assert "no column id" in str(raised.value)
    assert raised.value.hint.startswith(
        "the column with the number or path by which an asset is known has to be named `id`; rename or remove them: "
        "a field of an asset is a column like `fields.Nummer`; Expires is perhaps `expires_at`; "
    )


async def test_a_list_in_the_encoding_of_a_spreadsheet_is_refused_with_the_way_to_convert_it(tmp_path: Path) -> None:
    (tmp_path / "catalogue.csv").write_text("id;fields.Maß\n1;2\n", encoding="cp1252")
    with pytest.raises(ContractBroken, match=r"catalogue\.csv:1: the row is not in UTF-8") as raised:
        await connect(tmp_path, read_only=True).probe()
    assert "`iconv -f CP1252 -t UTF-8`" in raised.value.hint


# -- JSON Schema -------------------------------------------------------------------------------------------------------


async def test_what_is_written_is_of_the_published_form(tmp_path: Path) -> None:
    await exported(tmp_path / "f")
    written = [*InFolder(tmp_path / "f").records, *ROWS]
    assert {row["record"] for row in written} >= {"asset", "field", "vocabulary"}
    for row in written:
        made = RECORD.validate_python(row)
        assert row["record"] != "asset" or not made.model_extra
    assert set(json_schema()["discriminator"]["mapping"]) > {"asset", "term", "type"}


@pytest.mark.parametrize(
    ("part", "named"),
    [
        ({"expires_at": "2020-01-01T00:00:00Z"}, "expires_at, which is a key of `rights`"),
        ({"groups": ["staff"]}, "groups, which is a key of `rights`"),
        ({"filname": "two.jpg"}, "filname, perhaps filename"),
        ({"security": {"groups": ["staff"]}}, "security"),
        ({"rights": {"expires": "2020-01-01T00:00:00Z"}}, "rights.expires, perhaps expires_at"),
    ],
)
async def test_a_record_with_a_key_that_nobody_reads_is_not_taken_as_complete(
    tmp_path: Path, part: dict[str, Any], named: str
) -> None:
    record = {"record": "asset", "id": "1", **part}
    (tmp_path / "catalogue.jsonl").write_text(json.dumps(record) + "\n", encoding="utf-8")
    service = connect(tmp_path, read_only=True)
    await service.probe()
    with pytest.raises(InvalidValue) as raised:
        await service.fetch(AssetId("1"))
    assert str(raised.value).endswith(f"the record has unknown keys: {named}")


def test_the_schema_is_shipped() -> None:
    text = files("dam_sync.help").joinpath("catalogue.schema.json").read_text(encoding="utf-8")
    assert json.loads(text) == json_schema()
    assert text in text_of("catalogue")


@pytest.mark.parametrize("row", [{"record": "asset"}, {"record": "field", "key": "a", "kind": "b"}, {"record": "x"}])
def test_what_is_not_of_the_published_form_is_refused(row: Any) -> None:
    with pytest.raises(ValueError):
        RECORD.validate_python(row)


# -- what goes wrong ---------------------------------------------------------------------------------------------------


async def test_a_file_that_changes_while_it_is_read_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "a.jpg"
    path.write_bytes(b"a" * (3 << 20))
    stream = await connect(tmp_path, read_only=True).open(FileRef("a.jpg", "a.jpg"))
    blocks = aiter(stream)
    assert len(await anext(blocks)) == 1 << 20
    path.write_bytes(b"b" * (3 << 20))
    with pytest.raises(IntegrityError, match="changed while it was read"):
        await anext(blocks)
    await stream.aclose()


async def test_a_bag_that_cannot_be_sealed_does_not_hide_what_stopped_the_run(tmp_path: Path) -> None:
    service = await opened(tmp_path / "f", bag="on")
    (tmp_path / "f" / "bagit.txt").write_text("nonsense\n", encoding="utf-8")
    await service.create(DRAFT, content(), MemoryJournal())

    async def run() -> None:
        try:
            raise RuntimeError("what stopped the run")
        finally:
            await service.close()

    with pytest.raises(RuntimeError, match="what stopped the run") as stopped:
        await run()
    assert "cannot be made a bag" in stopped.value.__notes__[0]
    with pytest.raises(IntegrityError, match="cannot be made a bag"):
        await (await opened(tmp_path / "f", bag="on")).close()


def test_assets_whose_ids_are_one_name_on_some_disks_stay_apart() -> None:
    ids = ["ab", "AB", "Ab", "é", "e\u0301", "CON", "con"]
    assert len({home(AssetId(each)).casefold() for each in ids}) == len(ids)


@pytest.mark.parametrize(
    "text", ["a;=1", "a\\;=cmd|x", 'a;"=1', "a\n@x", "a\t+1", "'a;'=1", "\t=1", ";=1", "-5;-6", "a; - b"]
)
def test_no_formula_begins_inside_a_cell_where_a_semicolon_splits_it(text: str) -> None:
    cell = safe(text)
    assert unguarded(cell) == text
    assert not any(part.strip('"').startswith(("=", "+", "-", "@")) for part in re.split(r"[;\t\n]", cell)[1:])


async def test_no_formula_begins_in_the_name_of_a_column(tmp_path: Path) -> None:
    """Keys of fields are those of the source."""
    service = await opened(tmp_path / "f", format="csv")
    await service.create(replace(DRAFT, fields={**DRAFT.fields, "a;=cmd()|x": "text"}), content(), MemoryJournal())
    await service.close()
    sheet = tmp_path / "f" / "data" / "catalogue.csv"
    sheet = sheet if sheet.exists() else tmp_path / "f" / "catalogue.csv"
    header = sheet.read_text(encoding="utf-8-sig").splitlines()[0]
    assert "=cmd()|x" in header
    assert not re.search("[;,]=", header)
    (row,) = await everything(connect(tmp_path / "f", read_only=True, format="csv"))
    assert row.asset is not None
    assert row.asset.fields["a;=cmd()|x"] == "text"


async def test_groups_of_a_list_by_hand_can_stand_for_everybody(tmp_path: Path) -> None:
    (tmp_path / "catalogue.csv").write_text(
        'id;groups\n1;Friends\n2;"Friends, old;Staff"\n3;"Staff;Friends"\n4;\n', "utf-8"
    )
    service = connect(tmp_path, read_only=True, everybody="Friends")
    await service.probe()
    seen = {entry.id: entry.asset.rights.groups for entry in await everything(service)}
    assert seen == {"1": frozenset(), "2": {"Friends, old", "Staff"}, "3": frozenset(), "4": frozenset()}
    assert service.exposure_options().with_everybody("Staff") == "`options: {everybody: [Friends, Staff]}`"


@pytest.mark.parametrize(
    ("columns", "fields"),
    [
        ("id;fields.Maker", {"Maker"}),
        ("id;created_at;fields.Maker", {"Maker", "created"}),
        ("id;fields.source_key", {"source_key"}),
    ],
)
async def test_a_list_by_hand_has_no_fields_but_its_own(tmp_path: Path, columns: str, fields: set[str]) -> None:
    (tmp_path / "catalogue.csv").write_text(f"{columns}\n1;\n", "utf-8")
    service = connect(tmp_path, read_only=True)
    await service.probe()
    assert set((await service.schema()).fields) == fields
