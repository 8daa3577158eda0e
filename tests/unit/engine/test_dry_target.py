"""A simulated target remembers what the estimate of the next writes needs, not every asset that it read."""

from __future__ import annotations

import tracemalloc

from dam_sync.engine.dry_run import READ_KEPT, DryTarget
from dam_sync.model.asset import AssetId, Patch
from dam_sync.model.service import Calls
from dam_sync.model.writes import Change
from tests.support.empty_service import EmptyService
from tests.support.tables import MB

PATCH = Patch(filename="other.jpg")


class Known(EmptyService):
    """A target whose update reads the asset first, unless it was just read."""

    def estimate(self, change: Change, size: int | None = None) -> Calls:
        return {"read": 1, "write": 1}

    def estimate_saved(self, change: Change) -> Calls:
        return {"read": 1}


def dry_target() -> DryTarget:
    return DryTarget(Known(), lambda: (0.0, 0))


async def test_the_first_write_of_an_asset_that_was_just_read_does_not_read_it_again() -> None:
    target = dry_target()
    await target.fetch(AssetId("1"))
    await target.update(AssetId("1"), PATCH)
    assert target.estimated == {"write": 1}
    await target.update(AssetId("1"), PATCH)
    assert target.estimated == {"read": 1, "write": 2}


async def test_an_asset_that_was_read_long_ago_is_read_again() -> None:
    target = dry_target()
    for number in range(READ_KEPT + 1):
        await target.fetch(AssetId(str(number)))
    await target.update(AssetId("0"), PATCH)
    assert target.estimated == {"read": 1, "write": 1}
    await target.update(AssetId(str(READ_KEPT)), PATCH)
    assert target.estimated == {"read": 1, "write": 2}


async def test_assets_that_are_read_and_not_written_take_no_memory() -> None:
    target = dry_target()
    tracemalloc.start()
    try:
        for number in range(READ_KEPT * 50):
            await target.fetch(AssetId(f"asset-{number}"))
        assert tracemalloc.get_traced_memory()[0] < MB
    finally:
        tracemalloc.stop()
