"""One table says what follows from an error."""

from __future__ import annotations

from dam_sync.engine.context.error_policy import (
    FRUITLESS,
    MAX_ATTEMPTS,
    ParkAsset,
    ReleaseAsset,
    RestartAsset,
    RetryAsset,
    StopRun,
    react,
)
from dam_sync.model.asset import AssetId
from dam_sync.model.errors import (
    Denied,
    FileReplaced,
    InvalidValue,
    OtherVersion,
    SafetyStop,
    SessionGone,
    StillFetching,
    Throttled,
    Transient,
)
from dam_sync.model.limits import PATIENCE
from dam_sync.model.parking import KeepsFailing, OtherCause
from dam_sync.store.rows import Work


def item(attempt: int = 1) -> Work:
    return Work(1, AssetId("a"), "1", None, False, attempt, False, 0)


def test_what_concerns_the_run_stops_it() -> None:
    assert react(Denied("no"), item()) == react(SafetyStop("no"), None) == StopRun()


def test_a_transient_error_is_retried_later_and_later_or_when_the_service_says() -> None:
    assert [react(Transient("x"), item(attempt)) for attempt in (1, 2)] == [RetryAsset(2.0), RetryAsset(4.0)]
    assert react(Throttled("x", retry_after=90), item()) == RetryAsset(90)


def test_a_pause_longer_than_anybody_waits_stops_the_run_to_be_resumed() -> None:
    for work in (item(), None):
        assert react(Throttled("x", retry_after=86_400), work) == StopRun()
    assert react(Transient("x", retry_after=86_400), item()) == RetryAsset(PATIENCE)


def test_an_asset_that_keeps_failing_is_parked_for_a_later_run() -> None:
    reaction = react(Transient("x"), item(MAX_ATTEMPTS))
    assert isinstance(reaction, ParkAsset)
    assert not reaction.counts
    assert (reaction.outcome.cause, reaction.outcome.passing) == (KeepsFailing(OtherCause("Transient")), True)


def test_when_nothing_gets_through_the_run_stops() -> None:
    assert react(Transient("x"), item(), failures=FRUITLESS) == StopRun()
    assert react(Transient("x"), item(MAX_ATTEMPTS), failures=FRUITLESS) == StopRun()


def test_what_the_target_still_fetches_when_a_run_ends_is_left_to_the_next_one() -> None:
    found = react(StillFetching("x"), item(MAX_ATTEMPTS), failures=FRUITLESS, writing=True)
    assert found == ReleaseAsset(), "it counts neither as an attempt nor as a failure"


def test_an_expired_upload_session_is_opened_again_a_few_times() -> None:
    assert react(SessionGone("x"), item(), writing=True) == RestartAsset()
    assert isinstance(react(SessionGone("x"), item(MAX_ATTEMPTS), writing=True), ParkAsset)
    assert isinstance(react(SessionGone("x"), item()), ParkAsset), "nothing was being written"


def test_what_is_refused_is_parked_with_its_reason() -> None:
    reaction = react(InvalidValue("too long", hint="shorten it", operation="create"), item())
    assert isinstance(reaction, ParkAsset)
    assert reaction.counts
    outcome = reaction.outcome
    assert (outcome.action, outcome.cause, outcome.message) == ("parked", "InvalidValue", "too long")
    assert (outcome.hint, outcome.operation, outcome.passing) == ("shorten it", "create", False)


def test_an_upload_of_a_file_that_was_replaced_begins_again_and_is_parked_in_the_end() -> None:
    replaced = OtherVersion("the file was replaced while it was read")
    assert [react(replaced, item(attempt), writing=True) for attempt in (1, 2, 3)] == [RestartAsset()] * 3
    for error in (replaced, FileReplaced("the file was replaced while it was read")):
        reaction = react(error, item(MAX_ATTEMPTS), writing=True)
        assert isinstance(reaction, ParkAsset)
        assert (reaction.outcome.cause, reaction.outcome.passing) == ("replaced", True)
        assert "nobody replaces the file" in reaction.outcome.hint
