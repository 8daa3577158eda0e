"""Writes the files of an asset that exists at the target: versions and attachments, each once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from itertools import takewhile

from dam_sync.engine.compare.file_keys import version_key
from dam_sync.engine.context.libraries import Source, Target
from dam_sync.model import journal_names
from dam_sync.model.asset import Asset, AssetId, Draft, FileLink, FileRef, Placement
from dam_sync.model.capabilities import Feature, MembershipWrite
from dam_sync.model.journal import NamespacedJournal, note_fact
from dam_sync.model.ports import Content, Journal
from dam_sync.model.values import Json
from dam_sync.model.write_record import WriteRecord, current_record, recording

DIGESTS = ("sha256", "md5", "sha1")  # the first of these that is known goes into the ledger


@dataclass(frozen=True, slots=True)
class SourceFiles:
    """What has to be known of the files that are sent. asset: of the source; draft: with the name of the current file;
    again: the repairing run, which sends the files with the keys `resent` again, because the link says that they were
    sent; places: where the asset was before, so that the last version takes the place of the one before; bare: the
    asset was made without a file, and none was sent since."""

    asset: Asset
    draft: Draft
    again: int | None = None
    resent: frozenset[str] = frozenset()
    places: frozenset[Placement] = frozenset()
    bare: bool = False

    async def name_of(self, file: FileRef, named: Callable[[str, int | None], str], journal: Journal) -> str:
        """Of the journal entry that sends the file. One that is sent for the first time has the name that an attempt
        without a repair gave it, so that it is not sent twice."""
        key, again = version_key(file), named(version_key(file), self.again)
        if self.again is None or key in self.resent:
            return again
        return again if await journal.get(again) is not None else named(key, None)  # a repair of an earlier release


@dataclass(frozen=True, slots=True)
class FileWriter:
    """Writes files of one context."""

    source: Source
    target: Target

    async def add_versions(
        self, made: AssetId, versions: tuple[FileRef, ...], files: SourceFiles, journal: Journal
    ) -> FileRef | None:
        """Add each version once; returns the last file as it was sent, if this attempt sent it."""
        sent, target = None, self.target.service
        for file in versions:
            name = await files.name_of(file, journal_names.version, journal)

            async def add(file: FileRef = file, name: str = name) -> Json:
                nonlocal sent
                scoped = NamespacedJournal(journal, journal_names.inside(name))
                await _note_equal(scoped, equal_before(file, files.asset.versions))
                async with self.contents(file, files.draft, files.asset.file) as content:
                    write = target.give_first_file if files.bare and file == versions[0] else target.replace
                    await write(made, content, scoped)
                    sent = as_uploaded(content)
                if file == versions[-1]:
                    await self._carry_memberships(made, files.places)
                return True

            sent = None
            with recording(WriteRecord(made, {"version": [None, file.name]})):
                await journal.run(name, add, idempotent=True)
        return sent

    async def _carry_memberships(self, known: AssetId, places: frozenset[Placement]) -> None:
        """Containers that are filled in bulk may list versions; new assets are placed with their last one."""
        target = self.target.service
        bulk = (p for p in places if target.capabilities.membership(p.kind) is MembershipWrite.IN_BULK and p.id)
        if containers := sorted(bulk, key=str):
            await target.carry_memberships(known, containers)

    async def attach(
        self, made: AssetId, attachments: Sequence[FileRef], files: SourceFiles, journal: Journal
    ) -> dict[str, Json]:
        """What was sent, by key."""
        sent: dict[str, Json] = {}
        for number, file in enumerate(attachments):
            name = await files.name_of(file, journal_names.attachment, journal)
            there = [one for one in files.asset.attachments if one not in attachments[number:]]
            equal = sum(bool(one.has_bytes_of(file)) and one.name == file.name for one in there)

            async def attach(file: FileRef = file, name: str = name, equal: int = equal) -> Json:
                scoped = NamespacedJournal(journal, journal_names.inside(name))
                await _note_equal(scoped, equal)
                async with self.source.contents(file, file.name) as content:
                    await self.target.service.attach(made, content, scoped)
                    as_uploaded(content)
                    return {"name": content.name, "size": content.size, "digests": dict(content.digests)}

            with recording(WriteRecord(made, {"attachment": [None, file.name]})):
                result = await journal.run(name, attach, idempotent=True)
            if isinstance(result, dict):  # a state of an older release has `true`
                sent[version_key(file)] = result
        return sent

    def contents(
        self, file: FileRef, draft: Draft, current: FileRef | None, link: FileLink | None = None
    ) -> AbstractAsyncContextManager[Content]:
        """The current file gets the draft's name; an older one keeps its own if names do not identify assets."""
        mapped = file is current or not self.target.service.capabilities.writes(Feature.SAME_NAMES)
        return self.source.contents(file, draft.filename if mapped else file.name or draft.filename, link)


async def _note_equal(journal: Journal, number: int) -> None:
    """Files that equal this one tell nothing about whether it arrived."""
    if number:
        await note_fact(journal, journal_names.EQUAL_BEFORE, number)


def equal_before(file: FileRef, versions: Sequence[FileRef]) -> int:
    """How many versions right before this one have the same bytes."""
    number = versions.index(file) if file in versions else 0
    return sum(1 for _ in takewhile(file.has_bytes_of, reversed(versions[:number])))


def as_uploaded(content: Content) -> FileRef:
    """The file as it was sent; recorded for the ledger."""
    record = current_record()
    if record is not None:
        record.size = content.size
        algorithm = next((name for name in DIGESTS if name in content.digests), "")
        record.digest = f"{algorithm}:{content.digests[algorithm]}" if algorithm else ""
    return FileRef("", content.name, content.size, digests=dict(content.digests))
