"""The columns of a catalogue as CSV: their names, what separates them, and what to do about those that are wrong."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from typing import Final

from dam_sync.model.csv_cells import delimiter_of, rows_of
from dam_sync.model.joined_names import escaped
from dam_sync.model.name_bounds import LONGEST_NAME
from dam_sync.services.folder.api.disk import shortened

LOCALE = re.compile(r"[^\[\]]+")
ESCAPED = "[{"  # in the key of a column
COLUMN = re.compile(
    r"fields\.(?P<key>(?:\\[\\\[{]|(?!\\[\\\[{]).)+?)"
    rf"(?:\[(?P<locale>{LOCALE.pattern})\]|(?P<json>\{{\}}))?",
    re.DOTALL,
)
DELIMITERS = ",;"  # a tab is part of a cell
TEXTS = ("id", "filename", "status", "type", "created_at", "changed_at")
DATES = ("release_at", "expires_at")
FILES = ("versions", "attachments")
LISTS = ("groups", "restrictions", "tags", "placements", "relations", *FILES)
FIXED: Final = (*TEXTS, *DATES, *LISTS)
MARK = "\ufeff"  # by which spreadsheet programs know UTF-8
_COLUMNS: Final = "`dam-sync help folder` describes the columns, between commas or semicolons"


def column_of(name: str) -> re.Match[str] | None:
    """The parts of the name of a column of a field; None for any other, and for one that is longer than any name:
    matching takes 160 bytes for each of its characters."""
    return COLUMN.fullmatch(name) if len(name) <= LONGEST_NAME else None


def delimiter_for(header: str) -> str:
    """What separates the cells: that by which the header has a column for the id, for names may contain either."""
    named = (each for each in DELIMITERS if "id" in _names_of(header, each))
    return next(named, delimiter_of(header, DELIMITERS))


def _names_of(header: str, delimiter: str) -> list[str]:
    try:
        names = next(rows_of([header.removeprefix(MARK)], delimiter), [])
    except csv.Error:  # it goes on in the next line, or is no CSV
        names = header.removeprefix(MARK).split(delimiter)
    return [name.strip() for name in names]


def remedies(columns: Sequence[str], unknown: Sequence[str]) -> Iterator[str]:
    """What to do about columns that are wrong, with their names."""
    if "id" not in columns:
        yield "the column with the number or path by which an asset is known has to be named `id`"
    if unknown:
        near = [
            (name, known) for name in unknown for known in FIXED if len(name) > 2 and known.startswith(name.lower())
        ]
        other = "".join(f"; {name} is perhaps `{known}`" for name, known in near[:1])
        plain = next((name for name in unknown if name and name not in dict(near)), "NAME")
        column = f"fields.{escaped(shortened(plain), ESCAPED)}"
        yield f"rename or remove them: a field of an asset is a column like `{column}`{other}"
    elif len(set(columns)) < len(columns):
        yield "rename or remove them"
    yield _COLUMNS


def what_is_wrong(columns: Sequence[str], unknown: Sequence[str]) -> str:
    """The columns that are wrong, by name."""
    twice = sorted({name for name in columns if columns.count(name) > 1})
    parts = (("unknown columns", unknown), ("columns that are there twice", twice))
    return "; ".join(f"{what}: {', '.join(names)[:200]}" for what, names in parts if names)
