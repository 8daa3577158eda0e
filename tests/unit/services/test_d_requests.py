"""What is sent to service D, by the words of the contract."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from dam_sync.model.values import Term
from tests.support.journal import MemoryJournal
from tests.support.raw_server import Said, Seen
from tests.support.scripted_d import Opened, ScriptedD, draft, scripted


@pytest.fixture
async def opened() -> AsyncIterator[Opened]:
    async with scripted() as one:
        yield one


async def test_every_business_call_has_all_four_headers(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wire D 1.2: always send all four."""
    seen: list[Seen] = []

    def noted(script: ScriptedD, request: Seen) -> Said:
        seen.append(request)
        return respond(script, request)

    respond = ScriptedD.__call__
    monkeypatch.setattr(ScriptedD, "__call__", noted)
    service = opened.connect()
    await service.probe()
    await service.ensure_term("colors", Term("Green"))
    made = await service.create(draft(), None, MemoryJournal())
    await service.fetch(made)
    calls = [request for request in seen if request.path.startswith("/v1/") and request.path != "/v1/auth/token"]
    assert {"GET", "POST", "PATCH"} == {request.method for request in calls}
    for request in calls:
        assert {"x-api-key", "authorization", "accesstoken"} <= request.headers.keys(), request.path
        assert request.headers.get("content-type") == "application/json", request.path
