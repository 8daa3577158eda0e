"""Causes of parked assets in words."""

from __future__ import annotations

from dam_sync.engine.probation import CAUSE
from dam_sync.model import errors
from dam_sync.report.causes import CALLED, cause_in_words, cause_of, sentence


def test_no_cause_is_shown_by_the_name_of_a_class() -> None:
    parked = {
        name
        for name, each in vars(errors).items()
        if isinstance(each, type) and issubclass(each, errors.Rejected | errors.IntegrityError)
    }
    assert parked <= CALLED.keys(), "errors that park an asset"
    assert cause_in_words("NotFound") == "not found"
    assert cause_in_words("keeps failing: Transient") == "keeps failing: no usable response"
    assert cause_in_words("mapping fields.NotFound: too long") == "mapping fields.NotFound: too long"
    assert cause_in_words("conflict") == "conflict"


def test_a_cause_in_words_is_the_cause_in_an_option() -> None:
    known = ["NotFound", "conflict", "mapping fields.title: too long"]
    assert [cause_of(cause_in_words(each), known) for each in known] == known
    assert cause_of("not fond", known) == "not fond"
    assert len(set(CALLED.values())) == len(CALLED)


def test_the_cause_of_a_missing_new_asset_names_both_who_may_have_removed_it() -> None:
    for cause in (CAUSE, "removed by the service as a duplicate"):  # now, and as earlier releases said it
        assert "or somebody deleted it" in sentence(cause)
    assert "somebody deleted it" not in sentence("gone")
