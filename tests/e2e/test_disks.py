"""A disk that is full or read-only, at every moment of a run: reported with file and remedy, and nothing is lost."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.disks import WAY, Disk, forking_disks, small_disk
from tests.support.forking import Forking
from tests.support.jobs.small_jobs import Meanwhile, Ran, Small, digests, photo, photos, small
from tests.support.jobs.tenants import Tenant, duplicates
from tests.support.pairs import EVERYTHING

MB = 1_000_000
ROOM = 24 * MB
GIVEN = "wrt_demo_7cWhrsuc0l56756L"  # the emulated service's first refresh token, good once
Disks = tuple[Forking, type[Disk]]


@pytest.fixture(scope="module")
def disks() -> Iterator[Disks]:
    with forking_disks() as found:
        yield found


@pytest.fixture
def disk(disks: Disks, tmp_path: Path, record_property: Any) -> Iterator[Disk]:
    with small_disk(*disks, tmp_path / "disk", ROOM) as made:
        record_property(WAY, made.way)
        yield made


@dataclass(slots=True)
class OnDisk(Small):
    """Two tenants and a job with something of it on the small disk."""

    disk: Disk | None = None
    told: Path = Path()

    def on_disk(self, verb: str, *options: str, code: int, **environment: str) -> Ran:
        """A command in a process of its own."""
        assert self.disk is not None
        ran = self.disk.command(verb, str(self.pair.job), *options, **environment)
        return self.looked_through(ran, code)

    @property
    def state(self) -> Path:
        """See `Small.state`."""
        return self.told / "job.db"

    def ends_equal(self, *options: str, **environment: str) -> None:
        """The same command once there is room: both are equal, each asset is there once, no step was repeated."""
        self.on_disk("run", "--no-progress", *options, code=0, **environment)
        self.is_equal()

    def is_equal(self) -> None:
        """Source and target are equal, and nothing was done twice."""
        there = self.pair.target.assets
        assert duplicates(there) == []
        assert digests(there) == digests(self.pair.source.assets)
        journal = Counter(self.ask("SELECT asset, operation FROM ledger"))
        assert [step for step, number in journal.items() if number > 1] == []
        assert self.ask("PRAGMA integrity_check") == [("ok",)]

    def ask(self, question: str) -> list[tuple[Any, ...]]:
        """Of the state as it lies there."""
        copied = self.pair.folder / "copied"
        copied.mkdir(exist_ok=True)
        for part in self.state.parent.glob("job.db*"):
            shutil.copy(part, copied / part.name)
        with closing(sqlite3.connect(copied / "job.db")) as connection:
            found = connection.execute(question).fetchall()
        shutil.rmtree(copied)
        return found


@contextmanager
def on(
    disk: Disk, folder: Path, assets: list[dict[str, Any]], *, state: bool = True, **options: Any
) -> Iterator[OnDisk]:
    """state: whether the state lies on the small disk too."""
    with small(folder, assets, **options) as job:
        own = OnDisk(job.pair, job.secrets, disk=disk, told=disk.seen if state else folder / "state")
        if state:
            own.edit(str(folder / "state" / "job.db"), str(disk.folder / "job.db"))
        yield own


def when(tenant: Tenant, match: str, nth: int | None, act: Any) -> None:
    """Let something happen when a service gets the `nth` such call."""
    assert tenant.served is not None
    tenant.served.app.faults.lines.append(Meanwhile(match, "delay:0", nth=nth, act=act))


# The first asset is spooled: "in the middle" it at least is still to be uploaded, however much was done before.
FULL = ("no space left", "free some space", "run the same command again")
ONLY_IN_FULL = pytest.mark.skipif(
    not EVERYTHING, reason="`make test` fills the disks of state and credentials; the rest is run by `make e2e`"
)
MOMENTS = {
    "at the beginning": ("source", "GET /api/dam", 1),
    "while the source is listed": ("source", "GET /api/dam/search/media", 1),
    "while a large file is spooled": ("source", "GET /medias/domain1/*8801-*", 1),
    "in the middle": ("target", "POST /v2/uploads", 1),
    "at the end": ("target", "POST /api/rest/category/assets", 1),
}


def test_the_disk_of_state_and_spool_is_full_at_one_moment_after_the_other(disk: Disk, tmp_path: Path) -> None:
    with on(disk, tmp_path, [photo(1, size=6 * MB), *photos(5)[1:]]) as job:
        disk.fill()
        job.on_disk("run", "--no-progress", code=1).says(*FULL, str(disk.folder / "job.db"))
        for side, match, nth in MOMENTS.values():
            disk.make_room()
            when(getattr(job.pair, side), match, nth, disk.fill)
            job.on_disk("run", "--no-progress", code=1).says(*FULL, str(disk.folder))
            assert not list(disk.seen.glob("spool/*"))
            assert duplicates(job.pair.target.assets) == []
        if disk.apart:
            job.on_disk("status", code=0)
        disk.fill()  # closing the state gave some room back
        told = job.on_disk("state", "export", "-o", str(disk.folder / "copy.db"), code=1)
        told.says(*FULL, "copy.db" if disk.apart else "job.db")
        assert not list(disk.seen.glob("copy.db*"))
        job.mend()
        disk.make_room()
        job.ends_equal()


def test_the_disk_of_the_credential_store_is_full(disk: Disk, tmp_path: Path) -> None:
    """No refresh token is used up before there is room for the next; one that was used up is replaced, full or not."""
    token = "POST /v2/oauth/access-token"
    with on(disk, tmp_path, photos(3)) as job:
        job.secrets += ("wrt_demo_", "client-secret-1")
        given = "client_id: client-1, client_secret: '${file:secrets/client}', refresh_token: '${file:secrets/refresh}'"
        job.edit('flow: token, token: "${file:secrets/e_profiles}"', f"flow: oauth, {given}")
        job.credential("client", "client-secret-1")
        job.credential("refresh", GIVEN)
        with disk.read_only():
            told = job.on_disk("plan", "--no-progress", code=2)
            told.says("the credentials file", str(disk.folder / "job.vault"), "cannot be written", "read-only")
        when(job.pair.source, "GET /api/dam", 1, disk.fill)
        told = job.on_disk("run", "--no-progress", code=1)
        told.says(*FULL, "the credentials file", str(disk.folder / "job.vault"))
        assert token not in job.pair.target.calls
        disk.make_room()
        if disk.apart:
            when(job.pair.target, token, 1, disk.fill)
            job.on_disk("run", "--no-progress", code=1).says(*FULL)
            assert job.pair.target.calls[token] == 1
            (kept,) = json.loads((disk.seen / "job.vault").read_bytes()).values()
            assert json.loads(kept)["refresh_token"] != GIVEN
        job.mend()
        disk.make_room()
        job.ends_equal()
        for path in disk.seen.glob("job.vault*"):
            assert path.stat().st_mode & 0o077 == 0


@ONLY_IN_FULL
def test_the_temporary_folder_is_full(disk: Disk, tmp_path: Path) -> None:
    elsewhere = {"TMPDIR": str(disk.folder)}

    def fill_once_copied() -> None:
        if list(disk.seen.glob("dam-sync-*/*.db")):
            disk.fill()

    with on(disk, tmp_path, photos(3), state=False) as job:
        for verb in ("plan", "verify"):
            when(job.pair.target, "GET *", None, fill_once_copied)
            told = job.on_disk(verb, "--no-progress", code=1, **elsewhere)
            told.says(*FULL, str(disk.folder), "TMPDIR")
            job.mend()
            disk.make_room()
            assert list(disk.seen.iterdir()) == []
            job.on_disk(verb, "--no-progress", code=0, **elsewhere)
            if verb == "plan":
                job.ends_equal(**elsewhere)
        assert list(disk.seen.iterdir()) == []


@ONLY_IN_FULL
def test_the_disk_of_the_report_is_full(disk: Disk, tmp_path: Path) -> None:
    """What was done is reported all the same, and no partial report replaces a whole one."""
    page, plan, rows = (disk.folder / name for name in ("run.html", "plan.json", "errors.csv"))
    with on(disk, tmp_path, photos(3), state=False) as job:
        seen = [disk.seen / path.name for path in (page, plan, rows)]
        for path in seen:
            path.write_text("whole", encoding="utf-8")
        for verb, option, path in (("plan", "-o", plan), ("run", "--html", page)):
            when(job.pair.target, "GET /v2/metadata/fields/viewable", 1, disk.fill)
            told = job.on_disk(verb, "--no-progress", option, str(path), code=1)
            told.says(*FULL, *((str(path), "created" if verb == "run" else "") if disk.apart else ()))
            job.mend()
            disk.make_room()
        job.ends_equal()
        disk.fill()
        calls = job.pair.source.calls
        job.on_disk("run", "--no-progress", "--html", str(page), code=1).says(*FULL, str(page))
        assert job.pair.source.calls == calls, "a run whose report has no room is not begun"
        job.on_disk("errors", "--csv", str(rows), code=1).says(*FULL, str(rows) if disk.apart else "job.db")
        assert sorted(disk.seen.glob("*.part")) == []
        assert {path.read_text(encoding="utf-8") for path in seen} == {"whole"}


@ONLY_IN_FULL
def test_the_disk_of_the_state_is_read_only(disk: Disk, tmp_path: Path) -> None:
    """Nothing is moved; what was done can still be read, and a plan can be made."""
    with on(disk, tmp_path, photos(3)) as job:
        with disk.read_only():
            job.on_disk("check", code=2).says(
                "the state", str(disk.folder / "job.db"), "cannot be written", "read-only"
            )
            told = job.on_disk("run", "--no-progress", code=2)
            told.says("the state", str(disk.folder / "job.db"), "cannot be written", "read-only", "may read and write")
        job.on_disk("run", "--no-progress", "--limit", "1", code=8)
        with disk.read_only():
            writes = job.pair.target.writes
            told = job.on_disk("run", "--no-progress", code=2)
            told.says("the state", str(disk.folder / "job.db"), "cannot be written", "read-only", "may read and write")
            assert job.pair.target.writes == writes
            job.on_disk("status", code=0).says("assets at the target 1")
            job.on_disk("plan", "--no-progress", code=0).says("create 2")
            job.on_disk("state", "export", "-o", str(tmp_path / "copy.db"), code=0).says("copy.db")
        job.ends_equal()
