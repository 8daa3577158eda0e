"""No redirect opens what was not open: each published link is asked, and both services say who sees its asset."""

from __future__ import annotations

import asyncio
import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from dam_sync.api.redirects import RedirectRequest, job_redirects
from dam_sync.model.asset import Patch
from dam_sync.model.exposure import ExposureRule
from dam_sync.report.redirects import RedirectReport
from tests.e2e.test_exposure import OPTIONS, library, receiving, with_policy
from tests.support.jobs import small_jobs
from tests.support.jobs.any_pair import asked_of, hurried, joined, moved, ran, receiver_of, tenant_of
from tests.support.jobs.audience import DOWNLOAD, Seen
from tests.support.jobs.folder_jobs import side_of
from tests.support.jobs.library_edits import change_target
from tests.support.jobs.tenants import Pair
from tests.support.libraries.every_feature import OWN_MARKS
from tests.support.pairs import EVERYTHING, ids
from tests.support.services.profiles import profile_of

LINKED = ("a_hypermedia", "b_documents", "c_brandlibrary", "e_profiles")
ALL = [(source, target) for source in LINKED for target in LINKED]
ASKED = ALL if EVERYTHING else [("b_documents", "e_profiles")]
HIDDEN = ALL if EVERYTHING else [("a_hypermedia", "e_profiles")]
RULES = {rule.value: "accept" for rule in ExposureRule}
EVERYBODY = ("user", DOWNLOAD)


@dataclass(frozen=True, slots=True)
class Published:
    """What `redirects` wrote. rows: of the table, by old link; rules: those of web servers, as text."""

    report: RedirectReport
    rows: Mapping[str, Mapping[str, str]]
    rules: str

    @classmethod
    def of(cls, pair: Pair, *, probe: bool = False) -> Published:
        files = [pair.folder / name for name in ("links.csv", "nginx.conf", "apache.conf")]
        report = asyncio.run(
            job_redirects(pair.job, small_jobs.options(), RedirectRequest(files[0], files[1], files[2], probe))
        )
        with files[0].open(encoding="utf-8-sig", newline="") as table:
            rows = {row["old"]: row for row in csv.DictReader(table)}
        rules = "".join(path.read_text(encoding="utf-8") for path in (files[1], files[2].with_suffix(".map")))
        return cls(report, rows, rules)

    @property
    def new(self) -> dict[str, str]:
        """New links by old ones."""
        return {old: row["new"] for old, row in self.rows.items() if row["new"]}

    def assets(self) -> set[str]:
        """Source assets with a redirect."""
        return {row["asset"] for row in self.rows.values() if row["new"]}


@pytest.fixture
def pair(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Pair]:
    source, target = request.param
    with hurried(), tenant_of(source, library(source)) as first, receiver_of(target, receiving()) as second:
        from_ = side_of(source, first, {**asked_of(source), **OPTIONS.get(source, {})})
        into = side_of(target, second, {**profile_of(target).parted, **OPTIONS.get(target, {})})
        yield joined(tmp_path, from_, into, (first, second), OWN_MARKS, policy={"exposure": RULES})


def opened(links: Sequence[str]) -> set[str]:
    """Those that anybody can open."""
    with httpx.Client(verify=False, trust_env=False) as client:
        return {url for url in links if client.get(url, follow_redirects=True).status_code < 300}


def exposed(pair: Pair, found: Published) -> set[str]:
    """Old links whose new ones anybody can open, though nobody could open the old one, or not everybody sees the
    asset at both services."""
    source, target, twins = Seen.of(pair.source), Seen.of(pair.target), moved(pair).twins
    reached = opened([*found.new, *found.new.values()])
    asset = {old: found.rows[old]["asset"] for old in found.new}
    everybody = {
        old
        for old, one in asset.items()
        if EVERYBODY in source.now.get(one, ()) and EVERYBODY in target.now.get(twins[one], ())
    }
    return {old for old, new in found.new.items() if new in reached and (old not in reached or old not in everybody)}


@pytest.mark.parametrize("pair", ASKED, ids=ids(ASKED), indirect=True)
def test_no_redirect_opens_what_was_not_open(pair: Pair) -> None:
    ran(pair)
    accepted = Published.of(pair)
    assert accepted.report.left_out == []
    assert all(row["accepted"] for old, row in accepted.rows.items() if old in exposed(pair, accepted))
    assert {row["rule"] for row in accepted.report.accepted} <= RULES.keys()

    with_policy(pair)
    for probe in (False, True):
        found = Published.of(pair, probe=probe)
        assert exposed(pair, found) == set()
        assert sum(row["number"] for row in found.report.left_out) == len(accepted.new) - len(found.new)
        assert all(found.rows[old]["reason"].startswith("left out: ") for old in accepted.new.keys() - found.new)
        gone = set(accepted.new.values()) - set(found.new.values())
        assert not [new for new in gone if new in found.rules], "no output has the new link of one that is left out"
        assert {row["new"] for row in found.report.links} <= set(found.new.values())


@pytest.mark.parametrize("pair", HIDDEN, ids=ids(HIDDEN), indirect=True)
def test_a_link_of_an_asset_that_was_hidden_at_the_target_is_left_out(pair: Pair) -> None:
    ran(pair)
    with_policy(pair, login_dropped="accept")
    before = Published.of(pair)
    if not before.new or not opened(list(before.new.values())):
        pytest.skip("no new link opens without a login")
    one = min(before.assets())
    change_target(pair.job, moved(pair).twins[one], Patch(closed=True))
    after = Published.of(pair)
    assert before.assets() - after.assets() == {one}
    rows = [row for row in after.rows.values() if row["asset"] == one and row["old"] in before.new]
    assert rows
    gone = "no counterpart: the target publishes no link of the asset"
    assert all("(target: " in row["reason"] or row["reason"] == gone for row in rows)
    assert exposed(pair, after) == set()
