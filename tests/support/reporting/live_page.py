"""A live page over jobs that a test generates, and the events that it sends."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from yarl import URL

from dam_sync.config.job import JobConfig, job_of_code
from dam_sync.model.clock import SystemClock
from dam_sync.model.limits import RateStatus
from dam_sync.model.outcome import Outcome
from dam_sync.model.run_options import MOVING, Progress, RunOptions
from dam_sync.model.service import Batch, Shard
from dam_sync.services import discover
from dam_sync.store.store import SqlStore
from dam_sync.watch.page import OWN_PORT, LivePage, kept, page_application
from dam_sync.watch.page_key import PageKey
from dam_sync.watch.server import serving
from tests.support.state.clock_and_rows import entries

PASSWORD = "correct-horse-battery-staple"


def config_of(folder: Path, name: str = "museum", **more: Any) -> JobConfig:
    auth = {"flow": "basic", "login": "x", "password": PASSWORD}
    sides = {
        side: {"kind": kind, "base_url": "https://dam.example", "auth": auth}
        for side, kind in (("source", "a_hypermedia"), ("target", "b_documents"))
    }
    body = {"version": 1, "name": name, **sides, "mapping": "m.yaml", "state": f"{name}.db", **more}
    return job_of_code(body, folder, discover())


def moving() -> Progress:
    """In the middle of a run."""
    return Progress(
        phase=MOVING,
        expected=52_000,
        listed=5200,
        created=1234,
        updated=310,
        unchanged=90,
        parked=12,
        bytes=48_300_000_000,
        source_calls=lambda: 8412,
        target_calls=lambda: 23_991,
        source_rates=lambda: RateStatus(15.0, 15.0, 9000),
        target_rates=lambda: RateStatus(4.2, 15.0, 180_000),
    )


@dataclass
class MadeUp:
    """A job whose situation is what the test says."""

    config: JobConfig
    progress: Progress | None = None
    said: dict[str, Any] = field(default_factory=dict)

    def situation(self) -> dict[str, Any]:
        return {"job": self.config.name, "running": self.progress is not None, "result": "done", **self.said}


@asynccontextmanager
async def served(jobs: Iterable[Any], port: int = 0, key: PageKey | None = None) -> AsyncIterator[tuple[str, LivePage]]:
    """A page about them: its URL, with its key."""
    page = LivePage(list(jobs), RunOptions(), key)
    async with serving(page_application(page), replace(OWN_PORT, port=port)) as url, kept(page):
        yield page.key.address(url), page


def at(address: str, path: str) -> str:
    """Another path of the server of a page, with the key of the page."""
    return str(URL(address).with_path(path, keep_query=True))


async def parked_state(config: JobConfig, outcome: Outcome, number: int) -> None:
    """A state with a stopped run that parked so many assets."""
    store = await SqlStore.open(config.state_path, SystemClock())
    run = await store.begin(config.name, "run")
    names = [f"asset-{each}" for each in range(number)]
    await store.set_shards(run.id, [Shard("all")], complete=True)
    await store.record(run.id, Shard("all"), Batch(entries(*names), None), ())
    for work in await store.claim(run.id, number, timedelta(minutes=1)):
        await store.complete(work, outcome)
    await store.stop(run.id, "stopped by a test")
    await store.close()


def events_of(lines: Iterable[str]) -> Iterator[tuple[str, Any]]:
    """The events of a stream, by its lines."""
    name = ""
    for line in lines:
        key, _, value = line.rstrip("\n").partition(": ")
        if key == "event":
            name = value
        elif key == "data":
            yield name, json.loads(value)
