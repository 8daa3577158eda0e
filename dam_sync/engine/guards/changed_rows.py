"""Guards a state that something other than dam-sync changed: what it does not know any more would be created again."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping

from dam_sync.engine.guards.finding import GuardFinding
from dam_sync.store.store import SqlStore

ROWS_HINT = (
    "a run may create again what the state has lost: restore it with `state JOB import FILE` from an export, or "
    "rebuild its links from the target with `adopt JOB`; to go on with the state as it is, continue with "
    "--accept-changes"
)


async def changed_rows(store: SqlStore) -> AsyncIterator[GuardFinding]:
    """Rows that the last run left and that are gone, or that something else added."""
    changed = await store.changed_rows()
    if changed:
        yield GuardFinding(about_changed_rows(changed), ROWS_HINT)


def about_changed_rows(changed: Mapping[str, tuple[int, int]]) -> str:
    """The numbers of rows before and now, by table."""
    tables = ", ".join(f"{table} had {before:,} and has {now:,}" for table, (before, now) in changed.items())
    return f"something other than dam-sync removed rows of the state, or added some, since its last run: {tables}"
