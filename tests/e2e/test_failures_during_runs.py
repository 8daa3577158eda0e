"""What goes wrong on the way: disks, state files, changing files, broken downloads, malformed responses.

Each is reported clearly and loses nothing: the next run after the trouble ends complete, with every asset once.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from tests.support import programs
from tests.support.jobs.small_jobs import Ran, Small, hurry, photo, photos, small
from tests.support.jobs.tenants import duplicates

FILES = "GET /medias/domain1/*"
MB = 1_000_000
SPOOLED, RANGED = 6 * MB, 21 * MB  # above what is held in memory; above what travels in one form


@pytest.fixture(autouse=True)
def _fast(monkeypatch: pytest.MonkeyPatch) -> None:
    hurry(monkeypatch)


def bounded(job: Small, *, code: int, verb: str = "run", **bounds: int) -> Ran:
    """A command in a process of its own with these bounds, see `programs.Program`."""
    done = programs.run(verb, str(job.pair.job), "--no-progress", timeout=120, **bounds)
    return job.looked_through(Ran(done.returncode, done.stdout, done.stderr), code)


# -- disk and state ----------------------------------------------------------------------------------------------------


def test_the_disk_is_full_while_a_file_is_spooled(tmp_path: Path) -> None:
    with small(tmp_path, [*photos(3), photo(4, size=18 * MB)]) as job:
        told = bounded(job, limit=8 * MB, code=1)
        told.says("no space left in the spool folder", str(tmp_path), "free some space", "run the same command again")
        assert not list((tmp_path / "state" / "spool").iterdir())
        assert len(job.ends_complete()) == 4


def test_the_state_is_read_only(tmp_path: Path) -> None:
    """Also for root, who is made to heed the rights."""
    with small(tmp_path, photos(3)) as job:
        job.state.parent.mkdir(mode=0o500)
        first = bounded(job, heeding=True, verb="check", code=2)
        first.says(
            f"the state {job.state} cannot be written: {job.state.parent} is read-only", "`state:` in the job file"
        )
        job.state.parent.chmod(0o700)
        bounded(job, heeding=True, verb="check", code=0)
        job.run("--limit", "1", code=8)
        job.state.chmod(0o400)
        job.state.parent.chmod(0o500)
        try:
            bounded(job, heeding=True, verb="check", code=2).says(
                f"the state {job.state} cannot be written: {job.state} is"
            )
            told = bounded(job, heeding=True, code=2)
            told.says("the state", str(job.state), "cannot be written", "may read and write both")
        finally:
            job.state.parent.chmod(0o700)
            job.state.chmod(0o600)
        assert len(job.ends_complete()) == 3


def test_the_state_is_from_a_newer_version(tmp_path: Path) -> None:
    with small(tmp_path, photos(3)) as job:
        job.run("--limit", "1", code=8)
        version = job.state_version()
        job.state_version(999)
        before = job.state.read_bytes()
        told = job.ran("run", "--no-progress", code=2)
        told.says("was made by a newer dam-sync (version 999)", "install the newer dam-sync")
        assert job.state.read_bytes() == before
        for verb in ("status", "errors", "state", "verify"):
            job.ran(verb, code=2).says("newer dam-sync")
        job.state_version(version)
        assert len(job.ends_complete()) == 3


def scribbled(path: Path) -> None:
    path.write_bytes(b"\x00\xff garbage" * 9 + path.read_bytes()[99:])


def torn(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])


def rotten(path: Path) -> None:
    data = bytearray(path.read_bytes())
    for page in range(4096, len(data), 4096):
        data[page : page + 64] = b"\xa5" * 64
    path.write_bytes(data)


def foreign(path: Path) -> None:
    path.unlink()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE guests (name TEXT)")
        connection.commit()


@pytest.mark.parametrize("harm", [scribbled, torn, rotten, foreign], ids=lambda harm: harm.__name__)
def test_the_state_is_corrupt(tmp_path: Path, harm: Callable[[Path], None]) -> None:
    """A new state instead of it does not double what is there already; a backup goes on."""
    with small(tmp_path, photos(3)) as job:
        job.run("--limit", "2", code=8)
        good = job.state.read_bytes()
        harm(job.state)
        job.ran("run", code=2).says("state", str(job.state), "hint: ")
        job.ran("status", code=2).says("state", str(job.state), "hint: ")
        for path in job.state.parent.glob("job.db*"):
            path.unlink()
        told = job.ran("run", "--no-progress", code=6)
        told.says("the target has 2 assets with the markers of this source", "adopt JOB")
        job.ran("plan", "--no-progress", code=6)
        job.state.write_bytes(good)
        assert len(job.ends_complete()) == 3


# -- files -------------------------------------------------------------------------------------------------------------


def test_files_of_no_bytes(tmp_path: Path) -> None:
    with small(tmp_path, [photo(1, size=0), photo(2, size=0), photo(3)]) as job:
        there = job.ends_complete()
        assert sorted(asset["versions"][0]["size"] for asset in there) == [0, 0, 900]


def changed(job: Small, size: int, more: int) -> None:
    """The file of that size is another one from now on, under the same link."""
    assert job.pair.source.served is not None
    objects = job.pair.source.served.app.objects
    (blob,) = (each for each in objects.blobs.values() if each.size == size)
    blob.size, blob.seed, blob.known = size + more, "another", None


@pytest.mark.parametrize("size", [SPOOLED, RANGED])
@pytest.mark.parametrize("more", [0, 1000, -1000])
def test_a_file_changes_while_it_is_read(tmp_path: Path, size: int, more: int) -> None:
    with small(tmp_path, [*photos(2), photo(3, size=size)]) as job:
        job.meanwhile("GET /medias/domain1/media8/8803-*", 2, lambda: changed(job, size, more))
        job.faulty({"match": "GET /medias/domain1/media8/8803-*", "do": "truncate:0.5", "nth": 1})
        assert job.run(code=4).data["counts"]["created"] == 2
        (row,) = job.parked()
        assert row["asset"] == "8803"
        assert row["cause"] == ("length" if more else "digest")
        job.mend()
        assert len(job.pair.target.assets) == 2
        assert len(job.retried()) == 3


@pytest.mark.parametrize("size", [900, SPOOLED, RANGED])
@pytest.mark.parametrize(("fault", "cause"), [("wrong_length:0.5", "length"), ("garble", "digest")])
def test_a_download_is_not_what_it_should_be(tmp_path: Path, size: int, fault: str, cause: str) -> None:
    with small(tmp_path, [*photos(2), photo(3, size=size)]) as job:
        job.faulty({"match": "GET /medias/domain1/media8/8803-*", "do": fault})
        report = job.run(code=4).data
        assert report["counts"]["created"] == 2
        (row,) = job.parked()
        assert (row["asset"], row["cause"]) == ("8803", cause)
        assert "photo-3.jpg" in row["message"]
        job.mend()
        assert len(job.pair.target.assets) == 2
        assert len(job.retried()) == 3


def test_a_download_that_breaks_is_resumed(tmp_path: Path) -> None:
    with small(tmp_path, [*photos(2), photo(3, size=SPOOLED), photo(4, size=RANGED)]) as job:
        job.faulty({"match": FILES, "do": "truncate:0.3", "every": 2, "times": 3})
        assert job.run().data["counts"]["created"] == 4
        job.mend()
        assert len(job.ends_complete()) == 4


@pytest.mark.parametrize("gone", [True, False])
def test_an_asset_is_deleted_between_listing_and_reading(tmp_path: Path, gone: bool) -> None:
    with small(tmp_path, photos(3)) as job:
        job.faulty({"match": "GET /api/dam/medias/8802", "do": "status:404"})
        job.run(code=4)
        (row,) = job.parked()
        assert (row["asset"], row["cause"]) == ("8802", "gone")
        assert "between listing and reading" in row["message"]
        job.mend()
        if not gone:
            assert len(job.retried()) == 3
            return
        job.source_call("DELETE", "/api/dam/medias/8802")
        run = f"next: dam-sync run {job.pair.job}"
        job.ran("errors", "--retry", code=0).says("will be tried again by the next run", run)
        job.ran("errors", code=0).says("nothing is parked", "for the next run", run)
        job.ran("status", code=0).says(run)
        assert job.run().data["counts"]["skipped"] == 1
        assert len(job.pair.target.assets) == 2
        assert duplicates(job.pair.target.assets) == []


# -- malformed responses -----------------------------------------------------------------------------------------------

STRANGE = (
    ("html", 1, "an HTML page"),
    ("html:502", 5, "502 Bad Gateway"),
    ("empty", 1, "an empty body"),
    ("truncate:0.5", 5, "broke while responding"),
    ("garble", 1, "bytes beginning"),
    ("odd:0", 1, ""),
    ("odd:2", 1, ""),
    ("odd:4", 1, ""),
)
UNKNOWN = {"html": 5, "empty": 5, "garble": 0}
"""The exit codes after responses that do not say whether a write was made: it is looked for, and made again if not."""
CALLS = (
    ("source", "GET /api/dam"),
    ("source", "GET /api/dam/forms"),
    ("source", "GET /api/dam/search/media"),
    ("source", "GET /api/dam/folder-tree"),
    ("source", "GET /api/dam/medias/88*"),
    ("target", "GET /v2/user"),
    ("target", "GET /v2/metadata/fields/viewable"),
    ("target", "GET /v2/metadata/*/vocabulary"),
    ("target", "POST /v2/uploads"),
)


OUTAGE = 13  # so many assets that fail in a row are no trouble of one of them


@pytest.mark.parametrize(("strange", "code", "words"), STRANGE, ids=[row[0] for row in STRANGE])
def test_responses_of_no_documented_shape(tmp_path: Path, strange: str, code: int, words: str) -> None:
    """Each of the calls in turn; the run stops at it, says what was returned to which call, and loses nothing."""
    number = OUTAGE if code == 5 or UNKNOWN.get(strange) == 5 else 3
    with small(tmp_path, photos(number)) as job:
        for side, match in CALLS:
            if code == 5 and "vocabulary" in match:
                continue  # asked for one asset after the other, each with its own patience
            job.faulty({"match": match, "do": strange}, side=side)
            ended = UNKNOWN.get(strange, code) if match.startswith("POST ") else code
            told = job.ran("run", "--no-progress", code=ended)
            if ended:
                told.says("a_hypermedia" if side == "source" else "e_profiles", words, "hint: ")
            job.mend()
        assert len(job.ends_complete()) == number


def test_a_changed_library_is_not_taken_for_an_unchanged_one(tmp_path: Path) -> None:
    """A delta that gets an odd response to its search moves no watermark: the next one sees the change."""
    with small(tmp_path, photos(2)) as job:
        job.run()
        job.source_call("PUT", "/api/dam/medias/8801/metadatas/inventory", {"value": "MU.NEW"})
        job.faulty({"match": "GET /api/dam/search/media", "do": "odd:0"})
        job.ran("run", "--no-progress", code=1).says("a_hypermedia", "GET /api/dam/search/media")
        job.mend()
        assert "MU.NEW" in {str(asset["fields"]["inventory"]) for asset in job.ends_complete()}


def test_a_page_is_not_taken_for_a_write_that_was_done(tmp_path: Path) -> None:
    with small(tmp_path, photos(2)) as job:
        job.faulty({"match": "POST /api/rest/category/assets", "do": "html"}, side="target")
        job.ran("run", "--no-progress", code=5).says("POST /api/rest/category/assets", "an HTML page", "proxy")
        job.mend()
        there = job.ends_complete()
        assert all(asset["placements"] for asset in there)
