"""Reports of earlier runs and verifications are kept in the state, listed, shown again and written."""

from __future__ import annotations

import asyncio
import csv
import json
import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import closing
from html import unescape
from pathlib import Path

import pytest

from dam_sync import __version__
from dam_sync.api.state_copies import job_gc
from tests.support.jobs.library_edits import retitle_at_target
from tests.support.jobs.small_jobs import FastClock, Small, hurry, photo, photos, small
from tests.support.state.clock_and_rows import LATER_RUNS

LONG = "y" * 2_000


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Small]:
    hurry(monkeypatch)
    with small(tmp_path, [*photos(2), photo(3, credit=LONG)]) as made:
        yield made


def test_every_report_can_be_shown_again(job: Small, tmp_path: Path) -> None:
    first = job.run(code=4).data
    verified = job.ran("verify", "--json", "--no-progress", code=0).data
    second = job.run(code=4).data
    listed = job.ran("report", "--json", code=0).data["reports"]
    assert [(row["run"], row["kind"], row["result"], row["kept"], row["version"]) for row in listed] == [
        (2, "run", "parked", True, __version__),
        (1, "verify", "equal", True, __version__),
        (1, "run", "parked", True, __version__),
    ]
    assert job.ran("report", "--run", "1", "--json", code=0).data == first
    assert job.ran("report", "--run", "2", "--json", code=0).data == second
    assert job.ran("report", "--run", "1", "--kind", "verify", "--json", code=0).data == verified
    job.ran("report", code=0).says("run", "verify", "parked", "next: dam-sync report")
    job.ran("report", "--run", "1", code=0).says("Run 1 of job", "fields.credit: too long")
    page, table = tmp_path / "run.html", tmp_path / "run.csv"
    shown = job.ran("report", "--run", "1", "--html", str(page), "--csv", str(table), code=0)
    shown.says(f"written: {page}", f"written: {table}")
    assert "fields.credit: too long" in page.read_text("utf-8")
    with table.open(newline="", encoding="utf-8-sig") as rows:
        sections = {(row["section"], row["item"]): row["number"] for row in csv.DictReader(rows)}
    assert sections["assets", "created"] == "2"
    assert sections["parked", "mapping fields.credit: too long"] == "1"
    assert sections["mapping line", "fields.title"] == "2"
    assert sections["values read", "fields.title.en"] == "3"


def test_of_a_long_history_the_end_is_shown(job: Small) -> None:
    """Beyond the last 1,000 runs, too, is the one that moved an asset."""
    job.run(code=4)
    with closing(sqlite3.connect(job.state)) as connection, connection:
        connection.execute(LATER_RUNS)
    shown = job.ran("status", code=0)
    shown.says("1001", "982", "… and 980 more: `status", "--json` lists the last 1,000")
    assert "981 " not in shown.text
    job.ran("report", code=0).says("1001", "… and 971 more: `report", "--json` lists all")
    (run,) = job.ran("explain", "photo-1.jpg", "--json", code=0).data["runs"]
    assert (run["run"], run["command"]) == (1, "run")


def test_the_report_of_a_part_is_shown_and_not_stored(job: Small, tmp_path: Path) -> None:
    page, table = tmp_path / "part.html", tmp_path / "part.csv"
    part = job.ran("run", "--no-progress", "--limit", "1", "--html", str(page), "--csv", str(table), code=8)
    part.says("Run 1 of job", "1 asset was created", "stopped after 1 asset (--limit): the next run goes on", "next: ")
    assert "error" not in part.err
    assert "1 asset was created" in page.read_text("utf-8")
    assert "created" in table.read_text("utf-8")
    assert job.run("--limit", "1", code=8).data["counts"]["created"] == 2, "of a resumed run, both parts"
    (row,) = job.ran("report", "--json", code=0).data["reports"]
    assert (row["run"], row["result"], row["kept"]) == (1, "stopped", False)
    job.ran("report", code=0).says("no report", "next: dam-sync run")
    job.ran("report", "--run", "7", code=2).says("the state has no report of run 7", "`report JOB` lists those")
    job.ran("report", "--kind", "plan", code=2).says("--kind expects one of run, verify, adopt, rollback, not plan")


def test_a_run_that_is_reported_again_has_one_report(job: Small) -> None:
    """Killed between the report and its end, it is resumed and reports again."""
    job.run(code=4)
    with closing(sqlite3.connect(job.state)) as connection, connection:
        connection.execute("UPDATE run SET state = 'stopped', owner = ''")
    job.run(code=4)
    assert len(job.ran("report", "--json", code=0).data["reports"]) == 1


