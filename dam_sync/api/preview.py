"""A few assets of the source, drafted as in a run, to find out before anything moves what would park them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from dam_sync.engine.context.error_policy import parked_for
from dam_sync.engine.context.job_mapping import drafted_for
from dam_sync.engine.guards.exposure import ExposureGate, held_back_of
from dam_sync.engine.guards.first_assets import first_assets
from dam_sync.engine.guards.remedies import HeldBack
from dam_sync.engine.run.fitness import Fitness
from dam_sync.engine.run.worker import rejected
from dam_sync.mapping.crosswalk import Crosswalk, Drafted
from dam_sync.mapping.sample import holds
from dam_sync.mapping.vocabulary import TermIndex
from dam_sync.model.account import DROPPED
from dam_sync.model.asset import Asset, AssetId
from dam_sync.model.errors import Rejected
from dam_sync.model.estimator import Estimator
from dam_sync.model.link import LinkRow
from dam_sync.model.loss_rules import LossRule
from dam_sync.model.outcome import Outcome
from dam_sync.model.parking import Cause
from dam_sync.model.service import Service

LinksOf: TypeAlias = Callable[[Sequence[AssetId]], Awaitable[Mapping[AssetId, LinkRow]]]
"""The links of those of these source assets that have one."""
MISFITS = frozenset(
    {"date", "datetime", "number", "flag", "place", "rows", LossRule.LENGTH, LossRule.CLOSED, LossRule.KIND}
)
"""Rules that drop a value because it does not fit, and not because the mapping has another use for it."""


@dataclass(slots=True)
class Preview:
    """Result of the preview. causes: assets by why they would be parked; set_aside: those that more people would see,
    by their rules; examples, hints: a message and what to do for each. held: what is set aside, by rule. dropped:
    assets by path and rule, of which the rule cannot use a value of a field; detail: an example of each. lacking:
    assets by path, of whose values the type that they get has no field. unread: assets by the fields with values that
    no line reads."""

    taken: int = 0
    left_out: int = 0
    causes: Counter[Cause] = field(default_factory=Counter)
    set_aside: Counter[str] = field(default_factory=Counter)
    held: list[HeldBack] = field(default_factory=list)
    examples: dict[Cause | str, str] = field(default_factory=dict)
    hints: dict[Cause, str] = field(default_factory=dict)
    dropped: Counter[tuple[str, str]] = field(default_factory=Counter)
    detail: dict[tuple[str, str], str] = field(default_factory=dict)
    lacking: Counter[str] = field(default_factory=Counter)
    unread: Counter[str] = field(default_factory=Counter)

    @property
    def parked(self) -> int:
        """Assets that would be parked."""
        return self.causes.total()

    def note_parked(self, asset: Asset, parked: Outcome) -> None:
        """Count an asset that would be parked."""
        assert parked.cause is not None
        self.causes[parked.cause] += 1
        self.hints.setdefault(parked.cause, parked.hint)
        self.examples.setdefault(parked.cause, f"asset {asset.id}: {parked.message}")

    def note_set_aside(self, asset: Asset, exposed: Outcome) -> None:
        """Count an asset that more people would see."""
        cause = ", ".join(loss["rule"] for loss in exposed.losses)
        self.set_aside[cause] += 1
        self.held.extend(held_back_of(exposed))
        details = "; ".join(loss["detail"] for loss in exposed.losses if loss["detail"])
        self.examples.setdefault(cause, f"asset {asset.id}" + (f", {details}" if details else ""))

    def note_dropped(self, drafted: Drafted) -> None:
        """Count the asset for each path and rule by which it would lose values that do not fit."""
        details = {(loss.path, loss.rule): loss.detail for loss in drafted.losses}
        for path, outcome, rule in drafted.account:
            if outcome == DROPPED and rule in MISFITS and path.startswith("fields."):
                self.dropped[path, rule] += 1
                self.detail.setdefault((path, rule), details.get((path, rule), ""))

    def note_lacking(self, drafted: Drafted) -> None:
        """Count the asset for each path of which it would lose values because its type has no such field."""
        for loss in drafted.losses:
            if loss.rule == LossRule.OTHER_TYPE:
                self.lacking[loss.path] += 1
                self.detail.setdefault((loss.path, LossRule.OTHER_TYPE), loss.detail)


async def preview_of(
    source: Service, gate: ExposureGate, crosswalk: Crosswalk, fitness: Fitness, links_of: LinksOf
) -> Preview:
    """Draft the first assets of the source, the same as the suggester looks at, and judge them as a plan does. Assumes
    that terms exist at the target, and containers do not. links_of: of assets that were moved before."""
    found = Preview()
    terms = {key: TermIndex(open_ended=True) for key in crosswalk.vocabularies}
    assets = (await first_assets(source))[0]
    links = await links_of([asset.id for asset in assets])
    for asset in assets:
        if not crosswalk.selects(asset):
            found.left_out += 1
            continue
        found.taken += 1
        found.unread.update(key for key, value in asset.fields.items() if key in crosswalk.unread and holds(value))
        drafted = await drafted_for(gate.target, fitness.schema, crosswalk, asset, "example", terms)
        found.note_dropped(drafted)
        found.note_lacking(drafted)
        parked = rejected(drafted) or fitness.unfit(asset, drafted.draft) or _without_file(source, asset)
        if parked is not None:
            found.note_parked(asset, parked)
        elif (exposed := gate.judge(asset, drafted, links.get(asset.id), {}).parked) is not None:
            found.note_set_aside(asset, exposed)
    return found


def _without_file(source: Service, asset: Asset) -> Outcome | None:
    """Why the source would not give the file of the asset, as far as that is known without a call."""
    try:
        if asset.file is not None:
            Estimator(source).open(asset.file)
    except Rejected as error:
        return parked_for(error)
    return None
