"""Deliveries to `watch`: bounded, counted, stored before the response; failures leave names waiting."""

from __future__ import annotations

import asyncio
import json
import socket
from collections import Counter
from collections.abc import AsyncIterator, Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from standardwebhooks import Webhook

from dam_sync.api.watching import SharedRates
from dam_sync.api.webhooks import Receipt, webhooks_of
from dam_sync.model.errors import ConfigError, DamSyncError, Denied, SafetyStop, StoreBusy, Transient, Unsupported
from dam_sync.model.run_options import RunOptions
from dam_sync.report.report import Report, ReportedSide
from dam_sync.watch.connections import ConnectionBounds
from dam_sync.watch.hooks import MOST_OPEN, READ_SECONDS
from dam_sync.watch.metrics import health_of
from dam_sync.watch.scheduler import RunResult
from dam_sync.watch.server import ListenAddress, addresses_of, application, serving
from dam_sync.watch.watched_job import WatchedJob
from dam_sync.watch.watcher import Watcher
from tests.support.stepped_clock import SteppedClock
from tests.support.virtual.universe import Universe

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
JOB = """\
version: 1
name: {name}
source:
  kind: {kind}
  base_url: https://d.example
  auth: {auth}
target: {{kind: b_documents, base_url: https://b.example, auth: {{flow: basic, login: x, password: "${{env:B}}"}}}}
mapping: mapping.yaml
state: {name}.db
schedule: {{every: {every}}}
webhooks: {hooks}
"""
SESSION = '{flow: session, api_key: "${env:HOOK_KEY}", username: u, password: "${env:HOOK_KEY}"}'
BASIC = '{flow: basic, login: u, password: "${env:HOOK_KEY}"}'
HOOKS = '{public_url: https://h.example, secret: "${env:HOOK_SECRET}"}'


def write(
    folder: Path,
    hooks: str = HOOKS,
    name: str = "museum",
    kind: str = "d_templates",
    auth: str = SESSION,
    every: str = "1h",
) -> Path:
    path = folder / f"{name}-{kind}.yaml"
    path.write_text(JOB.format(name=name, kind=kind, auth=auth, hooks=hooks, every=every), encoding="utf-8")
    return path


@pytest.fixture(autouse=True)
def _secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOOK_KEY", "0123456789")
    monkeypatch.setenv("HOOK_SECRET", SECRET)


@pytest.fixture
async def watcher(tmp_path: Path) -> AsyncIterator[Watcher]:
    made = Watcher([write(tmp_path)], RunOptions(clock=SteppedClock()), print)
    webhooks = made.jobs[0].webhooks
    webhooks._webhooks = await webhooks_of(made.jobs[0].job.config, made._surroundings)
    yield made
    await webhooks._close()


def delivery(watcher: Watcher, number: int) -> tuple[dict[str, str], bytes]:
    return signed(number, watcher._surroundings.clock.now())


def signed(number: int, now: datetime) -> tuple[dict[str, str], bytes]:
    """A delivery about one of seven assets."""
    body = json.dumps({"eventType": "asset.metadata.updated", "event": {"id": "e"}, "asset": {"id": f"a{number % 7}"}})
    signature = Webhook(SECRET).sign(f"msg_{number}", now, body)
    headers = {"webhook-id": f"msg_{number}", "webhook-timestamp": str(int(now.timestamp()))}
    return {**headers, "webhook-signature": signature}, body.encode()


async def test_a_burst_is_bounded_and_everything_taken_is_stored_once(watcher: Watcher) -> None:
    webhooks = watcher.jobs[0].webhooks

    async def one(number: int) -> Receipt:
        headers, body = delivery(watcher, number)

        async def read() -> bytes:
            await asyncio.sleep(0)
            return body

        return await webhooks.receive(headers, read)

    found = Counter(await asyncio.gather(*(one(number) for number in range(MOST_OPEN + 40))))
    assert found == {Receipt.QUEUED: MOST_OPEN, Receipt.FULL: 40}
    assert webhooks.counts[Receipt.FULL] == 40
    assert sorted(await webhooks.take()) == [f"a{number}" for number in range(7)]
    await webhooks.read([f"a{number}" for number in range(7)])
    assert await webhooks.take() == []
    assert not webhooks.is_due(watcher._surroundings.clock.now())


