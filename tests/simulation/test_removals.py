"""What left the source goes to the trash of the target: after its grace period, confirmed, capped, and back again."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from dam_sync.api.jobs import run_job
from dam_sync.emulators import emulated_kinds
from dam_sync.model.errors import Denied, SafetyStop, StopRequested, TruncatedListing
from dam_sync.report.report import Report
from dam_sync.services import discover
from tests.support.pairs import EVERYTHING
from tests.support.virtual.lying_listings import LIES, Lie, planted
from tests.support.virtual.moves import Simulation
from tests.support.virtual.removals import ASSETS, Removals, note_of, removing
from tests.support.virtual.rollback_process import roll_back
from tests.support.virtual.universe import LAGS, job_of

KINDS = {kind[0]: kind for kind in emulated_kinds()}
BACK = "they left the trash of the source, or other versions of them are there"
WEEK = 8 * 86400.0
PLANTED = 500 if EVERYTHING else 12
READ_ONLY = {"baskets", "whoami", "assets", "search"}  # calls that only a plan makes, to prove a credential


def pair(letters: str) -> tuple[str, str]:
    return KINDS[letters[0]], KINDS[letters[1]]


def sampled(*cases: str) -> Sequence[str]:
    """The first of these cases in `make test`."""
    return cases if EVERYTHING else cases[:1]


def first(job: Removals, number: int = 2) -> dict[str, str]:
    return dict(list(job.links().items())[:number])


def called(report: Report) -> dict[str, int]:
    """The calls to the target, without those of a read-only connection."""
    return {
        call: number
        for call, number in report.target.calls.items()
        if not (call.startswith("GET ") and call.rpartition("/")[2] in READ_ONLY)
    }


@pytest.mark.parametrize("letters", sampled("ab", "bd", "de", "ea", "dc"))
def test_what_is_in_the_trash_of_the_source_goes_to_that_of_the_target_after_its_grace(
    tmp_path: Path, letters: str
) -> None:
    with removing(tmp_path, pair(letters)) as job:
        gone = first(job)
        job.remove(gone)
        report = job.run()
        assert [row["asset"] for row in report.gone] == sorted(gone)
        assert {row["reason"] for row in report.gone} == {"in the trash"}
        assert report.counts.get("removed", 0) == 0
        assert [row["until"] for row in job.status()["gone"]] == [row["until"] for row in report.gone]
        assert len(job.living()) == ASSETS
        job.wait(WEEK)
        planned, before = job.plan(), len(job.ledger())
        report = job.run()
        assert (report.counts["removed"], report.operations) == (2, {"remove": 2})
        assert (planned.counts, planned.operations, planned.digest) == (report.counts, report.operations, report.digest)
        assert called(planned) == called(report)
        assert planned.source.calls == report.source.calls
        assert sorted(job.ledger()[before:]) == sorted(("remove", source) for source in gone)
        assert not set(gone.values()) & job.living()
        assert len(job.living()) == ASSETS - 2
        report = job.run()
        assert (report.gone, report.operations) == ([], {})
        verdict = job.verify()
        assert (verdict["clean"], verdict["checked"]) == (True, ASSETS - 2), verdict["differences"]


@pytest.mark.parametrize("target", ["a_hypermedia", "e_profiles"])
def test_a_target_that_removes_permanently_loses_one_asset_however_often_the_run_is_repeated(
    tmp_path: Path, target: str
) -> None:
    variant = {"a_hypermedia": "delete-purges", "e_profiles": "delete_purges"}[target]
    with removing(tmp_path, (KINDS["b"], target), variant=variant, grace="0d") as job:
        job.remove(first(job, 3))
        for _ in range(3):
            with pytest.raises(SafetyStop, match="permanently") as stopped:
                job.run()
            assert "deletes: none" in stopped.value.hint
            assert len(job.target.assets) == ASSETS - 1


def test_a_rollback_at_a_target_that_removes_permanently_loses_one_asset_however_often_it_is_repeated(
    tmp_path: Path,
) -> None:
    with removing(tmp_path, (KINDS["b"], KINDS["a"]), variant="delete-purges") as job:
        for _ in range(3):
            with pytest.raises(SafetyStop, match="permanently"):
                roll_back(job, 1)
            assert len(job.target.assets) == ASSETS - 1


def test_more_than_the_job_allows_stops_the_run_and_what_was_changed_at_the_target_is_parked(tmp_path: Path) -> None:
    with removing(tmp_path, pair("ad"), max_deletes=1, grace="0d") as job:
        gone = first(job)
        edited = next(iter(gone.values()))
        job.edit([edited], note_of(job.target), "changed by hand")
        job.remove(gone)
        for act in (job.plan, job.run):
            with pytest.raises(SafetyStop, match=r"2 of 8 assets would be removed .* `max_deletes: 1`"):
                act(accept_changes=True)
        assert len(job.living()) == ASSETS
        job.policy(deletes="trash", max_deletes="25%", grace="0d")
        planned = job.plan()
        report = job.run()
        assert (report.counts["removed"], report.counts["parked"]) == (1, 1)
        assert planned.counts == report.counts
        assert [row["cause"] for row in report.parked] == ["changed at the target"]
        assert edited in job.living()
        again = job.run()
        assert (again.counts["parked"], again.operations, len(again.parked)) == (0, {}, 1)


def test_a_stop_does_not_wait_for_the_lag_of_the_source(tmp_path: Path) -> None:
    """SIGTERM took up to two minutes: deletions are confirmed twice, with that lag between."""
    with removing(tmp_path, pair("ec")) as job:
        job.remove(gone := first(job))
        job.run()
        job.wait(WEEK)
        options, clock = job.options(), job.universe.clock

        async def stopped_while_it_waits() -> float:
            running = asyncio.ensure_future(run_job(job.job, options))
            while options.progress.phase != "confirming deletions":
                await clock.sleep(0.1)
            await clock.sleep(5)  # the first confirmation is through
            began = clock.monotonic()
            options.stop_token.stop("stopped by a signal", hurry=True)
            with pytest.raises(StopRequested):
                await running
            return clock.monotonic() - began

        assert job.universe.do(stopped_while_it_waits()) < 30, "the lag is two minutes"
        assert set(gone.values()) <= job.living()
        assert job.run().counts["removed"] == 2


@pytest.mark.parametrize("letters", sampled("bd", "be", "ad"))
def test_an_asset_that_people_added_to_another_container_of_the_target_is_parked(tmp_path: Path, letters: str) -> None:
    """Also where only the container lists its members."""
    with removing(tmp_path, pair(letters), grace="0d") as job:
        gone = first(job)
        placed = next(iter(gone.values()))
        job.place_elsewhere([placed])
        job.remove(gone)
        whole = not discover()[job.target.kind].capabilities.members_by_asset  # then a delta does not read them
        planned, report = job.plan(full=whole), job.run(full=whole)
        assert (planned.counts, called(planned)) == (report.counts, called(report))
        assert (report.counts["removed"], report.counts["parked"]) == (1, 1)
        assert [row["cause"] for row in report.parked] == ["changed at the target"]
        assert "placements" in job.errors()[0]["message"]
        assert placed in job.living()


def test_a_relation_that_the_target_could_not_remove_is_nobodys_change(tmp_path: Path) -> None:
    with removing(tmp_path, pair("db"), grace="0d") as job:
        with job.job.with_name("mapping.yaml").open("a", encoding="utf-8") as mapping:
            mapping.write("relations: {kinds: {child: Views of the object}}\n")
        ((gone, there), *_, (other, _)) = job.links().items()
        job.relate(gone, other, "source")
        assert job.run(full=True).operations["relate"] == 1
        job.relate(gone, other, "source", undo=True)
        report = job.run(full=True)
        assert "relations" in {row["path"] for row in report.losses}, report.losses
        job.remove([gone])
        report = job.run(full=True)
        assert (report.counts.get("parked", 0), there in job.living()) == (0, False), job.errors()


def test_groups_of_the_folder_are_nobodys_change_of_the_document(tmp_path: Path) -> None:
    path, rights = ["Press / 2024"], {"groups": ["staff"]}
    admitting = {"record": "container", "kind": "folder", "path": path, "rights": rights}
    with removing(tmp_path, pair("cb"), [admitting], grace="0d") as job:
        gone = first(job)
        admitted = [row["rights"]["groups"] for row in job.target.assets]
        assert admitted == [[]] * ASSETS  # the documents themselves admit nobody
        assert job.seen_by(gone.values()) == {"staff"}
        job.remove(gone)
        for _ in range(2):  # C lists no trash: two listings of everything prove that they are missing
            report = job.run(full=True)
        assert (report.counts.get("parked", 0), job.living() & set(gone.values())) == (0, set()), job.errors()


def test_groups_of_a_profile_that_releases_nothing_are_nobodys_change(tmp_path: Path) -> None:
    """They are those of the profile, whoever sees the asset: none of these assets was ever removed."""
    profile = {"record": "profile", "name": "Photo", "type": "Photo", "groups": ["public"], "immediate_release": False}
    with removing(tmp_path, pair("ae"), [profile], grace="0d") as job:
        gone = first(job)
        assert job.seen_by(gone.values()) == {"public"}
        assert job.verify()["extras"] == []
        job.remove(gone)
        report = job.run()
        assert (report.counts.get("parked", 0), job.living() & set(gone.values())) == (0, set()), job.errors()


@pytest.mark.parametrize("letters", sampled("bd", "ad", "ba"))
def test_what_people_related_at_the_target_is_parked(tmp_path: Path, letters: str) -> None:
    with removing(tmp_path, pair(letters), grace="0d") as job:
        gone, related = first(job), [list(job.links().values())[place] for place in (0, 5)]
        job.relate(*related)
        job.remove(gone)
        report = job.run()
        assert (report.counts["removed"], report.counts["parked"]) == (1, 1)
        assert [row["cause"] for row in report.parked] == ["changed at the target"]
        assert "relations" in job.errors()[0]["message"]
        assert related[0] in job.living()


def test_what_becomes_due_during_a_run_waits_for_the_next_and_counts_against_its_limit(tmp_path: Path) -> None:
    lie = Lie()
    with removing(tmp_path, pair("ba"), max_deletes=1, grace="31m") as job:
        job.connectors = planted(dict(job.universe.options().connectors or {}), job.source.kind, lie)
        clock, gone = job.universe.clock, first(job)
        job.remove(gone)
        until = max(datetime.fromisoformat(row["until"]) for row in job.run().gone) + timedelta(seconds=1)
        job.retitle([next(source for source in job.links() if source not in gone)])
        assert clock.now() < until
        lie.slow = lambda: clock.sleep((until - clock.now()).total_seconds())  # the one asset that the run reads
        report = job.run()
        assert (report.counts["updated"], report.operations.get("remove")) == (1, None)
        with pytest.raises(SafetyStop, match=r"2 of 8 assets would be removed"):
            job.run()
        assert len(job.living()) == ASSETS


def test_what_disappears_during_a_run_stops_no_further_one(tmp_path: Path) -> None:
    """It was listed by that run, which the next one continues with a listing of its own."""
    lie = Lie()
    with removing(tmp_path, pair("ba"), grace="0d", max_deletes="50%") as job:
        job.connectors = planted(dict(job.universe.options().connectors or {}), job.source.kind, lie)
        gone = first(job)
        others = [source for source in job.links() if source not in gone]
        job.remove(gone)
        job.retitle(others[:1])

        async def purge() -> None:
            lie.purged.add(others[-1])

        lie.slow = purge  # when the run reads the one asset that changed
        with pytest.raises(SafetyStop, match="cannot be found there by id"):
            job.run()
        lie.slow = None
        report = job.run()
        assert report.counts["removed"] == 2
        assert [row["asset"] for row in report.gone] == [others[-1]]
        counts = {name: report.counts[name] for name in ("listed", "updated", "unchanged", "skipped", "removed")}
        assert counts["listed"] == sum(number for name, number in counts.items() if name != "listed"), counts
        assert job.run().counts["removed"] == 1
        assert len(job.living()) == ASSETS - 3


@pytest.mark.parametrize("stands", sampled("park", "target"))
def test_what_was_in_conflict_is_not_removed(tmp_path: Path, stands: str) -> None:
    """Whether the conflict is open, or was resolved so that the target keeps what somebody wrote there."""
    with removing(tmp_path, pair("ad"), grace="0d", conflicts=stands) as job:
        ((gone, there),) = first(job, 1).items()
        job.edit([there], note_of(job.target), "changed by hand")
        job.edit([gone], note_of(job.source), "changed at the source", "source")
        (row,) = job.run().conflicts
        assert row["take"] == {"park": "parked"}.get(stands, stands)
        assert job.conflicts()["count"] == (stands == "park")
        job.remove([gone])
        planned, report = job.plan(), job.run()
        assert (planned.counts, planned.operations) == (report.counts, report.operations)
        assert [row["cause"] for row in report.parked] == ["changed at the target"]
        assert (report.conflicts, job.conflicts()["count"]) == ([], 0)
        assert there in job.living()


def test_what_was_edited_before_it_was_restored_is_in_conflict(tmp_path: Path) -> None:
    """Somebody changed the asset at the target, and removed it there before the run did."""
    with removing(tmp_path, pair("ad"), grace="0d") as job:
        ((gone, there),) = first(job, 1).items()
        job.edit([there], note_of(job.target), "changed by hand")
        job.remove([there], "target")
        job.remove([gone])
        assert job.run().counts["removed"] == 1
        job.restore([gone])
        job.edit([gone], note_of(job.source), "changed at the source", "source")
        planned, report = job.plan(full=True), job.run(full=True)
        assert [row["path"] for row in report.conflicts] == [f"fields.{note_of(job.target)}"]
        assert (planned.conflicts, planned.operations) == (report.conflicts, report.operations)
        job.policy(conflicts="target", deletes="trash")
        assert [row["take"] for row in job.run().conflicts] == ["target"]
        assert job.links()[gone] == there


@pytest.mark.parametrize("letters", sampled("ba", "bd", "da", "ab"))
def test_a_restored_asset_comes_back_as_the_same_asset(tmp_path: Path, letters: str) -> None:
    with removing(tmp_path, pair(letters), grace="0d") as job:
        links = job.links()
        gone = first(job)
        job.remove(gone)
        assert job.run().counts["removed"] == 2
        job.restore(gone)
        planned, report = job.plan(full=True), job.run(full=True)
        assert report.operations.get("restore") == 2, (report.operations, report.parked)
        assert "create" not in report.operations
        assert (planned.operations, called(planned)) == (report.operations, called(report))
        assert job.links() == links
        assert job.living() == set(links.values())
        verdict = job.verify()
        assert (verdict["clean"], verdict["checked"]) == (True, ASSETS), verdict["differences"]


@pytest.mark.parametrize("letters", sampled("db", "da", "bd"))
def test_a_delta_finds_what_left_the_trash_of_the_source(tmp_path: Path, letters: str) -> None:
    """It has its old date again, where the service dates neither the way into the trash nor the way out of it."""
    with removing(tmp_path, pair(letters), grace="0d") as job:
        links, gone = job.links(), first(job)
        job.remove(gone)
        assert job.run().counts["removed"] == 2
        for _ in range(2):
            assert job.run().operations == {}
        job.restore(gone)
        planned, report = job.plan(), job.run()
        assert report.operations.get("restore") == 2, (report.operations, report.parked)
        assert (planned.operations, called(planned)) == (report.operations, called(report))
        assert planned.source.calls == report.source.calls
        assert "create" not in report.operations
        assert job.links() == links
        assert job.run().operations == {}


@pytest.mark.parametrize("letters", sampled("ab", "bc"))
def test_nothing_is_removed_by_default_and_what_is_restored_within_its_grace_leaves_the_list(
    tmp_path: Path, letters: str
) -> None:
    with removing(tmp_path, pair(letters), deletes="none") as job:
        gone = first(job)
        job.remove(gone)
        for _ in range(2):
            job.wait(WEEK)
            report = job.run()
            assert (report.gone, report.operations) == ([], {})
        assert "gone" not in job.status()
        job.policy(deletes="trash", max_deletes="50%")
        assert len(job.run().gone) == 2
        job.run(only=frozenset(gone))  # as somebody or a webhook asks for
        assert len(job.run().gone) == 2
        job.restore(gone)
        assert job.run(full=True).gone == []
        job.wait(WEEK)
        assert job.run(full=True).operations == {}
        assert len(job.living()) == ASSETS


@pytest.mark.parametrize("letters", sampled("ae", "ac"))
def test_what_cannot_be_taken_out_of_the_trash_is_parked_and_created_again_on_request(
    tmp_path: Path, letters: str
) -> None:
    with removing(tmp_path, pair(letters), grace="0d") as job:
        ((source, old),) = first(job, 1).items()
        job.remove([source])
        job.run()
        job.restore([source])
        report = job.run(full=True)
        assert [row["cause"] for row in report.parked] == ["in the trash of the target"]
        assert len(job.living()) == ASSETS - 1
        assert job.retry() == 1
        report = job.run(full=True)
        assert (report.counts["created"], len(job.living())) == (1, ASSETS)
        assert job.links()[source] != old
        assert "created again, because it could not be taken out of the trash of the target" in {
            loss["rule"] for loss in report.losses
        }


def test_an_asset_that_a_service_without_trash_no_longer_lists_needs_two_complete_listings(tmp_path: Path) -> None:
    with removing(tmp_path, pair("ca"), grace="0d") as job:
        gone = first(job)
        job.remove(gone)
        report = job.run(full=True)
        assert {row["reason"] for row in report.gone} == {"not listed"}
        assert report.operations == {}
        assert job.run(full=True).operations == {"remove": 2}
        assert len(job.living()) == ASSETS - 2


# -- listings that lie -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("letters", sampled("cb", "bd"))
def test_no_planted_listing_removes_anything(tmp_path: Path, letters: str) -> None:
    """Each after the other, and twice in a row, accepted by the operator and without any grace or limit."""
    lie, tried, rng = Lie(), 0, random.Random(letters)
    with removing(tmp_path, pair(letters), grace="0d", max_deletes="100%") as job:
        usual = dict(job.universe.options().connectors or {})
        job.connectors = planted(usual, job.source.kind, lie)
        links, there = job.links(), job.living()
        while tried < PLANTED // 2:
            kind = LIES[tried % len(LIES)]
            for seed in rng.sample(range(1_000_000), rng.choice((1, 2, 3))):
                lie.kind, lie.seed, tried = kind, seed, tried + 1
                with suppress(SafetyStop, Denied, TruncatedListing):
                    job.run(full=True, accept_changes=rng.random() < 0.7)
                assert job.living() == there, (kind, seed, tried)
            if rng.random() < 0.5:
                lie.kind = ""
                assert "remove" not in job.run(full=True, accept_changes=True).operations
        assert job.links() == links
        assert lie.told > PLANTED


def test_a_delta_finds_an_asset_of_which_one_of_several_versions_left_the_trash(tmp_path: Path) -> None:
    """Others of its versions are still there, and nothing dates the way out."""
    with Simulation(tmp_path, ("d_templates", "e_profiles")).moving() as move:

        def delta() -> Report:
            move.universe.do(move.universe.clock.sleep(LAGS))
            return move.universe.do(run_job(job_of(move.job), move.universe.options()))

        tenant = move.source.app.state.tenant
        user = next(iter(tenant.schema.users.values()))
        row = max(move.source.assets, key=lambda row: len(row["versions"]))
        _, *later = [tenant.records[each] for each in tenant.families[row["id"]]]
        assert len(later) > 1
        delta()
        for record in later:
            tenant.delete(record, user)
        for _ in range(3):
            report = delta()
        assert not [note for note in report.notes if BACK in note]
        tenant.undelete(tenant.records[later[-1].object_id], user)
        assert [note for note in delta().notes if BACK in note]
        assert not [note for note in delta().notes if BACK in note]
