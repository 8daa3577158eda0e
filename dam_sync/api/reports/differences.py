"""Every difference of a verification as a row of a CSV file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

from dam_sync.api.atomic_io import csv_file
from dam_sync.engine.compare.differences import Difference
from dam_sync.report.csv_rows import DIFFERENCES, difference_row

MOST = 10_000  # ids of differing assets that are kept


@contextmanager
def differences_to(path: Path | None) -> Iterator[Callable[[str, str, Difference], None] | None]:
    """Called with source id, target id and difference; None without a file. The file is there once all are written.
    Raises ConfigError or DiskFull."""
    if path is None:
        yield None
        return
    with csv_file(path, "the list of differences") as writer:
        writer.writerow(DIFFERENCES)

        def write(source: str, target: str, found: Difference) -> None:
            writer.writerow(difference_row(source, target, asdict(found)))

        yield write


@dataclass(slots=True)
class DifferingAssets:
    """The source ids of assets that differ, passed on to `sink`. extras: whether additions count. many: there are more
    than are kept."""

    sink: Callable[[str, str, Difference], None] | None = None
    extras: bool = False
    ids: set[str] = field(default_factory=set)
    many: bool = False

    def __call__(self, source: str, target: str, found: Difference) -> None:
        """One more difference."""
        if self.sink is not None:
            self.sink(source, target, found)
        if self.extras or not found.extra:
            self.many = self.many or (len(self.ids) >= MOST and source not in self.ids)
            if not self.many:
                self.ids.add(source)
