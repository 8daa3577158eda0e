"""Reads CSV files. The csv module has one limit on the size of a cell for the whole process: it is set here only."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator

DELIMITERS = ",;\t"  # what spreadsheets separate cells with, by the language of the system
LONGEST_CELL = 64 * 1024 * 1024  # characters; no file that is read has more
csv.field_size_limit(LONGEST_CELL)


def delimiter_of(header: str | bytes, among: str = DELIMITERS) -> str:
    """Which of these separates the cells of a CSV file with this first line, in any encoding that has ASCII."""
    text = header.decode("latin-1") if isinstance(header, bytes) else header
    return max(among, key=text.count)


def rows_of(lines: Iterable[str], delimiter: str = ",") -> Iterator[list[str]]:
    """The rows of a CSV file. Raises csv.Error."""
    return csv.reader(lines, delimiter=delimiter, strict=True)


def records_of(lines: Iterable[str], delimiter: str = ",") -> csv.DictReader[str]:
    """The rows after the header line, by column. Raises csv.Error."""
    return csv.DictReader(lines, delimiter=delimiter, strict=True)
