"""Tables that a mapping file brings along: lookups and the pins of vocabularies, read once from CSV."""

from __future__ import annotations

import csv
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path


class TableFault(ValueError):
    """A table that cannot be used, in words for people; `hint` names columns there are."""

    def __init__(self, message: str, columns: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.columns = tuple(columns)


@dataclass(frozen=True, slots=True)
class Lookup:
    """A table from key to value; keys are compared in NFC and without blanks around them.

    unmatched: what becomes of a value that is not in the table (park, drop, keep, null), or None for the line's
    on_error.
    """

    name: str
    rows: Mapping[str, str] = field(default_factory=dict)
    unmatched: str | None = None

    def find(self, key: str) -> str | None:
        """The value for this key."""
        return self.rows.get(folded(key))


def folded(key: str) -> str:
    """How keys are compared."""
    return unicodedata.normalize("NFC", key).strip()


def read_table(path: Path, key: str, value: str) -> dict[str, str]:
    """Two columns of a CSV file with a head line, UTF-8. Raises TableFault naming what is wrong, and the line."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as lines:
            return _rows(csv.DictReader(lines, strict=True), path, key, value)
    except FileNotFoundError:
        raise TableFault(f"there is no file {path}") from None
    except OSError as error:
        raise TableFault(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise TableFault(f"{path} is not UTF-8 at byte {error.start}") from None
    except csv.Error as error:
        raise TableFault(f"{path} is not a CSV file: {error}") from None


def _rows(reader: csv.DictReader[str], path: Path, key: str, value: str) -> dict[str, str]:
    columns = reader.fieldnames or ()
    for column in (key, value):
        if column not in columns:
            raise TableFault(f"{path.name} has no column {column}", columns)
    found: dict[str, str] = {}
    for row in reader:
        left, right = folded(row[key] or ""), (row[value] or "").strip()
        if not left:
            continue
        if found.setdefault(left, right) != right:
            raise TableFault(f"{path.name}:{reader.line_num}: {left} is there twice, with different values")
    return found
