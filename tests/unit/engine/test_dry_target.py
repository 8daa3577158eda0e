"""A simulated target remembers what the estimate of the next writes needs, not every asset that it read."""

from __future__ import annotations

import tracemalloc

from dam_sync.engine.run.dry_run import READ_KEPT, DryTarget
from dam_sync.model.asset import AssetId, Marker, Patch
from dam_sync.model.capabilities import Capabilities
from dam_sync.model.costs import Cost, CostPart
from dam_sync.model.journal import note_fact
from dam_sync.model.ports import Journal
from dam_sync.model.service import Service
from tests.support.measuring.printed_table import MB
from tests.support.services.empty_service import EmptyService
from tests.support.state.memory_journal import MemoryJournal

PATCH = Patch(filename="other.jpg")


class Known(EmptyService):
    """A target whose update reads the asset first, unless it was just read."""

    declared = Capabilities(costs=(Cost(CostPart.UPDATE, "read", unread=True), Cost(CostPart.UPDATE, "write")))


def dry_target() -> DryTarget:
    return DryTarget(Known(), lambda: (0.0, 0))


NOT_CALLED_IN_PLANS = {
    *{"keyed_endpoints", "subscribe", "unsubscribe", "send_test", "hint_of", "hinted"},  # of the source alone
    *{"download_link", "in_trash"},  # as well
    "amounts",  # of the target
    *{"remove_capabilities", "limits"},  # of the class; `capabilities` is passed on
    *{"counts", "new_term", "end_shared", "sweep"},
    "unknown_languages",  # asked by `check` alone
}


def test_every_method_that_a_plan_calls_is_passed_on() -> None:
    methods = {name for name in vars(Service) if not name.startswith("_")}
    assert methods - set(vars(DryTarget)) == NOT_CALLED_IN_PLANS


async def test_a_create_that_was_interrupted_is_found_by_its_journal() -> None:
    """Before it has a marker, only the journal knows which asset it is."""

    class Partial(Known):
        async def find_partial(self, marker: Marker, journal: Journal, *, unmarked: bool = False) -> AssetId | None:
            made = await journal.get("upload")
            return AssetId(str(made)) if unmarked else None

    target, journal = DryTarget(Partial(), lambda: (0.0, 0)), MemoryJournal()
    await note_fact(journal, "upload", "made-1")
    assert await target.find_partial(Marker("key", "m-1"), journal, unmarked=True) == "made-1"


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
