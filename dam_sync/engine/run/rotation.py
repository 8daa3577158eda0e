"""The rotation: in each run another part of the library is read again and compared, so that changes which no listing
shows are found within a stated number of runs."""

from __future__ import annotations

from dam_sync.engine.context.libraries import Source
from dam_sync.engine.context.run_state import RunState
from dam_sync.engine.context.run_task import RunTask
from dam_sync.model.rotation import Rotation
from dam_sync.model.values import Json
from dam_sync.store.note_keys import NEXT_ROTATION, window_key
from dam_sync.store.store import SqlStore

KEY = "rotation"  # in the window of a run


async def rotation_of(state: RunState) -> Rotation | None:
    """The part that this run compares, decided with its window; None for a run without one."""
    window = await state.store.get_meta(window_key(state.run.id)) or {}
    return Rotation(*window[KEY]) if window.get(KEY) else None


async def with_rotation(source: Source, store: SqlStore, task: RunTask, window: Json) -> Json:
    """The window of a new run with the part that it compares, if the policy has a rotation and the run does not read
    everything anyway. The source lists everything if that costs fewer calls than reading the part by ids."""
    parts = task.policy.rotation
    if not parts or window["since"] is None:
        return window
    part = int(await store.get_meta(task.note_key(NEXT_ROTATION)) or 0) % parts
    limits, known = source.service.limits, await store.link_count()
    pages = (source.account.total or known) / limits.page
    since = None if limits.lists_whole and pages < known / parts else window["since"]
    return {**window, "since": since, KEY: [part, parts]}


async def advance(state: RunState, task: RunTask) -> None:
    """The next run compares the next part."""
    rotation = await rotation_of(state)
    if rotation is not None:
        await state.store.set_meta(task.note_key(NEXT_ROTATION), (rotation.part + 1) % rotation.parts)
