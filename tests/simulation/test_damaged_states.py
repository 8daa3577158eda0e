"""States from which something took rows, or to which it added some: whatever was changed, a run creates nothing that is
at the target, and `adopt` brings back what is needed. `DAM_SYNC_ALL=1` tries each of them on both databases."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest

from dam_sync.model.errors import DamSyncError, SafetyStop
from tests.simulation.conftest import TRIED
from tests.support.pairs import EVERYTHING
from tests.support.sample.rotation import today
from tests.support.services.profiles import FOLDER
from tests.support.virtual.copied_states import KeptState, adopt
from tests.support.virtual.removals import ASSETS, Removals, removing
from tests.support.virtual.state_location import change, on_postgres

STORES = ("sqlite", "postgres") if EVERYTHING else ("sqlite",)
TARGETS = ("a_hypermedia", "d_templates") if EVERYTHING else ("d_templates",)
FIRST = "(SELECT min(source) FROM link)"
LOST_LINKS = (
    "DELETE FROM link",
    f"DELETE FROM link WHERE source = {FIRST}",
    f"DELETE FROM link WHERE source <> {FIRST}",
    f"DELETE FROM link WHERE source > {FIRST} AND source < (SELECT max(source) FROM link)",
    "DELETE FROM link; DELETE FROM work",
    "DELETE FROM link; DELETE FROM work; DELETE FROM name; DELETE FROM run",
    "DELETE FROM link; DELETE FROM note",
    "DELETE FROM link; DELETE FROM note WHERE key = 'row counts'",
    f"DELETE FROM link WHERE source = {FIRST}; DELETE FROM note WHERE key = 'row counts'",
    "DELETE FROM link; INSERT INTO link SELECT 'other-' || source, target, source_revision, source_fingerprint,"
    " draft_fingerprint, filename, evidence, digests, size, versions, draft, attachments, relations, made_at, proofs,"
    " kept, attached FROM kept_link",
    f"DELETE FROM link WHERE source = {FIRST}; UPDATE note SET value = replace(value, '\"link\":{ASSETS}',"
    f" '\"link\":{ASSETS - 1}') WHERE key = 'row counts'",
    "DELETE FROM link; UPDATE note SET value = 'null' WHERE key IN ('row counts', 'watermark', 'marks')",
)
LOST_ROWS = tuple(
    f"DELETE FROM {table}"
    for table in (
        *("work", "seen", "name", "note", "run", "shard", "tally", "step", "counterpart", "spot", "member"),
        *("placement", "relation", "trashed", "deletion", "report", "account_key", "wave", "hint", "correction"),
    )
)
FEWER_ROWS = (
    "DELETE FROM work WHERE asset = (SELECT min(asset) FROM work)",
    "DELETE FROM name WHERE owner = (SELECT min(owner) FROM name)",
    "DELETE FROM note WHERE key = 'watermark'",
    "DELETE FROM note WHERE key = 'marks'",
    "DELETE FROM note WHERE key = 'marks until'",
    "DELETE FROM note WHERE key = 'names'",
    "DELETE FROM note WHERE key = 'origin'",
    "DELETE FROM note WHERE key LIKE 'tenant:%'",
    "DELETE FROM run WHERE id = (SELECT max(id) FROM run)",
    f"DELETE FROM seen WHERE source = {FIRST}",
)
MORE_ROWS = (
    "INSERT INTO step (scope, name, at, state, result) VALUES ('asset:1', 'create', '2026-01-01T00:00:00.000000Z',"
    " 'intent', 'null')",
    "INSERT INTO name (folded, owner) SELECT 'other-' || folded, owner FROM name",
    "INSERT INTO seen (source) SELECT 'other-' || source FROM link",
    "UPDATE seen SET revision = '', run = 0",
    "UPDATE work SET state = 'pending', due = ''",
)
DAMAGES = (*LOST_LINKS, *LOST_ROWS, *FEWER_ROWS, *MORE_ROWS)
A_DAY = 1  # of them
STOPS = 4  # for reasons that are met one after another


@pytest.fixture(params=STORES, autouse=True)
def _store(request: pytest.FixtureRequest, databases: None) -> Iterator[None]:
    with on_postgres() if request.param == "postgres" else nullcontext():
        yield


@pytest.mark.parametrize("full", [False, True] if EVERYTHING else [True], ids=["full", ""][: 1 + EVERYTHING])
@pytest.mark.parametrize("kind", TARGETS)
def test_no_damage_to_a_state_doubles_or_loses_an_asset(
    tmp_path: Path, kind: str, full: bool, record_property: pytest.RecordProperty
) -> None:
    tried, wrong = list(range(len(DAMAGES))) if EVERYTHING else of_the_day(), list[str]()
    with removing(tmp_path, (FOLDER, kind)) as world:
        world.run()
        there, kept = world.living(), KeptState(world, tmp_path)
        for number in tried:
            damage(world, DAMAGES[number])
            try:
                wrong += [f"{DAMAGES[number]}: {why}" for why in judged(world, there, full=full)]
            except DamSyncError as error:
                wrong.append(f"{DAMAGES[number]}: {error}")
            kept.put_back()
        kept.forget()
    record_property(TRIED, len(tried))
    assert wrong == []


def of_the_day() -> list[int]:
    """Others each day, and always the loss of all links, known and unknown."""
    first = today().toordinal() * A_DAY
    return [0, 7, *((first + each) % len(DAMAGES) for each in range(A_DAY))]


def damage(world: Removals, statements: str) -> None:
    """Something other than the product changes the state."""
    if "kept_link" in statements:
        for statement in ("CREATE TABLE kept_link AS SELECT * FROM link", *statements.split("; ")):
            change(world.job, statement)
        change(world.job, "DROP TABLE kept_link")
        return
    for statement in statements.split("; "):
        change(world.job, statement)


def judged(world: Removals, there: set[str], *, full: bool) -> Iterator[str]:
    """What is wrong after a run, and after what its stops said was done."""
    report, accepts = None, False
    for _ in range(STOPS):
        try:
            report = world.run(full=full, accept_changes=accepts)
            break
        except SafetyStop as stop:
            yield from [] if world.living() == there else [f"{len(world.living())} assets before the stop"]
            if "adopt" in stop.hint:
                adopt(world, accept_changes=True)  # links that something else made up are gone from the source
            accepts = "--accept-changes" in stop.hint and "adopt" not in stop.hint
    if report is None:
        yield "no way on"
        return
    yield from [] if world.living() == there else [f"{len(world.living())} assets for {len(there)}"]
    yield from [] if not report.parked else [f"parked {report.parked}"]
    linked = set(world.links().values())
    yield from [] if linked == there else [f"{len(linked)} of {len(there)} linked"]
