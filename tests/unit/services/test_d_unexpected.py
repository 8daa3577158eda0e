"""Responses of service D of another shape than expected: one asset is set aside or a loss is named, never silently."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from dam_sync.model.asset import AssetId, FileRef, Loss
from dam_sync.model.errors import ContractBroken, DamSyncError, Disposition, Rejected
from tests.support.services import scripted_d as d
from tests.support.services.scripted_d import Opened, scripted

TOKEN = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.c2lnbmF0dXJlLW9mLXRoZS10b2tlbg"


@pytest.fixture
async def opened() -> AsyncIterator[Opened]:
    async with scripted() as one:
        yield one


@pytest.mark.parametrize(
    "link",
    [
        "http://cdn.example/x.jpg",
        "ftp://cdn.example/x.jpg",
        "javascript:alert(1)",
        "//cdn.example/x.jpg",
        "/v1/user",
        "https://",
        "https://[::1",
        "https://user:secret@cdn.example/x.jpg",
        "https://cdn.example/x y\x00.jpg",
    ],
)
async def test_a_bad_link_of_one_asset_is_its_own_trouble(
    opened: Opened, monkeypatch: pytest.MonkeyPatch, link: str
) -> None:
    identity = opened.script.add()
    family = opened.script.records[identity]["originalFileId"]
    monkeypatch.setattr(opened.script, "_content", lambda one: d.said({"presignedURL": link}))
    with pytest.raises(DamSyncError) as caught:
        await opened.connect().open(FileRef(f"{family}/{identity}", "a.jpg"))
    assert caught.value.disposition is Disposition.PARK
    assert caught.value.asset == family
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("more", "loss"),
    [
        (["text"], Loss("fields", "is not an attribute and was not read", "text")),
        ([7], Loss("fields", "is not an attribute and was not read", "7")),
        ({"title": "One"}, Loss("fields", "is not an attribute and was not read", "{'title': 'One'}")),
    ],
    ids=["text", "number", "object"],
)
async def test_metadata_that_is_no_attribute_is_a_named_loss(opened: Opened, more: Any, loss: Loss) -> None:
    known = {"metadataDefinitionId": d.TITLE, "metadataDefinitionValue": "One"}
    identity = opened.script.add(metadata=more if isinstance(more, dict) else [known, *more])
    found = await opened.connect().fetch(AssetId(opened.script.records[identity]["fileId"]))
    assert loss in found.losses
    assert found.fields == ({} if isinstance(more, dict) else {"title": "One"})


async def test_a_cell_that_is_no_attribute_is_a_named_loss(opened: Opened) -> None:
    table = {"metadataDefinitionId": d.TABLE, "metadataDefinitionTableValue": [["text"]]}
    identity = opened.script.add(metadata=[table])
    found = await opened.connect().fetch(AssetId(opened.script.records[identity]["fileId"]))
    assert found.losses == (Loss("fields.usage", "no metadata template has this column", '"text"'),)


async def test_the_words_of_a_refusal_hold_no_secret(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    text = f"not found: https://cdn.example/a?X-Amz-Signature=0123456789abcdef with Bearer {TOKEN}"
    monkeypatch.setattr(opened.script, "_versions", lambda one: d.said({"message": text}, 403))
    monkeypatch.setattr(opened.script, "_asset", lambda one: d.said({"message": f"no right {text}"}, 403))
    with pytest.raises(Rejected) as caught:
        await opened.connect().fetch(AssetId("file-0001"))
    assert "0123456789abcdef" not in str(caught.value)
    assert TOKEN not in str(caught.value)


async def test_a_metadata_template_of_an_undocumented_type_breaks_the_contract(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = {"template": {"templateId": "template-1", "templateName": "Photo", "templateType": 7}}
    monkeypatch.setattr(opened.script, "_templates", lambda: d.said([row]))
    with pytest.raises(ContractBroken, match="int"):
        await opened.connect().schema()
