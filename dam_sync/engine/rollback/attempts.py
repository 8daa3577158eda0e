"""What an interrupted attempt may have left of an asset though no row of the ledger says so: the row of a write comes
with its result, and the process was killed before it had that."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from dam_sync.engine.compare.expected import FileMatch, file_match
from dam_sync.engine.compare.file_keys import sent_file
from dam_sync.engine.compare.files import file_facts
from dam_sync.engine.decide.undo import IN_HISTORY, MOVES, NO_BYTES, NO_DETACH, NO_VERSION, Undo
from dam_sync.engine.read.expected import expected_files
from dam_sync.engine.read.intents import attachments_sent
from dam_sync.model import journal_names
from dam_sync.model.asset import Asset, FileRef
from dam_sync.model.capabilities import Capabilities, Operation
from dam_sync.model.journal_names import WriteKind
from dam_sync.model.ledger import LedgerRow
from dam_sync.model.link import LinkRow
from dam_sync.model.values import Json
from dam_sync.model.written import UNRECORDED, Obstacle, WrittenAsset
from dam_sync.store.journal import StoredJournal

EARLIER = Obstacle("assets", "an earlier run began to change them and did not complete them: roll back that run first")
UNSEEN = "being sent when the run was interrupted, and not shown by the target: look whether it appears later"
UNSEEN_VERSION, UNSEEN_ATTACHMENT = Obstacle("file versions", UNSEEN), Obstacle("added attachments", UNSEEN)


async def open_moves(written: WrittenAsset, journal: StoredJournal) -> list[str]:
    """Whether it was to be removed, or to be taken out of the trash, and no row says that it was."""
    known = {row.operation for row in written.rows}
    return [name for name in MOVES if name not in known and await journal.is_begun(name)]


def with_move(written: WrittenAsset, run: int, *, trashed: bool) -> WrittenAsset:
    """With a row for the move to the trash, or out of it."""
    name = journal_names.REMOVE if trashed else journal_names.RESTORE
    row = LedgerRow(UNRECORDED, run, name, written.source, written.target, None, "")
    return replace(written, rows=(*written.rows, row))


async def uploads_begun(written: WrittenAsset, journal: StoredJournal) -> tuple[int, int]:
    """How many versions, and how many attachments, were being sent, of which no row says that they were."""
    found = []
    for kind in (WriteKind.VERSION, WriteKind.ATTACH):
        start = journal_names.sending(kind)
        names = [name.removeprefix(start).partition(": ")[0] for name in await journal.names(start)]
        keys = {journal_names.file_key_of(f"{kind}:{name}") for name in names}
        known = {journal_names.file_key_of(row.operation) for row in written.rows if row.kind is kind}
        found.append(len(keys - known))
    return found[0], found[1]


async def removals_begun(link: LinkRow, journal: StoredJournal) -> dict[str, FileRef]:
    """Attachments of the link, by key, that an attempt began to remove."""
    found = {key: await journal.get(journal_names.detaching(key)) for key in link.attachments}
    return {key: sent_file(sent) for key, sent in found.items() if sent is not None}


def with_unrecorded_files(
    undo: Undo,
    link: LinkRow,
    actual: Asset,
    intents: Sequence[Json],
    able: Capabilities,
    removed: Mapping[str, FileRef],
    begun: tuple[int, int],
) -> Undo:
    """With versions and attachments that the target has, the attempts intended to send, and no row names; and without
    attachments that they began to remove, and that are gone. begun: see `uploads_begun`; one of these that the target
    does not show may still appear."""
    more = max(0, sum(1 for _ in _sent_versions(link, actual, intents)) - _number_of(undo, WriteKind.VERSION))
    files = _sent_attachments(undo, link, actual, intents)
    lost = [key for key, sent in removed.items() if not any(_is_same(sent, file) for file in actual.attachments)]
    found: list[Obstacle] = [NO_BYTES] if lost else []
    found += [UNSEEN_VERSION] if begun[0] > more else []
    found += [UNSEEN_ATTACHMENT] if begun[1] > len(files) else []
    if more and Operation.RESTORE_VERSION in able:
        undo = replace(undo, versions=(*undo.versions, *(f"unrecorded {number}" for number in range(more))))
        found.append(IN_HISTORY)
    elif more:
        found.append(NO_VERSION)
    if files and Operation.DETACH in able:
        undo = replace(undo, detach={**undo.detach, **files})
    elif files:
        found.append(NO_DETACH)
    return replace(undo, lost=frozenset(lost), obstacles=tuple(dict.fromkeys((*undo.obstacles, *found))))


def _number_of(undo: Undo, kind: WriteKind) -> int:
    return sum(row.kind is kind for row in undo.written.rows)


def _sent_versions(link: LinkRow, actual: Asset, intents: Sequence[Json]) -> Iterator[FileRef]:
    """The newest versions of the target as far as they are files that were sent, and not the one of before."""
    expected = expected_files(link, intents)
    for file in reversed(actual.versions):
        before, sent = file_match(file, expected.current), file_match(file, expected.sent)
        if before is not FileMatch.OTHER or sent is FileMatch.OTHER:
            return
        yield file


def _sent_attachments(undo: Undo, link: LinkRow, actual: Asset, intents: Sequence[Json]) -> dict[str, Json]:
    """Facts of attachments of the target by a key of their own."""
    before = [sent_file(sent) for sent in (*link.attached.values(), *undo.detach.values())]
    left = [file for file in actual.attachments if not any(_is_same(one, file) for one in before)]
    sent = attachments_sent(intents)
    found = {(one.name, one.size): one for one in sent if any(_is_same(one, file) for file in left)}
    return {f"unrecorded {number}": file_facts(one) for number, one in enumerate(found.values())}


def _is_same(one: FileRef, other: FileRef) -> bool:
    return one.name == other.name and one.agrees(other)
