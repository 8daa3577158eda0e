"""Crashes at commits and calls of a rollback: the same command finishes it, and nothing is done twice."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from dam_sync.model.capabilities import Operation
from dam_sync.model.errors import DamSyncError
from dam_sync.services import discover
from tests.simulation.conftest import TRIED
from tests.support.pairs import EVERY, EVERYTHING, KINDS
from tests.support.sample.cases import only_in_full
from tests.support.sample.rotation import OfToday
from tests.support.virtual.branching import Branch, Plan, branches
from tests.support.virtual.crashes import POINTS, SEED
from tests.support.virtual.fuse import AFTER, CALL
from tests.support.virtual.removals import ASSETS, Removals, removing
from tests.support.virtual.rollback_process import RollbackProcess, assets_of, differing, roll_back, stays
from tests.support.virtual.state_location import ask
from tests.support.virtual.target_edits import EDITS, RELATIONS, Edit, field, status, tags
from tests.support.virtual.two_tenants import ACCEPTED, REOPENS, TwoTenants, scene

EACH_CASE = max(3, POINTS // 40)  # crash points
AGAIN = 3  # repetitions in which a crash must be made good
PAIRS = [(source, EVERY[(place + 1) % len(EVERY)]) for place, source in enumerate(EVERY)]
RELATING = [
    kind for kind in KINDS if RELATIONS[0] in EDITS[kind] and Operation.UNRELATE in discover()[kind].capabilities
]
UNIQUE = ("undo create", "undo remove")  # writes that must not happen twice


@only_in_full
@pytest.mark.parametrize("kinds", PAIRS, ids=lambda kinds: f"{kinds[0][0]}-{kinds[1][0]}")
def test_no_crash_keeps_a_first_migration_from_being_undone(
    tmp_path: Path, kinds: tuple[str, str], record_property: Callable[[str, object], None], of_today: OfToday
) -> None:
    for name in ("reference", "crashed"):
        (tmp_path / name).mkdir()
    with removing(tmp_path / "reference", kinds) as job:
        every = RollbackProcess(job, 1).live().points()
    chosen = random.Random(f"{SEED} {kinds}").sample(every, min(EACH_CASE, len(every)))
    plans = of_today([(point,) for point in chosen])
    with removing(tmp_path / "crashed", kinds) as job:
        came = list(branches(RollbackProcess(job, 1), plans, partial(undone_first, job)))
    assert len(came) == len(plans)
    record_property(TRIED, str(sum(each.crashes for each in came)))
    assert [fault for each in came for fault in each.faults] == []


def test_a_rollback_that_is_killed_while_it_moves_the_last_assets_to_the_trash_is_finished(
    tmp_path: Path, of_today: OfToday
) -> None:
    """The target is empty then because of the rollback: no guard must stop the command that finishes it."""
    kinds = ("b_documents", "c_brandlibrary")
    for name in ("reference", "crashed"):
        (tmp_path / name).mkdir()
    with removing(tmp_path / "reference", kinds) as job:
        every = RollbackProcess(job, 1).live().points()
    plans = of_today([(point,) for point in every if str(point).startswith("before commit")][-8:])
    with removing(tmp_path / "crashed", kinds) as job:
        came = list(branches(RollbackProcess(job, 1), plans, partial(undone_first, job)))
    assert [fault for each in came for fault in each.faults] == []


def undone_first(job: Removals, plan: Plan) -> Branch:
    faults = [*repeated(job, 1)]
    if job.living() or job.links():
        faults.append(f"living {sorted(job.living())}, links {job.links()}")
    if len(job.target.assets) != ASSETS:
        faults.append(f"{len(job.target.assets)} assets")
    report = job.run()
    if (report.counts["created"], len(job.living())) != (ASSETS, ASSETS) or not job.verify()["clean"]:
        faults.append(f"then created {report.counts}, {report.parked}")
    return Branch(1, [f"{plan[0]}: {fault}" for fault in faults])


@pytest.mark.parametrize("kind", KINDS if EVERYTHING else KINDS[3:4])
def test_no_crash_keeps_changes_from_being_undone(
    tmp_path: Path, kind: str, record_property: Callable[[str, object], None], of_today: OfToday
) -> None:
    for name in ("reference", "crashed"):
        (tmp_path / name).mkdir()
    edits = EDITS[kind] if EVERYTHING else EDITS[kind][-8:]
    with scene(tmp_path / "reference", kind, edits, exposure=ACCEPTED) as job:
        job.edit("source")
        job.run(full=True)
        every = RollbackProcess(job, 2).live().points()
    chosen = random.Random(f"{SEED} {kind}").sample(every, min(EACH_CASE, len(every)))
    plans = of_today([(point,) for point in chosen])
    with scene(tmp_path / "crashed", kind, edits, exposure=ACCEPTED) as job:
        before = assets_of(job.target)
        job.edit("source")
        job.run(full=True)
        came = list(branches(RollbackProcess(job, 2), plans, partial(undone_changes, job, before)))
    assert len(came) == len(plans)
    record_property(TRIED, str(sum(each.crashes for each in came)))
    assert [fault for each in came for fault in each.faults] == []


def test_a_rollback_that_is_killed_between_two_transitions_returns_the_status(
    tmp_path: Path, of_today: OfToday
) -> None:
    """The document is in neither the state before nor the one after, and nobody else has changed it."""
    for name in ("reference", "crashed"):
        (tmp_path / name).mkdir()
    edits = (Edit("status changed", "status", status("archived")),)
    exposure = {**REOPENS, "archived_as_published": "accept"}
    with scene(tmp_path / "reference", "b_documents", edits, exposure=exposure) as job:
        job.edit("source")
        job.run(full=True)
        every = RollbackProcess(job, 2).live().points()
    plans = of_today([(point,) for point in every if point.kind == CALL and point.when == AFTER])
    with scene(tmp_path / "crashed", "b_documents", edits, exposure=exposure) as job:
        before = assets_of(job.target)
        job.edit("source")
        job.run(full=True)
        came = list(branches(RollbackProcess(job, 2), plans, partial(undone_entirely, job, before)))
    assert [fault for each in came for fault in each.faults] == []


def test_a_rollback_that_is_killed_between_two_values_of_a_list_returns_all_of_them(
    tmp_path: Path, of_today: OfToday
) -> None:
    """Service C has a record for each value, and one call that removes tags and one that adds them: the target has
    neither what was there before nor what came after."""
    for name in ("reference", "crashed"):
        (tmp_path / name).mkdir()
    more = field("keywords", ("harbour", "dawn", "pier", "quay"))
    edits = (
        Edit("two values more", "fields.keywords", more),
        Edit("tag swapped", "tags", tags(add="handmade", drop="sea")),
    )
    with scene(tmp_path / "reference", "c_brandlibrary", edits) as job:
        job.edit("source")
        job.run(full=True)
        every = RollbackProcess(job, 2).live().points()
    plans = of_today([(point,) for point in every if point.kind == CALL and point.when == AFTER])
    with scene(tmp_path / "crashed", "c_brandlibrary", edits) as job:
        before = assets_of(job.target)
        job.edit("source")
        job.run(full=True)
        came = list(branches(RollbackProcess(job, 2), plans, partial(undone_entirely, job, before)))
    assert [fault for each in came for fault in each.faults] == []


def undone_entirely(job: TwoTenants, before: Mapping[str, Mapping[str, Any]], plan: Plan) -> Branch:
    faults = [*repeated(job, 2)]
    faults += [*differing(before, assets_of(job.target), set())]
    faults += [f"{asset} stays" for asset in stays(job)]
    return Branch(1, [f"{plan[0]}: {fault}" for fault in faults])


def undone_changes(job: TwoTenants, before: Mapping[str, Mapping[str, Any]], plan: Plan) -> Branch:
    faults = [*repeated(job, 2)]
    faults += differing(before, assets_of(job.target), stays(job))
    return Branch(1, [f"{plan[0]}: {fault}" for fault in faults])


def repeated(job: Removals | TwoTenants, run: int) -> Iterator[str]:
    """The same command until it says that it is done; what is wrong then."""
    for _ in range(AGAIN):
        try:
            if roll_back(job, run).nothing:
                break
        except DamSyncError as error:
            yield f"{error.cause}: {error.message}"
    else:
        yield f"not done after {AGAIN} repetitions"
    rows = ask(job.job, "SELECT operation, target FROM ledger")
    if ask(job.job, "SELECT count(*) FROM run WHERE state <> 'done'") != [(0,)]:
        yield "a run is not finished"
    twice = {row: number for row, number in Counter(rows).items() if number > 1 and row[0] in UNIQUE}
    if twice:
        yield f"written twice: {twice}"


@pytest.mark.parametrize("kind", KINDS if EVERYTHING else KINDS[2:3])
def test_what_a_killed_rollback_returned_is_written_again_once_it_is_given_up(
    tmp_path: Path, kind: str, record_property: Callable[[str, object], None], of_today: OfToday
) -> None:
    """Also of an asset that had its earlier values again, and of which the state did not know yet."""
    for name in ("reference", "crashed"):
        (tmp_path / name).mkdir()
    edits = EDITS[kind] if EVERYTHING else EDITS[kind][-8:]
    with scene(tmp_path / "reference", kind, edits, exposure=ACCEPTED) as job:
        job.edit("source")
        job.run(full=True)
        before, differs = assets_of(job.target), job.verify()["differences"]
        every = [
            point for point in RollbackProcess(job, 2).live().points() if point.kind == CALL or point.when == AFTER
        ]
    chosen = random.Random(f"{SEED} {kind}").sample(every, min(3 * EACH_CASE, len(every)))
    plans = of_today([(point,) for point in chosen])
    with scene(tmp_path / "crashed", kind, edits, exposure=ACCEPTED) as job:
        job.edit("source")
        job.run(full=True)
        came = list(branches(RollbackProcess(job, 2), plans, partial(given_up, job, before, differs)))
    assert len(came) == len(plans)
    record_property(TRIED, str(sum(each.crashes for each in came)))
    assert [fault for each in came for fault in each.faults] == []


def given_up(job: TwoTenants, before: Mapping[str, Mapping[str, Any]], differs: Sequence[Any], plan: Plan) -> Branch:
    report = job.run(accept_changes=True)
    faults = [f"parked {report.parked}"] if report.parked else []
    faults += [f"differs: {each}" for each in job.verify()["differences"] if each not in differs]
    faults += [f"gone: {asset}" for asset in before.keys() - assets_of(job.target).keys()]
    return Branch(1, [f"{plan[0]}: {fault}" for fault in faults])


@pytest.mark.parametrize("named", [False, True], ids=["whole", "by ids"])
@pytest.mark.parametrize("kind", RELATING)
def test_relations_that_a_killed_rollback_returned_are_written_again_once_it_is_given_up(
    tmp_path: Path, kind: str, named: bool, of_today: OfToday
) -> None:
    """Also one of which the process did not live to know that the target has it again."""
    for name in ("reference", "crashed"):
        (tmp_path / name).mkdir()
    with scene(tmp_path / "reference", kind, RELATIONS, exposure=ACCEPTED) as job:
        run_over(job, named=named)
        before, differs = assets_of(job.target), job.verify()["differences"]
        every = RollbackProcess(job, 2).live().points()
        assert any(name.startswith("undo ") for (name,) in ask(job.job, "SELECT operation FROM ledger WHERE run = 3"))
    plans = of_today([(point,) for point in every if point.when == AFTER])
    with scene(tmp_path / "crashed", kind, RELATIONS, exposure=ACCEPTED) as job:
        run_over(job, named=named)
        came = list(branches(RollbackProcess(job, 2), plans, partial(given_up, job, before, differs)))
    assert len(came) == len(plans)
    assert [fault for each in came for fault in each.faults] == []


def run_over(job: TwoTenants, *, named: bool) -> None:
    """A run that writes what was edited at the source. named: one over these assets alone."""
    job.edit("source")
    only = [job.source_of(target) for target in job.edited] if named else []
    job.run(**({"only": only} if named else {"full": True}))
