"""Forms of writing that nobody shows: what service D makes of an update is looked at once, then trusted or not."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from dam_sync.model.asset import AssetId, Patch, Rights
from dam_sync.model.errors import Rejected
from dam_sync.model.values import Term
from dam_sync.services.d_templates import facts
from tests.support.network.raw_server import Said
from tests.support.services import scripted_d as d
from tests.support.services.scripted_d import Opened, draft, scripted
from tests.support.state.memory_journal import MemoryJournal


@pytest.fixture
async def opened() -> AsyncIterator[Opened]:
    async with scripted() as one:
        yield one


def play(
    opened: Opened, monkeypatch: pytest.MonkeyPatch, *, whole: bool = False, required: str = "", security: str = ""
) -> None:
    """whole: an update takes away what it does not name, and is refused if that is `required`; security: `append` or
    `ignore`."""

    def update(identity: str, body: Any) -> Said:
        row = opened.script.records[identity]
        named = {entry["metadataDefinitionId"] for entry in body.get("metadata", [])}
        if required and "metadata" in body and required not in named:
            return d.said({"status": "error", "message": "Invalid fields for metadata template"}, 403)
        if whole and "metadata" in body:
            row["metadata"] = [entry for entry in body["metadata"] if len(entry) > 1]
        elif security == "append":
            row["securityTemplateIds"] = [*row["securityTemplateIds"], *body["securityTemplateIds"]]
        return d.said({"status": "success"})

    monkeypatch.setattr(opened.script, "_update", update)
    two = [{"templateId": f"security-{n}", "templateName": name} for n, name in ((1, "Full Access"), (2, "Vault"))]
    monkeypatch.setattr(opened.script, "_security", lambda: d.said(two))


def values(opened: Opened, record: str) -> dict[str, Any]:
    rows = opened.script.records[record]["metadata"]
    return {row["metadataDefinitionId"]: row["metadataDefinitionValue"] for row in rows}


async def test_where_an_update_takes_away_what_it_does_not_name_all_of_it_is_sent(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    play(opened, monkeypatch, whole=True)
    service = opened.connect(security="Full Access")
    made = [await service.create(draft(key, colors=(Term("Red", d.RED),)), None, MemoryJournal()) for key in ("a", "b")]
    for asset, record, key in zip(made, ("object-0001", "object-0002"), ("a", "b"), strict=True):
        await service.update(asset, Patch(fields={"title": "Other"}))
        assert values(opened, record) == {d.TITLE: "Other", d.MARK: key, d.COLOR: [{"valueId": d.RED}]}
    assert service.calls[facts.UPDATE] == 3


async def test_an_update_of_values_and_security_takes_nothing_away_either(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    play(opened, monkeypatch, whole=True)
    service = opened.connect(security="Full Access")
    made = [await service.create(draft(key, colors=(Term("Red", d.RED),)), None, MemoryJournal()) for key in ("a", "b")]
    await service.update(made[0], Patch(fields={"title": "Other"}))
    await service.update(made[1], Patch(fields={"title": "Other"}, rights=Rights(groups=frozenset({"Full Access"}))))
    assert values(opened, "object-0002") == {d.TITLE: "Other", d.MARK: "b", d.COLOR: [{"valueId": d.RED}]}


async def test_an_update_that_names_all_there_is_shows_nothing_about_what_it_does_not_name(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    play(opened, monkeypatch, whole=True)
    service = opened.connect(security="Full Access")
    poor = opened.script.records[opened.script.add(metadata=[OLD])]["fileId"]
    rich = await service.create(draft("a", colors=(Term("Red", d.RED),)), None, MemoryJournal())
    for asset in (AssetId(poor), rich):
        await service.update(asset, Patch(fields={"title": "Other"}))
    assert values(opened, "object-0002") == {d.TITLE: "Other", d.MARK: "a", d.COLOR: [{"valueId": d.RED}]}


async def test_an_update_that_has_to_name_what_is_required_is_sent_with_all_there_is(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    play(opened, monkeypatch, whole=True, required=d.TITLE)
    service = opened.connect(security="Full Access")
    made = [await service.create(draft(key), None, MemoryJournal()) for key in ("a", "b")]
    for asset, record, key in zip(made, ("object-0001", "object-0002"), ("a", "b"), strict=True):
        await service.update(asset, Patch(fields={"colors": (Term("Red", d.RED),)}))
        assert values(opened, record) == {d.TITLE: "New", d.MARK: key, d.COLOR: [{"valueId": d.RED}]}


OLD = {"metadataDefinitionId": d.TITLE, "metadataDefinitionValue": "Old"}


@pytest.mark.parametrize("metadata", [[], [OLD]], ids=["empty", "filled"])
async def test_an_update_without_effect_parks_the_asset(
    opened: Opened, monkeypatch: pytest.MonkeyPatch, metadata: list[Any]
) -> None:
    play(opened, monkeypatch)
    identity = opened.script.add(metadata=metadata)
    service = opened.connect(security="Full Access")
    with pytest.raises(Rejected, match="had no effect") as caught:
        await service.update(AssetId(opened.script.records[identity]["fileId"]), Patch(fields={"title": "Other"}))
    assert caught.value.operation == facts.UPDATE


@pytest.mark.parametrize("security", ["append", "ignore"])
async def test_an_asset_that_is_not_closed_by_the_call_for_it_is_parked(
    opened: Opened, monkeypatch: pytest.MonkeyPatch, security: str
) -> None:
    play(opened, monkeypatch, security=security)
    service = opened.connect(security="Full Access", restricted_security="Vault")
    made = await service.create(draft(), None, MemoryJournal())
    for _ in range(2):
        with pytest.raises(Rejected, match="was not replaced"):
            await service.update(made, Patch(closed=True))


async def test_what_was_seen_once_is_not_looked_at_again(opened: Opened) -> None:
    service = opened.connect()
    made = await service.create(draft(), None, MemoryJournal())
    for number in range(3):
        await service.update(made, Patch(fields={"title": f"T{number}"}, rights=Rights(groups=frozenset())))
    assert service.calls[facts.ASSET] == 2
