"""Changes that a listing by date does not show: assets whose memberships changed, those that left the trash of the
source, and those that the rotation compares, are read again by their ids."""

from __future__ import annotations

from dam_sync.engine.context.accepted import Accepted
from dam_sync.engine.context.libraries import Source
from dam_sync.engine.context.run_context import RunContext, Tallies
from dam_sync.engine.context.run_state import RunState
from dam_sync.engine.guards.finding import GuardFinding, refuse
from dam_sync.engine.guards.mass_deletion import FEW, SHRUNK
from dam_sync.engine.read.members import TARGET
from dam_sync.engine.run.second_pass import listed_all
from dam_sync.model.capabilities import Operation
from dam_sync.model.rotation import Rotation
from dam_sync.model.run_options import MEMBERSHIPS, RESTORED, ROTATION
from dam_sync.model.wording import counted
from dam_sync.store.note_keys import TRASH_SEEN, window_key

PAGE = 500
RUN = "run"  # the command that reads everything that changed
LOST_HINT = (
    "check the rights of the credential at the source; --accept-changes removes the assets from the containers of the "
    "target, too"
)


async def read_unlisted(context: RunContext) -> None:
    """Called after the listing and after the memberships were read: make work of what neither shows by a date. Safe to
    repeat."""
    window = await context.state.store.get_meta(window_key(context.state.run.id)) or {}
    if context.state.run.command != RUN:
        return
    if context.task.wave is not None:
        await context.task.wave.read_due(context.state.store, context.state.run.id)
    whole = await listed_all(context.source, context.state, context.task.options)
    unlisted = not whole  # otherwise what was not listed is gone
    await _restored(context, unlisted=unlisted)
    read_all = bool(window.get("full")) and context.task.wave is None  # with waves, of one wave only
    if read_all or not await context.state.store.link_count():
        return
    await _changed_members(context.source, context.state, context.tallies, unlisted=unlisted)
    if context.task.rotation is not None:
        await _linked(context.state, context.tallies, context.task.rotation, unlisted=unlisted)
        await _left_out(context, context.task.rotation, unlisted=unlisted)


async def _restored(context: RunContext, *, unlisted: bool) -> None:
    """Assets that left the trash since the listing before, or of which other versions are there, and that are not
    gone."""
    now = context.source.service.in_trash()
    if now is None:
        return
    store, key = context.state.store, context.task.note_key(TRASH_SEEN)
    kept = await store.get_meta(key) or {}
    before = kept if isinstance(kept, dict) else dict.fromkeys(kept)  # a state of an older release has a list
    left = sorted(asset for asset, seen in before.items() if asset not in now or seen not in (None, now[asset]))
    if unlisted and left:
        gone = await context.source.service.missing(left, context.clock.now())
        back = [asset for asset in left if asset not in gone]
        context.tallies.read_again[RESTORED] += await store.read_again(context.state.run.id, back, deleted=True)
    if now != before:
        await store.set_meta(key, dict(sorted(now.items())))


async def _changed_members(source: Source, state: RunState, tallies: Tallies, *, unlisted: bool) -> None:
    if Operation.MEMBERS not in source.service.capabilities:
        return
    store, after = state.store, ""
    while page := await store.changed_members(after, PAGE):
        after = page[-1]
        found = await store.read_again(state.run.id, page, unlisted=unlisted)
        tallies.read_again[MEMBERSHIPS] += found


async def refuse_lost_memberships(state: RunState, accepted: Accepted) -> None:
    """Raises SafetyStop if most memberships are gone since the last run: every asset would leave its containers."""
    before, now = await state.store.member_counts(without=TARGET)
    if state.run.command == RUN and before - now > max(FEW, before * (1 - SHRUNK)):
        found = (
            f"the source returns {counted(now, 'membership')} of containers, and returned {before:,} in the last run"
        )
        await accepted.accept(refuse([GuardFinding(found, LOST_HINT)], accepted.options))


async def _linked(state: RunState, tallies: Tallies, rotation: Rotation, *, unlisted: bool) -> None:
    store, after = state.store, ""
    while page := await store.linked_assets(after, PAGE):
        after = page[-1]
        due = [asset for asset in page if rotation.is_due(asset)]
        tallies.read_again[ROTATION] += await store.read_again(state.run.id, due, unlisted=unlisted)


async def _left_out(context: RunContext, rotation: Rotation, *, unlisted: bool) -> None:
    """Assets that were not selected, and those that were gone and exist again."""
    store, after = context.state.store, ""
    while unlisted and (page := await store.left_out_assets(after, PAGE)):
        after, _ = page[-1]
        due = {asset: deleted for asset, deleted in page if rotation.is_due(asset)}
        gone = [asset for asset, deleted in due.items() if deleted]
        still = await context.source.service.missing(gone, context.clock.now()) if gone else frozenset()
        back = [asset for asset in due if asset not in still]
        context.tallies.read_again[ROTATION] += await store.read_again(context.state.run.id, back, deleted=True)
