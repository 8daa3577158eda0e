"""kill -9 in the middle of a run into a folder and out of one, and a folder whose disk is full or read-only: the next
run brings the rest, nothing is there twice, and the bag validates."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import bagit
import pytest

from dam_sync.api.emulation.sandbox import Emulated, write_job, write_suggested_mapping
from tests.conformance.catalogue import MARKER, SCHEMA, asset
from tests.e2e.test_disks import when
from tests.e2e.test_kills_of_pairs import ASSETS, AT_ONCE, Job, Process, digests, emulating
from tests.support.disks import WAY, forking_disks, small_disk
from tests.support.forking import Forking
from tests.support.jobs.accepted_exposure import ACCEPTED
from tests.support.jobs.any_pair import hurried, tenant_of
from tests.support.jobs.folder_jobs import InFolder, Side
from tests.support.pairs import EVERYTHING
from tests.support.programs import shared
from tests.support.services.profiles import marker_in

A = "a_hypermedia"
MB = 1_000_000
LATER = "2026-01-02T00:00:00Z"
FULL = ("no room left", "free some space")


def titled(number: int, title: str = "", **more: Any) -> Any:
    return asset(number, fields={"title": {"texts": {"en": title or f"Photo {number}"}}}, **more)


LIBRARY = [*SCHEMA, *(titled(number) for number in range(1, ASSETS + 1))]


@pytest.fixture(scope="module")
def forking() -> Iterator[Forking]:
    with shared().branch() as found:
        yield found


def job_between(folder: Path, source: Side, target: Side, **more: Any) -> Path:
    mapping = folder / "mapping.yaml"
    job = write_job(folder / "job.yaml", "folder", source, target, mapping, policy=ACCEPTED, **more)
    asyncio.run(write_suggested_mapping(job, mapping, marker_in(target.kind, MARKER)))
    return job


@contextmanager
def exporting(forking: Forking, folder: Path, archive: InFolder) -> Iterator[Job]:
    """A job out of a service into a folder."""
    with emulating(forking, A, LIBRARY, folder / "source.jsonl") as source:
        job = job_between(folder, Emulated(A, source.url), archive, limits={"concurrency": AT_ONCE})
        yield Job(forking, job, source, Process(forking, archive.kind, folder, folder))


def check_whole(archive: InFolder, expected: Any) -> None:
    """Each asset once, no file that no record names, and a bag that validates."""
    rows = list(archive.rows())
    assert digests(rows) == expected
    files = archive.path / "data" / "files"
    named = {file["file"] for row in rows for file in row["versions"]}
    assert {str(path.relative_to(files)) for path in files.rglob("*") if path.is_file()} == named
    assert bagit.Bag(str(archive.path)).validate()


def test_kills_while_a_folder_is_written_and_sealed(forking: Forking, tmp_path: Path) -> None:
    archive = InFolder(tmp_path / "archive")
    with exporting(forking, tmp_path, archive) as job:
        for number in (1, ASSETS // 2):
            run = job.run_until(lambda n=number: len(archive.assets) >= n)  # type: ignore[misc]
            assert run.end().code == -signal.SIGKILL
        run = job.run_until((archive.path / "manifest-sha256.txt").exists)
        assert run.end().code in (0, -signal.SIGKILL)
        job.command("run")
        check_whole(archive, digests(job.source.assets))
        assert [step for step, number in job.journal.items() if number > 1] == []


@pytest.mark.skipif(not EVERYTHING, reason="`make test` kills a run into a folder; the rest is run by `make e2e`")
def test_kills_while_a_folder_is_read_and_a_delta_comes_out_of_it(forking: Forking, tmp_path: Path) -> None:
    """From folder to folder, so that the source can be changed and nothing but the runs is slow."""
    library, archive = InFolder(tmp_path / "library", {"bag": "off"}), InFolder(tmp_path / "archive")
    library.fill([*LIBRARY, *map(titled, range(20, 40))])
    path = job_between(tmp_path, library, archive, limits={"concurrency": 1})
    job = Job(forking, path, *(Process(forking, side.kind, tmp_path, tmp_path) for side in (library, archive)))
    changes = [titled(1, "Changed", changed_at=LATER), *(titled(n, changed_at=LATER) for n in range(40, 60))]
    for records in ([], changes):
        before = len(archive.assets)
        library.fill(records)
        run = job.run_until(lambda n=before: len(archive.assets) > n)  # type: ignore[misc]
        assert run.end().code in (0, -signal.SIGKILL)
        job.command("run")
        check_whole(archive, digests(list(library.rows())))
    titles = {row["fields"]["title"]["texts"]["en"] for row in archive.assets}
    assert titles == {"Changed", *(f"Photo {number}" for number in (*range(2, ASSETS + 1), *range(20, 60)))}
    assert [step for step, number in job.journal.items() if number > 1] == []


@pytest.mark.skipif(not EVERYTHING, reason="`make test` fills the disk of the state; the rest is run by `make e2e`")
def test_a_folder_whose_disk_is_full_or_read_only(tmp_path: Path, record_property: Any) -> None:
    large = titled(9, versions=[{"name": "large.jpg", "generate": {"size": 6 * MB, "seed": 9}}])
    with (
        forking_disks() as (forking, kind),
        small_disk(forking, kind, tmp_path / "disk", 4 * 6 * MB) as disk,
        hurried(),
        tenant_of(A, [*LIBRARY, large]) as source,
    ):
        record_property(WAY, disk.way)
        archive, seen = (InFolder(place / "archive") for place in (disk.folder, disk.seen))
        job = job_between(tmp_path, Emulated(A, source.url), archive)

        def run(code: int, *texts: str) -> None:
            ran = disk.command("run", str(job), "--no-progress")
            assert ran.code == code, ran.text
            assert "Traceback" not in ran.text
            for text in texts:
                assert text in ran.text

        with disk.read_only():
            run(7, str(archive.path), "correct the permissions of the folder")
        disk.fill()
        run(1, *FULL)
        disk.make_room()
        when(source, "GET /medias/domain1/*", 3, disk.fill)
        run(1, *FULL)
        disk.make_room()
        run(0)
        check_whole(seen, digests(source.assets))
        with disk.read_only():
            run(0)
