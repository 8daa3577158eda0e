"""The ledger: from its rows alone a person can see what every write did, and undo it."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from dam_sync import __version__
from dam_sync.api.jobs import run_job
from dam_sync.api.reports.run_record import spent_note, total_spent
from dam_sync.api.state_copies import job_gc
from dam_sync.model.errors import StopRequested
from dam_sync.model.journal_names import is_inner
from dam_sync.model.wording import bytes_text
from tests.support.jobs import small_jobs
from tests.support.jobs.any_pair import ACCEPTED, Pair, any_pair, large_for, living, moved, planned, ran
from tests.support.jobs.small_jobs import FastClock
from tests.support.libraries.every_feature import OWN_MARKS, everything, receiving
from tests.support.pairs import EVERY
from tests.support.services.profiles import profile_of

SHARED = "DELETE /api/v1/upload/{batchId}"  # of files of several assets, so that it belongs to none of them
SOURCES = {"a_hypermedia": "b_documents"}  # every target once; the source with relations and attachments


def rows_of(pair: Pair) -> list[dict[str, Any]]:
    """The writes, without the steps inside them."""
    with closing(sqlite3.connect(pair.folder / "state" / "job.db")) as state:
        state.row_factory = sqlite3.Row
        found = [dict(row) for row in state.execute("SELECT * FROM ledger ORDER BY seq")]
    for row in found:
        row["changes"], row["calls"] = json.loads(row["changes"]), json.loads(row["calls"])
    return [row for row in found if not is_inner(row["operation"])]


def of_kind(rows: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [row for row in rows if row["operation"].partition(":")[0] == kind]


def library(source: str, target: str) -> list[Any]:
    return everything(large_for(target), without={*profile_of(source).refuses, *profile_of(target).refuses})


@pytest.mark.parametrize("target", EVERY, ids=lambda kind: kind[0])
def test_every_write_says_what_it_did(tmp_path: Path, target: str) -> None:
    source = SOURCES.get(target, "a_hypermedia")
    with any_pair(tmp_path, source, target, library(source, target), receiving(), OWN_MARKS) as pair:
        pair.target.forget_calls()
        report = ran(pair)
        rows, twins, there = rows_of(pair), moved(pair).twins, living(pair.source)
        assert rows
        assert all(row["target"] for row in rows if row["operation"].partition(":")[0] != "term"), rows
        assert all(row["changes"] and row["run"] == 1 and row["at"] and row["seconds"] is not None for row in rows)
        created = {row["asset"]: row for row in of_kind(rows, "create")}
        assert {asset: row["target"] for asset, row in created.items()} == twins
        for asset, row in created.items():
            with_file = bool(there[asset]["versions"])
            assert (row["size"] is not None) == with_file
            assert bool(row["digest"]) == with_file
            assert "filename" in row["changes"] or not with_file
            assert any(key.startswith("fields.") for key in row["changes"])
        assert all(row["version"] for row in of_kind(rows, "version"))
        spent = Counter[str]()
        for row in rows:
            spent.update(row["calls"])
        called = Counter(report["target"]["calls"])
        assert dict(spent - called) == {}, "a call is counted twice"
        writes = Counter({call: number for call, number in called.items() if call.startswith(("PUT ", "DELETE "))})
        del writes[SHARED]
        assert not writes - spent, "a call that writes is in no row of the ledger"


def test_a_ledger_of_keys_holds_no_values(tmp_path: Path) -> None:
    source, target = "a_hypermedia", "b_documents"
    policy = {**ACCEPTED, "ledger": "keys"}
    with any_pair(tmp_path, source, target, library(source, target), receiving(), OWN_MARKS, policy=policy) as pair:
        ran(pair)
        (row, *_) = of_kind(rows_of(pair), "create")
        assert len(row["changes"]) > 3
        assert set(row["changes"].values()) == {None}


def test_a_finished_run_keeps_what_it_was_made_by_and_what_it_cost(tmp_path: Path) -> None:
    source, target = "a_hypermedia", "e_profiles"
    with any_pair(tmp_path, source, target, library(source, target), receiving(), OWN_MARKS) as pair:
        plan, report = planned(pair), ran(pair)
        assert plan["digest"] == report["digest"] != ""
        with closing(sqlite3.connect(pair.folder / "state" / "job.db")) as state:
            (text,) = state.execute("SELECT outcome FROM run").fetchone()
        books = json.loads(text)
        assert books["calls"] == {"source": report["source"]["calls"], "target": report["target"]["calls"]}
        sizes = [row["size"] for row in rows_of(pair) if row["size"] is not None]
        assert books["bytes"] == sum(sizes) == plan["bytes"]
        assert books["seconds"] > 0
        assert books["processes"] == 1
        assert books["plan"] == plan["digest"]
        assert books["version"] == __version__
        assert all(books["schemas"].values())
        assert len({books["mapping"], *books["schemas"].values()}) == 3


def test_a_run_in_two_processes_keeps_the_cost_of_both(tmp_path: Path) -> None:
    source, target = "a_hypermedia", "e_profiles"
    with any_pair(tmp_path, source, target, library(source, target), receiving(), OWN_MARKS) as pair:
        pair.source.forget_calls()
        with pytest.raises(StopRequested):
            asyncio.run(run_job(pair.job, small_jobs.options(limit=3)))
        report = ran(pair)
        with closing(sqlite3.connect(pair.folder / "state" / "job.db")) as state:
            (text,) = state.execute("SELECT outcome FROM run").fetchone()
        books = json.loads(text)
        assert books["processes"] == 2
        assert (report["bytes"], report["seconds"]) == (books["bytes"], books["seconds"])
        assert report["bytes"] == sum(row["size"] or 0 for row in rows_of(pair))
        assert {side: report[side]["calls"] for side in ("source", "target")} == books["calls"]
        assert f"({bytes_text(report['bytes'])} of files)" in report["headline"]["text"]
        assert [note for note in report["notes"] if "2 processes" in note]
        assert sum(books["calls"]["source"].values()) == sum(pair.source.calls.values())


def test_what_a_killed_process_spent_is_counted_once() -> None:
    first = {"calls": {"source": {"GET /a": 2}, "target": {}}, "bytes": 10, "seconds": 1.5, "processes": 1, "killed": 0}
    later = {**first, "calls": {"source": {"GET /a": 3}, "target": {"PUT /b": 1}}}
    note = spent_note({}, "p", first, ended=False)
    assert total_spent(spent_note(note, "p", later, ended=False)) == later, "the same process again"
    note = spent_note(spent_note(note, "p", later, ended=False), "q", first, ended=True)
    assert total_spent(note) == {
        "calls": {"source": {"GET /a": 5}, "target": {"PUT /b": 1}},
        **{"bytes": 20, "seconds": 3.0, "processes": 2, "killed": 1},
    }
    written_before = {key: first[key] for key in ("calls", "bytes", "seconds", "processes")}
    assert total_spent(spent_note(written_before, "q", first, ended=True))["processes"] == 2


def test_what_the_policy_leaves_behind_of_versions_is_a_named_loss(tmp_path: Path) -> None:
    source, target = "b_documents", "b_documents"
    policy = {**ACCEPTED, "versions": "current"}
    with any_pair(tmp_path, source, target, library(source, target), receiving(), OWN_MARKS, policy=policy) as pair:
        several = sum(len(row["versions"]) > 1 for row in living(pair.source).values())
        assert several
        for report in (planned(pair), ran(pair)):
            losses = {(loss["path"], loss["rule"]): loss["assets"] for loss in report["losses"]}
            assert losses["versions", "policy versions: current"] == several


def test_gc_removes_old_rows_and_the_next_run_writes_nothing(tmp_path: Path) -> None:
    source, target = "a_hypermedia", "b_documents"
    with any_pair(tmp_path, source, target, library(source, target), receiving(), OWN_MARKS) as pair:
        ran(pair)
        assert asyncio.run(job_gc(pair.job, "1d", FastClock()))["ledger rows removed"] == 0
        number = len(rows_of(pair))
        assert number
        assert asyncio.run(job_gc(pair.job, "0.001s", FastClock()))["ledger rows removed"] >= number
        assert rows_of(pair) == []
        assert ran(pair)["operations"] == {}
        with closing(sqlite3.connect(pair.folder / "state" / "job.db")) as state:
            triggers = {row[0] for row in state.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'")}
        assert {"ledger_kept", "ledger_fixed"} <= triggers
