"""Service D: relations, collections and vocabularies. A response of 200 may have an error inside, or no effect."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from dam_sync.model.asset import AssetId, Relation
from dam_sync.model.errors import Conflict, NotFound, Rejected, Unsupported
from dam_sync.model.estimator import Estimator
from dam_sync.model.values import Term
from dam_sync.services.d_templates import facts
from tests.support.services import scripted_d as d
from tests.support.services.scripted_d import Opened, draft, scripted
from tests.support.state.memory_journal import MemoryJournal


@pytest.fixture
async def opened() -> AsyncIterator[Opened]:
    async with scripted() as one:
        yield one


async def test_a_relation_is_judged_by_what_is_inside_the_response(opened: Opened) -> None:
    script = opened.script
    one, two = AssetId(script.records[script.add()]["fileId"]), AssetId(script.records[script.add()]["fileId"])
    service = opened.connect()
    for _ in range(2):
        await service.relate(one, Relation("derivative", two))
    assert len(script.links) == 1
    with pytest.raises(Conflict):
        await service.relate(two, Relation("derivative", one))
    await service.relate(one, Relation("placed_graphic", two))
    assert script.links[-1]["linkType"] == "placed-graphic"
    with pytest.raises(Unsupported):
        await service.relate(one, Relation("Views of the object", two))
    relations = (await opened.connect().fetch(one)).relations
    assert relations == {Relation("derivative", two), Relation("placed_graphic", two)}


async def test_relations_into_the_bin_are_reported_and_not_moved(opened: Opened) -> None:
    script = opened.script
    one, two = script.add(), script.add(fileState="recycle bin", metadataState="recycle bin")
    script.links.append({"primaryId": one, "secondaryId": two, "linkType": "child"})
    found = await opened.connect().fetch(AssetId(script.records[one]["fileId"]))
    assert not found.relations
    assert [loss.path for loss in found.losses] == ["relations"]


async def test_a_collection_that_was_not_made_is_an_error(opened: Opened) -> None:
    service = opened.connect()
    with pytest.raises(Rejected, match="missing"):
        await service.ensure_container("collection", ("refused",))
    made = await service.ensure_container("collection", ("Spring",))
    assert await service.ensure_container("collection", ("Spring",)) == made
    assert len(opened.script.collections) == 1


@pytest.mark.parametrize("newer", ["taken", "missing", "without effect"])
async def test_collections_hold_files_and_are_read_back(
    opened: Opened, monkeypatch: pytest.MonkeyPatch, newer: str
) -> None:
    script = opened.script
    first = script.add()
    asset = AssetId(script.records[first]["fileId"])
    current = script.records[script.add(family=asset)]["fileId"]
    if newer != "taken":
        answer = ({"message": "Missing Authentication Token"}, 403) if newer == "missing" else ({"message": "ok"}, 200)
        monkeypatch.setattr(script, "_fill", lambda identity, body: d.said(*answer))
    service = opened.connect()
    place = await service.ensure_container("collection", ("Spring",))
    script.collections[place.id]["collectionDocument"].append(facts.NIL)
    await service.place(place, [asset], [])
    assert current in script.collections[place.id]["collectionDocument"]
    assert [found.assets async for found in opened.connect().members()] == [(asset,)]
    await service.place(place, [], [asset])
    assert current not in script.collections[place.id]["collectionDocument"]


@pytest.mark.parametrize("newer", [True, False])
async def test_a_collection_gets_the_new_version_instead_of_the_earlier_ones(
    opened: Opened, monkeypatch: pytest.MonkeyPatch, newer: bool
) -> None:
    script = opened.script
    asset = AssetId(script.records[script.add()]["fileId"])
    older = script.records[script.add(family=asset)]["fileId"]
    current, other = (script.records[script.add(**family)]["fileId"] for family in ({"family": asset}, {}))
    if not newer:
        monkeypatch.setattr(script, "_fill", lambda *_: d.said({"message": "Missing Authentication Token"}, 403))
    service = opened.connect()
    places = [await service.ensure_container("collection", (name,)) for name in ("Spring", "Autumn", "Gone")]
    for place, members in zip(places, ([asset, other, older], [other], []), strict=True):
        script.collections[place.id]["collectionDocument"] = members
    read = script._collection
    gone = places[2].id
    refusal = d.said({"message": "Collection does not exist"}, 403)
    monkeypatch.setattr(script, "_collection", lambda identity: refusal if identity == gone else read(identity))
    for _ in range(2):
        await service.carry_memberships(asset, places)
        assert script.collections[places[0].id]["collectionDocument"] == [other, current]
        assert script.collections[places[1].id]["collectionDocument"] == [other]


async def test_a_call_without_effect_is_not_proven_by_what_was_there_before(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = opened.script
    one, two = (AssetId(script.records[script.add()]["fileId"]) for _ in range(2))
    monkeypatch.setattr(script, "_fill", lambda identity, body: d.said({"message": "ok"}, 200))
    service = opened.connect()
    place = await service.ensure_container("collection", ("Spring",))
    script.collections[place.id]["collectionDocument"].append(one)
    await service.place(place, [one], [two])
    await service.place(place, [two], [])
    assert script.collections[place.id]["collectionDocument"] == [one, two]
    await service.place(place, [], [one])
    assert script.collections[place.id]["collectionDocument"] == [two]


async def test_a_call_that_changed_something_is_trusted_from_then_on(opened: Opened) -> None:
    script = opened.script
    assets = [AssetId(script.records[script.add()]["fileId"]) for _ in range(3)]
    service = opened.connect()
    place = await service.ensure_container("collection", ("Spring",))
    for asset in assets:
        await service.place(place, [asset], [])
    assert script.collections[place.id]["collectionDocument"] == assets
    assert (service.calls[facts.FILL], service.calls[facts.COLLECTION]) == (3, 4)  # the first had no others to lose


@pytest.mark.parametrize(
    ("newer", "call"), [(True, "_fill"), (False, "_fill_whole"), (False, "_collection")], ids=["newer", "older", "read"]
)
async def test_a_collection_that_takes_no_members_holds_no_other_back(
    opened: Opened, monkeypatch: pytest.MonkeyPatch, newer: bool, call: str
) -> None:
    script = opened.script
    asset = AssetId(script.records[script.add()]["fileId"])
    service = opened.connect()
    place = await service.ensure_container("collection", ("Spring",))
    if not newer:
        missing = {"message": "Missing Authentication Token"}
        monkeypatch.setattr(script, "_fill", lambda identity, body: d.said(missing, 403))
    monkeypatch.setattr(script, call, lambda *_: d.said({"message": "You may not do this"}, 403))
    with pytest.raises(Rejected, match="You may not do this") as told:
        await service.place(place, [asset], [])
    assert "collection" in told.value.hint


async def test_many_members_are_found_by_a_scan_and_not_one_by_one(opened: Opened) -> None:
    script = opened.script
    files = [script.records[script.add()]["fileId"] for _ in range(250)]
    newer = script.records[script.add(family=files[0])]["fileId"]
    for number in range(3):
        members = [newer, facts.NIL, *files[1:], "file-9999"]
        script.collections[f"c-{number}"] = {
            "collectionId": f"c-{number}",
            "name": f"C{number}",
            "collectionDocument": members,
        }
    service = opened.connect()
    found = [membership async for membership in service.members()]
    assert [set(each.assets) for each in found] == [set(files)] * 3
    assert service.calls[facts.SCAN] <= 4
    assert service.calls[facts.ASSET] == 1


async def test_a_new_value_counts_once_it_is_applied(opened: Opened) -> None:
    service = opened.connect()
    made = await service.ensure_term("colors", Term("Green"))
    assert made.id == "value-green"
    assert await service.ensure_term("colors", Term("Green")) == made
    assert (service.calls[facts.ADD_TERMS], service.calls[facts.APPLY]) == (1, 1)
    below = await service.ensure_term("area", Term("Hills", parent=d.NORTH))
    assert (below.path, below.parent) == (("North", "Hills"), d.NORTH)
    with pytest.raises(NotFound):
        await service.ensure_term("nothing", Term("x"))


async def test_new_values_of_one_list_are_added_by_one_round_of_calls(opened: Opened) -> None:
    service = opened.connect()
    await service.schema()
    fresh = (Term("Green", path=("Green",)), Term("Grey", path=("Grey",)))
    told = Estimator(service).terms(fresh)
    before = dict(service.calls)
    made = await service.ensure_terms("colors", (*fresh, Term("Red", path=("Red",))))
    assert [(term.label, term.id) for term in made] == [
        ("Green", "value-green"),
        ("Grey", "value-grey"),
        ("Red", d.RED),
    ]
    spent = {name: number - before.get(name, 0) for name, number in service.calls.items()}
    assert {name: number for name, number in spent.items() if number} == told
    assert told == {facts.ADD_TERMS: 1, facts.APPLY: 1, facts.VOCABULARY: 1}
    below = await service.ensure_terms("area", (Term("Hills", parent=d.NORTH), Term("Plain", parent=d.NORTH)))
    assert [term.path for term in below] == [("North", "Hills"), ("North", "Plain")]
    assert service.calls[facts.ADD_TERMS] == 2


async def test_a_value_that_was_never_applied_is_applied_when_it_is_refused(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after a process that ended between adding a value and applying it."""
    create = opened.script._create
    service = opened.connect()

    def strict(body: Any) -> Any:
        if facts.APPLY not in opened.script.calls:
            return d.said({"status": "error", "message": "Invalid fields for metadata template"}, 403)
        return create(body)

    monkeypatch.setattr(opened.script, "_create", strict)
    await service.create(draft(colors=(Term("Red", d.RED),)), None, MemoryJournal())
    assert len(opened.script.records) == 1
    assert service.calls[facts.APPLY] == 1
