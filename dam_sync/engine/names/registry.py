"""Creates and renames terms and containers of the target, each once: recorded in the journal and the ledger, told to
the other processes that write into the target, and known to a run after one that was killed in between."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import ClassVar, TypeAlias

from dam_sync.model import journal_names
from dam_sync.model.errors import Rejected
from dam_sync.model.journal import note_fact
from dam_sync.model.ports import Call, Journal
from dam_sync.model.service import Service
from dam_sync.model.shared_target import UNSHARED, SharedPart, SharedTarget
from dam_sync.model.values import Json
from dam_sync.model.write_record import WriteRecord, note_target, recording

Allowed: TypeAlias = Callable[[str], Awaitable[None]]
"""Called with the name of a term or container before it is created; raises if it must not be."""


class TargetChanged(Exception):
    """Another process created or renamed terms or containers meanwhile: what needs one is to be drafted again."""


@dataclass(frozen=True, slots=True)
class NameCreation:
    """One to be created. entry: its name in the journal; part: for other processes; detail: for the ledger."""

    entry: str
    part: SharedPart
    detail: Json


@dataclass(frozen=True, slots=True)
class TargetRecord:
    """One as the target made it. value: JSON of it."""

    id: str
    value: Json


@dataclass(frozen=True, slots=True)
class RenameEntry:
    """Where a rename is recorded. names: its own in the journal, and the one that earlier releases gave it; target: its
    id in the ledger, changes: what it changes there; recalls: entries of the journal that it makes untrue, by the
    beginning of their names; undoes: whether it gives back what a run changed."""

    names: Sequence[str]
    target: str
    changes: Mapping[str, Json]
    recalls: str = ""
    undoes: bool = False


@dataclass(slots=True)
class NameRegistry(ABC):
    """Those of one target, as one process knows them."""

    target: Service
    journal: Journal
    allowed: Allowed | None = field(default=None, kw_only=True)
    shared: SharedTarget = field(default=UNSHARED, kw_only=True)
    recovers: bool = field(default=False, kw_only=True)  # what a killed process created is recorded once it is found
    scope: ClassVar[str]  # of the journal of a run, and of what other processes are told
    what: ClassVar[str]  # the key of a change in the ledger

    @abstractmethod
    async def learn(self) -> bool:
        """Take over what other processes created and renamed; whether any of it is new here."""

    @asynccontextmanager
    async def alone(self) -> AsyncIterator[None]:
        """No other process creates or renames meanwhile. Raises TargetChanged if one did before."""
        async with self.shared.creating(self.scope):
            if await self.learn():
                raise TargetChanged
            yield

    async def begun(self, names: Sequence[str]) -> bool:
        """Whether this run began, or made, a write of one of these names, perhaps in a process that was killed."""
        for name in names:
            if await self.journal.get(name) is not None or name in await self.journal.begun(name):
                return True
        return False

    async def create_once(
        self,
        new: Sequence[NameCreation],
        call: Callable[[Sequence[NameCreation]], Awaitable[Sequence[TargetRecord]]],
        know: Callable[[NameCreation, Json], None],
    ) -> None:
        """Create them, within `alone`. call: makes those that are not recorded; know: gets each, made now or before."""
        await self._allow([one.entry for one in new])
        await self.shared.begin(self.scope, [one.part for one in new])
        await self.journal.begin([one.entry for one in new])
        made: dict[str, TargetRecord] = {}

        async def make(entry: str) -> Json:
            if entry not in made:
                left = [one for one in new if len(new) == 1 or await self.journal.get(one.entry) is None]
                made.update(zip((one.entry for one in left), await call(left), strict=True))
            note_target(made[entry].id)
            return made[entry].value

        told = []
        for one in new:
            with recording(WriteRecord(changes={self.what: [None, one.detail]})):
                try:
                    value = await self.journal.run(one.entry, partial(make, one.entry), idempotent=True)
                except Rejected:
                    await self._refused(new)
                    raise
            know(one, value)
            told.append(replace(one.part, value=value))
        await self.shared.created(self.scope, told)

    async def _refused(self, new: Sequence[NameCreation]) -> None:
        """The target has none of them; of several, some may have been added before one was refused."""
        if len(new) == 1:
            await self.shared.created(self.scope, [new[0].part])

    async def rename_once(
        self,
        entry: RenameEntry,
        call: Callable[[], Awaitable[TargetRecord]],
        reconcile: Call,
        told: Callable[[Json], SharedPart],
    ) -> Json:
        """Give one another name; what is about to change is durable before the call, so that a rollback of a run that
        was killed knows it. told: what other processes get to know of the result. Raises the errors of the target, and
        TargetChanged before anything is renamed."""

        async def noted() -> Json:
            made = await call()
            if not entry.undoes:
                note_target(made.id)
            return made.value

        async with self.alone():
            await self._allow(entry.names[:1])
            if not entry.undoes:
                await note_fact(
                    self.journal,
                    journal_names.renaming(entry.names[0]),
                    {"target": entry.target, "changes": entry.changes},
                )
            with recording(WriteRecord(entry.target, entry.changes)):
                value = await self.journal.run(entry.names[0], noted, reconcile=reconcile)
            await self.shared.created(self.scope, [told(value)])
        return value

    async def forget(self, entry: RenameEntry) -> None:
        """Nothing is known by the name that it had."""
        if entry.recalls:
            notes = (journal_names.renaming(name) for name in entry.names)
            await self.journal.discard(*entry.names, *notes, f"{entry.recalls}*")

    async def record_found(self, name: str, value: Json, record: WriteRecord) -> None:
        """Record a write of a killed process, whose result was found at the target."""

        async def give() -> Json:
            return value

        with recording(record):
            await self.journal.run(name, give, reconcile=give)

    async def _allow(self, names: Sequence[str]) -> None:
        """Raises what `allowed` raises; what was created already is not asked for again."""
        for name in names if self.allowed is not None else ():
            if self.allowed is not None and await self.journal.get(name) is None:
                await self.allowed(name)
