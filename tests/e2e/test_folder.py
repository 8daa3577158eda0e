"""An export into a folder and the import from it bring what a direct migration brings; the folder is a valid bag."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import bagit

from dam_sync.api.jobs import plan_job, run_job, verify_job
from dam_sync.api.run_options import RunOptions
from dam_sync.api.sandbox import Emulated
from dam_sync.emulators import profile_of
from tests.support.anypair import hurried, living, receiver_of, tenant_of
from tests.support.everything import OWN_MARKS, everything, receiving
from tests.support.folders import InFolder, job_between

A, E = "a_hypermedia", "e_profiles"
RELEASES = {row["rights"]["release_at"] for row in everything() if row.get("rights", {}).get("release_at")}
MARKER = profile_of(E).prefix + OWN_MARKS


def ran(job: Path) -> dict[str, Any]:
    return asyncio.run(run_job(job, RunOptions())).as_json()


def verified(job: Path) -> dict[str, Any]:
    return asyncio.run(verify_job(job, RunOptions(), "bytes", "100%")).as_json()["verdict"]


def plain(rows: Mapping[str, Any]) -> list[Any]:
    """Assets of a target without what differs from run to run: ids and dates of the target, and our marker."""
    own = ("id", "catalogue_id", "revision", "changed_at", "imported_at", "relations", "created_at")
    found = []
    for row in rows.values():
        fields = {key: value for key, value in row["fields"].items() if key != MARKER}
        files = {
            part: [(file["name"], file["digests"]["sha256"]) for file in row[part]]
            for part in ("versions", "attachments")
        }
        rights = {key: value for key, value in row["rights"].items() if key != "release_at" or value in RELEASES}
        kept = {key: value for key, value in row.items() if key not in own}
        found.append({**kept, "fields": fields, "rights": rights, **files})
    return sorted(found, key=lambda row: str(row["fields"]))


def differences(found: list[Any], expected: list[Any]) -> list[str]:
    assert len(found) == len(expected)
    return [
        f"{one['filename']}: {key}: {one.get(key)} is not {other.get(key)}"
        for one, other in zip(found, expected, strict=True)
        for key in one.keys() | other.keys()
        if one.get(key) != other.get(key)
    ]


def test_out_into_a_folder_and_in_again_is_the_same_as_directly(tmp_path: Path) -> None:
    archive = InFolder(tmp_path / "archive")
    with hurried(), tenant_of(A, everything()) as source:
        out = job_between(tmp_path / "out", Emulated(A, source.url), archive, "source_key")
        plan = asyncio.run(plan_job(out, RunOptions())).as_json()
        assert not archive.path.exists()
        report = ran(out)
        assert (report["operations"], report["losses"]) == (plan["operations"], plan["losses"])
        assert [loss["path"] for loss in report["losses"]] == ["substatus"]
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
        with receiver_of(E, receiving()) as direct:
            straight = ran(job_between(tmp_path / "straight", Emulated(A, source.url), Emulated(E, direct.url), MARKER))
            expected = plain(living(direct))
    with hurried(), receiver_of(E, receiving()) as target:
        back = ran(job_between(tmp_path / "in", archive, Emulated(E, target.url), MARKER))
        assert back["counts"]["created"] == straight["counts"]["created"]
        assert differences(plain(living(target)), expected) == []


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
