"""Names of millions of characters: cut where they become a part of our model, with a named loss."""

from __future__ import annotations

import tracemalloc

import pytest

from dam_sync.mapping.vocabulary import path_of
from dam_sync.model.asset import Asset, AssetId, FileRef, Placement, Revision, Rights
from dam_sync.model.bounded_names import CUT, LONGEST_ID, LONGEST_NAME, bounded, bounded_filename, is_cut
from dam_sync.model.errors import InvalidValue
from dam_sync.model.joined_names import joined, parted
from dam_sync.model.limits import MIB
from dam_sync.model.mistyped import damage_named
from dam_sync.model.values import Term, Value

LONG = "x" * (LONGEST_NAME + 1)
FEW = 5 * MIB


def asset(name: str) -> Asset:
    """An asset that has the name everywhere."""
    values: dict[str, Value] = {"subject": (Term(name, path=("a", name)),), "note": name}
    return Asset(
        AssetId("1"),
        Revision("r"),
        f"{name}.jpg",
        fields=values,
        versions=(FileRef("1", f"{name}.jpg"),),
        placements=frozenset({Placement("folder", ("top", name))}),
        tags=frozenset({name}),
        rights=Rights(groups=frozenset({name})),
    )


def test_names_up_to_the_bound_are_left_alone() -> None:
    name = LONG[:LONGEST_NAME]
    assert bounded(name) is name
    assert not is_cut(name)
    assert damage_named(asset(name[:-4])).losses == ()


def test_a_longer_name_is_cut_everywhere_and_each_place_is_named() -> None:
    made = damage_named(asset(LONG))
    names = {*made.tags, *made.rights.groups, *(place.path[1] for place in made.placements)}
    assert names == {bounded(LONG)}
    assert (len(bounded(LONG)), is_cut(bounded(LONG))) == (LONGEST_NAME, True)
    assert made.fields["subject"] == (Term(bounded(LONG), path=("a", bounded(LONG))),)
    assert made.fields["note"] == LONG  # a text, not a name
    assert made.filename == made.versions[0].name == bounded_filename(f"{LONG}.jpg")
    assert made.filename.endswith(".jpg")
    assert [loss.path for loss in made.losses] == ["filename", "tags", "placements", "rights", "fields.subject"]
    assert {loss.rule for loss in made.losses} == {CUT}
    assert all(len(loss.detail) < 100 for loss in made.losses)


def test_different_names_stay_different_and_the_same_one_is_cut_in_the_same_way() -> None:
    assert bounded(f"{LONG}1") != bounded(f"{LONG}2")
    assert bounded(bounded(LONG)) == bounded(LONG) == bounded("x" * len(LONG))
    assert is_cut(bounded("\ud800" * 3000))


def test_an_asset_with_an_endless_id_is_parked() -> None:
    made = Asset(AssetId("1" * (LONGEST_ID + 1)), Revision("r"))
    with pytest.raises(InvalidValue, match="characters") as caught:
        damage_named(made)
    assert len(caught.value.asset) < 100


def test_a_name_of_ten_megabytes_costs_little_more_than_its_size() -> None:
    """A list of its characters would cost 80 MB and more, for every draft."""
    name = "a\\/" * (10 * MIB // 3)
    tracemalloc.start()
    try:
        for number in range(3):
            place, term = Placement("folder", ("top", name)), Term(name, path=("top", name))
            fields: dict[str, Value] = {"subject": term}
            placements, tags = frozenset({place}), frozenset({name})
            made = Asset(AssetId(str(number)), Revision("r"), fields=fields, placements=placements, tags=tags)
            assert path_of(place.text) == place.path
            assert len(damage_named(made).losses) == 3
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < FEW


def test_a_joined_name_is_taken_apart_without_a_list_of_its_characters() -> None:
    name = "x" * MIB + "\\"
    tracemalloc.start()
    try:
        assert parted(joined((name, name), ";"), ";") == [name, name]
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 10 * MIB
