"""What is said of who wrote the values by which a group of fields differs: only what is known."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from dam_sync.engine.compare.differences import Difference
from dam_sync.engine.verification.groups import Found
from dam_sync.engine.verification.overwritten import EMBEDDED, REMEDY, UNCERTAIN, dates_of

WRITTEN = datetime(2026, 11, 29, 7, 37, 18, tzinfo=UTC)
SLACK = timedelta(seconds=3)
OTHER = Difference("fields.dating", "1850", "1851")


def said(*changed: float | None, ahead: float = 0.0, known: bool = True) -> str:
    """Of assets that were changed so many seconds after this job wrote to them; None: the target gives no date."""
    found = [
        Found(str(number), f"t{number}", OTHER, None if each is None else WRITTEN + timedelta(seconds=each))
        for number, each in enumerate(changed)
    ]
    written = {one.source: WRITTEN for one in found} if known else {}
    return "; ".join(dates_of(found, written, timedelta(seconds=ahead), SLACK).sentences())


def test_a_change_within_minutes_of_the_last_write_is_one() -> None:
    """Whatever the lag of the index and the processing of files are: they are reasons for a date, and none to pass over
    it."""
    assert "2 of 3 assets that were looked at were changed after this job last wrote to them" in said(363, 5, 0)
    assert "from 2026-11-29T07:37:23Z to 2026-11-29T07:43:21Z" in said(363, 5, 0)
    assert "at 2026-11-29T07:37:23Z" in said(5)


def test_dates_that_show_no_change_rule_none_out() -> None:
    assert said(0, 2.5, -40) == (
        "no date of the target shows a change later than 3 s after this job last wrote to these assets, which does not "
        "rule one out"
    )


def test_assets_without_a_date_are_counted() -> None:
    assert said(None, None) == "of 2 assets no date tells whether they were changed since"
    assert said(600, known=False) == "of 1 asset no date tells whether they were changed since"
    assert "no date of the target shows a change" in said(0, None)
    assert "of 1 asset no date tells" in said(0, None)


def test_the_time_of_the_target_counts_by_its_own_clock() -> None:
    assert "no date of the target" in said(100, ahead=99)
    assert "were changed after" in said(-90, ahead=-100)


def test_no_sentence_clears_people_and_the_advice_says_what_a_repair_overwrites() -> None:
    for text in (EMBEDDED, UNCERTAIN, REMEDY, said(0), said(600)):
        assert "nobody" not in text
        assert "most likely" not in text
    assert "overwritten by `run JOB --repair`" in REMEDY
    assert REMEDY.index("people wrote") < REMEDY.index("turn off")
