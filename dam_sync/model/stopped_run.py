"""Why a run stopped before it was complete, as its state keeps it."""

from __future__ import annotations

import asyncio
from typing import Any

from dam_sync.model.errors import DamSyncError, InternalError, first_cause

AT_ONCE = "stopped at once, by a second signal or the end of its process; the next run looks at what was in progress"


def stopped_by(error: BaseException) -> dict[str, Any]:
    """The reason, the hint and the exit code of what ended a run."""
    cause = first_cause(error)
    if isinstance(cause, asyncio.CancelledError):
        return {"stopped": AT_ONCE}
    known = cause if isinstance(cause, DamSyncError) else InternalError.of(cause)
    return {"stopped": str(known), "hint": known.hint, "exit_code": known.exit_code}
