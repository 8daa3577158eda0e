"""What people change of an asset whose create a killed run left incomplete is a conflict, and not written over."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from dam_sync.api.conflicts import ConflictRequest, job_conflicts
from dam_sync.api.jobs import run_job
from dam_sync.api.state_commands import job_errors
from dam_sync.model.asset import AssetId, Draft, Patch
from dam_sync.model.capabilities import Operation
from tests.support.pairs import EVERYTHING, KINDS
from tests.support.services.connections import Bytes
from tests.support.services.profiles import profile_of
from tests.support.state.memory_journal import MemoryJournal
from tests.support.virtual.fuse import BEFORE, CALL, Fuse, Point
from tests.support.virtual.moves import Move, Simulation, options_of
from tests.support.virtual.network_faults import Trouble
from tests.support.virtual.removals import ASSETS, removing
from tests.support.virtual.rollback_process import roll_back
from tests.support.virtual.state_location import ask
from tests.support.virtual.target_edits import BY_HAND
from tests.support.virtual.universe import LAGS, Tenant, Universe, job_of

PARTS = {
    "b_documents": 0.65,
    "c_brandlibrary": 0.55,
    "e_profiles": 0.6,
}  # of the calls of a move until its process ends
TARGETS = list(PARTS) if EVERYTHING else ["c_brandlibrary"]
EXPIRES = datetime(2044, 4, 4, tzinfo=UTC)


@pytest.mark.parametrize("target", TARGETS)
def test_what_people_changed_of_a_partial_create_is_a_conflict(tmp_path: Path, target: str) -> None:
    with killed(tmp_path, ("a_hypermedia", target), PARTS[target]) as move:
        partial = unlinked(move)
        assert partial, "nothing is partial yet"
        move.universe.do(edited(move, partial))
        before = by_hand(move, partial)
        move.live_to_the_end()
        found = conflicts(move)
        assert {row["value"] for row in found} == {title(move)}
        assert by_hand(move, partial) == before
        conflicts(move, take="source")
        move.live_to_the_end()
        assert (conflicts(move), unlinked(move)) == ([], [])
        assert len([each for each in by_hand(move, partial) if each[0] == BY_HAND]) == len(partial) - len(found)


def test_where_people_put_a_partial_create_is_a_conflict(tmp_path: Path) -> None:
    """It was created in a folder of its own, and is moved out of that when it is complete."""
    with killed(tmp_path, ("e_profiles", "b_documents"), 0.6) as move:
        partial = [row for row in unlinked(move) if folders(move, row) == ["dam-sync closed"]]
        assert partial, "nothing is partial yet"
        move.universe.do(moved(move, partial, "Somewhere else"))
        move.live_to_the_end()
        assert {row["value"] for row in conflicts(move)} == {"placements.folder"}
        assert {folder for row in partial for folder in folders(move, row)} == {"Somewhere else"}
        conflicts(move, take="source")
        move.live_to_the_end()
        assert (conflicts(move), unlinked(move)) == ([], [])
        assert "Somewhere else" not in {folder for row in partial for folder in folders(move, row)}


def test_a_partial_create_without_a_folder_of_its_own_stays_where_people_put_it(tmp_path: Path) -> None:
    simulation = Simulation(tmp_path, ("d_templates", "b_documents"))
    _, fuse = simulation.reference()
    calls = [point for point in fuse.points() if str(point).startswith("after call")]
    with simulation.moving() as move:
        partial: list[str] = []
        for part in (0.5, 0.55, 0.6, 0.65, 0.7):
            move.live(Fuse(calls[int(len(calls) * part)]))
            partial = [row for row in unlinked(move) if folders(move, row) == ["dam-sync closed"]]
            if partial:
                break
        assert partial, "nothing is partial yet"
        move.universe.do(moved(move, partial, "Somewhere else"))
        move.live_to_the_end()
        assert {folder for row in partial for folder in folders(move, row)} == {"Somewhere else"}
        assert unlinked(move) == []


def test_who_may_see_a_partial_create_is_no_edit_of_people(tmp_path: Path) -> None:
    """It is created where nobody but the job may see it, and is given its groups next."""
    simulation = Simulation(tmp_path, ("d_templates", "b_documents"))
    _, fuse = simulation.reference()
    calls = [point for point in fuse.points() if str(point).startswith("after call")]
    for number in range(len(calls) // 2, len(calls) * 3 // 4):
        with simulation.moving() as move:
            move.live(Fuse(calls[number]))
            partial = [row for row in unlinked(move) if folders(move, row) == ["dam-sync closed"]]
            if not any(row_of(move, row)["rights"]["groups"] for row in partial):
                move.live_to_the_end()
                assert (errors(move), unlinked(move)) == ([], []), calls[number]
                if partial:
                    return
    raise AssertionError("nothing is partial yet")


class TitledByFile(Simulation):
    """The target takes the name of a file for the title of a new asset."""

    def _tenant(self, universe: Universe, role: str, kind: str, rows: Sequence[Any]) -> Tenant:
        more = {"title_from_file": True} if role == "to" else {}
        return universe.tenant(kind, rows, **options_of(kind), **more)


def test_a_title_that_the_target_made_of_the_file_name_is_no_edit_of_people(tmp_path: Path) -> None:
    simulation = TitledByFile(tmp_path, ("e_profiles", "a_hypermedia"))
    _, fuse = simulation.reference()
    calls = [point for point in fuse.points() if str(point).startswith("after call")]
    partial = 0
    for part in (0.5, 0.55, 0.6, 0.65, 0.7):
        with simulation.moving() as move:
            move.live(Fuse(calls[int(len(calls) * part)]))
            partial += len(unlinked(move))
            move.live_to_the_end()
            assert (errors(move), unlinked(move)) == ([], []), part
    assert partial, "nothing is partial yet"


def test_a_status_that_people_gave_a_partial_create_is_a_conflict(tmp_path: Path) -> None:
    with killed(tmp_path, ("e_profiles", "b_documents"), 0.6) as move:
        partial = [row for row in unlinked(move) if row_of(move, row)["status"] == "draft"]
        assert partial, "nothing is partial yet"
        move.universe.do(archived(move, partial))
        move.live_to_the_end()
        assert {row["value"] for row in conflicts(move)} == {"status"}
        assert {row_of(move, row)["status"] for row in partial} == {"archived"}
        conflicts(move, take="source")
        move.live_to_the_end()
        assert (conflicts(move), unlinked(move)) == ([], [])
        assert "archived" not in {row_of(move, row)["status"] for row in partial}


@pytest.mark.parametrize("target", ["d_templates", "e_profiles"])
def test_a_partial_create_that_people_trashed_stays_in_the_trash(tmp_path: Path, target: str) -> None:
    with killed(tmp_path, ("a_hypermedia", target), PARTS.get(target, 0.65)) as move:
        partial = unlinked(move)
        assert partial, "nothing is partial yet"
        move.universe.do(trashed(move, partial))
        move.live_to_the_end()
        assert {row_of(move, row)["status"] for row in partial} == {"trash"}
        assert [row["cause"] for row in errors(move)] == ["in the trash of the target"] * len(partial)
        move.universe.do(trashed(move, partial, back=True))
        errors(move, retry=True)
        move.live_to_the_end()
        assert (errors(move), unlinked(move)) == ([], [])


@pytest.mark.parametrize(("source", "part", "renamed"), [("e_profiles", 0.6, False), ("c_brandlibrary", 0.8, True)])
def test_a_file_that_people_gave_a_partial_create_stays(
    tmp_path: Path, source: str, part: float, renamed: bool
) -> None:
    with killed(tmp_path, (source, "b_documents"), part) as move:
        partial = unlinked(move)
        assert partial, "nothing is partial yet"
        move.universe.do(filled(move, partial))
        theirs = {row: file_of(move, row) for row in partial}
        if renamed:
            move.universe.do(with_other_names(move))
        move.live_to_the_end()
        assert {row: file_of(move, row) for row in partial} == theirs


@pytest.mark.parametrize("edit", ["title", "file", ""])
@pytest.mark.parametrize("target", KINDS if EVERYTHING else ["a_hypermedia"])
def test_a_partial_create_that_people_changed_stays_when_its_asset_left_the_source(
    tmp_path: Path, target: str, edit: str
) -> None:
    with killed(tmp_path, ("a_hypermedia", target), PARTS.get(target, 0.65)) as move:
        partial = [row for row in unlinked(move) if not is_from(move, row, kept := last_source(move))]
        assert partial, "nothing is partial yet"
        if edit:
            move.universe.do(edited(move, partial) if edit == "title" else filled(move, partial))
        move.universe.do(trash_sources(move, kept))
        move.live_to_the_end()
        statuses = {row_of(move, row)["status"] == "trash" for row in partial}
        causes = {row["cause"] for row in errors(move)}
        assert statuses == {not edit}
        assert causes == ({"changed at the target"} if edit else set())


def last_source(move: Move) -> str:
    return max(row["id"] for row in move.source.assets if row["status"] != "trash")


def is_from(move: Move, identity: str, source: str) -> bool:
    """Whether an asset of the target has the marker of this one of the source."""
    return any(str(value).endswith(f"-{source}") for value in row_of(move, identity)["fields"].values())


async def trash_sources(move: Move, kept: str) -> None:
    """Every asset of the source that is not linked goes to its trash, but this one."""
    links = {source for (source,) in ask(move.job, "SELECT source FROM link")}
    async with move.service("source") as service:
        await service.schema()
        for row in move.source.assets:
            if row["id"] not in {*links, kept} and row["status"] != "trash":
                await service.remove(AssetId(row["id"]))
    await move.universe.clock.sleep(LAGS)


async def with_other_names(move: Move) -> None:
    """Files of the source get other names, and stay the same."""
    async with move.service("source") as service:
        await service.schema()
        for row in move.source.assets:
            if row["status"] != "trash":
                asset = await service.fetch(AssetId(row["id"]))
                await service.update(asset.id, Patch(filename=f"other {asset.filename}"))
    await move.universe.clock.sleep(LAGS)


async def filled(move: Move, partial: Sequence[str]) -> None:
    """With a new version each."""
    async with move.service("target") as service:
        await service.schema()
        for identity in partial:
            content = Bytes("by-hand.jpg", f"by hand {identity}".encode(), known=True)
            await service.replace(AssetId(identity), content, MemoryJournal())
    await move.universe.clock.sleep(LAGS)


@pytest.mark.parametrize("versions", ["current", "all"])
def test_a_file_of_a_partial_create_that_source_and_target_changed_is_not_replaced(
    tmp_path: Path, versions: str
) -> None:
    with killed(tmp_path, ("a_hypermedia", "b_documents"), 0.6) as move:
        partial = unlinked(move)
        assert partial, "nothing is partial yet"
        move.universe.do(filled(move, partial))
        theirs = {row: file_of(move, row) for row in partial}
        move.universe.do(with_other_files(move))
        yaml = YAML()
        job = yaml.load(move.job.read_text(encoding="utf-8"))
        job["policy"]["versions"] = versions
        with move.job.open("w", encoding="utf-8") as out:
            yaml.dump(job, out)
        move.live_to_the_end()
        assert {row: file_of(move, row) for row in partial} == theirs
        named = {row["cause"] for row in errors(move)} | {row["value"] for row in conflicts(move)}
        assert named & {"changed at the target", "file"}


async def with_other_files(move: Move) -> None:
    """Each living asset of the source gets a new version."""
    async with move.service("source") as service:
        await service.schema()
        for row in [row for row in move.source.assets if row["status"] != "trash"]:
            content = Bytes(row["filename"], f"changed {row['id']} since".encode(), known=True)
            await service.replace(AssetId(row["id"]), content, MemoryJournal())
    await move.universe.clock.sleep(LAGS)


def test_what_a_rollback_trashed_is_no_partial_create_of_a_later_run(tmp_path: Path) -> None:
    with removing(tmp_path, ("a_hypermedia", "d_templates")) as job:
        roll_back(job, 1)
        for number in range(10, 60, 10):
            job.live(Fuse(Point(CALL, BEFORE, number)))
        again = job.run()
        assert (again.parked, len(job.living())) == ([], ASSETS)


def test_a_create_that_began_nothing_is_not_searched_for(tmp_path: Path) -> None:
    simulation = Simulation(tmp_path, ("a_hypermedia", "e_profiles"))
    with simulation.moving() as move:
        move.live()
        usual = searches(move)
    with simulation.moving() as move:
        weather = move.universe.network.weather
        weather.lines.append(Trouble(move.target.app, "POST /v2/uploads", "status:400", nth=1))
        move.live()
        assert not weather.unhit()
        assert unlinked(move) == []
        before = searches(move)
        done = move.universe.do(job_errors(move.job, (), True, move.universe.clock, move.universe.storage))
        assert done["retried"] == 1
        move.live()
        assert searches(move) - before == usual + 1, (
            "and a listing shows that the uploads of the first run are complete"
        )
        assert unlinked(move) == []


def test_a_create_of_which_nothing_was_sent_leaves_no_name_behind(tmp_path: Path) -> None:
    """At a target that cannot rename: the asset is created with the name that it has then. It is one that the source
    does not list completely, so that it is read again."""
    with Simulation(tmp_path, ("a_hypermedia", "b_documents")).moving() as move:
        several = {row["id"] for row in move.source.assets if len(row["versions"]) > 1 and row["status"] != "trash"}
        move.live(Fuse(until=lambda: bool(intended(move) & several)))
        begun = intended(move) & several
        assert begun, "nothing is intended yet"
        found = renamed_and_resumed(move, begun)
        assert found == [("other.jpg", "other.jpg", "{}")]


def test_a_version_that_is_still_to_be_sent_brings_the_new_name_of_its_file(tmp_path: Path) -> None:
    """At a target that cannot rename: the first version was sent under the old name, and is the current one no more."""
    with Simulation(tmp_path, ("a_hypermedia", "b_documents")).moving() as move:
        several = {row["id"] for row in move.source.assets if len(row["versions"]) > 1 and row["status"] != "trash"}
        move.live(Fuse(until=lambda: bool(created(move) & several)))
        begun = created(move) & several
        assert begun, "nothing is created yet"
        found = renamed_and_resumed(move, begun)
        assert found == [("other.jpg", "other.jpg", "{}")] * len(begun)


def created(move: Move) -> set[str]:
    """Source assets that are created, and not complete."""
    rows = ask(move.job, "SELECT scope FROM step WHERE name = 'create' AND state = 'done'")
    sent = {scope for (scope,) in ask(move.job, "SELECT scope FROM step WHERE name LIKE 'version%'")}
    linked = {source for (source,) in ask(move.job, "SELECT source FROM link")}
    return {scope.partition(":")[2] for (scope,) in rows if scope not in sent} - linked


def intended(move: Move) -> set[str]:
    """Source assets whose create is intended and was not entered."""
    rows = ask(move.job, "SELECT scope, name FROM step")
    entered = {scope for scope, name in rows if name.startswith("in create")}
    linked = {source for (source,) in ask(move.job, "SELECT source FROM link")}
    return {scope.partition(":")[2] for scope, name in rows if "draft" in name and scope not in entered} - linked


@contextmanager
def killed(folder: Path, kinds: tuple[str, str], part: float) -> Iterator[Move]:
    """A move whose first process was killed after this part of its calls."""
    simulation = Simulation(folder, kinds)
    _, fuse = simulation.reference()
    calls = [point for point in fuse.points() if str(point).startswith("after call")]
    with simulation.moving() as move:
        move.live(Fuse(calls[int(len(calls) * part)]))
        yield move


async def moved(move: Move, partial: Sequence[str], name: str) -> None:
    """Each into a folder that nobody else uses."""
    async with move.service("target") as service:
        await service.schema()
        place = await service.ensure_container("folder", (name,), "")
        for identity in partial:
            await service.update(AssetId(identity), Patch(placements_add=frozenset({place})))
    await move.universe.clock.sleep(LAGS)


async def archived(move: Move, partial: Sequence[str]) -> None:
    async with move.service("target") as service:
        await service.schema()
        for identity in partial:
            await service.update(AssetId(identity), Patch(status="archived"))
    await move.universe.clock.sleep(LAGS)


async def trashed(move: Move, partial: Sequence[str], *, back: bool = False) -> None:
    """Into the trash, or out of it."""
    async with move.service("target") as service:
        await service.schema()
        for identity in map(AssetId, partial):
            if not back:
                await service.remove(identity)
            elif Operation.RESTORE in service.capabilities:
                await service.restore(identity, Draft(None, ""))
            else:
                tenant = move.target.app.state.tenant
                tenant.touched(replace(tenant.assets[identity], deleted=None))
    await move.universe.clock.sleep(LAGS)


def searches(move: Move) -> int:
    """Calls to the target's search."""
    return sum(n for (_, name), n in move.target.app.world.api_days.items() if name == "GET /v2/assets/search")


