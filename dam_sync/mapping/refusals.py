"""Which words of the mapping file park an asset, and at which length: for reports that say why it is parked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dam_sync.config.diagnostics import KeyPath, dotted
from dam_sync.mapping.crosswalk import Crosswalk
from dam_sync.mapping.describe import rules_of
from dam_sync.mapping.document import MappingDocument
from dam_sync.mapping.rules import FieldRule
from dam_sync.mapping.transforms.text import Truncate
from dam_sync.mapping.transforms.values import LookUp, MatchTerm
from dam_sync.mapping.vocabulary import VocabularyRule
from dam_sync.model.loss_rules import LossRule
from dam_sync.model.values import Json

PARKING = frozenset({"park", "suggest"})


@dataclass(frozen=True, slots=True)
class RuleRefusal:
    """Why a field rule parks. said: what the mapping file says about it, empty if nothing; most: characters that are
    allowed, if it is about a length."""

    said: str = ""
    most: int | None = None


def refusal_of(place: str, reason: str, crosswalk: Crosswalk, document: MappingDocument) -> RuleRefusal:
    """What the mapping says about the reason for which its line at this place parks."""
    rule = next((one for one in rules_of(crosswalk.plan) if dotted(one.place) == place), None)
    if rule is None:
        return RuleRefusal()
    said = next(_said(rule, reason, crosswalk), "") or _on_error(rule.place, document)
    if reason == LossRule.REQUIRED:
        said = "required: true" if rule.required else ""
    return RuleRefusal(said, _most(rule, reason))


def _said(rule: FieldRule, reason: str, crosswalk: Crosswalk) -> Iterator[str]:
    """Arguments of the steps that park for this reason."""
    for step in rule.transforms:
        if isinstance(step, Truncate) and reason == step.name and step.on_cut == "park":
            yield "on_cut: park"
        if isinstance(step, LookUp) and reason == step.name:
            table = crosswalk.lookups.get(step.table)
            if (step.unmatched or (table.unmatched if table else None)) == "park":
                yield "unmatched: park"
        if isinstance(step, MatchTerm) and reason == step.name:
            yield from _unmatched(crosswalk.rules.get(step.rule))
    if reason == LossRule.CLOSED:
        yield from _unmatched(rule.fit.rule)


def _unmatched(rule: VocabularyRule | None) -> Iterator[str]:
    if rule is not None and rule.unmatched in PARKING:
        yield f"unmatched: {rule.unmatched}"


def _on_error(place: KeyPath, document: MappingDocument) -> str:
    """What the line says beside its steps; nothing if it is only the default."""
    line: Json = document.written.data
    for part in place:
        known = isinstance(line, dict) or (isinstance(line, list) and isinstance(part, int) and part < len(line))
        line = (line.get(part) if isinstance(line, dict) else line[part]) if known else None
    return "on_error: park" if isinstance(line, dict) and line.get("on_error") == "park" else ""


def _most(rule: FieldRule, reason: str) -> int | None:
    if reason == LossRule.LENGTH:
        return rule.fit.field.max_length
    cuts = [step.max for step in rule.transforms if isinstance(step, Truncate) and step.on_cut != "note"]
    return min(cuts) if cuts and reason == Truncate.name else None
