"""Undoes what a run wrote to one asset of the target: asked for by id first, and only where nobody changed it since."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import structlog

from dam_sync.engine.compare.comparison import Comparison
from dam_sync.engine.compare.facts import scope_of
from dam_sync.engine.compare.files import with_written_versions
from dam_sync.engine.compare.parts import PARTS, TAGS, VALUES
from dam_sync.engine.context.error_policy import ParkAsset, react
from dam_sync.engine.context.run_context import RunContext
from dam_sync.engine.decide.change import AssetChange
from dam_sync.engine.decide.undo import (
    BESIDE,
    CHANGED,
    NO_OLDER,
    WIDENS,
    Undo,
    link_before,
    undo_of,
    unshown,
)
from dam_sync.engine.guards.exposure import seen_though_closed
from dam_sync.engine.guards.missing import MissingMonitor
from dam_sync.engine.read.compared import with_everybody
from dam_sync.engine.read.expected import expected_of
from dam_sync.engine.read.facts import compared
from dam_sync.engine.read.intents import recorded_intents, values_alone
from dam_sync.engine.read.seen import held, living
from dam_sync.engine.read.shown import shown, shows_more
from dam_sync.engine.rollback.attempts import (
    EARLIER,
    open_moves,
    removals_begun,
    uploads_begun,
    with_move,
    with_unrecorded_files,
)
from dam_sync.engine.write.change_writer import OF_ROLLBACK, ChangeWriter, ValuesCall
from dam_sync.engine.write.trash import TargetTrash
from dam_sync.model import journal_names
from dam_sync.model.asset import Asset, AssetId, FileRef, Patch
from dam_sync.model.capabilities import Feature
from dam_sync.model.codec import draft_from_json, placements_from_json
from dam_sync.model.conflict import PLACEMENTS
from dam_sync.model.errors import DamSyncError, NotFound
from dam_sync.model.exposure import ExposureRule, Purpose
from dam_sync.model.journal import note_fact
from dam_sync.model.journal_names import WriteKind
from dam_sync.model.link import LinkRow
from dam_sync.model.ports import Journal
from dam_sync.model.values import Json, value_from_json, value_to_json
from dam_sync.model.written import UNRECORDED, EarlierFile, Obstacle, WrittenAsset
from dam_sync.store.journal import StoredJournal
from dam_sync.store.rows import Work
from dam_sync.store.undo import IN_TRASH, LINKED, UNLINKED, Undone
from dam_sync.store.undo_list import UndoList

log = structlog.get_logger(__name__)
TRASHED, RESTORED, RETURNED, GONE, KEPT = (
    "moved to the trash",
    "taken out of the trash",
    "returned to earlier values",
    "gone already",
    "kept",
)
PURGED = Obstacle("removed assets", "no longer in the trash of the target")
LOST = Obstacle("updated assets", "gone from the target")
NOTHING = Patch()
VISIBLE = tuple(part.name for part in PARTS if part.shows)  # what decides who sees an asset, besides containers
OLDER = journal_names.silent("older version")
HELD = journal_names.silent("values beside the version")
RETURNING = journal_names.silent("returning")  # a write that may be repeated leaves no intent
FILE_PATHS = frozenset({"file", "versions"})
BROUGHT = tuple(part.name for part in VALUES if not part.silent)  # with an older version, as fields and tags are


def later_write(run: int) -> Obstacle:
    """A later run wrote to the asset, and was not rolled back."""
    return Obstacle("assets", f"run {run} wrote to them again: roll back run {run} first")


@dataclass(frozen=True, slots=True)
class UndoneAsset:
    """What became of an asset: one of the constants of this module, or empty if there was nothing to do. shows: more
    people see it again, which the job accepts."""

    fate: str
    obstacles: tuple[Obstacle, ...] = ()
    shows: bool = False


@dataclass(slots=True)
class AssetUndoer:
    """Undoes single assets of one rollback. again: the next run reads them."""

    context: RunContext
    listed: UndoList
    again: bool
    missing: MissingMonitor

    async def undo(self, written: WrittenAsset) -> UndoneAsset:
        """Raises what stops a rollback; safe to repeat."""
        try:
            done = await self._undo(written)
        except DamSyncError as error:
            if not isinstance(react(error), ParkAsset):
                raise
            log.warning("undo.refused", asset=written.source, target=written.target, message=error.message)
            done = UndoneAsset(KEPT, (Obstacle("assets", f"refused by the target: {error.cause}"),))
        if done.fate == KEPT:
            self.listed.keep(written.target)
        return done

    async def _undo(self, written: WrittenAsset) -> UndoneAsset:
        if written.later:
            return UndoneAsset(KEPT, (later_write(written.later),))
        if written.earlier and not written.rows:
            return UndoneAsset(KEPT, (EARLIER,))
        link, meant = await self.link_of(written), await self._intents(written)
        if written.begun and link is not None and (moves := await open_moves(written, self._attempt(written))):
            trashed = living(await held(self.context.target, AssetId(written.target))) is None
            if trashed and journal_names.REMOVE not in moves:  # it was to be taken out, and still is in the trash
                await self._settle(undo_of(written, link, self.context.target.service.capabilities), IN_TRASH, link)
                return UndoneAsset("")
            if trashed or journal_names.RESTORE in moves:
                written = with_move(written, self.listed.run, trashed=trashed)
        undo = undo_of(written, link, self.context.target.service.capabilities, meant)
        if written.created:
            return await self._uncreate(undo, link, meant) if undo.trash else UndoneAsset(KEPT, undo.obstacles)
        if link is None:
            await self._settle(undo)
            return UndoneAsset("")
        return await self._return(undo, link, meant)

    async def planned(self, written: WrittenAsset) -> Undo:
        """What would undo it, by the state alone."""
        link, meant = await self.link_of(written), await self._intents(written)
        undo = undo_of(written, link, self.context.target.service.capabilities, meant)
        return undo if link is None else self._closed(undo, link, meant, {})

    def _closed(
        self,
        undo: Undo,
        link: LinkRow,
        meant: Sequence[Json],
        keep: Mapping[str, Obstacle],
        actual: Asset | None = None,
    ) -> Undo:
        """The same without what would show the asset to more people, unless the job accepts that of a rollback. actual:
        as it is at the target, if that is known."""
        if undo.then is None or not self._widens(undo, meant, actual):
            return undo
        if self.context.task.policy.exposure.accepts(ExposureRule.RETURNED, Purpose.ROLLBACK):
            return replace(undo, shows=True)
        closed = {**keep, **dict.fromkeys(VISIBLE, WIDENS)}
        return unshown(undo_of(undo.written, link, self.context.target.service.capabilities, meant, closed))

    async def link_of(self, written: WrittenAsset) -> LinkRow | None:
        """The link of the asset, or what was kept of it when it went to the trash."""
        store, source = self.context.state.store, written.source
        link = (await store.links([source])).get(AssetId(source))
        if link is None:
            removed = (await store.trashed([source])).get(AssetId(source))
            link = removed.link if removed is not None else None
        return link if link is not None and link.target == written.target else None

    async def _intents(self, written: WrittenAsset) -> Sequence[Json]:
        """Drafts that an attempt which did not complete the asset may have written."""
        if not await self.context.state.store.begun_assets([written.source]):
            return ()
        return await recorded_intents(self._attempt(written))

    def _attempt(self, written: WrittenAsset) -> StoredJournal:
        """The journal of the attempt that did not complete the asset."""
        return self.context.state.store.journal(
            Work(0, AssetId(written.source), "", begun=True), self.context.state.run.id
        )

    def _journal(self, written: WrittenAsset) -> Journal:
        return self.context.state.store.undo_journal(self.listed.run, written.target, written.source)

    # -- created by the run ---------------------------------------------------------------------------------------

    async def _uncreate(self, undo: Undo, link: LinkRow | None, meant: Sequence[Json]) -> UndoneAsset:
        actual = await self._living(undo.written)
        if actual is not None and not await self._begun(undo.written):
            known = link or LinkRow(undo.written.source, actual.id)
            besides = partial(self.listed.relates, actual.id)
            if changed := await TargetTrash(self.context).changed(known, actual, besides, meant):
                obstacle = Obstacle("created assets", f"{CHANGED}: {', '.join(changed)}")
                return UndoneAsset(KEPT, (obstacle,))
        if actual is not None:
            await self._writer(undo.written).write(AssetChange(trash=True))
        await self._settle(undo, UNLINKED)
        return UndoneAsset(TRASHED if actual is not None else GONE, undo.obstacles)

    async def _begun(self, written: WrittenAsset, operation: str = journal_names.CREATE) -> bool:
        journal = self.context.state.store.undo_journal(self.listed.run, written.target, written.source)
        return await journal.is_begun(journal_names.undo(operation))

    async def _living(self, written: WrittenAsset) -> Asset | None:
        """The target asset; None if it is gone. Raises SafetyStop if the target suddenly looks empty, or if a removal
        that was begun did not leave the asset in its trash."""
        there = await held(self.context.target, AssetId(written.target))
        actual = living(there)
        if actual is None and not await self._begun(written):
            await self.missing.from_target()
        elif there is None:
            TargetTrash(self.context).refuse_purged(written.target, written.source)
        return actual

    # -- changed by the run ---------------------------------------------------------------------------------------

    async def _return(self, undo: Undo, link: LinkRow, meant: Sequence[Json]) -> UndoneAsset:
        written, able = undo.written, self.context.target.service.capabilities
        if undo.restore and not await self._restored(undo, link):
            return UndoneAsset(KEPT, (PURGED,))
        if undo.restore and self.context.task.dry and await self._is_trashed(written):
            return await self._foretold(undo, link, meant)
        actual = await self._living(written)
        if actual is None:
            return UndoneAsset(KEPT, self._absent(undo))
        actual, begun = await self._as_held(written, actual)
        undo, keep = await self._compared(undo, link, actual, meant, FILE_PATHS if begun else frozenset())
        undo, older = await self._older_file(undo, keep, with_written_versions(actual, link))
        if undo.empty and not undo.rows and not written.begun:
            return UndoneAsset(KEPT, undo.obstacles)
        done = not undo.empty or bool(undo.rows)
        current = await self._write(undo, actual) if done else None
        name = older.name if older is not None and not able.writes(Feature.FILENAME) else ""
        before = link_before(undo, link, self._uploaded_before(undo), current, name)
        await self._settle(undo, IN_TRASH if undo.trash else LINKED, before, meant)
        if not done:
            return UndoneAsset(KEPT if undo.obstacles else "", undo.obstacles)
        fate = TRASHED if undo.trash else RESTORED if undo.restore else RETURNED
        return UndoneAsset(fate, undo.obstacles, undo.shows)

    async def _compared(
        self, undo: Undo, link: LinkRow, actual: Asset, meant: Sequence[Json], besides: frozenset[str]
    ) -> tuple[Undo, dict[str, Obstacle]]:
        """What undoes the writes without what others changed since, and what stays for that. besides: paths that an
        attempt of this rollback changed itself."""
        able = self.context.target.service.capabilities
        found = await self._comparison(undo, link, actual, meant)
        keep = {path: why for path, why in self._foreign(found).items() if path not in besides}
        undo = self._closed(undo_of(undo.written, link, able, meant, keep), link, meant, keep, actual)
        if undo.written.begun:
            attempt = self._attempt(undo.written)
            removed, sent = await removals_begun(link, attempt), await uploads_begun(undo.written, attempt)
            undo = with_unrecorded_files(undo, link, actual, meant, able, removed, sent)
        return undo, keep

    async def _write(self, undo: Undo, actual: Asset) -> FileRef | None:
        """Write what is left once an older version is current again; the current file then, if one was made it."""
        await note_fact(self._journal(undo.written), RETURNING, True)
        now = await self.context.target.service.fetch(AssetId(undo.written.target)) if undo.versions else None
        patch = undo.patch if now is None else self._with_values(undo.patch, actual, now)
        changes = {key: change for row in undo.written.rows for key, change in row.changes.items()}
        back = {key: None if change is None else [*reversed(change)] for key, change in changes.items()}
        change = AssetChange(patch=patch, detach=undo.detach, trash=undo.trash)
        await self._writer(undo.written).write(change, ValuesCall(journal_names.undo("update"), back))
        return now.file if now is not None else None

    def _writer(self, written: WrittenAsset) -> ChangeWriter:
        return ChangeWriter(self.context, AssetId(written.target), self._journal(written), OF_ROLLBACK)

    async def _restored(self, undo: Undo, link: LinkRow) -> bool:
        """Take it out of the trash, once; whether it was there."""
        begun = await self._begun(undo.written, journal_names.REMOVE)
        if not begun and living(await held(self.context.target, AssetId(undo.written.target))) is not None:
            return True
        try:
            await self._writer(undo.written).write(AssetChange(restore=draft_from_json(link.draft)))
        except NotFound:
            return False
        return True

    def _absent(self, undo: Undo) -> tuple[Obstacle, ...]:
        """Why nothing is written to a missing asset."""
        if undo.restore and self.context.task.dry:
            return (PURGED,)
        removed = any(row.kind is WriteKind.REMOVE for row in undo.written.rows)
        return undo.obstacles if removed else (LOST,)

    async def _is_trashed(self, written: WrittenAsset) -> bool:
        """Whether it still is in the trash: a dry run took nothing out of it."""
        try:
            return await self.context.target.service.is_trashed(AssetId(written.target))
        except NotFound:
            return False

    async def _foretold(self, undo: Undo, link: LinkRow, meant: Sequence[Json]) -> UndoneAsset:
        """What a dry run says of an asset in the trash, which cannot be compared before it is taken out."""
        undo = self._closed(undo, link, meant, {})
        await self._settle(undo, LINKED, link_before(undo, link, self._uploaded_before(undo)))
        return UndoneAsset(RESTORED, undo.obstacles, undo.shows)

    async def _comparison(self, undo: Undo, link: LinkRow, actual: Asset, meant: Sequence[Json]) -> Comparison:
        """What the target has, beside what it may have, and what was there before the run."""
        before = undo.link.draft if undo.link is not None else None
        others = [undo.now]
        if before is not None and await self._journal(undo.written).get(RETURNING):
            others.append(before)
        wanted = draft_from_json(before) if before is not None else None
        return compared(
            self.context.target,
            self.context.mapping.crosswalk,
            expected_of(self.context.target, link, meant, others),
            actual,
            wanted=wanted,
        )

    def _foreign(self, found: Comparison) -> dict[str, Obstacle]:
        """Paths where the target has neither what the run or an interrupted attempt wrote, nor what was there before:
        somebody changed them. Of a set only the members that the run changed return, so that those of others stay and
        keep nothing from being undone."""
        most = self.context.target.schema.container_most
        return {
            path: Obstacle(path, BESIDE, stays=True) if _is_set(path, most) else Obstacle(path, CHANGED)
            for path in found.foreign
            if not found.is_same(path)
        }

    def _widens(self, undo: Undo, meant: Sequence[Json], actual: Asset | None) -> bool:
        """Whether the values before would show the asset to more people than what the run wrote does, or an interrupted
        attempt may have written; or to more than see it at the target."""
        context, states, then = self.context, (undo.now, *meant), draft_from_json(undo.then)
        if any(shows_more(context.target, draft_from_json(state), then) for state in states):
            return True
        if actual is None:
            return False
        wrote = draft_from_json(undo.now)
        seen = with_everybody(
            context.target, context.target.counterparts.as_known(actual, context.target.schema), wrote, then
        )
        closed = wrote.closed and not seen_though_closed(context.target, wrote, seen)
        now = shown(context.target, replace(wrote, closed=closed), seen, (*states, undo.then))
        return shows_more(context.target, now.after(NOTHING), now.after(undo.patch))

    async def _as_held(self, written: WrittenAsset, actual: Asset) -> tuple[Asset, bool]:
        """The asset as it was before an interrupted attempt made an older version current, which brings its own values
        along; and whether that was begun."""
        held = await self._journal(written).get(HELD)
        if held is None:
            return actual, False
        fields = {key: value_from_json(value) for key, value in held["fields"].items()}
        values = {name: held.get(name, "") for name in BROUGHT}
        return replace(actual, fields=fields, tags=frozenset(held["tags"]), **values), True

    async def _older_file(self, undo: Undo, keep: Mapping[str, Obstacle], actual: Asset) -> tuple[Undo, FileRef | None]:
        """Make the file before the run the current one; that file, if it is."""
        if not undo.versions:
            return undo, None
        journal, number = self._journal(undo.written), len(undo.versions)

        async def choose() -> Json:
            there = actual.versions[:-number]
            return there[-1].id if there and "versions" not in {loss.path for loss in actual.losses} else ""

        reason = keep.get("file")
        older = "" if reason else str(await journal.run(OLDER, choose, idempotent=True))
        version = next((file for file in actual.versions if file.id == older), None)
        if version is None:
            return _without_versions(undo, reason or NO_OLDER), None
        fields = {key: value_to_json(value) for key, value in actual.fields.items()}
        values = {name: getattr(actual, name) for name in BROUGHT}
        await note_fact(journal, HELD, {"fields": fields, "tags": sorted(actual.tags), **values})
        await self._writer(undo.written).write(AssetChange(older=version), replaces=undo.versions[-1])
        return undo, version

    def _with_values(self, patch: Patch, held: Asset, now: Asset) -> Patch:
        """The patch, and values of mapped fields, tags and other parts that the older version replaced."""
        keys = scope_of(self.context.mapping.crosswalk).fields
        differ = {key for key in keys if now.fields.get(key) != held.fields.get(key)}
        fields = {key: held.fields.get(key) for key in differ}
        lost = [name for name in BROUGHT if getattr(now, name) != getattr(held, name)]
        values = {name: getattr(held, name) for name in lost if getattr(patch, name) is None}
        patch = replace(patch, fields={**fields, **patch.fields}, **values)
        if not self.context.target.service.capabilities.writes(Feature.TAGS):
            return patch
        return replace(
            patch,
            tags_add=patch.tags_add | (held.tags - now.tags - patch.tags_remove),
            tags_remove=patch.tags_remove | (now.tags - held.tags - patch.tags_add),
        )

    def _uploaded_before(self, undo: Undo) -> EarlierFile | None:
        first = next((row.seq for row in undo.written.rows if row.kind is WriteKind.VERSION), 0)
        return self.listed.uploaded_before(undo.written.target, first)

    # -- the state ------------------------------------------------------------------------------------------------

    async def _settle(
        self, undo: Undo, fate: str = "", link: LinkRow | None = None, meant: Sequence[Json] = ()
    ) -> None:
        """Commit that the asset is undone. meant: what an attempt may have written of it; a later rollback, which may
        undo more, and the next run have to know that, as long as something is not undone."""
        written = undo.written
        places = [
            place
            for row in written.rows
            for change in [row.changes.get("placements")]
            if change
            for side in change
            for place in placements_from_json(side or ())
        ]
        rows = tuple(seq for seq in undo.rows if seq < UNRECORDED)
        again = self.again and fate in (UNLINKED, LINKED) and not undo.restore
        left = [(each.what, each.reason) for each in undo.obstacles if each.stays]
        accepted = (ExposureRule.RETURNED.value,) if undo.shows else ()
        attempt = values_alone(meant) if any(not each.stays for each in undo.obstacles) else {}
        done = Undone(written.source, written.target, rows, fate, link, places, again, left, accepted, attempt=attempt)
        await self.context.state.store.undone(self.listed.run, done)


def _without_versions(undo: Undo, reason: Obstacle) -> Undo:
    """The same, with the file as the run left it."""
    rows = {row.seq for row in undo.written.rows if row.kind is WriteKind.VERSION}
    kept = tuple(each for each in undo.obstacles if each.what != reason.what)
    return replace(
        undo, versions=(), obstacles=(*kept, reason), rows=tuple(seq for seq in undo.rows if seq not in rows)
    )


def _is_set(path: str, most: Mapping[str, int]) -> bool:
    """Whether each member returns by itself: tags, and containers of which an asset may have several."""
    return path == TAGS or (path.startswith(PLACEMENTS) and most.get(path.removeprefix(PLACEMENTS)) != 1)