async def edited(move: Move, partial: Sequence[str]) -> None:
    """Title and expiry of each."""
    async with move.service("target") as service:
        await service.schema()
        for identity in partial:
            asset = await service.fetch(AssetId(identity))
            rights = replace(asset.rights, expires_at=EXPIRES)
            await service.update(asset.id, Patch(fields={title(move).removeprefix("fields."): BY_HAND}, rights=rights))
    await move.universe.clock.sleep(LAGS)


def title(move: Move) -> str:
    return f"fields.{profile_of(move.target.kind).prefix}title"


def by_hand(move: Move, partial: Sequence[str]) -> list[tuple[Any, Any]]:
    key = title(move).removeprefix("fields.")
    return [(row["fields"].get(key), row["rights"]) for row in move.target.assets if row["id"] in partial]


def conflicts(move: Move, take: str = "") -> list[dict[str, Any]]:
    asked = ConflictRequest(take) if take else None
    done = job_conflicts(move.job, asked, move.universe.clock, move.universe.storage)
    return list(move.universe.do(done)["conflicts"])


def errors(move: Move, *, retry: bool = False) -> list[dict[str, Any]]:
    causes = sorted({row["cause"] for row in errors(move)}) if retry else ()
    done = job_errors(move.job, causes, retry, move.universe.clock, move.universe.storage)
    return list(move.universe.do(done)["assets"])


