"""Digests of what is done to an asset stay what they are: plans and states of older releases have them."""

from __future__ import annotations

from datetime import UTC, datetime

from dam_sync.engine.decide.change import AssetChange, AssetCreate
from dam_sync.engine.decide.operations import digest_of_change
from dam_sync.model.asset import AssetId, Draft, FileRef, Marker, Patch, Placement, Relation, Rights

DRAFT = Draft(
    Marker("origin", "t:7"),
    "sea.jpg",
    "images",
    "published",
    {"title": "Sea", "keywords": ("x", "y")},
    frozenset({Placement("folder", ("A", "B"), "12"), Placement("collection", ("C",), "")}),
    frozenset({"b", "a"}),
    Rights(datetime(2024, 5, 1, tzinfo=UTC), None, frozenset({"staff"})),
)
FILES = tuple(FileRef(f"f{n}", "sea.jpg", n, digests={"md5": f"{n:032x}"}) for n in (1, 2, 3))
VIEWS = frozenset({Relation("view", AssetId("9")), Relation("view", AssetId("8"))})


def test_the_digest_of_a_create_stays() -> None:
    create = AssetChange(AssetCreate(DRAFT, FILES[0]), versions=FILES[1:2], attachments=FILES[2:], relations=VIEWS)
    assert digest_of_change(create) == "066b3eb3c367d44de0770c36f9ea01f2"
    assert digest_of_change(AssetChange(AssetCreate(DRAFT))) == "ff920b24f18e79b4f7c5c3aa12413750"


def test_the_digest_of_an_update_stays() -> None:
    update = AssetChange(
        patch=Patch(fields={"title": "Lake"}, tags_add=frozenset({"c"})),
        versions=FILES[1:2],
        detach={"k": {}},
        attachments=FILES[2:],
        relations=VIEWS,
        unrelated=frozenset({Relation("view", AssetId("7"))}),
        paths=("fields.title",),
    )
    assert digest_of_change(update) == "13740c7ef9dfea25cb596f01d5931d55"


def test_the_files_of_a_create_begin_with_its_first() -> None:
    assert AssetChange(AssetCreate(DRAFT, FILES[0]), versions=FILES[1:]).files == FILES
    assert AssetChange(AssetCreate(DRAFT)).files == ()
    assert AssetChange(versions=FILES[1:]).files == FILES[1:]


def test_a_new_asset_comes_into_the_containers_of_its_draft_and_leaves_none() -> None:
    other = frozenset({Placement("folder", ("Z",), "3")})
    patch = Patch(placements_add=other, placements_remove=other)
    create, update = AssetChange(AssetCreate(DRAFT), patch=patch), AssetChange(patch=patch)
    assert (create.placed, create.unplaced) == (DRAFT.placements, frozenset())
    assert (update.placed, update.unplaced) == (other, other)
