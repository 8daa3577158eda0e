"""A state file that is lost or new: no run creates again what is there, and `adopt` rebuilds the links."""

from __future__ import annotations

import asyncio
import csv
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from dam_sync.api.adopt import Adoption, adopt_job, read_decisions
from dam_sync.api.state_copies import job_export, job_import
from dam_sync.model.errors import ConfigError, SafetyStop
from dam_sync.model.values import Json
from dam_sync.store.note_keys import ROW_COUNTS
from tests.support.jobs import small_jobs
from tests.support.jobs.any_pair import Pair, any_pair, large_for, living, moved, planned, ran
from tests.support.jobs.small_jobs import FastClock
from tests.support.libraries.every_feature import OWN_MARKS, everything, receiving
from tests.support.pairs import ids, pairs
from tests.support.services.emulated_b import AUTH
from tests.support.services.emulated_e import TOKEN
from tests.support.services.profiles import profile_of

PAIRS = pairs(2)


def library(target: str, source: str) -> list[Json]:
    """Assets of every sort, without those that the target's contract lets it refuse."""
    return everything(large_for(target), without={*profile_of(source).refuses, *profile_of(target).refuses})


@contextmanager
def migrated(tmp_path: Path, source: str, target: str) -> Iterator[Pair]:
    """A pair of tenants and a job that ran."""
    with any_pair(tmp_path, source, target, library(target, source), receiving(), OWN_MARKS) as pair:
        ran(pair)
        yield pair


def adopted(pair: Pair, **how: Any) -> dict[str, Any]:
    """The report of an adoption."""
    return asyncio.run(adopt_job(pair.job, small_jobs.options(), Adoption(**how))).as_json()


def without_state(pair: Pair) -> None:
    """Somebody deletes the state file."""
    for file in (pair.folder / "state").glob("job.db*"):
        file.unlink()


def shown(rows: Sequence[Any]) -> list[Any]:
    """What a tenant holds, in one order."""
    return sorted(rows, key=lambda row: str(row["id"]))


@pytest.mark.parametrize(("source", "target"), PAIRS, ids=ids(PAIRS))
def test_without_its_state_a_run_writes_nothing_until_adopt_restored_every_link(
    tmp_path: Path, source: str, target: str
) -> None:
    with migrated(tmp_path, source, target) as pair:
        twins, before = moved(pair).twins, shown(pair.target.assets)
        assert len(twins) > 5
        without_state(pair)
        for command in (planned, ran):
            with pytest.raises(SafetyStop) as stopped:
                command(pair)
            assert f"{len(twins)} assets with the markers of this source" in stopped.value.message
            assert "adopt JOB" in stopped.value.hint
        assert shown(pair.target.assets) == before
        report = adopted(pair)
        assert moved(pair).twins == twins
        assert report["counts"]["linked by marker"] == len(twins)
        assert report["counts"]["ambiguous"] == 0
        again = ran(pair)
        assert again["operations"] == {}
        assert again["counts"]["created"] == again["counts"]["updated"] == 0
        assert shown(pair.target.assets) == before


# -- one pair, closely ------------------------------------------------------------------------------------------------

ONE = ("a_hypermedia", "b_documents")  # both publish digests and sizes


def exported(pair: Pair, name: str = "export.db") -> Path:
    """A copy of the state as it is now."""
    file = pair.folder / name
    asyncio.run(job_export(pair.job, file, FastClock()))
    return file


def imported(pair: Pair, file: Path) -> dict[str, Any]:
    return asyncio.run(job_import(pair.job, file, FastClock()))


def without_links(pair: Pair, number: int) -> list[str]:
    """Some links are lost, as if the export was older than the last writes."""
    with closing(sqlite3.connect(pair.folder / "state" / "job.db")) as state:
        sources = [row[0] for row in state.execute("SELECT source FROM link ORDER BY source LIMIT ?", (number,))]
        for table, column in (("link", "source"), ("work", "asset"), ("name", "owner")):
            state.executemany(f"DELETE FROM {table} WHERE {column} = ?", [(source,) for source in sources])
        state.execute("DELETE FROM note WHERE key = ?", (ROW_COUNTS,))
        state.commit()
    return sources


def test_what_was_adopted_after_a_whole_listing_is_not_taken_for_missing(tmp_path: Path) -> None:
    with migrated(tmp_path, *ONE) as pair:
        twins = moved(pair).twins
        without_links(pair, len(twins))
        assert adopted(pair)["counts"]["linked by marker"] == len(twins)
        assert ran(pair)["operations"] == {}
        assert moved(pair).twins == twins


