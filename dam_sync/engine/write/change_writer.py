"""Makes the calls of one change of an asset that exists at the target: each once, in one order, with its ledger row.

A run, a repair, a removal and a rollback all write through this. What is intended is durable before the first call: the
draft and the files by `read.intents`, a move to the trash or out of it by the intent of its own journal entry.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from dam_sync.engine.compare.file_keys import sent_file
from dam_sync.engine.context.run_context import RunContext
from dam_sync.engine.decide.change import AssetChange, Step
from dam_sync.engine.read.seen import held, living
from dam_sync.engine.write.files import FileWriter, SourceFiles
from dam_sync.model import journal_names
from dam_sync.model.asset import AssetId, Draft, FileRef, Patch
from dam_sync.model.errors import ContractBroken
from dam_sync.model.journal import NamespacedJournal, call_again, note_fact
from dam_sync.model.ports import Journal
from dam_sync.model.values import Json
from dam_sync.model.write_record import WriteRecord, recording

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ValuesCall:
    """How the values of a change are recorded. name: of the journal entry; changes: for the ledger; result: of the
    entry; noted: an entry that records the result before the call, so that a killed attempt tells what it began."""

    name: str
    changes: Mapping[str, Json] = field(default_factory=dict)
    result: Json = True
    noted: str = ""


@dataclass(frozen=True, slots=True)
class CallNames:
    """The names of the other calls in the journal. undoes: attachments are removed by a rollback."""

    restore: str = journal_names.RESTORE
    trash: str = journal_names.REMOVE
    older: str = ""
    undoes: bool = False


OF_RUN, OF_ROLLBACK = (
    CallNames(),
    CallNames(
        restore=journal_names.undo(journal_names.REMOVE),
        trash=journal_names.undo(journal_names.CREATE),
        older=journal_names.undo("version"),
        undoes=True,
    ),
)


@dataclass(slots=True)
class Sent:
    """Files that were sent. current: the last version, None if this attempt sent none; attached: by key."""

    current: FileRef | None = None
    attached: dict[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ChangeWriter:
    """Writes to one asset of the target."""

    context: RunContext
    known: AssetId
    journal: Journal
    names: CallNames = OF_RUN

    async def write(
        self,
        change: AssetChange,
        values: ValuesCall | None = None,
        files: SourceFiles | None = None,
        *,
        replaces: str = "",
    ) -> Sent:
        """Make what is left of the change. values: needed if it has values; files: if it adds files; replaces: the key
        of the version that an older one takes the place of. Raises the errors of the target; safe to repeat."""
        sent = Sent()
        calls: Mapping[Step, Callable[[], Awaitable[None]]] = {
            Step.RESTORE: lambda: self._restore(change.restore),
            Step.OLDER: lambda: self._make_current(change.older, replaces),
            Step.VALUES: lambda: self._update(change.patch, values),
            Step.VERSIONS: lambda: self._add_versions(change.versions, files, sent),
            Step.DETACH: lambda: self._detach_all(change.detach),
            Step.ATTACH: lambda: self._attach(change.attachments, files, sent),
            Step.TRASH: self._remove,
        }
        for step in change.steps:
            await calls[step]()
        return sent

    async def _add_versions(self, versions: tuple[FileRef, ...], files: SourceFiles | None, sent: Sent) -> None:
        writer = FileWriter(self.context)
        sent.current = await writer.add_versions(self.known, versions, _given(files), self.journal)

    async def _attach(self, attachments: tuple[FileRef, ...], files: SourceFiles | None, sent: Sent) -> None:
        writer = FileWriter(self.context)
        sent.attached = await writer.attach(self.known, attachments, _given(files), self.journal)

    async def _detach_all(self, gone: Mapping[str, Json]) -> None:
        for key, each in gone.items():
            await self._detach(key, each)

    async def _restore(self, draft: Draft | None) -> None:
        async def call() -> Json:
            await self.context.target.restore(self.known, _given(draft))
            return str(self.known)

        with recording(WriteRecord(self.known, {"trash": [True, False]})):
            await self.journal.run(self.names.restore, call, reconcile=call_again)

    async def _make_current(self, older: FileRef | None, replaces: str) -> None:
        version = _given(older)

        async def call() -> Json:
            await self.context.target.restore_version(self.known, version)
            return version.id

        with recording(WriteRecord(self.known, {"version": [replaces, version.name]})):
            await self.journal.run(self.names.older, call, idempotent=True)

    async def _update(self, patch: Patch, recorded: ValuesCall | None) -> None:
        values = _given(recorded)

        async def call() -> Json:
            if not patch.empty:
                await self.context.target.update(self.known, patch)
            return values.result

        if values.noted:
            with recording(WriteRecord(self.known, values.changes)):
                await note_fact(self.journal, values.noted, values.result)
        with recording(WriteRecord(self.known, values.changes)):
            await self.journal.run(values.name, call, idempotent=True)

    async def _detach(self, key: str, sent: Json) -> None:
        """A run records it before, because the attachment may be at the source again when this is repeated."""
        name = journal_names.removed_attachment(key)
        if self.names.undoes:
            name = journal_names.undo(journal_names.attachment(key))
        else:
            await note_fact(self.journal, journal_names.detaching(key), sent)

        async def call() -> Json:
            scoped = NamespacedJournal(self.journal, journal_names.inside(name))
            await self.context.target.detach(self.known, sent_file(sent), scoped)
            return True

        with recording(WriteRecord(self.known, {"attachment": [sent["name"], None]})):
            await self.journal.run(name, call, idempotent=True)

    async def _remove(self) -> None:
        async def call() -> Json:
            await self.context.target.remove(self.known)
            return str(self.known)

        async def found() -> Json:
            return str(self.known) if living(await held(self.context, self.known)) is None else None

        with recording(WriteRecord(self.known, {"trash": [False, True]})):
            await self.journal.run(self.names.trash, call, reconcile=found)


def _given(value: T | None) -> T:
    """What a step needs. Raises ContractBroken without it."""
    if value is None:
        raise ContractBroken("a change without what its calls need")
    return value
