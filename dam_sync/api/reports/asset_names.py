"""The names of the assets that a report gives as examples, so that a person recognizes them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dam_sync.http.redaction import redact
from dam_sync.report.report import Report
from dam_sync.store.store import SqlStore


async def add_names(report: Report, store: SqlStore) -> None:
    """Add the name of every asset that an example names by its id."""
    known = await store.names_of(_examples(report))
    report.names = {asset: redact(name) for asset, name in known.items()}


def _examples(report: Report) -> Iterator[str]:
    for loss in report.losses:
        yield from (asset for asset, _ in loss["examples"])
    for file in report.files:
        yield from (asset for asset, _ in file.examples)
    rows: list[dict[str, Any]] = [*report.exposure, *report.conflicts]
    for row in rows:
        yield from row["examples"]
    yield from (str(row["asset"]) for row in report.parked)
    yield from (str(row["asset"]) for row in report.gone)
    groups: Any = (report.verdict or {}).get("groups", ())
    for group in groups:
        yield from (example[0] for example in group["examples"])
