"""Links, names, memberships, and what waits until all assets exist."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from dam_sync.model.asset import AssetId, Entry, Placement, Revision
from dam_sync.model.clock import SystemClock
from dam_sync.model.journal import call_again
from dam_sync.model.link import LinkRow
from dam_sync.model.outcome import Outcome
from dam_sync.model.service import Batch, Shard
from dam_sync.model.state_server import StateServer
from dam_sync.model.writes import Membership
from dam_sync.store.links import drop_link
from dam_sync.store.planned import digest_of_rows
from dam_sync.store.refused import circle_of
from dam_sync.store.rows import UnwrittenRelations
from dam_sync.store.store import SqlStore
from tests.support.state.shared_engine import SHARED

PRESS = Placement("category", ("Press", "2024/25"), "c1")
BEST = Placement("collection", ("Best",), "c2")
WHOLE = LinkRow(
    source="a",
    target="t1",
    source_revision="r1",
    source_fingerprint="f1",
    draft_fingerprint="d1",
    filename="été.jpg",
    evidence="V4",
    digests={"md5": "0f"},
    size=12,
    versions=("k1", "k2"),
    attachments=("k3",),
    relations=(("view", "b"),),
    draft={"fields": {"title": "Sea"}},
)


@pytest.fixture
async def store(place: Path | StateServer) -> AsyncIterator[SqlStore]:
    opened = await SqlStore.open(place, SystemClock(), storage=SHARED)
    yield opened
    await opened.close()


REVISIONS = count(1)


async def settle(store: SqlStore, asset: str, action: str = "created", **more: Any) -> None:
    """List an asset, claim it and complete it so."""
    run = (await store.begin("job", "run")).id
    await store.record(run, Shard(asset), Batch((Entry(AssetId(asset), Revision(str(next(REVISIONS)))),), None), ())
    (work,) = await store.claim(run, 1, timedelta(minutes=1))
    await store.complete(work, Outcome(action, **more))


async def test_a_link_comes_back_as_it_was(store: SqlStore) -> None:
    await store.put_link(WHOLE)
    await store.put_link(LinkRow("b", "t2"))
    assert await store.links(["a", "b", "c"]) == {"a": WHOLE, "b": LinkRow("b", "t2")}
    assert await store.links_by_target(["t1", "t9"]) == {"t1": WHOLE}
    assert await store.links([]) == {}
    await store.put_link(LinkRow("a", "t3"))
    assert await store.links_by_target(["t1"]) == {}


async def test_what_the_adopting_run_listed_is_not_missing(store: SqlStore) -> None:
    await settle(store, "a", "created", link=LinkRow("a", "t1"))
    await store.put_link(LinkRow("b", "t2"))
    await store.put_link(LinkRow("c", "t3"), 2)
    assert await store.gone(2, 9) == (2, ["a", "b"])


async def test_many_links_are_asked_for_at_once_and_paged(store: SqlStore) -> None:
    names = [f"{number:04}" for number in range(1_200)]
    for name in names:
        await store.put_link(LinkRow(name, f"t{name}")) if int(name) % 100 == 0 else None
    assert len(await store.links(names)) == 12
    after, pages = "", []
    while page := await store.iter_links(after, 5):
        pages.append(len(page))
        after = page[-1].source
    assert pages == [5, 5, 2]


async def test_a_name_belongs_to_one(store: SqlStore) -> None:
    await store.take_names([("sea.jpg", "target:1")])
    await store.take_names([])
    assert await store.reserve_name("sea.jpg", "a") == "target:1"
    assert await store.reserve_name("land.jpg", "a") is None
    assert await store.reserve_name("land.jpg", "b") == "a"
    assert [await store.first_time("x"), await store.first_time("x")] == [True, False]


async def test_the_name_of_a_target_asset_belongs_to_the_asset_that_is_linked_to_it(store: SqlStore) -> None:
    """A listing of the target stored its names before `adopt` linked it."""
    await store.take_names([("sea.jpg", "target:1"), ("land.jpg", "target:2")])
    await store.put_link(LinkRow("a", "1"))
    assert await store.reserve_name("sea.jpg", "b") == "target:1"
    assert await store.reserve_name("land.jpg", "a") == "target:2"
    assert [await store.reserve_name("sea.jpg", "a") for _ in range(2)] == [None, None]
    assert await store.reserve_name("sea.jpg", "b") == "a"


async def test_memberships_are_read_by_asset_and_a_new_listing_starts_empty(store: SqlStore) -> None:
    await store.add_members([Membership(PRESS, (AssetId("a"), AssetId("b")))])
    await store.add_members([Membership(BEST, (AssetId("a"), AssetId("a")))])
    await store.add_members([Membership(BEST, ())])
    members = await store.members_of(["a", "b", "c"])
    assert members == {"a": {PRESS, BEST}, "b": {PRESS}}
    assert {placement.id for placement in members[AssetId("a")]} == {"c1", "c2"}
    await store.begin_members(2)
    assert "a" in await store.members_of(["a"])
    await store.end_members()
    assert await store.members_of(["a"]) == {}


async def reading(store: SqlStore, *found: Membership, ends: bool = True) -> None:
    await store.begin_members(1)
    for membership in found:
        await store.add_members([membership])
    if ends:
        await store.end_members()


@pytest.mark.parametrize("readings", [0, 1, 2])
async def test_a_new_link_has_the_memberships_that_it_was_made_with(store: SqlStore, readings: int) -> None:
    """readings: those that runs stored before, none of which had the asset where it is."""
    for _ in range(readings):
        await reading(store, Membership(BEST, (AssetId("a"),)), Membership(PRESS, (AssetId("z"),)))
        await store.keep_members(without="target:")
    for _ in range(2):
        await store.keep_members_of({AssetId("a"): frozenset({PRESS}), AssetId("b"): frozenset()})
    others = Membership(PRESS, (AssetId("z"),))
    await reading(store, Membership(PRESS, (AssetId("a"),)), others)
    assert await store.changed_members("", 10) == ([] if readings else ["z"])
    await reading(store, Membership(BEST, (AssetId("a"), AssetId("b"))), others)
    assert await store.changed_members("", 10) == (["a", "b"] if readings else ["a", "b", "z"])


async def test_memberships_are_compared_with_the_last_stored_reading(store: SqlStore) -> None:
    both, one = Membership(PRESS, (AssetId("a"), AssetId("b"))), Membership(PRESS, (AssetId("a"),))
    await reading(store, both)
    assert await store.changed_members("", 10) == ["a", "b"]
    await store.keep_members(without="target:")
    assert await store.changed_members("", 10) == []
    await reading(store, both)
    assert await store.changed_members("", 10) == []
    await reading(store, one, Membership(BEST, (AssetId("c"), AssetId("target:x"))))
    assert await store.changed_members("", 10) == ["b", "c", "target:x"]
    assert await store.changed_members("b", 1) == ["c"]
    assert await store.members_of(["a", "b"]) == {"a": {PRESS}}
    assert await store.member_counts(without="target:") == (2, 2)
    await store.keep_members(without="target:")
    assert await store.member_counts(without="") == (0, 0)
    assert await store.changed_members("", 10) == []


async def test_a_membership_that_was_away_in_between_is_compared_again(store: SqlStore) -> None:
    """The run that did not see it may have taken the asset out of the container of the target."""
    both, one = Membership(PRESS, (AssetId("a"), AssetId("b"))), Membership(PRESS, (AssetId("a"),))
    await reading(store, both)
    await store.keep_members(without="target:")
    await reading(store, one)
    await reading(store, both)
    assert await store.changed_members("", 10) == ["b"]


async def test_a_reading_that_did_not_end_proves_nothing(store: SqlStore) -> None:
    both = Membership(PRESS, (AssetId("a"), AssetId("b")))
    await reading(store, both)
    await store.keep_members(without="target:")
    await reading(store, ends=False)
    await reading(store, both)
    assert await store.changed_members("", 10) == []


async def test_placements_come_one_container_at_a_time(store: SqlStore) -> None:
    rows = [(PRESS, AssetId(f"t{number}"), True) for number in range(5)] + [(BEST, AssetId("t1"), False)]
    await settle(store, "a", placements=tuple(rows))
    await settle(store, "b", placements=((PRESS, AssetId("t0"), False),))
    seen = []
    while (pending := await store.next_placements(3)) is not None:
        container, add, remove = pending
        seen.append((container.id, add, remove))
        await store.placement_journal(1, container, [*add, *remove], "place").run("place", call_again)
        await store.placement_journal(1, container, [*add, *remove], "place").run("place", call_again)
    assert seen == [("c1", ("t1", "t2"), ("t0",)), ("c1", ("t3", "t4"), ()), ("c2", (), ("t1",))]


async def test_the_same_path_at_source_and_target_is_two_containers(store: SqlStore) -> None:
    """The same path has one id at the source and another at the target."""
    await store.add_members([Membership(Placement("category", ("Press", "2024/25"), "source"), (AssetId("a"),))])
    await settle(store, "a", placements=((PRESS, AssetId("t1"), True),))
    pending = await store.next_placements(9)
    assert pending is not None
    assert pending[0].id == "c1"


async def test_relations_wait_for_both_ends(store: SqlStore) -> None:
    await store.put_link(LinkRow("a", "t1"))
    await settle(store, "a", relations=(("view", AssetId("b"), True), ("view", AssetId("b"), True)))
    await settle(store, "b", relations=(("detail", AssetId("a"), True),))
    first, second = await store.next_relations(9)
    assert (first.owner_target, first.other_target, first.kind) == ("t1", "", "view")
    assert [row.kind for row in await store.next_relations(9, first.seq)] == ["detail"]
    await store.put_link(LinkRow("b", "t2"))
    first, second = await store.next_relations(9)
    assert (second.owner_target, second.other_target) == ("t2", "t1")
    await store.relations_done([first, second])
    await store.relations_done([])
    assert await store.next_relations(9) == []


async def test_the_last_word_on_a_relation_counts(store: SqlStore) -> None:
    """It was to be written and left the source, or was to be removed and is there again."""
    await store.put_link(LinkRow("a", "t1"))
    await store.put_link(LinkRow("b", "t2"))
    await settle(store, "a", relations=(("view", AssetId("b"), True),))
    (row,) = await store.next_relations(9)
    await store.relation_refused(row, "no permission")
    await settle(store, "a", relations=(("view", AssetId("b"), False),))
    assert await store.next_relations(9) == []
    (gone,) = await store.next_relations(9, adds=False)
    assert (gone.owner_target, gone.other_target) == ("t1", "t2")
    assert await store.relations_waiting("a") == frozenset()
    await settle(store, "a", relations=(("view", AssetId("b"), True),))
    assert await store.next_relations(9, adds=False) == []
    assert len(await store.next_relations(9)) == 1
    assert await store.relations_waiting("a") == {("view", "b")}


async def test_relations_that_were_written_lead_from_asset_to_asset(store: SqlStore) -> None:
    """Those that wait or were refused lead nowhere, nor do those of another kind."""
    ways = {"a": ("view", "b"), "b": ("view", "c"), "c": ("view", "a"), "d": ("detail", "a")}
    for owner, (kind, other) in ways.items():
        await store.put_link(LinkRow(owner, f"t-{owner}", relations=((kind, other),)))
        await settle(store, owner, relations=((kind, AssetId(other), True),))
    assert not await store.leads("view", "a", "c")
    rows = {row.owner: row for row in await store.next_relations(9)}
    await store.relations_done([rows["a"], rows["b"], rows["d"]])
    assert await store.leads("view", "a", "c")
    assert not await store.leads("view", "c", "a")
    await store.relation_refused(rows["c"], "a circle")
    assert not await store.leads("view", "c", "a")
    assert not await store.leads("view", "d", "a")
    assert await store.leads("view", "e", "e")


async def test_what_the_target_refuses_is_reported_and_waits_no_more(store: SqlStore) -> None:
    await store.put_link(LinkRow("a", "t1"))
    await store.put_link(LinkRow("b", "t2"))
    both = (PRESS, AssetId("t1"), True), (PRESS, AssetId("t2"), True)
    await settle(store, "a", placements=both, relations=(("view", AssetId("b"), True), ("view", AssetId("c"), True)))
    await store.placement_refused(PRESS, "t1", "no room")
    first, _ = await store.next_relations(9)
    await store.relation_refused(first, "a circle")
    assert await store.next_placements(9) == (PRESS, ("t2",), ())
    assert [row.other for row in await store.next_relations(9)] == ["c"]
    assert await store.relations_refused() == [UnwrittenRelations("", 1), UnwrittenRelations("a circle", 1)]
    told = [(row.asset, row.cause, row.message) for row in await store.refused(limit=9)]
    assert told == [("a", "membership refused", "no room"), ("a", "relation refused", "a circle")]
    assert await store.refused(limit=9, offset=1) == (await store.refused(limit=9))[1:]
    assert [(row.cause, row.count, row.asset, row.message) for row in await store.refused_causes()] == [
        ("membership refused", 1, "a", "no room"),
        ("relation refused", 1, "a", "a circle"),
    ]
    await store.retry_refused()
    assert await store.refused_causes() == []
    assert await store.next_placements(9) == (PRESS, ("t1", "t2"), ())
    assert len(await store.next_relations(9)) == 2


async def test_relations_that_would_close_a_circle_are_known_beside_those_that_a_service_refused(
    store: SqlStore,
) -> None:
    """Also in a state of an earlier release, whose rows have the same reason."""
    for name in "abc":
        await store.put_link(LinkRow(name, f"t-{name}"))
    await settle(store, "a", relations=(("view", AssetId("b"), True), ("view", AssetId("c"), True)))
    first, second = await store.next_relations(9)
    circle = "view: one more would close a circle, which the target refuses; take one out of the circle at the source"
    assert circle_of("view") == circle
    await store.relation_refused(first, circle)
    await store.relation_refused(second, "view: refused")
    assert [(each.reason, each.closes_circle) for each in await store.relations_refused()] == [
        (circle, True),
        ("view: refused", False),
    ]
    assert [row.message for row in await store.refused(limit=9)] == ["view: refused"]


async def test_losses_are_summed_over_all_that_a_run_completed(store: SqlStore) -> None:
    cut = {"path": "fields.title", "rule": "truncate", "detail": "x"}
    tags = {"path": "tags", "rule": "not held", "detail": ""}
    await settle(store, "a", losses=[cut, cut, tags])
    await settle(store, "b", losses=[cut])
    await settle(store, "c")
    run = (await store.begin("job", "run")).id
    assert await store.losses(run) == [("fields.title", "truncate", 2), ("tags", "not held", 1)]
    assert await store.losses(run + 1) == []


async def test_revisions_are_those_that_were_last_written(store: SqlStore) -> None:
    await store.put_link(WHOLE)
    assert await store.revisions(["a", "b"]) == {"a": WHOLE.source_revision}
    assert await store.revisions([]) == {}


async def test_revisions_follow_the_links(store: SqlStore) -> None:
    await store.put_link(WHOLE)
    await store.put_link(replace(WHOLE, source="b", target="t2"))
    await store.put_link(replace(WHOLE, source_revision="r2"))
    assert await store.revisions(["a", "b"]) == {"a": "r2", "b": "r1"}
    await store.put_link(replace(WHOLE, source_revision="r2", size=13))
    assert await store.revisions(["a", "b"]) == {"a": "r2", "b": "r1"}
    writer = store._database.writer
    assert writer is not None
    await writer.run(lambda c: drop_link(c, "a"))
    assert await store.revisions(["a", "b"]) == {"b": "r1"}
    await store.put_link(replace(WHOLE, source_revision="r3"))
    assert await store.revisions(["a", "b"]) == {"a": "r3", "b": "r1"}


async def test_the_digest_of_a_listing_has_each_asset_once_at_the_revision_that_was_listed(store: SqlStore) -> None:
    for name in ("a", "b"):
        await store.put_link(replace(WHOLE, source=name, target=f"t{name}"))
    run = (await store.begin("job", "run")).id
    listed = [("a", "r1"), ("b", "r2"), ("c", "r1")]  # unchanged, changed, new
    rows = tuple(Entry(AssetId(asset), Revision(revision)) for asset, revision in listed)
    await store.record(run, Shard("s"), Batch(rows, None), {AssetId("a")})
    before = await store.listing_digest(run)
    for work in await store.claim(run, 2, timedelta(minutes=1)):
        link = replace(WHOLE, source=work.asset, target=f"t{work.asset}", source_revision=work.revision)
        await store.complete(work, Outcome("updated", link=link))
    assert await store.revisions(["a", "b", "c"]) == dict(listed)
    assert await store.listing_digest(run) == before == digest_of_rows(listed)


async def test_assets_whose_ids_differ_only_after_a_nul_are_two(store: SqlStore) -> None:
    """A service may send any text as an id. Each is found by its own id: it would be created again at each run
    otherwise, and what concerns one would happen to the other."""
    ids = [AssetId(text) for text in ("x", "x\0y", "x\0z", "\0", "\ufdd0\0", "x\\u0000y")]
    for number, asset in enumerate(ids):
        link = LinkRow(asset, f"t{number}\0", source_revision=f"r{number}")
        await settle(store, asset, link=link, named={"filename": f"{number}.jpg"})
    for number, asset in enumerate(ids):
        assert {key: row.target for key, row in (await store.links([asset])).items()} == {asset: f"t{number}\0"}
        assert {row.source for row in (await store.links_by_target([AssetId(f"t{number}\0")])).values()} == {asset}
        assert await store.actions([asset]) == {asset: "created"}
        assert await store.names_of([asset]) == {asset: f"{number}.jpg"}
    assert (await store.links(ids)).keys() == set(ids)
