"""A listing that knows how many rows it has is checked against that number: a row that is held back is missed."""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field, replace

import pytest

from dam_sync.crawl.pagers import Fetch, Page, Pager, Params
from dam_sync.crawl.pagination import paginate
from dam_sync.model.errors import TruncatedListing
from dam_sync.model.service import Cursor
from tests.conformance.tenant import Tenant
from tests.support.connected import EVERYTHING


@dataclass
class Holding:
    """Stands before a service's pages, and holds back the last row of the first one of each listing."""

    held: int = 0
    counted: bool = False
    patches: list[str] = field(default_factory=list)

    async def paginate(
        self, fetch: Fetch, pager: Pager, start: Cursor | None = None, **more: int
    ) -> AsyncGenerator[tuple[Page, Cursor | None], None]:
        holds = True

        async def fewer(params: Params) -> Page:
            nonlocal holds
            page = await fetch(params)
            self.counted |= page.total is not None
            if not holds or not page.rows:
                return page
            holds = False
            self.held += 1
            return replace(page, rows=page.rows[:-1])

        async for told in paginate(fewer, pager, start, **more):
            yield told

    def stand_before(self, kind: str, patch: pytest.MonkeyPatch) -> None:
        """Every listing of the service is read through here."""
        for name, module in list(sys.modules.items()):
            if name.startswith(f"dam_sync.services.{kind}.") and getattr(module, "paginate", None) is paginate:
                patch.setattr(module, "paginate", self.paginate)
                self.patches.append(name)


@pytest.mark.needs("network")
async def test_a_row_that_is_held_back_is_missed(tenant: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    """The listing ends as TruncatedListing, or was read again until every asset was told."""
    source = tenant.connect()
    await source.probe()
    there = {
        str(entry.id)
        async for shard in source.shards(EVERYTHING)
        async for batch in source.crawl(shard, None)
        for entry in batch.entries
    }
    shards = [shard async for shard in source.shards(EVERYTHING)]
    holding = Holding()
    holding.stand_before(tenant.kind.name, monkeypatch)
    told: set[str] = set()
    try:
        for shard in shards:
            async for batch in source.crawl(shard, None):
                told |= {str(entry.id) for entry in batch.entries}
    except TruncatedListing:
        told = there
    assert told == there or not holding.counted
    assert holding.patches
    assert holding.held
