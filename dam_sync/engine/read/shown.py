"""Whether a write shows an asset of the target to more people than another state of it. What repairs and rollbacks
write is measured by who sees the asset there now, not by what was written last: others may have hidden it, or shown it,
since."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from dam_sync.engine.context.libraries import Target
from dam_sync.engine.read.compared import as_not_hidden
from dam_sync.engine.read.facts import facts_of
from dam_sync.model.asset import Asset, Draft, Patch
from dam_sync.model.conflict import DATES
from dam_sync.model.values import Json


@dataclass(frozen=True, slots=True)
class Shown:
    """What decides who sees an asset of the target, in the form of a draft. hidden: it has no release date, without
    which nobody sees an asset of this service."""

    draft: Draft
    hidden: bool

    def after(self, patch: Patch) -> Draft:
        """The same once the patch is written, without its containers. A date that it neither has nor clears stays."""
        now = self.draft
        written = patch.rights or now.rights
        stays = {DATES[name] for name in DATES.keys() - patch.cleared if getattr(written, DATES[name]) is None}
        rights = replace(written, **{name: getattr(now.rights, name) for name in stays})
        closed = now.closed if patch.closed is None else patch.closed
        closed = closed or (self.hidden and rights.release_at is None)
        return replace(now, status=patch.status or now.status, rights=rights, closed=closed)


def shown(target: Target, draft: Draft, actual: Asset, states: Sequence[Json]) -> Shown:
    """Of an asset as it was read, with the groups of a draft that stand for everybody. draft: says whether it is
    hidden, and what else decides; states: drafts that attempts may have written, as JSON, during which a release date
    may be away for a moment."""
    held = as_not_hidden(states, actual, target.schema)
    hidden = target.schema.always_released and held.rights.release_at is None
    return Shown(replace(draft, status=actual.status, rights=actual.rights, placements=actual.placements), hidden)


def shows_more(target: Target, now: Draft, then: Draft) -> bool:
    """Whether somebody would see an asset of the target `then` who does not see it `now`."""
    return facts_of(target).shows_more(now, then)
