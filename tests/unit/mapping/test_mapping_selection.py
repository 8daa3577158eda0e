"""`select`: which assets are moved, and which condition leaves the others out; lookups inside the file."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from dam_sync.model.asset import Asset, AssetId, Placement, Rights
from dam_sync.model.errors import MappingError
from dam_sync.model.values import Localized, Term
from tests.support.mapping.drafts import asset, draft, tally_of
from tests.support.mapping.tenant_schemas import LEAST, compiled, read, with_lines

LAST_YEAR = datetime(2023, 6, 1, 12, tzinfo=UTC)
ASSET = replace(
    asset(
        title=Localized({"en": "Sea", "fr": "Mer"}),
        country=Term("France", "c1"),
        keywords=(Term("Sea", "1", ("Nature", "Sea")),),
        shot_date=date(2023, 6, 1),
        height_cm=10,
        cleared=True,
        inventory="M 1",
    ),
    status="published",
    type="Picture",
    created_at=LAST_YEAR,
    rights=Rights(LAST_YEAR),
    placements=frozenset({Placement("folder", ("Press", "2023"))}),
)


def condition(folder: Path, select: str, given: Asset = ASSET) -> str:
    """The condition that leaves the asset out; empty if it is selected."""
    return compiled(folder, f"{LEAST}select: {{{select}}}\n").selects(given).condition


@pytest.mark.parametrize(
    ("select", "left_out_by"),
    [
        ("status: published", ""),
        ("status: [draft, archived]", "status"),
        ("types: [PICTURE]", ""),
        ("types: [Picture]", ""),
        ("types: [VIDEO]", "types"),
        ('containers: ["/Press"]', ""),
        ('containers: ["/Other"]', "containers"),
        ("dates: {created_at: {from: 2023-06-01, until: 2023-06-01}}", ""),
        ("dates: {created_at: {from: 2023-06-01T12:00:00Z, until: 2023-06-01T12:00:00Z}}", ""),
        ("dates: {created_at: {from: '2023-06-01T12:00:01Z'}}", "dates.created_at"),
        ("dates: {created_at: {until: 2023-05-31}}", "dates.created_at"),
        ("dates: {fields.shot_date: {from: 2023-06-01, until: 2023-06-01}}", ""),
        ("dates: {fields.shot_date: {from: 2023-06-02}}", "dates.fields.shot_date"),
        ("dates: {expires_at: {until: 2030-01-01}}", "dates.expires_at"),
        ("fields: {country: France}", ""),
        ("fields: {country: [Spain, c1]}", ""),
        ("fields: {country: Spain}", "fields.country"),
        ("fields: {keywords: /Nature/Sea}", ""),
        ("fields: {title: Mer}", ""),
        ("fields: {cleared: true}", ""),
        ("fields: {cleared: false}", "fields.cleared"),
        ("fields: {height_cm: 10}", ""),
        ("fields: {height_cm: 10.5}", "fields.height_cm"),
        ("fields: {shot_date: 2023-06-01}", ""),
        ("fields: {credit: x}", "fields.credit"),
        ("fields: {country: France, inventory: M 2}", "fields.inventory"),
        ("status: published, where: 'asset.fields.height_cm == 10'", ""),
        ("status: published, where: 'asset.fields.height_cm > 10'", "where"),
    ],
)
def test_each_condition_takes_or_leaves_out(tmp_path: Path, select: str, left_out_by: str) -> None:
    assert condition(tmp_path, select) == left_out_by


def test_a_list_of_ids(tmp_path: Path) -> None:
    (tmp_path / "pilot.csv").write_text("\ufeffasset,why\n 7 ,first\n,\n8,second\n", encoding="utf-8")
    select = "ids: {csv: pilot.csv, column: asset}"
    assert condition(tmp_path, select) == ""
    assert condition(tmp_path, select, replace(ASSET, id=AssetId("9"))) == "ids"
    digest = compiled(tmp_path, f"{LEAST}select: {{{select}}}\n").digest
    (tmp_path / "pilot.csv").write_text("asset\n7\n", encoding="utf-8")
    assert compiled(tmp_path, f"{LEAST}select: {{{select}}}\n").digest != digest


@pytest.mark.parametrize(
    ("select", "told"),
    [
        ("ids: {csv: none.csv}", "select.ids.csv: there is no file"),
        ("ids: {csv: bare.csv}", "select.ids.csv: bare.csv has no column id in its first line"),
        ("ids: {csv: empty.csv}", "has no values in its column id"),
        ("ids: pilot.csv", "select.ids: should contain keys and values"),
        ("dates: {created_at: {from: yesterday}}", "should be a date such as 2020-12-31"),
        ("dates: {created_at: {from: 7}}", "should be a date such as 2020-12-31"),
        ("dates: {created_at: {}}", "a period needs `from` or `until`"),
        ("dates: {created_at: {from: 2024-01-01, until: 2023-01-01}}", "the period ends before it begins"),
        ("dates: {status: {from: 2024-01-01}}", "select.dates.status: status is a text, not a date"),
        ("dates: {created: {from: 2024-01-01}}", "an asset has no path created; did you mean created_at?"),
        ("fields: {contry: x}", "the source has no field contry; did you mean country?"),
        ("fields: {site: x}", "values of kind place have no name; use `where`"),
        ("fields: {country: []}", "at least 1 item"),
        ("status: [publishd]", "did you mean published?"),
        ("type: [PICTURE]", "unknown key; did you mean types?"),
    ],
)
def test_errors_of_a_selection_are_diagnostics(tmp_path: Path, select: str, told: str) -> None:
    (tmp_path / "bare.csv").write_text("asset\n7\n", encoding="utf-8")
    (tmp_path / "empty.csv").write_text("id\n", encoding="utf-8")
    with pytest.raises(MappingError) as caught:
        compiled(tmp_path, f"{LEAST}select: {{{select}}}\n")
    (fault,) = caught.value.diagnostics
    assert told in str(fault)
    assert fault.line == 7


def test_a_type_that_the_source_does_not_show_is_a_warning(tmp_path: Path) -> None:
    (told,) = compiled(tmp_path, f"{LEAST}select: {{types: [PICTUR]}}\n").warnings
    assert told == "select.types: the source shows no type PICTUR; did you mean PICTURE?"


def test_fields_that_only_select_reads_are_not_carried(tmp_path: Path) -> None:
    text = f"{LEAST}select: {{fields: {{country: France}}}}\n".replace("unmapped: ignore", "unmapped: report")
    crosswalk = compiled(tmp_path, text)
    assert crosswalk.coverage.tested == {"country"}
    assert "country" not in crosswalk.unread
    losses = {(loss.path, loss.rule) for loss in crosswalk.draft(ASSET, "m", {}).losses}
    assert ("fields.country", "only in conditions") in losses


INLINE = "lookups: {country: {values: {fr: France, 'no': Norway, 7: Seven, true: Yes}, unmatched: drop}}\n"


def test_a_lookup_inside_the_file(tmp_path: Path) -> None:
    text = INLINE + with_lines("note: {from: fields.inventory, pipe: [lower, {lookup: country}]}")
    for value, found in (("FR", "France"), ("NO", "Norway"), ("7", "Seven"), ("true", "Yes")):
        assert draft(tmp_path, text, asset(inventory=value)).draft.fields["note"] == found
    drafted = draft(tmp_path, text, asset(inventory="xx"))
    assert "note" not in drafted.draft.fields
    assert tally_of(drafted)["fields.inventory", "dropped"] == 1
    assert compiled(tmp_path, text).digest != compiled(tmp_path, text.replace("Norway", "Norge")).digest


@pytest.mark.parametrize(
    ("lookup", "told"),
    [
        ("{}", "lookups.country: a lookup needs `csv` or `values`"),
        ("{csv: a.csv, values: {a: b}}", "needs `csv` or `values`, not both"),
        ("{values: {a: b}, key: x}", "`key` and `value` name columns of a CSV file; remove them"),
        ("{values: {a: [b]}}", "should be text"),
        ("{values: [a]}", "should contain keys and values"),
        ("{values: {a: b, ' a': c}}", "a occurs twice, with different values"),
        ("{values: {a: b}, unmatched: guess}", "should be 'park', 'drop', 'keep' or 'null'"),
    ],
)
def test_errors_of_a_lookup_inside_the_file_are_diagnostics(tmp_path: Path, lookup: str, told: str) -> None:
    with pytest.raises(MappingError) as caught:
        read(tmp_path, f"{LEAST}lookups: {{country: {lookup}}}\n")
    (fault,) = caught.value.diagnostics
    assert told in str(fault)
    assert fault.line == 7
