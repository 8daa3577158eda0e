"""When an asset that is gone from the source is to be removed at the target: pure decisions, no I/O."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from dam_sync.model.deletion_policy import DeletionPolicy
from dam_sync.store.rows import IN_TRASH, UNLISTED, Deletion, Sighting

LISTINGS = 2  # complete listings in a row that must lack an asset which was not seen in the trash


@dataclass(frozen=True, slots=True)
class Listing:
    """What a run listed. complete: everything, in one go; only such a listing proves that an asset is gone. scope: see
    `Deletion`."""

    run: int
    at: datetime
    complete: bool
    scope: str


def deletion_of(seen: Sighting, listing: Listing) -> Deletion | None:
    """What is known about an asset after a listing; None if it exists, or if nothing proves that it does not. Safe to
    repeat for the same listing."""
    known = seen.known if seen.known is not None and seen.known.scope == listing.scope else None
    unlisted = known is not None and known.reason is UNLISTED and seen.seen_run <= known.run
    if seen.in_trash and not unlisted:
        if known is not None and known.reason is IN_TRASH:
            return known
        since = known.since if known is not None else listing.at
        return Deletion(seen.source, seen.target, IN_TRASH, since, 0, listing.run, listing.scope)
    if known is not None and (known.reason is IN_TRASH or seen.seen_run > known.run):
        known = None  # restored, or listed since
    if not listing.complete or seen.seen_run >= listing.run:
        return known if seen.seen_run < listing.run else None
    if known is None:
        return Deletion(seen.source, seen.target, UNLISTED, listing.at, 1, listing.run, listing.scope)
    return known if known.run == listing.run else replace(known, listings=known.listings + 1, run=listing.run)


def is_due(deletion: Deletion, policy: DeletionPolicy, now: datetime, run: int) -> bool:
    """Whether it was gone long enough, and either in the trash or missing often enough, `run` included. It is still
    to be confirmed."""
    missed = deletion.listings >= LISTINGS and deletion.run == run
    return (deletion.reason is IN_TRASH or missed) and policy.until(deletion.since) <= now
