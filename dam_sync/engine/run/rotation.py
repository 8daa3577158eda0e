"""The rotation: in each run another part of the library is read again and compared, so that changes which no listing
shows are found within a stated number of runs."""

from __future__ import annotations

from dam_sync.engine.context.run_context import RunContext
from dam_sync.model.rotation import Rotation
from dam_sync.model.values import Json
from dam_sync.store.note_keys import NEXT_ROTATION, window_key

KEY = "rotation"  # in the window of a run


async def rotation_of(context: RunContext) -> Rotation | None:
    """The part that this run compares, decided with its window; None for a run without one."""
    window = await context.state.store.get_meta(window_key(context.state.run.id)) or {}
    return Rotation(*window[KEY]) if window.get(KEY) else None


async def with_rotation(context: RunContext, window: Json) -> Json:
    """The window of a new run with the part that it compares, if the policy has a rotation and the run does not read
    everything anyway. The source lists everything if that costs fewer calls than reading the part by ids."""
    parts, store = context.task.policy.rotation, context.state.store
    if not parts or window["since"] is None:
        return window
    part = int(await store.get_meta(context.task.note_key(NEXT_ROTATION)) or 0) % parts
    limits, known = context.source.service.limits, await store.link_count()
    pages = (context.source.account.total or known) / limits.page
    since = None if limits.lists_whole and pages < known / parts else window["since"]
    return {**window, "since": since, KEY: [part, parts]}


async def advance(context: RunContext) -> None:
    """The next run compares the next part."""
    rotation = await rotation_of(context)
    if rotation is not None:
        await context.state.store.set_meta(context.task.note_key(NEXT_ROTATION), (rotation.part + 1) % rotation.parts)
