"""The stored spelling of journal entries: a state file of an earlier version is resumed by it."""

from __future__ import annotations

import pytest

from dam_sync.model import journal_names as names

STORED = {
    names.CREATE: "create",
    names.HIDE: "hide",
    names.PARTIAL_CREATE: "note: half made",
    names.silent("draft 1"): "note: draft 1",
    names.inside(names.CREATE): "in create: ",
    names.inside(names.version("k", 7)): "in version:k@7: ",
    names.version("k"): "version:k",
    names.attachment("k"): "attach:k",
    names.attachment("k", 7): "attach:k@7",
    names.update(2): "update:2",
    names.repair(7): "repair:7",
}


@pytest.mark.parametrize(("name", "stored"), STORED.items())
def test_names_keep_their_spelling(name: str, stored: str) -> None:
    assert name == stored


def test_what_a_name_says_of_its_entry() -> None:
    assert names.is_silent(names.PARTIAL_CREATE)
    assert names.is_silent(names.inside(names.CREATE) + names.silent("sent 1"))
    assert names.is_inner(names.inside(names.CREATE) + "file")
    assert names.is_repair(names.repair(7))
    assert not any(is_one(names.CREATE) for is_one in (names.is_silent, names.is_inner, names.is_repair))
    assert [names.kind_of(name) for name in ("create", "version:k", "place:folder:A")] == ["create", "version", "place"]
