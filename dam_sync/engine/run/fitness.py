"""Whether the target can accept an asset at all, before anything is created for it."""

from __future__ import annotations

from dataclasses import dataclass

from dam_sync.engine.context.run_context import RunContext
from dam_sync.engine.decide.update import UNKNOWN, Park, Skip, Write, decide
from dam_sync.engine.read.linked import with_present_names
from dam_sync.model.asset import Asset, Draft
from dam_sync.model.capabilities import Capabilities
from dam_sync.model.link import LinkRow
from dam_sync.model.outcome import Outcome
from dam_sync.model.parking import ParkReason
from dam_sync.model.policy import Policy
from dam_sync.model.schema import Schema

NEEDS = {"profile": "profile", "groups": "security group"}


@dataclass(frozen=True, slots=True)
class Fitness:
    """What a target accepts under the policy of the job. source: what the source reads."""

    schema: Schema
    policy: Policy
    source: Capabilities = UNKNOWN

    def unfit(self, asset: Asset, draft: Draft, link: LinkRow | None = None) -> Outcome | None:
        """Why the asset has to be parked; None if it can be written. link: as it is now."""
        return _unfit(self, asset, draft, link)


def unfit(context: RunContext, asset: Asset, draft: Draft, link: LinkRow | None) -> Outcome | None:
    """The same for the target of a context. link: by the present keys of its files."""
    known = None if link is None else with_present_names(context.target, link)
    return Fitness(context.target.schema, context.task.policy, context.source.service.capabilities).unfit(
        asset, draft, known
    )


def _unfit(target: Fitness, asset: Asset, draft: Draft, link: LinkRow | None) -> Outcome | None:
    schema, capabilities = target.schema, target.schema.capabilities
    action = decide(asset, draft, link, schema, target.policy, source=target.source)
    match action:
        case Park():
            return action.outcome
        case Skip():
            return None
        case Write():
            change = action.change
    if change.create is not None:
        missing = sorted(schema.needs & {name for name, given in _given(draft).items() if not given})
        if missing:
            return _needed(missing[0])
    most = capabilities.limits.largest_bytes
    files = (*change.files, *change.attachments)
    large = next((file for file in files if most is not None and (file.size or 0) > most), None)
    if large is None:
        return None
    return Outcome(
        action="parked",
        cause=ParkReason.TOO_LARGE,
        message=f"{large.name or large.id} has {large.size:,} bytes, the target accepts at most {most:,}",
        hint="reduce the file at the source, then `errors JOB --retry`",
    )


def _given(draft: Draft) -> dict[str, bool]:
    return {"profile": bool(draft.profile), "groups": bool(draft.rights.groups)}


def _needed(name: str) -> Outcome:
    where = {"profile": "`profile`", "groups": "`security: groups`"}[name]
    return Outcome(
        action="parked",
        cause=ParkReason.INVALID_VALUE,
        message=f"the target needs a {NEEDS[name]} for each asset but the mapping provides none",
        hint=f"add a default under {where} in the mapping file",
    )
