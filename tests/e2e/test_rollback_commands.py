"""`rollback` and `redirects` as they are typed: what they print, ask, refuse and write, and how they exit."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest
from click.testing import Result
from typer.testing import CliRunner

from dam_sync.api.rollback import RollbackRequest, rollback_job
from dam_sync.cli import cli
from dam_sync.model.capabilities import Operation
from dam_sync.model.errors import DamSyncError
from dam_sync.model.journal_names import CREATE, undo
from dam_sync.model.run_options import StopToken
from dam_sync.services import discover
from tests.e2e.test_pairs import relations_between
from tests.support.jobs import small_jobs
from tests.support.jobs.any_pair import any_pair, large_for, living, moved, name_relations, ran
from tests.support.jobs.small_jobs import Meanwhile
from tests.support.jobs.tenants import Pair
from tests.support.libraries.every_feature import OWN_MARKS, everything, receiving
from tests.support.pairs import ids, pairs
from tests.support.services.profiles import profile_of

PAIRS = pairs(1, 2)
MANY = 40  # more assets than are undone at once


def typed(pair: Pair, verb: str, *words: str) -> Result:
    options = small_jobs.options(connectors=pair.connectors)
    given = {"clock": options.clock, "connectors": options.connectors}
    return CliRunner().invoke(cli, [verb, str(pair.job), *words, "--no-progress"], obj=given)


def shown(result: Result) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(result.stdout)
    return found


@pytest.mark.parametrize(("source", "target"), PAIRS, ids=ids(PAIRS))
def test_a_migration_of_everything_is_undone(tmp_path: Path, source: str, target: str) -> None:
    library = everything(large_for(target), without=profile_of(source).refuses)
    with any_pair(tmp_path, source, target, library, receiving(), OWN_MARKS) as pair:
        if kinds := relations_between(source, target):
            name_relations(pair, kinds)
        before = living(pair.target)
        created = ran(pair)["counts"]["created"]
        there = living(pair.target)
        asked = typed(pair, "rollback", "--run", "1")
        assert asked.exit_code == 2
        assert f"moved to the trash  {created}" in " ".join(asked.stdout.split(" ")).replace("   ", "  ")
        assert "--yes undoes it" in asked.stderr
        assert f"--max-deletes {created}" in asked.stderr, "the preview says what would stop it"
        dry = typed(pair, "rollback", "--run", "1", "--dry-run")
        assert (dry.exit_code, living(pair.target)) == (0, there), "a dry run is not stopped, it says what would"
        assert f"{created} of {created} assets would be moved to the trash of the target" in dry.stderr
        assert "more than `max_deletes` 5% allows" in dry.stderr
        allowed = typed(pair, "rollback", "--run", "1", "--dry-run", "--max-deletes", "100%")
        assert (allowed.exit_code, "would stop" in allowed.stderr) == (0, False), "100 % of what is linked is allowed"
        assert f"--max-deletes {created}" in dry.stderr
        refused = typed(pair, "rollback", "--run", "1", "--yes")
        assert (refused.exit_code, living(pair.target)) == (6, there)
        assert "more than `max_deletes` 5% allows" in refused.stderr
        done = typed(pair, "rollback", "--run", "1", "--yes", "--max-deletes", "100%", "--json")
        told = shown(done)
        assert (done.exit_code, told["counts"]) == (0, {"moved to the trash": created}), told["cannot"]
        assert all(row["stays"] for row in told["cannot"])
        assert living(pair.target).keys() == before.keys()
        assert moved(pair).twins == {}
        verified = typed(pair, "verify", "--level", "count")
        assert verified.exit_code == 3
        assert "rolled back since" in verified.stdout
        assert f"dam-sync plan {pair.job}" in verified.stderr
        assert "--repair" not in verified.stderr, "a repair creates nothing"
        again = typed(pair, "rollback", "--run", "1", "--yes")
        assert again.exit_code == 0
        assert "run 1 was rolled back by run 2: nothing more can be undone" in again.stderr
        previewed = typed(pair, "rollback", "--run", "1", "--dry-run")
        assert previewed.exit_code == 0
        assert "there is nothing to undo of run 1" in previewed.stdout
        assert "dam-sync rollback" not in previewed.stderr, "a rollback would do nothing"
        assert "rolled back" in typed(pair, "status").stdout
        assert ran(pair)["counts"]["created"] == created
        links = typed(pair, "redirects", "--csv", str(tmp_path / "links.csv"), "--json")
        assert links.exit_code == 0, links.stderr
        both = all(Operation.PUBLIC_LINKS in discover()[kind].capabilities for kind in (source, target))
        assert bool(shown(links)["redirects"]) == (both and "folder" not in (source, target))


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--run", "7"], "there is no run 7"),
        (["--run", "1", "--max-deletes", "many"], "--max-deletes expects a number or a percentage"),
        (["--run", "0"], "should be greater than or equal to 1"),
        ([], "Missing option"),
    ],
)
def test_a_mistyped_rollback_says_so(tmp_path: Path, words: list[str], told: str) -> None:
    with any_pair(tmp_path, "a_hypermedia", "e_profiles", [], receiving(), OWN_MARKS) as pair:
        none = typed(pair, "rollback", "--run", "1")
        assert (none.exit_code, "there is no state" in none.stderr) == (2, True)
        typed(pair, "run", "--accept-changes")
        result = typed(pair, "rollback", *words, "--yes")
        assert result.exit_code == 2
        assert told in " ".join(result.stderr.split())


def test_a_run_after_several_rollbacks_finds_names_beside_those_in_the_trash(tmp_path: Path) -> None:
    """Whoever corrects the mapping and starts over twice or more often: each rolled back asset keeps its name."""
    with small_jobs.small(tmp_path, small_jobs.photos(2)) as job:
        for number in (1, 3, 5):
            job.run()
            job.ran("rollback", "--run", str(number), "--yes", "--max-deletes", "100%", "--no-progress", code=0)
        job.run()
        there = [each["filename"] for each in job.pair.target.assets if each["status"] != "trash"]
        assert [name.rpartition("-")[2] for name in there] == ["3.jpg", "3.jpg"], there
        job.ran("verify", "--level", "bytes", "--no-progress", code=0)
        job.run("--repair")
        assert [each["filename"] for each in job.pair.target.assets if each["status"] != "trash"] == there


def test_what_is_suggested_beside_an_unfinished_rollback_is_to_finish_it(tmp_path: Path) -> None:
    """Any run would be refused until then."""
    with small_jobs.small(tmp_path, small_jobs.photos(2)) as job:
        job.run()
        job.ran("rollback", "--run", "1", "--yes", "--max-deletes", "100%", "--no-progress", code=0)
        with closing(sqlite3.connect(job.state)) as state, state:
            assert state.execute("UPDATE run SET state = 'stopped' WHERE command = 'rollback 1'").rowcount == 1
        job.run(code=6)
        for verb, options, code in (("verify", ("--no-progress",), 3), ("errors", (), 0), ("status", (), 0)):
            told = job.ran(verb, *options, code=code)
            suggested = [line for line in told.err.splitlines() if line.startswith("next:")]
            assert suggested == [f"next: dam-sync rollback {job.pair.job} --run 1"], verb


def given_up_halfway(desk: small_jobs.Small) -> None:
    """A rollback of a migration is stopped at one of its first removals."""
    desk.run()
    token = StopToken()
    stopping = Meanwhile("DELETE /v2/assets/*", "delay:0", nth=2, act=lambda: token.stop("stopped by a test"))
    assert desk.pair.target.served is not None
    desk.pair.target.served.app.faults.lines.append(stopping)
    asked = RollbackRequest(1, max_deletes="100%")
    with pytest.raises(DamSyncError, match="stopped by a test"):
        asyncio.run(rollback_job(desk.pair.job, small_jobs.options(stop_token=token), asked))
    assert 0 < len(living(desk.pair.target)) < MANY
    desk.run(code=6).says("the rollback of run 1 was interrupted")


def test_a_run_after_a_rollback_that_was_given_up_moves_again_what_it_undid(tmp_path: Path) -> None:
    with small_jobs.small(tmp_path, small_jobs.photos(MANY)) as desk:
        given_up_halfway(desk)
        desk.run("--accept-changes")
        assert len(living(desk.pair.target)) == MANY
        verified = desk.ran("verify", "--json", "--no-progress", "--level", "digest", code=0)
        assert verified.data["verdict"]["equal"] == MANY


def test_what_a_killed_rollback_had_just_removed_is_moved_again_once_it_is_given_up(tmp_path: Path) -> None:
    """The target moved it to the trash, and the process ended before its state knew: the link is still there."""
    with small_jobs.small(tmp_path, small_jobs.photos(MANY)) as desk:
        given_up_halfway(desk)
        with closing(sqlite3.connect(desk.state)) as state, state:
            (target,) = state.execute("SELECT target FROM link ORDER BY target LIMIT 1").fetchone()
            begun = (f"run:undo:1:{target}", undo(CREATE), "2026-01-01T00:00:00.000000Z", "intent")
            state.execute("INSERT INTO step (scope, name, at, state) VALUES (?, ?, ?, ?)", begun)
        headers = {"Authorization": f"Bearer {small_jobs.TOKEN}"}
        assert httpx.delete(f"{desk.pair.target.url}/v2/assets/{target}", headers=headers).status_code < 300
        planned = desk.ran("plan", "--accept-changes", "--json", "--no-progress", code=0).data
        report = desk.run("--accept-changes").data
        assert report["counts"]["created"] == planned["counts"]["created"]
        assert len(living(desk.pair.target)) == MANY
        verified = desk.ran("verify", "--json", "--no-progress", "--level", "digest", code=0)
        assert verified.data["verdict"]["equal"] == MANY
