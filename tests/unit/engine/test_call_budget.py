"""Which budget of calls a stopped run names as enough."""

import pytest

from dam_sync.engine.context.call_budget import advise
from dam_sync.model.errors import StopKind, StopRequested
from dam_sync.model.run_options import RunOptions


def hint(most: int, opening: int | None) -> str:
    options = RunOptions(max_calls=most)
    options.progress.opening_calls = opening
    stopped = StopRequested(f"the limit of {most} calls is reached", kind=StopKind.MAX_CALLS)
    advise(stopped, options)
    return stopped.hint


@pytest.mark.parametrize(("most", "opening", "enough"), [(30, 14, 114), (5, None, 100), (40, None, 120)])
def test_a_budget_too_small_for_the_first_calls_names_one_that_leaves_calls_for_assets(
    most: int, opening: int | None, enough: int
) -> None:
    assert f"allow {enough} calls or more" in hint(most, opening)


@pytest.mark.parametrize("most", [114, 120, 1000])
def test_a_budget_that_listing_the_target_used_up_is_never_named_as_enough(most: int) -> None:
    said = hint(most, 14)
    assert f"allow {3 * most:,} calls or more" in said
    assert "14 of the" not in said
