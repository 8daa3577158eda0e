"""A `watch` in this process, whose URL an emulated source calls when something changes there."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp

from dam_sync.model.asset import Patch
from dam_sync.model.run_options import RunOptions
from dam_sync.watch.server import ListenAddress, application, serving
from dam_sync.watch.watcher import Watcher
from tests.conformance.catalogue import SCHEMA, asset
from tests.support.jobs import small_jobs
from tests.support.jobs.any_pair import hurried, joined, living, receiver_of, tenant_of
from tests.support.jobs.folder_jobs import side_of
from tests.support.jobs.library_edits import change_source
from tests.support.jobs.tenants import Pair
from tests.support.libraries.every_feature import OWN_MARKS, receiving, titled
from tests.support.network.raw_server import free_port

SECRETS = {"d_templates": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}
PATIENCE = 60.0  # seconds of this host; it may be busy


@contextmanager
def webhooked_pair(folder: Path, source: str, target: str, deliveries: str = "normal", **more: Any) -> Iterator[Pair]:
    """Two tenants and a job with webhooks, which runs once and then only when a change is delivered."""
    secret = folder / "hook"
    secret.write_text(SECRETS.get(source, "a long random text"), encoding="utf-8")
    address = f"127.0.0.1:{free_port()}"
    hooks = {"listen": address, "public_url": f"http://{address}", "secret": f"${{file:{secret}}}"}
    library = [*SCHEMA, *(asset(number, fields=titled(number)) for number in range(1, 4))]
    more = {"schedule": {"every": "7d"}, "webhooks": hooks, **more}
    with (
        hurried(),
        tenant_of(source, library, deliveries=deliveries) as first,
        receiver_of(target, receiving()) as second,
    ):
        sides = side_of(source, first, {}), side_of(target, second, {})
        pair = joined(folder / "pair", *sides, (first, second), OWN_MARKS, **more)
        yield pair


@dataclass
class Watched:
    """The process that watches, for as long as `watched` runs."""

    pair: Pair
    watcher: Watcher
    url: str
    lines: list[str]

    @property
    def job(self) -> Any:
        return self.watcher.jobs[0]

    @property
    def counts(self) -> Mapping[str, int]:
        return {receipt.value: number for receipt, number in self.job.webhooks.counts.items() if number}

    async def until(self, reached: Callable[[], Any]) -> None:
        async with asyncio.timeout(PATIENCE):
            while not await asyncio.to_thread(reached):  # noqa: ASYNC110 -- a service in another thread is asked
                await asyncio.sleep(0.02)

    def runs(self) -> int:
        return sum("is done" in line for line in self.lines)

    async def change(self, number: int, text: str) -> None:
        """Somebody changes the title of an asset at the source."""
        await asyncio.to_thread(change, self.pair, number, text)

    async def post(self, body: Any = None, path: str = "", **headers: str) -> int:
        """A delivery by somebody; its status."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        async with (
            aiohttp.ClientSession() as session,
            session.post(self.url + (path or self.path), data=data, headers=headers) as response,
        ):
            return response.status

    @property
    def path(self) -> str:
        return str(self.job.webhooks._webhooks.path)


@asynccontextmanager
async def watched(pair: Pair) -> AsyncIterator[Watched]:
    """Watch until the block ends; on entry the first run is done and the source delivers."""
    options: RunOptions = small_jobs.options(connectors=pair.connectors)
    lines: list[str] = []
    watcher = Watcher([pair.job], options, lines.append)
    await watcher.remember()
    address = ListenAddress.of(watcher.jobs[0].job.config.webhooks.listen)  # type: ignore[union-attr]
    async with serving(application(watcher), address) as url:
        watching = asyncio.ensure_future(watcher.run())
        made = Watched(pair, watcher, url, lines)
        try:
            await made.until(lambda: made.job.record.done is not None and subscribed(made))
            yield made
        finally:
            options.stop("the test has ended")
            await watching


def subscribed(made: Watched) -> bool:
    webhooks = made.job.webhooks
    assert webhooks.problem is None, webhooks.problem
    return webhooks._webhooks is not None and webhooks._webhooks._endpoint.current


def change(pair: Pair, number: int, text: str) -> None:
    row = next(row for row in pair.source.assets if row.get("catalogue_id") == str(number))
    field = next(key for key in row["fields"] if key.rpartition(":")[2] == "title")
    change_source(pair.job, row["id"], Patch(fields={field: text}))


def has(pair: Pair, text: str) -> bool:
    """Whether an asset of the target has this text."""
    return any(text in json.dumps(row, ensure_ascii=False) for row in living(pair.target).values())
