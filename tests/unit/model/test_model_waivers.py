"""For what a waiver of the job counts: every rule and every purpose."""

from __future__ import annotations

from itertools import product

import pytest

from dam_sync.help import text_of
from dam_sync.model.exposure import COMMANDS, LIFTED_FOR, ExposureRule, Purpose, Waiver, Waivers

OF_WHAT_IS_MOVED = {Purpose.MOVE, Purpose.ADOPT, Purpose.VERIFY, Purpose.PUBLISH}
NAMED = {
    "reopened_by_repair": {Purpose.REPAIR},
    "reopened_by_rollback": {Purpose.ROLLBACK},
    "login_dropped": {Purpose.PUBLISH},
}


@pytest.mark.parametrize(("rule", "purpose"), [*product(ExposureRule, Purpose)])
def test_a_waiver_counts_for_the_purpose_of_its_name_alone(rule: ExposureRule, purpose: Purpose) -> None:
    counts = purpose in NAMED.get(rule.value, OF_WHAT_IS_MOVED)
    only, others = (
        Waivers({rule: Waiver.ACCEPT}),
        Waivers({each: Waiver.ACCEPT for each in ExposureRule if each != rule}),
    )
    assert only.accepts(rule, purpose) == counts
    assert not any(only.accepts(each, purpose) for each in ExposureRule if each is not rule)
    assert not others.accepts(rule, purpose)
    assert Waivers({rule: Waiver.CLOSE}).of(rule, purpose) == (Waiver.CLOSE if counts else None)
    assert not Waivers({rule: Waiver.CLOSE}).accepts(rule, purpose)


def test_every_rule_and_every_purpose_is_in_the_table_and_in_the_help() -> None:
    assert LIFTED_FOR.keys() == set(ExposureRule)
    assert COMMANDS.keys() == set(Purpose)
    text = text_of("exposure")
    for rule, purposes in LIFTED_FOR.items():
        (row,) = [line for line in text.splitlines() if line.startswith(f"| `{rule.value}` |")]
        assert row.rpartition(" | ")[2] == f"{', '.join(each.value for each in Purpose if each in purposes)} |"
    for purpose in Purpose:
        assert f"| {purpose.value} |" in text
