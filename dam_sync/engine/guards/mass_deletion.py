"""Guards against an empty-looking side and against mass disappearance, judged by the links."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass

from dam_sync.aio.polling import sleep_looking
from dam_sync.engine.context.accepted import Accepted
from dam_sync.engine.context.libraries import Source, Target
from dam_sync.engine.context.run_state import RunState
from dam_sync.engine.context.stopping import Stopping
from dam_sync.engine.guards.finding import EXAMPLES, GuardFinding, empty_state, refuse
from dam_sync.model.asset import AssetId
from dam_sync.model.errors import NotFound, SafetyStop
from dam_sync.model.run_options import RunOptions
from dam_sync.model.service import Service
from dam_sync.model.waits import INDEX
from dam_sync.model.wording import counted, such_as
from dam_sync.store.note_keys import GONE, LISTED_WHOLE
from dam_sync.store.store import SqlStore

NOTHING_SEEN = "the source returns no assets to this credential"
NOTHING_HINT = "check the URL and the credential's rights at the source; if the library really is empty"
WAITING = f"{INDEX}, in which {{}} of {{}} that were moved to it are missing,"
RIGHTS_HINT = (
    "check the credential's rights at the source; if that many really are gone, continue with --accept-changes: "
    "nothing is removed at the target by that"
)
GONE_HINT = (
    "check the trash of the source; if the deletion is intended, continue with --accept-changes: nothing is removed at "
    "the target by that"
)
SHRUNK = 0.5  # below this fraction of the known assets a listing is not trusted
MOST_GONE = 0.2  # fraction of the links; more disappearing between two runs, or in one, is not tidying up
FEW = 10  # this many may always disappear, however small the library
SAMPLE = 5  # linked assets requested if the count of a side says nothing


@dataclass(frozen=True, slots=True)
class Disappearance:
    """How many linked assets are gone from the source, how many were already known `before`, and examples."""

    known: int
    gone: int
    before: int | None
    examples: tuple[str, ...] = ()

    @property
    def fresh(self) -> int:
        """Gone since the last run."""
        return max(0, self.gone - (self.before or 0))

    @property
    def alive(self) -> int:
        """Linked assets that the last run still found."""
        return self.known - (self.before or 0)

    @property
    def emptied(self) -> bool:
        """Whether most of the library disappeared at once."""
        return self.fresh > self.alive * (1 - SHRUNK)

    @property
    def massive(self) -> bool:
        """Whether more disappeared at once than people remove by hand."""
        return self.emptied or (self.before is not None and self.fresh > max(FEW, self.alive * MOST_GONE))

    def finding(self) -> GuardFinding:
        """In words."""
        return GuardFinding(
            f"{self.fresh:,} of {self.alive:,} assets moved before are gone from the source or in its trash "
            "since the last run",
            GONE_HINT,
            named=such_as(self.examples, self.gone),
        )


async def unseen_source(source: Source, store: SqlStore, options: RunOptions) -> AsyncIterator[GuardFinding]:
    """The source returns nothing, or far less than what is linked and not known to be gone. Without a count,
    some linked assets are requested."""
    total = source.account.total
    if options.only:
        return
    if total is None:
        if await _mostly_gone(source.service, [link.source for link in await store.sample_links(SAMPLE)]):
            yield GuardFinding("the source returns none of the assets that were moved from it before", RIGHTS_HINT)
    elif (found := _few(await store.link_count(), total, await known_gone(store))) is not None:
        yield found


async def emptied_target(target: Target, state: RunState, stopping: Stopping) -> AsyncIterator[GuardFinding]:
    """The target returns far fewer assets than are linked, and those requested are missing. Its index may be behind
    its writes, so the count alone proves nothing."""
    known, total = await state.store.link_count(), target.account.total
    if not known or (total is not None and total >= known * SHRUNK):
        return
    if await target_is_empty(target, state.store, stopping):
        count = "returns no count" if total is None else f"has {counted(total, 'asset')}"
        yield GuardFinding(
            f"the target {count}, {known:,} were moved to it, and those that were requested are gone",
            emptied_hint(state),
        )


def emptied_hint(state: RunState) -> str:
    """What to do about a target from which most assets are gone."""
    return (
        "check the URL and the credential of the target and look into its trash; to move the library again give "
        f"the job {empty_state(state)}; --accept-changes continues and parks what is missing"
    )


async def target_is_empty(target: Target, store: SqlStore, stopping: Stopping) -> bool:
    """Whether most of some linked assets, spread over the library, are gone from the target, even after its index can
    no longer be behind, which is shown meanwhile. Those that a killed run or rollback was moving to the trash prove
    nothing."""
    sample = await store.without_begun_removals(await store.sample_links(SAMPLE))
    asked, lag = [link.target for link in sample], target.service.limits.lag.total_seconds()
    gone = await _gone_of(target.service, asked)
    if not _is_most(gone, asked):
        return False
    waiting = WAITING.format(gone, counted(len(asked), "asset"))
    await sleep_looking(stopping.clock, lag, stopping.refuse_stopped, waiting)
    return await _mostly_gone(target.service, asked)


async def refuse_incredible_listing(source: Source, state: RunState, accepted: Accepted, listed: int) -> None:
    """Raises SafetyStop if a full listing is empty, far smaller than the count of the source, or far smaller than
    what is linked. The listing is then discarded, so that the next run lists again."""
    total = source.account.total or 0
    found = _few(await state.store.link_count(), listed, await known_gone(state.store))
    if found is None and total > listed / SHRUNK:  # a total may have more digits than a float
        found = GuardFinding(f"the source counts {counted(total, 'asset')} but its listing has {listed:,}", RIGHTS_HINT)
    await _refuse_listing(state, accepted, found)


async def refuse_mass_removal(state: RunState, accepted: Accepted, *, whole: bool) -> None:
    """Raises SafetyStop if far more linked assets disappeared since the last run than people remove by hand. The
    listing is then discarded."""
    loss = await disappearance_of(state, whole=whole)
    await _refuse_listing(state, accepted, loss.finding() if loss.massive else None)


async def refuse_mostly_unlisted(store: SqlStore, accepted: Accepted, listed: int) -> None:
    """Raises SafetyStop if a verification's listing of the source has far too few of the linked assets."""
    known = await store.link_count()
    loss = Disappearance(known, max(0, known - listed), await _noted_gone(store))
    if loss.massive:
        await accepted.accept(refuse([loss.finding()], accepted.options))


