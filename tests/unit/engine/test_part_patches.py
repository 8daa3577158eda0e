"""What follows from the kind of a part, for parts that no asset has yet."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from dam_sync.engine.compare.parts import PARTS, AssetPart, PartKind, part_of
from dam_sync.engine.decide.part_patches import KINDS, PATCHED, NamesPatch, ValuePatch, patch_of
from dam_sync.model.asset import Draft, Patch

FIRST = AssetPart("motto", PartKind.VALUE)
LATER = AssetPart("motto", PartKind.VALUE, later=True)
SILENT = AssetPart("motto", PartKind.VALUE, silent=True)
WORDS = AssetPart("words", PartKind.NAMES, later=True)


def one(**values: Any) -> Any:
    """A draft or a patch with such a part."""
    return SimpleNamespace(**values)


def test_every_part_of_a_draft_is_walked_in_the_order_of_the_ledger() -> None:
    assert [each.part for each in PATCHED] == [*PARTS]
    assert {part.kind for part in PARTS} == {*KINDS}
    attributes = [name for each in PATCHED for name in each.attributes if each.part.kind is not PartKind.CREATION]
    assert sorted(attributes) == sorted(Patch.__dataclass_fields__)
    assert {each.name for each in PATCHED} == {*Draft.__dataclass_fields__} - {"marker"}


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("fields.title", "fields"),
        ("fields.a.b", "fields"),
        ("placements.folder", "placements"),
        ("placements", "placements"),
        ("filename", "filename"),
        ("trash", ""),
        ("release", ""),
    ],
)
def test_a_path_belongs_to_one_part(path: str, name: str) -> None:
    found = part_of(path)
    assert (found.name if found is not None else "") == name


def test_a_part_of_a_later_release_leaves_digests_and_drafts_of_earlier_ones_as_they_are() -> None:
    untouched, cleared = one(motto=None), one(motto="")
    assert ValuePatch(FIRST).digested(untouched) == {"motto": None}
    assert ValuePatch(LATER).digested(untouched) == {}
    assert ValuePatch(LATER).digested(cleared) == {"motto": ""}
    assert NamesPatch(WORDS).digested(one(words_add=frozenset(), words_remove=frozenset())) == {}
    draft = {"motto": "Onward"}
    ValuePatch(LATER).apply(draft, "motto", None, "Onward")
    assert draft == {}


@pytest.mark.parametrize(("part", "cleared"), [(FIRST, {"motto": ""}), (SILENT, {})])
def test_an_empty_text_clears_a_part_unless_it_says_nothing(part: AssetPart, cleared: dict[str, str]) -> None:
    patched = patch_of(part)
    assert patched.between({"motto": "Onward"}, one(motto=""), whole=False) == cleared
    assert patched.between({}, one(motto=""), whole=False) == {}
    assert patched.between({"motto": "Onward"}, one(motto="Onward"), whole=True) == {"motto": "Onward"}
    assert patched.overlaid(one(motto="Onward"), {"motto": None}) == ({"motto": ""} if cleared else {"motto": "Onward"})
