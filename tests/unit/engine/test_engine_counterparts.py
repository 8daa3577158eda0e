"""What stands for terms and containers of the source: remembered, stored, and the names in what was written."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dam_sync.engine.context.counterparts import Counterparts
from dam_sync.engine.names.recalled_terms import unmixed
from dam_sync.mapping.vocabulary import recall_key
from dam_sync.model.asset import Asset, AssetId, Placement, Revision
from dam_sync.model.clock import SystemClock
from dam_sync.model.counterpart import CONTAINER, TERM, Counterpart
from dam_sync.model.schema import Field, FieldKind, Schema
from dam_sync.model.values import Term
from dam_sync.store.store import SqlStore
from tests.support.state.shared_engine import SHARED

SEA = Counterpart(TERM, "subject", "7", ("Sea",), "topics", "t1", ("Sea",), ("Nature", "Sea"))
PRESS = Counterpart(CONTAINER, "folder", "1", ("Press",), "category", "c1", ("Press",), ("Press",))
YEAR = Counterpart(CONTAINER, "folder", "2", ("Press", "24"), "category", "c2", ("Press", "24"), ("Press", "24"))
SCHEMA = Schema(
    {
        "subject": Field("subject", FieldKind.TERM, vocabulary="topics", multiple=True),
        "main": Field("main", FieldKind.TERM, vocabulary="topics"),
        "other": Field("other", FieldKind.TERM, vocabulary="places"),
    }
)


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqlStore]:
    opened = await SqlStore.open(tmp_path / "job.db", SystemClock(), storage=SHARED)
    yield opened
    await opened.close()


def draft(**fields: Any) -> dict[str, Any]:
    return {"placements": [{"kind": "category", "path": ["Press", "24"], "id": "c2"}], "fields": fields}


async def test_counterparts_are_known_in_the_next_run(store: SqlStore) -> None:
    known = await Counterparts.load(store, dry=False)
    for row in (SEA, PRESS, replace(PRESS, wanted=("News",)), SEA):
        await known.keep(row)
    again = await Counterparts.load(store, dry=False)
    assert again.rows == {SEA.key: SEA, PRESS.key: replace(PRESS, wanted=("News",))}


async def test_a_plan_stores_none(store: SqlStore) -> None:
    await (await Counterparts.load(store, dry=False)).keep(SEA)
    known = await Counterparts.load(store, dry=True)
    await known.keep(replace(SEA, target="planned-1"))
    await known.keep(PRESS)
    assert known.of(TERM, "subject", "7") == replace(SEA, target="planned-1")
    assert await store.counterparts() == [SEA]


async def test_two_of_the_source_may_share_one_and_learn_its_name(store: SqlStore) -> None:
    known = await Counterparts.load(store, dry=False)
    await known.keep(SEA)
    assert not await known.is_shared(SEA)
    ocean = replace(SEA, source="8", origin=("Ocean",))
    await known.keep(ocean)
    assert await known.is_shared(SEA)
    await known.keep(replace(ocean, name=("Nature", "Meer")))
    assert {row.name for row in await store.counterparts()} == {("Nature", "Meer")}
    await known.keep(replace(ocean, target="t2"))
    assert not await known.is_shared(known.rows[SEA.key])


async def test_what_was_written_is_shown_under_current_names(store: SqlStore) -> None:
    known = await Counterparts.load(store, dry=False)
    await known.keep(replace(SEA, name=("Nature", "Ocean")))
    await known.keep(PRESS)
    await known.keep(YEAR)
    await known.moved("category", {"c1": ("News",), "c2": ("News", "24")}, ("News",))
    old = {"id": "t1", "label": "Sea"}
    sky = {"id": "t9", "label": "Sky"}
    told = known.present(draft(subject=[old, sky], main=old, other=old, title="Sea"), SCHEMA)
    new = {"id": "t1", "label": "Ocean"}
    assert told["fields"] == {"subject": [new, sky], "main": new, "other": old, "title": "Sea"}
    assert told["placements"] == [{"kind": "category", "path": ["News", "24"], "id": "c2"}]
    assert {row.name for row in await store.counterparts()} == {("News",), ("News", "24"), ("Nature", "Ocean")}


async def test_what_moved_keeps_the_names_of_the_source_below_a_level_that_others_renamed(store: SqlStore) -> None:
    known = await Counterparts.load(store, dry=False)
    other = replace(PRESS, source="3", target="c3", name=("Own",))
    for row in (PRESS, replace(YEAR, name=("Presse", "24")), other):
        await known.keep(row)
    await known.moved("category", {"c2": ("Presse", "25")}, ("Press", "25"))
    assert known.rows[YEAR.key] == replace(YEAR, name=("Presse", "25"), wanted=("Press", "25"))
    assert (known.rows[PRESS.key], known.rows[other.key]) == (PRESS, other)


async def test_a_term_that_got_another_id_with_its_name_is_the_same(store: SqlStore) -> None:
    known = await Counterparts.load(store, dry=False)
    await known.keep(replace(SEA, target="Ocean", name=("Ocean",), former=("Sea",)))
    told = known.present(draft(main={"id": "Sea", "label": "Sea"}), SCHEMA)
    assert told["fields"]["main"] == {"id": "Ocean", "label": "Ocean"}
    await known.keep(replace(SEA, source="9", target="Sea", name=("Sea",)))  # a new one by the old name
    told = known.present(draft(main={"id": "Sea", "label": "Sea"}), SCHEMA)
    assert told["fields"]["main"] == {"id": "Sea", "label": "Sea"}


async def test_values_that_the_target_keeps_have_present_names(store: SqlStore) -> None:
    known = await Counterparts.load(store, dry=False)
    await known.keep(replace(SEA, target="Ocean", name=("Ocean",), former=("Sea",)))
    await known.keep(replace(PRESS, wanted=("News",)))
    sky, place = {"id": "t9", "label": "Sky"}, {"kind": "category", "path": ["Press"], "id": "c1"}
    told = known.present_values(
        {
            "fields.subject": [{"id": "Sea", "label": "Sea"}, sky],
            "fields.main": None,
            "fields.title": "Sea",
            "placements.category": [place],
            "placements.folder": None,
            "status": "draft",
        },
        SCHEMA,
    )
    assert told == {
        "fields.subject": [{"id": "Ocean", "label": "Ocean"}, sky],
        "fields.main": None,
        "fields.title": "Sea",
        "placements.category": [{**place, "path": ["News"]}],
        "placements.folder": None,
        "status": "draft",
    }


async def test_what_others_renamed_at_the_target_has_the_names_of_drafts(store: SqlStore) -> None:
    """So that it is neither a conflict, nor a change of the assets that have it."""
    known = await Counterparts.load(store, dry=False)
    await known.keep(SEA)
    await known.keep(PRESS)
    own, sky = Placement("category", ("Own",), "c9"), Term("Sky", "t9")
    actual = Asset(
        AssetId("1"),
        Revision("r"),
        placements=frozenset({Placement("category", ("Presse",), "c1"), own}),
        fields={"subject": (Term("Meer", "t1"), sky), "main": Term("Meer", "t1"), "other": Term("Meer", "t1")},
    )
    told = known.as_known(actual, SCHEMA)
    assert told.placements == {Placement("category", ("Press",)), own}
    assert told.fields == {**actual.fields, "subject": (Term("Sea", "t1"), sky), "main": Term("Sea", "t1")}


@pytest.mark.parametrize("label", ["e\u0301te\u0301", "  \u00e9t\u00e9 "])
async def test_a_label_that_differs_in_how_it_is_spelled_alone_stays_as_it_was_written(
    store: SqlStore, label: str
) -> None:
    """Names are known in NFC and without whitespace around them; otherwise a draft would differ from itself."""
    known = await Counterparts.load(store, dry=False)
    await known.keep(replace(SEA, name=("Nature", "\u00e9t\u00e9")))
    written = draft(main={"id": "t1", "label": label})
    assert known.present(written, SCHEMA) == written
    actual = Asset(AssetId("a"), "a.jpg", Revision("1"), fields={"main": Term(label, "t1")})
    assert known.as_known(actual, SCHEMA).fields == actual.fields


async def test_a_term_for_which_an_earlier_release_took_another_one_is_forgotten(store: SqlStore) -> None:
    right = Counterpart(TERM, "subject", "1", ("Arts/Crafts",), "topics", "t5", ("Arts/Crafts",), ("Arts/Crafts",))
    wrong = replace(right, source="3", origin=("Arts", "Crafts"))
    await store.keep_counterparts([right, wrong, SEA])
    known = await Counterparts.load(store, dry=False)
    assert set(known.rows) == {right.key, SEA.key}
    assert known.mixed_up == {("subject", "3")}
    assert not await known.is_shared(right)
    await known.keep(replace(wrong, target="t6", name=wrong.origin))
    assert (await Counterparts.load(store, dry=False)).mixed_up == frozenset()


def test_terms_that_an_earlier_release_mixed_up_are_not_recalled() -> None:
    crafts = Term("Crafts", "3", ("Arts", "Crafts"))
    plain = {
        recall_key("s", Term("Sea", "7")): Term("Ocean", "t7"),
        recall_key("s", Term("A\nB", "/8")): Term("x", "t8"),
    }
    by_path = {recall_key("s", Term(path[-1], path=path)): Term(label, "t") for path, label in PATHS.items()}
    known = {**plain, recall_key("s", crafts): Term("Arts/Crafts", "t1"), **by_path}
    kept = unmixed(known, {("s", "3")})
    assert kept == {**plain, recall_key("s", Term("Sea", path=("Nature", "Sea"))): Term("Sea", "t")}


PATHS = {
    ("Nature", "Sea"): "Sea",
    ("Fine", "Arts"): "Fine/Arts",  # another label of the same joined text
    ("A/B", "C"): "C",  # two terms of one joined text
    ("A", "B", "C"): "C",
}


def test_a_term_is_recalled_by_what_is_its_own() -> None:
    same = (Term("b", "a\nb"), Term("b\nb", "a"), Term("b", "/Sea"), Term("b", path=("Sea",)), Term("b", "\\/Sea"))
    assert len({recall_key("rule", term) for term in same}) == len(same)
    assert recall_key("rule", Term("Sea", "7")) == "rule\n7\nSea"
