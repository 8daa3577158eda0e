"""A waiver lifts the rule that it names, for the purpose that its name says, and no other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from dam_sync.model.exposure import ExposureRule
from tests.support.jobs.audience import Sight, wider
from tests.support.libraries.restricted import OF_DRAFTS
from tests.support.pairs import EVERYTHING, ids, pairs
from tests.support.services.profiles import FOLDER
from tests.support.virtual.fuse import Fuse, Point
from tests.support.virtual.restricted_move import RestrictedMove, restricted_move
from tests.support.virtual.rollback_process import preview, roll_back, stays
from tests.support.virtual.state_location import ask

PAIRS = [pair for pair in pairs(1, 2) if FOLDER not in pair]
PARTS = tuple(number / 20 for number in range(1, 20)) if EVERYTHING else (0.9,)
"""How much of a run is done when it is killed."""
BY_REPAIR, BY_ROLLBACK = "reopened_by_repair", "reopened_by_rollback"


def wider_in(now: Mapping[str, Sight], then: Mapping[str, Sight]) -> set[str]:
    """Assets that more people see `now`."""
    return {asset for asset, sight in now.items() if wider(sight, then.get(asset, frozenset()))}


def all_but(*rules: str) -> list[str]:
    """Every rule but these."""
    return [rule.value for rule in ExposureRule if rule.value not in rules]


@dataclass(frozen=True, slots=True)
class Closed:
    """Assets that one run moved, and that another one hid. run: its number; before: who saw them until then; hidden:
    ids at the target."""

    run: int
    before: Mapping[str, Sight]
    hidden: frozenset[str]


def closed_by_a_second_run(job: RestrictedMove) -> Closed:
    """It hides what the job accepts no more."""
    twins, before = moved_open(job)
    shown = job.widened(twins)
    job.run(full=True)
    assert job.widened(twins) == set()
    assert shown <= job.recorded_as_hidden()
    if not job.recorded_as_hidden():
        pytest.skip("nothing is shown to more people between these")
    return Closed(last_run(job), before, frozenset(twins[source] for source in job.recorded_as_hidden()))


def moved_open(job: RestrictedMove) -> tuple[dict[str, str], Mapping[str, Sight]]:
    """Every asset is moved, and the job accepts no more what was accepted for it; who sees them."""
    if not job.can_close:
        pytest.skip("the target cannot hide an asset")
    job.accept(*OF_DRAFTS)
    job.run()
    job.accept()
    return job.twins(), job.seen()


def last_run(job: RestrictedMove) -> int:
    ((number,),) = ask(job.job, "SELECT max(id) FROM run")
    return int(number)


@pytest.mark.parametrize("kinds", PAIRS, ids=ids(PAIRS))
def test_a_rollback_shows_nothing_again_but_by_the_rule_that_is_named_after_it(
    tmp_path: Path, kinds: tuple[str, str]
) -> None:
    with restricted_move(tmp_path, kinds) as job:
        made = closed_by_a_second_run(job)
        closed = job.seen()
        job.accept(*all_but(BY_ROLLBACK))
        told, back = preview(job, made.run), roll_back(job, made.run)
        assert job.seen() == closed
        assert (told.complete, back.complete) == (False, False)
        assert stays(job) == made.hidden
        assert any(BY_ROLLBACK in row["reason"] for row in back.cannot)
        job.accept(BY_ROLLBACK)
        told, back = preview(job, made.run), roll_back(job, made.run)
        assert job.seen() == made.before, back.cannot
        for report in (told, back):
            assert [n for name, n in report.counts.items() if BY_ROLLBACK in name] == [len(made.hidden)]


@pytest.mark.parametrize("kinds", PAIRS, ids=ids(PAIRS))
def test_the_rollback_of_a_repair_does_not_open_what_the_repair_hid(tmp_path: Path, kinds: tuple[str, str]) -> None:
    with restricted_move(tmp_path, kinds) as job:
        made = closed_by_a_second_run(job)
        one = min(target for target in made.hidden if made.before.get(target))
        job.open_by_hand(one)
        assert job.seen().get(one)
        job.run(repair=True)
        hidden = job.seen()
        assert one not in hidden
        job.accept(*all_but(BY_ROLLBACK))
        told, back = preview(job, last_run(job)), roll_back(job, last_run(job))
        assert job.seen() == hidden
        assert (stays(job), told.complete, back.complete) == ({one}, False, False)


@pytest.mark.parametrize("kinds", PAIRS, ids=ids(PAIRS))
def test_what_is_moved_linked_and_compared_is_lifted_by_the_rules_about_it_alone(
    tmp_path: Path, kinds: tuple[str, str]
) -> None:
    with restricted_move(tmp_path, kinds) as job:
        job.accept(BY_REPAIR, BY_ROLLBACK)
        refused = job.run()
        assert {row["rule"] for row in refused.exposure} <= {*OF_DRAFTS}
        held = job.exposed()
        assert job.widened(job.twins()) == set()
        job.accept(*OF_DRAFTS)
        accepted = job.run()
        assert {row["fate"] for row in accepted.exposure} <= {"accepted"}
        assert job.exposed() == set()
        assert held <= job.twins().keys()
        assert job.differing_in_exposure() == set()
        job.accept(BY_REPAIR, BY_ROLLBACK)
        assert job.differing_in_exposure() >= (set() if job.can_close else held)
        job.lose_state()
        job.adopt()
        assert job.twins().keys() & held == set()
        job.accept(*OF_DRAFTS)
        told = [note for note in job.adopt().notes if "the job accepts" in note]
        assert {note.rpartition(": ")[2] for note in told} == {row["rule"] for row in refused.exposure}
        assert held <= job.twins().keys()


@pytest.mark.parametrize("kinds", PAIRS, ids=ids(PAIRS))
def test_what_a_killed_run_hid_stays_hidden_in_its_rollback(tmp_path: Path, kinds: tuple[str, str]) -> None:
    with restricted_move(tmp_path / "whole", kinds) as job:
        moved_open(job)
        calls = job.universe.live(job.job, full=True).counts["call"]
        if not job.recorded_as_hidden():
            pytest.skip("nothing is shown to more people between these")
    for part in PARTS:
        with restricted_move(tmp_path / f"{part}", kinds) as job:
            _, before = moved_open(job)
            job.universe.live(job.job, Fuse(Point("call", "after", max(1, int(calls * part)))), full=True)
            job.universe.do(job.settle())
            killed, recorded, run = job.seen(), job.recorded_as_hidden(), last_run(job)
            if killed == before:
                continue
            report = roll_back(job, run)
            assert wider_in(job.seen(), killed) == set(), (part, report.cannot)
            if recorded:
                assert not report.complete, (part, recorded)
            job.accept(BY_ROLLBACK)
            again = roll_back(job, run)
            assert job.seen() == before, (part, again.cannot)


def hidden_by_a_lost_call(job: RestrictedMove) -> tuple[Mapping[str, Sight], int]:
    """A second run hides an asset and is killed before the response; who saw what before that, and its number."""
    _, before = moved_open(job)
    if not job.universe.live(job.job, Fuse(until=lambda: job.seen() != before), full=True).blown:
        pytest.skip("nothing is shown to more people between these")
    job.universe.do(job.settle())
    return before, last_run(job)


@pytest.mark.parametrize("kinds", PAIRS, ids=ids(PAIRS))
def test_what_was_hidden_by_a_call_whose_response_was_lost_is_shown_again_once_that_is_accepted(
    tmp_path: Path, kinds: tuple[str, str]
) -> None:
    """A rollback that leaves it hidden does not forget that the run may have hidden it."""
    with restricted_move(tmp_path, kinds) as job:
        before, run = hidden_by_a_lost_call(job)
        killed = job.seen()
        for _ in range(2):
            assert not roll_back(job, run).complete
            assert wider_in(job.seen(), killed) == set()
        job.accept(BY_ROLLBACK)
        report = roll_back(job, run)
        assert job.seen() == before, report.cannot
        assert report.complete


@pytest.mark.parametrize("kinds", PAIRS, ids=ids(PAIRS))
def test_what_a_rollback_left_hidden_is_nobody_elses_to_the_next_run(tmp_path: Path, kinds: tuple[str, str]) -> None:
    with restricted_move(tmp_path, kinds) as job:
        _, run = hidden_by_a_lost_call(job)
        roll_back(job, run)
        twins = job.twins()
        report = job.run(full=True)
        assert (report.parked, report.conflicts) == ([], [])
        assert job.widened(twins) == set()
        assert job.verify()["clean"]
