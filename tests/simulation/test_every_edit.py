"""What people change in the target by hand: all of it is reported by `verify`, and `run --repair` restores what the
policy allows."""

from __future__ import annotations

from pathlib import Path

import pytest

from dam_sync.emulators import profile_of
from tests.support.pairs import KINDS
from tests.support.virtual.target_edits import EDITS
from tests.support.virtual.two_tenants import REOPENS, scene

POLLED = 0.2  # part of the calls of a repair that depends on how long a service looks at a file


def test_there_are_forty_kinds_of_edits_over_all_services() -> None:
    assert set(EDITS) == set(KINDS)
    assert len({edit.name for edits in EDITS.values() for edit in edits}) >= 40


@pytest.mark.parametrize("kind", KINDS, ids=[kind[0] for kind in KINDS])
def test_every_edit_is_reported_and_restored_where_the_policy_allows(tmp_path: Path, kind: str) -> None:
    with scene(tmp_path, kind, EDITS[kind], exposure=REOPENS) as made:
        made.edit()
        verdict = made.verify()
        told = made.found(verdict)
        for edit in made.edits:
            part = "extras" if edit.extra else "differences"
            path = edit.path.format(profile_of(kind).prefix)
            assert f"{part}: {path}" in told.get(edit.name, set()), f"{edit.name}: {told.get(edit.name)}"
        assert not verdict["clean"]
        plan = made.plan(repair=True)
        report = made.run(repair=True)
        assert (report.operations, report.repaired) == (plan.operations, plan.repaired)
        assert report.target.total_calls == pytest.approx(plan.target.total_calls, rel=POLLED)
        left = made.found(made.verify())
        for edit in made.edits:
            differences = {one for one in left.get(edit.name, set()) if one.startswith("differences")}
            assert bool(differences) == edit.lost, f"{edit.name}: {left.get(edit.name)}"
        again = made.run(repair=True)
        assert again.repaired == {}, again.repaired
        assert again.operations == {}, again.operations
