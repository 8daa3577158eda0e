"""Names beyond a bound that no service reaches are left out by name, or park the asset; none is shortened."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dam_sync.model.asset import Asset, AssetId, FileRef, Placement, Relation, Revision, Rights
from dam_sync.model.errors import InvalidValue
from dam_sync.model.mistyped import damage_named
from dam_sync.model.name_bounds import LONGEST_NAME, MOST_NAMES, TOO_LONG, TOO_MANY, within_bounds
from dam_sync.model.values import Localized, Term

LONG = "x" * (LONGEST_NAME + 1)
FINE = "y" * LONGEST_NAME
PLAIN = Asset(AssetId("1"), Revision("r"), "a.jpg", fields={"title": "Sea"}, tags=frozenset({"sea"}))


def test_names_up_to_the_bound_pass_unchanged() -> None:
    place = Placement("folder", ("y" * (LONGEST_NAME - 3), "b"))
    fine = replace(
        PLAIN, fields={FINE: (Term(FINE, path=(FINE[1:],)), "text" * LONGEST_NAME)}, tags=frozenset({FINE}),
        placements=frozenset({place}),
    )  # fmt: skip
    assert damage_named(fine) is fine


@pytest.mark.parametrize(
    ("part", "path"),
    [
        ({"tags": frozenset({"sea", LONG})}, "tags"),
        ({"placements": frozenset({Placement("folder", ("a", LONG))})}, "placements"),
        ({"placements": frozenset({Placement("folder", ("ab",) * LONGEST_NAME)})}, "placements"),
        ({"fields": {"title": "Sea", "subject": Term(LONG)}}, "fields.subject"),
        ({"fields": {"title": "Sea", "subject": (Term("sea"), Term("sea", id=LONG))}}, "fields.subject"),
        ({"fields": {"title": "Sea", LONG: "text"}}, "fields"),
        ({"relations": frozenset({Relation(LONG, AssetId("2"))})}, "relations"),
    ],
)
def test_a_name_beyond_the_bound_is_left_out_with_a_named_loss(part: dict[str, object], path: str) -> None:
    found = within_bounds(replace(PLAIN, **part))  # type: ignore[arg-type]
    assert [(loss.path, loss.rule) for loss in found.losses] == [(path, TOO_LONG)]
    assert len(found.losses[0].detail) < 100
    assert found.tags == {"sea"}
    assert found.fields["title"] == "Sea"
    assert not found.placements
    assert not found.relations
    assert found.fields.get("subject") in (None, (Term("sea"),))


def test_more_names_than_any_service_takes_are_left_out_with_a_named_loss() -> None:
    many = frozenset(map(str, range(MOST_NAMES + 1)))
    found = within_bounds(replace(PLAIN, tags=many))
    assert not found.tags
    assert [(loss.path, loss.rule, loss.detail) for loss in found.losses] == [("tags", TOO_MANY, "100,001")]


@pytest.mark.parametrize(
    "part",
    [
        {"id": AssetId(LONG)},
        {"filename": LONG},
        {"versions": (FileRef("f", LONG),)},
        {"rights": Rights(groups=frozenset({LONG}))},
    ],
)
def test_an_asset_that_would_be_another_one_without_the_name_is_parked(part: dict[str, object]) -> None:
    with pytest.raises(InvalidValue, match="100,001 characters") as refused:
        damage_named(replace(PLAIN, **part))  # type: ignore[arg-type]
    assert refused.value.hint
    assert len(str(refused.value)) < 500


def test_texts_are_no_names() -> None:
    text = "x" * (4 * LONGEST_NAME)
    plain = replace(PLAIN, fields={"text": text, "texts": Localized({"en": text})})
    assert damage_named(plain) is plain
