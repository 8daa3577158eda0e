"""`conflicts`: both sides of each open conflict, and decisions about them. Needs only the state."""

from __future__ import annotations

from collections.abc import AsyncIterator, Generator, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from dam_sync.api.atomic_io import csv_file
from dam_sync.api.csv_rows import read_rows, refuse_faults
from dam_sync.api.stored_job import existing_store, stored_job_of
from dam_sync.config.job import JobConfig
from dam_sync.model.clock import SYSTEM_CLOCK, Clock
from dam_sync.model.conflict import Take, shown
from dam_sync.model.errors import ConfigError
from dam_sync.model.outcome import ConflictRow
from dam_sync.model.safe_text import csv_cell, guarded, unguarded
from dam_sync.store.base import Storage
from dam_sync.store.store import SqlStore

COLUMNS = ("asset", "filename", "value", "written", "source", "target", "why", "decision", "state")
NEEDED = ("asset", "value", "decision", "state")
DECISIONS = frozenset({Take.SOURCE.value, Take.TARGET.value})
FILL_IN = "write the list with `conflicts JOB --csv FILE` and fill in its column `decision`"
AGAIN = "write the list again with `conflicts JOB --csv FILE`"


@dataclass(frozen=True, slots=True)
class ConflictRequest:
    """What to do with open conflicts. take: `source` or `target`, for those of the assets `only`, or for all; export: a
    CSV to write; decisions: the same CSV, with its column `decision` filled in; without those of assets that are not
    among `only`; at_most: how many of them are returned, which `count` does not depend on."""

    take: str = ""
    only: frozenset[str] = field(default_factory=frozenset)
    export: Path | None = None
    decisions: Path | None = None
    at_most: int | None = None


async def job_conflicts(
    path: Path | JobConfig,
    asked: ConflictRequest | None = None,
    clock: Clock = SYSTEM_CLOCK,
    storage: Storage | None = None,
) -> dict[str, Any]:
    """The open conflicts, after decisions were taken; the next run applies them. Safe to repeat.

    Raises ConfigError for an asset without a conflict, and for a list that does not fit the open conflicts; nothing is
    decided then.
    """
    asked = asked or ConflictRequest()
    asked = replace(asked, take=asked.take.strip().casefold())
    _refuse_request(asked)
    job, decides = stored_job_of(path), bool(asked.take or asked.decisions)
    async with existing_store(job, clock, read_only=not decides, storage=storage) as store:
        await _refuse_unknown(store, asked.only)
        taken = 0
        if asked.take:
            taken = await store.decide_conflicts({key: asked.take async for key in _keys(store, asked.only)})
        elif asked.decisions is not None:
            taken = await store.decide_conflicts(await _decisions(store, asked.decisions, asked.only))
        if asked.export is not None:
            await _export(store, asked.export, asked.only)
        rows = [_as_json(row) for row in await _first(store, asked)]
        count, assets, decided = await store.conflict_counts(asked.only)
    return {"count": count, "assets": assets, "decided": decided, "taken": taken, "conflicts": rows}


def _refuse_request(asked: ConflictRequest) -> None:
    if asked.take and asked.take not in DECISIONS:
        raise ConfigError(f"--take expects source or target, not {asked.take}")
    if asked.take and asked.decisions:
        raise ConfigError("--take and --import exclude each other", hint="use one of them")


async def _refuse_unknown(store: SqlStore, only: frozenset[str]) -> None:
    known = {row.asset for row in await store.conflicts_of(sorted(only))}
    for asset in sorted(only - known):
        raise ConfigError(f"the asset {asset} has no open conflict", hint="`conflicts JOB` lists them")


async def _conflicts(store: SqlStore, only: frozenset[str]) -> AsyncIterator[ConflictRow]:
    after = ("", "")
    while rows := await store.conflicts(after):
        after = rows[-1].asset, rows[-1].path
        for row in rows:
            if not only or row.asset in only:
                yield row


async def _first(store: SqlStore, asked: ConflictRequest) -> list[ConflictRow]:
    """As many as are asked for."""
    found: list[ConflictRow] = []
    async for row in _conflicts(store, asked.only):
        if asked.at_most is not None and len(found) >= asked.at_most:
            break
        found.append(row)
    return found


async def _keys(store: SqlStore, only: frozenset[str]) -> AsyncIterator[tuple[str, str, str]]:
    async for row in _conflicts(store, only):
        yield row.asset, row.path, row.state


async def _decisions(store: SqlStore, path: Path, only: frozenset[str]) -> dict[tuple[str, str, str], str]:
    """Decisions of a list, by asset, value and state; those of other assets than `only` are left alone. Raises
    ConfigError with every fault, its file and line, and for an asset of `only` without a decision."""
    known = {(row.asset, row.path): row.state async for row in _conflicts(store, frozenset())}
    found: dict[tuple[str, str, str], str] = {}
    faults: list[tuple[str, str]] = []
    with closing(_filled(path)) as rows:
        for line, row in rows:
            if only and row["asset"] not in only:
                continue
            message, hint = _fault(row, known, found)
            if message:
                faults.append((f"{path}:{line}: {message}", hint))
    refuse_faults([message for message, _ in faults], "; ".join(dict.fromkeys(hint for _, hint in faults)))
    for asset in sorted(only - {asset for asset, _, _ in found}):
        raise ConfigError(f"{path} has no decision for the asset {asset}", hint=FILL_IN)
    return found


def _fault(
    row: Mapping[str, str], known: Mapping[tuple[str, str], str], found: dict[tuple[str, str, str], str]
) -> tuple[str, str]:
    """What is wrong with a row, and what to do; empty if nothing is, and the decision is among those found."""
    key, decision = (row["asset"], row["value"]), row["decision"]
    if decision not in DECISIONS:
        return f"the decision is {decision!r}", "write source or target, or leave it empty"
    if key not in known:
        return f"{key[1]} of {key[0]} is not in conflict", AGAIN
    if row["state"] != known[key]:
        return f"{key[1]} of {key[0]} changed since the list was written", AGAIN
    if found.setdefault((*key, row["state"]), decision) != decision:
        return f"{key[1]} of {key[0]} is in two rows", "remove one of them"
    return "", ""


def _filled(path: Path) -> Generator[tuple[int, Mapping[str, str]], None, None]:
    """The rows with a decision, and their lines."""
    with read_rows(path, NEEDED, FILL_IN) as rows:
        for line, row in rows:
            values = {name: unguarded(row[name] or "") for name in NEEDED}
            values["decision"] = values["decision"].strip().casefold()
            if values["decision"]:
                yield line, values


async def _export(store: SqlStore, path: Path, only: frozenset[str]) -> None:
    with csv_file(path, "the list") as writer:
        writer.writerow(COLUMNS)
        async for row in _conflicts(store, only):
            sides = (shown(row.path, side) for side in (row.written, row.source, row.target))
            cells = (csv_cell(text) for text in (*sides, row.why, row.decision))
            writer.writerow([guarded(row.asset), csv_cell(row.filename), guarded(row.path), *cells, row.state])


def _as_json(row: ConflictRow) -> dict[str, Any]:
    return {
        "asset": row.asset,
        "filename": row.filename,
        "value": row.path,
        "written": row.written,
        "source": row.source,
        "target": row.target,
        "why": row.why,
        "decision": row.decision,
    }
