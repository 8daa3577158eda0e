"""Terms and containers that a run renamed get their former names back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from dam_sync.engine.rollback.asset import TRASHED
from dam_sync.model.asset import AssetId, Placement
from dam_sync.model.capabilities import Operation
from dam_sync.model.values import Term
from dam_sync.services import discover
from tests.support.pairs import EVERYTHING, KINDS
from tests.support.sample.rotation import OfToday
from tests.support.services.connections import Bytes
from tests.support.services.profiles import profile_of
from tests.support.state.memory_journal import MemoryJournal
from tests.support.virtual.branching import Branch, Plan, branches
from tests.support.virtual.fuse import AFTER, Fuse
from tests.support.virtual.rollback_process import RollbackProcess, assets_of, differing, roll_back
from tests.support.virtual.source_edits import RENAMES
from tests.support.virtual.target_edits import EDITS
from tests.support.virtual.two_tenants import ACCEPTED, TwoTenants, scene
from tests.support.virtual.universe import LAGS

RENAMING = {Operation.RENAME_TERM, Operation.RENAME_CONTAINER}
ABLE = [kind for kind in KINDS if discover()[kind].capabilities.operations & RENAMING and kind in RENAMES]
Names = tuple[list[Term], list[Placement]]


async def names_of(job: TwoTenants) -> Names:
    async with job.service() as service:
        vocabulary = (await service.schema()).fields[f"{profile_of(job.target.kind).prefix}subject"].vocabulary
        terms = sorted([term async for term in service.terms(vocabulary)], key=lambda term: term.path)
        places = sorted([place async for place in service.containers()], key=lambda place: (place.kind, place.path))
    return terms, places


@pytest.mark.parametrize("full", [True, False], ids=["full", "delta"])
@pytest.mark.parametrize("kind", ABLE if EVERYTHING else ABLE[-1:])
def test_renamed_terms_and_containers_are_renamed_back(tmp_path: Path, kind: str, full: bool) -> None:
    """And the next run renames them again."""
    with scene(tmp_path, kind, EDITS[kind][:1], exposure=ACCEPTED) as job:
        do, before, (terms, places) = job.universe.do, assets_of(job.target), job.universe.do(names_of(job))
        for rename in RENAMES[kind]:
            rename(job.source.app.state)
        do(job.universe.clock.sleep(LAGS))
        renamed = sum(number for name, number in job.run(full=True).operations.items() if name.startswith("rename"))
        assert renamed
        report = roll_back(job, 2)
        assert report.counts["renamed back"] == renamed
        now = do(names_of(job))
        assert {term.path for term in terms} <= {term.path for term in now[0]}
        assert {row["what"] for row in report.cannot} == ({"created terms"} if len(now[0]) > len(terms) else set())
        assert now[1] == places
        assert [*differing(before, assets_of(job.target))] == []
        assert roll_back(job, 2).nothing
        again = job.run(full=full).operations
        assert sum(number for name, number in again.items() if name.startswith("rename")) == renamed
        assert job.verify()["clean"]
        assert not any(name.startswith("rename") for name in job.run(full=True).operations)


@pytest.mark.parametrize("kind", ABLE if EVERYTHING else ABLE[:1])
def test_a_name_that_others_gave_keeps_no_asset_from_being_undone(tmp_path: Path, kind: str) -> None:
    """Words of service E have no ids: another name is another word of the asset."""
    with scene(tmp_path, kind, EDITS[kind][:1], exposure=ACCEPTED) as job:
        for rename in RENAMES[kind][: 1 if kind == "e_profiles" else None]:
            rename(job.target.app.state)
        job.universe.do(job.settle())
        report = roll_back(job, 1)
        assert {row["what"]: row["reason"] for row in report.cannot if row["what"] == "created assets"} == {}
        assert report.counts[TRASHED] == len(job.target.assets)


def test_a_name_that_was_restored_in_part_is_restored_completely(tmp_path: Path) -> None:
    """Service D shows a former name of a value at its assets only after a second call."""
    kind = "d_templates"
    with scene(tmp_path, kind, EDITS[kind][:1], exposure=ACCEPTED) as job:
        before = assets_of(job.target)
        for rename in RENAMES[kind]:
            rename(job.source.app.state)
        job.universe.do(job.universe.clock.sleep(LAGS))
        job.run(full=True)
        trace = job.universe.network.trace
        assert (
            RollbackProcess(job, 2)
            .live(Fuse(until=lambda: trace[-1][1].startswith("PATCH /v1/metadata/vocabulary")))
            .blown
        )
        roll_back(job, 2)
        assert roll_back(job, 2).nothing
        assert [*differing(before, assets_of(job.target))] == []


@pytest.mark.parametrize("kind", ABLE if EVERYTHING else ABLE[-2:-1])
def test_a_name_that_a_killed_rollback_restored_is_written_again_once_it_is_abandoned(
    tmp_path: Path, kind: str, of_today: OfToday
) -> None:
    """Also one that had its former name again, and of which the state did not know yet."""
    for name in ("reference", "crashed"):
        (tmp_path / name).mkdir()
    with renamed_scene(tmp_path / "reference", kind) as job:
        want = job.names()
        every = [point for point in RollbackProcess(job, 2).live().points() if point.when == AFTER]
    plans = of_today([(point,) for point in every])
    with renamed_scene(tmp_path / "crashed", kind) as job:
        came = list(branches(RollbackProcess(job, 2), plans, partial(given_up, job, want)))
    assert [fault for each in came for fault in each.faults] == []


@contextmanager
def renamed_scene(folder: Path, kind: str) -> Iterator[TwoTenants]:
    """A run renamed terms and containers."""
    with scene(folder, kind, EDITS[kind][:1], exposure=ACCEPTED) as job:
        for rename in RENAMES[kind]:
            rename(job.source.app.state)
        job.universe.do(job.universe.clock.sleep(LAGS))
        assert any(name.startswith("rename") for name in job.run(full=True).operations)
        yield job


def given_up(job: TwoTenants, want: Mapping[str, str], plan: Plan) -> Branch:
    report = job.run(full=True, accept_changes=True)
    faults = [f"parked {report.parked}"] if report.parked else []
    faults += [f"{key}: {name}" for key, name in job.names().items() if want.get(key) != name]
    faults += [f"{difference['pattern']}" for _, _, difference in job.verify()["differences"]]
    return Branch(1, [f"{plan[0]}: {fault}" for fault in faults])


def test_a_file_that_is_added_again_after_a_rollback_brings_its_name_again(tmp_path: Path) -> None:
    """Service B cannot rename an asset: the name goes with the version that is current."""
    kind = "b_documents"
    with scene(tmp_path, kind, EDITS[kind][:1], exposure=ACCEPTED) as job:
        do, first = job.universe.do, job.source.assets[0]
        do(replaced(job, str(first["id"]), "renamed.jpg"))
        do(job.universe.clock.sleep(LAGS))
        assert job.run(full=True).operations
        before = names(job)
        assert "renamed.jpg" in before
        roll_back(job, 2)
        assert first["filename"] in names(job)
        job.run(full=True)
        assert names(job) == before
        assert job.verify()["clean"]


async def replaced(job: TwoTenants, asset: str, name: str) -> None:
    """Somebody puts a file of another name into an asset of the source."""
    async with job.service("source") as service:
        await service.schema()
        await service.replace(AssetId(asset), Bytes(name, b"other" * 99, known=True), MemoryJournal())


def names(job: TwoTenants) -> list[str]:
    """File names at the target."""
    return sorted(str(row["filename"]) for row in job.target.assets)
