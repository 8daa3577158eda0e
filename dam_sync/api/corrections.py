"""`errors`: values that park assets, and what people give in their place. Needs only the state and the mapping file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from dam_sync.api.atomic_io import csv_file
from dam_sync.api.csv_rows import read_rows, refuse_faults
from dam_sync.api.mapping_tools.lines import lines_of
from dam_sync.api.stored_job import existing_store, stored_job_of
from dam_sync.config.job import JobConfig
from dam_sync.model.clock import SYSTEM_CLOCK, Clock
from dam_sync.model.correction import WHOLE
from dam_sync.model.diagnostic import nearest
from dam_sync.model.errors import ConfigError
from dam_sync.model.safe_text import copied_cell, csv_cell, unguarded
from dam_sync.store.base import Storage
from dam_sync.store.rows import CorrectionRow

COLUMNS = (
    *("asset", "filename", "title", "url", "cause", "operation", "message", "hint"),
    *("field", "value", "corrected"),
)
NEEDED = ("asset", "field", "value", "corrected")
FILL_IN = "write the list with `errors JOB --csv FILE` and fill in its column `corrected`"
AGAIN = "write the list again with `errors JOB --csv FILE`"


def export_errors(path: Path, assets: Iterable[Mapping[str, Any]]) -> None:
    """Write parked assets (of `job_errors`) to a CSV: a row for each failed value, one for an asset without. Raises
    ConfigError or DiskFull."""
    with csv_file(path, "the list") as writer:
        writer.writerow(COLUMNS)
        for asset in assets:
            for failed in asset["failed"] or [{"field": "", "value": "", "corrected": []}]:
                facts = [csv_cell(cell) for cell in (*(asset[name] for name in COLUMNS[:-3]), failed["field"])]
                value = copied_cell(failed["value"])
                writer.writerows([*facts, value, copied_cell(text)] for text in failed["corrected"] or [""])


async def import_corrections(
    path: Path | JobConfig, filled: Path, clock: Clock = SYSTEM_CLOCK, storage: Storage | None = None
) -> dict[str, int]:
    """`errors JOB --import FILE`: store what is in the column `corrected`, and let the next run try these assets again.
    Safe to repeat; `new` counts what was not stored before. Raises ConfigError with every fault and its line; nothing
    is stored then."""
    job = stored_job_of(path)
    lines = frozenset(name for name, line in lines_of(job).items() if not line.marker)
    async with existing_store(job, clock, storage=storage) as store:
        rows = list(_filled(filled))
        assets = sorted({row.asset for row in rows})
        reading = _FilledList(filled, lines, await store.known_assets(assets))
        for known in await store.correction_rows(assets):
            reading.failed.setdefault((known.asset, known.path), []).append(known)
        corrections = reading.corrections(rows)
        before = {(one.asset, one.path, one.failed, one.corrected) for one in await store.correction_rows(assets)}
        old = sum((one.asset, one.path, one.failed, one.corrected) in before for one in corrections)
        await store.put_corrections(corrections, keys_only=job.policy.ledger == "keys")
        retried = await store.retry_assets(assets)
    new = len(corrections) - old
    return {"corrections": len(corrections), "assets": len(assets), "retried": retried, "new": new}


async def list_corrections(
    path: Path | JobConfig, clock: Clock = SYSTEM_CLOCK, storage: Storage | None = None
) -> list[dict[str, Any]]:
    """`errors JOB --corrections`: every value that a person gave."""
    job = stored_job_of(path)
    async with existing_store(job, clock, read_only=True, storage=storage) as store:
        return [asdict(row) for row in await store.correction_rows()]


async def forget_corrections(
    path: Path | JobConfig, assets: Sequence[str], clock: Clock = SYSTEM_CLOCK, storage: Storage | None = None
) -> int:
    """`errors JOB --forget ID`: remove what people gave for these assets of the source; returns how many values. Raises
    ConfigError for an asset without any."""
    job = stored_job_of(path)
    async with existing_store(job, clock, storage=storage) as store:
        given = {row.asset for row in await store.correction_rows(assets) if row.corrected}
        for asset in assets:
            if asset not in given:
                hint = "`errors JOB --corrections` lists those that have some"
                raise ConfigError(f"the asset {asset} has no corrected value", hint=hint)
        return await store.forget_corrections(assets, keys_only=job.policy.ledger == "keys")


@dataclass(frozen=True, slots=True)
class _Row:
    """A row with a corrected value."""

    line: int
    asset: str
    path: str
    value: str
    corrected: str


def _filled(path: Path) -> Iterator[_Row]:
    with read_rows(path, NEEDED, FILL_IN) as rows:
        for line, row in rows:
            cells = [row[name] or "" for name in NEEDED]
            asset, place, value, corrected = (unguarded(cell) for cell in cells)
            if corrected.strip():
                yield _Row(line, asset.strip(), place.strip(), value, corrected)


@dataclass(slots=True)
class _FilledList:
    """Rows of a list checked against the mapping and the state. failed: what failed or was given, by asset and line."""

    file: Path
    lines: frozenset[str]
    assets: frozenset[str]
    failed: dict[tuple[str, str], list[CorrectionRow]] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)

    def corrections(self, rows: Sequence[_Row]) -> list[CorrectionRow]:
        """What is to be stored. Raises ConfigError with every fault."""
        found: dict[tuple[str, str, str], CorrectionRow] = {}
        for row in rows:
            correction = self._correction(row)
            if correction is None:
                continue
            key = correction.asset, correction.path, correction.failed
            before = found.get(key)
            texts = () if before is None else before.corrected
            if texts and correction.failed != WHOLE and correction.corrected[0] not in texts:
                self._fault(row, f"{row.path} of {row.asset} has two corrected values for {row.value!r}")
            more = () if row.corrected in texts else correction.corrected
            found[key] = CorrectionRow(*key, correction.rule, (*texts, *more))
        refuse_faults(self.faults, AGAIN)
        return list(found.values())

    def _correction(self, row: _Row) -> CorrectionRow | None:
        known = self.failed.get((row.asset, row.path), [])
        same = [one for one in known if copied_cell(one.failed) == copied_cell(row.value)]
        message = self._message(row, fits=bool(same) or not known)
        if message:
            self._fault(row, message)
            return None
        failed, rule = (same[0].failed, same[0].rule) if same else (row.value, "")
        return CorrectionRow(row.asset, row.path, failed, rule, (row.corrected,))

    def _message(self, row: _Row, *, fits: bool) -> str:
        """What is wrong with a row; empty if nothing is."""
        if row.asset not in self.assets:
            return f"the state knows no asset {row.asset!r} of the source"
        if row.path not in self.lines:
            hint = nearest(row.path, self.lines)
            return f"the mapping has no line {row.path!r}{f'; {hint}' if hint else ''}"
        return "" if fits else f"{row.value!r} is not the value of {row.path} for which {row.asset} is parked"

    def _fault(self, row: _Row, message: str) -> None:
        self.faults.append(f"{self.file}:{row.line}: {message}")
