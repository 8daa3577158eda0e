"""What an adoption records of who sees an asset is what was seen at the target; the next run hides or limits it."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from dam_sync.api.adopt import Adoption, adopt_job
from dam_sync.model.errors import SafetyStop
from dam_sync.report.report import Report
from tests.support.libraries.restricted import OF_DRAFTS
from tests.support.pairs import KINDS, ids, pairs
from tests.support.services.profiles import FOLDER
from tests.support.virtual.restricted_move import RestrictedMove, restricted_move
from tests.support.virtual.rollback_process import assets_of
from tests.support.virtual.state_location import forget
from tests.support.virtual.target_edits import UNRELATE, Edit, rights, unrelated
from tests.support.virtual.two_tenants import ACCEPTED, TwoTenants, scene
from tests.support.virtual.universe import job_of

OPENED = Edit("opened to all", "groups", rights(groups=frozenset({"public", "staff"})))
NARROWED = Edit(
    "given to others", "groups", rights(groups=frozenset({"staff"}), expires_at=datetime(2031, 1, 1, tzinfo=UTC))
)
LONGER = Edit("shown for longer", "expiry", rights(expires_at=datetime(2070, 1, 1, tzinfo=UTC)))
UNRELATED = Edit("unrelated", "relations", unrelated)
PAIRS = [pair for pair in pairs(1, 2) if FOLDER not in pair]


def moved_and_lost(job: RestrictedMove) -> dict[str, str]:
    """The job moved its library, and its state is gone; target ids by source id."""
    if not job.can_close:
        pytest.skip("the target cannot hide an asset")
    job.run()
    twins = job.twins()
    job.lose_state()
    return twins


@pytest.mark.parametrize("kinds", PAIRS, ids=ids(PAIRS))
def test_an_adopted_asset_that_the_job_closes_is_hidden_by_the_next_run(tmp_path: Path, kinds: tuple[str, str]) -> None:
    with restricted_move(tmp_path, kinds) as job:
        job.accept(*OF_DRAFTS)
        twins = moved_and_lost(job)
        shown, before = job.widened(twins), job.seen()
        if not shown:
            pytest.skip("nothing is shown to more people between these")
        job.close(*OF_DRAFTS)
        for dry in (True, False):
            report = job.adopt(dry_run=dry)
            (told,) = [note for note in report.notes if "the job closes" in note]
            assert "the next run hides" in told
            assert (job.seen(), report.target.calls.get("update", 0)) == (before, 0)
        assert job.twins() == twins
        assert job.recorded_as_hidden() & shown == set()
        planned, ran = job.plan(), job.run()
        assert planned.operations == ran.operations
        assert int(told.split()[0]) == ran.counts["updated"] >= len(shown)
        assert job.widened(twins) == set()
        assert shown <= job.recorded_as_hidden()
        assert [one for one in job.verify()["differences"] if one[2]["path"] == "exposure"] == []
        assert job.run(full=True).operations == {}


@pytest.mark.parametrize("kinds", PAIRS, ids=ids(PAIRS))
def test_what_is_hidden_already_is_recorded_so_and_not_written(tmp_path: Path, kinds: tuple[str, str]) -> None:
    with restricted_move(tmp_path, kinds) as job:
        job.close(*OF_DRAFTS)
        twins = moved_and_lost(job)
        report = job.adopt()
        assert job.twins() == twins
        assert [note for note in report.notes if "the next run" in note and "hide" in note] == []
        if not job.recorded_as_hidden():
            pytest.skip("nothing is to be hidden between these")
        assert job.run(full=True).operations == {}
        assert job.widened(twins) == set()


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind[0] in "bde"])
def test_what_more_people_see_than_the_job_says_is_limited_by_the_next_run(tmp_path: Path, kind: str) -> None:
    with scene(tmp_path, kind, (OPENED, NARROWED), exposure=ACCEPTED) as made:
        before = assets_of(made.target)
        made.edit()
        opened, narrowed = (made.twin_of(edit) for edit in (OPENED, NARROWED))
        lost(made)
        report = adopted(made)
        assert [note for note in report.notes if "shown to more people" in note and "the next run limits it" in note]
        made.run()
        after = assets_of(made.target)
        assert after[opened]["rights"]["groups"] == before[opened]["rights"]["groups"] == ["staff"]
        assert after[narrowed]["rights"] != before[narrowed]["rights"], "what fewer people see stays"
        assert made.run(full=True).operations == {}


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind[0] in "ce"])
def test_an_earlier_release_and_a_later_expiry_are_limited_too(tmp_path: Path, kind: str) -> None:
    with scene(tmp_path, kind, (LONGER,), exposure=ACCEPTED) as made:
        before = assets_of(made.target)
        made.edit()
        one = made.twin_of(LONGER)
        assert assets_of(made.target)[one]["rights"] != before[one]["rights"]
        lost(made)
        adopted(made)
        made.run()
        assert assets_of(made.target)[one]["rights"]["expires_at"] == before[one]["rights"]["expires_at"]
        assert made.run(full=True).operations == {}


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind[0] in UNRELATE])
def test_a_relation_that_the_target_lacks_is_written_by_the_next_run(tmp_path: Path, kind: str) -> None:
    with scene(tmp_path, kind, (UNRELATED,), exposure=ACCEPTED) as made:
        before = related(made)
        made.edit()
        assert related(made) != before
        lost(made)
        adopted(made)
        made.run()
        assert related(made) == before
        assert made.run().operations == {}


def lost(made: TwoTenants) -> None:
    """The state of the job is gone."""
    made.universe.end_connections()
    forget(made.job)


def adopted(made: TwoTenants) -> Report:
    """An adoption by markers."""
    return made.universe.do(adopt_job(job_of(made.job), made.universe.options(), Adoption()))


def related(made: TwoTenants) -> dict[str, list[str]]:
    """The relations of each asset of the target."""
    return {row["id"]: sorted(map(str, row["relations"])) for row in made.target.assets}


@pytest.mark.parametrize("kinds", PAIRS, ids=ids(PAIRS))
def test_what_an_exposure_rule_holds_back_is_created_by_no_run(tmp_path: Path, kinds: tuple[str, str]) -> None:
    with restricted_move(tmp_path, kinds) as job:
        job.accept(*OF_DRAFTS)
        twins = moved_and_lost(job)
        assets = assets_of(job.target)
        job.accept()
        report = job.adopt()
        held = report.counts.get("held back", 0)
        assert held == len(twins) - len(job.twins())
        assert [note for note in report.notes if "these are gone from the source" in note] == []
        if not held:
            pytest.skip("nothing is shown to more people between these")
        for rules in ((), OF_DRAFTS):
            job.accept(*rules)
            for command in (job.plan, job.run):
                with pytest.raises(SafetyStop, match="`adopt` did not link"):
                    command()
        assert "held back" not in job.adopt().counts
        assert (job.run().operations, job.twins(), assets_of(job.target)) == ({}, twins, assets)
