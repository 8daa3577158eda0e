"""The size of a file as a response says it: a number that no file can have counts as none."""

from __future__ import annotations

import pytest

from dam_sync.model.asset import AssetId
from dam_sync.model.mistyped import size_of_file
from dam_sync.model.values import Json
from dam_sync.services.a_hypermedia.codec.wire import revision_of
from dam_sync.services.b_documents.codec.wire import size_of
from dam_sync.services.e_profiles.codec.wire import file_of

IMPOSSIBLE = (1.5e308, 10**30, -7, float("inf"), float("nan"), True, "many", [], {})


@pytest.mark.parametrize(("raw", "size"), [(None, None), (0, 0), (7, 7), ("7", 7), (7.0, 7), (2**63 - 1, 2**63 - 1)])
def test_a_size_is_a_whole_number_also_as_text(raw: Json, size: int | None) -> None:
    assert size_of_file(raw) == size


@pytest.mark.parametrize("raw", IMPOSSIBLE)
def test_an_impossible_one_is_none(raw: Json) -> None:
    assert size_of_file(raw) is None
    assert size_of({"length": raw}) is None
    assert str(revision_of({"fileSize": raw})) == "~"
    item = {"id": "1", "version": 1, "filename": "sea.jpg", "file_properties": {"size_in_bytes": raw}}
    assert file_of(item, AssetId("1")).size is None
