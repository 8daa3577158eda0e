"""A group that stands for everybody (`options: {everybody: …}`) is read as no group at all: an asset that was given it
is as it was written."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from dam_sync.api.jobs import verify_job
from dam_sync.emulators import emulated_kinds
from dam_sync.model.asset import Patch
from tests.support.virtual.rollback_process import roll_back
from tests.support.virtual.target_edits import rights
from tests.support.virtual.two_tenants import SPARE, TwoTenants, scene

KINDS = {kind[0]: kind for kind in emulated_kinds()}
STAFF = "staff"  # the group of every asset of the library
WIDER = {"groups_widened": "accept"}

every_kind = pytest.mark.parametrize("kind", ["b", "d", "e"])


@contextmanager
def open_to_staff(folder: Path, kind: str) -> Iterator[TwoTenants]:
    """A library moved into a target where the group of its assets stands for everybody."""
    with scene(folder, KINDS[kind], (), exposure=WIDER) as made:
        yaml = YAML()
        data = yaml.load(made.job.read_text(encoding="utf-8"))
        data["target"].setdefault("options", {})["everybody"] = [STAFF]
        with made.job.open("w", encoding="utf-8") as out:
            yaml.dump(data, out)
        yield made


@every_kind
def test_a_verification_finds_no_difference_and_a_repair_writes_nothing(tmp_path: Path, kind: str) -> None:
    with open_to_staff(tmp_path, kind) as made:
        verdict = made.verify()
        assert (verdict["clean"], verdict["differences"], verdict["extras"]) == (True, [], [])
        report = made.run(repair=True)
        assert (report.repaired, report.operations) == ({}, {})


@every_kind
def test_a_group_that_was_taken_away_is_found(tmp_path: Path, kind: str) -> None:
    with open_to_staff(tmp_path, kind) as made:
        made.change_target(rights(groups=frozenset({"public"})))
        assert {difference["path"] for _, _, difference in made.verify()["differences"]} == {"groups"}


@every_kind
def test_other_groups_of_the_source_are_no_conflict(tmp_path: Path, kind: str) -> None:
    with open_to_staff(tmp_path, kind) as made:
        made.change_source(rights(groups=frozenset({"public"})))
        report = made.run()
        assert (report.counts["updated"], report.parked) == (SPARE, [])
        assert made.verify()["clean"]


@every_kind
def test_a_rollback_takes_back_what_nobody_changed(tmp_path: Path, kind: str) -> None:
    with open_to_staff(tmp_path, kind) as made:
        assert roll_back(made, 1).counts == {"moved to the trash": SPARE}


def test_an_asset_that_was_hidden_by_hand_is_reported_as_hidden(tmp_path: Path) -> None:
    """And not as one without its group: nobody took that away."""
    with open_to_staff(tmp_path, "e") as made:
        made.change_target(lambda hand, asset: hand.service.update(asset.id, Patch(closed=True)))
        found = [difference for _, _, difference in made.verify()["differences"]]
        assert {(each["path"], each["pattern"]) for each in found} == {("release", "missing")}
        without_release_rule(made)
        options = made.universe.options(accept_changes=True)
        report = made.universe.do(verify_job(made.job, options, "fields", "100%"))
        found = [difference for _, _, difference in report.as_json()["verdict"]["differences"]]
        assert {(each["path"], each["pattern"]) for each in found} == {("release", "hidden")}


def without_release_rule(made: TwoTenants) -> None:
    """The mapping leaves the release date to the target."""
    yaml, path = YAML(), made.job.with_name("mapping.yaml")
    data = yaml.load(path.read_text(encoding="utf-8"))
    del data["security"]["release"]
    with path.open("w", encoding="utf-8") as out:
        yaml.dump(data, out)
