"""The error for a second `watch` of one state."""

from __future__ import annotations

from dam_sync.model.errors import StoreBusy

ALREADY_WATCHED = "already watched"  # code


def watched_elsewhere(state: str, by: str) -> StoreBusy:
    """by: `process 4711 on HOST`, and since when, if it is known."""
    return StoreBusy(
        f"another `watch` has this job: {by or 'a process that cannot be named'}; the state {state} has one `watch` "
        "at a time, because each would send the webhooks to itself",
        code=ALREADY_WATCHED,
        hint="let that process continue, or stop it first (SIGTERM); for more jobs, name them all in one `watch`",
    )
