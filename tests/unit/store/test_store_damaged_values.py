"""A state with values that dam-sync never stores, as another program or a disk may leave them, is named as such."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dam_sync.api.stored_job import refusing_strange_values
from dam_sync.cli import cli
from dam_sync.model.clock import SystemClock
from dam_sync.model.errors import ConfigError, Rejected
from dam_sync.model.link import LinkRow
from dam_sync.store.file.contents import refuse_damaged, refuse_strange_values, strange_value
from dam_sync.store.store import SqlStore
from dam_sync.store.tables import stamp

JOB = """\
version: 1
name: museum
source: {kind: folder, options: {path: library}}
target: {kind: folder, options: {path: export}}
mapping: museum.mapping.yaml
state: museum.db
"""
DAMAGED = {
    "run.started_at": "'yesterday'",
    "run.ended_at": "7",
    "run.outcome": "'{['",
    "note.value": "'{['",
    "link.size": "'large'",
    "link.versions": "'{}'",
    "link.relations": "'[1]'",
    "link.draft": "'[]'",
    "link.made_at": "'soon'",
    "link.digests": "x'00'",
    "ledger.at": "''",
    "ledger.changes": "'nothing'",
}


@pytest.fixture
async def state(tmp_path: Path) -> Path:
    path = tmp_path / "museum.db"
    store = await SqlStore.open(path, SystemClock())
    run = await store.begin("museum", "run")
    await store.put_link(LinkRow("1", "a", size=5, versions=("f",), relations=(("kind", "2"),), draft={"x": "é"}))
    await store.set_meta("fact", {"any": [1.5, None]})
    await store.finish(run.id, {"created": 1}, listed=True)
    await store.close()
    with closing(sqlite3.connect(path, isolation_level=None)) as raw:
        row = (run.id, "create", "1", "a", "{}", stamp(SystemClock().now()))
        raw.execute("INSERT INTO ledger (run, operation, asset, target, detail, at) VALUES (?, ?, ?, ?, ?, ?)", row)
    (tmp_path / "museum.yaml").write_text(JOB)
    (tmp_path / "museum.mapping.yaml").write_text("version: 1\n")
    return path


def damage(path: Path, where: str, value: str) -> None:
    table, column = where.split(".")
    with closing(sqlite3.connect(path, isolation_level=None)) as raw:
        if table == "ledger":  # rows of which are only added
            columns = ["run", "operation", "asset", "target", "detail", "at", "changes"]
            chosen = [value if each == column else each for each in columns]
            raw.execute(f"INSERT INTO ledger ({', '.join(columns)}) SELECT {', '.join(chosen)} FROM ledger LIMIT 1")
        else:
            assert raw.execute(f"UPDATE {table} SET {column} = {value}").rowcount > 0


def test_a_state_as_it_was_stored_has_no_strange_value(state: Path) -> None:
    assert strange_value(state) == ""
    refuse_damaged(state, state)
    refuse_strange_values(state, state)


@pytest.mark.parametrize("where", DAMAGED)
def test_a_strange_value_is_named_by_its_place(state: Path, where: str) -> None:
    damage(state, where, DAMAGED[where])
    assert strange_value(state) == where
    with pytest.raises(ConfigError, match=f"has values in {where} that dam-sync did not store"):
        refuse_strange_values(state, state)


def test_an_error_is_blamed_on_the_state_only_if_it_is_strange(state: Path) -> None:
    with pytest.raises(ZeroDivisionError), refusing_strange_values(state):
        raise ZeroDivisionError
    damage(state, "link.draft", "'[]'")
    with pytest.raises(ConfigError, match=r"link\.draft"), refusing_strange_values(state):
        raise ZeroDivisionError
    with pytest.raises(Rejected, match="no"), refusing_strange_values(state):
        raise Rejected("no")


@pytest.mark.parametrize("where", DAMAGED)
def test_commands_name_a_strange_value_without_a_traceback(state: Path, where: str) -> None:
    damage(state, where, DAMAGED[where])
    job, other = str(state.with_suffix(".yaml")), state.with_name("copy.db")
    shutil.copy(state, other)
    for command in (["status"], ["errors"], ["report"], ["explain", "1"], ["conflicts"]):
        ended = CliRunner().invoke(cli, [command[0], job, *command[1:], "--no-progress"])
        assert "Traceback" not in ended.output
        assert "bug" not in ended.output
        assert ended.exit_code == 0 or (ended.exit_code == 2 and where in ended.output), ended.output
    ended = CliRunner().invoke(cli, ["state", job, "import", str(other), "--yes"])
    assert (ended.exit_code, where in ended.output) == (2, True), ended.output
    assert not [path.name for path in state.parent.iterdir() if "import" in path.name], "nothing is replaced or left"


def test_an_export_with_damaged_pages_is_not_imported(state: Path) -> None:
    other = state.with_name("copy.db")
    with closing(sqlite3.connect(state, isolation_level=None)) as raw:
        raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        page = raw.execute("SELECT rootpage FROM sqlite_master WHERE name = 'link_target'").fetchone()[0]
        size = raw.execute("PRAGMA page_size").fetchone()[0]
    data = bytearray(state.read_bytes())
    data[page * size - 1] ^= 0x20  # the last byte of an index: another asset
    other.write_bytes(data)
    ended = CliRunner().invoke(cli, ["state", str(state.with_suffix(".yaml")), "import", str(other), "--yes"])
    assert ended.exit_code == 2, ended.output
    assert "damaged" in ended.output
