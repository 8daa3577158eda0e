"""State files in other hands: who holds one, what is kept of one that was taken away, and a quota that is used up."""

from __future__ import annotations

import errno
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from dam_sync.model.clock import SystemClock
from dam_sync.model.errors import ConfigError, DamSyncError, DiskFull, SafetyStop
from dam_sync.store.file import lock_holder
from dam_sync.store.file.database import explain_error
from dam_sync.store.file.lock_holder import holder_of
from dam_sync.store.store import SqlStore

HOLDER = (
    "import sqlite3, sys; c = sqlite3.connect(sys.argv[1], isolation_level=None);"
    "c.execute('BEGIN IMMEDIATE'); print('held', flush=True); sys.stdin.read()"
)


@pytest.mark.skipif(not lock_holder.LOCKS.exists(), reason="this system does not show who holds a file")
async def test_another_process_that_holds_the_file_is_named_and_we_are_not(tmp_path: Path) -> None:
    store = await SqlStore.open(tmp_path / "job.db", SystemClock())
    await store.set_meta("k", 1)
    with closing(sqlite3.connect(store.path, isolation_level=None)) as ours:
        ours.execute("BEGIN IMMEDIATE")
        assert holder_of(store.path) == ""
        ours.execute("ROLLBACK")
    command = [sys.executable, "-c", HOLDER, str(store.path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        assert holder_of(store.path).startswith(f"process {holder.pid} (")
        assert holder_of(tmp_path / "other.db") == ""
        holder.communicate()
    assert holder_of(store.path) == ""
    await store.set_meta("k", 2)
    await store.close()


def removed(path: Path) -> None:
    path.unlink()


def replaced(path: Path) -> None:
    path.unlink()
    path.write_bytes(b"")


@pytest.mark.parametrize("take", [removed, replaced])
async def test_everything_committed_is_rescued_and_nothing_more_is_promised(
    tmp_path: Path, take: Callable[[Path], None]
) -> None:
    (tmp_path / "job.db.rescued").write_text("of another day", encoding="utf-8")
    store = await SqlStore.open(tmp_path / "job.db", SystemClock())
    await store.set_meta("before", 1)
    take(store.path)
    for key in ("meanwhile", "after"):
        with pytest.raises(SafetyStop, match="while this process used it") as told:
            await store.set_meta(key, 1)
    assert str(tmp_path / "job.db.rescued-2") in told.value.hint
    await store.close()
    assert not list(tmp_path.glob("job.db-*"))
    (tmp_path / "job.db.rescued-2").replace(store.path)
    again = await SqlStore.open(store.path, SystemClock())
    assert [await again.get_meta(key) for key in ("before", "meanwhile", "after")] == [1, 1, None]
    await again.close()


async def test_a_state_that_cannot_be_rescued_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = await SqlStore.open(tmp_path / "job.db", SystemClock())
    await store.set_meta("before", 1)

    def full(path: Path, flags: int, mode: int = 0o777, **more: int) -> int:
        if flags & os.O_CREAT and "rescued" in str(path):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(path, flags, mode, **more)

    real = os.open
    monkeypatch.setattr(os, "open", full)
    store.path.unlink()
    with pytest.raises(SafetyStop, match="removed") as told:
        await store.set_meta("after", 1)
    assert "could not be saved (no space left" in told.value.hint
    await store.close()


@pytest.mark.parametrize(
    ("code", "kind"), [(errno.EDQUOT, DiskFull), (errno.ENOSPC, DiskFull), (errno.EFBIG, DiskFull), (0, ConfigError)]
)
def test_a_quota_is_a_full_disk_though_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, kind: type[DamSyncError]
) -> None:
    """SQLite reports nothing but an error of the disk."""

    def probing(**_: object) -> object:
        if code:
            raise OSError(code, os.strerror(code))
        return real(dir=tmp_path, buffering=0)

    real = tempfile.TemporaryFile
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorcode = sqlite3.SQLITE_IOERR_WRITE
    monkeypatch.setattr(tempfile, "TemporaryFile", probing)
    told = explain_error(error, tmp_path / "job.db")
    assert type(told) is kind
    assert str(tmp_path) in f"{told.hint} {told.message}"


LIMITED = """
import resource, sqlite3, sys
from pathlib import Path
from dam_sync.store.file.database import explain_error
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
connection = sqlite3.connect(sys.argv[1])
try:
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("CREATE TABLE large (value BLOB)")
    for _ in range(200):
        connection.execute("INSERT INTO large VALUES (zeroblob(10000))")
        connection.commit()
except sqlite3.Error as error:
    connection.close()
    told = explain_error(error, Path(sys.argv[1]))
    print(type(told).__name__, told.exit_code, told.message, told.hint, sep="\\n")
"""


@pytest.mark.skipif(not hasattr(signal, "SIGXFSZ"), reason="this system has no limit on the size of files")
@pytest.mark.parametrize("limit", [40_000, 300_000, 1_000_000])
def test_a_limit_on_the_size_of_files_is_a_full_disk(tmp_path: Path, limit: int) -> None:
    """SQLite reports nothing but an error of the disk, also where it has removed its log before anybody looks."""
    command = [sys.executable, "-c", LIMITED, str(tmp_path / "job.db"), str(limit)]
    told = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    assert told[:2] == ["DiskFull", "1"]
    assert f"a file of this process may have at most {limit:,} bytes" in told[2]
    assert "`ulimit -f`" in told[3]