def test_a_restored_export_brings_every_link_back(tmp_path: Path) -> None:
    with migrated(tmp_path, *ONE) as pair:
        twins = moved(pair).twins
        file = exported(pair)
        without_state(pair)
        assert imported(pair, file)["links"] == len(twins)
        assert moved(pair).twins == twins
        again = ran(pair)
        assert again["operations"] == {}


def test_an_export_older_than_the_last_run_stops_the_next_one_until_adopt(tmp_path: Path) -> None:
    with migrated(tmp_path, *ONE) as pair:
        twins, before = moved(pair).twins, shown(pair.target.assets)
        lost = without_links(pair, 3)
        file = exported(pair)
        imported(pair, file)
        with pytest.raises(SafetyStop, match="3 assets with the markers of this source"):
            ran(pair)
        report = adopted(pair)
        assert report["counts"]["linked by marker"] == len(lost)
        assert report["counts"]["linked before"] == len(twins) - len(lost)
        assert moved(pair).twins == twins
        assert ran(pair)["operations"] == {}
        assert shown(pair.target.assets) == before


@pytest.mark.parametrize("dry_run", [True, False])
def test_assets_that_are_linked_already_are_reported_as_such(tmp_path: Path, dry_run: bool) -> None:
    with migrated(tmp_path, *ONE) as pair:
        number = len(moved(pair).twins)
        report = adopted(pair, dry_run=dry_run)
        assert report["counts"]["linked before"] == number
        assert [note for note in report["notes"] if "match none of its assets" in note] == []
        assert f"{number} assets of the target are linked already: their links stay as they are" in report["notes"]
        without_links(pair, 2)
        again = adopted(pair, dry_run=dry_run)
        assert again["counts"]["linked before"] == number - 2
        assert [note for note in again["notes"] if "match none of its assets" in note] == []


def test_assets_of_the_target_that_no_source_asset_has_are_still_named(tmp_path: Path) -> None:
    with migrated(tmp_path, *ONE) as pair:
        for asset in sorted(moved(pair).twins)[:2]:
            auth = ("dam-sync", small_jobs.PASSWORD)
            gone = httpx.delete(f"{pair.source.url}/api/dam/medias/{asset}", auth=auth, verify=False)
            assert gone.status_code < 300, gone.text
        without_state(pair)
        assert [note for note in adopted(pair)["notes"] if "2 target assets have a marker" in note]


def test_an_import_keeps_the_state_it_replaces(tmp_path: Path) -> None:
    with migrated(tmp_path, *ONE) as pair:
        report = imported(pair, exported(pair))
        with closing(sqlite3.connect(report["before"])) as kept:
            (links,) = kept.execute("SELECT count(*) FROM link").fetchone()
        assert links == len(moved(pair).twins)


def test_only_a_state_of_this_job_is_imported(tmp_path: Path) -> None:
    with migrated(tmp_path, *ONE) as pair:
        file, twins = exported(pair), moved(pair).twins
        text = pair.job.read_text(encoding="utf-8")
        (pair.folder / "text.db").write_text("no database", encoding="utf-8")
        (pair.folder / "empty.db").touch()
        wrongs = [pair.folder / f"{name}.db" for name in ("text", "none", "empty")]
        for wrong in (*wrongs, pair.folder / "state" / "job.db"):
            with pytest.raises(ConfigError):
                imported(pair, wrong)
        pair.job.write_text(text.replace("name: pair", "name: other"), encoding="utf-8")
        with pytest.raises(ConfigError, match="is the state of the job pair, not of other"):
            imported(pair, file)
        pair.job.write_text(text, encoding="utf-8")
        assert moved(pair).twins == twins
        assert not list((pair.folder / "state").glob("*importing*"))


def test_a_dry_adoption_keeps_no_link(tmp_path: Path) -> None:
    with migrated(tmp_path, *ONE) as pair:
        number = len(moved(pair).twins)
        without_state(pair)
        report = adopted(pair, dry_run=True)
        assert report["counts"]["would be linked by marker"] == number
        assert not (pair.folder / "state" / "job.db").exists()


def unmarked(pair: Pair) -> None:
    """As if the library had been moved by another tool: our markers are missing at the target, and so is the state."""
    field = profile_of(ONE[1]).prefix + OWN_MARKS
    for row in living(pair.target).values():
        body = {"entity-type": "document", "uid": row["id"], "properties": {field: None}}
        put = httpx.put(f"{pair.target.url}/api/v1/id/{row['id']}", json=body, auth=AUTH, verify=False)
        assert put.status_code == 200, put.text
    without_state(pair)


