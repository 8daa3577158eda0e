"""Causes of parking: each is a type, and is the same one after it was stored."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dam_sync.model.errors import Conflict, IntegrityError, NotFound, Rejected, Transient
from dam_sync.model.exposure import ExposureRule
from dam_sync.model.parking import (
    ExposureCause,
    KeepsFailing,
    MappingCause,
    OtherCause,
    ParkCause,
    ParkReason,
    SkipReason,
    cause_of_row,
    park_cause,
    stored_texts,
)

CAUSES = (
    *ParkReason,
    MappingCause("fields.lib:a: b", "too long"),
    MappingCause("security.groups", "not in the list"),
    ExposureCause((ExposureRule.GROUPS,)),
    ExposureCause((ExposureRule.GROUPS, ExposureRule.UNRELEASED)),
    KeepsFailing(OtherCause("Transient")),
    KeepsFailing(ParkReason.NOT_FOUND),
    OtherCause("no-link"),
)


@pytest.mark.parametrize("cause", CAUSES, ids=str)
def test_a_cause_is_the_same_after_it_was_stored(cause: ParkCause) -> None:
    assert park_cause(str(cause)) == cause
    assert type(park_cause(str(cause))) is type(cause)
    assert cause_of_row(str(cause), parked=True) == cause
    assert stored_texts(cause)[0] == str(cause)


@given(st.text(min_size=1))
def test_any_text_of_a_state_is_a_cause_that_keeps_its_text(text: str) -> None:
    assert text in stored_texts(park_cause(text))
    assert str(cause_of_row(text, parked=False)) == text


FORMER = {
    "mapping select.where": ParkReason.SELECT,
    "waves select.where": ParkReason.WAVE,
    "mapping fields.title: too long": MappingCause("fields.title", "too long"),
    "exposure: groups_widened, unreleased_as_released": ExposureCause((ExposureRule.GROUPS, ExposureRule.UNRELEASED)),
    "exposure: a rule of another release": ExposureCause(("a rule of another release",)),
    "keeps failing: Throttled": KeepsFailing(OtherCause("Throttled")),
    "conflict": ParkReason.CONFLICT,
    "gone": ParkReason.GONE,
    "gone within the time in which duplicates are removed": ParkReason.GONE_WHILE_NEW,
    "upload queued": ParkReason.UPLOAD_QUEUED,
    "changed at the target": ParkReason.CHANGED_AT_TARGET,
    "in the trash of the target": ParkReason.STILL_IN_TRASH,
    "came from the target": ParkReason.CAME_FROM_TARGET,
    "membership refused": ParkReason.MEMBERSHIP_REFUSED,
    "relation refused": ParkReason.RELATION_REFUSED,
    "replaced": ParkReason.REPLACED,
    "unknown version": ParkReason.UNKNOWN_VERSION,
    "length": ParkReason.LENGTH,
    "digest": ParkReason.DIGEST,
    "content-encoding": ParkReason.ENCODING,
    "InvalidValue": ParkReason.INVALID_VALUE,
    "Uncertain": ParkReason.UNCERTAIN,
    "removed by the service as a duplicate": ParkReason.GONE_WHILE_NEW,
    "no download link": OtherCause("no download link"),
}
"""What releases before this type stored."""


@pytest.mark.parametrize(("text", "cause"), FORMER.items())
def test_what_earlier_releases_stored_is_read(text: str, cause: ParkCause) -> None:
    assert park_cause(text) == cause
    assert text in stored_texts(cause)


def test_causes_of_what_is_left_out_are_types_too() -> None:
    assert [cause_of_row(str(reason), parked=False) for reason in SkipReason] == list(SkipReason)
    assert cause_of_row("gone", parked=False) is SkipReason.GONE
    assert cause_of_row("", parked=False) is None
    assert cause_of_row("of another release", parked=False) == OtherCause("of another release")


@pytest.mark.parametrize(
    "code",
    [*map(str, ParkReason), *map(str, SkipReason), "exposure: groups_widened", "mapping x: y", "keeps failing: Denied"],
)
def test_a_code_of_a_service_never_counts_as_a_cause_of_ours(code: str) -> None:
    """A service that answers with the code `conflict` or `gone` says nothing about conflicts or missing assets."""
    for kind in (Rejected, NotFound, Conflict):
        error = kind("refused", code=code)
        assert error.cause == park_cause(kind.__name__)
        assert error.code == code, "the code is shown all the same"


def test_errors_have_the_cause_that_dam_sync_gives_them_or_that_of_their_class() -> None:
    assert NotFound("x", code=ParkReason.GONE).cause is ParkReason.GONE
    assert IntegrityError("x").cause is ParkReason.INTEGRITY
    assert Transient("x").cause == OtherCause("Transient")
    assert Rejected("x", code="no-link").cause == OtherCause("no-link")
    assert NotFound("x", code=ParkReason.GONE).as_json()["code"] == "gone"


@pytest.mark.parametrize("cause", [*ParkReason, MappingCause, ExposureCause, KeepsFailing, OtherCause])
def test_every_cause_says_what_it_means_and_what_to_do(cause: ParkReason | type[MappingCause]) -> None:
    assert cause.meaning
    assert cause.to_do
    if "--cause" in cause.to_do and isinstance(cause, ParkReason):
        assert f'--cause "{cause}"' in cause.to_do or f"--cause {cause} " in cause.to_do
