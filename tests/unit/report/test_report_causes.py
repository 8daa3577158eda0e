"""Why assets are parked, in a sentence, and causes in words."""

from __future__ import annotations

import pytest

from dam_sync.model import errors
from dam_sync.model.exposure import ExposureRule
from dam_sync.model.parking import ExposureCause, KeepsFailing, MappingCause, OtherCause, ParkReason
from dam_sync.report.causes import CALLED, cause_in_words, cause_of, mapping_sentence, sentence, why_parked


@pytest.mark.parametrize(
    ("place", "rule", "said", "most", "text"),
    [
        ("fields.technique", "too long", "", 40, "technique is longer than 40 characters"),
        ("fields.code", "too long", "on_error: park", 1,
         "code is longer than 1 character, and the mapping says `on_error: park`"),
        ("fields.technique", "truncate", "on_cut: park", 40,
         "technique is longer than 40 characters, and the mapping says `on_cut: park`"),
        ("fields.country", "lookup", "unmatched: park", None,
         "country has a value that is not in the table of its `lookup`, and the mapping says `unmatched: park`"),
        ("fields.lib:a: b", "required", "", None, "lib:a: b has no value, and needs one"),
        ("fields.note.when", "when", "", None, "the condition (`when`) of note cannot be decided"),
        ("fields.{most}", "too long", "", 7, "{most} is longer than 7 characters"),
        ("asset.filename", "safe_name", "", None, "the file name has a value that `safe_name` cannot convert"),
        ("security.groups", "not in the list", "", None,
         "one of the access groups has a value that is not in the list of the target"),
        ("placements[1]", "too long", "", 9, "one of the places in containers is longer than 9 characters"),
        ("profile", "cases", "", None, "the profile has a value that is none of its `cases`"),
    ],
)  # fmt: skip
def test_a_line_of_the_mapping_is_named_by_what_it_writes(
    place: str, rule: str, said: str, most: int | None, text: str
) -> None:
    assert mapping_sentence(place, rule, said, most) == text


def test_without_the_mapping_nothing_is_claimed_about_what_it_says() -> None:
    """The state alone names the field and the rule."""
    for rule in ("too long", "truncate", "not in the list", "vocabulary"):
        text = sentence(MappingCause("fields.technique", rule))
        assert text.startswith("technique ")
        assert "no line of the mapping" not in text
    assert sentence(ParkReason.SELECT) == "the condition of `select` cannot be decided for the asset"


@pytest.mark.parametrize("rule", list(ExposureRule))
def test_every_rule_about_who_sees_an_asset_has_a_sentence(rule: ExposureRule) -> None:
    assert sentence(ExposureCause((rule,))).startswith("more people would see the asset: ")
    assert rule.value not in sentence(ExposureCause((rule, ExposureRule.ARCHIVED)))


def test_a_cause_that_explains_itself_has_none() -> None:
    assert sentence(OtherCause("in quarantine")) == ""


def test_no_cause_is_shown_by_the_name_of_a_class() -> None:
    parked = {
        name
        for name, each in vars(errors).items()
        if isinstance(each, type) and issubclass(each, errors.Rejected | errors.IntegrityError)
    }
    assert parked <= set(map(str, ParkReason)), "errors that park an asset"
    assert [reason for reason in ParkReason if reason.called == reason and reason in parked] == []
    assert cause_in_words(ParkReason.NOT_FOUND) == "not found"
    assert cause_in_words(KeepsFailing(OtherCause("Transient"))) == "keeps failing: no usable response"
    assert cause_in_words(MappingCause("fields.NotFound", "too long")) == "mapping fields.NotFound: too long"
    assert cause_in_words(ParkReason.CONFLICT) == "conflict"


def test_a_cause_in_words_is_the_cause_in_an_option() -> None:
    known = [ParkReason.NOT_FOUND, ParkReason.CONFLICT, MappingCause("fields.title", "too long"), OtherCause("no-link")]
    assert [cause_of(cause_in_words(each), known) for each in known] == known
    assert [cause_of(str(each), known) for each in known] == known
    assert cause_of("not fond", known) is None
    words = [reason.called for reason in ParkReason] + list(CALLED.values())
    assert len(set(words)) == len(words)


def test_the_cause_of_a_missing_new_asset_names_both_who_may_have_removed_it() -> None:
    assert "or somebody deleted it" in sentence(ParkReason.GONE_WHILE_NEW)
    assert "somebody deleted it" not in sentence(ParkReason.GONE)


def test_a_report_of_an_earlier_release_says_what_its_causes_mean() -> None:
    former = {"cause": "removed by the service as a duplicate", "count": 1}
    assert why_parked(former) == sentence(ParkReason.GONE_WHILE_NEW)
    assert why_parked({"cause": "InvalidValue", "text": "kept"}) == "kept"
