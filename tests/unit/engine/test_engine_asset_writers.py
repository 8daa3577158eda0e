"""What is durable once an asset was written, or was not."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import cast

import pytest

from dam_sync.engine.context.error_policy import parked_for
from dam_sync.engine.context.run_context import RunContext
from dam_sync.engine.context.stages import Concluded
from dam_sync.engine.write.writers import OwnWriter
from dam_sync.model.clock import SystemClock
from dam_sync.model.errors import Rejected
from dam_sync.model.journal import note_fact
from dam_sync.model.link import LinkRow
from dam_sync.model.outcome import Outcome
from dam_sync.model.service import Batch, Shard
from dam_sync.store.rows import Work
from dam_sync.store.store import SqlStore
from tests.support.run_double import run_double
from tests.support.state.clock_and_rows import entries


@dataclass
class Refusing:
    """A run in which an asset is refused once something was recorded of it."""

    store: SqlStore

    async def agree(self, work: Work, digest: str) -> str:
        """See `RunTask.agree`."""
        await note_fact(self.store.journal(work, 1), "first", digest)
        raise Rejected("refused")

    @property
    def context(self) -> RunContext:
        return cast("RunContext", run_double(store=self.store, agree=self.agree))


async def test_what_was_recorded_of_an_asset_is_durable_when_an_error_ends_its_writing(tmp_path: Path) -> None:
    store = await SqlStore.open(tmp_path / "job.db", SystemClock())
    run = (await store.begin("museum", "run")).id
    await store.record(run, Shard("s"), Batch(entries("a"), None), ())
    (work,) = await store.claim(run, 1, timedelta(minutes=5))
    item = Concluded(work, Outcome("skipped"), hide=LinkRow("a", "t1", draft={}))
    with pytest.raises(Rejected):
        await OwnWriter(Refusing(store).context).outcome(item)
    assert work.journal.results is not None
    assert not work.journal.results.stored
    await store.close()


async def test_an_asset_that_a_service_refuses_in_words_of_ours_is_left_where_it_is(tmp_path: Path) -> None:
    """Only what more people would see is taken out of their sight though people edited it."""
    store = await SqlStore.open(tmp_path / "job.db", SystemClock())
    run = (await store.begin("museum", "run")).id
    await store.record(run, Shard("s"), Batch(entries("a"), None), ())
    (work,) = await store.claim(run, 1, timedelta(minutes=5))
    refused = parked_for(Rejected("no more exposures", code="exposure: quota"))
    context = Refusing(store).context  # has no target that could be looked at
    assert await OwnWriter(context).outcome(Concluded(replace(work, begun=True), refused)) is refused
    await store.close()
