"""A few assets of a source: how many there are to see, and whether they are all."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import pytest

from dam_sync.api.mapping_tools.sampling import sample_of
from dam_sync.model.asset import Asset, AssetId
from dam_sync.model.connector import Context
from dam_sync.model.errors import InvalidValue, NotFound
from dam_sync.model.service import Batch, Cursor, Shard, Window
from tests.conformance.catalogue import SCHEMA, asset, library
from tests.conformance.tenant import starting
from tests.support.stepped_clock import StillClock
from tests.support.virtual.scale.generated_source import LIST, Generated


@pytest.mark.parametrize("kind", ["b_documents", "d_templates", "e_profiles"])
async def test_all_of_a_small_library_is_seen(kind: str, tmp_path: Path) -> None:
    async with starting(kind, tmp_path) as start:
        tenant = start(library())
        service = tenant.connect(read_only=True)
        await service.schema()
        found = await sample_of(service)
        living = [row for row in tenant.truth().values() if row["status"] != "trash"]
        assert found.assets == len(living)
        assert found.types == {"Photo": len(living)}
        assert {tenant.key("title"), tenant.key("srckey")} <= found.filled
        assert tenant.key("unknown") not in found.filled


async def test_no_more_is_asked_than_a_page(tmp_path: Path) -> None:
    async with starting("d_templates", tmp_path) as start:
        tenant = start([*SCHEMA, *(asset(number, versions=[]) for number in range(1, 151))])
        service = tenant.connect(read_only=True, options={"relations": "off"})
        with tenant.costs() as spent:
            found = await sample_of(service)
        assert found.assets == 100
        assert not found.whole
        assert sum(number for name, number in spent.items() if "scan" in name) <= 2


class Sharded(Generated):
    """Many shards, each with a page of 60."""

    size = 60

    async def shards(self, window: Window) -> AsyncIterator[Shard]:
        for number in range(9):
            yield Shard(str(number), {}, self.size)


async def test_no_more_shards_are_read_than_give_a_hundred_assets() -> None:
    service = Sharded(Context("", clock=StillClock()))
    found = await sample_of(service)
    assert (found.assets, found.whole) == (120, False)
    assert service.calls == {LIST: 2}


class Unreadable(Generated):
    """Two of ten assets cannot be read, or are missing."""

    size = 10
    refused: ClassVar[bool]

    async def crawl(self, shard: Shard, cursor: Cursor | None) -> AsyncIterator[Batch]:
        async for batch in super().crawl(shard, cursor):
            (one, two, *others) = batch.entries
            yield replace(batch, entries=(replace(one, asset=None), replace(two, asset=None), *others))

    async def fetch(self, asset: AssetId) -> Asset:
        raise InvalidValue("cannot be read") if self.refused else NotFound("is gone")


class Gone(Unreadable):
    refused = False


class Refused(Unreadable):
    refused = True


@pytest.mark.parametrize("kind", [Gone, Refused])
async def test_an_asset_that_cannot_be_read_ends_no_sampling(kind: type[Unreadable]) -> None:
    found = await sample_of(kind(Context("", clock=StillClock())))
    assert (found.assets, found.whole) == (8, not kind.refused)