def test_a_library_moved_by_another_tool_is_linked_by_its_files(tmp_path: Path) -> None:
    with migrated(tmp_path, *ONE) as pair:
        there = living(pair.source)
        twins = {source: target for source, target in moved(pair).twins.items() if there[source]["versions"]}
        unmarked(pair)
        sheet = pair.folder / "ambiguous.csv"
        report = adopted(pair, by_file=True, ambiguous=sheet)
        linked = moved(pair).twins
        assert linked.items() <= twins.items()
        with sheet.open(encoding="utf-8-sig", newline="") as text:
            rows = list(csv.DictReader(text))
        assert {row["source"] for row in rows} == twins.keys() - linked.keys()
        assert report["counts"]["ambiguous"] == len(twins) - len(linked)
        assert len(linked) > 3


def test_a_run_after_an_adoption_with_undecided_matches_stops(tmp_path: Path) -> None:
    """The target publishes no digests, so that no file is proof."""
    with migrated(tmp_path, ONE[0], "e_profiles") as pair:
        before = len(living(pair.target))
        for row in living(pair.target).values():
            put = httpx.put(
                f"{pair.target.url}/v2/assets/{row['id']}/metadata?patch={OWN_MARKS}",
                json={"fields": {OWN_MARKS: []}},
                headers={"Authorization": f"Bearer {TOKEN}"},
                verify=False,
            )
            assert put.is_success, put.text
        without_state(pair)
        sheet = pair.folder / "ambiguous.csv"
        assert adopted(pair, by_file=True, ambiguous=sheet)["counts"]["ambiguous"] > 0
        with sheet.open(encoding="utf-8-sig", newline="") as text:
            rows = list(csv.DictReader(text))
        for command in (planned, ran):
            with pytest.raises(SafetyStop, match="undecided, and a run would create"):
                command(pair)
        assert adopted(pair, decisions=sheet)["counts"]["ambiguous"] == len({row["source"] for row in rows})
        adopted(pair)  # by markers alone, which decides nothing
        with pytest.raises(SafetyStop, match="undecided, and a run would create"):
            ran(pair)
        assert len(living(pair.target)) == before
        with sheet.open("w", encoding="utf-8", newline="") as text:
            writer = csv.DictWriter(text, rows[0].keys())
            writer.writeheader()
            writer.writerows({**row, "decision": "skip"} for row in rows)
        assert adopted(pair, by_file=True, decisions=sheet)["counts"]["ambiguous"] == 0
        ran(pair)
        assert len(living(pair.target)) > before


def test_what_a_person_decided_is_linked(tmp_path: Path) -> None:
    with migrated(tmp_path, *ONE) as pair:
        twins = moved(pair).twins
        unmarked(pair)
        sheet, (source, target) = pair.folder / "decided.csv", min(twins.items())
        sheet.write_text(f"source,target,how,reason,decision\n{source},{target},file,,link\n", encoding="utf-8")
        report = adopted(pair, decisions=sheet)
        assert report["counts"]["linked by decision"] == 1
        assert moved(pair).twins == {source: target}


OTHER = ("a_hypermedia", "e_profiles")  # of which every reading call is a GET


def test_an_adoption_reports_only_calls_that_it_sent(tmp_path: Path) -> None:
    theirs = {"record": "asset", "id": "900", "filename": "theirs.jpg", "status": "published", "form_type": "image"}
    theirs |= {"fields": {}, "versions": [{"name": "theirs.jpg", "generate": {"size": 100, "seed": 1}}]}
    bare = [record for record in receiving() if record["record"] != "container"]
    with any_pair(tmp_path, *OTHER, library(OTHER[1], OTHER[0]), [*bare, theirs], OWN_MARKS) as pair:
        (target,) = living(pair.target)
        rows = living(pair.source)
        source = max(rows, key=lambda one: len(rows[one]["placements"]))
        sheet = pair.folder / "decided.csv"
        sheet.write_text(f"source,target,how,reason,decision\n{source},{target},file,,link\n", encoding="utf-8")
        report = adopted(pair, decisions=sheet)
        assert report["counts"]["linked by decision"] == 1
        assert {call.split()[0] for call in report["target"]["calls"]} == {"GET"}, "neither service is written to"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("source,target\n", r"decided\.csv:1: missing column how, reason, decision"),
        ("source,target,how,reason,decision\n1,2,file,,perhaps\n", r"decided\.csv:2: the decision is 'perhaps'"),
        ("source,target,how,reason,decision\n1,2,,,link\n1,3,,,link\n", r"decided\.csv:3: 1 or 3 is in two rows"),
        ("source,target,how,reason,decision\n1,2,,,link\n3,2,,,link\n", r"decided\.csv:3: 3 or 2 is in two rows"),
    ],
)
def test_a_list_of_decisions_with_an_error_is_refused(tmp_path: Path, text: str, says: str) -> None:
    file = tmp_path / "decided.csv"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=says):
        read_decisions(file)
