"""An export into a folder and the import from it bring what a direct migration brings; the folder is a valid bag."""

from __future__ import annotations

import asyncio
import hashlib
import json
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import bagit
import pytest

from dam_sync.api.check import check_job
from dam_sync.api.emulation.sandbox import Emulated
from dam_sync.api.jobs import plan_job, run_job, verify_job
from dam_sync.model.asset import digest_of
from dam_sync.model.capabilities import Feature
from dam_sync.model.errors import ConfigError
from dam_sync.services import discover
from tests.conformance.catalogue import asset
from tests.support.jobs import small_jobs
from tests.support.jobs.any_pair import hurried, living, receiver_of, tenant_of
from tests.support.jobs.folder_jobs import InFolder, job_between
from tests.support.libraries.every_feature import DATES, OWN_MARKS, everything, receiving, titled
from tests.support.pairs import EVERYTHING, ids
from tests.support.services.profiles import marker_in, profile_of

A, B, E = "a_hypermedia", "b_documents", "e_profiles"
RELEASES = {row["rights"]["release_at"] for row in everything() if row.get("rights", {}).get("release_at")}
MARKER = marker_in(E, OWN_MARKS)
JOURNEYS = [(A, E), *([(A, A), (A, B), (B, E)] if EVERYTHING else ())]
INTERNS = {"record": "group", "name": "interns"}
REFUSED = {"groups": ["staff"], "restrictions": [{"kind": "denied", "detail": "interns"}]}


def library() -> list[Any]:
    """Everything, and an asset that is refused to somebody by name."""
    return [INTERNS, *everything(), asset(16, fields=titled(16), rights=REFUSED)]


def ran(job: Path) -> dict[str, Any]:
    return asyncio.run(run_job(job, small_jobs.options())).as_json()


def verified(job: Path) -> dict[str, Any]:
    return asyncio.run(verify_job(job, small_jobs.options(), "bytes", "100%")).as_json()["verdict"]


def plain(kind: str, rows: Mapping[str, Any]) -> list[Any]:
    """Assets of a target without what differs from run to run: ids and dates of the target, and our marker."""
    created = set[str]() if discover()[kind].capabilities.writes(Feature.CREATED) else {"created_at"}
    own = {*IDS, "revision", "changed_at", "imported_at", "name", "path", "current", "properties"} | created
    twice = {marker_in(kind, OWN_MARKS), *(profile_of(kind).prefix + name for name in DATES if not created)}
    found = []
    for row in rows.values():
        fields = {key: _plain(value) for key, value in row["fields"].items() if key not in twice}
        files = {
            part: [(file["name"], file["digests"]["sha256"]) for file in row[part]]
            for part in ("versions", "attachments")
        }
        rights = {key: value for key, value in row["rights"].items() if key != "release_at" or value in RELEASES}
        places = sorted((place["kind"], place["path"]) for place in row["placements"])
        related = sorted((each["kind"], _title(kind, rows[each["target"]])) for each in row["relations"])
        kept = {key: value for key, value in row.items() if key not in own}
        found.append({**kept, "fields": fields, "rights": rights, "placements": places, "relations": related, **files})
    return sorted(found, key=lambda row: (row["filename"], str(row["versions"]), str(sorted(row["fields"].items()))))


def _title(kind: str, row: Any) -> str:
    return str(row["fields"][profile_of(kind).prefix + "title"])


def _plain(value: Any) -> Any:
    """A value without the ids of terms."""
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return {key: each for key, each in value.items() if key not in IDS} if isinstance(value, dict) else value


IDS = ("id", "catalogue_id")


def differences(found: list[Any], expected: list[Any]) -> list[str]:
    assert len(found) == len(expected)
    pairs = [(one | one["fields"], other | other["fields"]) for one, other in zip(found, expected, strict=True)]
    return [
        f"{one['filename']}: {key}: {one.get(key)} is not {other.get(key)}"
        for one, other in pairs
        for key in (one.keys() | other.keys()) - {"fields"}
        if one.get(key) != other.get(key)
    ]


@pytest.mark.parametrize(("origin", "kind"), JOURNEYS, ids=ids(JOURNEYS))
def test_out_into_a_folder_and_in_again_is_the_same_as_directly(tmp_path: Path, origin: str, kind: str) -> None:
    archive, marker = InFolder(tmp_path / "archive"), marker_in(kind, OWN_MARKS)
    with hurried(), tenant_of(origin, library()) as source:
        out = job_between(tmp_path / "out", Emulated(origin, source.url), archive, "source_key")
        plan = asyncio.run(plan_job(out, small_jobs.options())).as_json()
        assert not archive.path.exists()
        report = ran(out)
        assert (report["operations"], report["losses"]) == (plan["operations"], plan["losses"])
        users = {"fields.dc:creator"} if origin == B else set()  # no suggestion takes users of the service for artists
        assert {loss["path"] for loss in report["losses"]} <= {"substatus", "placements", *users}
        there = living(source)
        assert (report["parked"], report["counts"]["created"]) == ([], len(there))
        assert report["target"]["calls"] == {}
        assert len(archive.assets) == len(there)
        for row in archive.assets:
            for file in (*row["versions"], *row["attachments"]):
                assert hashlib.sha256(archive.bytes_of(file)).hexdigest() == file["digests"]["sha256"]
        assert bagit.Bag(str(archive.path)).validate()
        verdict = verified(out)
        assert (verdict["equal"], verdict["differences"], verdict["extras"]) == (len(there), [], [])
        assert ran(out)["operations"] == {}
        with receiver_of(kind, [INTERNS, *receiving()]) as direct:
            ends = Emulated(origin, source.url), Emulated(kind, direct.url, profile_of(kind).parted)
            straight = ran(job_between(tmp_path / "straight", *ends, marker))
            expected = plain(kind, living(direct))
    with hurried(), receiver_of(kind, [INTERNS, *receiving()]) as target:
        into = Emulated(kind, target.url, profile_of(kind).parted)
        back = ran(job_between(tmp_path / "in", archive, into, marker))
        assert back["counts"]["created"] == straight["counts"]["created"]
        assert differences(plain(kind, living(target)), expected) == []
        assert told(back["exposure"]) == told(straight["exposure"])
        assert origin != B or any("denied" in rule for rule, *_ in told(back["exposure"])), straight["exposure"]


