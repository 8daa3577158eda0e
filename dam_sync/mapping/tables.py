"""Tables of a mapping file: lookups and the pins of vocabularies, read once from CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from dam_sync.config.loader import bounded_file
from dam_sync.model.csv_cells import Records, records_of
from dam_sync.model.errors import TooLarge
from dam_sync.model.other_formats import HEAD, other_format
from dam_sync.model.unicode_forms import nfc
from dam_sync.model.wording import path_hint

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
    return nfc(key).strip()


def read_table(folder: Path, name: str, key: str, value: str) -> dict[str, str]:
    """Two columns of a CSV file in UTF-8 with a header line, in the folder of the mapping or below it. Raises
    TableFault with the problem and its line."""
    with _opened(folder, name, (key, value)) as reader:
        return _rows(reader, folder / name, key, value)


def read_column(folder: Path, name: str, column: str) -> frozenset[str]:
    """The texts of one column of such a file, without empty ones. Raises TableFault."""
    with _opened(folder, name, (column,)) as reader:
        found = frozenset(text for row in reader if (text := (row[column] or "").strip()))
    if not found:
        raise TableFault(f"{folder / name} has no values in its column {column}; add some")
    return found


def read_pairs(folder: Path, name: str, left: str, right: str) -> list[tuple[str, str]]:
    """Two columns of such a file, row by row, without rows in which one is empty. Raises TableFault."""
    with _opened(folder, name, (left, right)) as reader:
        rows = [((row[left] or "").strip(), (row[right] or "").strip()) for row in reader]
    return [row for row in rows if all(row)]


@contextmanager
def _opened(folder: Path, name: str, columns: Sequence[str]) -> Iterator[Records]:
    """The rows of a table that has these columns. Raises TableFault, also for what reading the rows raises."""
    path = folder / name
    try:
        if not path.resolve().is_relative_to(folder.resolve()):
            outside = f"{name} is not in the folder of the mapping file"
            raise TableFault(f"{outside}; tables are read from there and below it")
        data = bounded_file(path, LARGEST_TABLE)
        other = other_format(data[:HEAD])
        if other is not None:
            raise TableFault(f"{path} {other.instead_of('a CSV file')}; {other.remedy}")
        reader = records_of(io.TextIOWrapper(io.BytesIO(data), "utf-8-sig", newline=""))
        _check_columns(reader.columns, path.name, columns)
        yield reader
    except FileNotFoundError:
        hint = path_hint(name, "correct the path, which begins at the mapping file")
        raise TableFault(f"there is no file {path}; {hint}") from None
    except (OSError, ValueError) as error:
        if isinstance(error, TableFault):
            raise
        problem = (
            f"is not UTF-8 at byte {error.start}; save it as UTF-8"
            if isinstance(error, UnicodeDecodeError)
            else _unreadable(error)
        )
        raise TableFault(f"{path} {problem}") from None
    except TooLarge as error:
        raise TableFault(f"{path} cannot be read: {error.message}") from None
    except csv.Error as error:
        raise TableFault(f"{path} is not a CSV file: {error}; check its quotes") from None


def _unreadable(error: OSError | ValueError) -> str:
    return f"cannot be read: {error.strerror if isinstance(error, OSError) else error}"


def _check_columns(known: Sequence[str], name: str, columns: Sequence[str]) -> None:
    for column in columns:
        if column not in known:
            raise TableFault(f"{name} has no column {column} in its first line; add it, or name the right one")


def _rows(reader: Records, path: Path, key: str, value: str) -> dict[str, str]:
    found, alike = dict[str, str](), dict[str, str]()  # many keys have the same value, which is kept once
    for row in reader:
        left, right = folded(row[key] or ""), (row[value] or "").strip()
        right = alike.setdefault(right, right)
        if not left:
            continue
        if found.setdefault(left, right) != right:
            raise TableFault(f"{path.name}:{reader.line}: {left} occurs twice, with different values; remove one")
    return found
