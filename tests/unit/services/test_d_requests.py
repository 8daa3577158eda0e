"""What is sent to service D, by the words of the contract."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from dam_sync.model.limits import PartBounds
from dam_sync.model.values import Term
from dam_sync.model.webhooks import Endpoint
from dam_sync.services.d_templates import facts
from tests.support.network.raw_server import Said, Seen, said
from tests.support.services.connections import Bytes
from tests.support.services.scripted_d import Opened, ScriptedD, draft, scripted
from tests.support.state.credential_store import MemoryCredentialStore
from tests.support.state.memory_journal import MemoryJournal

MISSING = said({"status": "error", "message": "Failed to parse asset: Missing fields"}, 400)
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
SMALL = replace(facts.LIMITS, single_bytes=1000, parts=PartBounds(1000, 1000, 1000, 10, 1))


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


async def test_an_upload_is_cancelled_with_every_member_of_its_completion(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wire D 6.3 shows one body for both actions, and refuses one that lacks a field."""
    ends: list[Any] = []

    def strict(body: Any) -> Said:
        ends.append(body)
        wanted = {"fileId", "filename", "filesize", "originalFileId", "uploadId", "action", "parts"}
        return complete(body) if wanted <= body.keys() else MISSING

    complete = opened.script._complete
    monkeypatch.setattr(opened.script, "_complete", strict)
    opened.script.part, opened.limits, opened.script.vanish = 1000, SMALL, 1
    await opened.connect(credentials=MemoryCredentialStore()).create(
        draft(), Bytes("src-1.jpg", bytes(2500), known=True), MemoryJournal()
    )
    assert [(end["action"], end.get("filesize")) for end in ends] == [("cancel", 2500), ("complete", 2500)]
    assert "cancel object-0001" in opened.script.story


@pytest.mark.parametrize("disabled", [False, True])
async def test_an_endpoint_is_changed_by_the_fields_it_was_made_with(
    opened: Opened, monkeypatch: pytest.MonkeyPatch, disabled: bool
) -> None:
    """Wire D 9.1: PATCH takes the same fields as POST; `disabled` is shown by the list alone."""
    row = {"id": "ep_1", "description": "dam-sync museum", "disabled": disabled, "url": "https://old.example/d"}
    changes: list[Any] = []

    def hooks(script: ScriptedD, request: Seen) -> Said:
        if request.path == "/v1/webhooks/event-type/list":
            return said([{"name": "asset.created", "description": "x", "createdDate": "2024-05-09"}])
        if request.path == "/v1/webhooks/endpoint/list":
            return said([{**row, "eventTypes": ["asset.created"], "rateLimit": 200}])
        if request.path == "/v1/webhooks/endpoint/ep_1":
            changes.append(json.loads(request.body))
            return Said(204)
        return respond(script, request)

    respond = ScriptedD.__call__
    monkeypatch.setattr(ScriptedD, "__call__", hooks)
    endpoint = Endpoint("https://new.example/d", "museum", SECRET, frozenset({"ep_1"}))
    assert (await opened.connect().subscribe(endpoint)).changed == 1
    (sent,) = changes
    assert sent.pop("disabled", None) is (False if disabled else None)
    assert sent == {"description": "dam-sync museum", "eventTypes": ["asset.created"], "url": "https://new.example/d"}