def row_of(move: Move, identity: str) -> Mapping[str, Any]:
    return next(row for row in move.target.assets if row["id"] == identity)


def file_of(move: Move, identity: str) -> str:
    return str(row_of(move, identity)["versions"][-1]["digests"]["sha256"])


def folders(move: Move, identity: str) -> list[str]:
    return [row["path"][-1] for row in row_of(move, identity)["placements"] if row["kind"] == "folder"]


def unlinked(move: Move) -> list[str]:
    """Living assets of the target that no link leads to."""
    links = {target for (target,) in ask(move.job, "SELECT target FROM link")}
    return [row["id"] for row in move.target.assets if row["status"] != "trash" and row["id"] not in links]


def renamed_and_resumed(move: Move, begun: Set[str]) -> list[tuple[str, str, str]]:
    """The last version of these gets another name at the source; then the run goes on. Of each, the file name at the
    target and in its link, and what is kept of it."""
    library = move.source.app.state.instance.library
    for identity in begun:
        media = library.medias[int(identity)]
        *older, last = media.versions
        library.store(replace(media, versions=(*older, replace(last, name="other.jpg"))))
    report = move.universe.do(run_job(job_of(move.job), move.universe.options()))
    assert [loss for loss in report.losses if loss["path"] == "filename"] == []
    links = ask(move.job, "SELECT source, target, filename, kept FROM link")
    return [(row_of(move, target)["filename"], name, kept) for source, target, name, kept in links if source in begun]
