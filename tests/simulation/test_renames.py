"""Terms and containers with other names at the source: those of the target get them, as if they had always had them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from dam_sync.api.jobs import plan_job, run_job
from dam_sync.model.asset import AssetId, Patch
from dam_sync.model.counterpart import PLACED
from dam_sync.model.errors import SafetyStop
from dam_sync.report.report import Report
from tests.simulation.conftest import TRIED
from tests.support.jobs.rollbacks import assets_of
from tests.support.pairs import EVERYTHING, KINDS, ids, pairs
from tests.support.services.profiles import profile_of
from tests.support.virtual.crashes import POINTS, SEED, tried
from tests.support.virtual.fuse import Fuse
from tests.support.virtual.moves import Move, Simulation, State, differences
from tests.support.virtual.source_edits import OCEAN, OURS, RENAMED, RENAMES, SEA
from tests.support.virtual.state_location import ask
from tests.support.virtual.target_edits import REPLACED
from tests.support.virtual.two_tenants import ACCEPTED, TwoTenants, scene
from tests.support.virtual.universe import LAGS

PAIRS = [pair for pair in pairs(1) if pair[0] in RENAMES and pair[1] in KINDS]
CONTAINERS, TERMS = ("Press", "News"), ("Sea", "Ocean")
OLD = TERMS[0]
CONSTANT = "  - {const: Imports, as: collection}\n"


def rename(move: Move) -> None:
    """A container that has others below it, and a term."""
    container, term = RENAMES[move.source.kind]
    container(move.source.app.state, *CONTAINERS)
    term(move.source.app.state, *TERMS)
    move.universe.do(move.universe.clock.sleep(LAGS))


class RenamingMove(Move):
    """Its change is one of names alone."""

    def change(self) -> None:
        """See `Move.change`."""
        self.full = True
        rename(self)


class RenamingSimulation(Simulation):
    """Moves whose change is one of names alone."""

    @contextmanager
    def moving(self, *, seed: int | None = None) -> Iterator[Move]:
        """See `Simulation.moving`."""
        with super().moving(seed=seed) as move:
            yield RenamingMove(move.universe, move.source, move.target, move.job)


def state_after(folder: Path, kinds: tuple[str, str], *steps: Callable[[Move], Any]) -> State:
    folder.mkdir()
    with Simulation(folder, kinds, SEED).moving() as move:
        for step in steps:
            step(move)
        return move.state()


def full_run(move: Move) -> None:
    move.full = True
    move.live()


@pytest.mark.parametrize("kinds", PAIRS, ids=ids(PAIRS))
def test_a_target_looks_as_if_the_new_names_had_been_there_from_the_start(
    tmp_path: Path, kinds: tuple[str, str]
) -> None:
    """But for what it had by the old names before anything was moved, and the place and other languages of a term."""
    early = state_after(tmp_path / "early", kinds, rename, Move.live)
    late = state_after(tmp_path / "late", kinds, Move.live, rename, full_run)
    if kinds[1] == "c_brandlibrary":  # an asset stays in its section, which nobody can rename
        assert not any(OLD in (row["fields"].get("subject") or ()) for row in late.assets)
        sections = {path[0] for kind, path in late.containers if kind == "section"}
        assert not {name for name in sections if name.startswith(CONTAINERS[1])}, "an empty section was made"
        return
    assert bare(late.assets) == bare(early.assets)
    if kinds[0] != "d_templates" or kinds[1] == kinds[0]:  # its containers have no levels, as the target's own have
        assert late.containers == [each for each in early.containers if not is_old(each, kinds[0])]
    if kinds[0] != "e_profiles":  # its words have no ids
        assert labels(late) == [(name, label) for name, label in labels(early) if label != OLD]


def test_assets_whose_section_keeps_the_old_name_of_their_folder_are_named(tmp_path: Path) -> None:
    with Simulation(tmp_path, ("b_documents", "c_brandlibrary")).moving() as move:
        move.live()
        rename(move)
        held = [row["id"] for row in move.source.assets if [CONTAINERS[1]] == row["placements"][0]["path"][:1]]
        report = move.universe.do(run_job(move.job, move.universe.options(full=True)))
        assert held
        assert [loss["assets"] for loss in report.losses if loss["path"] == "placements.section"] == [len(held)]


def test_containers_that_only_the_mapping_names_are_known_to_other_jobs(tmp_path: Path) -> None:
    """Which leave them their names, though nothing of this source stands for them."""
    with Simulation(tmp_path, ("a_hypermedia", "d_templates"), SEED).moving() as move:
        mapping = move.job.with_name("mapping.yaml")
        text = mapping.read_text(encoding="utf-8")
        mapping.write_text(text.replace("placements:\n", f"placements:\n{CONSTANT}", 1), encoding="utf-8")
        move.live()
        assert [place for place in move.state().containers if place[1] == ("Imports",)] == [
            ("collection", ("Imports",))
        ]
        rows = ask(move.job, "SELECT part, place, name FROM counterpart WHERE part NOT IN ('term', 'container')")
    assert rows == [(PLACED, "collection", '["Imports"]')]


def bare(value: Any) -> Any:
    """Terms by their labels alone."""
    if isinstance(value, dict):
        return value["label"] if "label" in value else {key: bare(each) for key, each in value.items()}
    return [bare(each) for each in value] if isinstance(value, list) else value


def is_old(container: tuple[str, tuple[str, ...]], source: str) -> bool:
    """Whether it has the old name, or is below; a service without levels has both as neighbors."""
    path = tuple(name for part in container[1] for name in part.replace(" ／ ", " / ").split(" / "))
    return path[:1] == CONTAINERS[:1] and (source != "d_templates" or len(path) == 1)


def labels(state: State) -> list[tuple[str, str]]:
    return sorted((name, path[-1]) for name, path in state.terms)


CRASHES = PAIRS if EVERYTHING else [pair for pair in PAIRS if pair == ("d_templates", "a_hypermedia")] or PAIRS[:1]


@pytest.mark.parametrize("kinds", CRASHES, ids=ids(CRASHES))
def test_no_crash_renames_twice_or_leaves_a_trace(
    tmp_path: Path, kinds: tuple[str, str], record_property: Callable[[str, object], None]
) -> None:
    came = tried(RenamingSimulation(tmp_path, kinds, SEED), max(4, POINTS // 20), changing=1.0)
    record_property(TRIED, str(came))
    assert came.faults == [], f"seed {came.seed}"


def test_a_rename_that_was_made_in_part_is_completed(tmp_path: Path) -> None:
    """Service D shows a new name of a value at its assets only after a second call."""
    kinds = ("d_templates", "d_templates")
    want, _ = RenamingSimulation(tmp_path / "want", kinds, SEED).reference(later=True)
    with RenamingSimulation(tmp_path / "crashed", kinds, SEED).moving() as move:
        move.live()
        move.change()
        trace = move.universe.network.trace
        assert move.live(Fuse(until=lambda: trace[-1][1].startswith("PATCH /v1/metadata/vocabulary"))).blown
        move.live_to_the_end()
        assert list(differences(move.state(), want, in_doubt=1)) == []


def test_a_plan_names_what_is_renamed_and_a_run_follows_it(tmp_path: Path) -> None:
    with Simulation(tmp_path, ("a_hypermedia", "e_profiles")).moving() as move:
        move.live()
        rename(move)
        file = tmp_path / "plan.json"
        plan = move.universe.do(plan_job(move.job, move.universe.options(full=True, output=file)))
        said = {row["what"] for row in json.loads(file.read_text(encoding="utf-8"))["operations"]}
        assert said == {"category:/Press:/News", "subject:Sea:Ocean"}
        run = move.universe.do(run_job(move.job, move.universe.options(plan=file)))
        assert (run.operations, run.digest) == (plan.operations, plan.digest)
        assert "the run did exactly what its plan lists, operation by operation" in run.notes


def test_a_rename_that_a_plan_does_not_name_stops_the_run(tmp_path: Path) -> None:
    with Simulation(tmp_path, ("a_hypermedia", "e_profiles")).moving() as move:
        move.live()
        file = tmp_path / "plan.json"
        move.universe.do(plan_job(move.job, move.universe.options(full=True, output=file)))
        rename(move)
        with pytest.raises(SafetyStop, match="the plan is out of date"):
            move.universe.do(run_job(move.job, move.universe.options(plan=file)))


# -- what others did at the target -------------------------------------------------------------------------------------

THEIRS, MEER = "Theirs", "Meer"
ABLE = [kind for kind in RENAMES if EVERYTHING or kind[0] == "d"]
each_able = pytest.mark.parametrize("kind", ABLE, ids=[kind[0] for kind in ABLE])


def renamed(made: TwoTenants, role: str, container: str, term: str) -> None:
    """Ours and Sea, at one service. Values of lists without ids get no other name."""
    state = (made.source if role == "source" else made.target).app.state
    rename_container, rename_term = RENAMES[made.source.kind]
    rename_container(state, OURS, container)
    if has_ids(made):
        rename_term(state, SEA, term)


def has_ids(made: TwoTenants) -> bool:
    return made.source.kind != "e_profiles"


async def renamed_kinds(made: TwoTenants) -> frozenset[str]:
    async with made.service() as service:
        return service.capabilities.renames


def ended(made: TwoTenants) -> set[str]:
    """Those of the names in question that there are at the target."""
    asked = {f"/{name}" for name in (OURS, RENAMED, THEIRS)} | ({SEA, OCEAN, MEER} if has_ids(made) else set())
    kinds = made.universe.do(renamed_kinds(made))  # others have some of these names, too
    names = made.names().items()
    return {name for key, name in names if name in asked and (name[0] != "/" or key.split()[0] in kinds)}


def noted(report: Report) -> str:
    return " ".join(note for note in report.notes if "not renamed" in note)


@each_able
def test_a_name_that_others_gave_at_the_target_stays(tmp_path: Path, kind: str) -> None:
    with scene(tmp_path, kind, (), exposure=ACCEPTED) as made:
        renamed(made, "target", THEIRS, MEER)
        report = made.run(full=True)
        assert (report.operations, noted(report)) == ({}, "")
        assert ended(made) == {f"/{THEIRS}"} | ({MEER} if has_ids(made) else set())
        found = made.verify()["differences"]
        assert {difference["pattern"] for _, _, difference in found} == {"renamed at the target"}


@each_able
def test_names_that_both_changed_are_resolved_by_policy(tmp_path: Path, kind: str) -> None:
    with scene(tmp_path, kind, (), exposure=ACCEPTED) as made:
        renamed(made, "target", THEIRS, MEER)
        renamed(made, "source", RENAMED, OCEAN)
        theirs = {f"/{THEIRS}"} | ({MEER} if has_ids(made) else set())
        for _ in range(2):
            report = made.run(full=True)
            assert (report.operations, ended(made)) == ({}, theirs)
            assert "renamed at the target, too" in noted(report)
        made.policy(exposure=ACCEPTED, conflicts="source")
        plan, report = made.plan(full=True), made.run(full=True)
        assert plan.operations == report.operations
        assert set(report.operations) <= {"rename_container", "rename_term"}
        assert noted(report) == ""
        assert ended(made) == {f"/{RENAMED}"} | ({OCEAN} if has_ids(made) else set())
        assert missed_nothing(made)


@each_able
def test_an_asset_goes_to_the_container_that_both_renamed_though_another_one_has_its_former_name(
    tmp_path: Path, kind: str
) -> None:
    with scene(tmp_path, kind, (), exposure=ACCEPTED) as made:
        asset = made.target.assets[0]["id"]
        made.universe.do(put(made, made.source_of(asset), OURS, into=False))
        made.run(full=True)
        rename_container, _ = RENAMES[kind]
        rename_container(made.target.app.state, OURS, THEIRS)
        rename_container(made.source.app.state, OURS, RENAMED)
        made.run(full=True)
        before = folders(made)
        made.universe.do(another_named(made, OURS))
        made.universe.do(put(made, made.source_of(asset), RENAMED, into=True))
        made.run(full=True)
        assert folders(made) == {**before, asset: {*before[asset], THEIRS}}
        assert {difference["pattern"] for _, _, difference in made.verify()["differences"]} == {"renamed at the target"}


def folders(made: TwoTenants) -> dict[str, set[str]]:
    """The names of those that each asset of the target is in."""
    kind = profile_of(made.target.kind).containers["folder"]
    places = {asset: row["placements"] for asset, row in assets_of(made.target).items()}
    return {asset: {place["path"][-1] for place in those if place["kind"] == kind} for asset, those in places.items()}


async def put(made: TwoTenants, asset: str, name: str, *, into: bool) -> None:
    """Into a container of the source, or out of it."""
    async with made.service("source") as service:
        await service.schema()
        kind = profile_of(made.source.kind).containers["folder"]
        found = frozenset(
            [place async for place in service.containers() if (place.kind, place.path) == (kind, (name,))]
        )
        await service.fetch(AssetId(asset))
        await service.update(AssetId(asset), Patch(placements_add=found) if into else Patch(placements_remove=found))


async def another_named(made: TwoTenants, name: str) -> None:
    async with made.service() as service:
        await service.ensure_container(profile_of(made.target.kind).containers["folder"], [name])


def met_by_a_run(made: TwoTenants, rename: Callable[..., None], ours: str, theirs: str, new: str) -> Report:
    """The run after others renamed something at the target, a run met it there, and the source renamed it."""
    rename(made.target.app.state, ours, theirs)
    made.edited = {row["id"]: REPLACED for row in made.target.assets}
    made.change_source(REPLACED.change)
    made.run(full=True)
    rename(made.source.app.state, ours, new)
    return made.run(full=True)


@each_able
def test_a_name_that_others_gave_is_theirs_also_after_runs_that_met_it(tmp_path: Path, kind: str) -> None:
    with scene(tmp_path, kind, (), exposure=ACCEPTED) as made:
        report = met_by_a_run(made, RENAMES[kind][0], OURS, THEIRS, RENAMED)
        assert ("rename_container" in report.operations, f"/{THEIRS}" in ended(made)) == (False, True)
        assert "renamed at the target, too" in noted(report)


@each_able
def test_a_name_that_others_gave_a_term_is_theirs_also_after_runs_that_met_it(tmp_path: Path, kind: str) -> None:
    with scene(tmp_path, kind, (), exposure=ACCEPTED) as made:
        report = met_by_a_run(made, RENAMES[kind][1], SEA, MEER, OCEAN)
        if has_ids(made):
            assert not {"rename_term", "term", "update"} & report.operations.keys()
            assert {SEA, OCEAN, MEER} & ended(made) == {MEER}
            assert "renamed at the target, too" in noted(report)


@each_able
def test_the_name_of_the_target_is_used_by_policy_however_often_the_source_renames(tmp_path: Path, kind: str) -> None:
    with scene(tmp_path, kind, (), exposure=ACCEPTED, conflicts="target") as made:
        renamed(made, "target", THEIRS, MEER)
        container, term = RENAMES[made.source.kind]
        for old, new in (((OURS, SEA), (RENAMED, OCEAN)), ((RENAMED, OCEAN), ("Later", "Lake"))):
            container(made.source.app.state, old[0], new[0])
            term(made.source.app.state, old[1], new[1])
            report = made.run(full=True)
            if has_ids(made):
                assert (report.operations, noted(report)) == ({}, "")
                assert ended(made) == {f"/{THEIRS}", MEER}


@each_able
def test_the_name_of_the_target_is_used_by_policy(tmp_path: Path, kind: str) -> None:
    with scene(tmp_path, kind, (), exposure=ACCEPTED, conflicts="target") as made:
        renamed(made, "target", THEIRS, MEER)
        renamed(made, "source", RENAMED, OCEAN)
        for _ in range(2):
            report = made.run(full=True)
            assert (report.operations, noted(report)) == ({}, "")
        assert ended(made) == {f"/{THEIRS}"} | ({MEER} if has_ids(made) else set())


@each_able
def test_what_has_the_new_name_already_is_used_and_the_old_one_named(tmp_path: Path, kind: str) -> None:
    with scene(tmp_path, kind, (), exposure=ACCEPTED) as made:
        made.make_named(RENAMED, OCEAN)
        renamed(made, "source", RENAMED, OCEAN)
        report = made.run(full=True)
        assert not {"rename_container", "rename_term", "container", "term"} & report.operations.keys()
        assert "the target has something of the new name" in noted(report)
        assert (f"/{OURS} (now /{RENAMED})" in noted(report), SEA in noted(report)) == (True, has_ids(made))
        assert ended(made) == {f"/{OURS}", f"/{RENAMED}"} | ({SEA, OCEAN} if has_ids(made) else set())
        assert missed_nothing(made)
        assert noted(made.run(full=True)) == ""


def missed_nothing(made: TwoTenants) -> bool:
    return bool(made.verify()["clean"])


def test_a_container_that_moved_to_another_parent_moves_at_the_target(tmp_path: Path) -> None:
    with scene(tmp_path, "e_profiles", (), exposure=ACCEPTED) as made:
        taxonomy = made.source.app.state.tenant.taxonomy
        spare = next(each for each in taxonomy.categories.values() if each.title == "Spare")
        ours = next(each for each in taxonomy.categories.values() if each.title == OURS)
        taxonomy.move(ours, spare.id)
        plan, report = made.plan(full=True), made.run(full=True)
        assert plan.operations == report.operations == {"rename_container": 1}
        assert (f"/Spare/{OURS}" in made.names().values(), ended(made)) == (True, set())
        assert missed_nothing(made)


def test_a_name_that_others_gave_a_level_above_is_theirs(tmp_path: Path) -> None:
    """Also where only a container below it has assets."""
    with scene(tmp_path, "e_profiles", (), exposure=ACCEPTED) as made:
        source, target = (tenant.app.state.tenant.taxonomy for tenant in (made.source, made.target))
        spare, ours = (
            next(each for each in source.categories.values() if each.title == name) for name in ("Spare", OURS)
        )
        source.move(ours, spare.id)
        made.run(full=True)
        target.rename(next(each for each in target.categories.values() if each.title == "Spare"), THEIRS)
        assert made.run(full=True).operations == {}
        source.rename(spare, RENAMED)
        for _ in range(2):
            report = made.run(full=True)
            assert report.operations == {}
            assert "renamed at the target, too" in noted(report)
            assert f"/{THEIRS}/{OURS}" in made.names().values()
        made.policy(exposure=ACCEPTED, conflicts="source")
        made.run(full=True)
        assert f"/{RENAMED}/{OURS}" in made.names().values()


def test_a_folder_that_moved_is_created_where_the_target_cannot_move_it(tmp_path: Path) -> None:
    with scene(tmp_path, "a_hypermedia", (), exposure=ACCEPTED) as made:
        folders = made.source.app.state.instance.library.folders
        spare, ours = (next(each for each in folders.by_id.values() if each.title == name) for name in ("Spare", OURS))
        folders.roots.remove(ours.id)
        spare.children.append(ours.id)
        ours.parent = spare.id
        report = made.run(full=True)
        assert report.operations.keys() == {"container", "update"}
        assert "cannot move it to another parent: no call moves a folder" in noted(report)
        assert {f"/Spare/{OURS}", f"/{OURS}"} <= set(made.names().values())
        assert missed_nothing(made)
