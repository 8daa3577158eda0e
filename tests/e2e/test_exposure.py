"""Every service into every service: nobody sees at the target, at any moment of a run, what they did not see before."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from dam_sync.api.jobs import plan_job, run_job, verify_job
from dam_sync.engine.guards.exposure import exposure_stop
from dam_sync.model.asset import Patch, Rights
from dam_sync.model.exposure import EXPOSURE, ExposureRule
from tests.support.jobs import small_jobs
from tests.support.jobs.any_pair import Moved, asked_of, hurried, joined, moved, planned, receiver_of, tenant_of
from tests.support.jobs.audience import DOWNLOAD, Seen, Sight, wider
from tests.support.jobs.folder_jobs import side_of
from tests.support.jobs.library_edits import change_source, change_target, closes
from tests.support.jobs.tenants import Pair
from tests.support.libraries.every_feature import OWN_MARKS
from tests.support.libraries.restricted import OF_DRAFTS, OPTIONS, WITHOUT_GROUPS, library, receiving
from tests.support.pairs import ids, pairs
from tests.support.services.profiles import profile_of

PAIRS = pairs(1)
IDS = ids(PAIRS)
PUBLIC, BEFORE = frozenset({"public"}), datetime(2003, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Looked:
    """One look at a pair after a run, by the ids of the source. accepted: by asset, the rules that were."""

    report: Mapping[str, Any]
    code: int
    state: Moved
    accepted: Mapping[str, frozenset[str]]
    source: Seen
    target: Seen

    @classmethod
    def after_run(cls, pair: Pair, *, full: bool = False, repair: bool = False) -> Looked:
        report = asyncio.run(run_job(pair.job, small_jobs.options(full=full, repair=repair))).as_json()
        stop = exposure_stop(report["exposure"])
        code = stop.exit_code if stop else 4 if report["parked"] else 0
        return cls(report, code, moved(pair), accepted_of(pair), Seen.of(pair.source), Seen.of(pair.target))

    @property
    def refused(self) -> set[str]:
        """Assets that the guard set aside."""
        return {one for one, cause in self.state.parked.items() if cause.startswith(f"{EXPOSURE}: ")}

    @property
    def others(self) -> set[str]:
        """Assets that were set aside for another reason."""
        return set(self.state.parked) - self.refused

    def seen(self, one: str) -> Sight:
        """Who has seen it at the target."""
        return self.target.ever.get(self.state.twins.get(one, ""), frozenset())

    def before(self, one: str) -> Sight:
        """Who sees it at the source."""
        return self.source.now.get(one, frozenset())

    @property
    def widened(self) -> set[str]:
        """Assets seen at the target by somebody who does not see them at the source, and what is there for no asset."""
        ours = {one for one in self.state.twins if wider(self.seen(one), self.before(one))}
        return ours | (self.target.ever.keys() - set(self.state.twins.values()))


def accepted_of(pair: Pair) -> dict[str, frozenset[str]]:
    """The exposure rules that were accepted for each asset, by its losses."""
    with closing(sqlite3.connect(pair.folder / "state" / "job.db")) as connection:
        rows = connection.execute("SELECT asset, losses FROM work").fetchall()
    told = {one: [loss for loss in json.loads(text) or () if loss["path"] == EXPOSURE] for one, text in rows}
    rules = {one: [loss["rule"].partition(" ") for loss in losses] for one, losses in told.items()}
    return {one: frozenset(rule for rule, _, fate in found if fate == "accepted") for one, found in rules.items()}


@pytest.fixture(params=PAIRS, ids=IDS)
def pair(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Pair]:
    source, target = request.param
    with hurried(), tenant_of(source, library(source)) as first, receiver_of(target, receiving()) as second:
        from_ = side_of(source, first, {**asked_of(source), **OPTIONS.get(source, {})})
        into = side_of(target, second, {**profile_of(target).parted, **OPTIONS.get(target, {})})
        yield joined(tmp_path, from_, into, (first, second), OWN_MARKS, policy={})


def with_policy(pair: Pair, **waivers: str) -> None:
    """From now on the job says so of these rules."""
    yaml = YAML()
    body = yaml.load(pair.job)
    body["policy"] = {"exposure": waivers}
    yaml.dump(body, pair.job)


def test_nobody_sees_more_than_before_but_for_what_is_accepted(pair: Pair) -> None:
    there = {row["id"]: row["catalogue_id"] for row in pair.source.assets}
    plan = planned(pair)
    first = Looked.after_run(pair)
    assert first.report["exposure"] == plan["exposure"]
    assert first.widened == set()
    assert first.state.parked.keys() | first.state.twins.keys() == there.keys()
    assert first.code == (6 if first.refused else 4 if first.others else 0)

    rules = {row["rule"] for row in first.report["exposure"]}
    one = ExposureRule.ARCHIVED.value if ExposureRule.ARCHIVED.value in rules else min(rules, default="")
    if one:
        with_policy(pair, **{one: "accept"})
        second = Looked.after_run(pair)
        accepted = {asset for asset, found in second.accepted.items() if one in found}
        assert second.widened <= accepted == first.refused - second.refused
        assert second.code == (6 if second.refused else 4 if first.others else 0)

    with_policy(pair, **dict.fromkeys(rules, "accept"))
    last = Looked.after_run(pair)
    assert last.code == (4 if first.others else 0)
    assert last.state.parked.keys() == first.others
    accepted = {asset for asset, found in last.accepted.items() if found}
    assert last.widened <= accepted == first.refused
    assert {one for one in accepted if not last.before(one)} <= last.widened


def test_what_is_written_closed_is_seen_by_nobody_until_it_is_accepted(pair: Pair) -> None:
    with_policy(pair, **dict.fromkeys(OF_DRAFTS, "close"))
    first = Looked.after_run(pair)
    closed = {row["rule"] for row in first.report["exposure"] if row["fate"] == "closed"}
    assert first.widened == set()
    assert first.code == (6 if first.refused else 4 if first.others else 0)
    assert not (closed and first.refused), "a target can close, or cannot"
    assert exposure_differences(pair) == []
    again = Looked.after_run(pair)
    assert again.report["operations"] == {}
    with_policy(pair, **dict.fromkeys(OF_DRAFTS, "accept"))
    last = Looked.after_run(pair, full=True)
    accepted = {asset for asset, found in last.accepted.items() if found}
    assert last.state.parked.keys() == first.others
    assert last.widened <= accepted
    assert {one for one in accepted if not last.before(one)} <= last.widened
    assert Looked.after_run(pair, full=True).report["operations"] == {}


def test_a_restriction_that_is_added_later_is_carried_or_reported(pair: Pair) -> None:
    first = Looked.after_run(pair)
    if not closes(pair.job):
        pytest.skip("the source cannot hide one of its assets")
    one = min(first.state.twins)
    change_source(pair.job, one, Patch(closed=True))
    later = Looked.after_run(pair, full=True)
    twin = later.state.twins[one]
    assert later.before(one) == frozenset()
    if one in later.refused:
        assert later.code == 6
        assert any("stays visible" in row["example"] for row in later.report["parked"])
        assert exposure_differences(pair) == [one]
    else:
        assert later.target.now.get(twin, frozenset()) <= {("group:Hidden", DOWNLOAD)}, "a name is taken at its word"
        assert exposure_differences(pair) == []


def test_what_was_hidden_and_somebody_opened_is_hidden_again_by_a_repair(pair: Pair) -> None:
    with_policy(pair, **dict.fromkeys(OF_DRAFTS, "close"))
    first = Looked.after_run(pair)
    hidden = closed_of(pair)
    if not hidden:
        pytest.skip("the target cannot hide an asset")
    one = min(hidden)
    groups = frozenset[str]() if YAML().load(pair.job)["target"]["kind"] in WITHOUT_GROUPS else PUBLIC
    opened = Patch(status="published", rights=Rights(groups=groups, release_at=BEFORE), closed=False)
    change_target(pair.job, first.state.twins[one], opened)
    found = exposure_differences(pair)
    plan = asyncio.run(plan_job(pair.job, small_jobs.options(repair=True))).as_json()
    repaired = Looked.after_run(pair, repair=True)
    assert plan["operations"] == repaired.report["operations"]
    assert found == [one]
    assert exposure_differences(pair) == []
    assert repaired.target.now.get(first.state.twins[one], frozenset()) <= {("group:Hidden", DOWNLOAD)}
    assert Looked.after_run(pair, repair=True).report["operations"] == {}


def closed_of(pair: Pair) -> set[str]:
    """Assets that were written hidden."""
    with closing(sqlite3.connect(pair.folder / "state" / "job.db")) as connection:
        rows = connection.execute("SELECT source, draft FROM link").fetchall()
    return {source for source, draft in rows if json.loads(draft).get("closed")}


def exposure_differences(pair: Pair) -> list[str]:
    """Assets of which a verification says that more people see them than may."""
    report = asyncio.run(verify_job(pair.job, small_jobs.options(), "fields", "100%"))
    assert report.verdict is not None
    return [source for source, _, found in report.verdict["differences"] if found["path"] == EXPOSURE]
