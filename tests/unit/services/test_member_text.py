"""Names and ids in responses are text, or the response is refused."""

from __future__ import annotations

from typing import Any

import pytest

from dam_sync.http.interpreting import member_text
from dam_sync.model.errors import ContractBroken
from dam_sync.services.a_hypermedia.codec import wire as a_wire
from dam_sync.services.c_brandlibrary.codec.envelope import document_of


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ({"title": "Press"}, "Press"),
        ({"title": 2024}, "2024"),
        ({"title": ""}, "Fallback"),
        ({"title": None}, "Fallback"),
        ({}, "Fallback"),
    ],
)
def test_the_first_member_that_is_not_empty_counts(data: dict[str, Any], text: str) -> None:
    assert member_text({**data, "name": "Fallback"}, "title", "name") == text


@pytest.mark.parametrize("value", [True, False, ["Press"], [], {"x": 1}])
def test_what_is_not_text_never_becomes_a_name(value: object) -> None:
    with pytest.raises(ContractBroken, match="title is"):
        member_text({"title": value, "name": "Fallback"}, "title", "name")


@pytest.mark.parametrize(
    ("count", "read"), [(None, False), (0, False), ("1", True), (3, True), ("x", True), ([], True)]
)
def test_a_count_that_cannot_be_read_has_the_list_read(count: object, read: bool) -> None:
    assert (a_wire.relation_count({"mediaLinkCount": count}) > 0) is read
    assert (a_wire.attachment_count({"attachmentCounts": {"online": count}}) > 0) is read


@pytest.mark.parametrize("identity", [["1"], {"x": 1}, True, None, ""])
def test_a_resource_has_an_id_that_is_text(identity: object) -> None:
    with pytest.raises(ContractBroken, match="ids"):
        document_of({"data": {"id": identity, "type": "assets", "attributes": {}}}, "GET /assets/{id}")
