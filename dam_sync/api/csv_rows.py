"""CSV files that people fill in."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from dam_sync.model.csv_cells import records_of
from dam_sync.model.errors import ConfigError
from dam_sync.model.other_formats import HEAD, SAVE_AS, other_format
from dam_sync.model.wording import path_hint

LARGEST_CSV = 50_000_000
FAULTS = 20  # shown at most


@contextmanager
def read_rows(path: Path, columns: Sequence[str], hint: str) -> Iterator[Iterator[tuple[int, dict[str, str]]]]:
    """The rows of a CSV that has these columns, and their line numbers. Raises ConfigError."""
    try:
        if not path.exists():
            raise ConfigError(f"there is no file {path}", hint=path_hint(str(path), hint))
        if not path.is_file() or path.stat().st_size > LARGEST_CSV:
            raise ConfigError(f"{path} is not a regular file of at most {LARGEST_CSV // 1_000_000} MB")
        with path.open("rb") as file:
            other = other_format(file.read(HEAD))
        if other is not None:
            raise ConfigError(f"{path} {other.instead_of('a CSV file')}", hint=other.remedy)
        with path.open(encoding="utf-8-sig", newline="") as text:
            reader = records_of(text)
            missing = [name for name in columns if name not in reader.columns]
            if missing:
                raise ConfigError(f"{path}:1: missing column {', '.join(missing)}", hint=hint)
            yield ((reader.line, row) for row in reader)
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} is not in UTF-8 ({error})", hint=SAVE_AS) from error
    except (OSError, csv.Error) as error:
        raise ConfigError(f"{path} cannot be read as CSV in UTF-8 ({error})") from error


def refuse_faults(faults: Sequence[str], hint: str) -> None:
    """Raises ConfigError with the faults of a file, each with its line; does nothing without any."""
    if faults:
        more = [f"… and {len(faults) - FAULTS:,} more"] if len(faults) > FAULTS else []
        raise ConfigError("\n".join([*faults[:FAULTS], *more]), hint=hint)
