"""What is known of one asset before anything is written to it: the only question that the write stage asks of the state
about an asset."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from dam_sync.engine.compare.file_keys import kept_versions, version_key, without_attachments
from dam_sync.engine.context.libraries import Target
from dam_sync.engine.context.run_state import RunState
from dam_sync.engine.context.run_task import RunTask
from dam_sync.engine.context.stages import DraftedAsset
from dam_sync.engine.read.intents import recorded_intents
from dam_sync.engine.read.linked import with_present_names
from dam_sync.model import journal_names
from dam_sync.model.asset import Draft, FileRef
from dam_sync.model.link import LinkRow
from dam_sync.model.policy import REPAIR
from dam_sync.model.ports import Journal
from dam_sync.model.values import Json
from dam_sync.store.journal import StoredJournal


@dataclass(frozen=True, slots=True, kw_only=True)
class AssetFacts(DraftedAsset):
    """One asset and its draft, with what earlier runs and attempts left.

    link: what was last written, by present names; None for a new asset. intents: drafts that interrupted attempts may
    have written in part, oldest first, by present names. versions: those of the source that move. returned: attachments
    that an interrupted attempt removed and that are at the source again, as they were sent; the link does not have
    them. due: the rotation compares the asset with the target in this run; repairs: what others changed there is
    restored."""

    journal: StoredJournal
    intents: Sequence[Json] = ()
    versions: tuple[FileRef, ...] = ()
    returned: Mapping[str, Json] = field(default_factory=dict)
    due: bool = False
    repairs: bool = False

    @property
    def draft(self) -> Draft:
        """What is wanted at the target."""
        return self.drafted.draft


async def facts_of_asset(target: Target, state: RunState, task: RunTask, item: DraftedAsset) -> AssetFacts:
    """Of the state alone: costs no call."""
    journal = state.store.journal(item.work, state.run.id)
    intents = await recorded_intents(journal) if item.work.begun else []
    link, returned = item.link, dict[str, Json]()
    if link is not None:
        link = with_present_names(target, link)
        returned = await _returned(item, link, journal) if item.work.begun else {}
        link = without_attachments(link, returned) if returned else link
    due = task.compares(item.asset.id)
    restored = task.repair or (due and task.policy.drift == REPAIR)
    return AssetFacts(
        item.work,
        item.asset,
        link,
        item.drafted,
        restores=item.restores,
        journal=journal,
        intents=[target.counterparts.present(one, target.schema) for one in intents],
        versions=kept_versions(item.asset, target.service.capabilities, task.policy),
        returned=returned,
        due=due,
        repairs=restored and link is not None and not item.restores,
    )


async def _returned(item: DraftedAsset, link: LinkRow, journal: Journal) -> dict[str, Json]:
    here = [version_key(file) for file in item.asset.attachments]
    begun = {key: await journal.get(journal_names.detaching(key)) for key in here if key in link.attachments}
    return {key: sent for key, sent in begun.items() if sent is not None}