async def test_bodies_that_do_not_arrive_make_room_for_new_deliveries(watcher: Watcher) -> None:
    """Whoever sent as many halves of deliveries as are read at a time kept the genuine ones out."""
    webhooks, clock = watcher.jobs[0].webhooks, watcher._surroundings.clock
    assert isinstance(clock, SteppedClock)

    async def never() -> bytes:
        await asyncio.Event().wait()
        raise AssertionError

    async def genuine(number: int) -> Receipt:
        headers, body = delivery(watcher, number)
        return await webhooks.receive(headers, lambda: asyncio.sleep(0, body))

    slow = [asyncio.ensure_future(webhooks.receive({}, never)) for _ in range(MOST_OPEN)]
    await _until(lambda: webhooks._open == MOST_OPEN)
    assert await genuine(1) is Receipt.FULL  # they may be on their way
    clock.skip(READ_SECONDS)
    assert list(await asyncio.gather(genuine(2), genuine(3))) == [Receipt.QUEUED] * 2
    assert [await each for each in slow[:2]] == [Receipt.FULL] * 2
    assert not any(each.done() for each in slow[2:])
    for each in slow:
        each.cancel()
    await asyncio.gather(*slow, return_exceptions=True)
    assert webhooks._open == 0


class Counting(WatchedJob):
    """Counts its runs; those for named assets take a second."""

    runs: list[int]  # assets that were named, 0: on schedule
    under_way = most_at_once = 0

    async def execute(self, options: RunOptions) -> Report:
        self.runs.append(len(options.only))
        self.under_way += 1
        self.most_at_once = max(self.most_at_once, self.under_way)
        await options.clock.sleep(1)
        self.under_way -= 1
        side = ReportedSide("x", "tenant")
        return Report("run", "museum", side, side, "", "", run=1)


def test_a_thousand_deliveries_are_one_run_under_way_and_one_after_it(tmp_path: Path) -> None:
    with Universe(1) as universe:
        job = universe.do(_flooded(universe.options(), tmp_path))
    scheduled, first, *then = job.runs
    assert (scheduled, first, job.most_at_once) == (0, 1, 1)
    assert then == [7], "assets that were named while the first run was under way"
    assert job.webhooks.counts[Receipt.QUEUED] == 1_001


async def _flooded(options: RunOptions, folder: Path) -> Counting:
    """One delivery, and a thousand about seven assets while the run for it is under way; then nothing for a while."""
    shared, slots = SharedRates(options.clock), asyncio.Semaphore(4)
    job = Counting(write(folder), options, shared, slots, lambda *_: None)
    job.runs = []
    made = job.webhooks._webhooks = await webhooks_of(job.job.config, options)
    assert made is not None
    watching = asyncio.ensure_future(job.watch())

    async def sent(number: int) -> Receipt:
        headers, body = signed(number, options.clock.now())
        return await job.webhooks.receive(headers, lambda: asyncio.sleep(0, body))

    await asyncio.sleep(30)
    await sent(0)
    await asyncio.sleep(1)  # the run for it has begun after half a second
    for start in range(1, 1_001, 100):
        await asyncio.gather(*(sent(start + number) for number in range(100)))
    assert job.under_way == 1
    await asyncio.sleep(300)
    job.stop()
    await watching
    await made.close()
    return job


class Failing(Counting):
    """Every run fails in this way while there is one; the first one on schedule is complete."""

    trouble: DamSyncError | None = None

    async def execute(self, options: RunOptions) -> Report:
        report = await super().execute(options)
        if self.trouble is not None:
            raise self.trouble
        return report


