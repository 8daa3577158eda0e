"""The state of a job, and the place that a run has in it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # a job file is checked without a database layer
    from dam_sync.store.rows import Run
    from dam_sync.store.store import SqlStore


@dataclass(slots=True)
class RunState:
    """on_server: also where a dry run works on a copy in a file."""

    store: SqlStore
    run: Run
    on_server: bool = False

    async def last_ended(self) -> datetime | None:
        """When an earlier run, or an earlier part of this one, may have written last; None if there were none. Of one
        that was killed the last heartbeat is known; of this one, if it is resumed, only that it was before now."""
        own = (self.run.id, self.run.started_at)  # the number alone may be that of a verification, which is not stored
        earlier = [row for row in await self.store.runs() if (row.id, row.started_at) != own or self.run.resumed]
        return max((row.ended_at or row.beat_at or row.started_at for row in earlier), default=None)
