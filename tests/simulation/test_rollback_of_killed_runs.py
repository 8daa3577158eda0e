"""A run that was killed in the middle of all kinds of changes is rolled back: the target is as it was before that run,
or the report names each asset that is not."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from dam_sync.model.asset import Asset
from dam_sync.model.values import Term
from tests.simulation.conftest import TRIED
from tests.simulation.test_removal_crashes import restores
from tests.support.pairs import EVERY, KINDS
from tests.support.sample.rotation import OfToday
from tests.support.services.profiles import FOLDER
from tests.support.virtual.branching import Branch, Plan, branches
from tests.support.virtual.crashes import POINTS, SEED
from tests.support.virtual.fuse import AFTER, CALL, Fuse, Point
from tests.support.virtual.removals import Removals, removing
from tests.support.virtual.rollback_process import RunProcess, assets_of, differing, preview, roll_back, stays
from tests.support.virtual.source_edits import RENAMES
from tests.support.virtual.state_location import ask
from tests.support.virtual.target_edits import EDITS, Change, Edit, Hand, member, place, tags
from tests.support.virtual.two_tenants import ACCEPTED, REOPENS, TwoTenants, scene
from tests.support.virtual.universe import LAGS

EACH_KIND = max(6, POINTS // 4)  # crash points
DAY = 86400.0
RENAMING = [kind for kind in KINDS if kind in RENAMES]
ITSELF = "itself"  # the same service is the source
IN_HISTORY = ("versions:", "current:")  # where a version shows that is meant to stay
MADE = [
    *(("b_documents", "term"), ("e_profiles", "term")),
    *(("d_templates", "collection"), ("e_profiles", "category")),
]
SWAPPED = (Edit("tag swapped", "tags", tags(add="handmade", drop="sea")),)


@pytest.mark.parametrize("kind", ["b_documents", "c_brandlibrary", "e_profiles"])
def test_an_update_whose_response_was_lost_is_undone(tmp_path: Path, kind: str) -> None:
    for name in ("reference", "crashed"):
        (tmp_path / name).mkdir()
    with scene(tmp_path / "reference", kind, SWAPPED, exposure=REOPENS) as job:
        job.edit("source")
        last = [point for point in RunProcess(job).live().points() if (point.kind, point.when) == (CALL, AFTER)][-1]
    with scene(tmp_path / "crashed", kind, SWAPPED, exposure=REOPENS) as job:
        before = assets_of(job.target)
        job.edit("source")
        assert job.universe.live(job.job, Fuse(last), full=True).blown
        assert [*differing(before, assets_of(job.target))] != []
        report = roll_back(job, 2)
        assert [*differing(before, assets_of(job.target))] == []
        assert (report.done, report.nothing, report.counts) == (True, False, {"returned to earlier values": 1})
        assert job.run(full=True).counts["updated"] == 1
        assert job.verify()["clean"]


@pytest.mark.parametrize("kind", EVERY)
def test_an_update_that_was_recorded_of_an_asset_that_was_not_completed_is_undone(tmp_path: Path, kind: str) -> None:
    """All that the run wrote is such an update: no other asset says that there is something to undo."""
    source = KINDS[0] if kind == FOLDER else kind
    with scene(tmp_path, source, EDITS[source][:1], kind, exposure=REOPENS) as job:
        before = assets_of(job.target)
        job.edit("source")
        written = Fuse(
            until=lambda: bool(ask(job.job, "SELECT 1 FROM ledger WHERE run = 2 AND operation = 'update:1'"))
        )
        assert job.universe.live(job.job, written, full=True).blown
        assert [*differing(before, assets_of(job.target))] != []
        told, report = preview(job, 2), roll_back(job, 2)
        assert told.counts == report.counts == {"returned to earlier values": 1}
        assert [*differing(before, assets_of(job.target))] == []


@pytest.mark.parametrize("target", [ITSELF, FOLDER])
@pytest.mark.parametrize("kind", KINDS)
def test_what_a_killed_run_may_have_left_is_undone_or_named(
    tmp_path: Path, kind: str, target: str, record_property: Callable[[str, object], None], of_today: OfToday
) -> None:
    edits = EDITS[kind]
    for name in ("reference", "crashed"):
        (tmp_path / name).mkdir()
    into = "" if target == ITSELF else target
    with scene(tmp_path / "reference", kind, edits, into, exposure=ACCEPTED) as job:
        job.edit("source")
        every = RunProcess(job).live().points()
    plans = of_today([(point,) for point in points_of(kind, every)])
    with scene(tmp_path / "crashed", kind, edits, into, exposure=ACCEPTED) as job:
        before = assets_of(job.target)
        job.edit("source")
        came = list(branches(RunProcess(job), plans, partial(undone, job, before)))
    assert len(came) == len(plans)
    record_property(TRIED, str(sum(each.crashes for each in came)))
    assert [fault for each in came for fault in each.faults] == []


def points_of(kind: str, every: list[Point]) -> list[Point]:
    """As many moments after calls as others, by the number of crash points that is asked for."""
    rng = random.Random(f"{SEED} {kind}")
    calls = [point for point in every if (point.kind, point.when) == (CALL, AFTER)]
    others = [point for point in every if (point.kind, point.when) != (CALL, AFTER)]
    return [point for some in (calls, others) for point in rng.sample(some, min(EACH_KIND, len(some)))]


def undone(job: TwoTenants, before: Mapping[str, Mapping[str, Any]], plan: Plan) -> Branch:
    if not ask(job.job, "SELECT 1 FROM run WHERE id = 2"):
        return Branch(1)  # it was killed before the run began
    report = roll_back(job, 2)
    named = stays(job)
    faults = [*differing(before, assets_of(job.target), named)]
    beside = [told for told in differing(before, assets_of(job.target)) if told.split()[1] not in IN_HISTORY]
    if report.complete and beside:
        faults.append(f"complete, though {report.cannot} stay: {beside}")
    again = roll_back(job, 2)
    if any(count for fate, count in again.counts.items() if fate != "kept"):
        faults.append(f"undone twice: {again.counts}")
    return Branch(1, [f"{plan[0]}: {fault}" for fault in faults])


@pytest.mark.parametrize(
    ("target", "returning"),
    [(kind, False) for kind in EVERY] + [(kind, True) for kind in EVERY if restores(kind)],
    ids=lambda value: value if isinstance(value, str) else "restored" if value else "removed",
)
def test_a_removal_or_a_return_that_was_killed_is_undone(
    tmp_path: Path, target: str, returning: bool, of_today: OfToday
) -> None:
    """Two assets left the source, or are there again after they were removed."""
    kinds = ("b_documents" if target == KINDS[0] else KINDS[0], target)
    for name in ("reference", "crashed"):
        (tmp_path / name).mkdir()
    with removing(tmp_path / "reference", kinds, grace="0d") as job:
        moved_away(job, returning=returning)
        before = len(job.living())
        every = job.live().points()
        assert len(job.living()) - before == (2 if returning else -2)
    rng = random.Random(f"{SEED} {target} {returning}")
    plans = of_today([(point,) for point in rng.sample(every, min(2 * EACH_KIND, len(every)))])
    with removing(tmp_path / "crashed", kinds, grace="0d") as job:
        moved_away(job, returning=returning)
        runs = max(number for (number,) in ask(job.job, "SELECT id FROM run"))
        came = list(branches(job, plans, partial(as_before, job, runs + 1, assets_of(job.target), job.links())))
    assert len(came) == len(plans)
    assert [fault for each in came for fault in each.faults] == []


def moved_away(job: Removals, *, returning: bool) -> None:
    gone = list(job.links())[:2]
    job.remove(gone)
    if returning or job.source.kind == KINDS[0]:  # others list what was removed
        job.live()
    job.wait(DAY)
    if returning:
        job.live()
        job.wait(DAY)
        job.restore(gone)


def as_before(
    job: Removals, run: int, there: Mapping[str, Mapping[str, Any]], links: Mapping[str, str], plan: Plan
) -> Branch:
    if not ask(job.job, "SELECT 1 FROM run WHERE id = ?", run):
        return Branch(1)
    roll_back(job, run)
    named = stays(job)
    changed = {target for _, target in job.links().items() ^ links.items()}
    faults = [f"the link of {target}" for target in sorted(changed - named)]
    faults += differing(there, assets_of(job.target), named)
    return Branch(1, [f"{plan[0]}: {fault}" for fault in faults])


@pytest.mark.parametrize("kind", RENAMING)
def test_names_that_a_killed_run_gave_are_restored(tmp_path: Path, kind: str, of_today: OfToday) -> None:
    """Of terms and containers; also one of which the process did not live to know that the target has it."""
    for name in ("reference", "crashed"):
        (tmp_path / name).mkdir()
    with scene(tmp_path / "reference", kind, EDITS[kind][:1], exposure=ACCEPTED) as job:
        before = job.names()
        rename_at_source(job)
        every = RunProcess(job).live().points()
        assert before.items() - job.names().items(), "the run renamed nothing"
    rng = random.Random(f"{SEED} {kind}")
    plans = of_today([(point,) for point in rng.sample(every, min(2 * EACH_KIND, len(every)))])
    with scene(tmp_path / "crashed", kind, EDITS[kind][:1], exposure=ACCEPTED) as job:
        given, there = job.names(), assets_of(job.target)
        rename_at_source(job)
        came = list(branches(RunProcess(job), plans, partial(named_before, job, given, there)))
    assert len(came) == len(plans)
    assert [fault for each in came for fault in each.faults] == []


def rename_at_source(job: TwoTenants) -> None:
    for rename in RENAMES[job.source.kind]:
        rename(job.source.app.state)
    job.universe.do(job.universe.clock.sleep(LAGS))


def named_before(
    job: TwoTenants, given: Mapping[str, str], there: Mapping[str, Mapping[str, Any]], plan: Plan
) -> Branch:
    if not ask(job.job, "SELECT 1 FROM run WHERE id = 2"):
        return Branch(1)
    report = roll_back(job, 2)
    now = job.names()
    faults = [f"{key}: {now.get(key)!r} instead of {name!r}" for key, name in given.items() if now.get(key) != name]
    named = {row["what"] for row in report.cannot}
    if now.keys() - given.keys() and not named & {"created terms", "created containers"}:
        faults.append(f"left {now.items() - given.items()}, named are {report.cannot}")
    faults += [*differing(there, assets_of(job.target), stays(job))]
    return Branch(1, [f"{plan[0]}: {fault}" for fault in faults])


@pytest.mark.parametrize(("kind", "what"), MADE)
def test_a_name_whose_creation_was_killed_is_named(tmp_path: Path, kind: str, what: str) -> None:
    """The target has it, and the process did not live to know that."""
    edit = Edit("new name", "", term_made if what == "term" else container_made(what))
    with scene(tmp_path, kind, [edit], exposure=ACCEPTED) as job:
        job.edit("source")
        before = job.names()
        scope = "terms" if what == "term" else "containers"
        assert job.universe.live(job.job, Fuse(until=begun_in(job, scope)), full=True).blown
        assert job.names().items() - before.items(), "nothing was created"
        for report in (preview(job, 2), roll_back(job, 2), roll_back(job, 2)):
            assert f"created {scope}" in {row["what"] for row in report.cannot}
            assert report.complete


async def term_made(hand: Hand, asset: Asset) -> None:
    vocabulary = (await hand.service.schema()).fields[hand.key("subject")].vocabulary
    made = await hand.service.ensure_term(vocabulary, Term("Quite new"))
    await member("subject", add=made)(hand, asset)


def container_made(kind: str) -> Change:
    async def change(hand: Hand, asset: Asset) -> None:
        await hand.service.ensure_container(kind, ("Quite new",))
        await place(kind, into="Quite new", out_of="Ours")(hand, asset)

    return change


def begun_in(job: TwoTenants, scope: str) -> Callable[[], bool]:
    """Whether something was written after a name was about to be created."""
    chosen, trace = "SELECT 1 FROM step WHERE scope = ? AND state = 'intent'", job.universe.network.trace
    first = list[int]()

    def now() -> bool:
        if not first and ask(job.job, chosen, f"run:{scope}"):
            first.append(len(trace))
        return bool(first) and any(not call.startswith("GET") for _, call, _ in trace[first[0] :])

    return now
