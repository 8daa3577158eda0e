"""Crashes at commits, calls and changes of a folder while assets are removed, and while they come back: the next runs
finish it, once. `make sim N=10000 SEED=7` tries more of them, by another choice."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from dam_sync.model.capabilities import Operation
from dam_sync.model.errors import DamSyncError
from dam_sync.model.parking import ParkReason
from dam_sync.services import discover
from tests.simulation.conftest import TRIED
from tests.support.pairs import EVERY, EVERYTHING
from tests.support.sample.rotation import OfToday
from tests.support.services.profiles import FOLDER
from tests.support.virtual.branching import Branch, Plan, branches
from tests.support.virtual.crashes import POINTS, SEED
from tests.support.virtual.fuse import AFTER, CALL, Fuse
from tests.support.virtual.moves import LEFT
from tests.support.virtual.removals import Removals, note_of, removing
from tests.support.virtual.rollback_process import assets_of, differing
from tests.support.virtual.state_location import ask

EACH_CASE = max(4, POINTS // 40)  # crash points
RUNS = 4  # in which a crash must be made good
DAY = 86400.0
EACH = [(source, EVERY[(place + 1) % len(EVERY)]) for place, source in enumerate(EVERY)]
PAIRS = EACH if EVERYTHING else EACH[:1]


def restores(kind: str) -> bool:
    return Operation.RESTORE in discover()[kind].capabilities


RETURNING = [(EVERY[0], kind) for kind in EVERY if restores(kind) and (EVERYTHING or kind == EVERY[0])]

SERVICES = [(source, target) for source, target in RETURNING if target != FOLDER]


def gone(job: Removals) -> dict[str, str]:
    return dict(list(job.links().items())[:2])


def leave(job: Removals) -> None:
    """Two assets leave the source, and their grace period passes."""
    job.remove(gone(job))
    job.live()
    job.wait(2 * DAY)


def come_back(job: Removals) -> None:
    """The same were removed, and are at the source again."""
    sources = gone(job)
    leave(job)
    job.live()
    job.wait(DAY)
    job.restore(sources)


@pytest.mark.parametrize("kinds", PAIRS, ids=[f"{source[0]}-{target[0]}" for source, target in PAIRS])
def test_no_crash_removes_anything_else_or_anything_twice(
    tmp_path: Path, kinds: tuple[str, str], record_property: Callable[[str, object], None], of_today: OfToday
) -> None:
    came = tried(tmp_path, kinds, of_today, leave, removed=True)
    record_property(TRIED, str(sum(each.crashes for each in came)))
    assert [fault for each in came for fault in each.faults] == []


@pytest.mark.parametrize("kinds", RETURNING, ids=[target[0] for _, target in RETURNING])
def test_no_crash_brings_back_another_asset(
    tmp_path: Path, kinds: tuple[str, str], record_property: Callable[[str, object], None], of_today: OfToday
) -> None:
    came = tried(tmp_path, kinds, of_today, come_back, removed=False)
    record_property(TRIED, str(sum(each.crashes for each in came)))
    assert [fault for each in came for fault in each.faults] == []


def test_every_version_comes_back_after_a_crash_between_two_of_them(tmp_path: Path, of_today: OfToday) -> None:
    """Service D has each of them in its recycle bin; the asset counts as back once one of them is."""
    kinds = ("b_documents", "d_templates")
    for name in ("reference", "crashed"):
        (tmp_path / name).mkdir()
    with removing(tmp_path / "reference", kinds, grace="1d") as job:
        job.replace_files(gone(job))
        job.live()
        come_back(job)
        every = job.live().points()
    plans = of_today([(point,) for point in every if (point.kind, point.when) == (CALL, AFTER)])
    with removing(tmp_path / "crashed", kinds, grace="1d") as job:
        job.replace_files(gone(job))
        job.live()
        there = assets_of(job.target)
        come_back(job)
        came = list(branches(job, plans, partial(all_back, job, there)))
    assert [fault for each in came for fault in each.faults] == []


def all_back(job: Removals, there: Mapping[str, Mapping[str, Any]], plan: Plan) -> Branch:
    job.live()
    job.wait(DAY)
    return Branch(1, [f"{plan[0]}: {each}" for each in differing(there, assets_of(job.target), set())])


@pytest.mark.parametrize("edited", [False, True])
@pytest.mark.parametrize("kinds", SERVICES, ids=[target[0] for _, target in SERVICES])
def test_an_asset_that_a_crash_left_out_of_the_trash_goes_back_unless_people_changed_it(
    tmp_path: Path, kinds: tuple[str, str], edited: bool
) -> None:
    with removing(tmp_path, kinds, grace="1d") as job:
        sources, number = gone(job), len(job.target.assets)
        come_back(job)
        job.live(Fuse(until=lambda: bool(job.living() & {*sources.values()})))
        back = {source: target for source, target in sources.items() if target in job.living()}
        assert not back.keys() & job.links().keys(), "their return was recorded"
        job.wait(DAY)
        if edited:
            job.edit(back.values(), note_of(job.target), "by hand")
        job.remove(sources)
        for _ in range(RUNS):
            job.live()
            job.wait(DAY)
        assert job.living() & {*back.values()} == ({*back.values()} if edited else set())
        assert {row["cause"] for row in job.errors()} == ({ParkReason.CHANGED_AT_TARGET} if edited else set())
        if not edited:
            job.restore(sources)
            job.live()
            assert job.links().items() >= sources.items(), "the same assets come back"
            assert len(job.target.assets) == number


@pytest.mark.parametrize("edited", ["", "a value", "the file"])
def test_what_an_update_wrote_in_part_is_nobodys_change_of_an_asset_that_left_the_source(
    tmp_path: Path, edited: str
) -> None:
    """Its values were written, its new file could not be read, and then it left the source."""
    with removing(tmp_path, ("b_documents", "d_templates"), grace="0d") as job:
        sources = gone(job)
        job.retitle(sources)
        job.replace_files(sources)
        faults = job.source.app.state.faults
        faults.add([{"match": "GET /*/@blob/*", "do": "status:404"}])
        job.live()
        faults.clear()
        sources = {row["asset"]: sources[row["asset"]] for row in job.errors()}
        assert sources
        if edited == "a value":
            job.edit(sources.values(), note_of(job.target), "by hand")
        elif edited:
            job.replace_files(sources.values(), "target")
        job.remove(sources)
        for _ in range(RUNS):
            job.live()
            job.wait(DAY)
        assert job.living() & {*sources.values()} == ({*sources.values()} if edited else set())
        assert {row["cause"] for row in job.errors()} == ({ParkReason.CHANGED_AT_TARGET} if edited else set())


def tried(
    folder: Path, kinds: tuple[str, str], of_today: OfToday, before: Callable[[Removals], None], *, removed: bool
) -> list[Branch]:
    """Crashes in the run after `before`, each followed by runs until nothing is left to do."""
    for name in ("reference", "crashed"):
        (folder / name).mkdir()
    with removing(folder / "reference", kinds, grace="1d") as job:
        before(job)
        every = job.live().points()
    chosen = random.Random(f"{SEED} {kinds}").sample(every, min(EACH_CASE, len(every)))
    plans = of_today([(point,) for point in chosen])
    with removing(folder / "crashed", kinds, grace="1d") as job:
        links, living, number = job.links(), job.living(), len(job.target.assets)
        before(job)
        if removed:
            living -= set(gone(job).values())
            links = {source: target for source, target in links.items() if target in living}
        made = list(branches(job, plans, partial(survived, job, links, living, number, len(job.ledger()))))
        assert len(made) == len(plans)
        return made


def survived(job: Removals, links: dict[str, str], living: set[str], number: int, written: int, plan: Plan) -> Branch:
    """What a crash left, once the next runs are done."""
    faults: list[str] = []
    for _ in range(RUNS):
        job.wait(DAY)
        faults = [*stopped_by(job), *left_by(job, links, living, number, written)]
        if not faults:
            break
    return Branch(1, [f"{plan[0]}: {fault}" for fault in faults])


def stopped_by(job: Removals) -> Iterator[str]:
    """What stops the next run."""
    try:
        job.live()
    except DamSyncError as error:
        yield f"{error.cause}: {error.message}"


def left_by(job: Removals, links: dict[str, str], living: set[str], number: int, written: int) -> Iterator[str]:
    """What is not as if nothing had happened."""
    if job.living() != living:
        yield f"living: {sorted(job.living())} instead of {sorted(living)}"
    if job.links() != links:
        yield f"links: {job.links()} instead of {links}"
    if len(job.target.assets) != number:
        yield f"{len(job.target.assets)} assets instead of {number}"
    twice = {each: times for each, times in Counter(job.ledger()[written:]).items() if times > 1}
    if twice:
        yield f"written twice: {twice}"
    for table, rows in (*LEFT, ("deletion", "true")):
        if ask(job.job, f"SELECT count(*) FROM {table} WHERE {rows}") != [(0,)]:
            yield f"rows are left in {table}"
