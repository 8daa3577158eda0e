"""Why assets are parked, in a sentence."""

from __future__ import annotations

import pytest

from dam_sync.model.exposure import ExposureRule
from dam_sync.report.causes import mapping_sentence, sentence


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
        text = sentence(f"mapping fields.technique: {rule}")
        assert text.startswith("technique ")
        assert "no line of the mapping" not in text
    assert sentence("mapping select.where") == "the condition of `select` cannot be decided for the asset"


@pytest.mark.parametrize("rule", list(ExposureRule))
def test_every_rule_about_who_sees_an_asset_has_a_sentence(rule: ExposureRule) -> None:
    assert sentence(f"exposure: {rule.value}").startswith("more people would see the asset: ")
    assert rule.value not in sentence(f"exposure: {rule.value}, archived_as_published")


def test_a_cause_that_explains_itself_has_none() -> None:
    assert sentence("in quarantine") == ""
