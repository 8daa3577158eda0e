"""Tells people what happened: events of runs, sent in the background so that no run waits for them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime

import structlog

from dam_sync.api.logs import reported
from dam_sync.config.job import JobConfig
from dam_sync.model.clock import Clock
from dam_sync.model.parking import ParkReason, park_cause
from dam_sync.model.values import Json
from dam_sync.watch.scheduler import RunResult, WatchRecord, reported_error

MOST = 200  # events that wait to be sent; more are dropped and counted
ATTEMPTS = 4
PAUSE = 30.0  # seconds after the first failed attempt; doubled after each
DRAIN_SECONDS = 10.0  # for what still waits when `watch` ends

Delivery = Callable[[JobConfig, Json], Awaitable[None]]
_log = structlog.get_logger()


def events_of(record: WatchRecord, before: WatchRecord) -> list[str]:
    """What is worth telling about a run that has ended: a state of affairs once, not after each run."""
    found = []
    match record.result:
        case RunResult.DONE:
            found.append("finished")
            risen = {
                park_cause(cause) for cause, number in record.parked.items() if number > before.parked.get(cause, 0)
            }
            found += ["conflicts"] if ParkReason.CONFLICT in risen else []
            found += ["parked"] if risen - {ParkReason.CONFLICT} else []
        case RunResult.BLOCKED:
            found.append("stopped")
        case RunResult.FAILED if record.failures == 1:
            found.append("stopped")
        case RunResult.ALLOWANCE if before.result is not RunResult.ALLOWANCE:
            found.append("stopped")
    return found


def event_of(kind: str, job: str, record: WatchRecord, report: Json, following: datetime | None, identity: str) -> Json:
    """The JSON of an event; without values of assets and without secrets."""
    shown = report or {}
    return {
        "id": f"msg_{identity}",
        "type": f"run.{kind}",
        "timestamp": record.ended.isoformat() if record.ended else "",
        "data": {
            "job": job,
            "result": record.result.value,
            "run": shown.get("run", 0),
            "counts": shown.get("counts", {}),
            "operations": shown.get("operations", {}),
            "parked": dict(record.parked),
            "failures": record.failures,
            "error": reported_error(record.error),
            "next": following.isoformat() if following else None,
        },
    }


class Notifier:
    """Sends events one after another; a failed one is tried again. failed: events that were given up."""

    def __init__(self, deliver: Delivery, clock: Clock) -> None:
        self._deliver = deliver
        self._clock = clock
        self._waiting: asyncio.Queue[tuple[JobConfig, Json]] = asyncio.Queue(MOST)
        self.sent = self.failed = 0

    def put(self, job: JobConfig, event: Json) -> None:
        """Send it later, if the job wants to know; never waits."""
        if job.notify is None or event["type"].removeprefix("run.") not in job.notify.on:
            return
        try:
            self._waiting.put_nowait((job, event))
        except asyncio.QueueFull:
            self._give_up(event, "too many notifications wait")

    async def run(self) -> None:
        """Send what is put, until cancelled."""
        while True:
            job, event = await self._waiting.get()
            try:
                await self._send(job, event)
            finally:
                self._waiting.task_done()

    async def drain(self) -> None:
        """Wait a moment for what is still to be sent."""
        try:
            async with asyncio.timeout(DRAIN_SECONDS):
                await self._waiting.join()
        except TimeoutError:
            _log.error("notifications.left", number=self._waiting.qsize())

    async def _send(self, job: JobConfig, event: Json) -> None:
        problem = ""
        for attempt in range(ATTEMPTS):
            if attempt:
                await self._clock.sleep(PAUSE * 2 ** (attempt - 1))
            try:
                await self._deliver(job, event)
            except Exception as error:  # noqa: BLE001 -- a bug of ours is reported; later events are sent
                known = reported(error)
                problem = str(known)
                if known.exit_code == 2:  # a wrong secret or URL stays wrong
                    break
            else:
                self.sent += 1
                return
        self._give_up(event, problem)

    def _give_up(self, event: Json, problem: str) -> None:
        self.failed += 1
        _log.error("notification.failed", job=event["data"]["job"], type=event["type"], problem=problem)
