"""Makes the calls of one change of an asset of the target: each once, in one order, with its ledger row.

A run, a repair, a removal and a rollback all write through this. What is intended is durable before the first call: the
draft and the files by `read.intents`, a move to the trash or out of it by the intent of its own journal entry.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from dam_sync.engine.compare.file_keys import sent_file, version_key
from dam_sync.engine.context.run_context import RunContext
from dam_sync.engine.decide.change import AssetChange, Sent, Step
from dam_sync.engine.decide.patches import changes_of_draft
from dam_sync.engine.guards.probation import refuse_removed
from dam_sync.engine.read.seen import held, living
from dam_sync.engine.write.files import FileWriter, SourceFiles, as_uploaded
from dam_sync.model import journal_names
from dam_sync.model.asset import Asset, AssetId
from dam_sync.model.codec import draft_to_json
from dam_sync.model.errors import ContractBroken, NotFound
from dam_sync.model.journal import NamespacedJournal, call_again, note_fact
from dam_sync.model.ports import Journal
from dam_sync.model.service import Service
from dam_sync.model.values import Json
from dam_sync.model.write_record import WriteRecord, recording
from dam_sync.transfer.linked import LinkedContent

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


@dataclass(frozen=True, slots=True)
class ChangeWriter:
    """Writes to one asset of the target. known: its id; empty for one that is created."""

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
        """Make what is left of the change. values: needed if it has values; files: if it creates, or adds files;
        replaces: the key of the version that an older one takes the place of. Raises the errors of the target, and
        NotFound with its own cause for an asset that the service removed while it was new; safe to repeat."""
        sent = Sent(self.known)
        calls = _Calls(self, change, values, files, replaces, sent)
        for step in change.steps:
            try:
                await calls.of(step)
            except NotFound:
                if change.create is not None and step is not Step.CREATE:
                    await self._refuse_removed(sent.asset, _given(files).asset)
                raise
        return sent

    async def _refuse_removed(self, made: AssetId, asset: Asset) -> None:
        await refuse_removed(
            self.context.target,
            self.context.state.store,
            asset.id,
            made,
            version_key(asset.file) if asset.file is not None else "",
        )


@dataclass(frozen=True, slots=True)
class _Calls:
    """Those of one change, by step."""

    writer: ChangeWriter
    change: AssetChange
    values: ValuesCall | None
    files: SourceFiles | None
    replaces: str
    sent: Sent

    async def of(self, step: Step) -> None:
        calls: Mapping[Step, Callable[[], Awaitable[None]]] = {
            Step.CREATE: self._create,
            Step.RESTORE: self._restore,
            Step.OLDER: self._make_current,
            Step.VALUES: self._update,
            Step.VERSIONS: self._add_versions,
            Step.DETACH: self._detach,
            Step.ATTACH: self._attach,
            Step.TRASH: self._remove,
        }
        await calls[step]()

    @property
    def _target(self) -> Service:
        return self.writer.context.target.service

    @property
    def _journal(self) -> Journal:
        return self.writer.journal

    @property
    def _known(self) -> AssetId:
        return self.sent.asset

    @property
    def _file_writer(self) -> FileWriter:
        return FileWriter(self.writer.context.source, self.writer.context.target)

    async def _create(self) -> None:
        context, new, files = self.writer.context, _given(self.change.create), _given(self.files)

        async def call() -> Json:
            scoped = NamespacedJournal(self._journal, journal_names.inside(journal_names.CREATE))
            if new.file is None:
                return await self._target.create(new.draft, None, scoped)
            link = None if self.change.versions else await context.pulls.link(new.file)
            async with self._file_writer.contents(new.file, new.draft, files.asset.file, link) as content:
                made = await self._target.create(new.draft, content, scoped)
                self.sent.current = as_uploaded(content)
            if isinstance(content, LinkedContent):
                context.pulls.note(new.file, opened=content.is_open)
            return made

        with recording(WriteRecord("", changes_of_draft(draft_to_json(new.draft), context.task.policy.ledger))):
            self.sent.asset = AssetId(await self._journal.run(journal_names.CREATE, call, idempotent=True))

    async def _restore(self) -> None:
        draft = _given(self.change.restore)

        async def call() -> Json:
            await self._target.restore(self._known, draft)
            return str(self._known)

        with recording(WriteRecord(self._known, {"trash": [True, False]})):
            await self._journal.run(self.writer.names.restore, call, reconcile=call_again)

    async def _make_current(self) -> None:
        version = _given(self.change.older)

        async def call() -> Json:
            await self._target.restore_version(self._known, version)
            return version.id

        with recording(WriteRecord(self._known, {"version": [self.replaces, version.name]})):
            await self._journal.run(self.writer.names.older, call, idempotent=True)

    async def _update(self) -> None:
        patch, values = self.change.patch, _given(self.values)

        async def call() -> Json:
            if not patch.empty:
                await self._target.update(self._known, patch)
            return values.result

        if values.noted:
            with recording(WriteRecord(self._known, values.changes)):
                await note_fact(self._journal, values.noted, values.result)
        with recording(WriteRecord(self._known, values.changes)):
            await self._journal.run(values.name, call, idempotent=True)

    async def _add_versions(self) -> None:
        versions, files = self.change.versions, _given(self.files)
        self.sent.current = await self._file_writer.add_versions(self._known, versions, files, self._journal)

    async def _attach(self) -> None:
        attachments, files = self.change.attachments, _given(self.files)
        self.sent.attached = await self._file_writer.attach(self._known, attachments, files, self._journal)

    async def _detach(self) -> None:
        for key, each in self.change.detach.items():
            await self._detach_one(key, each)

    async def _detach_one(self, key: str, sent: Json) -> None:
        """A run records it before, because the attachment may be at the source again when this is repeated."""
        name = journal_names.removed_attachment(key)
        if self.writer.names.undoes:
            name = journal_names.undo(journal_names.attachment(key))
        else:
            await note_fact(self._journal, journal_names.detaching(key), sent)

        async def call() -> Json:
            scoped = NamespacedJournal(self._journal, journal_names.inside(name))
            await self._target.detach(self._known, sent_file(sent), scoped)
            return True

        with recording(WriteRecord(self._known, {"attachment": [sent["name"], None]})):
            await self._journal.run(name, call, idempotent=True)

    async def _remove(self) -> None:
        async def call() -> Json:
            await self._target.remove(self._known)
            return str(self._known)

        async def found() -> Json:
            return str(self._known) if living(await held(self.writer.context.target, self._known)) is None else None

        with recording(WriteRecord(self._known, {"trash": [False, True]})):
            await self._journal.run(self.writer.names.trash, call, reconcile=found)


def _given(value: T | None) -> T:
    """What a step needs. Raises ContractBroken without it."""
    if value is None:
        raise ContractBroken("a change without what its calls need")
    return value
