"""What a run that was killed left open in the target: ended once all work is done that might have gone on with it."""

from __future__ import annotations

from dam_sync.engine.run_context import RunContext


async def abort_orphaned_uploads(context: RunContext) -> None:
    """End it, and count it for the report. Nothing where only some assets were asked for; safe to repeat."""
    if not context.control.only:
        context.orphans_aborted += await context.target.sweep(context.store.is_recorded)


def describe_orphans(context: RunContext) -> list[str]:
    """In words; nothing where nothing was left."""
    match context.orphans_aborted:
        case 0:
            return []
        case 1:
            return ["1 upload session left open by a run that was killed was ended"]
    return [f"{context.orphans_aborted:,} upload sessions left open by a run that was killed were ended"]
