"""Folders that others write, too: what they put in the way of our files is neither followed nor believed."""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import pytest
from sqlalchemy import Engine

from dam_sync.api.atomic_io import atomic_write, prove_writable
from dam_sync.model.clock import SystemClock
from dam_sync.model.errors import ConfigError
from dam_sync.store.base import Storage
from dam_sync.store.credential_store import FileCredentialStore
from dam_sync.store.file.database import engine_of
from dam_sync.store.store import SqlStore

PRECIOUS = "precious"


@pytest.fixture
def precious(tmp_path: Path) -> Path:
    """A file of the operator, outside of the shared folder."""
    path = tmp_path / "precious"
    path.write_text(PRECIOUS, encoding="utf-8")
    path.chmod(0o644)
    (tmp_path / "shared").mkdir()
    return path


def untouched(path: Path) -> bool:
    return path.read_text(encoding="utf-8") == PRECIOUS and stat.S_IMODE(path.stat().st_mode) == 0o644


@pytest.mark.parametrize("planted", ["report.html.part", "report.html"])
def test_a_report_does_not_follow_a_planted_link(tmp_path: Path, precious: Path, planted: str) -> None:
    report = tmp_path / "shared" / "report.html"
    (report.parent / planted).symlink_to(precious)
    prove_writable(report, "the report")
    assert untouched(precious)
    with suppress(KeyError), atomic_write(report, "the report") as out:
        out.write("half")
        raise KeyError
    assert untouched(precious)
    with atomic_write(report, "the report") as out:
        out.write("whole")
    assert untouched(precious)
    assert report.read_text(encoding="utf-8") == "whole"
    assert not report.is_symlink()


def test_a_report_is_not_written_into_a_pipe_of_somebody_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    report, somebody = tmp_path / "report.html", 65534
    os.mkfifo(report, 0o666)
    if os.geteuid():
        monkeypatch.setattr(os, "geteuid", lambda: somebody)
    else:
        os.chown(report, somebody, -1)
    reader = os.open(report, os.O_RDONLY | os.O_NONBLOCK)
    try:
        with pytest.raises(ConfigError, match="of another user"), atomic_write(report, "the report") as out:
            out.write("private")
        assert os.read(reader, 100) == b""
    finally:
        os.close(reader)


async def test_a_state_that_is_a_link_is_refused(tmp_path: Path, precious: Path) -> None:
    state = tmp_path / "shared" / "job.db"
    state.symlink_to(precious)
    for read_only in (False, True):
        with pytest.raises(ConfigError, match="symbolic link") as told:
            await SqlStore.open(state, SystemClock(), read_only=read_only)
        assert told.value.hint
    precious.write_text("", encoding="utf-8")
    with pytest.raises(ConfigError, match="symbolic link"):
        await SqlStore.open(state, SystemClock())
    assert precious.read_bytes() == b""


@pytest.mark.parametrize("dangling", [True, False])
async def test_an_export_does_not_follow_a_link(tmp_path: Path, precious: Path, dangling: bool) -> None:
    store = await SqlStore.open(tmp_path / "job.db", SystemClock())
    target = tmp_path / "shared" / "copy.db"
    aim = tmp_path / "made" if dangling else precious
    target.symlink_to(aim)
    with pytest.raises(ConfigError):
        await store.copy_to(target)
    await store.close()
    assert untouched(precious)
    assert not (tmp_path / "made").exists()
    assert target.is_symlink()


async def test_an_export_that_fails_removes_only_its_own_files(tmp_path: Path) -> None:
    def failing(path: Path, *, read_only: bool = False) -> Engine:
        if path.name == "copy.db":
            path.with_name("copy.db-wal").touch()
            raise sqlite3.OperationalError("disk I/O error")
        return engine_of(path, read_only=read_only)

    store = await SqlStore.open(tmp_path / "job.db", SystemClock(), storage=Storage(failing))
    (tmp_path / "copy.dbs").write_text(PRECIOUS, encoding="utf-8")
    with pytest.raises(ConfigError, match="disk I/O error"):
        await store.copy_to(tmp_path / "copy.db")
    await store.close()
    assert [path.name for path in tmp_path.glob("copy.*")] == ["copy.dbs"]


@pytest.mark.parametrize(
    ("link", "name", "words"),
    [
        pytest.param(os.symlink, "job.vault.new", "symbolic link", id="new file, symbolic"),
        pytest.param(os.symlink, "job.vault.lock", "symbolic link", id="lock, symbolic"),
        pytest.param(os.symlink, "job.vault", "symbolic link", id="file, symbolic"),
        pytest.param(os.link, "job.vault.new", "not created by this user alone", id="new file, hard"),
    ],
)
async def test_a_credential_is_not_written_through_a_link(
    tmp_path: Path, precious: Path, link: Callable[[Path, Path], None], name: str, words: str
) -> None:
    credentials = FileCredentialStore(tmp_path / "shared" / "job.vault")
    link(precious, credentials.path.parent / name)
    with pytest.raises(ConfigError, match=words):
        await credentials.save("token", "refresh-token-1")
    assert untouched(precious)


