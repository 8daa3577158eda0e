"""The service `folder`: nothing is written that cannot be read again."""

from __future__ import annotations

import json
import tracemalloc
from dataclasses import replace
from pathlib import Path

import pytest

from dam_sync.model.asset import Draft, Patch
from dam_sync.model.errors import ContractBroken, InvalidValue
from dam_sync.model.values import Term
from dam_sync.model.weights import BATCH_BYTES
from dam_sync.services.folder.api.catalogue import IN_SHEET, LONGEST_LINE, ROOM, Catalogue
from dam_sync.services.folder.api.disk import Disk
from tests.support.state.memory_journal import MemoryJournal
from tests.unit.services.test_folder_service import DRAFT, connect, content, everything, opened

LONG = replace(DRAFT, fields={**DRAFT.fields, "notes": "x" * (LONGEST_LINE - ROOM)})
MANY = replace(DRAFT, fields={**DRAFT.fields, "notes": "," * 2_000_001})


@pytest.mark.parametrize("draft", [LONG, MANY], ids=["bytes", "values"])
async def test_an_asset_whose_record_could_not_be_read_is_refused_before_its_file_is_stored(
    tmp_path: Path, draft: Draft
) -> None:
    service = await opened(tmp_path / "f")
    made = await service.create(DRAFT, content(), MemoryJournal())
    stored = sorted(path for path in (tmp_path / "f" / "data" / "files").rglob("*"))
    with pytest.raises(InvalidValue, match=r"the record of asset .*: fields.notes alone has ") as refused:
        await service.create(draft, content(), MemoryJournal())
    assert "`truncate`" in refused.value.hint
    assert sorted(path for path in (tmp_path / "f" / "data" / "files").rglob("*")) == stored
    longer = str(draft.fields["notes"]) + "," * ROOM
    with pytest.raises(InvalidValue, match="alone has"):
        await service.update(made, Patch(fields={"notes": longer}))
    with pytest.raises(InvalidValue, match="alone has"):
        await service.ensure_term("w", Term("x", labels={"en": longer}))
    await service.close()
    again = connect(tmp_path / "f", read_only=True)
    assert [entry.id for entry in await everything(again)] == [made]


async def test_what_is_written_to_a_sheet_as_well_has_shorter_lines(tmp_path: Path) -> None:
    service = await opened(tmp_path / "f", format="csv")
    with pytest.raises(InvalidValue, match="alone has"):
        await service.create(replace(DRAFT, fields={"notes": '"' * (LONGEST_LINE // IN_SHEET)}), None, MemoryJournal())


@pytest.mark.parametrize("over", [0, 1])
def test_the_longest_line_that_is_written_is_read(tmp_path: Path, over: int) -> None:
    record = {"record": "asset", "id": "1", "a": ""}
    catalogue = Catalogue(Disk(tmp_path), "catalogue.jsonl")
    record["a"] = "x" * (LONGEST_LINE - len(catalogue.line(record)) + over)
    if over:
        with pytest.raises(InvalidValue):
            catalogue.change(lambda: [record])
        assert not catalogue.exists
    else:
        catalogue.change(lambda: [record])
        assert Catalogue(Disk(tmp_path), "catalogue.jsonl").asset("1") == record


async def test_a_line_that_is_too_long_is_not_blamed_on_a_service(tmp_path: Path) -> None:
    (tmp_path / "catalogue.jsonl").write_bytes(b"x" * (LONGEST_LINE + 1))
    with pytest.raises(ContractBroken, match="has more than") as refused:
        await connect(tmp_path, read_only=True).probe()
    assert "remove the line" in refused.value.hint


async def test_a_column_whose_name_is_longer_than_any_name_is_refused_by_name(tmp_path: Path) -> None:
    """Matching it took 160 bytes of memory for each character, for every row."""
    characters = 1_000_000
    (tmp_path / "catalogue.csv").write_bytes(b"id,fields." + b"x" * characters + b"\n1,a\n")
    tracemalloc.start()
    try:
        with pytest.raises(ContractBroken, match=r"unknown columns: fields\.xxx") as refused:
            await connect(tmp_path, read_only=True).probe()
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert "rename or remove" in refused.value.hint
    assert len(refused.value.message) < 1_000
    assert most < 30 * characters, f"{most / characters:.0f} times"


async def test_a_line_of_a_sheet_that_is_too_long_is_not_two_rows(tmp_path: Path) -> None:
    (tmp_path / "catalogue.csv").write_bytes(b"id,fields.a\n1," + b"x" * LONGEST_LINE + b"\n2,b\n")
    with pytest.raises(ContractBroken, match=r"catalogue\.csv:2: the line has more than"):
        await connect(tmp_path, read_only=True).probe()


@pytest.mark.parametrize("number", [4, 16])
async def test_a_listing_keeps_a_bounded_part_of_large_records(tmp_path: Path, number: int) -> None:
    """The others are listed by their ids, and are read again when it is their turn."""
    size = 3 * BATCH_BYTES // 8
    lines = [{"record": "asset", "id": str(each), "fields": {"notes": "x" * size}} for each in range(number)]
    text = "".join(f"{json.dumps(line)}\n" for line in lines)
    (tmp_path / "catalogue.jsonl").write_text(text)
    service = connect(tmp_path, read_only=True)
    del text, lines
    tracemalloc.start()
    try:
        found = await everything(service)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    kept = [entry.asset for entry in found if entry.asset is not None]
    assert (len(found), len(kept)) == (number, 2)
    assert len({entry.revision for entry in found}) == number
    assert most < 3 * BATCH_BYTES
    asset = await service.fetch(found[-1].id)
    assert (asset.revision, len(str(asset.fields["notes"]))) == (found[-1].revision, size)
