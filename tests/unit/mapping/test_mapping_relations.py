"""What kinds of relation are called in the target: checked, written, suggested, and reported where there is none."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from dam_sync.mapping.suggest import suggest
from dam_sync.model.asset import Asset, AssetId, Loss, Relation, Revision
from dam_sync.model.errors import MappingError
from dam_sync.model.schema import Schema
from tests.support.mapping.tenant_schemas import LEAST, SOURCE, TARGET, able, compiled

ABLE = replace(
    TARGET,
    capabilities=able(*TARGET.capabilities.parts, "relations"),
    relation_kinds=frozenset({"derivative", "placed in"}),
)
BLOCK = LEAST + "relations: {kinds: {Views: derivative}}\n"
OTHER = AssetId("8")


def related(*kinds: str) -> Asset:
    relations = frozenset(Relation(kind, OTHER) for kind in kinds)
    return Asset(AssetId("7"), Revision("1"), filename="a.jpg", relations=relations)


def losses(folder: Path, text: str, *kinds: str) -> list[Loss]:
    told = compiled(folder, text, target=ABLE).draft(related(*kinds), "m", {}).losses
    return [loss for loss in told if loss.path.startswith("relations")]


def test_a_kind_is_called_as_in_the_target_and_is_no_loss(tmp_path: Path) -> None:
    crosswalk = compiled(tmp_path, BLOCK, target=ABLE)
    assert crosswalk.related(related("Views", "placed in", "Other")) == related("derivative", "placed in", "Other")
    assert losses(tmp_path, BLOCK, "Views", "placed in") == []


def test_a_kind_that_the_target_lacks_is_reported_by_its_own_name(tmp_path: Path) -> None:
    assert [loss.path for loss in losses(tmp_path, LEAST, "Views")] == ["relations.Views"]
    assert [loss.path for loss in losses(tmp_path, BLOCK, "Views", "Other")] == ["relations.Other"]


@pytest.mark.parametrize(
    ("target", "told"),
    [
        (replace(ABLE, relation_kinds=frozenset({"derivatives"})), "no kind of relation derivative"),
        (TARGET, "cannot store relations"),
    ],
)
def test_what_the_target_lacks_is_a_diagnostic_with_its_line(tmp_path: Path, target: Schema, told: str) -> None:
    with pytest.raises(MappingError) as caught:
        compiled(tmp_path, BLOCK, target=target)
    (fault,) = caught.value.diagnostics
    assert told in fault.message
    assert fault.line == BLOCK.count("\n")
    assert fault.hint


def test_any_kind_will_do_where_the_target_takes_any(tmp_path: Path) -> None:
    free = replace(ABLE, relation_kinds=None)
    assert compiled(tmp_path, BLOCK, target=free).related(related("Views")) == related("derivative")


def test_the_digest_follows_the_kinds(tmp_path: Path) -> None:
    assert compiled(tmp_path, BLOCK, target=ABLE).digest != compiled(tmp_path, LEAST, target=ABLE).digest


def test_kinds_of_one_name_are_suggested_and_the_others_noted(tmp_path: Path) -> None:
    source = replace(SOURCE, relation_kinds=frozenset({"Placed-In", "Views", "derivative"}))
    made = suggest(source, ABLE)
    assert made.relations == {"Placed-In": "placed in"}
    (note,) = [note for note in made.notes if "relations of kind" in note]
    assert "Views" in note
    assert "derivative, placed in" in note
    crosswalk = compiled(tmp_path, made.text(), source=source, target=ABLE)
    assert crosswalk.related(related("Placed-In")) == related("placed in")


def test_nothing_is_suggested_where_kinds_agree_or_relations_cannot_be_stored() -> None:
    for target in (replace(ABLE, relation_kinds=None), TARGET, ABLE):
        made = suggest(replace(SOURCE, relation_kinds=frozenset({"derivative"})), target)
        assert made.relations == {}
        assert not [note for note in made.notes if "relations of kind" in note]
