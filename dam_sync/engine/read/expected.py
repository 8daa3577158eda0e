"""What the target may hold of an asset: from its link, and from what interrupted attempts intended to write."""

from __future__ import annotations

from collections.abc import Sequence

from dam_sync.engine.compare.expected import UNKNOWN_FILES, Expected, ExpectedFiles, ExpectedRelations, Stage
from dam_sync.engine.compare.file_keys import sent_file
from dam_sync.engine.context.libraries import Target
from dam_sync.engine.read.intents import FILES, attached_at_most, files_sent
from dam_sync.model.asset import FileRef, Placement
from dam_sync.model.codec import draft_from_json
from dam_sync.model.conflict import FILE
from dam_sync.model.link import LinkRow
from dam_sync.model.values import Json

REFUTED = "V0"  # the proof of a file that a verification read and found to be another one


def expected_of(
    target: Target,
    link: LinkRow,
    intents: Sequence[Json] = (),
    others: Sequence[Json] = (),
    *,
    complete: bool = True,
    pending: frozenset[Placement] = frozenset(),
    relations: ExpectedRelations | None = None,
) -> Expected:
    """Of a linked asset, or of one whose create was begun, with a link without a draft; without intents, too, nothing
    counts as changed. intents: recorded drafts of attempts that did not complete it, oldest first; others: further
    drafts that may be there, of whose files nothing more is known; complete: whether the create itself was completed;
    pending, relations: see `Expected`."""
    rows = [row for row in (link.draft, *intents, *others) if row is not None]
    schema = target.schema
    states = [draft_from_json(target.counterparts.present(row, schema)) for row in rows]
    return Expected(
        states,
        expected_files(link, intents),
        Stage.COMPLETE if complete else Stage.CREATING,
        frozenset({"", *(file.name for file in files_sent(intents))}) if intents else frozenset(),
        pending,
        relations,
    )


def expected_files(link: LinkRow, intents: Sequence[Json], source: Sequence[FileRef] | None = None) -> ExpectedFiles:
    """The files of such an asset. source: its files at the source, any of which may have been sent by an attempt whose
    intent does not say which were, as one of an older release; None: then nothing is known of its files."""
    if link.draft is None and not intents:
        return UNKNOWN_FILES
    sent, recorded = files_sent(intents), all(FILES in row for row in intents)
    sent += [] if recorded else source or ()
    more = max((len(row.get(FILES, ())) for row in intents), default=0)
    more = max(more, len({(file.size, *sorted(file.digests.items())) for file in sent}))
    return ExpectedFiles(
        current=(FileRef("", link.filename, link.size, digests=link.digests),) if _is_known(link) else (),
        sent=tuple(sent),
        may_lack=not link.versions,
        versions=len(link.versions) + more if recorded else None,
        before=len(link.versions),
        attachments=len(link.attachments) + attached_at_most(intents) if recorded else None,
        known=recorded or source is not None,
        refuted=not sent and link.proofs.get((link.versions or ("",))[-1]) == REFUTED,
        attached=tuple(sent_file(each) for each in link.attached.values()),
        source=tuple(source or ()),
    )


def _is_known(link: LinkRow) -> bool:
    """Whether a file was written, and something is known of it. Nothing is if the file of the target stood after a
    conflict when the asset was created: that one is not ours."""
    return bool(link.versions) and not (FILE in link.kept and link.size is None and not link.digests)
