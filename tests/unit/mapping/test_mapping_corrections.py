"""Values that a person gave in place of failed ones: applied before the coercion, and accounted for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dam_sync.mapping.crosswalk import Crosswalk, Drafted
from dam_sync.mapping.vocabulary import TermIndex
from dam_sync.model.account import DROPPED, TRANSFORMED, imbalances
from dam_sync.model.asset import Asset
from dam_sync.model.correction import CORRECTED, WHOLE, Corrections
from dam_sync.model.values import Localized
from tests.support.libraries.value_strategies import assets
from tests.support.mapping.drafts import asset, index, tally_of
from tests.support.mapping.tenant_schemas import compiled, with_lines

Given = Mapping[str, Mapping[str, tuple[str, ...]]]
LONG = "x" * 300


def drafted_with(crosswalk: Crosswalk, given_: Asset, corrections: Given, **terms: TermIndex) -> Drafted:
    return replace(crosswalk, corrections=Corrections(corrections)).draft(given_, "mark", terms)


SHORT = "titleFr: {from: fields.title.en, pipe: [{truncate: {max: 10, on_cut: park}}]}"
DATE = 'shotDate: {from: fields.shot_date, pipe: [{date: {in: ["%d/%m/%Y"]}}]}'


def test_a_failed_value_is_named_and_replaced_by_the_corrected_one(tmp_path: Path) -> None:
    crosswalk, given_ = compiled(tmp_path, with_lines(DATE)), asset(shot_date="sometime in May")
    (failed,) = crosswalk.draft(given_, "mark", {}).failed
    assert (failed.path, failed.value) == ("fields.shotDate", "sometime in May")
    drafted = drafted_with(crosswalk, given_, {"fields.shotDate": {"sometime in May": ("2024-05-01",)}})
    assert (drafted.rejections, drafted.failed) == ((), ())
    assert str(drafted.draft.fields["shotDate"]) == "2024-05-01"
    assert tally_of(drafted)["fields.shot_date", TRANSFORMED] == 1
    other = drafted_with(
        crosswalk, asset(shot_date="01/06/2024"), {"fields.shotDate": {"sometime in May": ("2024-05-01",)}}
    )
    assert str(other.draft.fields["shotDate"]) == "2024-06-01", "a value that was changed at the source stands"


def test_a_text_that_is_too_long_is_replaced_in_its_language(tmp_path: Path) -> None:
    crosswalk = compiled(tmp_path, with_lines(SHORT))
    given_ = asset(title=Localized({"en": "A title that is too long", "fr": "Un titre"}))
    (failed,) = crosswalk.draft(given_, "mark", {}).failed
    drafted = drafted_with(crosswalk, given_, {failed.path: {failed.value: ("A title",)}})
    assert (drafted.draft.fields["titleFr"], drafted.rejections) == ("A title", ())


def test_a_field_rule_that_lacks_a_value_takes_the_corrected_one(tmp_path: Path) -> None:
    crosswalk = compiled(tmp_path, with_lines("note: {from: fields.credit, required: true}"))
    (failed,) = crosswalk.draft(asset(), "mark", {}).failed
    assert (failed.path, failed.rule, failed.value) == ("fields.note", "required", WHOLE)
    drafted = drafted_with(crosswalk, asset(), {"fields.note": {WHOLE: ("Unknown",)}})
    assert (drafted.draft.fields["note"], drafted.rejections) == ("Unknown", ())
    instead = drafted_with(crosswalk, asset(credit="Somebody"), {"fields.note": {WHOLE: ("Unknown",)}})
    assert instead.draft.fields["note"] == "Unknown"
    assert [(loss.path, loss.rule) for loss in instead.losses if loss.rule == CORRECTED] == [
        ("fields.credit", CORRECTED)
    ]
    assert tally_of(instead)["fields.credit", DROPPED] == 1


@pytest.mark.parametrize(("text", "flag"), [("yes", True), ("False", False)])
def test_a_checkbox_takes_words(tmp_path: Path, text: str, flag: bool) -> None:
    crosswalk = compiled(tmp_path, with_lines("approved: {from: fields.cleared, required: true}"))
    drafted = drafted_with(crosswalk, asset(), {"fields.approved": {WHOLE: (text,)}})
    assert drafted.draft.fields["approved"] is flag


def test_a_correction_that_does_not_fit_parks_the_asset_again(tmp_path: Path) -> None:
    crosswalk, given_ = compiled(tmp_path, with_lines(DATE)), asset(shot_date="May")
    drafted = drafted_with(crosswalk, given_, {"fields.shotDate": {"May": ("June",)}})
    assert "shotDate" not in drafted.draft.fields
    assert [(one.path, one.value) for one in drafted.failed] == [("fields.shotDate", "May")]


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory) -> Crosswalk:
    """Lines that park whatever does not fit."""
    lines = (
        SHORT,
        DATE,
        "note: {from: [fields.inventory, fields.credit], pipe: [{truncate: {max: 8, on_cut: park}}, upper]}",
        "heightCm: {from: fields.height_cm, required: true}",
        "approved: {from: fields.cleared}",
    )
    return compiled(tmp_path_factory.mktemp("strict"), with_lines(*lines))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(given_=assets(), texts=st.data())
def test_every_value_stays_accounted_for_with_any_correction(
    strict: Crosswalk, given_: Asset, texts: st.DataObject
) -> None:
    failed = strict.draft(given_, "mark", {}).failed
    corrections: dict[str, dict[str, tuple[str, ...]]] = {}
    for one in failed:
        text = texts.draw(st.sampled_from(["Fits", "2024-05-01", "12", "true", LONG]))
        corrections.setdefault(one.path, {})[one.value] = (text,)
    drafted = drafted_with(strict, given_, corrections, subject=index("Sea"))
    assert list(imbalances(drafted.account)) == []
    assert {one.path for one in drafted.failed} <= {one.path for one in failed}
    plain = strict.draft(given_, "mark", {}).draft.fields
    untouched = set(plain) - {path.removeprefix("fields.") for path in corrections}
    assert {key: drafted.draft.fields.get(key) for key in untouched} == {key: plain[key] for key in untouched}
