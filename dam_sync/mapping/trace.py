"""What each rule of a mapping does with one asset: what it reads, what it writes, and what is lost. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from dam_sync.config.diagnostics import dotted
from dam_sync.mapping.crosswalk import Crosswalk
from dam_sync.mapping.results import shown
from dam_sync.mapping.rules import FieldRule
from dam_sync.mapping.transforms.base import TransformContext
from dam_sync.mapping.vocabulary import TermIndex
from dam_sync.model.asset import Asset, Loss
from dam_sync.model.canonical import canonical

LONGEST = 1_000  # characters of a value


@dataclass(frozen=True, slots=True)
class RuleTrace:
    """One rule and one asset. read: (name, value, outcome) of each value that it reached; made: what it writes. Losses
    and rejections: why values do not arrive."""

    rule: str
    read: tuple[tuple[str, str, str], ...]
    made: tuple[str, ...]
    losses: tuple[Loss, ...]
    rejections: tuple[Loss, ...]


def traces(crosswalk: Crosswalk, asset: Asset, terms: Mapping[str, TermIndex]) -> Iterator[RuleTrace]:
    """Every rule that reads a value of the asset, or writes one. terms: the target's, as for `Crosswalk.draft`."""
    context = TransformContext(
        crosswalk.languages, crosswalk.lookups, crosswalk.rules, terms, corrections=crosswalk.corrections
    )
    for rule in crosswalk.plan.rules():
        trace = _trace(rule, asset, context)
        if trace.read or trace.made or trace.rejections:
            yield trace


def _trace(rule: FieldRule, asset: Asset, context: TransformContext) -> RuleTrace:
    ran = rule.run(asset, context)
    outcomes = {each.path: each.outcome for each in ran.outcomes}
    found = [
        (each.label, "; ".join(canonical(each.value)))
        for path in rule.paths
        for each in path.read(asset, context.languages, all_languages=rule.all_languages)
    ]
    read = tuple((label, text[:LONGEST], outcomes.get(label, "not used")) for label, text in found)
    made = tuple(text[:LONGEST] for value in ran.values for text in canonical(value))
    return RuleTrace(dotted(rule.place), read, made, tuple(ran.losses), tuple(ran.rejections))


def loss_text(loss: Loss) -> str:
    """A loss in one line."""
    return replace(loss, detail=shown(loss.detail) if loss.detail else "").text
