"""Creates that an earlier attempt began: what others changed of such an asset since is a conflict, and not written
over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from dam_sync.engine.compare.expected import FileMatch, file_match
from dam_sync.engine.compare.facts import without_given
from dam_sync.engine.compare.file_keys import version_key
from dam_sync.engine.compare.parts import VALUES
from dam_sync.engine.context.libraries import Source, Target
from dam_sync.engine.context.run_context import RunContext
from dam_sync.engine.decide.conflicts import Settlement
from dam_sync.engine.decide.patches import merge_patches, overlay
from dam_sync.engine.decide.prepared import Remainder
from dam_sync.engine.decide.three_way import Files
from dam_sync.engine.decide.update import fixed_values, possible, profile_losses
from dam_sync.engine.read.asset_facts import AssetFacts
from dam_sync.engine.read.expected import expected_files
from dam_sync.engine.read.facts import facts_of
from dam_sync.engine.read.intents import files_sent
from dam_sync.engine.write.conflict_settler import Attempt, Settler, three_way_of
from dam_sync.model import journal_names
from dam_sync.model.asset import Asset, AssetId, Draft, FileRef, Loss, Patch
from dam_sync.model.capabilities import Operation
from dam_sync.model.codec import draft_from_json, draft_to_json
from dam_sync.model.conflict import FIELDS, FILE, RIGHTS, Take
from dam_sync.model.errors import Conflict, NotFound
from dam_sync.model.journal import NamespacedJournal
from dam_sync.model.link import LinkRow
from dam_sync.model.parking import ParkReason
from dam_sync.model.policy import Policy
from dam_sync.model.ports import Journal
from dam_sync.model.service import TRASH
from dam_sync.model.values import Json
from dam_sync.store.store import SqlStore

TRASHED_HINT = f'take it out of the trash by hand, then `errors JOB --cause "{ParkReason.STILL_IN_TRASH}" --retry`'

OTHER_FILE_HINT = (
    "keep their file elsewhere and delete that asset permanently, to have it created again; then "
    f'`errors JOB --cause "{ParkReason.CHANGED_AT_TARGET}" --retry`'
)


@dataclass(frozen=True, slots=True)
class ResumedCreate:
    """The create of one asset that has intents. inner: the journal of the create itself; entered: whether it has an
    entry, without which nothing was created."""

    source: Source
    target: Target
    store: SqlStore
    policy: Policy
    facts: AssetFacts
    inner: Journal
    entered: bool

    @classmethod
    async def of(cls, context: RunContext, facts: AssetFacts) -> ResumedCreate:
        """The one that an earlier attempt began."""
        prefix = journal_names.inside(journal_names.CREATE)
        entered = await facts.journal.has_entries(prefix)
        inner = NamespacedJournal(facts.journal, prefix)
        return cls(context.source, context.target, context.state.store, context.task.policy, facts, inner, entered)

    @property
    def meant(self) -> Sequence[Json]:
        """Drafts that earlier attempts may have written in part."""
        return self.facts.intents

    async def remainder(self) -> Remainder:
        """What to do about what others changed, and what is left to write once the asset is created, with what no call
        changes of it as losses. An asset that is hidden is not compared. Raises NotFound for one that others moved to
        the trash. Costs a search and a read of the target."""
        draft, nothing = self.facts.draft, Settlement(Patch())
        made = await self.facts.journal.get(journal_names.CREATE)
        if made is None and not self.entered:
            return Remainder(nothing, before=self.meant[-1])
        actual = await self._begun(self.facts.asset.id, str(made or ""), draft)
        unsent = await self._has_more_versions()
        if actual is None:
            left, losses = self._left(draft, nothing)
        else:
            left, losses = await self._compared(actual, made, unsent)
        named = (one for one in self.meant if actual is not None and one["filename"] == actual.filename)
        begun = LinkRow(self.facts.asset.id, "", draft=next(named, self.meant[0]))
        replaced = unsent and FILE not in left.values  # the next version brings its name
        fixed = fixed_values(begun, draft, self.target.schema, replaced=replaced)
        lost = (*(loss for loss in losses if loss.path in fixed), *profile_losses(begun, draft, fixed))
        return Remainder(replace(left, before=(*left.before, *lost)), before=self.meant[-1], fixed=fixed)

    async def _compared(self, actual: Asset, made: Json, unsent: bool) -> tuple[Settlement, Sequence[Loss]]:
        """What to write of the asset that is there, and what no call changes. made: what the create returned, if that
        is recorded; unsent: whether versions are still to be added."""
        asset, draft = self.facts.asset, self.facts.draft
        if made is None:
            self._refuse_other_file(asset, actual)
        before = list(reversed(self.meant))
        if made is not None:
            patch, losses = possible(merge_patches(before, draft), self.target.schema, draft.profile)
        else:  # any of it may be missing, and it may be in a place of its own until it is complete
            before += map(draft_to_json, self._stages(draft))
            patch = merge_patches(before, draft)
            actual = self._outside_of_staging(actual)
        actual = without_given(actual, [*map(draft_from_json, before)], facts_of(self.target))
        expected = expected_files(LinkRow(asset.id, actual.id), self.meant, asset.versions)
        files = Files(self._link(actual.id), asset.file, unsent, expected)
        compared = three_way_of(self.target, draft, patch, before, actual, files)
        attempt = Attempt(self.facts.journal, self.facts.work.begun)
        found = await Settler(self.source, self.target, self.store, self.policy).settlement(compared, asset, attempt)
        return (found, losses) if made is not None else self._left(draft, found)

    def _stages(self, draft: Draft) -> list[Draft]:
        """What the target has of a new asset at first, with each status that it may have until it is complete."""
        staging = self.target.schema.status_staging.get(draft.status.casefold(), frozenset())
        return [Draft(draft.marker, draft.filename, status=each) for each in sorted(staging) or [""]]

    def _outside_of_staging(self, actual: Asset) -> Asset:
        """The asset without the containers and the groups that it has only until it is complete."""
        schema, rights = self.target.schema, actual.rights
        if rights.groups <= schema.group_staging:
            rights = replace(rights, groups=frozenset())
        return replace(actual, placements=actual.placements - schema.container_staging, rights=rights)

    def _refuse_other_file(self, asset: Asset, actual: Asset) -> None:
        """Raises Conflict if both sides have another file than the attempts sent: the create would replace that of the
        target."""
        sent, theirs = files_sent(self.meant), actual.file
        if not sent or theirs is None or file_match(theirs, (*sent, *asset.versions)) is not FileMatch.OTHER:
            return
        if any(file_match(file, sent) is FileMatch.OTHER for file in asset.versions):
            text = f"its create was begun, and the file of {actual.id} was changed at the target and at the source"
            raise Conflict(text, asset=asset.id, code=ParkReason.CHANGED_AT_TARGET, hint=OTHER_FILE_HINT)

    def _link(self, made: AssetId) -> LinkRow:
        """What the link says of the files once they are sent."""
        asset, keys = self.facts.asset, tuple(map(version_key, self.facts.versions))
        known = asset.file or FileRef("", "")
        name, digests = self.facts.draft.filename, dict(known.digests)
        return LinkRow(asset.id, made, filename=name, digests=digests, size=known.size, versions=keys)

    async def _has_more_versions(self) -> bool:
        """Whether versions are still to be added to the first file."""
        keys = map(version_key, self.facts.versions[1:])
        return None in [await self.facts.journal.get(journal_names.version(key)) for key in keys]

    def _left(self, draft: Draft, found: Settlement) -> tuple[Settlement, Sequence[Loss]]:
        """With everything in the draft that differs from earlier ones, and what stands though others changed it: the
        create itself may have written that before. And what no call changes."""
        changed = _with_settled(merge_patches(self.meant, overlay(draft, found.values)), found)
        patch, losses = possible(changed, self.target.schema, draft.profile)
        return replace(found, patch=patch), losses

    async def _begun(self, asset: AssetId, made: str, draft: Draft) -> Asset | None:
        """The asset at the target; None if there is none, or it is hidden whatever others did. Raises NotFound."""
        target = self.target.service
        if draft.closed or any(state.get("closed") for state in self.meant):
            return None
        if not made and draft.marker is not None and Operation.FIND in target.capabilities:
            made = await target.find_partial(draft.marker, self.inner) or ""
        if not made:
            return None
        try:
            actual = await target.fetch(AssetId(made))
        except NotFound:
            return None
        if actual.status != TRASH:
            known, schema = self.target.counterparts, self.target.schema
            return known.as_known(actual, schema, draft)
        marker = draft.marker  # taken from a partial create that a run trashes
        marked = marker is not None and actual.fields.get(marker.field) == marker.value
        if marked and not await self._was_trashed(asset, made):
            text = f"its create was begun, and {made} is in the trash of the target"
            raise NotFound(text, asset=asset, code=ParkReason.STILL_IN_TRASH, hint=TRASHED_HINT)
        return None

    async def _was_trashed(self, asset: AssetId, made: str) -> bool:
        """Whether a run trashed this asset of the target, or undid its create."""
        rows = (await self.store.story(asset)).ledger
        return any(row.target == made and row.changes.get("trash") == [False, True] for row in rows)


def _with_settled(changed: Patch, found: Settlement) -> Patch:
    """A patch with the values of the source that stand after conflicts."""
    paths = {one.conflict.path for one in found.settled if one.take is Take.SOURCE}
    fields = {key: value for key, value in found.patch.fields.items() if f"{FIELDS}{key}" in paths}
    rights = changed.rights or (found.patch.rights if paths & RIGHTS else None)
    values = (part.name for part in VALUES if part.name in paths and not part.shows)
    missing = {name: getattr(found.patch, name) for name in values if getattr(changed, name) is None}
    return replace(
        changed,
        fields={**fields, **changed.fields},
        rights=rights,
        cleared=changed.cleared | (found.patch.cleared if rights is not None else frozenset()),
        **missing,
    )