def test_a_report_holds_no_values_where_the_ledger_holds_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hurry(monkeypatch)
    with small(tmp_path, photos(1), more="policy: {ledger: keys}\n", mapping=LEFT_OUT[2:3]) as job:
        shown = job.run().data
        assert "Picture 1" in json.dumps(shown)
        assert "MU.00001" in json.dumps(shown["omissions"])
        retitle_at_target(job, 1, "By hand")
        job.ran("verify", "--no-progress", "--level", "fields", code=3).says("By hand")
        for kind in ("run", "verify"):
            kept = job.ran("report", "--run", "1", "--kind", kind, "--json", code=0).data
            assert "Picture 1" not in json.dumps(kept)
            assert "MU.00001" not in json.dumps(kept)
            assert "By hand" not in json.dumps(kept)
            assert kept["counts"] == (shown["counts"] if kind == "run" else {})
        assert [row["number"] for row in kept["verdict"]["groups"]] == [1]
        job.ran("report", "--run", "1", "--kind", "verify", code=0).says("fields.title other value 1 ")


def test_reports_of_adoptions_and_rollbacks_are_stored_too(job: Small) -> None:
    job.run(code=4)
    job.ran("rollback", "--run", "1", "--yes", "--max-deletes", "100%", "--no-progress", code=0)
    job.ran("adopt", "--no-progress", code=0)
    listed = job.ran("report", "--json", code=0).data["reports"]
    assert [(row["run"], row["kind"], row["result"]) for row in listed] == [
        (3, "adopt", "done"),
        (2, "rollback", "done"),
        (1, "run", "parked"),
    ]
    job.ran("report", "--run", "2", code=0).says("Rollback 2 of job", "moved to the trash 2", "created containers")
    job.ran("report", "--run", "3", code=0).says("Adoption", "of job")


def test_a_report_of_an_earlier_version_gets_what_it_lacks(job: Small, tmp_path: Path) -> None:
    job.run(code=4)
    (body,) = rows(job, "SELECT body FROM report")

    old = json.loads(zlib.decompress(body[0]))
    for key in ("conflicts", "gone", "repaired", "headline", "mapping", "accounts", "risks", "format"):
        del old[key]
    old["losses"] = [{key: loss[key] for key in ("path", "rule", "assets")} for loss in old["losses"]]
    assert old["losses"]
    with closing(sqlite3.connect(job.state)) as connection, connection:
        connection.execute("UPDATE report SET body = ?", (zlib.compress(json.dumps(old).encode()),))
    assert job.ran("report", "--run", "1", "--json", code=0).data["conflicts"] == []
    table, page = tmp_path / "old.csv", tmp_path / "old.html"
    job.ran("report", "--run", "1", "--csv", str(table), "--html", str(page), code=0).says("Run 1 of job")
    assert "loss,substatus,not mapped," in table.read_text("utf-8")
    assert "not mapped" in page.read_text("utf-8")
    with closing(sqlite3.connect(job.state)) as connection, connection:
        connection.execute("UPDATE report SET body = x'00'")
    job.ran("report", "--run", "1", code=2).says("is damaged", "state JOB import")


def test_old_reports_are_removed_with_old_rows_of_the_ledger(job: Small) -> None:
    job.run(code=4)
    assert asyncio.run(job_gc(job.pair.job, "1d", FastClock()))["reports removed"] == 0
    assert asyncio.run(job_gc(job.pair.job, "0.001s", FastClock()))["reports removed"] == 1
    (row,) = job.ran("report", "--json", code=0).data["reports"]
    assert not row["kept"]


def rows(job: Small, query: str) -> list[tuple[bytes, ...]]:
    with closing(sqlite3.connect(job.state)) as connection:
        return connection.execute(query).fetchall()


def test_examples_have_the_name_of_the_asset_and_its_id_where_it_is_asked_for(job: Small, tmp_path: Path) -> None:
    page = tmp_path / "plan.html"
    planned = job.ran("plan", "--json", "--no-progress", "-o", str(page), code=0).data
    names = {row["id"]: row["filename"] for row in job.pair.source.assets}
    shown = {asset for loss in planned["losses"] for asset, _ in loss["examples"]}
    parked = planned["parked"][0]["asset"]
    assert {asset: planned["names"][asset] for asset in shown | {parked}} == {
        asset: names[asset] for asset in shown | {parked}
    }
    text = page.read_text("utf-8")
    decisions = text[text.index('id="decisions"') : text.index('id="mapping"')]
    asset = planned["losses"][0]["examples"][0][0]
    assert f'<span title="{asset}">{names[asset]}</span>' in decisions
    assert f"{names[parked]}: fields.credit" in text
    job.run(code=4)
    retitle_at_target(job, 1, "By hand")
    (changed,) = [row["id"] for row in job.pair.source.assets if row["filename"] == "photo-1.jpg"]
    assert changed not in job.ran("verify", code=3).says("photo-1.jpg").text
    job.ran("verify", "--ids", code=3).says(f"photo-1.jpg ({changed})")


