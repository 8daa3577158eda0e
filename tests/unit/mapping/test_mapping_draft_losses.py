"""Drafts: profiles, losses and groups."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from dam_sync.mapping.value_text import LONGEST_LOST
from dam_sync.model.asset import AssetId, FileRef, Loss, Placement, Relation, Rights
from dam_sync.model.exposure import Decided
from dam_sync.model.loss_rules import LossRule
from dam_sync.model.values import Person, Term
from tests.support.mapping.drafts import NOON, asset, draft, line, tally_of
from tests.support.mapping.tenant_schemas import LEAST, TARGET, able, compiled, with_lines


def test_a_profile_by_cases(tmp_path: Path) -> None:
    cases = "profile: {from: form_type, cases: {PICTURE: images, VIDEO: documents}}\n"
    text = LEAST.replace("profile: {default: images}\n", cases)
    assert draft(tmp_path, text, asset()).draft.profile == "images"
    (fault,) = draft(tmp_path, text, replace(asset(), form_type="AUDIO")).rejections
    assert (fault.path, fault.rule) == ("profile", "cases")
    with_default = text.replace("documents}}", "documents}, default: documents}")
    for form_type in ("AUDIO", ""):
        drafted = draft(tmp_path, with_default, replace(asset(), form_type=form_type))
        assert drafted.draft.profile == "documents"
        assert drafted.losses == ()


def test_a_field_outside_the_type_of_the_profile_is_left_out_and_reported(tmp_path: Path) -> None:
    text = with_lines("pages: {from: fields.height_cm}")
    cases = "profile: {from: form_type, cases: {DOCUMENT: documents}, default: images}"
    text = text.replace("profile: {default: images}", cases)
    as_image = draft(tmp_path, text, asset(height_cm=3))
    assert "pages" not in as_image.draft.fields
    assert as_image.losses == (Loss("fields.height_cm", "not in this type", "3 (pages is not in Images)"),)
    as_document = draft(tmp_path, text, replace(asset(height_cm=3), form_type="DOCUMENT"))
    assert as_document.draft.fields["pages"] == 3
    assert as_document.losses == ()


def test_a_creation_date_that_no_field_rule_carries_is_a_named_loss(tmp_path: Path) -> None:
    dated = replace(asset(), created_at=NOON)
    (told,) = draft(tmp_path, LEAST, dated).losses
    assert told == Loss("created_at", "target cannot hold", str(NOON))
    held = replace(TARGET, capabilities=able(*TARGET.capabilities.parts, "created"))
    (told,) = draft(tmp_path, LEAST, dated, held).losses
    assert told == Loss("created_at", "not mapped", str(NOON))
    assert draft(tmp_path, with_lines("note: {from: created_at, pipe: [text]}"), dated).losses == ()
    assert draft(tmp_path, f"{LEAST}ignore: [created_at]\n", dated).losses == ()


def test_a_creation_date_that_is_also_a_field_is_accounted_for_once(tmp_path: Path) -> None:
    dated = replace(asset(taken_at=NOON), created_at=NOON)
    assert [loss.path for loss in draft(tmp_path, LEAST.replace("ignore", "report"), dated).losses] == [
        "fields.taken_at"
    ]


FULL = replace(
    asset(),
    status="archived",
    substatus="Internal",
    tags=frozenset(("a", "b")),
    machine_tags=frozenset(("m",)),
    placements=frozenset((Placement("folder", ("Press",)), Placement("label", ("Top",)))),
    rights=Rights(NOON, NOON, frozenset(("staff",))),
    versions=(FileRef("1", "a.jpg"), FileRef("2", "b.jpg")),
    attachments=(FileRef("3", "plan.pdf"),),
    relations=frozenset((Relation("Views", AssetId("8")),)),
)


def test_everything_that_nobody_carries_has_a_name(tmp_path: Path) -> None:
    losses = {(loss.path, loss.rule) for loss in draft(tmp_path, LEAST, FULL).losses}
    assert losses == {
        ("status", "target cannot hold"),
        ("substatus", "not mapped"),
        ("tags", "not mapped"),
        ("machine_tags", "not mapped"),
        ("placements", "not mapped"),
        ("labels", "not mapped"),
        ("release", "not mapped"),
        ("expiry", "not mapped"),
        ("groups", "not mapped"),
        ("versions", "target cannot hold"),
        ("attachments", "target cannot hold"),
        ("relations", "target cannot hold"),
    }


def test_what_is_lost_is_named_with_its_value(tmp_path: Path) -> None:
    """In every place where something is left behind: no reader looks an asset up to learn what it loses."""
    text = with_lines('note: {from: "fields.photographer[]", pipe: [first]}').replace("ignore\n", "report\n")
    given = replace(FULL, fields={"photographer": ("Ann", "Bob", "Cy"), "inventory": "A1", "keywords": (Term("Sea"),)})
    found = {loss.path: loss.detail for loss in draft(tmp_path, text, given).losses}
    assert found == {
        "fields.photographer[]": "Bob; Cy (2 more values)",
        "fields.inventory": "A1",
        "fields.keywords": "Sea",
        "status": "archived",
        "substatus": "Internal",
        "tags": "a; b",
        "machine_tags": "m",
        "placements": "/Press",
        "labels": "Top",
        "groups": "staff",
        "release": str(NOON),
        "expiry": str(NOON),
        "versions": "1 older",
        "attachments": "plan.pdf",
        "relations": "Views",
    }


def test_of_values_that_are_carried_in_part_the_others_are_named(tmp_path: Path) -> None:
    """Which of them is known by its position, also after an empty one."""
    people = (Person("Ann", "1"), Person(""), Person("Bob"), Person("Cy", "3"), Person("Di"))
    drafted = line(tmp_path, 'note: {from: "fields.people[].id", pipe: [{join: ","}]}', asset(people=people))
    assert drafted.draft.fields["note"] == "1,3"
    (told,) = (loss for loss in drafted.losses if "Bob" in loss.detail)
    assert told.detail == "Bob; Di (it lacks the part that is read)"


def test_long_and_many_values_are_shortened(tmp_path: Path) -> None:
    text = LEAST.replace("unmapped: ignore", "unmapped: report")
    given = asset(inventory="x" * 9999, photographer=tuple(f"Ann {n}" for n in range(30)))
    found = {loss.path: loss.detail for loss in draft(tmp_path, text, given).losses}
    assert len(found["fields.inventory"]) == LONGEST_LOST
    assert found["fields.inventory"].endswith("x…")
    assert found["fields.photographer"].startswith("Ann 0; Ann 1; ")
    assert found["fields.photographer"].endswith("; 20 more")


def test_what_target_and_field_rules_carry_is_no_loss(tmp_path: Path) -> None:
    held = replace(
        TARGET,
        capabilities=able(*TARGET.capabilities.parts, "status", "versions", "attachments", "relations"),
        container_kinds=frozenset({"category", "label"}),
        labels=frozenset({"Top"}),
        groups=None,
    )
    text = with_lines("note: {from: substatus}", 'description: {from: "machine_tags[]", pipe: [{join: " "}]}')
    text += """\
