"""What a target needs of each asset is asked for before anything moves."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from dam_sync.mapping.suggest import suggest
from dam_sync.model.asset import Asset, AssetId, Loss, Revision
from dam_sync.model.errors import MappingError
from dam_sync.model.schema import Schema
from tests.support.mapping.tenant_schemas import LEAST, SOURCE, TARGET, able, compiled

GROUPS = replace(TARGET, needs=frozenset({"groups"}))
PROFILE = replace(TARGET, needs=frozenset({"profile"}))
ONE = replace(GROUPS, groups=frozenset({"staff"}))


def security(line: str) -> str:
    return f"{LEAST}security:\n  groups: {line}\n"


def faults(folder: Path, text: str, target: Schema) -> str:
    with pytest.raises(MappingError) as caught:
        compiled(folder, text, SOURCE, target)
    return str(caught.value)


@pytest.mark.parametrize("text", [LEAST, security('{from: "groups[]", on_error: drop}')])
def test_a_target_that_needs_a_group_is_not_left_without(tmp_path: Path, text: str) -> None:
    told = faults(tmp_path, text, GROUPS)
    assert "the target needs a group for each asset: public, staff" in told
    assert "default" in told


@pytest.mark.parametrize(
    "line",
    ['{from: "groups[]", default: staff}', "{const: staff}", '{from: "groups[]", required: true}'],
    ids=["default", "const", "required"],
)
def test_a_field_rule_that_always_has_a_value_or_parks_is_enough(tmp_path: Path, line: str) -> None:
    compiled(tmp_path, security(line), SOURCE, GROUPS)


def test_the_only_group_there_is_needs_no_field_rule(tmp_path: Path) -> None:
    compiled(tmp_path, LEAST, SOURCE, ONE)


def test_a_target_that_needs_a_profile_is_not_left_without(tmp_path: Path) -> None:
    text = LEAST.replace("profile: {default: images}\n", "")
    told = faults(tmp_path, text, PROFILE)
    assert "the target needs a profile for each asset: documents, images" in told
    assert "write profile: {default: documents}" in told
    compiled(tmp_path, LEAST, SOURCE, PROFILE)


def test_a_suggestion_names_a_group_and_says_when_people_have_to_choose_it(tmp_path: Path) -> None:
    (line,) = [one for one in suggest(SOURCE, ONE).lines if one.target == "groups"]
    assert line.more == {"on_error": "drop", "default": "staff"}
    compiled(tmp_path, suggest(SOURCE, ONE).text(), SOURCE, ONE)
    found = suggest(SOURCE, GROUPS)
    assert any("the target needs a group for each asset" in note and "public, staff" in note for note in found.notes)
    (line,) = [one for one in found.lines if one.target == "groups"]
    assert line.more == {"on_error": "drop", "default": "staff"}, "the one whose name promises the fewest people"
    assert line.score < 0.5, "so that `check` asks for a person"
    assert "public, staff" in line.why
    compiled(tmp_path, found.text(), SOURCE, GROUPS)


def test_without_a_visible_group_assets_without_one_are_parked(tmp_path: Path) -> None:
    none = replace(GROUPS, groups=frozenset())
    found = suggest(SOURCE, none)
    (line,) = [one for one in found.lines if one.target == "groups"]
    assert (line.more, line.score) == ({"on_error": "drop", "required": True}, 0.4)
    compiled(tmp_path, found.text(), SOURCE, none)


STATES = replace(
    TARGET, capabilities=able(*TARGET.capabilities.parts, "status"), held_by={"status": frozenset({"Images"})}
)
BY_TYPE = """\
version: 1
profile: {from: type, cases: {Picture: images}, default: documents}
asset:
  status: {from: status}
unmapped: ignore
fields:
  srckey: {marker: true}
  title: {from: filename}
"""


@pytest.mark.parametrize(("kind", "status"), [("Picture", "published"), ("Document", "")])
def test_what_a_type_does_not_hold_is_a_loss_and_parks_nothing(tmp_path: Path, kind: str, status: str) -> None:
    crosswalk = compiled(tmp_path, BY_TYPE, SOURCE, STATES)
    asset = Asset(AssetId("1"), Revision("1"), "a.jpg", "published", type=kind)
    drafted = crosswalk.draft(asset, "mark", {})
    assert not drafted.rejections
    assert drafted.draft.status == status
    losses = [loss for loss in drafted.losses if loss.path == "status"]
    assert losses == ([] if status else [Loss("status", "not in this type", "published (Documents holds no status)")])


def test_tags_that_a_type_does_not_hold_are_a_loss(tmp_path: Path) -> None:
    target = replace(TARGET, held_by={"tags": frozenset({"Images"})})
    text = BY_TYPE.replace("asset:\n  status: {from: status}\n", 'tags: {from: "tags[]"}\n')
    asset = Asset(AssetId("1"), Revision("1"), "a.pdf", type="Document", tags=frozenset({"sea", "wood"}))
    drafted = compiled(tmp_path, text, SOURCE, target).draft(asset, "mark", {})
    assert drafted.draft.tags == frozenset()
    assert [loss for loss in drafted.losses if loss.path == "tags"] == [
        Loss("tags", "not in this type", "sea; wood (Documents holds no tags)")
    ]


def test_groups_are_dropped_where_the_target_does_not_list_its_own() -> None:
    (line,) = [one for one in suggest(SOURCE, replace(TARGET, groups=None)).lines if one.target == "groups"]
    assert line.more == {"on_error": "drop"}
