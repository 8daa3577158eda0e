"""Calls are estimated from a table of costs, in the order of a plan."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dam_sync.model.asset import AssetId, Draft, FileRef, Patch, Placement
from dam_sync.model.capabilities import Capabilities
from dam_sync.model.costs import Amounts, Cost, CostPart, PlanMemory
from dam_sync.model.errors import InvalidValue, NotFound
from dam_sync.model.estimator import Estimator
from dam_sync.model.limits import Limits, Pace, PartBounds
from dam_sync.model.values import Term
from dam_sync.model.writes import Attachment, Change, Membership, Opening
from tests.support.services.empty_service import EmptyService

BATCH, FIRST = "a batch", "the first hidden asset"
COSTS = (
    Cost(CostPart.CREATE, "create"),
    Cost(CostPart.WHOLE, "send"),
    Cost(CostPart.CHUNK, "send a chunk"),
    Cost(CostPart.FETCHED, "look"),
    Cost(CostPart.UPDATE, "read", unread=True),
    Cost(CostPart.UPDATE, "write"),
    Cost(CostPart.VERSION, "read", 2),
    Cost(CostPart.MEMBERS, "fill an album", kind="collection"),
    Cost(CostPart.TERM, "add a term"),
    Cost(CostPart.TERM_LEVEL, "apply"),
    Cost(CostPart.OPENED, "open"),
    Cost(BATCH, "begin a batch"),
    Cost(FIRST, "look"),
)
LIMITS = Limits(single_bytes=10, parts=PartBounds(preferred=10, least=1), member_batch=2, pace=Pace(at_once=3))


class Priced(EmptyService):
    """Small files share batches of two; a file without a size cannot be opened, a draft without a name is refused."""

    declared = Capabilities(limits=LIMITS, costs=COSTS)

    def amounts(self, change: Change, counted: Amounts, planned: PlanMemory) -> Amounts:
        if isinstance(change, Draft) and not change.filename:
            raise InvalidValue("an asset needs a name")
        if isinstance(change, Opening) and change.file.size is None:
            raise NotFound("there is no such file")
        if counted[CostPart.WHOLE]:
            counted[BATCH] = int(not planned.join("batch", 2))
        if isinstance(change, Draft) and change.closed:
            counted[FIRST] = int(planned.first("closed"))
        return counted


DRAFT = Draft(None, "a.jpg")


@pytest.mark.parametrize(
    ("change", "size", "calls"),
    [
        (DRAFT, None, {"create": 1}),
        (DRAFT, 10, {"create": 1, "send": 1, "begin a batch": 1}),
        (DRAFT, 25, {"create": 1, "send a chunk": 3}),
        (replace(DRAFT, filename=""), 10, {}),
        (FileRef("", "b.jpg", 25), None, {"send a chunk": 3, "read": 2}),
        (Attachment("c.pdf"), 3, {"send": 1, "begin a batch": 1}),
        (Patch(), None, {}),
        (Patch(filename="b.jpg"), None, {"read": 1, "write": 1}),
        (Term("sea"), None, {"add a term": 1, "apply": 1}),
        (Membership(Placement("collection", ("Best",)), (AssetId("1"),) * 5), None, {"fill an album": 3}),
        (Membership(Placement("folder", ("Best",)), (AssetId("1"),) * 5), None, {}),
    ],
)
def test_a_write_takes_the_calls_of_its_parts(change: Change, size: int | None, calls: dict[str, int]) -> None:
    assert Estimator(Priced()).write(change, size) == calls


def test_the_first_write_of_an_asset_that_was_just_read_does_not_read_it() -> None:
    assert Estimator(Priced()).write(Patch(filename="b.jpg"), just_read=True) == {"write": 1}


def test_a_file_that_the_target_fetches_is_not_sent() -> None:
    assert Estimator(Priced()).fetched(DRAFT) == {"create": 1, "look": 1}


def test_terms_of_one_level_are_added_together() -> None:
    terms = [Term("sea"), Term("wood"), Term("lake", path=("wood", "lake"))]
    assert Estimator(Priced()).terms(terms) == {"add a term": 3, "apply": 2}


def test_what_happens_once_in_a_run_is_counted_with_the_first() -> None:
    estimator, closed = Estimator(Priced()), replace(DRAFT, closed=True)
    assert [estimator.write(closed).get("look", 0) for _ in range(3)] == [1, 0, 0]
    assert Estimator(Priced()).write(closed)["look"] == 1, "another plan counts it too"


@given(st.lists(st.integers(0, 30), max_size=20))
def test_what_several_share_is_counted_with_the_one_that_begins_it(sizes: list[int]) -> None:
    estimator, spent = Estimator(Priced()), Counter[str]()
    for size in sizes:
        spent.update(estimator.write(DRAFT, size))
    small = sum(size <= 10 for size in sizes)
    assert (spent["create"], spent["send"], spent["begin a batch"]) == (len(sizes), small, -(-small // 2))


def test_a_file_that_cannot_be_opened_is_refused_and_has_no_link() -> None:
    estimator = Estimator(Priced())
    assert estimator.open(FileRef("1", "a.jpg", 3)) == {"open": 1}
    with pytest.raises(NotFound):
        estimator.open(FileRef("1", "a.jpg"))
    assert (estimator.link(FileRef("1", "a.jpg", 3)), estimator.link(FileRef("1", "a.jpg"))) == ({}, None)


def test_without_a_table_nothing_is_estimated() -> None:
    assert Estimator(EmptyService()).write(DRAFT, 10) == {}


class Together(EmptyService):
    """Assets that are created at the same time share calls: three, fewer while others get versions."""

    declared = Capabilities(limits=LIMITS, costs=(Cost(BATCH, "create several"),))

    def amounts(self, change: Change, counted: Amounts, planned: PlanMemory) -> Amounts:
        return Counter({BATCH: int(isinstance(change, Draft) and planned.together.first("create"))})


def test_assets_that_are_created_at_the_same_time_share_calls() -> None:
    estimator = Estimator(Together())
    assert [sum(estimator.write(DRAFT).values()) for _ in range(7)] == [1, 0, 0, 1, 0, 0, 1]


def test_assets_that_get_versions_are_not_among_those_created_next() -> None:
    estimator = Estimator(Together())
    before = [sum(estimator.write(DRAFT).values()) for _ in range(3)]
    estimator.first_version(FileRef("", "b.jpg", 3))
    after = [sum(estimator.write(DRAFT).values()) for _ in range(6)]
    assert (before, after) == ([1, 0, 0], [1, 0, 1, 0, 0, 1])


def test_a_shared_one_takes_so_many_of_so_many_bytes_and_no_two_of_one_name() -> None:
    planned = PlanMemory()
    joined = [planned.join("b", 3, size=size, bytes_most=10) for size in (4, 4, 4, 20, 1, 1, 1)]
    assert joined == [0, 1, 0, 0, 0, 1, 2], "what is full is closed; the first always fits"
    assert [planned.join("n", 2, name=name) for name in ("a", "a", "b", "b", "c")] == [0, 0, 1, 1, 0]
