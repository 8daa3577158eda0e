"""Webhooks over real sockets: a change is at the target without a schedule, however its deliveries travel."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from standardwebhooks import Webhook

from dam_sync.api.check import check_job
from dam_sync.api.check_result import CheckResult
from dam_sync.watch.watcher import Watcher
from tests.support.jobs import small_jobs
from tests.support.jobs.any_pair import moved
from tests.support.jobs.tenants import Pair, duplicates
from tests.support.jobs.webhook_watch import SECRETS, Watched, change, has, subscribed, watched, webhooked_pair
from tests.support.sample.cases import only_in_full

PAIRS = [("c_brandlibrary", "d_templates"), ("d_templates", "e_profiles"), ("e_profiles", "c_brandlibrary")]
MODES = ["duplicate", "reorder", "drop"]
CASES = [
    (*pair, mode)
    for pair, modes in zip(
        PAIRS, (("duplicate", "reorder"), MODES, MODES), strict=True
    )  # the first repeats what failed
    for mode in modes
]
CALLS = 25  # of the source, for one asset: its schema and the asset, however large the library is


def run(pair: Pair, act: Callable[[Watched], Awaitable[None]]) -> None:
    async def main() -> None:
        async with watched(pair) as watch:
            await act(watch)

    asyncio.run(main())


def nothing_twice(pair: Pair) -> None:
    assert len(pair.target.assets) == 3
    assert duplicates(pair.target.assets) == []


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_a_change_is_at_the_target_within_seconds(tmp_path: Path, source: str, target: str) -> None:
    async def act(watch: Watched) -> None:
        pair.source.forget_calls()
        await watch.change(1, "Changed once")
        await watch.until(lambda: has(pair, "Changed once"))
        await watch.until(lambda: watch.runs() >= 2)
        assert "1 updated" in watch.lines[-1]
        assert watch.job.record.parked == {}
        assert set(watch.counts) <= {"queued"}
        assert sum(pair.source.calls.values()) <= CALLS, pair.source.calls
        await watch.change(1, "Changed twice")  # and the schedule, once a week, had no part in it
        await watch.until(lambda: has(pair, "Changed twice"))
        assert watch.job.record.began == began[0]

    began: list[Any] = []

    async def main() -> None:
        async with watched(pair) as watch:
            began.append(watch.job.record.began)
            await act(watch)

    with webhooked_pair(tmp_path, source, target) as pair:
        asyncio.run(main())
        nothing_twice(pair)
        text = Path(pair.folder / "state" / "job.db").read_bytes()
        assert SECRETS.get(source, "a long random text").encode() not in text


@pytest.mark.parametrize(("source", "target", "mode"), CASES)
def test_duplicated_reordered_and_lost_deliveries_end_the_same(
    tmp_path: Path, source: str, target: str, mode: str
) -> None:
    async def act(watch: Watched) -> None:
        for text in ("Before", "Now"):
            for number in (1, 2):
                await watch.change(number, f"{text} {number}")
        if mode != "drop":
            await watch.until(lambda: sum(watch.counts.values()) >= 2)
        due = watch.job.record.began - timedelta(days=8)
        watch.job.record = replace(watch.job.record, began=due, ended=due)  # the schedule repairs what was lost
        watch.job._wake.set()
        await watch.until(lambda: has(pair, "Now 1") and has(pair, "Now 2"))
        await watch.until(lambda: not watch.job.webhooks._waiting and watch.job.progress is None)
        assert "forged" not in watch.counts

    with webhooked_pair(tmp_path, source, target, mode) as pair:
        run(pair, act)
        assert not has(pair, "Before")
        nothing_twice(pair)


def test_forged_and_replayed_deliveries_change_nothing(tmp_path: Path) -> None:
    """Of each kind of signature, and without one."""

    async def act(watch: Watched) -> None:
        asset = "0" * 8
        body = json.dumps({"eventType": "asset.metadata.updated", "event": {"id": "1"}, "asset": {"id": asset}})
        now = small_jobs.CLOCK.now()
        headers = {"webhook-id": "msg_1", "webhook-timestamp": str(int(now.timestamp()))}
        genuine = {**headers, "webhook-signature": Webhook(SECRETS["d_templates"]).sign("msg_1", now, body)}
        forged = {**headers, "webhook-signature": Webhook("whsec_" + "B" * 32).sign("msg_1", now, body)}
        assert await watch.post(body.encode(), **forged) == 401
        assert await watch.post(body.encode()) == 401
        assert await watch.post(body.encode() + b" ", **genuine) == 401
        assert await watch.post(body.encode(), path="/webhooks/pair/other", **genuine) == 401
        assert await watch.post(body.encode(), path="/webhooks/nobody/d_templates", **genuine) == 404
        assert await watch.post(b"x" * 70_000, **genuine) == 413
        assert [await watch.post(body.encode(), **genuine) for _ in range(3)] == [200] * 3
        later = now + timedelta(minutes=6)
        late = {**genuine, "webhook-timestamp": str(int(later.timestamp()))}
        assert await watch.post(body.encode(), **late) == 401
        assert watch.counts == {"queued": 1, "duplicate": 2, "forged": 5}
        await watch.until(lambda: watch.runs() >= 2)
        assert "updated" not in watch.lines[-1]

    with webhooked_pair(tmp_path, "d_templates", "e_profiles") as pair:
        run(pair, act)
        nothing_twice(pair)


def test_what_was_delivered_before_a_kill_is_read_by_the_next_watch(tmp_path: Path) -> None:
    async def receives(watch: Watched) -> None:
        watch.job.webhooks.is_due = lambda now: False  # killed before it could read it
        await watch.change(2, "Late words")
        await watch.until(lambda: watch.counts.get("queued"))

    async def reads(watch: Watched) -> None:
        await watch.until(lambda: has(pair, "Late words"))

    with webhooked_pair(tmp_path, "e_profiles", "c_brandlibrary") as pair:
        run(pair, receives)
        assert not has(pair, "Late words")
        run(pair, reads)
        nothing_twice(pair)


@only_in_full
def test_an_asset_that_no_longer_exists_parks_nothing(tmp_path: Path) -> None:
    async def act(watch: Watched) -> None:
        known = await asyncio.to_thread(lambda: moved(pair).twins)
        attributes = {"key": "zzzzzzzz", "event_type": "asset.delete", "event_time": "2026-01-01 00:00:00.000000"}
        webhook = sorted(watch.job.webhooks._webhooks._endpoint.known)[0]
        assert await watch.post({"data": {"attributes": attributes, "webhook_id": webhook}}) == 200
        await watch.until(lambda: watch.runs() >= 2)
        assert "1 skipped" in watch.lines[-1]
        assert watch.job.record.parked == {}
        assert (await asyncio.to_thread(lambda: moved(pair).twins)) == known

    with webhooked_pair(tmp_path, "c_brandlibrary", "d_templates") as pair:
        run(pair, act)


@only_in_full
@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_check_proves_that_a_delivery_arrives(tmp_path: Path, source: str, target: str) -> None:
    def about(results: list[CheckResult]) -> CheckResult:
        return next(each for each in results if each.subject == "webhooks")

    async def act(watch: Watched) -> None:
        found = about(await check_job(pair.job, small_jobs.options()))
        offered = source != "d_templates"
        assert ("a test delivery arrived" in found.message) == offered, found
        assert (found.mark, "the URL leads to `watch`" in found.message) == ("OK", not offered)

    with webhooked_pair(tmp_path, source, target) as pair:
        found = about(asyncio.run(check_job(pair.job, small_jobs.options())))
        assert (found.mark, found.message[:24]) == ("WARN", "no delivery can arrive: "), found
        assert not (pair.folder / "state" / "job.db").exists()
        run(pair, act)
        assert "watch" in found.hint


@only_in_full
def test_subscriptions_are_ended_on_request(tmp_path: Path) -> None:
    async def act(watch: Watched) -> None:
        assert subscribed(watch)

    async def end() -> list[str]:
        return await Watcher([pair.job], small_jobs.options(), print).unsubscribe()

    with webhooked_pair(tmp_path, "e_profiles", "c_brandlibrary") as pair:
        run(pair, act)
        assert asyncio.run(end()) == ["pair: 9 webhook subscriptions ended"]
        assert asyncio.run(end()) == ["pair: 0 webhook subscriptions ended"]
        change(pair, 1, "Nobody is told")
