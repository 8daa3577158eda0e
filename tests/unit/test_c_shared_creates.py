"""Several assets of service C created by one call: each has its own journal and its own outcome, whatever becomes of the
call."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from dam_sync.model.asset import AssetId, Draft, Marker
from dam_sync.model.errors import Rejected
from dam_sync.model.service import Service
from dam_sync.services.c_brandlibrary import facts
from tests.conformance.catalogue import MARKER
from tests.conformance.tenant import Start, Tenant, content
from tests.support.journal import Crash, MemoryJournal
from tests.support.pairs import EVERYTHING

KIND = "c_brandlibrary"
CREATE = "POST */libraries/*/assets"
QUICK = {"readiness": "later", "first_look": 1.0, "index_lag": 5.0}
SIZES = range(2, 9) if EVERYTHING else [2]


def draft(key: str, **more: Any) -> Draft:
    return Draft(Marker(MARKER, key), f"{key}.jpg", fields={"title": f"Title of {key}", MARKER: key}, **more)


def drafts(count: int) -> list[Draft]:
    return [draft(f"s-{number}") for number in range(count)]


async def created(
    tenant: Tenant, service: Service, wanted: Sequence[Draft], journals: Sequence[MemoryJournal] | None = None
) -> list[AssetId | BaseException]:
    """What came of each, all of them being written at the same time."""
    journals = journals or [MemoryJournal() for _ in wanted]

    async def one(each: Draft, journal: MemoryJournal) -> AssetId:
        async with content(tenant, each.filename, seed=str(each.marker)) as (given, _):
            return await service.create(each, given, journal)

    return await asyncio.gather(*map(one, wanted, journals), return_exceptions=True)


def holds_each_once(tenant: Tenant, wanted: Sequence[Draft], made: Sequence[object] | None = None) -> None:
    """Every asset is there once, with its own file, and says nothing of us."""
    rows = tenant.truth().values()
    for number, each in enumerate(wanted):
        assert each.marker is not None
        (row,) = [row for row in rows if row["fields"].get(MARKER) == each.marker.value]
        assert row["filename"] == each.filename
        assert row["fields"]["title"] == each.fields["title"]
        assert "dam_sync" not in str(row["fields"].get("description"))
        assert made is None or made[number] == row["id"]
    names = {each.filename for each in wanted}
    assert len([row for row in rows if row["filename"] in names]) == len(wanted)


async def test_assets_that_are_written_at_the_same_time_share_calls(start: Start) -> None:
    tenant = start()
    service, wanted = tenant.connect(options=QUICK), drafts(25)
    made = await created(tenant, service, wanted)
    holds_each_once(tenant, wanted, made)
    assert service.calls[facts.ADD_TO_LIBRARY] == 2
    assert service.calls[facts.PUT_ASSET] == 2, "one token for each call"
    assert service.calls[facts.SECTION_ASSETS] == 1, "the first shared call is read back"


async def test_each_asset_is_created_alone_if_the_job_says_so(start: Start) -> None:
    tenant = start()
    service, wanted = tenant.connect(options={**QUICK, "tokens": "asset"}), drafts(3)
    holds_each_once(tenant, wanted, await created(tenant, service, wanted))
    assert service.calls[facts.ADD_TO_LIBRARY] == service.calls[facts.PUT_ASSET] == 3


@pytest.mark.parametrize("fault", ["reset_after", "reset_before", "fail_after", "status:503"])
async def test_a_lost_response_costs_no_asset_and_doubles_none(start: Start, fault: str) -> None:
    tenant = start()
    service, wanted = tenant.connect(options=QUICK), drafts(5)
    tenant.fail({"match": CREATE, "do": fault, "nth": 1})
    made = await created(tenant, service, wanted)
    holds_each_once(tenant, wanted, made)
    assert not tenant.faults.unhit()


async def test_partial_success_is_completed(start: Start) -> None:
    """Nothing says whether a call that fails created some of its assets."""
    tenant = start()
    service, wanted = tenant.connect(options=QUICK), drafts(5)
    tenant.fail({"match": CREATE, "do": "play:some_created", "nth": 1})
    holds_each_once(tenant, wanted, await created(tenant, service, wanted))
    assert not tenant.faults.unhit()
