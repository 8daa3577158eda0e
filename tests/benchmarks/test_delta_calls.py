"""What a delta costs, between every two services: API calls to see 100 changes and to write them, beside the least that
the contracts ask for, and those of a run in which nothing changed.

The library was moved before the measurement: see `tests/support/virtual/scale/moved_library.py`, and the first test,
which proves that this is what a real run leaves. `DAM_SYNC_LONG=1` has 100,000 assets, `DAM_SYNC_ASSETS` another
number.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from dam_sync.api.jobs import run_job
from dam_sync.report.report import Report
from dam_sync.store.note_keys import IMPORTED, PLACE
from tests.support.measuring.least_delta_calls import CONTROL, DELETE, FILES, LEAST, MOVE, TWICE, VERSION, Calls, Least
from tests.support.measuring.printed_table import show
from tests.support.virtual.moves import NOW
from tests.support.virtual.scale.moved_library import (
    CLASSES,
    SIDES,
    Kinds,
    Moved,
    Row,
    by_number,
    has_several,
    learn,
    planted,
    tables_of,
)
from tests.support.virtual.scale.source_changes import change
from tests.support.virtual.universe import Tenant

FEW, ALL = 3_000, 100_000
SIZE = int(os.environ.get("DAM_SYNC_ASSETS", ALL if os.environ.get("DAM_SYNC_LONG") == "1" else FEW))
PROVED = 3 * CLASSES
CALLS_OF_UNCHANGED = 0.02  # for each known asset, from `ALL` on
ROTATION = 14
CALLS_OF_ROTATION = 0.2  # for each known asset, at each service
POLICY: Mapping[str, Any] = {"deletes": "trash", "grace": "0s"}
PAIRS = [Kinds(*each) for each in product(SIDES, SIDES)]
ROTATED = [kinds for kinds in PAIRS if kinds.source.kind == kinds.target.kind]
every_pair = pytest.mark.parametrize("kinds", PAIRS, ids=[f"{k.source.kind[0]}-{k.target.kind[0]}" for k in PAIRS])
UNLIKE = frozenset({"calls", "spent:1", "pace", "place"})  # what a run cost, what it learned, where the state is
COUNTED = ("counts", "losses", "operations", "mapping", "schemas")


@pytest.mark.bench
@every_pair
def test_a_planted_state_is_what_a_real_run_leaves(tmp_path: Path, kinds: Kinds) -> None:
    """The same rows in the same tables and the same assets at both services, but for ids and times: a real run over a
    few assets repeated, and a real run over all of them."""
    found = []
    for size in (CLASSES, PROVED):
        model = learn(tmp_path / f"model {size}", kinds, size)
        with planted(tmp_path / f"planted {size}", model, PROVED) as made:
            assert not _counts_as_restored(made)
            found.append((_state(made), _assets(made.source), _assets(made.target)))
    repeated, real = found
    assert repeated[0].keys() == real[0].keys()
    for table in real[0]:
        assert repeated[0][table] == real[0][table], table
    assert repeated[1:] == real[1:]


@pytest.mark.bench
@every_pair
def test_a_delta_costs_what_changed(tmp_path: Path, kinds: Kinds) -> None:
    name = f"{kinds.source.kind[0]} to {kinds.target.kind[0]}"
    source, target = (LEAST[side.kind[0]] for side in (kinds.source, kinds.target))
    with planted(tmp_path / "planted", learn(tmp_path / "model", kinds, **POLICY), SIZE, **POLICY) as made:
        if kinds.target.kind == "e_profiles":
            _ran(made)  # the first run after a migration sees that all of its uploads are complete
        report, calls = _ran(made)
        assert report.operations == {}
        unchanged = source.know + source.poll(SIZE), +target.receive
        compare(f"{name}, nothing changed, {SIZE:,} assets", calls, unchanged)
        assert sum(map(Counter.total, calls)) <= CALLS_OF_UNCHANGED * max(SIZE, ALL)
        chosen = change(made, kinds.source)
        made.settle()
        report, calls = _ran(made)
        assert (report.parked, report.counts["open"]) == ([], 0)
        changed = _least_to_follow(source, target, chosen)
        compare(
            f"{name}, 100 changes among {SIZE:,} assets", calls, (unchanged[0] + changed[0], unchanged[1] + changed[1])
        )
        made.settle()
        report, calls = _ran(made)
        assert report.operations == {}


@pytest.mark.bench
@pytest.mark.parametrize("kinds", ROTATED, ids=[kinds.source.kind for kinds in ROTATED])
def test_a_rotation_reads_its_part(tmp_path: Path, kinds: Kinds) -> None:
    """A run that finds nothing changed, and compares one of 14 parts of the library."""
    with planted(tmp_path / "planted", learn(tmp_path / "model", kinds), SIZE, rotation=ROTATION) as made:
        report, calls = _ran(made)
    assert report.operations == {}
    each = [(side, sent.total(), sent.total() / SIZE) for side, sent in zip(("source", "target"), calls, strict=True)]
    title = f"{kinds.source.kind}, nothing changed, one of {ROTATION} parts of {SIZE:,} assets compared"
    show(title, ("service", "calls", "for each asset"), each)
    assert max(sent for _, _, sent in each) <= CALLS_OF_ROTATION


def compare(title: str, calls: tuple[Calls, Calls], least: tuple[Calls, Calls]) -> None:
    """Shows both; fails where more was sent than the least."""
    for side, sent, bound in zip(("source", "target"), calls, least, strict=True):
        rows = [(call, sent[call], bound[call], sent[call] - bound[call]) for call in sorted(sent | bound)]
        show(f"{title}: {side}", ("call", "sent", "least", "more"), [*rows, ("all", sent.total(), bound.total(), "")])
    for side, sent, bound in zip(("source", "target"), calls, least, strict=True):
        assert sent.total() <= bound.total(), f"{title}: {side}, {sent - bound}"


def _least_to_follow(source: Least, target: Least, chosen: Mapping[str, Sequence[int]]) -> tuple[Calls, Calls]:
    """To read what changed at the source, and to write it."""
    read, write = Counter(source.changed), Counter(target.once)
    for what, numbers in chosen.items():
        many, several = len(numbers), sum(has_several(number) for number in numbers)
        read += times(many, source.read[what]) + times(many if what == VERSION else several, source.several)
        write += times(many, target.write[what])
        if source.older and target.write[what]:
            write += times(several, target.several)
        if what == DELETE:
            read += times(TWICE * (many + CONTROL), source.asked) + times(TWICE, source.proof)
            read -= times(several, source.several)
            write += times(several, target.trashed) + target.removed
        if what == VERSION:
            write += times(-(-many // FILES), target.filed)
            if "GET /v1/collection/{id}" in target.write[what] and MOVE not in chosen:
                write += target.moved
        if what == MOVE:
            write += target.moved + times(2 * min(many, CLASSES), target.placed)
    return read, write


def times(number: int, calls: Calls) -> Calls:
    """So many times each."""
    return Counter({call: number * each for call, each in calls.items()})


def _ran(made: Moved) -> tuple[Report, tuple[Calls, Calls]]:
    """A run, and the API calls of source and target."""
    sides = made.source, made.target
    for side in sides:
        side.app.world.reset_calls()
    report = made.universe.do(run_job(made.job, made.universe.options()))
    assert all(not side.app.world.refused for side in sides)
    return report, (Counter(sides[0].app.world.api_calls), Counter(sides[1].app.world.api_calls))


# -- what is compared --------------------------------------------------------------------------------------------------


def _counts_as_restored(made: Moved) -> bool:
    """Whether the next run would look through the target for what the state does not know."""
    with closing(sqlite3.connect(made.state)) as connection:
        noted = dict(connection.execute("SELECT key, value FROM note WHERE key IN (?, ?)", [PLACE, IMPORTED]))
    _, number, _ = json.loads(noted[PLACE])
    return number != made.state.stat().st_ino or json.loads(noted.get(IMPORTED, "false"))


def _state(made: Moved) -> dict[str, list[str]]:
    tables = tables_of(made.state)
    spots = {row["id"]: row["container"] for row in tables["spot"]}
    return {
        table: sorted(_plain(table, row, spots) for row in rows if not str(row.get("asset")).startswith("place:"))
        for table, rows in tables.items()
    }


def _plain(table: str, row: Row, spots: Mapping[int, str]) -> str:
    """Without times, and without what is as it happens: the order of rows, names of uploads, costs of each call."""
    row = {key: NOW.sub("now", value) if isinstance(value, str) else value for key, value in row.items()}
    match table:
        case "note" if row["key"] in UNLIKE:
            return str(row["key"])
        case "run":
            outcome = {key: value for key, value in json.loads(row["outcome"]).items() if key in COUNTED}
            outcome["losses"] = [[loss["path"], loss["rule"], loss["assets"]] for loss in outcome["losses"]]
            row["outcome"] = outcome
        case "report":
            del row["body"], row["at"]
        case "spot":
            del row["id"]
        case "member":
            row["spot"] = spots[row["spot"]]
        case "shard":
            row["params"] = json.loads(row["params"])
        case "ledger":
            row = {key: row[key] for key in ("asset", "changes", "digest", "run", "size")}
            row["written"] = not row["changes"]
    return json.dumps({key: value for key, value in row.items() if key != "seq"}, sort_keys=True)


def _assets(tenant: Tenant) -> list[str]:
    """The truth, without times and the names that some services make."""
    return [
        NOW.sub("now", json.dumps({key: value for key, value in row.items() if key not in ("path", "name")}))
        for _, row in sorted(by_number(tenant).items())
    ]
