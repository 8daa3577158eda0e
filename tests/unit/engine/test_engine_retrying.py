"""What earlier runs parked and another one tries again, and what a delta does not see."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

from dam_sync.engine.run.retrying import CHANGED, retry_parked, unseen_changes
from dam_sync.model.conflict import ConflictRules
from dam_sync.model.outcome import Outcome
from dam_sync.model.parking import OtherCause, ParkReason
from dam_sync.model.service import Batch, Shard
from dam_sync.store.store import SqlStore
from tests.support.run_double import run_double
from tests.support.state.clock_and_rows import entries


async def test_another_mapping_tries_again_what_a_mapping_may_avoid_and_nothing_else(store: SqlStore) -> None:
    run, only = await store.begin("job", "run"), frozenset[str]()
    parked = {
        "a": Outcome("parked", ParkReason.INVALID_VALUE, "too long"),
        "b": Outcome("parked", ParkReason.UNSUPPORTED, "no such term"),
        "c": Outcome("parked", OtherCause("rule"), "refused by a line", operation="mapping"),
        "d": Outcome("parked", ParkReason.REJECTED, "no"),
        "e": Outcome("parked", ParkReason.CHANGED_AT_TARGET, "edited"),
    }
    await store.record(run.id, Shard("all"), Batch(entries(*parked), None), ())
    for work in await store.claim(run.id, 9, timedelta(minutes=5)):
        await store.complete(work, parked[work.asset])

    async def retried(mapping: str) -> list[str]:
        context: Any = run_double(
            store=store,
            options=SimpleNamespace(only=only),
            crosswalk=SimpleNamespace(digest=mapping),
            tallies=SimpleNamespace(retried=Counter[str]()),
            policy=SimpleNamespace(conflicts=ConflictRules()),
            run=SimpleNamespace(resumed=False),
        )
        await retry_parked(context)
        works = await store.claim(run.id, 9, timedelta(minutes=5))
        for work in works:
            await store.complete(work, parked[work.asset])
        assert context.tallies.retried[CHANGED] == len(works)
        return sorted(work.asset for work in works)

    assert await retried("one") == ["a", "b", "c"]
    assert await retried("one") == []
    only = frozenset("d")
    assert await retried("two") == []


def test_what_a_delta_does_not_see_is_said() -> None:
    def unseen(since: str | None, **options: Any) -> tuple[str, ...]:
        given = {"only": frozenset(), "full": False, **options}
        source = SimpleNamespace(limits=SimpleNamespace(undated=("renamed terms",)))
        context: Any = run_double(options=SimpleNamespace(**given), source=source)
        return unseen_changes(context.source, context.task.options, since)

    assert unseen("2026-01-05T00:00:00Z") == ("renamed terms",)
    assert unseen(None) == unseen("2026-01-05T00:00:00Z", full=True) == ()
    assert unseen("2026-01-05T00:00:00Z", only=frozenset("a")) == ()
