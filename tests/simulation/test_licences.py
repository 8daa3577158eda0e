"""A licence, which is a line in the table of parts, gets from each purpose what any other part gets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.simulation.test_purposes_after_kills import OF_ALL_EDITS, TRIED, removed, tried
from tests.support.sample.rotation import OfToday
from tests.support.virtual.rollback_process import roll_back
from tests.support.virtual.target_edits import LICENCE, Edit, licence, replaced
from tests.support.virtual.two_tenants import REOPENS, TwoTenants, scene

KIND = "b_documents"


@pytest.fixture
def made(tmp_path: Path) -> Iterator[TwoTenants]:
    with scene(tmp_path, KIND, LICENCE, exposure=REOPENS) as found:
        yield found


def licences(job: TwoTenants) -> list[str]:
    """Of the assets of the target that were edited, or whose twins were, in order."""
    return [row["licence"] for row in job.target.assets if row["id"] in job.edited]


def test_it_is_moved_and_an_edit_of_the_source_is_written_and_rolled_back(made: TwoTenants) -> None:
    assert {row["licence"] for row in made.target.assets} == {"CC BY"}
    made.edit("source")
    report = made.run(full=True)
    assert (sorted(licences(made)), report.counts["updated"], report.parked) == (["", "by hand"], 2, [])
    assert made.verify()["clean"]
    roll_back(made, 2)
    assert licences(made) == ["CC BY", "CC BY"]


def test_an_edit_of_the_target_is_found_and_repaired(made: TwoTenants) -> None:
    made.edit()
    verdict = made.verify()
    assert made.found(verdict) == {edit.name: {"differences: licence"} for edit in LICENCE}
    assert made.run(repair=True).repaired == {"licence": 2}
    assert licences(made) == ["CC BY", "CC BY"]


@pytest.mark.parametrize("policy", ["park", "source", "target"])
def test_edits_of_both_are_conflicts(tmp_path: Path, policy: str) -> None:
    with scene(tmp_path, KIND, LICENCE[:1], conflicts=policy, exposure=REOPENS) as made:
        made.edit()
        made.change_source(licence("CC0"), every=False)
        report = made.run(full=True)
        assert [row["cause"] for row in report.parked] == (["conflict"] if policy == "park" else [])
        assert licences(made) == ["CC0" if policy == "source" else "by hand"]
        if policy != "park":
            assert made.verify()["clean"]
            assert made.run(full=True).operations == {}


def test_an_edited_asset_is_not_removed(made: TwoTenants) -> None:
    made.edit()
    made.policy(deletes="trash", max_deletes="100%", grace="0d", exposure=REOPENS)
    made.universe.do(removed(made, [made.source_of(target) for target in made.edited]))
    made.run(full=True, accept_changes=True)
    report = made.run(full=True, accept_changes=True)
    assert [(row["cause"], row["count"]) for row in report.parked] == [("changed at the target", 2)]


def test_a_version_that_returns_brings_no_older_licence(tmp_path: Path) -> None:
    """Somebody gave the asset another one since."""
    with scene(tmp_path, KIND, [Edit("file replaced", "file.size", replaced)], exposure=REOPENS) as made:
        made.edit("source")
        made.run(full=True)
        made.change_target(licence("by hand"))
        report = roll_back(made, 2)
        assert report.counts == {"returned to earlier values": 1}
        assert licences(made) == ["by hand"]
        ((older, newer),) = [row["versions"][-2:] for row in made.target.assets if row["id"] in made.edited]
        assert older["size"] != newer["size"]


def test_after_killed_runs(tmp_path: Path, record_property: Callable[[str, object], None], of_today: OfToday) -> None:
    came = tried(tmp_path, (KIND, KIND), LICENCE, OF_ALL_EDITS, of_today)
    record_property(TRIED, str(sum(each.crashes for each in came)))
    assert [fault for each in came for fault in each.faults] == []
