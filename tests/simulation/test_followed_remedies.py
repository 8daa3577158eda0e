"""Somebody who only follows what a plan prints comes to a run in which nothing is held back, and nobody sees more than
before; no waiver is needed for it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from dam_sync.api.check import check_job
from dam_sync.api.emulation.sandbox import write_job
from dam_sync.report.report import Report
from tests.conformance.catalogue import SCHEMA, asset
from tests.support.jobs.any_pair import asked_of
from tests.support.jobs.audience import Sight
from tests.support.libraries.every_feature import OWN_MARKS
from tests.support.services.profiles import profile_of
from tests.support.virtual.moves import served, sides_of, suggested
from tests.support.virtual.restricted_move import RestrictedMove
from tests.support.virtual.state_location import job_in, state_for
from tests.support.virtual.universe import Universe, job_of

PAIRS = [
    ("b_documents", "e_profiles"),
    ("a_hypermedia", "e_profiles"),
    ("b_documents", "d_templates"),
    ("e_profiles", "b_documents"),
    ("d_templates", "b_documents"),
    ("b_documents", "c_brandlibrary"),
]
LATER = "2045-06-01T00:00:00Z"
ROUNDS = 5  # of reading a plan and following it
LINE = re.compile(r"`(options|policy): (\{[^`]*\})`(?: of the (source|target))?")
CHOICES = re.compile(r"one of ([^;.]+)")
OPEN_TYPE = {"record": "profile", "name": "Image closed", "type": "Photo", "groups": []}


def library() -> list[dict[str, Any]]:
    """All of it limited to members, some of it to others, or to nobody yet."""
    members: dict[str, Any] = {"groups": ["members"]}
    rows = [asset(number, rights=members) for number in range(1, 7)]
    rows += [asset(number, rights={"groups": ["staff"]}) for number in (7, 8)]
    rows += [asset(9, rights=members, status="archived"), asset(10, rights=members, status="draft")]
    rows += [asset(11, rights={**members, "release_at": LATER})]
    for row in rows:
        del row["fields"][OWN_MARKS]
    return [*SCHEMA, {"record": "group", "name": "members"}, *rows]


def receiving() -> list[dict[str, Any]]:
    return [*SCHEMA, {"record": "group", "name": "Hidden", "opens": []}, OPEN_TYPE]


@contextmanager
def limited_move(folder: Path, kinds: tuple[str, str]) -> Iterator[RestrictedMove]:
    """A job with the options that a move needs whoever may see what."""
    libraries, asked = (library(), receiving()), (dict(asked_of(kinds[0])), dict(profile_of(kinds[1]).parted))
    with Universe(1) as universe:
        source, target = served(universe, folder, kinds, libraries)
        job = job_in(folder)
        mapping = job.with_name("mapping.yaml")
        write_job(job, "move", *sides_of((source, target), asked), mapping, state=state_for(job))
        mapping.write_text(suggested(kinds, libraries, asked), encoding="utf-8")
        yield RestrictedMove(universe, source, target, job, ())


def follow(job: Path, remedy: str) -> None:
    """Write the first option that a remedy names into the job, and the policy."""
    lines = [(where, YAML(typ="safe").load(text), role) for where, text, role in LINE.findall(remedy)]
    yaml = YAML()
    data = yaml.load(job.read_text(encoding="utf-8"))
    options = [(value, role) for where, value, role in lines if where == "options"]
    for where, value, _ in lines:
        if where == "policy" and "everybody" not in remedy:
            data.setdefault("policy", {}).setdefault("exposure", {}).update(value["exposure"])
    for value, role in options[:1]:
        names = CHOICES.search(remedy)
        chosen = "Hidden" if names and "Hidden" in names[1] else None
        data[role].setdefault("options", {}).update(
            {name: chosen if each == "NAME" else each for name, each in value.items()}
        )
    with job.open("w", encoding="utf-8") as out:
        yaml.dump(data, out)


def aside(report: Report) -> list[Mapping[str, Any]]:
    return [row for row in report.exposure if row["fate"] == "set aside"]


@pytest.mark.parametrize("kinds", PAIRS, ids=lambda kinds: f"{kinds[0][0]}-{kinds[1][0]}")
def test_what_a_plan_prints_leads_to_a_run_that_holds_nothing_back(tmp_path: Path, kinds: tuple[str, str]) -> None:
    with limited_move(tmp_path, kinds) as move:
        for _ in range(ROUNDS):
            plan = move.plan()
            held = aside(plan)
            checked = move.universe.do(check_job(job_of(move.job), move.universe.options()))
            told = [one for one in checked if "would be set aside" in one.message]
            assert bool(told) == bool(held), "a check says what the plan says"
            if not held:
                break
            for row in held:
                assert row["remedy"], f"{row['rule']} has a remedy at this pair"
                assert "accept" not in row["remedy"]
                assert any(row["remedy"] in text for text in plan.headline.points)
                assert all(text in one.hint for text in row["remedies"] for one in told)
                follow(move.job, row["remedy"])
        assert not aside(plan)
        report = move.run()
        assert report.counts.get("parked", 0) == plan.counts.get("parked", 0) == 0
        assert report.counts["created"] == len(move.source.assets)
        assert move.widened(move.twins()) <= {one for one, sight in move.seen("source").items() if is_everybodys(sight)}


def is_everybodys(sight: Sight) -> bool:
    """Whether all members see it."""
    return bool({viewer for viewer, _ in sight} & {"group:members", "user", "public"})
