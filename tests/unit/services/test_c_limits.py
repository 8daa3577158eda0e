"""Every number of the contract's table of limits (wire C 8), as the emulated library keeps it and the adapter heeds it.

Not here: what has no call (dependent fields, the import of the web interface), how long a cache of links lives on, and
how long a URL elsewhere must respond.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from dam_sync.emulators.c_brandlibrary import webhooks
from dam_sync.emulators.c_brandlibrary.options import options_of
from dam_sync.model.errors import TooLarge
from dam_sync.model.limits import MIB
from dam_sync.services.c_brandlibrary import facts
from tests.conformance.catalogue import SCHEMA, asset
from tests.conformance.tenant import Tenant, content, started
from tests.support.services.emulated_c import Rig, asset_row
from tests.support.state.memory_journal import MemoryJournal

Start = Callable[..., Rig]
GRID = 262_144
DAY = 86_400


@pytest.fixture
def start() -> Iterator[Start]:
    with ExitStack() as stack:
        yield lambda *rows, **options: stack.enter_context(Rig(rows, **options))


@pytest.fixture
async def crowded(tmp_path: Path) -> AsyncIterator[Tenant]:
    """A library with one asset that has as many attachments as it can."""
    others = [{"name": f"{n}.txt", "generate": {"size": 10, "seed": n}} for n in range(facts.ATTACHMENTS - 1)]
    tenant = started("c_brandlibrary", [*SCHEMA, asset(1, attachments=others)], tmp_path)
    yield tenant
    await tenant.disconnect()
    tenant.served.stop()


def test_ten_calls_a_second_and_twenty_at_first(start: Start) -> None:
    rig = start(rate=10)
    assert [rig.api.get("/organizations").status_code for _ in range(21)] == [200] * 20 + [429]
    rig.world.advance(1)
    assert [rig.api.get("/organizations").status_code for _ in range(11)] == [200] * 10 + [429]
    assert facts.LIMITS.pace.at_once == 4


def test_a_page_has_100_rows_and_at_most_3000(start: Start) -> None:
    rig = start(*(asset_row(str(n), versions=[]) for n in range(3001)))
    assert len(rig.assets()) == 100
    assert len(rig.assets(per=facts.LONG_PAGE)) == facts.LONG_PAGE == 3000
    assert len(rig.assets(per=3001)) == 3000


def test_the_first_10_000_rows_of_a_list() -> None:
    assert options_of({"variant": "window"}).reach == facts.REACH == 10_000


async def test_an_asset_has_75_files(crowded: Tenant, start: Start) -> None:
    service = crowded.connect()
    identity = crowded.of_catalogue(1)
    writes = crowded.world.api_calls.total()
    async with content(crowded, "one more.txt", 10) as (given, _):
        with pytest.raises(TooLarge):
            await service.attach(identity, given, MemoryJournal())
    assert {name.split()[0] for name in crowded.world.api_calls} == {"GET"}
    assert crowded.world.api_calls.total() > writes
    rig = start()
    files = [{"url": rig.uploaded(b"x"), "filename": "x.txt"}]
    rig.create({"name": "N", "attachments": files * 76}, status=422)
    rig.create({"name": "N", "attachments": files * facts.ATTACHMENTS})


def test_five_keys_are_prioritized(start: Start) -> None:
    rig = start()
    path = f"/libraries/{rig.library}/custom_field_keys"

    def key(number: int) -> dict[str, Any]:
        return {"data": {"attributes": [{"name": f"p{number}", "prioritized": True}]}}

    for number in range(5):
        rig.send("POST", path, key(number))
    rig.send("POST", path, key(5), 422)


def test_an_upload_link_lives_a_day_and_an_object_a_week(start: Start) -> None:
    rig = start()
    request = rig.get("/upload_requests")
    rig.world.advance(DAY)
    assert rig.store.put(request["upload_url"], content=b"x").status_code == 200
    rig.world.advance(1)
    assert rig.store.put(request["upload_url"], content=b"x").status_code == 400
    rig.world.advance(7 * DAY)

    def made() -> Any:
        attachment = {"url": request["object_url"], "filename": "x.txt"}
        key = rig.create({"name": "N", "attachments": [attachment]})["data"][0]["id"]
        rig.world.advance(600)
        return rig.attachments(key)[0]["attributes"]["size"]

    assert made() is None
    assert timedelta(days=1) > facts.UPLOAD_LIFE
    assert timedelta(days=7) > facts.OBJECT_LIFE


def test_one_request_takes_500_mb_in_one_reading() -> None:
    assert options_of({"variant": "small_single"}).single_most == 500_000_000
    assert options_of({}).single_most is None
    assert facts.SINGLE_BYTES == 200_000_000


def test_a_chunk_is_a_multiple_of_256_kib(start: Start) -> None:
    rig = start()
    request = rig.get("/upload_requests")
    begun = rig.store.post(request["resumable_upload_url"], headers={"x-goog-resumable": "start"})
    where = begun.headers["location"]

    def sent(size: int) -> int:
        area = {"Content-Range": f"bytes 0-{size - 1}/{GRID * 2}"}
        return rig.store.put(where, content=bytes(size), headers=area).status_code

    assert sent(GRID - 1) == 400
    assert sent(GRID) == 308
    assert facts.CHUNK_GRID == GRID
    assert facts.CHUNK_BYTES % GRID == 0
    assert 8 * MIB <= facts.CHUNK_BYTES <= 64 * MIB


def test_a_link_to_a_file_lives_a_day_and_to_a_picture_a_week(start: Start) -> None:
    rig = start(asset_row("1"))
    found = rig.attachments(rig.of("1"))[0]["attributes"]
    rig.world.advance(DAY - 60)
    assert rig.store.get(found["url"]).status_code == 200
    rig.world.advance(120)
    assert rig.store.get(found["url"]).status_code == 403
    assert rig.store.get(found["thumbnail_url"]).status_code == 200
    rig.world.advance(6 * DAY)
    assert rig.store.get(found["thumbnail_url"]).status_code == 403
    assert timedelta(hours=24) == facts.LINK_LIFE > facts.LINK_RESERVE


def test_one_subscription_for_each_event_and_fifteen_more_tries(start: Start) -> None:
    rig = start()
    attributes = {"event_type": "asset.create", "resource_type": "library", "resource_key": rig.library}
    body = {"data": {"attributes": {**attributes, "callback_url": "http://127.0.0.1:9/"}}}
    assert [rig.old.post("/webhooks", json=body).status_code for _ in range(2)] == [200, 409]
    assert webhooks.RETRIES == 15


def test_searches_by_date_follow_on_the_hour(start: Start) -> None:
    """It is 10:20:30; what changes at 10:40 is found from 11:00 on."""
    rig = start(asset_row("1", rights={"expires_at": "2026-06-15T10:40:00Z"}))
    found = []
    for minutes in (0, 30, 15):
        rig.world.advance(minutes * 60)
        found.append(len(rig.assets(search="expired:true")))
    assert found == [0, 0, 1]


def test_values_go_by_the_hundred(start: Start) -> None:
    assert facts.VALUE_BATCH <= 100
    rig = start()
    rows = [{"name": f"B {n}"} for n in range(20)]
    assert len(rig.create(*rows)["data"]) == 20