@pytest.mark.parametrize(
    ("problem", "result", "named"),
    [(Denied("no"), "blocked", 1), (SafetyStop("look"), "blocked", 1), (Transient("broken"), "failed", 3)],
)
def test_a_job_whose_named_assets_cannot_be_read_is_reported(
    tmp_path: Path, problem: DamSyncError, result: str, named: int
) -> None:
    """Nothing said so until the next run on schedule, a week later; and SIGHUP did not try again."""
    with Universe(1) as universe:
        job, health, line = universe.do(_failing(universe.options(), tmp_path, problem))
    assert job.runs == [0, *([1] * named), 0, 0, 1]
    assert (health["result"], health["ok"]) == (result, result == "failed")
    assert str(problem) in line
    assert job.record.result is RunResult.DONE


async def _failing(options: RunOptions, folder: Path, problem: DamSyncError) -> tuple[Failing, dict[str, Any], str]:
    """One delivery, the runs that it causes, and those after the problem is solved."""
    shared, slots, lines = SharedRates(options.clock), asyncio.Semaphore(4), list[str]()

    job = Failing(
        write(folder, every="7d"), options, shared, slots, lambda job, *_: lines.append(str(job.record.error))
    )
    job.runs = []
    made = job.webhooks._webhooks = await webhooks_of(job.job.config, options)
    assert made is not None
    watching = asyncio.ensure_future(job.watch())
    await asyncio.sleep(30)
    job.trouble = problem
    headers, body = signed(0, options.clock.now())
    await job.webhooks.receive(headers, lambda: asyncio.sleep(0, body))
    await asyncio.sleep(200)
    health, line = health_of([job])["jobs"][0], lines[-1]
    job.trouble = None
    job.reload()
    await asyncio.sleep(120)
    job.stop()
    await watching
    await made.close()
    return job, health, line


async def test_names_wait_after_failures_and_longer_for_a_person(watcher: Watcher) -> None:
    webhooks, now = watcher.jobs[0].webhooks, watcher._surroundings.clock.now()
    for error, seconds in (
        (StoreBusy("busy"), 30), (Transient("broken"), 60), (Transient("broken"), 120), (SafetyStop("look"), 3600)
    ):  # fmt: skip
        webhooks.failed(error, now)
        assert webhooks.is_due(now + timedelta(seconds=seconds))
        assert not webhooks.is_due(now + timedelta(seconds=seconds - 1))
    await webhooks.read([])
    assert webhooks.is_due(now)


async def test_statuses_and_metrics(watcher: Watcher) -> None:
    headers, body = delivery(watcher, 1)
    async with serving(application(watcher), ListenAddress("127.0.0.1", 0)) as url, aiohttp.ClientSession() as session:

        async def sent(path: str = "/webhooks/museum/d_templates", data: Any = body, **more: str) -> int:
            async with session.post(url + path, data=data, headers={**headers, **more}) as response:
                return response.status

        assert [await sent(), await sent(Host="h.example")] == [200, 200]
        assert await sent(data=body + b" ") == 401
        assert await sent(path="/webhooks/museum/other") == 401
        assert await sent(path="/webhooks/archive/d_templates") == 404
        assert await sent(data=b"x" * 70_000) == 413

        async def chunked() -> AsyncIterator[bytes]:
            for _ in range(70):
                yield b"x" * 1024

        assert await sent(data=chunked()) == 413
        async with session.get(f"{url}/webhooks/museum/d_templates") as response:
            assert response.status == 200
        async with session.get(f"{url}/metrics") as response:
            text = await response.text()
        for result, number in (("queued", 1), ("duplicate", 1), ("forged", 2), ("ignored", 0), ("full", 0)):
            assert f'dam_sync_webhooks_total{{job="museum",result="{result}"}} {number}.0' in text
        assert SECRET not in text


