"""How a verb ends when its operator wants an end."""

from __future__ import annotations

import pytest

from dam_sync.app.wish import INTERRUPTED, Wish, run_async
from dam_sync.model.errors import DamSyncError, StopRequested, Transient


@pytest.mark.parametrize(("message", "exits"), [(INTERRUPTED, Transient.exit_code), ("enough", 8)])
@pytest.mark.parametrize("grouped", [False, True])
def test_ctrl_c_asks_for_another_run_and_a_limit_is_told_as_one(message: str, exits: int, grouped: bool) -> None:
    async def act(_: Wish) -> int:
        stopped = StopRequested(message)
        raise BaseExceptionGroup("several", [stopped]) if grouped else stopped

    with pytest.raises(DamSyncError) as told:
        run_async(Wish(), act)
    assert (told.value.message, told.value.exit_code) == (message, exits)
