"""Old public links of a moved library and the new ones: listed, as rules, and asked."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from dam_sync.api.redirects import RedirectRequest, job_redirects
from dam_sync.emulators import emulated_kinds
from dam_sync.http.redaction import redact
from dam_sync.model.capabilities import Operation
from dam_sync.report.redirects import RedirectReport
from dam_sync.services import discover
from tests.support.pairs import ids, pairs
from tests.support.services.profiles import FOLDER
from tests.support.virtual.removals import ASSETS, Removals, removing

EMULATED = frozenset(emulated_kinds())
PAIRS = [pair for pair in pairs(1, 2) if FOLDER not in pair]


def links_of(job: Removals, **asked: object) -> RedirectReport:
    request = RedirectRequest(
        job.job.parent / "links.csv", job.job.parent / "nginx.conf", job.job.parent / "apache.conf", **asked
    )
    return job.universe.do(job_redirects(job.job, job.options(), request))


def linked(kind: str) -> bool:
    return Operation.PUBLIC_LINKS in discover()[kind].capabilities


@pytest.mark.parametrize("kinds", PAIRS, ids=ids(PAIRS))
def test_every_old_link_has_a_new_one_or_a_reason(tmp_path: Path, kinds: tuple[str, str]) -> None:
    with removing(tmp_path, kinds) as job:
        report = links_of(job, probe=True)
        with (job.job.parent / "links.csv").open(encoding="utf-8-sig", newline="") as rows:
            table = list(csv.DictReader(rows))
        if not linked(kinds[0]):
            assert (table, report.redirects) == ([], 0)
            assert "no public links that last" in report.notes[0]
            return
        assert {row["asset"] for row in table} == set(job.links())
        assert {row["asset"]: row["target"] for row in table} == job.links()
        assert all(bool(row["new"]) != bool(row["reason"]) for row in table)
        assert all(redact(row[key]) == row[key] for row in table for key in ("old", "new"))
        if not linked(kinds[1]):
            assert {row["reason"] for row in table} == {
                "no counterpart: the target has no public links: links expire after seconds or days"
            }
            return
        assert (report.redirects, report.without) == (len(table), [])
        assert all(row["old"] and row["old status"][:3].isdigit() for row in table)
        assert {row["new status"] for row in table} == ({"200"} if kinds[1] != "b_documents" else {"401"})
        written = (job.job.parent / "nginx.conf").read_text(encoding="utf-8")
        assert all(row["new"] in written for row in table)
        assert len((job.job.parent / "apache.map").read_text(encoding="utf-8").splitlines()) >= ASSETS


def test_an_asset_that_was_not_moved_or_is_missing_says_so(tmp_path: Path) -> None:
    with removing(tmp_path, ("a_hypermedia", "e_profiles")) as job:
        (first, there), *_ = job.links().items()
        job.remove([there], "target")
        report = links_of(job)
        assert [(row["reason"], row["examples"]) for row in report.without] == [
            ("no counterpart: the target publishes no link of the asset", [first])
        ]
