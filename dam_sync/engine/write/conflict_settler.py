"""Settles the conflicts of one asset: reads what was decided, and records what is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from dam_sync.engine.context.libraries import Source, Target
from dam_sync.engine.context.run_state import RunState
from dam_sync.engine.decide.conflicts import (
    SAME_TIME,
    SECOND,
    UNDATED,
    ZERO,
    Newer,
    SettledConflict,
    Settlement,
    admitted,
    loss_of,
    settle,
)
from dam_sync.engine.decide.three_way import Files, ThreeWay, ValueConflict
from dam_sync.engine.guards.finding import EXAMPLES
from dam_sync.engine.read.compared import as_not_hidden, with_everybody
from dam_sync.engine.read.facts import facts_of
from dam_sync.model import journal_names
from dam_sync.model.asset import Asset, Draft, Loss, Patch
from dam_sync.model.codec import draft_from_json
from dam_sync.model.conflict import (
    CONFLICT,
    ConflictResult,
    Take,
)
from dam_sync.model.journal import note_fact
from dam_sync.model.policy import Policy
from dam_sync.model.ports import Journal
from dam_sync.model.values import Json
from dam_sync.model.write_record import WriteRecord, recording
from dam_sync.store.store import SqlStore


def _losses_of(known: Sequence[Json]) -> tuple[Loss, ...]:
    latest = {path: row for entry in known for path, row in entry.items()}
    return tuple(loss_of(ConflictResult(path, Take(row["take"]), row["by"])) for path, row in latest.items())


def _is_about(entry: Json, conflicts: Sequence[ValueConflict]) -> bool:
    """Whether these conflicts were recorded, with the same values."""
    return bool(conflicts) and all(entry.get(one.path, {}).get("state") == one.state for one in conflicts)


def _as_recorded(one: SettledConflict, entry: Json) -> SettledConflict:
    row = entry[one.conflict.path]
    return replace(one, take=Take(row["take"]), by=row["by"], why="")


async def recorded_conflicts(journal: Journal) -> list[Json]:
    """How earlier attempts settled the conflicts of an asset, oldest first."""
    found: list[Json] = []
    while (entry := await journal.get(journal_names.conflict(len(found) + 1))) is not None:
        found.append(entry)
    return found


@dataclass(frozen=True, slots=True)
class Attempt:
    """Where decisions about one asset are recorded; begun: whether an earlier attempt may have recorded some."""

    journal: Journal
    begun: bool


@dataclass(frozen=True, slots=True)
class Settler:
    """Settles the conflicts of assets of one context; writes nothing to the target."""

    source: Source
    target: Target
    store: SqlStore
    policy: Policy

    async def settlement(self, three: ThreeWay, asset: Asset, attempt: Attempt) -> Settlement:
        """What to write of an update whose asset may have been changed at the target. The decision is recorded before
        anything is written: after a crash it is the same, though our own writes moved the date of the target."""
        known = await recorded_conflicts(attempt.journal) if attempt.begun else []
        conflicts, settled = three.conflicts(), list[SettledConflict]()
        if conflicts:
            rows = await self.store.conflicts_of([asset.id])
            decided = {(row.path, row.state): row.decision for row in rows if row.decision}
            settled = settle(conflicts, self.policy.conflicts, self._newer(asset, three.actual), decided)
        recorded = next((entry for entry in reversed(known) if _is_about(entry, conflicts)), None)
        if recorded is not None:
            settled = [_as_recorded(one, recorded) for one in settled]
        made = replace(admitted(three, settled), before=_losses_of(known))
        if made.settled and not made.open and recorded is None:
            await self._record(three, made, attempt.journal, len(known) + 1)
        return made

    async def _record(self, three: ThreeWay, made: Settlement, journal: Journal, number: int) -> None:
        taken = {
            one.conflict.path: {"take": one.take.value, "by": one.by, "state": one.conflict.state}
            for one in made.settled
        }
        sides = {one.conflict.path: [one.conflict.target, one.conflict.source] for one in made.settled}
        changes = sides if self.policy.ledger == "values" else dict.fromkeys(sides)
        with recording(WriteRecord(three.files.link.target, changes)):
            await note_fact(journal, journal_names.conflict(number), taken)

    def _newer(self, asset: Asset, actual: Asset) -> Newer:
        """By the modification dates of both assets, each on the clock of its service."""
        ours, theirs = asset.changed_at, actual.changed_at
        if ours is None or theirs is None:
            return Newer(Take.NONE, UNDATED.format("the source" if ours is None else "the target"))
        later = (ours - self.source.account.clock_skew) - (theirs - self.target.account.clock_skew)
        precision = max(self.source.service.limits.precision, self.target.service.limits.precision, SECOND)
        if abs(later) <= precision:
            return Newer(Take.NONE, SAME_TIME)
        return Newer(Take.SOURCE if later > ZERO else Take.TARGET)


async def report_conflicts(state: RunState, settled: Mapping[ConflictResult, Sequence[str]]) -> list[dict[str, Json]]:
    """For the report: by value, result and policy, the conflicts that this run `settled`, and those of assets that are
    parked."""
    found = [(one, len(set(assets)), sorted(set(assets))[:EXAMPLES]) for one, assets in sorted(settled.items())]
    for rule, parked, assets, examples in await state.store.losses_of(CONFLICT, state.run.id, EXAMPLES):
        if parked:
            found.append((ConflictResult.read(rule), assets, examples))
    return [
        {"path": one.path, "take": one.take.value, "by": one.by, "assets": assets, "examples": examples}
        for one, assets, examples in found
    ]


def three_way_of(
    target: Target, draft: Draft, patch: Patch, before: Sequence[Json], actual: Asset, files: Files
) -> ThreeWay:
    """The comparison of one asset."""
    shown = as_not_hidden(before, actual, target.schema)
    return ThreeWay(
        before=before,
        draft=draft,
        patch=patch,
        actual=with_everybody(target, shown, *map(draft_from_json, before), draft),
        files=files,
        facts=facts_of(target),
    )
