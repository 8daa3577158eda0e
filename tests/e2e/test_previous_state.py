"""A state file that an earlier version wrote is opened, migrated and used: nothing is written again."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.jobs.small_jobs import hurry, photos, small
from tests.support.jobs.tenants import Tenant

LINKS = "SELECT source, target FROM link"
STATES = sorted((Path(__file__).parents[1] / "support" / "states").glob("version-*.sql"))


@pytest.mark.parametrize("state", STATES, ids=lambda path: path.stem)
def test_a_state_of_an_earlier_version_is_used(tmp_path: Path, state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`state` is the dump of the state of a job that had moved the same three assets to the same tenant."""
    hurry(monkeypatch)
    with small(tmp_path, photos(3)) as job:
        job.run()
        there = job.pair.target.assets
        links = dict(rows(job.state, LINKS))
        for leftover in job.state.parent.glob("job.db*"):
            leftover.unlink()
        marker = there[0]["fields"]["srckey"]
        names = {
            "origin": marker.partition("-")[0],
            "source_host": host(job.pair.source),
            "target_host": host(job.pair.target),
        }
        text = state.read_text(encoding="utf-8")
        for name, value in names.items():
            text = text.replace(f"{{{name}}}", value)
        sources = targets_in(text)  # the order in which assets come decides their ids
        text = re.sub("|".join(sources), lambda match: links[sources[match[0]]], text)
        with closing(sqlite3.connect(job.state)) as connection:
            connection.executescript(text)
        job.state.chmod(0o600)
        assert dict(rows(job.state, LINKS)) == links
        assert job.ran("status", "--json", code=0).data
        report = job.run("--full").data
        assert not report["operations"], report["operations"]
        assert job.pair.target.assets == there
        job.ends_complete()
        assert job.ran("errors", "--json", code=0).data["assets"] == []


def targets_in(dump: str) -> dict[str, str]:
    """Source ids by target id."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(dump)
        return {target: source for source, target in connection.execute(LINKS)}


def host(side: Tenant) -> str:
    return side.url.partition("//")[2]


def rows(state: Path, query: str) -> list[tuple[str, ...]]:
    with closing(sqlite3.connect(state)) as connection:
        return connection.execute(query).fetchall()
