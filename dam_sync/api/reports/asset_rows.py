"""Every asset of a plan or run as a row: what happens to it and why. For CSV files and the file of a plan."""

from __future__ import annotations

from pathlib import Path

from dam_sync.api.atomic_io import csv_file
from dam_sync.http.redaction import redact
from dam_sync.model.exposure import EXPOSURE
from dam_sync.model.safe_text import csv_cell
from dam_sync.report.loss_words import in_words
from dam_sync.store.planned import CoveredAsset
from dam_sync.store.store import SqlStore

WHAT = "the list of assets"
COLUMNS = ("asset", "action", "reason", "filename", "target", "losses", "revision")
REASONS = {
    "created": "it is not at the target yet",
    "unchanged": "nothing changed since it was written",
    "removed": "it is gone from the source",
    "": "it was not reached",
}


def reason_of(row: CoveredAsset) -> str:
    """Why the asset is handled as it is, in words."""
    match row.action:
        case "updated":
            return f"changed: {row.message}" if row.message else "it changed"
        case "parked":
            return redact(f"{row.cause}: {row.message}" if row.message else str(row.cause or ""))
        case "skipped":
            return row.message or str(row.cause or "")
        case _:
            return REASONS.get(row.action, row.action)


async def write_assets(path: Path | None, store: SqlStore, run: int) -> None:
    """Write a CSV file with a row per asset, if one is asked for. Raises DiskFull or ConfigError."""
    if path is None:
        return
    with csv_file(path, WHAT) as rows:
        rows.writerow(COLUMNS)
        async for asset in store.covered(run):
            rows.writerow(csv_cell(cell) for cell in _cells(asset))


def _cells(row: CoveredAsset) -> tuple[object, ...]:
    name = row.filename or row.named.get("filename", "")
    losses = "; ".join(dict.fromkeys(_lost(loss["path"], loss["rule"], loss["detail"]) for loss in row.losses))
    target = "" if row.target.startswith("planned-") else row.target
    return row.asset, row.action or "open", reason_of(row), name, target, redact(losses), row.revision


def _lost(path: str, rule: str, detail: str) -> str:
    text = in_words(path, rule) if path == EXPOSURE else f"{path}: {rule}"
    return f"{text} ({detail})" if detail else text
