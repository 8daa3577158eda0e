"""What the task of one asset records for another one is durable before the request that both share."""

from __future__ import annotations

import asyncio

from dam_sync.model.asset import AssetId, Entry, Revision
from dam_sync.model.journal import note_fact, results_durable
from dam_sync.model.service import Batch, Shard
from dam_sync.store.store import SqlStore
from tests.store_contract.test_store_journal import LEASE, busy_writer


async def test_what_is_recorded_for_another_asset_is_durable_before_a_shared_request(store: SqlStore) -> None:
    run = (await store.begin("museum", "run")).id
    rows = tuple(Entry(AssetId(name), Revision("1")) for name in ("lead", "other"))
    await store.record(run, Shard("s"), Batch(rows, None), ())
    lead, other = await store.claim(run, 2, LEASE)
    sent = asyncio.Event()

    async def shares() -> None:
        """As service C does for every asset of a call, in the task of the first one."""
        store.record_ahead(lead)
        await note_fact(store.journal(other, run), "call", {"lead": "lead"})
        await results_durable()  # as `http.Client` does
        sent.set()

    store.record_ahead(other)
    async with busy_writer(store):
        sharing = asyncio.create_task(shares())
        for _ in range(9):
            await asyncio.sleep(0)
        assert not sent.is_set()
    await sharing