async def _until(holds: Callable[[], bool]) -> None:
    for _ in range(100_000):
        if holds():
            return
        await asyncio.sleep(0)
    raise AssertionError("it never held")


async def test_a_delivery_that_breaks_off_is_no_error_of_watch(
    watcher: Watcher, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its traceback was in the log of `watch`: the caller, or the proxy, ends the connection within the body."""
    headers, body = delivery(watcher, 1)
    job = watcher.jobs[0]
    async with serving(application(watcher), ListenAddress("127.0.0.1", 0)) as url:
        _, writer = await asyncio.open_connection("127.0.0.1", int(url.rpartition(":")[2]))
        lines = [f"{name}: {text}" for name, text in headers.items()]
        lines += [f"Content-Length: {len(body)}", "Host: h.example"]
        head = "\r\n".join(["POST /webhooks/museum/d_templates HTTP/1.1", *lines, "", ""])
        writer.write(head.encode() + body[:9])
        await writer.drain()
        await _until(lambda: job.webhooks._open == 1)
        writer.transport.abort()
        await _until(lambda: job.webhooks._open == 0)
        async with aiohttp.ClientSession() as session, session.get(f"{url}/live") as response:
            assert response.status == 200
    shown = capsys.readouterr()
    assert "Traceback" not in shown.out + shown.err
    assert "request.failed" not in shown.out + shown.err


async def test_a_caller_that_made_room_for_another_is_no_error_of_watch(
    watcher: Watcher, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each left a traceback: its connection had ended before its delivery was looked at."""
    half = b"POST /webhooks/museum/d_templates HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{"
    async with serving(application(watcher), ListenAddress("127.0.0.1", 0), ConnectionBounds(most=3)) as url:
        address, callers = ("127.0.0.1", int(url.rpartition(":")[2])), list[socket.socket]()
        for _ in range(10):
            others = [socket.create_connection(address) for _ in range(3)]
            for caller in callers:  # noticed together with the others
                caller.send(half)
            await asyncio.sleep(0.02)
            for caller in callers:
                caller.close()
            callers = others
        for caller in callers:
            caller.close()
        await _until(lambda: watcher.jobs[0].webhooks._open == 0)
    shown = capsys.readouterr()
    assert "request.failed" not in shown.out + shown.err


async def test_a_source_without_webhooks_and_secrets_that_are_missing_are_reported(tmp_path: Path) -> None:
    async def opened(path: Path) -> object:
        watcher = Watcher([path], RunOptions(clock=SteppedClock()), print)
        return await webhooks_of(watcher.jobs[0].job.config, watcher._surroundings)

    with pytest.raises(Unsupported, match="a_hypermedia has no webhooks"):
        await opened(write(tmp_path, kind="a_hypermedia", auth=BASIC))
    bare = "{public_url: https://h.example}"
    token = '{flow: token, token: "${env:HOOK_KEY}"}'
    with pytest.raises(ConfigError, match="needs a `secret`"):
        await opened(write(tmp_path, bare, kind="c_brandlibrary", auth=token))
    assert await opened(write(tmp_path, bare)) is not None  # the service gives it, once the endpoint exists


def test_a_url_is_needed_and_names_are_unique(tmp_path: Path) -> None:
    options = RunOptions(clock=SteppedClock())
    jobs = Watcher([write(tmp_path)], options, print).jobs
    with pytest.raises(ConfigError, match="webhooks need an address"):
        addresses_of(jobs, "")
    assert addresses_of(jobs, "127.0.0.1:8088") == [ListenAddress("127.0.0.1", 8088)]
    hooks = HOOKS.replace("{", '{listen: "127.0.0.1:8089", ', 1)
    assert addresses_of(Watcher([write(tmp_path, hooks)], options, print).jobs, "")[0].port == 8089
    other = tmp_path / "other"
    other.mkdir()
    with pytest.raises(ConfigError, match="have webhooks and the same name"):
        Watcher([write(tmp_path), write(other)], options, print)