asset: {status: {from: status}}
tags: {from: "tags[]"}
placements:
  - {from: "placements[].path", as: category}
  - {from: "labels[]", as: label}
security: {groups: {from: "groups[]"}, release: {from: release_at}, expiry: {from: expires_at}}
"""
    drafted = draft(tmp_path, text, FULL, held)
    assert drafted.losses == drafted.rejections == ()
    assert drafted.draft.status == "archived"
    assert drafted.draft.placements == {Placement("category", ("Press",)), Placement("label", ("Top",))}
    assert drafted.draft.rights == FULL.rights


@pytest.mark.parametrize(
    ("line", "decided"),
    [
        ('{from: "groups[]"}', Decided(groups=True)),
        ('{from: "groups[]", pipe: [{const: insiders}]}', Decided(groups=True)),
        ('{from: "placements[].path"}', Decided(containers=True)),
        ("{const: [public]}", Decided()),
        ('{from: "tags[]", default: public}', Decided()),
        ('{from: "groups[]", pipe: [{split: staff}, {default: public}], on_error: drop}', Decided()),
    ],
)
def test_what_the_groups_of_a_draft_were_made_of(tmp_path: Path, line: str, decided: Decided) -> None:
    held = replace(TARGET, groups=None)
    whole = replace(FULL, rights=Rights(groups=frozenset({"staff"})))
    drafted = draft(tmp_path, LEAST + f"security: {{groups: {line}}}\n", whole, held)
    assert drafted.decided == decided
    assert draft(tmp_path, LEAST + f"security: {{groups: {line}}}\n", asset(), held).decided == Decided()


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('security: {groups: {from: "groups[]"}}\n', "security.groups"),
        ('placements: [{from: "labels[]", as: label}]\n', "placements[0]"),
        ("asset: {status: {from: substatus}}\n", "asset.status"),
    ],
)
def test_names_that_the_target_does_not_know_park(tmp_path: Path, text: str, place: str) -> None:
    held = replace(
        TARGET,
        capabilities=able(*TARGET.capabilities.parts, "status"),
        container_kinds=frozenset({"label"}),
        labels=frozenset({"Other"}),
        groups=frozenset({"public"}),
    )
    (fault,) = draft(tmp_path, LEAST + text, FULL, held).rejections
    assert (fault.path, fault.rule) == (place, "not in the list")


def test_the_file_name_is_the_assets_own_where_no_field_rule_makes_one(tmp_path: Path) -> None:
    assert draft(tmp_path, LEAST, asset()).draft.filename == "a.jpg"
    nameless = replace(asset(), filename="", versions=(FileRef("1", "b.jpg"),))
    assert draft(tmp_path, LEAST.replace("filename}", "id}"), nameless).draft.filename == "b.jpg"


def test_what_a_selection_takes(tmp_path: Path) -> None:
    crosswalk = compiled(tmp_path, LEAST + 'select: {status: [published], containers: ["/Press"]}\n')
    inside = replace(asset(), status="published", placements=frozenset((Placement("folder", ("Press", "2024")),)))
    assert crosswalk.selects(inside)
    assert not crosswalk.selects(replace(inside, status="draft"))
    assert not crosswalk.selects(replace(inside, placements=frozenset((Placement("folder", ("Pressing",)),))))
    assert compiled(tmp_path, LEAST).selects(asset())


def test_tags_that_a_target_takes_for_one_are_a_named_loss(tmp_path: Path) -> None:
    held = replace(asset(), tags=frozenset({"Wheel", "wheel", "rim"}))
    text = LEAST + 'tags: {from: "tags[]", pipe: [trim, unique]}\n'
    assert draft(tmp_path, text, held).draft.tags == held.tags
    drafted = draft(tmp_path, text, held, replace(TARGET, folds_tags=True))
    assert drafted.draft.tags == {"Wheel", "rim"}
    (loss,) = [each for each in drafted.losses if each.path == "tags[]"]
    assert (loss.rule, "wheel" in loss.detail) == (LossRule.FOLDED, True)
    assert (tally_of(drafted)["tags[]", "written"], tally_of(drafted)["tags[]", "dropped"]) == (2, 1)
    assert not drafted.rejections


def test_very_many_values_take_time_by_their_number(tmp_path: Path) -> None:
    """Tags are whatever users of the source wrote; with a square of their number this would take hours."""
    tags = frozenset(f"t{number}" for number in range(100_000))
    drafted = draft(tmp_path, LEAST + 'tags: {from: "tags[]", pipe: [trim, unique]}\n', replace(asset(), tags=tags))
    assert drafted.draft.tags == tags
    assert tally_of(drafted)["tags[]", "written"] == 100_000
