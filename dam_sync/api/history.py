"""What the live page shows of the state of a job, and how texts are made safe for it."""

from __future__ import annotations

from dam_sync.api.state_commands import causes_of
from dam_sync.api.stored_job import existing_store, state_exists
from dam_sync.config.job import JobConfig
from dam_sync.http.redaction import redact
from dam_sync.model.run_options import RunOptions
from dam_sync.model.safe_text import visible
from dam_sync.model.values import Json
from dam_sync.report.causes import sentence
from dam_sync.store.file.lock_holder import process_exists
from dam_sync.store.rows import RunRow
from dam_sync.store.status_facts import shown_state

RUNS, CAUSES = 20, 50  # rows shown at most
LONGEST = 600  # characters of a text


async def history_of(job: JobConfig, options: RunOptions) -> dict[str, Json]:
    """The last runs of a job and what is parked, by cause. Raises what the state raises."""
    if not await state_exists(job):
        return {"runs": [], "parked": []}
    async with existing_store(job, options.clock, read_only=True, storage=options.storage) as store:
        causes = await causes_of(store)
        return {
            "runs": [_run(row, options) for row in await store.runs(at_most=RUNS)],
            "parked": [
                {
                    "cause": str(row.cause),
                    "meaning": sentence(row.cause),
                    "count": row.count,
                    "example": row.example,
                    "hint": row.hint,
                }
                for row in causes[:CAUSES]
            ],
        }


def _run(row: RunRow, options: RunOptions) -> dict[str, Json]:
    outcome = row.outcome if isinstance(row.outcome, dict) else {}
    calls = outcome.get("calls", {})
    return {
        "run": row.id,
        "command": row.command,
        "started": row.started_at.isoformat(timespec="seconds"),
        "ended": row.ended_at.isoformat(timespec="seconds") if row.ended_at else None,
        "result": shown_state(row, options.clock.now(), process_exists),
        "counts": {name: number for name, number in outcome.get("counts", {}).items() if number},
        "calls": sum(sum(side.values()) for side in calls.values()),
        "bytes": outcome.get("bytes", 0),
        "reason": outcome.get("stopped", ""),
    }


def cleaned(value: Json) -> Json:
    """The same JSON without secrets and signed URLs, without characters that control a display, and without long
    texts."""
    if isinstance(value, str):
        return visible(redact(value))[:LONGEST]
    if isinstance(value, dict):
        return {cleaned(key): cleaned(part) for key, part in value.items()}
    return [cleaned(part) for part in value] if isinstance(value, list) else value
