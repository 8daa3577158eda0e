"""A run that does exactly what a plan says: every operation is compared with the plan before it is made."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dam_sync.model.errors import SafetyStop
from dam_sync.model.journal_names import kind_of, object_of
from dam_sync.model.ports import Journal
from dam_sync.model.wording import counted, such_as
from dam_sync.store.note_keys import plan_key

if TYPE_CHECKING:  # a job file is checked without a database layer
    from dam_sync.store.planned import ListingChange
    from dam_sync.store.store import SqlStore

NEW_PLAN = (
    "make a new plan with `plan JOB -o FILE`, and pass it to `run JOB --plan FILE`; a run that was begun continues "
    "without a plan with --accept-changes"
)
WORDS = {
    "added": ("asset was added to", "assets were added to"),
    "changed": ("asset changed in", "assets changed in"),
    "removed": ("asset is gone from", "assets are gone from"),
}


@dataclass(frozen=True, slots=True)
class PlannedWork:
    """The plan of a run, as loaded into the state. listing: the digest of the listing that it was made of; whole: it
    covers everything that the run lists; operations: the digest of exactly that in the ledger; after: the ledger row
    before it; resumed: some of it is done."""

    store: SqlStore
    run: int
    listing: str = ""
    whole: bool = True
    operations: str = ""
    after: int = 0
    resumed: bool = False

    async def require(self, asset: str, digest: str) -> None:
        """Raises SafetyStop unless the plan says that exactly this is done to the asset."""
        planned = await self.store.planned_asset(asset)
        if planned is None:
            raise _stale(
                f"asset {asset} is not in the plan: it was added to the source, changed there, or selected, since"
            )
        if digest not in planned.digest.split():
            what = f"the plan says {planned.action or 'nothing'}"
            raise _stale(f"asset {asset} is not as it was planned ({what}): it changed at the source or at the target")

    async def require_shared(self, name: str) -> None:
        """Raises SafetyStop unless the plan contains this operation on a term or container."""
        if not await self.store.is_planned(name):
            kind, what = kind_of(name), object_of(name)
            raise _stale(f"the {kind} {what} is not in the plan: the target or an asset changed since")

    async def refuse_existing(self, names: Iterable[str], journal: Journal) -> None:
        """Raises SafetyStop if the target has terms or containers that the plan creates, and that this run did not.
        names: of the operations that would create what exists."""
        planned = await self.store.planned_shared()
        for name in names:
            if name in planned and await journal.get(name) is None:
                kind, what = kind_of(name), object_of(name)
                if not self.resumed:
                    await forget_plan(self.store, self.run)
                raise _stale(f"the target has the {kind} {what} by now, which the plan would create")

    async def refuse_changed_listing(self) -> None:
        """Raises SafetyStop, before anything is written, if the source does not list what it listed for the plan. The
        run then no longer follows the plan."""
        if not self.whole or await self.store.listing_digest(self.run) == self.listing:
            return
        changes = await self.store.listing_changes(self.run)
        await forget_plan(self.store, self.run)
        raise _stale("; ".join(_changes_of(changes)) or "the listing of the source changed")


async def forget_plan(store: SqlStore, run: int) -> None:
    """The run no longer follows a plan; safe to repeat."""
    await store.set_meta(plan_key(run), None)
    await store.drop_plan()


def _stale(what: str) -> SafetyStop:
    return SafetyStop(f"the plan is out of date: {what}", hint=NEW_PLAN)


def _changes_of(changes: list[ListingChange]) -> Iterator[str]:
    for change in changes:
        yield f"{counted(change.assets, *WORDS[change.kind])} the source{such_as(change.examples, change.assets)}"
