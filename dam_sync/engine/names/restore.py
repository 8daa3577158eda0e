"""Terms and containers that a run renamed get their former names back, unless somebody renamed them since."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace

import structlog

from dam_sync.engine.error_policy import ParkAsset, react
from dam_sync.engine.names.containers import CONTAINERS
from dam_sync.engine.names.terms import TERMS
from dam_sync.engine.run_context import RunContext
from dam_sync.engine.undo.decide import CHANGED
from dam_sync.model import journal_names
from dam_sync.model.asset import Placement
from dam_sync.model.capabilities import Operation
from dam_sync.model.codec import placements_to_json
from dam_sync.model.errors import DamSyncError
from dam_sync.model.journal import call_again
from dam_sync.model.shared_target import SharedPart
from dam_sync.model.values import Json, Term, term_from_json, value_to_json
from dam_sync.model.write_record import WriteRecord, recording
from dam_sync.store.journal import StoredJournal
from dam_sync.store.rows import CONTAINER as CONTAINER_PART
from dam_sync.store.rows import TERM as TERM_PART
from dam_sync.store.rows import LedgerRow
from dam_sync.store.undo import Undone
from dam_sync.store.undo_list import Obstacle, UndoList

log = structlog.get_logger(__name__)
TERM, CONTAINER = "rename_term", "rename_container"
WHAT = {TERM: "renamed terms", CONTAINER: "renamed containers"}
NEEDS = {TERM: Operation.RENAME_TERM, CONTAINER: Operation.RENAME_CONTAINER}
UNABLE = "the target cannot rename them"
TAKEN = "something else has the former name now"
LOST = "gone from the target"
USED = "another job uses it"


@dataclass(slots=True)
class NameUndoer:
    """Undoes renames of one rollback, the last one first. The lists of the target are read once."""

    context: RunContext
    listed: UndoList
    terms: dict[str, dict[str, Term]] = field(default_factory=dict)
    containers: dict[tuple[str, str], Placement] | None = None

    def prevented(self, row: LedgerRow) -> Obstacle | None:
        """Why the rename stays, as far as the capabilities of the target say."""
        kind = journal_names.kind_of(row.operation)
        able = NEEDS[kind] in self.context.target.capabilities
        return None if able and _sides(row) is not None else Obstacle(WHAT[kind], UNABLE)

    async def undo(self, row: LedgerRow) -> bool:
        """Whether it has its former name again. Raises what stops a rollback; safe to repeat."""
        found = self.prevented(row)
        if found is None:
            kind = journal_names.kind_of(row.operation)
            try:
                why = await (self._term(row) if kind == TERM else self._container(row))
            except DamSyncError as error:
                if not isinstance(react(error), ParkAsset):
                    raise
                log.warning("undo.refused", target=row.target, operation=row.operation, message=error.message)
                why = f"refused by the target: {error.cause}"
            found = Obstacle(WHAT[kind], why) if why else None
        if found is not None:
            self.listed.add_obstacles((found,), row.operation.partition(":")[2], row.target)
            return False
        await self.context.store.undone(self.listed.run, Undone("", row.target, (row.seq,)))
        return True

    async def _term(self, row: LedgerRow) -> str:
        """Why it keeps its name; empty if it has the former one."""
        old, new = map(term_from_json, _sides(row) or ())
        vocabulary = journal_names.vocabulary_of(row.operation, old.path or (old.label,), new.label)
        identity = str((row.detail or {}).get("id") or row.target)
        known = await self._known_terms(vocabulary)
        now = known.get(identity) or known.get(old.id)
        if now is None:
            return LOST
        if now.label != old.label:
            if why := await self._kept(vocabulary, now, old, new):
                return why
        elif await self._journal.is_begun(_entry(row)):
            now = replace(new, id=identity)  # a killed process may have made a part of the rename only: it is repeated
        else:
            return ""

        async def rename() -> SharedPart:
            made = await self.context.target.rename_term(vocabulary, now, old)
            return SharedPart(vocabulary, made.path or (made.label,), value_to_json(made), now.path)

        await self._once(row, TERMS, rename)
        self.terms.pop(vocabulary)  # ids may have changed
        return ""

    async def _kept(self, vocabulary: str, now: Term, old: Term, new: Term) -> str:
        """Why a term keeps its name; empty if it may have the former one."""
        if now.label != new.label:
            return CHANGED
        if await self.context.shared.is_used_elsewhere(TERM_PART, vocabulary, now.id):
            return USED
        others = (await self._known_terms(vocabulary)).values()
        taken = any(each.label == old.label and each.parent == now.parent for each in others)
        return TAKEN if taken else ""

    async def _container(self, row: LedgerRow) -> str:
        old, new = (tuple(side["path"]) for side in _sides(row) or ())
        known = await self._known_containers()
        kind = str((_sides(row) or ({"kind": ""},))[0]["kind"])
        now, paths = known.get((kind, row.target)), {(each.kind, each.path): each for each in known.values()}
        if now is None or now.path == old:
            return LOST if now is None else ""
        if now.path != new:
            return CHANGED
        if await self.context.shared.is_used_elsewhere(CONTAINER_PART, kind, now.id):
            return USED
        if (kind, old) in paths:
            return TAKEN
        above = paths.get((kind, old[:-1]))
        parent = None if old[:-1] == new[:-1] else above.id if above is not None else ""
        if parent == "" and len(old) > 1:
            return LOST

        async def rename() -> SharedPart:
            made = await self.context.target.rename_container(now, old, parent)
            return SharedPart(kind, made.path, placements_to_json([made]), now.path)

        await self._once(row, CONTAINERS, rename)
        self.containers = None  # the paths below changed, too
        return ""

    async def _once(self, row: LedgerRow, scope: str, rename: Callable[[], Awaitable[SharedPart]]) -> None:
        """No other process renames meanwhile; they are told."""
        shared = self.context.shared

        async def call() -> Json:
            await shared.created(scope, [await rename()])
            return True

        back = {key: [*reversed(change)] for key, change in row.changes.items()}
        async with shared.creating(scope):
            with recording(WriteRecord(row.target, back)):
                await self._journal.run(_entry(row), call, reconcile=call_again)

    @property
    def _journal(self) -> StoredJournal:
        return self.context.store.run_journal(f"undo:{self.listed.run}")

    async def _known_terms(self, vocabulary: str) -> dict[str, Term]:
        if vocabulary not in self.terms:
            self.terms[vocabulary] = {term.id: term async for term in self.context.target.terms(vocabulary)}
        return self.terms[vocabulary]

    async def _known_containers(self) -> dict[tuple[str, str], Placement]:
        if self.containers is None:
            self.containers = {(place.kind, place.id): place async for place in self.context.target.containers()}
        return self.containers


def _entry(row: LedgerRow) -> str:
    return journal_names.undo(f"{journal_names.kind_of(row.operation)}:{row.seq}")


def _sides(row: LedgerRow) -> Sequence[Json] | None:
    """What it was, and what it became; None for a row that does not say so."""
    sides = row.changes.get("term") or row.changes.get("container")
    return sides if isinstance(sides, list) and all(sides) else None
