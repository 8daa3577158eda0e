"""A field rule in words, for reports."""

from __future__ import annotations

from collections.abc import Iterator

from dam_sync.mapping.crosswalk import Plan
from dam_sync.mapping.rules import FieldRule
from dam_sync.mapping.transforms.base import Transform
from dam_sync.model.values import Json

LONGEST = 200  # characters of one step


def steps_of(rule: FieldRule) -> str:
    """The steps of a rule, as in the mapping file: `trim, truncate (max 255), default Worldwide, required`."""
    return ", ".join(_steps(rule)) or "unchanged"


def rules_of(plan: Plan) -> Iterator[FieldRule]:
    """The rules of a mapping in the order of a report: fields first."""
    yield from plan.fields.values()
    yield from (rule for rule in plan.rules() if rule not in plan.fields.values())


def _steps(rule: FieldRule) -> Iterator[str]:
    if rule.when is not None:
        yield f"when {rule.when.source}"
    if rule.cel is not None:
        yield rule.cel.source
    yield from map(_step, rule.transforms)
    if rule.const:
        yield f"constant {_listed(rule.const)}"
    if rule.default:
        yield f"default {_listed(rule.default)}"
    if rule.required:
        yield "required"


def _step(transform: Transform) -> str:
    given: dict[str, Json] = transform.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    if not given:
        return transform.name
    text = ", ".join(f"{key} {_listed(value)}" for key, value in given.items())
    return f"{transform.name} ({text if len(text) <= LONGEST else text[:LONGEST] + '…'})"


def _listed(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} → {_listed(each)}" for key, each in value.items())
    return ", ".join(map(_listed, value)) if isinstance(value, list | tuple) else str(value)