async def disappearance_of(state: RunState, *, whole: bool) -> Disappearance:
    """What is gone by the listing of this run; whole: it lists everything, so what it lacks is gone."""
    store = state.store
    since = state.run.id if whole else int(await store.get_meta(LISTED_WHOLE) or 0)
    gone, examples = await store.gone(since, EXAMPLES)
    return Disappearance(await store.link_count(), gone, await _noted_gone(store), tuple(examples))


async def keep_disappearance(state: RunState, *, whole: bool) -> None:
    """Store, at the end of a run, what is known to be gone, so that the next run knows what is new."""
    loss = await disappearance_of(state, whole=whole)
    if loss.gone != loss.before:
        await state.store.set_meta(GONE, loss.gone)
    if whole:
        await state.store.set_meta(LISTED_WHOLE, state.run.id)


async def known_gone(store: SqlStore) -> int:
    """Linked assets that an earlier run reported as gone."""
    return await _noted_gone(store) or 0


async def _refuse_listing(state: RunState, accepted: Accepted, found: GuardFinding | None) -> None:
    if found is None:
        return
    try:
        await accepted.accept(refuse([found], accepted.options))
    except SafetyStop:
        await state.store.forget_shards(state.run.id)
        raise


def _few(known: int, seen: int, gone: int) -> GuardFinding | None:
    loss = Disappearance(known, max(0, known - seen), gone)
    if known and loss.emptied:
        return GuardFinding(
            f"the source has {counted(seen, 'asset')}, but {known:,} were moved from it before", RIGHTS_HINT
        )
    if not known and not seen:
        return GuardFinding(NOTHING_SEEN, f"{NOTHING_HINT}, continue with --accept-changes")
    return None


async def _mostly_gone(service: Service, ids: list[str]) -> bool:
    return _is_most(await _gone_of(service, ids), ids)


async def _gone_of(service: Service, ids: list[str]) -> int:
    return sum([await is_gone(service, AssetId(one)) for one in ids])


def _is_most(gone: int, ids: list[str]) -> bool:
    return bool(ids) and gone > len(ids) / 2


async def is_gone(service: Service, asset: AssetId) -> bool:
    """Whether an asset is gone from a service or in its trash."""
    try:
        return await service.is_trashed(asset)
    except NotFound:
        return True


async def _noted_gone(store: SqlStore) -> int | None:
    noted = await store.get_meta(GONE)
    return None if noted is None else int(noted)