LEFT_OUT = [
    ("  credit: {from: fields.credit, pipe: [strip_html, trim]}\n", ""),
    ("ignore: [stat_views,", "ignore: [stat_views, credit,"),
    ("inventory: {from: fields.inventory}", "inventory: {when: 'asset.id == \"none\"', from: fields.inventory}"),
    ("{truncate: {max: 255, on_cut: park}}", "{truncate: {max: 12, on_cut: park}}"),
    ('  photographer: {from: "fields.photographer[]", pipe: [{join: {with: "; "}}]}\n', ""),
]


def test_a_plan_says_what_is_left_out_what_is_lost_and_why_assets_are_parked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the same figures as JSON, on the page and on the terminal."""
    hurry(monkeypatch)
    records = [photo(n, credit=f"<p>Gift {n}</p>", photographer=["Ann", "Bob"]) for n in (1, 2)]
    title = {"texts": {"en": "Longer than it may be"}}
    with small(tmp_path, [*records, photo(3, title=title)], mapping=LEFT_OUT) as job:
        page = tmp_path / "plan.html"
        planned = job.ran("plan", "--json", "--no-progress", "--html", str(page), code=0).data
        shown, text = job.ran("plan", "--no-progress", code=0), unescape(page.read_text("utf-8"))
    omitted = {row["path"]: row for row in planned["omissions"]}
    figures = {path: (row["values"], row["assets"], row["read"]) for path, row in omitted.items()}
    assert set(omitted) == {f"fields.{key}" for key in ("credit", "inventory", "stat_views", "stat_downloads")}
    assert figures.pop("fields.inventory") == (2, 2, 2), "what its condition says of a parked asset is not counted"
    assert figures.pop("fields.credit") == (2, 2, 3), "the parked asset has none"
    assert list(figures.values()) == [(3, 3, 3)] * 2, "what no line reads is left out, of parked assets as well"
    assert omitted["fields.credit"]["samples"] == ["<p>Gift 1</p>", "<p>Gift 2</p>"]
    assert omitted["fields.inventory"]["samples"] == ["MU.00001", "MU.00002"]
    assert omitted["fields.inventory"]["text"] == "the condition (`when`) of its line does not hold"
    lost = {row["path"]: row for row in planned["losses"]}
    assert omitted.keys().isdisjoint(lost)
    assert {detail for _, detail in lost["fields.photographer"]["examples"]} == {"Ann; Bob"}
    verdict = next(part for part in planned["headline"]["text"].split("; ") if "not carried" in part)
    assert "are not carried: 10 left out by the mapping, 4 field photographer" in verdict
    why = "title is longer than 12 characters, and the mapping says `on_cut: park`"
    assert planned["parked"][0]["text"] == why
    assert f"1 asset would be parked: {why}" in planned["headline"]["points"]
    shown.says(verdict, "Left out by your mapping", "2 of 2 (100 %)", why, "photo-1.jpg: Ann; Bob")
    for words in ("Left out by your mapping", "2 of 2 (100 %)", "<p>Gift 1</p>", "Ann; Bob", verdict):
        assert words in text
    assert why.replace("`on_cut: park`", "<code>on_cut: park</code>") in text


def test_a_forged_report_is_refused_with_the_state_and_the_position(job: Small, tmp_path: Path) -> None:
    job.run(code=4)
    ((body,),) = rows(job, "SELECT body FROM report")
    forged = json.loads(zlib.decompress(body)) | {"losses": [{"path": "tags", "rule": "not mapped", "assets": "3"}]}
    for made, place in (
        (forged, "losses[0].assets is a text, not a whole number"),
        (["a list"], "it is a list, not an object"),
    ):
        with closing(sqlite3.connect(job.state)) as connection, connection:
            connection.execute("UPDATE report SET body = ?", (zlib.compress(json.dumps(made).encode()),))
        for more in ((), ("--json",), ("--html", str(tmp_path / "page.html")), ("--csv", str(tmp_path / "page.csv"))):
            shown = job.ran("report", "--run", "1", *more, code=2)
            shown.says("the report 1 in the state is damaged", place, str(job.state), "state JOB import")
    assert not list(tmp_path.glob("page.*"))
