"""The permanent record of a finished run: calls by endpoint, bytes, durations, and digests of its inputs."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from dam_sync import __version__
from dam_sync.api.plans.trees import MadeTrees
from dam_sync.engine.context.run_context import RunContext
from dam_sync.engine.decide.conflicts import settled_of
from dam_sync.engine.guards.drift import schema_facts
from dam_sync.engine.write.repair import repaired_of
from dam_sync.http.rates.shared import JobRates, SharedRates
from dam_sync.model.asset import digest_of
from dam_sync.model.conflict import ConflictResult
from dam_sync.model.journal_names import WriteKind, is_inner
from dam_sync.model.ledger import LedgerRow
from dam_sync.model.run_options import RunOptions
from dam_sync.model.values import Json
from dam_sync.model.waits import Wait
from dam_sync.report import sentences
from dam_sync.report.headline import complete
from dam_sync.report.report import Report, count_operations
from dam_sync.store.note_keys import PACE, SENT_CALLS, WAITING, spent_key
from dam_sync.store.store import SqlStore

PAGE = 500
KEPT_SECONDS = 30.0
WAIT_SECONDS = 10.0
WHOLE = 1 << 128
OF_NO_ASSET = frozenset(
    {
        *(WriteKind.TERM, WriteKind.CONTAINER, WriteKind.RENAME_TERM, WriteKind.RENAME_CONTAINER),
        *(WriteKind.RELATE, WriteKind.UNRELATE),
    }
)


async def counting(store: SqlStore, options: RunOptions) -> RunOptions:
    """The options with rates that count the calls of earlier processes, too, and begin with what those learned."""
    rates = options.rates or JobRates(SharedRates(options.clock))
    rates.restore(await store.get_meta(SENT_CALLS) or {})
    rates.restore_learned(await store.get_meta(PACE) or {})
    return replace(options, rates=rates)


async def keep_spent(context: RunContext, began: float, *, ended: bool = True) -> dict[str, Json]:
    """Record what this process has spent on the run, and return the sum over all processes of the run. Safe to repeat.
    ended: it will spend nothing more; one that does not come to say so was killed."""
    own: dict[str, Json] = {
        "calls": context.calls,
        "bytes": context.phases.progress.bytes,
        "seconds": round(context.clock.monotonic() - began, 3),
        **{"processes": 1, "killed": 0},
    }
    note = spent_note(
        await context.state.store.get_meta(spent_key(context.state.run.id)) or {},
        context.state.run.owner,
        own,
        ended=ended,
    )
    await context.state.store.set_meta(spent_key(context.state.run.id), note)
    await context.accepted.keep()
    await context.state.store.set_meta(SENT_CALLS, context.task.options.rates.sent())
    await context.state.store.set_meta(PACE, context.task.options.rates.learned())
    return total_spent(note)


async def keep_recording(context: RunContext, began: float) -> None:
    """Record from time to time what this process has spent, so that little of it is forgotten if it is killed, and more
    often what it waits for, if that takes long."""
    waits = KeptWait(context)
    while True:
        await keep_spent(context, began, ended=False)
        for _ in range(round(KEPT_SECONDS / WAIT_SECONDS)):
            await waits.keep()
            await context.clock.sleep(WAIT_SECONDS)


class KeptWait:
    """What the run waits for, for `status` in another process."""

    def __init__(self, context: RunContext) -> None:
        self._context = context
        self._kept: Wait | None = None
        self._note: dict[str, Json] | None = None

    async def keep(self) -> None:
        """Record it, if it changed."""
        context = self._context
        wait = context.phases.progress.waits.longest(context.clock.monotonic(), WAIT_SECONDS)
        note = None if wait is None else {"run": context.state.run.id, **wait.as_note(context.clock)}
        if note != self._note and not (wait is self._kept is not None):
            await context.state.store.set_meta(WAITING, note)
            self._note = note
        self._kept = wait


def spent_note(before: Mapping[str, Json], owner: str, own: Mapping[str, Json], *, ended: bool) -> dict[str, Json]:
    """What the state keeps of the cost of a run: the sum of earlier processes, and what its last one (`owner`) spent.
    before: the same as it was, possibly empty or as earlier versions wrote it, which kept the sum only."""
    earlier: Json = before
    if "own" in before:
        known = before["owner"] == owner
        earlier = before["earlier"] if known else _sum(before["earlier"], before["own"], killed=not before["ended"])
    return {"earlier": dict(earlier), "owner": owner, "own": dict(own), "ended": ended}


def total_spent(note: Mapping[str, Json]) -> dict[str, Json]:
    """The sum over all processes: `calls` by side and endpoint, `bytes`, `seconds`, `processes`, and how many of them
    were `killed`."""
    return _sum(note["earlier"], note["own"])


def _sum(earlier: Mapping[str, Json], last: Mapping[str, Json], *, killed: bool = False) -> dict[str, Json]:
    calls = {
        side: dict(Counter(earlier.get("calls", {}).get(side, {})) + Counter(last["calls"][side]))
        for side in ("source", "target")
    }
    numbers = {key: earlier.get(key, 0) + last[key] for key in ("bytes", "processes", "killed")}
    numbers["killed"] += killed
    return {"calls": calls, "seconds": round(earlier.get("seconds", 0.0) + last["seconds"], 3), **numbers}


async def add_spent(report: Report, context: RunContext, began: float) -> dict[str, Json]:
    """Put what all processes of the run spent into its report; returns it. Call it when nothing is left to spend."""
    spent = await keep_spent(context, began)
    report.source.calls, report.target.calls = spent["calls"]["source"], spent["calls"]["target"]
    report.bytes, report.seconds = spent["bytes"], spent["seconds"]
    report.notes.extend(sentences.about_processes(spent["processes"], spent["killed"], KEPT_SECONDS))
    complete(report)
    return spent


def books_of(report: Report, context: RunContext, spent: Mapping[str, Json], ledger: int) -> dict[str, Any]:
    """The arguments of `finish`. ledger: the last ledger row; plan: a digest of the operations, equal to that of the
    plan if the run did exactly what the plan listed."""
    schemas = schema_facts(context.source, context.target, context.mapping.crosswalk)
    return {
        "counts": report.counts,
        "losses": report.losses,
        "operations": report.operations,
        "ledger": ledger,
        "plan": report.digest,
        "mapping": context.mapping.crosswalk.digest,
        "schemas": {side: digest_of(schemas[side]) for side in ("source", "target")},
        "version": __version__,
        **spent,
    }


@dataclass(frozen=True, slots=True)
class LedgerSummary:
    """What a run wrote. repaired: assets by the part that was repaired; digest: of the operations in any order, empty
    without any; conflicts: assets with a settled conflict, by value, result and policy; made: its terms and
    containers."""

    operations: dict[str, int]
    repaired: dict[str, int]
    digest: str
    conflicts: dict[ConflictResult, list[str]]
    made: MadeTrees

    @classmethod
    async def of(cls, store: SqlStore, run: int, after: int) -> LedgerSummary:
        """The rows of a run behind this one, read once."""
        names, repaired, total = Counter[str](), dict[str, set[str]](), 0
        conflicts: dict[ConflictResult, list[str]] = {}
        made = MadeTrees()
        while rows := await store.ledger(after, PAGE):
            after = rows[-1].seq
            for row in rows:
                if row.run != run:
                    continue
                names[row.operation] += 1
                made.add(row)
                for part in repaired_of(row.operation, row.detail):
                    repaired.setdefault(part, set()).add(row.asset)
                for settled in settled_of(row.operation, row.detail):
                    conflicts.setdefault(settled, []).append(row.asset)
                if not is_inner(row.operation):
                    total += int.from_bytes(hashlib.sha256(_said(row).encode()).digest()[:16], "big")
        digest = f"{total % WHOLE:032x}" if total else ""
        parts = {part: len(assets) for part, assets in sorted(repaired.items())}
        return cls(count_operations(names), parts, digest, conflicts, made)


def _said(row: LedgerRow) -> str:
    """The operation without ids assigned by the target, so that plan and run give the same digest."""
    if row.kind is WriteKind.PLACE:
        members = row.changes.get("members") or [[], []]
        return f"{row.operation.rpartition(':')[0]} {[len(ids) for ids in members]}"
    return row.operation if row.kind in OF_NO_ASSET else f"{row.operation} {row.asset}"