def told(exposure: list[Any]) -> list[Any]:
    """Which rules let more people see how many assets."""
    return sorted((row["rule"], row["fate"], row["assets"]) for row in exposure)


def test_a_missing_source_is_refused_before_the_target_is_made(tmp_path: Path) -> None:
    (tmp_path / "missing").mkdir()
    job = job_between(tmp_path / "in", InFolder(tmp_path / "missing"), InFolder(tmp_path / "out"), MARKER)
    (tmp_path / "missing").rmdir()
    with pytest.raises(ConfigError, match="missing is not there"):
        ran(job)
    assert not (tmp_path / "out").exists()


def test_files_on_a_hard_disk_are_imported(tmp_path: Path) -> None:
    root = tmp_path / "disk"
    (root / "Press").mkdir(parents=True)
    files = {f"Press/picture {n}.jpg": f"bytes {n}".encode() for n in range(3)}
    for path, data in files.items():
        (root / path).write_bytes(data)
    with hurried(), receiver_of(E, receiving()) as target:
        job = job_between(tmp_path / "in", InFolder(root), Emulated(E, target.url), MARKER)
        report = ran(job)
        assert (report["counts"]["created"], report["parked"]) == (3, [])
        found = {row["versions"][-1]["digests"]["sha256"] for row in living(target).values()}
        assert found == {hashlib.sha256(data).hexdigest() for data in files.values()}
        assert verified(job)["equal"] == 3
        assert ran(job)["operations"] == {}


def test_a_changed_and_a_missing_file_of_a_bag_are_parked(tmp_path: Path) -> None:
    root = tmp_path / "bag"
    root.mkdir()
    for name in ("a.jpg", "changed.jpg", "missing.jpg"):
        (root / name).write_bytes(name.encode())
    bagit.make_bag(str(root), checksums=["sha512"])
    (root / "data" / "changed.jpg").write_bytes(b"changed.JPG")
    (root / "data" / "missing.jpg").unlink()
    report = ran(job_between(tmp_path / "in", InFolder(root), InFolder(tmp_path / "out"), "source_key"))
    assert (report["counts"]["created"], report["counts"]["parked"]) == (1, 2)
    assert sorted(row["cause"] for row in report["parked"]) == ["NotFound", "digest"]


def test_a_job_file_that_moved_to_another_folder_still_reads_the_same_folder(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "disk" / "sea.jpg").write_bytes(b"sea")
    for name in ("jobs", "more"):
        (tmp_path / name).mkdir()
    with hurried(), receiver_of(E, receiving()) as target:
        for name in ("jobs", "more", "former"):
            source = InFolder(tmp_path / ("more" if name == "more" else "jobs") / ".." / "disk")
            job = job_between(tmp_path / "in", source, Emulated(E, target.url), MARKER)
            if name == "former":  # a state of an earlier release has the path as it was spelled
                known = json.dumps(f"folder-{digest_of(str(source.path))[:16]}")
                with closing(sqlite3.connect(next(tmp_path.rglob("*.db")))) as state, state:
                    state.execute("UPDATE note SET value = ? WHERE key = 'tenant:source'", (known,))
            assert ran(job)["counts"]["created"] == (1 if name == "jobs" else 0)
        assert len(target.assets) == 1


def test_files_that_a_catalogue_names_and_nobody_put_there_are_known_before_the_run(tmp_path: Path) -> None:
    root = tmp_path / "disk"
    (root / "files").mkdir(parents=True)
    (root / "files" / "a.jpg").write_bytes(b"abc")
    (root / "catalogue.csv").write_text("id,filename,versions\n1,a.jpg,a.jpg\n2,b.jpg,Press/b.jpg\n", encoding="utf-8")
    job = job_between(tmp_path / "in", InFolder(root), InFolder(tmp_path / "out"), "source_key")
    plan = asyncio.run(plan_job(job, small_jobs.options())).as_json()
    ((row,), counts) = plan["parked"], plan["counts"]
    assert (counts["created"], counts["parked"]) == (1, 1)
    assert row["example"].endswith("the file files/Press/b.jpg is not there")
    assert "below `files`" in row["hint"]
    report = ran(job)
    assert (report["parked"], report["counts"]) == (plan["parked"], counts)
    (found,) = [each for each in asyncio.run(check_job(job)) if each.subject == "assets"]
    assert found.warns
    assert "1 of the first 2 would be parked: NotFound (1)" in found.message
    assert found.hint == row["hint"]
