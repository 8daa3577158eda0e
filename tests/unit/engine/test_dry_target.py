"""A simulated target remembers what the estimate of the next writes needs, not every asset that it read."""

from __future__ import annotations

import inspect
import tracemalloc
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import pytest

from dam_sync.engine.run.dry_run import READ_KEPT, DryContent, DryTarget
from dam_sync.model.asset import AssetId, Draft, FileRef, Marker, Patch, Placement, Relation
from dam_sync.model.capabilities import Capabilities
from dam_sync.model.costs import Cost, CostPart
from dam_sync.model.errors import Unsupported
from dam_sync.model.journal import note_fact
from dam_sync.model.limits import Limits
from dam_sync.model.ports import Journal
from dam_sync.model.read_through import ReadThrough, writes
from dam_sync.model.service import Service
from dam_sync.model.values import Term
from tests.support.measuring.printed_table import MB
from tests.support.services.empty_service import EmptyService
from tests.support.state.memory_journal import MemoryJournal

PATCH = Patch(filename="other.jpg")


class Known(EmptyService):
    """A target whose update reads the asset first, unless it was just read."""

    declared = Capabilities(costs=(Cost(CostPart.UPDATE, "read", unread=True), Cost(CostPart.UPDATE, "write")))


def dry_target() -> DryTarget:
    return DryTarget.of(Known(), lambda: (0.0, 0))


class Recording(SimpleNamespace):
    """Has every method of a service, and remembers which ones were asked for."""

    def __init__(self) -> None:
        super().__init__(asked=[], capabilities=Capabilities(), limits=Limits())

    def __getattr__(self, name: str) -> Any:
        self.asked.append(name)
        return lambda *args, **kwargs: (name, args)


def methods() -> list[str]:
    return [name for name, member in vars(Service).items() if inspect.isfunction(member) and not name.startswith("_")]


def test_what_changes_nothing_is_passed_on_and_no_write_is() -> None:
    reads = {*methods()} - {*writes()} - {"fetch", "is_trashed"}  # these are noted as well
    for name in reads:
        recording: Any = Recording()
        assert getattr(DryTarget.of(recording, lambda: (0.0, 0)), name)("one", 2) == (name, ("one", 2))
        assert recording.asked == [name]


GIVEN: dict[str, Any] = {
    "asset": AssetId("1"),
    "draft": Draft(None, "a.jpg"),
    "content": DryContent("a.jpg", 3),
    "patch": PATCH,
    "file": FileRef("", "a.jpg", 3),
    "version": FileRef("", "a.jpg", 3),
    "relation": Relation("sibling", AssetId("2")),
    "term": Term("sea"),
    "renamed": Term("lake"),
    "terms": [Term("sea")],
    "kind": "folder",
    "container": Placement("folder", ("A",)),
}


@pytest.mark.parametrize("name", sorted({*writes()} - {"adopt_schema"}))
async def test_a_write_is_simulated(name: str) -> None:
    def write(*args: Any, **kwargs: Any) -> None:
        pytest.fail("this is sent")

    service: Any = type("Untouched", (Known,), dict.fromkeys(writes(), write))()
    parameters = inspect.signature(getattr(Service, name)).parameters
    target = DryTarget.of(service, lambda: (0.0, 0))
    with suppress(Unsupported):  # as webhooks, which no plan asks for
        await getattr(target, name)(*(GIVEN.get(each, ()) for each in parameters if each != "self"))


def test_a_write_that_nobody_simulates_is_no_dry_target() -> None:
    with pytest.raises(TypeError, match=r"has to define adopt_schema, attach, .*update: they may change the service"):
        type("Forgetful", (ReadThrough,), {})


def test_limits_are_those_of_the_target() -> None:
    target, limits = dry_target(), Limits(page=7)
    target.limits = limits
    assert (target.limits, target.capabilities.limits) == (limits, limits)


async def test_a_create_that_was_interrupted_is_found_by_its_journal() -> None:
    """Before it has a marker, only the journal knows which asset it is."""

    class Partial(Known):
        async def find_partial(self, marker: Marker, journal: Journal, *, unmarked: bool = False) -> AssetId | None:
            made = await journal.get("upload")
            return AssetId(str(made)) if unmarked else None

    target, journal = DryTarget.of(Partial(), lambda: (0.0, 0)), MemoryJournal()
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
