"""The service `folder` with names that contain what its formats separate names with: nothing is lost or mixed up."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import bagit
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dam_sync.model.asset import AssetId, Placement
from dam_sync.model.errors import InvalidValue, NotFound
from dam_sync.services.folder import codec
from dam_sync.services.folder.api.bag import CodedName
from dam_sync.services.folder.api.catalogue import Record
from dam_sync.services.folder.api.columns import COLUMN
from dam_sync.services.folder.api.sheet import cells_of, record_of
from tests.support.state.memory_journal import MemoryJournal
from tests.unit.services.test_folder_service import DRAFT, bytes_of, connect, content, everything, opened

NAME = st.text(alphabet=st.sampled_from("ab\\/;:,|[]{} \t\n\"'=%"), min_size=1, max_size=6)
NAMES = st.lists(NAME, max_size=3, unique=True)
PATHS = st.lists(st.lists(NAME, min_size=1, max_size=3), max_size=3)
DIGITS = re.compile("%(0A|0D|25)", re.IGNORECASE)
CODED = ("a%0Ab.jpg", "a%0db.jpg", "a%25b.jpg", "100% wool.jpg", "%", "a\nb\r.jpg", "%2e%2e.jpg")


@st.composite
def records(draw: st.DrawFn) -> Record:
    """An asset of which every part has odd names."""
    several = draw(st.lists(st.text(alphabet="ab\\/;", min_size=1), min_size=1, max_size=2))
    return {
        "record": "asset",
        "id": draw(NAME),
        "filename": draw(NAME),
        "tags": draw(NAMES),
        "placements": [{"kind": "folder", "path": path} for path in draw(PATHS)],
        "relations": [{"kind": draw(NAME), "target": draw(NAME)} for _ in range(draw(st.integers(0, 2)))],
        "versions": [{"file": name, "name": name.rpartition("/")[2]} for name in draw(NAMES)],
        "rights": {
            "groups": draw(NAMES),
            "restrictions": [{"kind": "denied", "detail": name} for name in draw(NAMES)],
        },
        "fields": {
            draw(NAME): draw(NAME),
            f"{draw(NAME)}+": {"texts": {"fr": draw(NAME)}},
            "terms": [{"id": "", "label": path[-1], "path": path} for path in draw(PATHS)] or None,
            "several": several,
        },
    }


FIELDS = {
    key: codec.field_of({"key": key, "kind": kind, "multiple": True})
    for key, kind in (("terms", "term"), ("several", "text"))
}


@given(records())
def test_every_record_is_read_from_its_cells_as_it_was(record: Record) -> None:
    record["fields"] = {key: value for key, value in record["fields"].items() if value is not None}
    cells = cells_of(record, FIELDS)
    assert all(name in record or name in RIGHTS or COLUMN.fullmatch(name) for name in cells)
    again = record_of(cells, {"id": record["id"]}, FIELDS)
    parts = ("filename", "tags", "placements", "relations", "versions", "fields")
    assert {part: again.get(part) or None for part in parts} == {part: record.get(part) or None for part in parts}
    assert {part: again["rights"].get(part) or [] for part in RIGHTS} == record["rights"]


RIGHTS = ("groups", "restrictions")


async def test_columns_of_odd_fields_are_read_again(tmp_path: Path) -> None:
    odd = {
        "a[fr]": "1",
        "b{}": "2",
        "c\\": "3",
        "d ": "4",
        "e;f,g;h;i;j;k;l;m;n;o;p;q;r;s;t;u;v;w;x;y;z": "5",
        "\n": "6",
    }
    service = await opened(tmp_path / "f", format="csv")
    await service.create(replace(DRAFT, fields={**DRAFT.fields, **odd}), content(), MemoryJournal())
    await service.close()
    (plain,) = await everything(connect(tmp_path / "f", read_only=True))
    (row,) = await everything(connect(tmp_path / "f", read_only=True, format="csv"))
    assert row.asset.fields == plain.asset.fields
    assert odd.items() <= row.asset.fields.items()


def written(folder: Path, **cells: str) -> Path:
    """A list that a person wrote."""
    (folder / "files").mkdir(parents=True)
    out = io.StringIO()
    csv.writer(out).writerows([cells.keys(), cells.values()])
    (folder / "catalogue.csv").write_text(out.getvalue(), encoding="utf-8")
    return folder


async def test_a_backslash_in_a_cell_stays_unless_it_escapes(tmp_path: Path) -> None:
    folder = written(
        tmp_path / "f",
        id="1",
        tags="A\\B;C\\;D;E\\\\F",
        placements="folder:/A\\B/C\\/D;folder:Press/2024",
        **{"fields.Title": "back\\\\slash", "fields.A\\B": "C:\\photos\\new"},
    )
    (row,) = await everything(connect(folder, read_only=True))
    assert row.asset.tags == {"A\\B", "C;D", "E\\F"}
    assert {place.path for place in row.asset.placements} == {("A\\B", "C/D"), ("Press", "2024")}
    assert row.asset.fields == {"Title": "back\\\\slash", "A\\B": "C:\\photos\\new"}


@pytest.mark.parametrize(("cell", "name"), [("Press\\a.jpg", "Press\\a.jpg"), ("Press\\\\a.jpg", "Press\\a.jpg")])
async def test_a_message_has_the_name_as_the_cell_has_it(tmp_path: Path, cell: str, name: str) -> None:
    folder = written(tmp_path / "f", id="1", versions=cell)
    service = connect(folder, read_only=True)
    (row,) = await everything(service)
    with pytest.raises(NotFound) as caught:
        await bytes_of(service, row.asset.versions[0])
    assert f"files/{name} is not there" in caught.value.message


@pytest.mark.parametrize(("column", "cell"), [("placements", "A\\B"), ("created_at", "A\\B"), ("relations", "A\\B")])
async def test_a_cell_that_cannot_be_read_is_shown_as_it_was_written(tmp_path: Path, column: str, cell: str) -> None:
    service = connect(written(tmp_path / "f", id="1", **{column: cell}), read_only=True)
    with pytest.raises(InvalidValue) as caught:
        await service.fetch(AssetId("1"))
    assert f"“{cell}”" in caught.value.message


# -- bags --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CODED)
async def test_a_bag_is_valid_for_programs_that_decode_and_for_those_that_do_not(tmp_path: Path, name: str) -> None:
    service = await opened(tmp_path / "f", bag="on")
    made = await service.create(replace(DRAFT, filename=name), content(name=name), MemoryJournal())
    await service.attach(made, content(b"more", name), MemoryJournal())
    await service.close()
    assert valid(tmp_path / "f")
    asset = await connect(tmp_path / "f", read_only=True).fetch(made)
    assert (asset.filename, asset.versions[0].name, asset.attachments[0].name) == (name, name, name)


def valid(folder: Path) -> bool:
    """By a library, and by two readings of RFC 8493: with the codes decoded, and with every percent sign as it is."""
    lines = (folder / "manifest-sha256.txt").read_text(encoding="utf-8").splitlines()
    names = [line.split(maxsplit=1)[1] for line in lines]
    there = {str(path.relative_to(folder)) for path in (folder / "data").rglob("*") if path.is_file()}
    decoded = {DIGITS.sub(lambda found: bytes.fromhex(found[1]).decode(), name) for name in names}
    return bool(bagit.Bag(str(folder)).validate()) and there == set(names) == decoded


async def test_files_that_an_earlier_release_stored_get_names_without_a_code(tmp_path: Path) -> None:
    service = await opened(tmp_path / "f")
    made = await service.create(DRAFT, content(name="a%0Ab.jpg"), MemoryJournal())
    gone = await service.create(replace(DRAFT, marker=None), content(name="c%0Ad.jpg"), MemoryJournal())
    await service.remove(gone)
    await service.close()
    as_stored_before(tmp_path / "f" / "data")
    service = await opened(tmp_path / "f", bag="on")
    await service.create(replace(DRAFT, marker=None), content(), MemoryJournal())
    await service.close()
    assert valid(tmp_path / "f")
    again = await opened(tmp_path / "f")
    asset = await again.fetch(made)
    assert asset.versions[0].name == "a%0Ab.jpg"
    assert await bytes_of(again, asset.versions[0]) == b"bytes"
    await again.restore(gone, DRAFT)
    assert await bytes_of(again, (await again.fetch(gone)).versions[0]) == b"bytes"


def as_stored_before(data: Path) -> None:
    """The files have the names that an earlier release gave them on disk."""
    catalogue = data / "catalogue.jsonl"
    text = catalogue.read_text(encoding="utf-8")
    for now, before in (("a_0Ab.jpg", "a%0Ab.jpg"), ("c_0Ad.jpg", "c%0Ad.jpg")):
        (found,) = data.rglob(now)
        found.rename(found.with_name(before))
        text = text.replace(f"/{now}", f"/{before}")
    catalogue.write_text(text, encoding="utf-8")


async def test_a_file_of_somebody_else_with_a_code_in_its_name_is_named(tmp_path: Path) -> None:
    service = await opened(tmp_path / "f", bag="on")
    await service.create(DRAFT, content(), MemoryJournal())
    (tmp_path / "f" / "data" / "notes%0a.txt").write_text("theirs")
    with pytest.raises(CodedName, match=r"data/notes%0a\.txt is no name.*decode the %0a"):
        await service.close()


def test_the_text_of_a_placement_is_that_of_its_cell() -> None:
    record: dict[str, Any] = {"record": "asset", "id": "1", "placements": [{"kind": "folder", "path": ["A/B", "C\\D"]}]}
    assert cells_of(record, {})["placements"] == "folder:/A\\\\/B/C\\\\\\\\D"
    assert Placement("folder", ("A/B", "C\\D")).text == "/A\\/B/C\\\\D"
