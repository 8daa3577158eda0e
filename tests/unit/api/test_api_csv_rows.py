"""CSV files that people fill in with a spreadsheet: what they write, and how it is read back."""

from __future__ import annotations

import codecs
import csv
import io
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dam_sync.api.corrections import export_errors
from dam_sync.api.csv_rows import read_rows
from dam_sync.model.errors import ConfigError
from dam_sync.model.safe_text import copied_cell, guarded, unguarded

COLUMNS = ("asset", "value")


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_the_separator_and_the_byte_order_mark_of_a_spreadsheet_are_understood(
    tmp_path: Path, delimiter: str, encoding: str
) -> None:
    path = tmp_path / "list.csv"
    with path.open("w", encoding=encoding, newline="") as out:
        csv.writer(out, delimiter=delimiter).writerows([COLUMNS, ("7", "été; mer, sable"), ("8", "two\nlines")])
    with read_rows(path, COLUMNS, "") as rows:
        found = list(rows)
    assert [row for _, row in found] == [
        {"asset": "7", "value": "été; mer, sable"},
        {"asset": "8", "value": "two\nlines"},
    ]


def test_a_list_without_a_column_or_in_another_encoding_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "list.csv"
    path.write_text("asset;other\n7;8\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"list\.csv:1: missing column value"), read_rows(path, COLUMNS, ""):
        pass
    for encoding in ("cp1252", "utf-16"):
        path.write_bytes("asset,value\n7,été\n".encode(encoding))
        with pytest.raises(ConfigError, match="is not in UTF-8") as told, read_rows(path, COLUMNS, "") as rows:
            list(rows)
        assert "CSV UTF-8" in told.value.hint
        assert f"iconv -f {'UTF-16' if encoding == 'utf-16' else 'CP1252'} -t UTF-8" in told.value.hint


def test_a_quote_that_is_not_closed_does_not_swallow_the_rest(tmp_path: Path) -> None:
    path = tmp_path / "list.csv"
    path.write_text('asset,value\n7,"a\n8,b\n9,c\n', encoding="utf-8")
    with pytest.raises(ConfigError, match="cannot be read as CSV"), read_rows(path, COLUMNS, "") as rows:
        list(rows)


def test_a_value_that_is_too_long_for_a_service_is_read_back(tmp_path: Path) -> None:
    path = tmp_path / "list.csv"
    with path.open("w", encoding="utf-8", newline="") as out:
        csv.writer(out).writerows([COLUMNS, ("7", "a" * 300_000)])
    with read_rows(path, COLUMNS, "") as rows:
        assert [len(row["value"]) for _, row in rows] == [300_000]


@given(st.text(max_size=40))
def test_a_failed_value_is_recognized_when_its_list_comes_back(text: str) -> None:
    out = io.StringIO()
    csv.writer(out).writerow([copied_cell(text)])
    ((cell,),) = csv.reader(io.StringIO(out.getvalue(), newline=""))
    assert copied_cell(unguarded(cell)) == copied_cell(text)
    assert not {each for each in cell if ord(each) < 0x20} - {"\n", "\t"}


SEPARATORS = (";", "\t", "\n")
STARTS = "=+-@＝＋－＠"


@pytest.mark.parametrize("between", ["", '"', "'", "\"'"])
@pytest.mark.parametrize("separator", SEPARATORS)
def test_no_formula_begins_where_another_separator_splits_a_cell(separator: str, between: str) -> None:
    """A spreadsheet of a German or French system splits a list at semicolons, whatever the quotes around a cell say."""
    for start in STARTS:
        value = f"x{separator}{between}{start}cmd|' /C calc'!A1{separator}y"
        assert copied_cell(value) == f"x{separator}'{between}{start}cmd|' /C calc'!A1{separator}y"
        assert unguarded(copied_cell(value)) == value


@given(st.text(alphabet=f"a'\" {''.join(SEPARATORS)}{STARTS}", max_size=12))
def test_a_guarded_value_has_no_formula_after_any_separator(text: str) -> None:
    cell = guarded(text)
    assert unguarded(cell) == text
    first, *rest = re.split(f"[{''.join(SEPARATORS)}]", cell)
    assert not first.startswith(tuple(STARTS))
    assert not any(part.strip('"').startswith(tuple(STARTS)) for part in rest)


def test_lists_have_the_byte_order_mark_by_which_spreadsheets_know_utf_8(tmp_path: Path) -> None:
    names = ("asset", "filename", "title", "url", "cause", "operation", "message", "hint")
    asset = {**dict.fromkeys(names, "תמונה"), "failed": [{"field": "f", "value": "海辺", "corrected": []}]}
    path = tmp_path / "errors.csv"
    export_errors(path, [asset])
    assert path.read_bytes().startswith(codecs.BOM_UTF8)
    with read_rows(path, ("asset", "value"), "") as rows:
        assert [(row["asset"], row["value"]) for _, row in rows] == [("תמונה", "海辺")]


def test_every_failed_value_of_an_asset_is_a_row(tmp_path: Path) -> None:
    names = ("asset", "filename", "title", "url", "cause", "operation", "message", "hint")
    failed = [
        {"field": "fields.title", "value": "=a\r\nb", "corrected": []},
        {"field": "fields.subject", "value": "Sea", "corrected": ["Ocean", "Shore"]},
    ]
    assets = [{**dict.fromkeys(names, "x"), "failed": failed}, {**dict.fromkeys(names, "y"), "failed": []}]
    export_errors(tmp_path / "errors.csv", assets)
    with read_rows(tmp_path / "errors.csv", ("field", "value", "corrected"), "") as rows:
        found = [(row["asset"], row["field"], row["value"], row["corrected"]) for _, row in rows]
    assert found == [
        ("x", "fields.title", "'=a\nb", ""),
        ("x", "fields.subject", "Sea", "Ocean"),
        ("x", "fields.subject", "Sea", "Shore"),
        ("y", "", "", ""),
    ]
