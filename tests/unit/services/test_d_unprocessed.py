"""Service D: the file of a newer version that a listing does not show yet, or that is not processed yet."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from dam_sync.model.asset import Asset, AssetId
from tests.support.services.connections import entries
from tests.support.services.scripted_d import Opened, scripted

PENDING = [("versions", "the file of a newer version is not there yet")]


@pytest.fixture
async def opened() -> AsyncIterator[Opened]:
    async with scripted() as one:
        yield one


def behind(opened: Opened, record: str) -> None:
    """The index does not show yet that the file of this record was processed; the store does."""
    shown = opened.script._as_shown

    def stale(rows: Any) -> list[dict[str, Any]]:
        return [{**row, "technicalMetadata": {}} if row["objectId"] == record else row for row in shown(rows)]

    opened.script._as_shown = stale  # type: ignore[method-assign]


async def read(opened: Opened, family: str) -> tuple[Asset, Asset]:
    """The asset as a listing of everything has it, and as it is by its id."""
    service = opened.connect(relations="off")
    await service.schema()
    (entry,) = [one for one in await entries(service) if one.id == family]
    assert entry.asset is not None
    return entry.asset, await service.fetch(AssetId(family))


@pytest.mark.parametrize("first", [b"one", None], ids=["with a file", "without a file"])
async def test_a_listing_that_is_behind_does_not_hide_the_file_of_a_newer_version(
    opened: Opened, first: bytes | None
) -> None:
    family = str(opened.script.records[opened.script.add(first)]["fileId"])
    opened.script.add(b"two", family=family)
    behind(opened, opened.script.add(b"three", family=family))
    listed, fetched = await read(opened, family)
    assert [file.id for file in listed.versions] == [file.id for file in fetched.versions]
    assert (listed.versions[-1].size, listed.losses) == (len(b"three"), ())


async def test_a_newer_version_whose_file_is_not_processed_yet_is_a_loss(opened: Opened) -> None:
    """What is carried is the file of the version before."""
    family = str(opened.script.records[opened.script.add(b"one")]["fileId"])
    opened.script.add(None, family=family)
    for asset in await read(opened, family):
        assert [file.size for file in asset.versions] == [len(b"one")]
        assert [(loss.path, loss.rule) for loss in asset.losses] == PENDING


async def test_an_asset_that_never_had_a_file_costs_no_call_of_its_own(opened: Opened) -> None:
    opened.script.add(None)
    service = opened.connect(relations="off")
    (entry,) = await entries(service)
    assert entry.asset is not None
    assert (entry.asset.versions, entry.asset.losses) == ((), ())
    assert opened.script.calls["GET /v1/asset/{id}/version"] == 0
