"""Terms and containers that a run renamed get their former names back, unless somebody renamed them since: by the same
mechanism as in a run, and remembered as what runs gave."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from dam_sync.engine.compare.name_paths import Level, Path, PathRenaming, Trees
from dam_sync.engine.compare.name_verdict import NameFacts, NamePurpose, NameVerdict, NotRenamed
from dam_sync.engine.context.counterparts import RestoredName
from dam_sync.engine.context.libraries import Target
from dam_sync.engine.names.containers import TargetContainers
from dam_sync.engine.names.recalled_terms import forget_terms
from dam_sync.engine.names.registry import RenameEntry, TargetChanged
from dam_sync.engine.names.rename import Named, RenameObstacle, give_name
from dam_sync.engine.names.renamed_terms import key_at
from dam_sync.engine.names.terms import TargetTerms
from dam_sync.mapping.vocabulary import normal
from dam_sync.model import journal_names
from dam_sync.model.asset import Placement
from dam_sync.model.capabilities import Operation
from dam_sync.model.codec import placements_to_json
from dam_sync.model.conflict import ConflictPolicy
from dam_sync.model.counterpart import CONTAINER as CONTAINER_PART
from dam_sync.model.counterpart import TERM as TERM_PART
from dam_sync.model.ledger import LedgerRow
from dam_sync.model.values import Json, Term, term_from_json
from dam_sync.model.write_record import WriteRecord
from dam_sync.model.written import UNRECORDED, Obstacle
from dam_sync.store.store import SqlStore
from dam_sync.store.undo import Undone
from dam_sync.store.undo_list import UndoList

TERM, CONTAINER = "rename_term", "rename_container"
WHAT = {TERM: "renamed terms", CONTAINER: "renamed containers"}
NEEDS = {TERM: Operation.RENAME_TERM, CONTAINER: Operation.RENAME_CONTAINER}
UNABLE = "the target cannot rename them"
LOST = "gone from the target"
REASONS: Mapping[NotRenamed, str] = {
    NotRenamed.BOTH: "changed at the target since",
    NotRenamed.TAKEN: "something else has the former name now",
    NotRenamed.SHARED: "another job uses it",
    NotRenamed.MOVED: LOST,  # what it was in
}


@dataclass(slots=True)
class NameRestorer:
    """Undoes renames of one rollback, the last one first. The lists of the target are read once."""

    target: Target
    store: SqlStore
    listed: UndoList
    terms: TargetTerms = field(init=False)
    containers: TargetContainers = field(init=False)

    def __post_init__(self) -> None:
        journal = self.store.run_journal(f"undo:{self.listed.run}")
        sides = [(row, _sides(row)) for row in self.listed.renames() if journal_names.kind_of(row.operation) == TERM]
        names = tuple(dict.fromkeys(_vocabulary(row, side) for row, side in sides if side is not None))
        self.terms = TargetTerms(self.target.service, journal, names, shared=self.target.shared)
        naming = self.target.schema.naming
        self.containers = TargetContainers(self.target.service, journal, naming, shared=self.target.shared)

    def prevented(self, row: LedgerRow) -> Obstacle | None:
        """Why the rename stays, as far as the capabilities of the target say."""
        kind = journal_names.kind_of(row.operation)
        able = NEEDS[kind] in self.target.service.capabilities
        return None if able and _sides(row) is not None else Obstacle(WHAT[kind], UNABLE)

    async def undo(self, row: LedgerRow) -> bool:
        """Whether it got its former name again. Raises what stops a rollback; safe to repeat."""
        found, was = self.prevented(row), False
        if found is None:
            why, was = await self._undo(row)
            found = Obstacle(WHAT[journal_names.kind_of(row.operation)], why) if why else None
        if found is not None:
            self.listed.add_obstacles((found,), row.operation.partition(":")[2], row.target)
        return was

    async def complete_begun(self) -> None:
        """Give back the names that an attempt of this rollback, which is given up, began to give back, or did without
        recording it: a run then gives the other ones again. Safe to repeat."""
        for row in self.listed.renames():
            (name,) = _entry(row).names
            if await self.terms.begun([name]):
                await self.undo(row)

    async def _undo(self, row: LedgerRow) -> tuple[str, bool]:
        """Why it keeps its name, empty if it has the former one; and whether the run had given it the other one."""
        while True:
            one = await self._named(row)
            if one is None:
                return LOST, False
            before = one.path()
            try:
                kept = await give_name(one)
            except TargetChanged:
                continue
            if kept is not None:
                return _reason(kept), False
            back = one.restored()
            rows = self.target.counterparts.restored(back)
            await forget_terms(self.store, back)
            seqs = (row.seq,) if row.seq < UNRECORDED else ()
            await self.store.undone(self.listed.run, Undone("", row.target, seqs, names=rows))
            return "", row.seq < UNRECORDED or one.path() != before

    async def _named(self, row: LedgerRow) -> _Former | None:
        """The term or container; None if it is gone."""
        if journal_names.kind_of(row.operation) == TERM:
            return await self._term(row)
        old, new = (tuple(side["path"]) for side in _sides(row) or ())
        kind = str((_sides(row) or ({"kind": ""},))[0]["kind"])
        await self.containers.known()
        path = self.containers.path_of(kind, row.target)
        accepted = self.containers.accepted
        return _FormerContainer(self, row, kind, accepted(old), accepted(new)) if path else None

    async def _term(self, row: LedgerRow) -> _FormerTerm | None:
        sides = _sides(row) or ()
        old, new = map(term_from_json, sides)
        vocabulary = _vocabulary(row, sides)
        identity = str((row.detail or {}).get("id") or row.target)
        index = (await self.terms.known())[vocabulary]
        now = index.by_id(identity) or index.by_id(old.id)
        return _FormerTerm(self, row, vocabulary, old, new, now, now) if now is not None else None


@dataclass(slots=True)
class _Former(Named):
    """One that a run renamed."""

    names: NameRestorer
    row: LedgerRow

    @property
    def rule(self) -> ConflictPolicy:
        """A rollback asks for none."""
        return ConflictPolicy.PARK

    async def facts(self) -> NameFacts:
        """See `Named.facts`; what others renamed is not looked at."""
        step = self.renaming.step(self.path(), self.trees)
        if step is None or step.verdict is not NameVerdict.OURS:
            return NameFacts()
        return NameFacts(taken=self.is_taken(step), shared=await self.is_used())

    @abstractmethod
    def is_taken(self, step: Level) -> bool:
        """Whether something else has the former name."""

    @abstractmethod
    async def is_used(self) -> bool:
        """Whether another job uses it."""

    @abstractmethod
    def restored(self) -> RestoredName:
        """What changes in what is known of names, once it has its former name."""


@dataclass(slots=True)
class _FormerTerm(_Former):
    vocabulary: str
    old: Term
    new: Term
    first: Term  # as it was found
    now: Term

    @property
    def renaming(self) -> PathRenaming:
        above = self.path()[:-1]
        return PathRenaming((*above, self.new.label), (*above, self.old.label), NamePurpose.ROLLBACK)

    @property
    def trees(self) -> Trees:
        at = partial(key_at, (self.names.terms.index or {})[self.vocabulary])
        return Trees(at, at, lambda _: True)

    def path(self) -> Path:
        return self.now.path or (self.now.label,)

    def is_taken(self, step: Level) -> bool:
        return self.trees.at(step.new) not in ("", self.now.id or self.path())

    async def is_used(self) -> bool:
        return await self.names.target.shared.is_used_elsewhere(TERM_PART, self.vocabulary, self.now.id)

    async def complete(self) -> None:
        """A killed process may have made a part of the rename only: it is repeated."""
        (name,), journal = _entry(self.row).names, self.names.terms.journal
        if self.now.label == self.old.label and name in await journal.begun(name):
            await self._rename(replace(self.new, id=self.now.id), self.old)

    def is_able(self, step: Level) -> bool:
        return not step.moved

    async def rename(self, step: Level) -> None:
        path = step.new if self.now.path else self.old.path
        await self._rename(self.now, replace(self.old, path=path))

    async def _rename(self, before: Term, renamed: Term) -> None:
        entry = _entry(self.row)
        if await self.names.terms.journal.get(entry.names[0]) is True:  # recorded by an earlier release
            self.now = replace(renamed, id=before.id)
        else:
            self.now = await self.names.terms.rename(self.vocabulary, before, renamed, entry)

    def restored(self) -> RestoredName:
        path = tuple(map(normal, self.path()))
        below = self.names.terms.below(self.vocabulary, self.now) | {each.id: path for each in (self.first, self.now)}
        before = (*path[:-1], normal(self.new.label))
        return RestoredName(TERM_PART, self.vocabulary, below, before, path, (self.first.id, self.now.id))


@dataclass(slots=True)
class _FormerContainer(_Former):
    kind: str
    old: Path
    new: Path

    @property
    def renaming(self) -> PathRenaming:
        if self.old[:-1] != self.new[:-1]:
            return PathRenaming(self.new, self.old, NamePurpose.ROLLBACK)
        above = self.path()[:-1]  # others may have given names there
        return PathRenaming((*above, self.new[-1]), (*above, self.old[-1]), NamePurpose.ROLLBACK)

    @property
    def trees(self) -> Trees:
        at = partial(self.names.containers.found, self.kind)
        return Trees(at, at, lambda _: True)  # a level above was left for another one, not renamed

    def path(self) -> Path:
        return self.names.containers.path_of(self.kind, self.row.target)

    def is_taken(self, step: Level) -> bool:
        return self.trees.at(step.new) not in ("", self.row.target)

    async def is_used(self) -> bool:
        return await self.names.target.shared.is_used_elsewhere(CONTAINER_PART, self.kind, self.row.target)

    async def complete(self) -> None:
        """What a killed process did is known by its path: the containers were read since."""
        entry, containers = _entry(self.row), self.names.containers
        if self.path() == self.renaming.wanted and await containers.begun(entry.names):
            found = [Placement(self.kind, containers.paths[self.kind, self.row.target], self.row.target)]
            record = WriteRecord(entry.target, entry.changes)
            await containers.record_found(entry.names[0], placements_to_json(found), record)

    def is_able(self, step: Level) -> bool:
        return not step.moved or len(step.new) == 1 or bool(self.trees.at(step.new[:-1]))

    async def rename(self, step: Level) -> None:
        containers, key = self.names.containers, (self.kind, self.row.target)
        before, parent = Placement(self.kind, containers.paths[key], self.row.target), None
        above = before.path[:-1]
        if step.moved:
            parent = containers.found(self.kind, step.new[:-1]) if len(step.new) > 1 else ""
            above = containers.paths[self.kind, parent] if parent else ()
        await containers.rename(before, (*above, step.new[-1]), parent, _entry(self.row))

    def restored(self) -> RestoredName:
        now = self.path()
        before = self.new if self.old[:-1] != self.new[:-1] else (*now[:-1], self.new[-1])
        below = self.names.containers.below(self.kind, self.row.target)
        return RestoredName(CONTAINER_PART, self.kind, below, before, now)


def _reason(kept: RenameObstacle) -> str:
    """Why it keeps its name, for the report."""
    if kept.error is not None:
        return f"refused by the target: {kept.error.cause}"
    return REASONS.get(kept.why, UNABLE)


def _entry(row: LedgerRow) -> RenameEntry:
    """The name back is recorded by the number of the row that it undoes."""
    name = journal_names.undo(f"{journal_names.kind_of(row.operation)}:{row.seq}")
    back = {key: [*reversed(change)] for key, change in row.changes.items()}
    return RenameEntry((name,), row.target, back, undoes=True)


def _vocabulary(row: LedgerRow, sides: Sequence[Json]) -> str:
    old, new = map(term_from_json, sides)
    return journal_names.vocabulary_of(row.operation, old.path or (old.label,), new.label)


def _sides(row: LedgerRow) -> Sequence[Json] | None:
    """What it was, and what it became; None for a row that does not say so."""
    sides = row.changes.get("term") or row.changes.get("container")
    return sides if isinstance(sides, list) and all(sides) else None
