"""What a side shows, beside what is linked: a side that looks emptied, and assets that went away in numbers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass

from dam_sync.engine.guards.finding import EXAMPLES, GuardFinding, refuse
from dam_sync.engine.run_context import RunContext
from dam_sync.model.asset import AssetId
from dam_sync.model.errors import NotFound, SafetyStop
from dam_sync.model.safe_text import such_as
from dam_sync.model.service import TRASH, Service
from dam_sync.store.store import SqlStore

NOTHING_SEEN = "the source shows no asset to this credential"
NOTHING_HINT = "check the URL and the credential's rights at the source; if the library is really empty"
RIGHTS_HINT = (
    "check the credential's rights at the source; if so many are really gone, continue with --accept-changes: "
    "nothing is removed in the target"
)
GONE_HINT = (
    "look at the source's trash; if they are really to be gone, continue with --accept-changes: nothing is removed in "
    "the target"
)
EMPTIED_HINT = (
    "check the URL and the credential of the target and look into its trash; to move the library once more give "
    "the job a new `state:` file; --accept-changes continues and parks what is not there"
)
SHRUNK = 0.5  # a side that shows less than this part of what we know is not to be believed
MOST_GONE = 0.2  # of what is linked; more going away between two runs, or in one, is no tidying up
FEW = 10  # so many may always go, however small the library
SAMPLE = 5  # linked assets asked for where a side cannot be told by its count
GONE, SWEPT = "gone", "swept"  # notes: linked assets known to be gone, and the last run that listed everything


@dataclass(frozen=True, slots=True)
class Disappearance:
    """How many linked assets are gone from the source, how many of them were known to be `before`, some of them."""

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
        """Linked assets that the last run still saw."""
        return self.known - (self.before or 0)

    @property
    def emptied(self) -> bool:
        """Whether most of the library is gone at once."""
        return self.fresh > self.alive * (1 - SHRUNK)

    @property
    def massive(self) -> bool:
        """Whether more went away at once than people remove by hand."""
        return self.emptied or (self.before is not None and self.fresh > max(FEW, self.alive * MOST_GONE))

    def finding(self) -> GuardFinding:
        """In words."""
        named = such_as(self.examples, self.gone)
        return GuardFinding(
            f"{self.fresh:,} of {self.alive:,} assets moved from the source before are gone from it or in its trash "
            f"since the last run{named}",
            GONE_HINT,
        )


async def unseen_source(context: RunContext) -> AsyncIterator[GuardFinding]:
    """The source shows nothing, or far less than what is linked and not known to be gone. Where it tells no count,
    some linked assets are asked for."""
    store, total = context.store, context.source_account.total
    if context.control.only:
        return
    if total is None:
        if await _mostly_gone(context.source, [link.source for link in await store.sample_links(SAMPLE)]):
            yield GuardFinding("the source shows none of the assets that were moved from it before", RIGHTS_HINT)
    elif (found := _few(await store.link_count(), total, await known_gone(store))) is not None:
        yield found


async def emptied_target(context: RunContext) -> AsyncIterator[GuardFinding]:
    """The target shows far fewer assets than are linked, and those asked for are not there. Its index may be behind
    its writes, so the count alone proves nothing."""
    known, total = await context.store.link_count(), context.target_account.total
    if not known or (total is not None and total >= known * SHRUNK):
        return
    if await target_is_empty(context):
        told = "shows no count" if total is None else f"shows {total:,} assets"
        yield GuardFinding(
            f"the target {told}, {known:,} were moved into it, and those asked for are gone", EMPTIED_HINT
        )


async def target_is_empty(context: RunContext) -> bool:
    """Whether most of some linked assets, spread over the library, are gone from the target, also once its index can
    be behind no more."""
    asked = [link.target for link in await context.store.sample_links(SAMPLE)]
    if not await _mostly_gone(context.target, asked):
        return False
    await context.clock.sleep(context.target.limits.lag.total_seconds())
    return await _mostly_gone(context.target, asked)


async def refuse_incredible_listing(context: RunContext, listed: int) -> None:
    """Raises SafetyStop when a listing of everything has nothing, far less than the source counts, or far less than
    what is linked. It is then forgotten, so that the next run lists again."""
    total = context.source_account.total or 0
    found = _few(await context.store.link_count(), listed, await known_gone(context.store))
    if found is None and total > listed / SHRUNK:  # a total may have more digits than a float
        found = GuardFinding(f"the source counts {total:,} assets and its listing has {listed:,}", RIGHTS_HINT)
    await _refuse_listing(context, found)


async def refuse_mass_removal(context: RunContext, *, whole: bool) -> None:
    """Raises SafetyStop when far more linked assets went away since the last run than people remove by hand. The
    listing is then forgotten."""
    loss = await disappearance_of(context, whole=whole)
    await _refuse_listing(context, loss.finding() if loss.massive else None)


async def refuse_mostly_unlisted(context: RunContext, listed: int) -> None:
    """Raises SafetyStop when a verification's listing of the source has far too few of the linked assets."""
    known = await context.store.link_count()
    loss = Disappearance(known, max(0, known - listed), await _noted_gone(context.store))
    if loss.massive:
        context.accept(refuse([loss.finding()], context.control))


async def disappearance_of(context: RunContext, *, whole: bool) -> Disappearance:
    """What is gone by the listing of this run; whole: it lists everything, so that what it does not show is gone."""
    store = context.store
    since = context.run.id if whole else int(await store.get_meta(SWEPT) or 0)
    gone, examples = await store.gone(since, EXAMPLES)
    return Disappearance(await store.link_count(), gone, await _noted_gone(store), tuple(examples))


async def keep_disappearance(context: RunContext, *, whole: bool) -> None:
    """Remember, at the end of a run, what is known to be gone, so that the next one tells what is new."""
    loss = await disappearance_of(context, whole=whole)
    if loss.gone != loss.before:
        await context.store.set_meta(GONE, loss.gone)
    if whole:
        await context.store.set_meta(SWEPT, context.run.id)


async def known_gone(store: SqlStore) -> int:
    """Linked assets that an earlier run found gone, and told."""
    return await _noted_gone(store) or 0


async def _refuse_listing(context: RunContext, found: GuardFinding | None) -> None:
    if found is None:
        return
    try:
        context.accept(refuse([found], context.control))
    except SafetyStop:
        await context.store.forget_shards(context.run.id)
        raise


def _few(known: int, seen: int, gone: int) -> GuardFinding | None:
    loss = Disappearance(known, max(0, known - seen), gone)
    if known and loss.emptied:
        return GuardFinding(f"the source shows {seen:,} assets, {known:,} were moved from it before", RIGHTS_HINT)
    if not known and not seen:
        return GuardFinding(NOTHING_SEEN, f"{NOTHING_HINT}, continue with --accept-changes")
    return None


async def _mostly_gone(service: Service, ids: list[str]) -> bool:
    return bool(ids) and sum([await is_gone(service, AssetId(one)) for one in ids]) > len(ids) / 2


async def is_gone(service: Service, asset: AssetId) -> bool:
    """Whether a side has no such asset any more, or has it in its trash."""
    try:
        return (await service.fetch(asset)).status == TRASH
    except NotFound:
        return True


async def _noted_gone(store: SqlStore) -> int | None:
    noted = await store.get_meta(GONE)
    return None if noted is None else int(noted)
