"""CSV files: a first line that names the separator is read as such, in every list that people give."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from dam_sync.api.csv_rows import read_rows
from dam_sync.mapping.tables import TableFault, read_table
from dam_sync.model.csv_cells import records_of, separator_of


@pytest.mark.parametrize(
    ("line", "separator"),
    [
        ("sep=;\r\n", ";"),
        ("sep=,\n", ","),
        ("SEP=\t\n", "\t"),
        ("\ufeffsep=|\n", "|"),
        ('"sep=;"\r\n', ";"),
        ("sep=;;;;\n", ";"),
        ("sep=,,,,\n", ","),
        ("sep=", ""),
        ("sep=a\n", ""),
        ("id;sep=;\n", ""),
        ("sep=; id\n", ""),
    ],
)
def test_the_line_that_names_the_separator(line: str, separator: str) -> None:
    assert separator_of(line) == separator


def test_lines_are_counted_from_the_beginning_of_the_file() -> None:
    reader = records_of(io.StringIO("sep=|\nid|text\n1|a,b;c\n"))
    assert list(reader.columns) == ["id", "text"]
    assert [(row, reader.line) for row in reader] == [({"id": "1", "text": "a,b;c"}, 3)]


def test_lists_and_tables_have_it(tmp_path: Path) -> None:
    path = tmp_path / "list.csv"
    path.write_text("sep=;\r\nasset;value\r\n1;a,b\r\n1;c\r\n", encoding="utf-8-sig")
    with read_rows(path, ("asset", "value"), "") as rows:
        assert [(line, row["value"]) for line, row in rows] == [(3, "a,b"), (4, "c")]
    with pytest.raises(TableFault, match=r"list\.csv:4"):
        read_table(tmp_path, "list.csv", "asset", "value")