async def test_the_lock_of_a_renewal_is_not_made_through_a_link(tmp_path: Path, precious: Path) -> None:
    credentials = FileCredentialStore(tmp_path / "shared" / "job.vault")
    async with credentials.renewing("token"):
        lock = next(credentials.path.parent.glob("*.renewal"))
    lock.unlink()
    lock.symlink_to(precious)
    with pytest.raises(ConfigError, match="symbolic link"):
        async with credentials.renewing("token"):
            pass
    assert untouched(precious)


# states that were changed


PLANTED = {
    "a trigger that removes links": "CREATE TRIGGER planted AFTER INSERT ON ledger BEGIN DELETE FROM link; END",
    "another trigger of a known name": (
        "DROP TRIGGER ledger_kept; CREATE TRIGGER ledger_kept BEFORE DELETE ON ledger BEGIN SELECT 1; END"
    ),
    "a view without end": (
        "DROP TABLE removal; CREATE VIEW removal AS WITH RECURSIVE t(source) AS (SELECT 1 UNION ALL SELECT source + 1"
        " FROM t) SELECT source, '' AS target, '' AS file, '' AS message, '' AS at FROM t"
    ),
    "a trigger with a name as SQLite gives them": (
        "PRAGMA writable_schema = ON; INSERT INTO sqlite_master VALUES ('trigger', 'sqlite_planted', 'note', 0,"
        " 'CREATE TRIGGER sqlite_planted AFTER INSERT ON note BEGIN DELETE FROM note; END')"
    ),
    "a table with a rule of its own": (
        "PRAGMA writable_schema = ON; UPDATE sqlite_master SET sql = replace(sql, 'file TEXT NOT NULL',"
        " 'file TEXT NOT NULL CHECK (length(randomblob(900000000)))') WHERE name = 'removal'"
    ),
    "a table that drops what it has already": (
        "DROP TABLE removal; CREATE TABLE removal (source TEXT NOT NULL PRIMARY KEY ON CONFLICT IGNORE, target TEXT NOT"
        " NULL, file TEXT NOT NULL, message TEXT NOT NULL, at TEXT NOT NULL) WITHOUT ROWID"
    ),
    "an index that computes": "DROP INDEX report_run; CREATE INDEX report_run ON report (length(zeroblob(900000000)))",
    "an index that refuses": "DROP INDEX report_run; CREATE UNIQUE INDEX report_run ON report (run)",
    "another table": "CREATE TABLE planted (x)",
    "a table without one of its columns": "ALTER TABLE link DROP COLUMN proofs",
    "a table that is gone": "DROP TABLE relation",
}


@pytest.mark.parametrize("planted", PLANTED.values(), ids=PLANTED)
@pytest.mark.parametrize("read_only", [False, True])
async def test_a_state_with_other_tables_or_triggers_is_refused(tmp_path: Path, planted: str, read_only: bool) -> None:
    path = tmp_path / "job.db"
    await (await SqlStore.open(path, SystemClock())).close()
    with closing(sqlite3.connect(path)) as raw:
        raw.executescript(planted)
    with pytest.raises(ConfigError, match="has unexpected contents") as told:
        await SqlStore.open(path, SystemClock(), read_only=read_only)
    assert told.value.hint


async def test_what_sqlite_knows_of_tables_is_no_unexpected_content(tmp_path: Path) -> None:
    path = tmp_path / "job.db"
    await (await SqlStore.open(path, SystemClock())).close()
    with closing(sqlite3.connect(path)) as raw:
        raw.executescript("INSERT INTO seen VALUES ('a', 1, ''), ('b', 1, ''); ANALYZE")
        assert raw.execute("SELECT count(*) FROM sqlite_master WHERE name = 'sqlite_stat1'").fetchone() == (1,)
    await (await SqlStore.open(path, SystemClock())).close()


async def test_a_state_whose_schema_is_malformed_is_refused_with_a_clear_error(tmp_path: Path) -> None:
    path = tmp_path / "job.db"
    await (await SqlStore.open(path, SystemClock())).close()
    with closing(sqlite3.connect(path)) as raw:
        raw.executescript(
            "PRAGMA writable_schema = ON; UPDATE sqlite_master SET sql = 'CREATE TABLE link (' WHERE name = 'link'"
        )
    with pytest.raises(ConfigError, match="damaged"):
        await SqlStore.open(path, SystemClock())


async def test_a_state_with_a_damaged_name_is_refused_with_a_clear_error(tmp_path: Path) -> None:
    path = tmp_path / "job.db"
    await (await SqlStore.open(path, SystemClock())).close()
    content = path.read_bytes()
    path.write_bytes(content.replace(b"CREATE TABLE link", b"CREATE T\xffBLE link"))
    with pytest.raises(ConfigError, match="damaged"):
        await SqlStore.open(path, SystemClock())


@pytest.mark.parametrize("read_only", [False, True])
async def test_a_schema_is_not_trusted(tmp_path: Path, read_only: bool) -> None:
    await (await SqlStore.open(tmp_path / "job.db", SystemClock())).close()
    engine = engine_of(tmp_path / "job.db", read_only=read_only)
    with engine.connect() as connection:
        assert connection.exec_driver_sql("PRAGMA trusted_schema").scalar_one() == 0
    engine.dispose()
