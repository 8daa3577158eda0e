"""Rules of losses: those that are made of parts are the same after they were stored."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dam_sync.model.conflict import DECISION, EXPOSURE_RULE, ConflictPolicy, ConflictResult, Take
from dam_sync.model.exposure import ExposureResult, ExposureRule, ExposureRuling
from dam_sync.model.loss_rules import LossRule
from dam_sync.report.loss_words import OF_TRANSFORMS, in_words, rule_in_words, rule_of


@pytest.mark.parametrize("result", [None, *ExposureResult])
@pytest.mark.parametrize("rule", [*ExposureRule, "a_rule_of_another_release"])
def test_a_ruling_about_exposure_is_the_same_after_it_was_stored(rule: str, result: ExposureResult | None) -> None:
    ruling = ExposureRuling(rule, result)
    assert ExposureRuling.read(str(ruling)) == ruling


def test_rulings_of_earlier_releases_are_read() -> None:
    accepted, left = ExposureResult.ACCEPTED, ExposureResult.LEFT_CLOSED
    assert ExposureRuling.read("groups_widened accepted") == ExposureRuling(ExposureRule.GROUPS, accepted)
    assert ExposureRuling.read("expiry_dropped left closed") == ExposureRuling(ExposureRule.EXPIRY, left)
    assert in_words("exposure", "expiry_dropped closed").startswith("hidden at the target, because ")
    assert in_words("exposure", "a rule of another release") == "a rule of another release"


@given(st.text(min_size=1), st.sampled_from(Take), st.sampled_from([DECISION, EXPOSURE_RULE, *ConflictPolicy]))
def test_the_result_of_a_conflict_is_the_same_after_it_was_stored(path: str, take: Take, by: str) -> None:
    """Also where the key of a field has spaces."""
    result = ConflictResult(f"fields.{path}", take, str(by))
    assert ConflictResult.read(str(result)) == result


def test_results_of_earlier_releases_are_read() -> None:
    assert ConflictResult.read("fields.a title merged merge") == ConflictResult("fields.a title", Take.MERGED, "merge")
    assert ConflictResult.read("status parked park") == ConflictResult("status", Take.NONE, "park")


def test_a_rule_has_words_in_one_place() -> None:
    assert [rule for rule in LossRule if str(rule) in OF_TRANSFORMS] == []
    assert [rule_of(str(rule)) for rule in LossRule] == list(LossRule)
    assert rule_in_words("several values") == "the target takes one value"
    assert rule_in_words("wrong kind") == "wrong kind"
    assert rule_in_words("no download link") == "no download link"
