"""Reads CSV files. The csv module has one limit on the size of a cell for the whole process: it is set here only."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

DELIMITERS = ",;\t"  # what spreadsheets separate cells with, by the language of the system
LONGEST_CELL = 64 * 1024 * 1024  # characters; no file that is read has more
_SEPARATOR = re.compile('\ufeff?"?sep=([^\\w\\s"\']|\t)"?[,;\t]*\r?\n?', re.IGNORECASE)
csv.field_size_limit(LONGEST_CELL)


def delimiter_of(header: str | bytes, among: str = DELIMITERS) -> str:
    """Which of these separates the cells of a CSV file with this first line, in any encoding that has ASCII."""
    text = header.decode("latin-1") if isinstance(header, bytes) else header
    return max(among, key=text.count)


def rows_of(lines: Iterable[str], delimiter: str = ",") -> Iterator[list[str]]:
    """The rows of a CSV file. Raises csv.Error."""
    return csv.reader(lines, delimiter=delimiter, strict=True)


def separator_of(first: str) -> str:
    """The separator that the first line of a file names in a way that some spreadsheet programs write and read
    (`sep=;`); empty if it is no such line."""
    found = _SEPARATOR.fullmatch(first)
    return found[1] if found is not None else ""


class Records:
    """The rows after the header line, by column. Reading raises csv.Error."""

    def __init__(self, lines: Iterable[str], delimiter: str, skipped: int) -> None:
        """skipped: lines of the file before these."""
        self._reader = csv.DictReader(lines, delimiter=delimiter, strict=True)
        self._skipped = skipped

    @property
    def columns(self) -> Sequence[str]:
        """The names in the header line; none of an empty file."""
        return self._reader.fieldnames or ()

    @property
    def line(self) -> int:
        """The line of the file in which the last row that was read ends."""
        return self._reader.line_num + self._skipped

    def __iter__(self) -> Iterator[dict[str, str]]:
        return iter(self._reader)


def records_of(lines: Iterable[str]) -> Records:
    """The rows of a file that may name its separator in a line before the header."""
    rest = iter(lines)
    first = next(rest, "")
    if named := separator_of(first):
        return Records(rest, named, 1)
    return Records(chain([first], rest), delimiter_of(first), 0)
