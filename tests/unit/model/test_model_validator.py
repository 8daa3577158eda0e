"""Two responses are of one version only where a strong validator says so (RFC 9110, 8.8 and 13.1.5)."""

from __future__ import annotations

import pytest

from dam_sync.http.stream import validator_of
from dam_sync.model.validator import NO_VALIDATOR, Sameness, Validator

LATE, EARLY = "Sun, 29 Nov 2026 10:00:00 GMT", "Sun, 29 Nov 2026 09:00:00 GMT"
SAME, OTHER, UNKNOWN = Sameness.SAME, Sameness.OTHER, Sameness.UNKNOWN
DATED, WEAK, YOUNG = Validator(modified=EARLY, dated=True), Validator(weak='W/"1"'), Validator(modified=EARLY)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (Validator('"1"'), Validator('"1"'), SAME),
        (Validator('"1"'), Validator('"2"'), OTHER),
        (Validator('"1"', modified=EARLY), Validator('"1"', modified=LATE), SAME),  # a date may move with values
        (Validator('"1"'), NO_VALIDATOR, UNKNOWN),
        (NO_VALIDATOR, NO_VALIDATOR, UNKNOWN),
        (Validator('"1"', modified=EARLY), Validator(modified=LATE), OTHER),
        (Validator('"1"'), Validator(weak='W/"1"'), UNKNOWN),
        (WEAK, WEAK, UNKNOWN),
        (WEAK, Validator(weak='W/"2"'), OTHER),
        (DATED, DATED, SAME),
        (DATED, Validator(modified=LATE, dated=True), OTHER),
        (DATED, NO_VALIDATOR, UNKNOWN),
        (DATED, Validator('"1"', modified=EARLY), UNKNOWN),
        (YOUNG, YOUNG, UNKNOWN),  # it may have been written twice within that second
        (Validator(weak='W/"1"', modified=EARLY, dated=True),) * 2 + (UNKNOWN,),
    ],
)
def test_what_two_validators_say(one: Validator, other: Validator, expected: Sameness) -> None:
    assert one.compare(other) is expected


@pytest.mark.parametrize(
    ("headers", "if_range", "strong"),
    [
        ({"etag": '"a"'}, '"a"', True),
        ({"etag": '"a"', "last-modified": EARLY, "date": LATE}, '"a"', True),
        ({"etag": 'W/"a"'}, "", False),
        ({"etag": 'W/"a"', "last-modified": EARLY, "date": LATE}, "", False),
        ({"last-modified": EARLY, "date": LATE}, EARLY, True),
        ({"last-modified": EARLY, "date": EARLY}, "", False),
        ({"last-modified": EARLY}, "", False),
        ({"last-modified": "yesterday", "date": LATE}, "", False),
        ({"etag": '""'}, "", False),
        ({"etag": "bare"}, "", True),  # would be read as a date, and still tells versions apart
        ({}, "", False),
    ],
)
def test_what_a_response_says(headers: dict[str, str], if_range: str, strong: bool) -> None:
    found = validator_of(headers)
    assert (found.if_range, found.is_strong) == (if_range, strong)
    assert any(found.key) is strong
