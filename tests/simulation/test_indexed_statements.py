"""What a run over a known library asks of its state is found by an index: a statement that reads a whole table of
assets takes as long as the library is large, and is one of those named here, which a run makes a few times."""

from __future__ import annotations

import re
import sqlite3
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine

from dam_sync.api.jobs import plan_job, run_job, verify_job
from dam_sync.store.file.database import raw_of
from tests.support.state.shared_engine import shared_engine
from tests.support.virtual.scale.moved_library import SIDES, Kinds, Moved, really_moved

ASSETS = 40
SEVERAL = 10  # times in one command, whatever the size of the library
LITERAL = re.compile(r"'(?:[^']|'')*'|\b\d+(?:\.\d+)?\b|x'[0-9a-f]*'")
SEVERAL_VALUES = re.compile(r"\(\?(, \?)+\)")
PARTIAL = "work_open|work_parked|work_deleted|link_unsettled|wave_due"
OF_ASSETS = re.compile(
    rf"SCAN (work|link|seen|name|ledger|step|wave|removal)\b(?! USING (COVERING )?INDEX ({PARTIAL})\b)"
)
"""A scan by a partial index reads only the few rows that are in it: open, parked or deleted ones."""
ORDERED = re.compile(r"SELECT EXISTS \(SELECT|^SELECT link.source FROM link LIMIT")  # ends at the first row, or page
WHOLE = (
    re.compile(r"^SELECT count\(\*\) AS count_1 FROM (link|work|name|ledger|step)$"),  # of a narrow index
    re.compile(r"^SELECT count\(\*\) AS count_1 FROM seen WHERE seen.run < \?"),  # what a listing of everything lacks
    re.compile(r"^SELECT asset, revision FROM work WHERE run >= \? AND listed_run = \? UNION ALL SELECT source"),
    re.compile(r"^DELETE FROM step WHERE"),  # of finished runs, once at the end: only unfinished assets have others
    re.compile(r"^(INSERT INTO (tally|seen)|UPDATE seen SET revision = coalesce)"),  # migrations of a new state
)
VERBS: dict[str, Callable[..., Coroutine[Any, Any, Any]]] = {
    "run": run_job,
    "plan": plan_job,
    "verify": lambda job, options: verify_job(job, options, "count", "100%"),
}


@dataclass(slots=True)
class Statements:
    """Those of all connections: how often each was executed, with its values left out, and one of each with them."""

    numbers: Counter[str] = field(default_factory=Counter)
    examples: dict[str, str] = field(default_factory=dict)

    def engine(self, path: Path, *, read_only: bool = False) -> Engine:
        """A file whose statements are noted."""
        engine = shared_engine(path, read_only=read_only)
        with engine.connect() as connection:
            raw_of(connection).set_trace_callback(self._note)
        return engine

    def _note(self, statement: str) -> None:
        name = SEVERAL_VALUES.sub("(?)", LITERAL.sub("?", " ".join(statement.split())))
        self.numbers[name] += 1
        self.examples.setdefault(name, statement)

    def scans(self, state: Path) -> Iterator[tuple[str, int]]:
        """Those that read all rows of a table of assets, and how often."""
        with closing(sqlite3.connect(state)) as raw:
            for name, example in self.examples.items():
                if name.startswith(("SELECT", "UPDATE", "DELETE", "INSERT", "WITH")) and "seen_run" not in name:
                    steps = [row[3] for row in raw.execute(f"EXPLAIN QUERY PLAN {example}")]
                    if any(map(OF_ASSETS.match, steps)) and not ORDERED.search(name):
                        yield name, self.numbers[name]


@contextmanager
def known_library(folder: Path) -> Iterator[tuple[Moved, Statements]]:
    """One that was moved, and what is asked of its state from now on."""
    with really_moved(folder, Kinds(SIDES[0], SIDES[3]), ASSETS) as made:
        statements = Statements()
        made.universe.storage = replace(made.universe.storage, engine=statements.engine)
        yield made, statements


@pytest.mark.parametrize("verb", VERBS)
def test_a_known_library_is_not_read_as_a_whole(tmp_path: Path, verb: str) -> None:
    with known_library(tmp_path) as (made, statements):
        made.universe.do(VERBS[verb](made.job, made.universe.options()))
        scans = dict(statements.scans(made.state))
    assert len(statements.examples) > 20
    assert [name for name in scans if not any(known.search(name) for known in WHOLE)] == []
    assert max(scans.values(), default=0) <= SEVERAL


def test_a_statement_that_reads_a_whole_table_is_noticed(tmp_path: Path) -> None:
    with known_library(tmp_path) as (made, statements):
        engine = statements.engine(made.state, read_only=True)
        with engine.connect() as connection:
            raw_of(connection).execute("SELECT asset FROM work WHERE cause = 'x'").fetchall()
        engine.dispose()
        assert list(statements.scans(made.state)) == [("SELECT asset FROM work WHERE cause = ?", 1)]
