"""What to do about assets that are set aside because more people would see them: what keeps them closed first, the
waiver last. The same sentences in hints, stops, checks and reports."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dam_sync.model.exposure import ExposureRule, Waiver

OR = "; or "
SELECT = "leave out by `select` in the mapping file what is not to be moved"


def policy_line(rules: Sequence[ExposureRule], said: Waiver) -> str:
    """The line to add to the job file."""
    return f"policy: {{exposure: {{{', '.join(f'{rule.value}: {said.value}' for rule in rules)}}}}}"


def closing(rules: Sequence[ExposureRule]) -> str:
    """That assets can be moved hidden by these rules."""
    return f"`{policy_line(rules, Waiver.CLOSE)}` in the job file moves such assets hidden from ordinary users"


def waiver(rules: Sequence[ExposureRule]) -> str:
    """The last resort."""
    return f"Only if more people may see these assets: `{policy_line(rules, Waiver.ACCEPT)}` in the job file"


def remedy_text(rule: ExposureRule, remedies: Iterable[str], *, closes: bool) -> str:
    """What to do about the assets of one rule, but for the waiver. closes: whether `close` helps."""
    return OR.join((*remedies, *([closing([rule])] if closes else [])))


def what_to_do(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """What to do about everything that is set aside, by `rule`, `remedies` and `closes` of each row of a report, each
    remedy once; at last the waiver. What an earlier release reported has rules only; nothing is said of a rule that
    only another release knows."""
    known = [row for row in rows if row["rule"] in {*map(str, ExposureRule)}]
    ordered = sorted(known, key=lambda row: row["rule"] != ExposureRule.GROUPS)  # a group may be in the way of all
    if not ordered:
        return []
    rules = {ExposureRule(row["rule"]): row for row in ordered}
    concerned: dict[str, list[str]] = {}
    for rule, row in rules.items():
        for remedy in row.get("remedies", ()):
            concerned.setdefault(remedy, []).append(rule.value)
    lines = [f"{', '.join(names)}: {remedy}" for remedy, names in concerned.items()]
    hidden = [rule for rule, row in rules.items() if row.get("closes")]
    return [*lines, *([closing(hidden)] if hidden else []), SELECT, waiver(list(rules))]
