"""Tables of a mapping file: lookups and the pins of vocabularies, read once from CSV."""

from __future__ import annotations

import csv
import io
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from dam_sync.config.loader import bounded_file
from dam_sync.model.errors import TooLarge

LARGEST_TABLE = 50_000_000  # bytes


class TableFault(ValueError):
    """A table that cannot be used. The message repeats nothing of the file except duplicate keys."""


@dataclass(frozen=True, slots=True)
class Lookup:
    """A table from key to value; keys are compared in NFC and without surrounding whitespace.

    unmatched: what happens to a value that is not in the table (park, drop, keep, null), or None for the rule's
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


def read_table(folder: Path, name: str, key: str, value: str) -> dict[str, str]:
    """Two columns of a CSV file with a header line, UTF-8, in the folder of the mapping or below it. Raises TableFault
    with the problem and its line."""
    path = folder / name
    if not path.resolve().is_relative_to(folder.resolve()):
        raise TableFault(f"{name} is not in the folder of the mapping file; tables are read from there and below it")
    try:
        text = bounded_file(path, LARGEST_TABLE).decode("utf-8-sig")
        return _rows(csv.DictReader(io.StringIO(text, newline=""), strict=True), path, key, value)
    except FileNotFoundError:
        raise TableFault(f"there is no file {path}") from None
    except OSError as error:
        raise TableFault(f"{path} cannot be read: {error.strerror}") from None
    except TooLarge as error:
        raise TableFault(f"{path} cannot be read: {error.message}") from None
    except UnicodeDecodeError as error:
        raise TableFault(f"{path} is not UTF-8 at byte {error.start}") from None
    except csv.Error as error:
        raise TableFault(f"{path} is not a CSV file: {error}") from None


def _rows(reader: csv.DictReader[str], path: Path, key: str, value: str) -> dict[str, str]:
    columns = reader.fieldnames or ()
    for column in (key, value):
        if column not in columns:
            raise TableFault(f"{path.name} has no column {column} in its first line")
    found: dict[str, str] = {}
    for row in reader:
        left, right = folded(row[key] or ""), (row[value] or "").strip()
        if not left:
            continue
        if found.setdefault(left, right) != right:
            raise TableFault(f"{path.name}:{reader.line_num}: {left} occurs twice, with different values")
    return found
